/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A session of watching: the BPF side loaded, the processes in scope, the
 * files they map probed, and the loop that turns what the kernel sends into
 * reports.  `run` and `watch` differ only in how processes come into it.
 */
#ifndef ACLGUARD_SESSION_H
#define ACLGUARD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "options.h"

struct session;

/*
 * Loads everything and opens the output.  Returns 0, or an exit status after
 * having said why not.  *out is set on success only; session__close() it.
 */
int session__open(const struct options *opts, struct session **out);

/*
 * Prints what is pending and the summary, and takes everything out.  Returns
 * the exit status that the session itself has to offer: 0, the one asked for
 * where errors were reported, or ACL_EXIT_OUTPUT.
 */
int session__close(struct session *s);

/* Takes everything out without a word: nothing came of it. */
void session__abandon(struct session *s);

/*
 * Takes a process into scope.  `ours`: we started it, so all it does is seen,
 * and it may be stopped for the moment of attaching.  Returns 0 or -errno.
 */
int session__add(struct session *s, pid_t pid, bool ours);

/*
 * Looks at what a process has mapped, and probes what is of interest.
 * Returns a mask of enum probes_file, or -errno.
 */
int session__scan(struct session *s, pid_t pid);

/* From now on all that the process does is seen (see struct acl_target). */
int session__complete(struct session *s, pid_t pid);

/* Probes the dynamic loader that a program will start with. */
int session__probe_loader_of(struct session *s, const char *program);
/* Those that what it starts will most probably have. */
void session__probe_usual_loaders(struct session *s);

/*
 * Takes all processes into scope that use the runtime, now or later, and that the
 * options' filters want.  Returns how many there are, or -errno; -ECANCELED where
 * the canary did not live on.  `interrupt` is as in session__canary().
 */
int session__watch_all(struct session *s, int interrupt);

/*
 * Where the options ask for it, and once: probes this process alone for a while.
 * Returns 0 if it lives on, -EINTR if `interrupt` became readable, -ECANCELED
 * (already said) if it ended, or -errno.
 */
int session__canary(struct session *s, pid_t pid, int interrupt);

/*
 * Runs until `fd` (a pidfd, a signalfd; -1: none) is readable or until no
 * process is left in scope (never, where all are).  Returns 1 for the former, 0 for the latter, or
 * -errno.
 */
int session__wait(struct session *s, int fd, int fd2);

#endif /* ACLGUARD_SESSION_H */
