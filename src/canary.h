/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The canary: one process that is probed alone for a while, before the others are.
 */
#ifndef ACLGUARD_CANARY_H
#define ACLGUARD_CANARY_H

#include <sys/types.h>

struct probes;

/*
 * Probes what the process has mapped of the runtime, and takes the probes out again
 * after so many seconds.  `pidfd` is the process's, `interrupt` readable when the
 * caller's signal has come (-1: never).  Returns 0 if it lives on, -EINTR if interrupted,
 * -ECANCELED (already said) if it ended, or -errno.
 */
int canary__watch(struct probes *probes, pid_t pid, int pidfd, unsigned int seconds, int interrupt);

#endif /* ACLGUARD_CANARY_H */
