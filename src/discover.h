/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finding the processes that use the runtime, now and later, wherever they are:
 * for `watch --all`.  What runs is looked at once; from then on the kernel tells
 * of every executable file that is mapped (mmaps.h), and only if it does not,
 * /proc is walked, once a second.
 *
 * A library that is probed already needs nothing: whoever maps it later is seen
 * from its first call.  One that is new is probed as soon as it is heard of, and
 * what its process did until then is not known: it is told as attached late.
 */
#ifndef ACLGUARD_DISCOVER_H
#define ACLGUARD_DISCOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "options.h"

struct acl_proc;
struct aclguard_bpf;
struct discover;
struct probes;
struct procs;
struct scope;
struct summary;

/* What it works with; nothing is owned. */
struct discover_cfg {
	const struct options *opts;
	struct aclguard_bpf *skel;
	struct probes *probes;
	struct procs *procs;
	struct scope *scope;
	struct summary *summary;
	void *arg;
	/* all that the process does from now on is seen; 0 or -errno */
	int (*complete)(void *arg, pid_t pid);
	/* before the process makes a call that is probed */
	int (*mind)(void *arg, pid_t pid); /* not 0: nothing is to be probed any more */
};

/* The configuration is copied.  NULL if there is no memory. */
struct discover *discover__new(const struct discover_cfg *cfg);
void discover__free(struct discover *d); /* NULL is allowed */

/* Readable when a process has mapped something; -1: /proc is walked instead. */
int discover__fd(const struct discover *d);

/* Looks at all that runs.  Returns how many processes use the runtime, or -errno. */
int discover__scan(struct discover *d);

/*
 * Takes what has come in, and does what is due.  Returns ns until it has to be
 * called again, UINT64_MAX for not before there is something to read.
 */
uint64_t discover__run(struct discover *d, uint64_t now);

/* What `mind` returned, if it was not 0. */
int discover__failed(const struct discover *d);

/* Everybody who maps the runtime has to be looked at again, as a file has changed. */
void discover__again(struct discover *d);

/*
 * A process has called for the first time.  Returns whether it is wanted; if not,
 * it is out of scope from now on.
 */
bool discover__called(struct discover *d, const struct acl_proc *p);

/* What the kernel side saw of a process, if /proc has not told more. */
void discover__note(struct discover *d, pid_t pid, uid_t uid, const char *comm);

/* Whether the filters want it, as far as is known. */
bool discover__wants(struct discover *d, pid_t pid);

#endif /* ACLGUARD_DISCOVER_H */
