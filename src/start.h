/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Being told to end while we start.  The kernel takes seconds to check our programs, in
 * one call of libbpf, and whoever waits for that may not want to: SIGINT, SIGTERM and
 * SIGQUIT, blocked otherwise to be read in order, end us at once meanwhile.  Nothing is
 * probed by then, and what was loaded goes with us.
 */
#ifndef ACLGUARD_START_H
#define ACLGUARD_START_H

/*
 * Between the two, a signal ends us as it does by default (a shell calls that 128 + N),
 * unless it was ignored or handled otherwise before.  By whom they are blocked before, by
 * him they are again after; there is one start at a time.
 */
void start__begin(void);
void start__end(void);

/* To be removed where that happens; NULL: nothing.  Must stay until start__end(). */
void start__made(const char *path);

#endif /* ACLGUARD_START_H */
