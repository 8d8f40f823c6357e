/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state machine in user space: the tables of machine.h as ordinary memory,
 * and what the probes do around them.  A recording is replayed through it, and
 * the tests drive it with histories; the transitions and verdicts are the very
 * lines that run in the kernel.
 *
 * A store is for one thread.  Nothing in it is global, and the same sequence of
 * calls always gives the same ids, losses and reports.
 */
#ifndef ACLGUARD_STORE_H
#define ACLGUARD_STORE_H

#include <stdbool.h>

#include "records.h"

/* X(NAME in functions, ID, type of the entries, entries there may be, all processes together) */
#define STORE_TABLES(X)                                              \
	X(buf, BUFS, struct acl_buf, ACL_CAP_BUFS)                   \
	X(copies, COPIES, struct acl_copies, ACL_CAP_COPIES)         \
	X(event, EVENTS, struct acl_event, ACL_CAP_EVENTS)           \
	X(seen, SEENS, struct acl_seen, ACL_CAP_SEENS)               \
	X(stream, STREAMS, struct acl_stream, ACL_CAP_STREAMS)       \
	X(inherits, INHERITS, struct acl_inherits, ACL_CAP_INHERITS) \
	X(name, NAMES, __u64, ACL_CAP_NAMES)                         \
	X(ctx, CTXS, struct acl_ctx, ACL_CAP_CTXS)                   \
	X(desc, DESCS, struct acl_desc, ACL_CAP_DESCS)               \
	X(dead, DEADS, struct acl_dead, ACL_CAP_DEADS)               \
	X(range, RANGES, struct acl_dead, ACL_CAP_RANGES)            \
	X(grave, GRAVES, __u64, ACL_CAP_GRAVES)                      \
	X(dev, DEVS, struct acl_dev, ACL_CAP_DEVS)

enum store_table {
	STORE_THREADS,
#define STORE_TABLE_ENUM(name, id, type, entries) STORE_##id,
	/* these, and the threads, belong to a process */
	STORE_TABLES(STORE_TABLE_ENUM) STORE_OF_PROC,
#undef STORE_TABLE_ENUM
	STORE_PROCS = STORE_OF_PROC,
	STORE_TARGETS,
	STORE_REPORTS, /* the ring of violations: what it takes over the store's life */
	STORE_TABLE_MAX,
};

struct store_cfg {
	struct acl_cfg acl;
	__u64 complete; /* position since which the probes are complete */
	void *arg;	/* given to each of the following, any of which may be NULL */
	void (*violation)(void *arg, const struct acl_violation *v);
	void (*sequel)(void *arg, const struct acl_sequel *s);
	/* args 0, 2 and 3 of the i-th copy of a batch: dst, src, count.  0 or -errno. */
	int (*batch)(void *arg, const struct acl_frame *f, __u32 i, struct acl_enter *one);
	/* a process is seen first, executes or is gone: ACL_REC_PROC, _EXEC, _EXIT */
	void (*proc)(void *arg, const struct acl_gone *g);
};

struct store;

/* Returns NULL where there is no memory.  The configuration is copied. */
struct store *store__new(const struct store_cfg *cfg);
void store__free(struct store *st);

/* How many entries a table takes.  What is in it stays. */
void store__limit(struct store *st, enum store_table table, __u64 entries);

/* The lock after the next `after` ones is found taken, and so `times` in a row. */
void store__contend(struct store *st, __u64 after, __u64 times);

/* Puts a process in scope, as the kernel's table of targets does.  0 or -errno. */
int store__target(struct store *st, __u32 tgid, const struct acl_target *target);

/*
 * A call's entry and its return.  The arguments stand in the order that the
 * call's role has in calls.h.
 */
void store__enter(struct store *st, const struct acl_enter *in);
void store__leave(struct store *st, const struct acl_leave *out);

void store__exec(struct store *st, __u32 tgid, __u64 time);
void store__exit(struct store *st, __u32 tgid, __u64 time);
void store__thread_exit(struct store *st, __u32 tgid, __u32 tid, __u64 time);
/* `child` is the number of a new process, or of a new thread of `tgid`. */
void store__fork(struct store *st, __u32 tgid, __u32 child, __u64 time);

/* From now on a cause to suspect what is said of the process, if there is such a one. */
void store__suspect(struct store *st, __u32 tgid, enum acl_suspect cause);

/* The process as it is now, NULL if it has not called the runtime. */
const struct acl_proc *store__proc(const struct store *st, __u32 tgid);
/* Calls back for each of its buffers and events that is alive; either may be NULL. */
void store__alive(const struct store *st, __u32 tgid, void *arg,
		  void (*buf)(void *arg, const struct acl_buf *b),
		  void (*event)(void *arg, const struct acl_event *e));
/* Entries in a table, all processes together. */
__u64 store__used(const struct store *st, enum store_table table);
/* Losses of all processes, by enum acl_loss; calls, by enum acl_call. */
const __u64 *store__losses(const struct store *st);
const struct acl_calls *store__calls(const struct store *st);

/* ---- what machine.h asks of a store ------------------------------------ */

struct acl_env;

#define STORE_TABLE_FUNCTIONS(name, id, type, entries)                          \
	type *acl_##name##__get(struct acl_env *env, __u64 key);                \
	int acl_##name##__put(struct acl_env *env, __u64 key, const type *val); \
	int acl_##name##__add(struct acl_env *env, __u64 key, const type *val); \
	void acl_##name##__drop(struct acl_env *env, __u64 key);
STORE_TABLES(STORE_TABLE_FUNCTIONS)
#undef STORE_TABLE_FUNCTIONS

int acl_batch__entry(struct acl_env *env, const struct acl_frame *f, __u32 i,
		     struct acl_enter *one);
int acl_lock(struct acl_env *env, __u64 id);
void acl_unlock(struct acl_env *env, __u64 id);
__u64 acl_new_id(struct acl_env *env);
void acl_loss(struct acl_env *env, enum acl_loss cause);
const volatile struct acl_cfg *acl_cfg(struct acl_env *env);
__u64 acl_complete(struct acl_env *env);
void acl_verdict__count(struct acl_env *env, __u32 rule, __u32 level, __u32 evidence, int refused);
struct acl_violation *acl_violation__begin(struct acl_env *env);
void acl_violation__end(struct acl_env *env, struct acl_violation *v);
void acl_sequel__send(struct acl_env *env, enum acl_rec type, __u64 id, __u16 call, __u64 pos,
		      __s32 ret);

#endif /* ACLGUARD_STORE_H */
