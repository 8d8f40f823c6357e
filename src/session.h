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
#include "story.h"

struct acl_proc;
struct aclguard_bpf;
struct procinfo;
struct ring_buffer;
struct session;

/* Who hears of more than reports tell.  Callbacks may be NULL; all are the session's thread. */
struct session_listener {
	void *arg;
	FILE *reports; /* takes all reports, as JSON, instead of what the options name */
	/* A process has called for the first time; `info` NULL: nothing more is known. */
	void (*began)(void *arg, const struct acl_proc *p, const struct procinfo *info);
	void (*over)(void *arg, const struct acl_proc *p, uint64_t time);
	void (*turn)(void *arg); /* whatever woke the session was handled */
	struct story_sink sink;
};

/* What user space has counted so far. */
struct session_numbers {
	uint64_t unlooked; /* see struct summary */
	uint64_t lost_mappings;
	uint64_t unknown_records;
	uint64_t damaged_records;
	uint64_t orphaned_followups;
	uint64_t unfinished_reports;
	uint64_t lost_dumps; /* apart from those that the kernel lost */
	uint64_t late_attaches;
	uint64_t late_gap;  /* ns */
	uint64_t libraries; /* with probes in them */
	const char *how;    /* they are attached; static */
};

/*
 * Loads everything and opens the output.  Returns 0, or an exit status after
 * having said why not.  *out is set on success only; session__close() it.
 * `listener` must outlive the session; NULL: nobody listens.
 */
int session__open(const struct options *opts, const struct session_listener *listener,
		  struct session **out);

void session__numbers(const struct session *s, struct session_numbers *n);
/* The maps; not owned. */
struct aclguard_bpf *session__maps(const struct session *s);
#define SESSION_RINGS 2
/* A ring from the kernel, and how it is called; not owned. */
struct ring_buffer *session__ring(const struct session *s, unsigned int i, const char **name);
/* The names behind addresses, and of processes; not owned. */
const struct report_cfg *session__report_cfg(const struct session *s);

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
 * Enforcement: whether anything was asked for; SIGUSR1 and SIGUSR2 switch it off and on
 * again (false: it was another signal); how many processes it keeps stopped now.
 */
bool session__enforces(const struct session *s);
bool session__take_signal(struct session *s, uint32_t sig);
unsigned int session__held(const struct session *s);

/*
 * Runs until `fd` (a pidfd, a signalfd; -1: none) is readable or until no
 * process is left in scope (never, where all are).  Returns 1 for the former, 0 for the latter, or
 * -errno.
 */
int session__wait(struct session *s, int fd, int fd2);

#endif /* ACLGUARD_SESSION_H */
