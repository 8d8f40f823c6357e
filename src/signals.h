/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Signals that are read from a descriptor, in order, instead of handled. */
#ifndef ACLGUARD_SIGNALS_H
#define ACLGUARD_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/*
 * Blocks n signals, and returns a signalfd that has them (non-blocking, closed on exec), or
 * -errno.  *old is the mask as it was before; NULL: not wanted.
 */
int signals__open(const int *sigs, size_t n, sigset_t *old);

#endif /* ACLGUARD_SIGNALS_H */
