/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the kernel side counts, and how full its tables are.  Each function reads by
 * bpf() alone and keeps nothing, so any thread may call it that has the capabilities to
 * read maps, as long as the BPF object is not closed.
 *
 * Counters that lie on several CPUs are summed up.  They are read one after the other
 * while calls go on: each is exact, but two need not be of the same moment.
 * All functions but the simplest return 0 or -errno.
 */
#ifndef ACLGUARD_COUNTERS_H
#define ACLGUARD_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

struct aclguard_bpf;
struct ring_buffer;

int counters__calls(const struct aclguard_bpf *skel, struct acl_calls out[ACL_C_MAX]);
int counters__losses(const struct aclguard_bpf *skel, uint64_t out[ACL_L_MAX]);

/*
 * By ACL_VERDICT_NR(): of all processes, and of one incarnation for as long as its state
 * is not swept away.  The former may be more than the sum of the latter where more
 * than ACL_CAP_VERDICTS kinds of them had to be kept at a time; struct acl_proc
 * counts all of its process.
 */
int counters__verdicts(const struct aclguard_bpf *skel, struct acl_verdicts out[ACL_VERDICTS_MAX]);
int counters__verdicts_of(const struct aclguard_bpf *skel, uint64_t inc,
			  struct acl_verdicts out[ACL_VERDICTS_MAX]);

/* Calls that failed, by what they returned; the rest is `failed_otherwise` of the call. */
typedef void (*counters_error_fn)(void *arg, unsigned int call, int32_t ret, uint64_t count);
int counters__each_error(const struct aclguard_bpf *skel, counters_error_fn fn, void *arg);

/* The live processes that have called the runtime. */
typedef void (*counters_proc_fn)(void *arg, const struct acl_proc *p);
int counters__each_proc(const struct aclguard_bpf *skel, counters_proc_fn fn, void *arg);

/* ---- room ---------------------------------------------------------------- */

struct counters_table {
	const char *name; /* the BPF object's */
	uint64_t entries;
	uint64_t capacity;
};

/*
 * Counts the entries of each table, those of processes that are over and not swept away
 * yet among them: a walk, of a few ns for each entry there is.
 */
typedef void (*counters_table_fn)(void *arg, const struct counters_table *t);
int counters__each_table(const struct aclguard_bpf *skel, counters_table_fn fn, void *arg);

/* Bytes that wait in a ring; looks at memory that its reader has mapped. */
uint64_t counters__ring_used(struct ring_buffer *rb);
uint64_t counters__ring_size(struct ring_buffer *rb);

/* ---- the programs -------------------------------------------------------- */

/*
 * Has the kernel measure how long BPF programs run, for as long as the descriptor that
 * is returned stays open, which makes every run some 20 to 50 ns dearer; of all programs
 * on the machine, ours or not.  CAP_SYS_ADMIN, Linux 5.8.
 */
int counters__measure_runs(void);

struct counters_program {
	const char *name;
	uint64_t runs;	 /* while they were measured */
	uint64_t run_ns; /* in all */
	uint64_t missed; /* the kernel left it out, as it was running on the CPU */
};

typedef void (*counters_program_fn)(void *arg, const struct counters_program *p);
int counters__each_program(const struct aclguard_bpf *skel, counters_program_fn fn, void *arg);

#endif /* ACLGUARD_COUNTERS_H */
