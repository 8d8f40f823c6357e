/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * User space's half of enforcement.  The kernel side acts by itself wherever it can;
 * what is left is to say what came of it, to decide where a suppression may apply and
 * the process waits for that, and to see that nobody continues what was stopped on
 * purpose.  See bpf/enforce.bpf.h.
 */
#ifndef ACLGUARD_ENFORCER_H
#define ACLGUARD_ENFORCER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "enforcement.h"

struct acl_sequel;
struct acl_violation;
struct aclguard_bpf;
struct enforcer;
struct options;

/* Before the BPF side is loaded: tells it what is asked for.  suppressible: see load.h. */
void enforcer__configure(struct aclguard_bpf *skel, const struct options *opts,
			 uint32_t suppressible);

/* The options are not owned.  NULL if there is no memory. */
struct enforcer *enforcer__new(const struct options *opts);
/*
 * The BPF side is loaded; it has to outlive the enforcer.  Where processes may wait for
 * decisions, a minder is started that lets them go on should we be killed, or held up for
 * longer than 2 s.  0 or -errno.
 */
int enforcer__begin(struct enforcer *e, struct aclguard_bpf *skel);
/* Nothing more is begun; what was is still to be decided and told. */
void enforcer__end(struct enforcer *e);
/* Who still waits for a decision goes on; what was stopped stays so.  NULL is allowed. */
void enforcer__free(struct enforcer *e);

/*
 * What was done about a violation, or is done now where that was left open.  The
 * result is valid until the next call.  `arg` is the enforcer.
 */
const struct enforcement *enforcer__decide(void *arg, const struct acl_violation *v,
					   bool suppressed);
/* Nobody reports it, so nobody is to act upon it. */
void enforcer__dismiss(struct enforcer *e, const struct acl_violation *v);
/* Lets those go on about whom it was decided so.  To be called once the rings are empty. */
void enforcer__settle(struct enforcer *e);

/* The filters want the process. */
void enforcer__confirm(struct enforcer *e, uint64_t inc);
/* The judged call of a thread has returned, so that it is not stopped there any more. */
void enforcer__returned(struct enforcer *e, const struct acl_sequel *q);
/* The process has ended, or executes another program. */
void enforcer__gone(struct enforcer *e, pid_t tgid);

/*
 * Whether a process, or with `below` a descendant of it, is stopped by enforcement,
 * or about to be, so that a stop of another kind must not be ended.  `ran`: when the
 * process is known to have run, monotonic ns; 0: not known.
 */
bool enforcer__keeps(const struct enforcer *e, pid_t pid, uint64_t ran, bool below);
/* A short stop of our own was sent to the process, and is ended with the decision. */
void enforcer__adopt_stop(struct enforcer *e, pid_t pid);
/* How many processes are stopped by enforcement now. */
unsigned int enforcer__held(const struct enforcer *e);

/* Switches it off, or on again; at once.  False where that changes nothing. */
bool enforcer__observe(struct enforcer *e, bool observe);
const struct enforce_counts *enforcer__counts(const struct enforcer *e);

#endif /* ACLGUARD_ENFORCER_H */
