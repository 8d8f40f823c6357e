/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Addresses to listen on, as they are written on the command line:
 *
 *	127.0.0.1:9877  [::1]:9877  localhost:9877	one interface
 *	:9877						all of them, IPv6 and IPv4
 *	unix:/run/aclguard/web.sock			a socket in the file system
 *
 * Names other than localhost are not looked up: that could take long and give
 * something else tomorrow.
 */
#ifndef ACLGUARD_LISTEN_ADDR_H
#define ACLGUARD_LISTEN_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct listen_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	};
	socklen_t len;
	bool all; /* :PORT, which is [::]:PORT, or 0.0.0.0:PORT where there is no IPv6 */
};

/* Returns 0 or -EINVAL with the reason, a sentence, in why. */
int listen_addr__parse(const char *text, struct listen_addr *a, char *why, size_t size);

/* A socket that listens. */
struct listener {
	int fd;		/* -1: none */
	char name[128]; /* the address, with the port that was chosen for :0 */
	dev_t dev;	/* of a unix socket, so that no other is removed */
	ino_t ino;
};

/*
 * Listens on an address.  A socket in the file system that is left from another time is
 * replaced, one that somebody listens on, or that is no socket, is not.  `mode` is that
 * of a unix socket.  Returns 0 or -errno with the reason in why.
 */
int listener__open(struct listener *l, const char *text, mode_t mode, char *why, size_t size);
/* Closes it, and removes a unix socket. */
void listener__close(struct listener *l);

#endif /* ACLGUARD_LISTEN_ADDR_H */
