/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The places that the web server has for connections, and how long each may be kept.
 *
 * A client may keep a place without a request for a while, and for as long as nobody
 * else waits for it; where somebody does, those who have the most of them, and of these
 * the one who has waited longest, make room.  So one who opens connections and says
 * nothing takes the place of the like, not of everybody.
 *
 * Times are of CLOCK_MONOTONIC, in ns.
 */
#ifndef ACLGUARD_HTTPD_PLACES_H
#define ACLGUARD_HTTPD_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct MHD_Connection;
struct web_tls;

enum place_phase {
	PLACE_FREE,
	PLACE_HEAD, /* the first request is to come, and before it a handshake maybe */
	PLACE_IDLE, /* another request may come */
	PLACE_BUSY, /* is being answered */
};

enum place_auth {
	PLACE_AUTH_NONE,
	PLACE_AUTH_LATER, /* the connection is suspended */
	PLACE_AUTH_RIGHT,
	PLACE_AUTH_WRONG,
};

struct place {
	enum place_phase phase;
	enum place_auth auth; /* of the request at hand */
	bool cut;	      /* it is closed already, the library has yet to see it */
	int fd;		      /* the library's */
	uint64_t since;	      /* the phase began */
	uint64_t peer;	      /* who it is: an address of IPv4, a network of IPv6 */
	struct MHD_Connection *connection;
	struct web_tls *tls;
};

struct places {
	struct place *v;
	unsigned int n;
	unsigned int used;
	uint64_t may[PLACE_BUSY + 1]; /* how long a phase may last */
	uint64_t overdue;	      /* closed because of that */
	uint64_t evicted;	      /* closed for others */
};

int places__init(struct places *p, unsigned int n); /* 0 or -ENOMEM */
void places__free(struct places *p);

/* NULL if all are taken. */
struct place *places__take(struct places *p, int fd, const struct sockaddr *sa, uint64_t now);
void places__give(struct places *p, struct place *place);

void place__enter(struct place *place, enum place_phase phase, uint64_t now);

/* Closes the connections whose time is up.  Returns when the next one's will be, or UINT64_MAX. */
uint64_t places__close_overdue(struct places *p, uint64_t now);
/* Closes one for others who wait; false if nobody has been there for long enough yet. */
bool places__evict(struct places *p, uint64_t now);
bool places__any_busy(const struct places *p);

#endif /* ACLGUARD_HTTPD_PLACES_H */
