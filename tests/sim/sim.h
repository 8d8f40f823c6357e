/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The inside of the simulated Ascend runtime.
 *
 * What it is for: programs that use aclrt* calls run on it without an NPU, with
 * the hazard that aclguard looks for.  A stream is a thread that executes a
 * queue of tasks in order.  A copy holds a reference on the page-locked host
 * buffer it touches.  When the copy has run, the *device* is done: event and
 * stream queries say COMPLETE.  The reference is dropped only later, when the
 * *host* side is told: after the host lag, or by a call that reclaims.  A
 * buffer that still has references cannot be freed: 507899.
 *
 * What reclaims: aclrtSynchronizeStream*, aclrtSynchronizeDevice*,
 * aclrtDestroyStream, aclrtQueryEvent, aclrtDestroyEvent (up to where the event
 * was seen complete, and up to its record if that is done), aclrtResetDevice
 * with the last reference, aclrtResetDeviceForce.  What does not:
 * aclrtQueryEventStatus, aclrtStreamQuery, aclrtSynchronizeEvent*.
 *
 * Settings, read from the environment when the library is loaded and in a forked
 * child:
 *
 *  ACLSIM_RACE=certain      the host is never told unless a call reclaims
 *  ACLSIM_RACE=impossible   the host is told before a query can say COMPLETE
 *  ACLSIM_RACE=random       device time and host lag vary, see ACLSIM_SEED
 *  ACLSIM_DEVICE_US=N       device time of one copy, default 20
 *  ACLSIM_LAG_US=N|never    host lag, default 200; overrides ACLSIM_RACE
 *  ACLSIM_SEED=N            seed of the random times, default 1; same as =random
 *  ACLSIM_TIMELINE_RECLAIM=1  aclrtQueryEventStatus reclaims on events with the
 *                           TIME_LINE flag, as newer runtimes do; default 0
 *  ACLSIM_EVENTSYNC_RECLAIM=1  aclrtSynchronizeEvent reclaims; default 0
 *  ACLSIM_DESTROY_RECLAIM=0 aclrtDestroyEvent does not reclaim; default 1
 *  ACLSIM_DEVICES=N         number of devices, default 8
 *  ACLSIM_FAIL=CALL:N:CODE,...  the N-th CALL (from 1) returns CODE and does nothing
 *  ACLSIM_LOG=1             error lines on stderr in the vendor's manner
 *  ACLSIM_COUNTS=FILE       at a normal exit write "CALL COUNT" lines: how often
 *                           the body of each exported call ran
 *  ACLSIM_COUNTS_LIVE=FILE  keep the counters in FILE, mapped shared, so that
 *                           they survive any death: records of 64 bytes, the
 *                           name (56, zero padded) and a uint64_t in host order
 *
 * In the two file names %p stands for the process id; without it a forked child
 * adds to its parent's live counters and overwrites its text file.  A live file
 * that exists is added to: remove it between runs.
 *
 * One lock guards everything.  Functions whose comment does not say otherwise
 * are called with it held.
 */
#ifndef SIM_H
#define SIM_H

#include <pthread.h>
#include <stdatomic.h>

#include "acl/acl.h"
#include "aclsim.h"
#include "calls.h"
#include "support.h"

#ifndef SIM_EXPORT
#define SIM_EXPORT __attribute__((visibility("default")))
#endif
#define SIM_PASTE_(a, b) a##b
#define SIM_PASTE(a, b) SIM_PASTE_(a, b)

/* SIM_IMPL: the bodies are called aclrtXImpl and libacl_rt.so forwards to them. */
#ifdef SIM_IMPL
#define SIM_NAME(name) SIM_PASTE(name, Impl)
#else
#define SIM_NAME(name) name
#endif

/* Open the definition of an exported call; the declaration in acl/ checks its type. */
#define SIM_API_(type, name)                    \
	extern __typeof__(name) SIM_NAME(name); \
	SIM_EXPORT type SIM_NAME(name)
#define SIM_API(name) SIM_API_(aclError, name)

enum sim_call {
#define SIM_ENUM_TRACED(name, role, args) SIM_C_##name,
#define SIM_ENUM_SUPPORT(name) SIM_C_##name,
	ACL_CALLS(SIM_ENUM_TRACED) SIM_SUPPORT(SIM_ENUM_SUPPORT) SIM_C_MAX,
};

/*
 * First line of every body: counts the call and makes it fail if that was asked
 * for.  A test may have hooks run here and at the end of the body, where the
 * lock has been given back already.
 */
#define SIM_ENTER(name)                                                               \
	__attribute__((cleanup(sim_leave))) const enum sim_call call_ = SIM_C_##name; \
	aclError enter_rc_ = sim_enter(call_);                                        \
	do {                                                                          \
		if (enter_rc_)                                                        \
			return enter_rc_;                                             \
	} while (0)

#define SIM_NEVER UINT64_MAX
#define SIM_QUEUE_DEPTH 4096

enum sim_type {
	SIM_T_CONTEXT = 1,
	SIM_T_STREAM,
	SIM_T_EVENT,
	SIM_T_NOTIFY,
	SIM_T_CNT_NOTIFY,
	SIM_T_MODEL,
};

/* Head of everything that a program holds a handle to; @uid is never used again. */
struct obj {
	enum sim_type type;
	uint64_t uid;
};

enum range_kind {
	RANGE_DEVICE,
	RANGE_HOST,	  /* aclrtMallocHost */
	RANGE_REGISTERED, /* aclrtHostRegister on the program's own memory */
};

/* A piece of memory that the runtime knows. */
struct range {
	enum range_kind kind;
	uintptr_t base;
	size_t size;
	unsigned int inflight;	 /* device: tasks that will still touch it */
	unsigned int registered; /* host: registrations inside it */
	bool dead;		 /* device: freed, goes with the last task */
	struct ref *refs;	 /* host: not yet reclaimed */
};

/* What a copy holds on a host range until the host side is told. */
struct ref {
	uint64_t seq;
	bool done;
	uint64_t due; /* CLOCK_MONOTONIC ns; valid once done */
	struct range *range;
	struct ref *range_next, *range_prev;
	struct ref_list *list;
	struct ref *list_next, *list_prev;
};

struct ref_list {
	struct ref *head, *tail;
};

/* One recording of an event; shared by the event, the task and those who wait. */
struct record {
	unsigned int users;
	uint64_t stream; /* uid */
	uint64_t seq;
	uint64_t when_ns;
	bool done;
	bool noted; /* in the event's list of seen positions */
};

struct seen {
	uint64_t stream; /* uid */
	uint64_t seq;
};

/* What an event and its IPC twins share. */
struct event_core {
	unsigned int users;
	uint64_t uid;
	uint32_t flags;
	bool ex;	    /* made by aclrtCreateEventExWithFlag */
	bool captured;	    /* last recorded in a graph capture, */
	uint64_t capture;   /* ... the one into this model (uid) */
	unsigned int waits; /* wait tasks not yet done */
	struct record *rec;
	struct seen *seen;
	size_t nseen;
};

struct event {
	struct obj o;
	struct event_core *core;
};

struct notify {
	struct obj o;
	unsigned int users; /* the handle and the tasks */
	uint32_t value;
};

struct callback {
	struct callback *next;
	aclrtCallback fn;
	void *arg;
	bool ran;
	bool orphan; /* nobody waits for it: free it after the run */
};

enum task_type {
	TASK_COPY,
	TASK_SET,
	TASK_NOP,
	TASK_RECORD,
	TASK_WAIT,
	TASK_NOTIFY,
	TASK_NOTIFY_WAIT,
	TASK_CNT_RECORD,
	TASK_CNT_WAIT,
	TASK_HOST_FUNC,
	TASK_CALLBACK,
	TASK_VALUE,
};

struct task {
	struct task *next;
	enum task_type type;
	uint64_t seq;
	/* copy, set, value */
	char *dst;
	const char *src;
	size_t dpitch, spitch, width, height;
	uint64_t value;
	bool pinned; /* every host address lay in page-locked memory */
	struct range *dev[2];
	struct ref *refs[2];
	/* events, notifies */
	struct record *rec;
	struct event_core *core;
	struct notify *notify;
	aclrtCntNotifyRecordInfo cnt_record;
	aclrtCntNotifyWaitInfo cnt_wait;
	uint64_t timeout_ms; /* 0: for ever */
	/* host functions */
	aclrtCallback fn;
	void *arg;
	bool block;
};

struct model {
	struct obj o;
	bool open;
	uint64_t origin; /* uid of the stream whose capture this is */
	struct task *head, **tail;
};

struct stream {
	struct obj o;
	unsigned int users;
	int32_t id;
	int32_t device;
	uint64_t ctx; /* uid */
	bool is_default;
	struct stream *next, **pprev;

	bool started, cut, quit;
	pthread_t thread;
	pthread_cond_t work;
	struct task *head, **tail;
	unsigned int queued;
	uint64_t submitted, done;
	uint64_t last_due;
	struct ref_list refs;
	aclError error; /* first one since the last synchronisation */

	struct model *capture;
	uint64_t subscriber; /* thread of aclrtSubscribeReport */
};

struct context {
	struct obj o;
	int32_t device;
	bool primary;
	struct stream *stream; /* the default one */
};

struct device {
	unsigned int users; /* aclrtSetDevice minus aclrtResetDevice */
	struct context *primary;
	struct ref_list orphans; /* of streams that went without being reclaimed */
};

struct settings {
	uint64_t device_ns;
	uint64_t lag_ns;
	bool random;
	bool timeline_reclaim;
	bool eventsync_reclaim;
	bool destroy_reclaim;
	bool log;
	int32_t devices;
};

#define SIM_DEVICES_MAX 64

struct slot {
	uint64_t key;
	void *val;
};

struct sim {
	struct slot *slots; /* handles and uids, open addressing */
	size_t nslots, nused;
	uint64_t next_uid;
	void *ranges; /* tsearch tree */
	struct stream *streams;
	int32_t next_stream_id;
	struct device devices[SIM_DEVICES_MAX];
	struct callback *callbacks;
	uint64_t rng;
	struct sim *inherited; /* in a forked child: what its parent had */
};

extern struct sim sim;
extern struct settings sim_set;
extern pthread_mutex_t sim_mutex;
extern pthread_cond_t sim_done;	       /* something finished on a device, or a host function ran */
extern _Thread_local uint64_t sim_ctx; /* uid of the thread's current context */
extern bool sim_hooked;		       /* aclsimHook() was called */

/* sim_core.c.  sim_enter() and sim_error() are called with or without the lock. */
aclError sim_enter(enum sim_call call);
void sim_call_end_hook(enum sim_call call);
uint64_t sim_now(void);
uint64_t sim_jitter(uint64_t ns);
void *sim_alloc(size_t size);

/* sim_arena.c */
void *arena__alloc(size_t size);
void arena__free(void *ptr, size_t size);
aclError sim_error(aclError code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Wait on @cond; @deadline in CLOCK_MONOTONIC ns or SIM_NEVER.  False: it has passed. */
bool sim_wait(pthread_cond_t *cond, uint64_t deadline);
uint64_t sim_deadline(int32_t timeout_ms);
void sim_cond_init(pthread_cond_t *cond);

static inline void sim_leave(const enum sim_call *call)
{
	if (sim_hooked)
		sim_call_end_hook(*call);
}

static inline void sim_lock(void)
{
	pthread_mutex_lock(&sim_mutex);
}

static inline aclError sim_unlock(aclError rc)
{
	pthread_mutex_unlock(&sim_mutex);
	return rc;
}

/* sim_table.c: handles, so that a stale or wild one is an error and no crash */
void obj__add(struct obj *o, enum sim_type type);
void obj__del(struct obj *o);
void *obj__get(void *handle, enum sim_type type);
void *obj__by_uid(uint64_t uid);
void uid__add(uint64_t uid, void *val);
void uid__del(uint64_t uid);

/* sim_mem.c */
struct range *range__find(const void *addr, size_t size);
void range__put(struct range *r);
void ref__add(struct range *r, struct ref_list *list, struct task *t, int i);
void ref__drop(struct ref *ref);
void refs__reclaim(struct ref_list *list, uint64_t upto);
void refs__expire(struct ref_list *list);
void refs__move(struct ref_list *from, struct ref_list *to);

/* sim_stream.c */
struct stream *stream__new(struct context *ctx, bool is_default);
struct stream *stream__get(aclrtStream handle, aclError *rc);
void stream__put(struct stream *s);
aclError stream__submit(struct stream *s, struct task *t);
aclError stream__wait(struct stream *s, uint64_t seq, uint64_t deadline);
void stream__reclaim(uint64_t uid, uint64_t upto);
void stream__close(struct stream *s, bool cut, bool reclaim);
void task__free(struct task *t);
aclError sim_sync_device(int32_t device, uint64_t deadline);

/* sim_copy.c */
void task__resolve(struct stream *s, struct task *t);
void task__move(struct task *t);

/* sim_event.c */
void record__put(struct record *rec);
void core__put(struct event_core *core);

/* sim_notify.c */
void notify__put(struct notify *n);
bool notify__try(struct task *t);
void notify__apply(struct task *t);

/* sim_callback.c */
void callback__run(struct stream *s, struct task *t);

/* sim_graph.c */
void capture__add(struct model *m, struct task *t);

/* sim_device.c */
struct context *context__current(aclError *rc);

#endif /* SIM_H */
