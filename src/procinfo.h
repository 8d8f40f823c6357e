/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who a process is to people: its number in its own pid namespace, its user,
 * its control group, and the container that the group's name tells of.  Read
 * from /proc once, while the process is there, and kept until it is forgotten.
 *
 * Container engines name the control group after the container's id, 64 hex
 * digits, with or without a prefix and suffix of theirs (docker-ID.scope,
 * cri-containerd-ID.scope, crio-ID.scope, .../ID); no engine is asked.
 */
#ifndef ACLGUARD_PROCINFO_H
#define ACLGUARD_PROCINFO_H

#include <stdint.h>
#include <sys/types.h>

#define PROCINFO_CONTAINER_MAX 64 /* characters of an id */
#define PROCINFO_COMM_MAX 64	  /* the kernel's own limit is 16 */

struct procinfo {
	pid_t pid;
	pid_t ns_pid;		      /* in the innermost pid namespace; equals pid on the host */
	uid_t uid;		      /* effective */
	char comm[PROCINFO_COMM_MAX]; /* raw; of the main thread */
	char container[PROCINFO_CONTAINER_MAX + 1]; /* "": none is known */
	char *cgroup; /* raw; below the hierarchy's root, NULL if not known */
};

struct procs;

/* NULL if there is no memory. */
struct procs *procs__new(void);
void procs__free(struct procs *ps); /* NULL is allowed */

/*
 * What is known of a process, reading it if that was not done before.  NULL: it
 * is gone, or may not be looked at.  Stays valid until it is forgotten.
 */
const struct procinfo *procs__get(struct procs *ps, pid_t pid);
/* Reads it anew, if it can still be read. */
void procs__refresh(struct procs *ps, pid_t pid);
/* Where it cannot be read: at least this, as the kernel side saw it.  `comm` is raw. */
void procs__note(struct procs *ps, pid_t pid, uid_t uid, const char *comm, size_t len);
/* It is gone, or executes another program. */
void procs__forget(struct procs *ps, pid_t pid);

/* The container id in a control group's path, "" if there is none. */
void procinfo__container_of(const char *cgroup, char id[PROCINFO_CONTAINER_MAX + 1]);

#endif /* ACLGUARD_PROCINFO_H */
