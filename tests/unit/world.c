/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Histories for the state machine, see world.h. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define STACK_SIZE 0x100000ULL
#define FRAME_SIZE 0x200ULL

/* ---- the world --------------------------------------------------------- */

static void on_violation(void *arg, const struct acl_violation *v)
{
	struct world *w = arg;

	assert_in_range(w->nr_said, 0, WORLD_REPORTS_MAX - 1);
	w->said[w->nr_said++] = *v;
}

static void on_sequel(void *arg, const struct acl_sequel *s)
{
	struct world *w = arg;

	assert_in_range(w->nr_sequels, 0, WORLD_REPORTS_MAX - 1);
	w->sequels[w->nr_sequels++] = *s;
}

static void on_proc(void *arg, const struct acl_gone *g)
{
	struct world *w = arg;

	assert_in_range(w->nr_gone, 0, WORLD_REPORTS_MAX - 1);
	w->gone[w->nr_gone++] = *g;
}

static int on_batch(void *arg, const struct acl_frame *f, __u32 i, struct acl_enter *one)
{
	const struct world *w = arg;

	(void)f;
	if (i >= WORLD_BATCH_MAX || !w->batch[i].dst)
		return -1;
	one->args[0] = w->batch[i].dst;
	one->args[2] = w->batch[i].src;
	one->args[3] = w->batch[i].len;
	return 0;
}

struct acl_cfg world__cfg(void)
{
	return (struct acl_cfg){
		.window = WINDOW,
		.rules = ACL_RULES_ALL,
		.strict = 1,
		.all = 1,
	};
}

void world__restart(struct world *w, const struct acl_cfg *cfg, __u64 complete)
{
	const struct store_cfg store_cfg = {
		.acl = *cfg,
		.complete = complete,
		.arg = w,
		.violation = on_violation,
		.sequel = on_sequel,
		.batch = on_batch,
		.proc = on_proc,
	};

	store__free(w->store);
	memset(w, 0, sizeof(*w));
	w->store = store__new(&store_cfg);
	assert_non_null(w->store);
	w->now = 10 * SEC;
	w->tick = US;
	w->tgid = TGID;
	w->tid = TGID;
}

int world__setup(void **state)
{
	const struct acl_cfg cfg = world__cfg();
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	world__restart(w, &cfg, 0);
	*state = w;
	return 0;
}

/* A teardown cannot fail a test by an assertion, but by what it returns. */
int world__teardown(void **state)
{
	struct world *w = *state;
	__u32 unexpected = w->nr_said - w->heard;

	for (__u32 i = w->heard; i < w->nr_said; i++)
		print_error("not expected: rule %u, level %u, evidence %u\n", w->said[i].rule,
			    w->said[i].level, w->said[i].evidence);
	store__free(w->store);
	free(w);
	return unexpected ? -1 : 0;
}

/* ---- who, when, how ---------------------------------------------------- */

void as_process(struct world *w, __u32 tgid, __u32 tid)
{
	w->tgid = tgid;
	w->tid = tid;
}

void as(struct world *w, __u32 tid)
{
	w->tid = tid;
}

void wait_ns(struct world *w, __u64 ns)
{
	w->now += ns;
}

void fails(struct world *w, __s32 ret)
{
	w->ret = ret;
}

void holds(struct world *w)
{
	w->hold = 1;
}

void unreadable(struct world *w)
{
	w->unreadable = 1;
}

static struct world_thread *world__thread(struct world *w)
{
	struct world_thread *t = w->threads;

	while (t->tid && (t->tid != w->tid || t->tgid != w->tgid))
		t++;
	assert_in_range(t - w->threads, 0, WORLD_THREADS_MAX - 1);
	if (!t->tid) {
		t->tid = w->tid;
		t->tgid = w->tgid;
		t->top = 0x7fff00000000ULL - w->tid * STACK_SIZE;
	}
	return t;
}

/* ---- entries and returns ----------------------------------------------- */

void world__enter_at(struct world *w, __u64 sp, enum acl_call call, const __u64 args[6])
{
	struct acl_enter in = {
		.sp = sp,
		.tgid = w->tgid,
		.tid = w->tid,
		.call = call,
	};

	memcpy(in.args, args, sizeof(in.args));
	w->now += w->tick;
	in.pos = w->now;
	store__enter(w->store, &in);
}

static void world__leave(struct world *w, const struct world_call *c)
{
	struct acl_leave out = {
		.sp = c->sp,
		.out = c->ret ? 0 : c->out,
		.site = SITE,
		.ret = c->ret,
		.tgid = w->tgid,
		.tid = w->tid,
		.out_ok = !c->ret && c->out_ok,
	};

	w->now += w->tick;
	out.pos = w->now;
	store__leave(w->store, &out);
}

void leave_at(struct world *w, __u64 sp, __s32 ret, __u64 out)
{
	const struct world_call c = { .sp = sp, .ret = ret, .out = out, .out_ok = 1 };

	world__leave(w, &c);
}

void world__call(struct world *w, enum acl_call call, __u64 out, const __u64 args[6])
{
	struct world_thread *t = world__thread(w);
	struct world_call *c = &t->calls[t->depth];
	__u8 hold = w->hold;

	assert_in_range(t->depth, 0, WORLD_CALLS_MAX - 1);
	t->depth++;
	c->sp = t->top - t->depth * FRAME_SIZE;
	c->out = out;
	c->ret = w->ret;
	c->out_ok = !w->unreadable;
	w->ret = 0;
	w->hold = 0;
	w->unreadable = 0;
	world__enter_at(w, c->sp, call, args);
	if (!hold)
		returns(w);
}

void returns(struct world *w)
{
	struct world_thread *t = world__thread(w);

	assert_in_range(t->depth, 1, WORLD_CALLS_MAX);
	t->depth--;
	world__leave(w, &t->calls[t->depth]);
}

void returns_with(struct world *w, __s32 ret)
{
	struct world_thread *t = world__thread(w);

	assert_in_range(t->depth, 1, WORLD_CALLS_MAX);
	t->calls[t->depth - 1].ret = ret;
	returns(w);
}

static void call_once(struct world *w, enum acl_call call, __u64 arg)
{
	const __u64 args[6] = { arg };
	const __u64 sp = world__thread(w)->top - FRAME_SIZE;

	world__enter_at(w, sp, call, args);
	leave_at(w, sp, 0, 0);
}

/* ---- host memory ------------------------------------------------------- */

#define CELL 0x7ffe00001000ULL /* where the program has its outputs put */

void malloc_host(struct world *w, __u64 p, __u64 size)
{
	call(w, aclrtMallocHost, p, CELL, size);
}

void free_host(struct world *w, __u64 p)
{
	call(w, aclrtFreeHost, 0, p);
}

void free_host_sync(struct world *w, __u64 p)
{
	call(w, aclrtFreeHostWithDevSync, 0, p);
}

void host_register(struct world *w, __u64 p, __u64 size)
{
	call(w, aclrtHostRegister, 0, p, size, 0, CELL);
}

void host_unregister(struct world *w, __u64 p)
{
	call(w, aclrtHostUnregister, 0, p);
}

/* ---- events ------------------------------------------------------------ */

#define TIME_LINE 0x8
#define CAPTURE_STREAM_PROGRESS 0x2

void create_event(struct world *w, __u64 e)
{
	call(w, aclrtCreateEvent, e, CELL, TIME_LINE);
}

void create_event_flags(struct world *w, __u64 e, __u32 flags)
{
	call(w, aclrtCreateEventWithFlag, e, CELL, flags);
}

void create_event_ex(struct world *w, __u64 e)
{
	call(w, aclrtCreateEventExWithFlag, e, CELL, CAPTURE_STREAM_PROGRESS);
}

void destroy_event(struct world *w, __u64 e)
{
	call(w, aclrtDestroyEvent, 0, e);
}

void record_event(struct world *w, __u64 e, __u64 s)
{
	call(w, aclrtRecordEvent, 0, e, s);
}

void reset_event(struct world *w, __u64 e, __u64 s)
{
	call(w, aclrtResetEvent, 0, e, s);
}

/* The two queries say the same by opposite numbers. */
void poll_event(struct world *w, __u64 e, int done)
{
	call(w, aclrtQueryEventStatus, done ? 1 : 0, e, CELL);
}

void query_event(struct world *w, __u64 e, int done)
{
	call(w, aclrtQueryEvent, done ? 0 : 1, e, CELL);
}

void sync_event(struct world *w, __u64 e)
{
	call(w, aclrtSynchronizeEvent, 0, e);
}

void stream_wait(struct world *w, __u64 s, __u64 e)
{
	call(w, aclrtStreamWaitEvent, 0, s, e);
}

/* ---- streams ----------------------------------------------------------- */

void create_stream(struct world *w, __u64 s)
{
	call(w, aclrtCreateStream, s, CELL);
}

void destroy_stream(struct world *w, __u64 s)
{
	call(w, aclrtDestroyStream, 0, s);
}

void destroy_stream_force(struct world *w, __u64 s)
{
	call(w, aclrtDestroyStreamForce, 0, s);
}

void sync_stream(struct world *w, __u64 s)
{
	call(w, aclrtSynchronizeStream, 0, s);
}

void query_stream(struct world *w, __u64 s, int done)
{
	call(w, aclrtStreamQuery, done ? 0 : 1, s, CELL);
}

void default_stream(struct world *w, __u64 s)
{
	call(w, aclrtCtxGetCurrentDefaultStream, s, CELL);
}

void launch_callback(struct world *w, __u64 s)
{
	call_once(w, ACL_C_aclrtLaunchCallback, s);
}

void capture_begin(struct world *w, __u64 s)
{
	call(w, aclmdlRICaptureBegin, 0, s, 0);
}

void capture_end(struct world *w, __u64 s)
{
	call(w, aclmdlRICaptureEnd, 0x1234000, s, CELL);
}

/* ---- devices and contexts ---------------------------------------------- */

void set_device(struct world *w, int dev)
{
	call(w, aclrtSetDevice, 0, dev);
}

void reset_device(struct world *w, int dev)
{
	call(w, aclrtResetDevice, 0, dev);
}

void reset_device_force(struct world *w, int dev)
{
	call(w, aclrtResetDeviceForce, 0, dev);
}

void sync_device(struct world *w)
{
	call(w, aclrtSynchronizeDevice, 0);
}

void create_ctx(struct world *w, __u64 c, int dev)
{
	call(w, aclrtCreateContext, c, CELL, dev);
}

void destroy_ctx(struct world *w, __u64 c)
{
	call(w, aclrtDestroyContext, 0, c);
}

void set_ctx(struct world *w, __u64 c)
{
	call(w, aclrtSetCurrentContext, 0, c);
}

void get_ctx(struct world *w, __u64 c)
{
	call(w, aclrtGetCurrentContext, c, CELL);
}

/* ---- copies ------------------------------------------------------------ */

void copy_kind(struct world *w, __u64 dst, __u64 src, __u64 len, int kind, __u64 s)
{
	call(w, aclrtMemcpyAsync, 0, dst, len, src, len, kind, s);
}

void copy_h2d(struct world *w, __u64 host, __u64 len, __u64 s)
{
	copy_kind(w, DEVICE_MEM, host, len, H2D, s);
}

void copy_d2h(struct world *w, __u64 host, __u64 len, __u64 s)
{
	copy_kind(w, host, DEVICE_MEM, len, D2H, s);
}

void copy_batch(struct world *w, __u32 n, __u64 s)
{
	call(w, aclrtMemcpyBatchAsync, 0, CELL, CELL, CELL, CELL, n, s);
}

/* ---- what is said ------------------------------------------------------ */

const struct acl_violation *world__expect(struct world *w, enum acl_rule rule, enum acl_level level,
					  enum acl_evidence evidence, const char *file, int line)
{
	const struct acl_violation *v = &w->said[w->heard];

	if (w->heard == w->nr_said) {
		print_error("nothing was said, where rule %u was expected\n", rule);
		_fail(file, line);
	}
	w->heard++;
	_assert_int_equal(v->rule, rule, file, line);
	_assert_int_equal(v->level, level, file, line);
	if (v->evidence != evidence)
		print_error("suspects %#x\n", v->suspects);
	_assert_int_equal(v->evidence, evidence, file, line);
	return v;
}

const struct acl_sequel *world__sequel(struct world *w, enum acl_rec type, const char *file,
				       int line)
{
	const struct acl_sequel *s = &w->sequels[w->sequels_heard];

	if (w->sequels_heard == w->nr_sequels)
		_fail(file, line);
	w->sequels_heard++;
	_assert_int_equal(s->h.type, type, file, line);
	return s;
}

void world__silent(struct world *w, const char *file, int line)
{
	if (w->heard != w->nr_said)
		print_error("rule %u was reported\n", w->said[w->heard].rule);
	_assert_int_equal(w->nr_said, w->heard, file, line);
}

const struct acl_proc *proc_of(struct world *w, __u32 tgid)
{
	const struct acl_proc *p = store__proc(w->store, tgid);

	assert_non_null(p);
	return p;
}

__u64 lost(struct world *w, enum acl_loss cause)
{
	return store__losses(w->store)[cause];
}

__u64 used(struct world *w, enum store_table table)
{
	return store__used(w->store, table);
}
