/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parents that stop because they saw a child of theirs stop: su, script and
 * shells with job control do so, and wait to be continued together with it.
 * The stop was ours and is over, so they are continued too.
 */
#ifndef ACLGUARD_ANCESTORS_H
#define ACLGUARD_ANCESTORS_H

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

/*
 * Continues those that have stopped meanwhile.  Returns ns until it has to be
 * called again, UINT64_MAX for never.
 */
uint64_t ancestors__run(struct ancestors *a, uint64_t now);

#endif /* ACLGUARD_ANCESTORS_H */
