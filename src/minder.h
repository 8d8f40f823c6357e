/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A minder: a process of our own that looks from time to time whether we do what must
 * not be left undone, and does it when we are gone without having ended it, by SIGKILL
 * for instance.  It has no files but those it is given, so that nothing of ours lives
 * on with it, and takes no signal but SIGKILL and SIGSTOP.
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

/* Both are called in the minder, which has a copy of all memory: `arg` is as it was at the start. */
struct minder_fns {
	void (*look)(void *arg); /* every look_ms, while we live */
	int look_ms;
	void (*outlive)(void *arg); /* when we are gone */
	void *arg;
};

/* 0 or -errno. */
int minder__start(struct minder *m, const int *files, size_t n, const struct minder_fns *fns);
/* Nothing is to be done any more.  Nor here, where there is none. */
void minder__end(struct minder *m);

#endif /* ACLGUARD_MINDER_H */
