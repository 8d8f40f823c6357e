/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A small world to tell histories in: programs whose threads call the runtime,
 * and what the state machine says to it.
 *
 *	copy_h2d(w, BUF + 64, 100, S);
 *	record_event(w, E, S);
 *	poll_event(w, E, DONE);
 *	free_host(w, BUF);
 *	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
 *
 * Each function is a whole call that returns 0, made by the thread that as()
 * named last; time goes on by a microsecond at an entry and at a return.  Set
 * before a call, fails() lets it return something else, and holds() leaves it
 * in progress until returns().  What is reported must be expected: a history
 * during which something else was said fails when its world ends.
 */
#ifndef ACLGUARD_TESTS_WORLD_H
#define ACLGUARD_TESTS_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "store.h"

#define WORLD_CALLS_MAX 8 /* in progress at once on one thread */
#define WORLD_THREADS_MAX 16
#define WORLD_REPORTS_MAX 64
#define WORLD_BATCH_MAX 100

#define US 1000ULL
#define MS (1000 * US)
#define SEC (1000 * MS)

#define TGID 100 /* the process that calls, unless as_process() says otherwise */
#define WINDOW (1 * SEC)

#define SITE 0x401234 /* every call returns to there */

#define NOT_DONE 0
#define DONE 1

/* A call in progress, as the program knows it. */
struct world_call {
	__u64 sp;
	__u64 out;
	__s32 ret;
	__u8 out_ok;
};

struct world_thread {
	__u32 tgid, tid;
	__u32 depth;
	__u64 top; /* where its stack begins */
	struct world_call calls[WORLD_CALLS_MAX];
};

struct world {
	struct store *store;
	__u64 now;
	__u64 tick; /* ns from one entry or return to the next */
	__u32 tgid, tid;
	/* of the next call */
	__s32 ret;
	__u8 hold;
	__u8 unreadable;
	struct world_thread threads[WORLD_THREADS_MAX];
	/* the arrays of the batch that is copied */
	struct world_copy {
		__u64 dst, src, len;
	} batch[WORLD_BATCH_MAX];
	/* what was said, and how much of it was expected */
	struct acl_violation said[WORLD_REPORTS_MAX];
	struct acl_sequel sequels[WORLD_REPORTS_MAX];
	struct acl_gone gone[WORLD_REPORTS_MAX];
	__u32 nr_said, heard, nr_sequels, sequels_heard, nr_gone;
};

/* A fixture for cmocka: *state is a world with everything in scope and strict. */
int world__setup(void **state);
int world__teardown(void **state);
/* Begins anew, with another configuration. */
struct acl_cfg world__cfg(void);
void world__restart(struct world *w, const struct acl_cfg *cfg, __u64 complete);

#define world_test(f) cmocka_unit_test_setup_teardown(f, world__setup, world__teardown)

/* ---- who, when, how ---- */
void as(struct world *w, __u32 tid);
void as_process(struct world *w, __u32 tgid, __u32 tid);
void wait_ns(struct world *w, __u64 ns);
void fails(struct world *w, __s32 ret);
void holds(struct world *w);
void unreadable(struct world *w);
void returns(struct world *w);
void returns_with(struct world *w, __s32 ret);

/* ---- entries and returns by hand ---- */
#define call(w, name, out, ...) world__call(w, ACL_C_##name, out, (__u64[6]){ __VA_ARGS__ })
#define enter_at(w, sp, name, ...) world__enter_at(w, sp, ACL_C_##name, (__u64[6]){ __VA_ARGS__ })
void world__call(struct world *w, enum acl_call call, __u64 out, const __u64 args[6]);
void world__enter_at(struct world *w, __u64 sp, enum acl_call call, const __u64 args[6]);
void leave_at(struct world *w, __u64 sp, __s32 ret, __u64 out);

/* ---- host memory ---- */
void malloc_host(struct world *w, __u64 p, __u64 size);
void free_host(struct world *w, __u64 p);
void free_host_sync(struct world *w, __u64 p);
void host_register(struct world *w, __u64 p, __u64 size);
void host_unregister(struct world *w, __u64 p);

/* ---- events ---- */
void create_event(struct world *w, __u64 e); /* aclrtCreateEvent: TIME_LINE */
void create_event_flags(struct world *w, __u64 e, __u32 flags);
void create_event_ex(struct world *w, __u64 e);
void destroy_event(struct world *w, __u64 e);
void record_event(struct world *w, __u64 e, __u64 s);
void reset_event(struct world *w, __u64 e, __u64 s);
void poll_event(struct world *w, __u64 e, int done);  /* aclrtQueryEventStatus */
void query_event(struct world *w, __u64 e, int done); /* aclrtQueryEvent */
void sync_event(struct world *w, __u64 e);
void stream_wait(struct world *w, __u64 s, __u64 e);

/* ---- streams ---- */
void create_stream(struct world *w, __u64 s);
void destroy_stream(struct world *w, __u64 s);
void destroy_stream_force(struct world *w, __u64 s);
void sync_stream(struct world *w, __u64 s);
void query_stream(struct world *w, __u64 s, int done);
void default_stream(struct world *w, __u64 s);
void launch_callback(struct world *w, __u64 s);
void capture_begin(struct world *w, __u64 s);
void capture_end(struct world *w, __u64 s);

/* ---- devices and contexts ---- */
void set_device(struct world *w, int dev);
void reset_device(struct world *w, int dev);
void reset_device_force(struct world *w, int dev);
void sync_device(struct world *w);
void create_ctx(struct world *w, __u64 c, int dev);
void destroy_ctx(struct world *w, __u64 c);
void set_ctx(struct world *w, __u64 c);
void get_ctx(struct world *w, __u64 c);

/* ---- copies ---- */
#define DEVICE_MEM 0x12c000000000ULL
#define H2H 0
#define H2D 1
#define D2H 2
#define D2D 3
#define ANY 4
#define H2B2D 5
void copy_kind(struct world *w, __u64 dst, __u64 src, __u64 len, int kind, __u64 s);
void copy_h2d(struct world *w, __u64 host, __u64 len, __u64 s);
void copy_d2h(struct world *w, __u64 host, __u64 len, __u64 s);
void copy_batch(struct world *w, __u32 n, __u64 s); /* of w->batch */

/* ---- what is said ---- */
#define expect(w, rule, level, evidence) \
	world__expect(w, ACL_RULE_##rule, ACL_LEVEL_##level, ACL_EV_##evidence, __FILE__, __LINE__)
#define silent(w) world__silent(w, __FILE__, __LINE__)
/* The report is suspected for this cause, and for no other. */
#define because(v, cause) assert_int_equal((v)->suspects, 1U << ACL_S_##cause)
#define expect_sequel(w, type) world__sequel(w, ACL_REC_##type, __FILE__, __LINE__)
const struct acl_violation *world__expect(struct world *w, enum acl_rule rule, enum acl_level level,
					  enum acl_evidence evidence, const char *file, int line);
const struct acl_sequel *world__sequel(struct world *w, enum acl_rec type, const char *file,
				       int line);
void world__silent(struct world *w, const char *file, int line);

const struct acl_proc *proc_of(struct world *w, __u32 tgid);
__u64 lost(struct world *w, enum acl_loss cause);
__u64 used(struct world *w, enum store_table table);

#endif /* ACLGUARD_TESTS_WORLD_H */
