/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parents that stop because they saw a child of theirs stop: su, script and
 * shells with job control do so, and wait to be continued together with it.
 * The stop was ours and is over, so they are continued too.
 */
#ifndef ACLGUARD_ANCESTORS_H
#define ACLGUARD_ANCESTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ANCESTORS_MAX 16

/* Zero-initialise. */
struct ancestors {
	pid_t pids[ANCESTORS_MAX];
	unsigned int n;
	uint64_t until; /* monotonic ns */
};

/* Notes the ancestors of a process up to us, just before it is stopped or continued. */
void ancestors__note(struct ancestors *a, pid_t pid, uint64_t now);

/* Who is left as it is: called for a parent that is stopped. */
typedef bool (*ancestors_leave)(void *arg, pid_t pid);

/*
 * Continues those that have stopped meanwhile.  Returns ns until it has to be
 * called again, UINT64_MAX for never.
 */
uint64_t ancestors__run(struct ancestors *a, uint64_t now, ancestors_leave leave, void *arg);

/* Whether a process descends from another, as far up as is looked. */
bool ancestors__has(pid_t pid, pid_t ancestor);
/* By a signal, or by a debugger. */
bool ancestors__is_stopped(pid_t pid);

#endif /* ACLGUARD_ANCESTORS_H */
