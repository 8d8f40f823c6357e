/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A minder: a process of our own that sleeps until we are gone without having ended
 * it, by SIGKILL for instance, and then does what must not be left undone.  It has no files but those it is
 * given, so that nothing of ours lives on with it, and takes no signal but SIGKILL.
 */
#ifndef ACLGUARD_MINDER_H
#define ACLGUARD_MINDER_H

#include <stddef.h>
#include <sys/types.h>

struct minder {
	pid_t pid; /* 0: there is none */
	int alive; /* we are, as long as this is open */
};

#define MINDER_FILES_MAX 8

/*
 * fn(arg) is called, in the minder, when we are gone.  It has a copy of all memory, so
 * `arg` is as it was now.  0 or -errno.
 */
int minder__start(struct minder *m, const int *files, size_t n, void (*fn)(void *arg), void *arg);
/* Nothing is to be done any more.  Nor here, where there is none. */
void minder__end(struct minder *m);

#endif /* ACLGUARD_MINDER_H */
