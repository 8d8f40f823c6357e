/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state machine on ordinary memory, see store.h.  What the kernel keeps in
 * maps for all processes together is a table of each process here, so that its
 * end frees everything at once; the limits still count over all processes.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* All keys are 64-bit numbers, many of them multiples of a power of two. */
#define HASH_FUNCTION(key, len, hash)                                          \
	do {                                                                   \
		__u64 hash_key = *(const __u64 *)(key);                        \
		hash_key = (hash_key ^ (hash_key >> 32)) * 0x9e3779b97f4a7c15; \
		(hash) = (unsigned int)(hash_key >> 32);                       \
		(void)(len);                                                   \
	} while (0)
/* An entry that could not be added has no table: see table__put(). */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define ACL_STORE_H "store.h"
#include "machine.h"

/* An entry of any table. */
struct node {
	UT_hash_handle hh;
	__u64 key;
	_Alignas(16) unsigned char val[];
};

struct process {
	struct acl_proc p;
	struct node *tables[STORE_OF_PROC];
};

struct store {
	struct store_cfg cfg;
	struct node *procs;   /* by tgid: struct process */
	struct node *targets; /* by tgid: struct acl_target */
	__u64 used[STORE_TABLE_MAX];
	__u64 limit[STORE_TABLE_MAX];
	__u64 last_id;
	__u64 locked;	     /* id of what is locked now, 0 if nothing */
	__u64 contend_after; /* locks to be given before one is refused */
	__u64 contend_times; /* locks to be refused then */
	__u64 losses[ACL_L_MAX];
	struct acl_calls calls[ACL_C_MAX];
	struct acl_violation v; /* the one being put together */
};

static const __u64 default_limit[STORE_TABLE_MAX] = {
#define STORE_TABLE_LIMIT(name, id, type, entries) [STORE_##id] = entries,
	STORE_TABLES(STORE_TABLE_LIMIT)
#undef STORE_TABLE_LIMIT
		[STORE_THREADS] = ACL_CAP_THREADS,
	[STORE_PROCS] = ACL_CAP_PROCS,
	[STORE_TARGETS] = ACL_CAP_TARGETS,
	[STORE_REPORTS] = ~0ULL,
};

static const __u8 roles[ACL_C_MAX] = {
#define STORE_ROLE_OF(name, role, args) [ACL_C_##name] = ACL_R_##role,
	ACL_CALLS(STORE_ROLE_OF)
#undef STORE_ROLE_OF
};

/* ---- tables ------------------------------------------------------------ */

static void *table__get(struct node *head, __u64 key)
{
	struct node *n;

	HASH_FIND(hh, head, &key, sizeof(key), n);
	return n ? n->val : NULL;
}

/* Inserts a zeroed entry.  The key must be a new one.  NULL where the table is full. */
static void *table__make(struct store *st, struct node **head, enum store_table table, __u64 key,
			 size_t size)
{
	struct node *n;

	if (st->used[table] >= st->limit[table])
		return NULL;
	n = calloc(1, sizeof(*n) + size);
	if (!n)
		return NULL;
	n->key = key;
	HASH_ADD(hh, *head, key, sizeof(n->key), n);
	if (!n->hh.tbl) {
		free(n);
		return NULL;
	}
	st->used[table]++;
	return n->val;
}

/* Entries stay where they are when they are replaced. */
static int table__put(struct store *st, struct node **head, enum store_table table, __u64 key,
		      const void *val, size_t size)
{
	void *slot = table__get(*head, key);

	if (!slot)
		slot = table__make(st, head, table, key, size);
	if (!slot)
		return -E2BIG; /* as a full map of the kernel says */
	memcpy(slot, val, size);
	return 0;
}

static void table__drop(struct store *st, struct node **head, enum store_table table, __u64 key)
{
	struct node *n;

	HASH_FIND(hh, *head, &key, sizeof(key), n);
	if (!n)
		return;
	HASH_DEL(*head, n);
	free(n);
	st->used[table]--;
}

static void table__clear(struct store *st, struct node **head, enum store_table table)
{
	struct node *n = *head, *next;

	HASH_CLEAR(hh, *head); /* leaves the entries */
	for (; n; n = next) {
		next = n->hh.next;
		free(n);
		st->used[table]--;
	}
}

/* ---- what machine.h asks of a store ------------------------------------ */

static struct store *env__store(const struct acl_env *env)
{
	return env->ctx;
}

static struct node **env__table(const struct acl_env *env, enum store_table table)
{
	/* the process begins with what the machine knows of it */
	return &((struct process *)env->proc)->tables[table];
}

#define STORE_TABLE_FUNCTIONS(name, id, type, entries)                                           \
	type *acl_##name##__get(struct acl_env *env, __u64 key)                                  \
	{                                                                                        \
		return table__get(*env__table(env, STORE_##id), key);                            \
	}                                                                                        \
                                                                                                 \
	int acl_##name##__put(struct acl_env *env, __u64 key, const type *val)                   \
	{                                                                                        \
		return table__put(env__store(env), env__table(env, STORE_##id), STORE_##id, key, \
				  val, sizeof(*val));                                            \
	}                                                                                        \
                                                                                                 \
	int acl_##name##__add(struct acl_env *env, __u64 key, const type *val)                   \
	{                                                                                        \
		return acl_##name##__get(env, key) ? -EEXIST : acl_##name##__put(env, key, val); \
	}                                                                                        \
                                                                                                 \
	void acl_##name##__drop(struct acl_env *env, __u64 key)                                  \
	{                                                                                        \
		table__drop(env__store(env), env__table(env, STORE_##id), STORE_##id, key);      \
	}
STORE_TABLES(STORE_TABLE_FUNCTIONS)

int acl_batch__entry(struct acl_env *env, const struct acl_frame *f, __u32 i, struct acl_enter *one)
{
	const struct store_cfg *cfg = &env__store(env)->cfg;

	return cfg->batch ? cfg->batch(cfg->arg, f, i, one) : -EFAULT;
}

/* Nobody else is here, so only a test can make it fail. */
int acl_lock(struct acl_env *env, __u64 id)
{
	struct store *st = env__store(env);

	assert(!st->locked); /* in the kernel two at once could wait for each other */
	if (st->contend_after) {
		st->contend_after--;
	} else if (st->contend_times) {
		st->contend_times--;
		return -EBUSY;
	}
	st->locked = id;
	return 0;
}

void acl_unlock(struct acl_env *env, __u64 id)
{
	struct store *st = env__store(env);

	assert(st->locked == id);
	(void)id;
	st->locked = 0;
}

__u64 acl_new_id(struct acl_env *env)
{
	return ++env__store(env)->last_id;
}

void acl_loss(struct acl_env *env, enum acl_loss cause)
{
	env__store(env)->losses[cause]++;
	env->proc->losses[cause]++;
}

const volatile struct acl_cfg *acl_cfg(struct acl_env *env)
{
	return &env__store(env)->cfg.acl;
}

__u64 acl_complete(struct acl_env *env)
{
	const struct store *st = env__store(env);
	const struct acl_target *t = table__get(st->targets, env->tgid);

	return t && t->complete > st->cfg.complete ? t->complete : st->cfg.complete;
}

void acl_verdict__count(struct acl_env *env, __u32 rule, __u32 level, __u32 evidence, int refused)
{
	(void)rule;
	(void)level;
	(void)evidence;
	if (!refused)
		env->proc->verdicts++;
}

/* Takes a place in the ring of violations. */
static bool store__reports(struct acl_env *env, enum acl_loss otherwise)
{
	struct store *st = env__store(env);

	if (st->used[STORE_REPORTS] >= st->limit[STORE_REPORTS]) {
		acl_loss(env, otherwise);
		return false;
	}
	st->used[STORE_REPORTS]++;
	return true;
}

struct acl_violation *acl_violation__begin(struct acl_env *env)
{
	struct acl_violation *v = &env__store(env)->v;

	if (!store__reports(env, ACL_L_RING_FULL))
		return NULL;
	memset(v, 0, offsetof(struct acl_violation, stack));
	return v;
}

void acl_violation__end(struct acl_env *env, struct acl_violation *v)
{
	const struct store_cfg *cfg = &env__store(env)->cfg;

	if (cfg->violation)
		cfg->violation(cfg->arg, v);
}

void acl_sequel__send(struct acl_env *env, enum acl_rec type, __u64 id, __u16 call, __u64 pos,
		      __s32 ret)
{
	const struct store_cfg *cfg = &env__store(env)->cfg;
	struct acl_sequel s = {
		.h = {
			.type = type,
			.tgid = env->tgid,
			.tid = env->tid,
			.inc = env->inc,
			.time = pos,
		},
		.id = id,
		.end = env->pos,
		.ret = ret,
		.call = call,
	};

	if (store__reports(env, ACL_L_SEQUEL) && cfg->sequel)
		cfg->sequel(cfg->arg, &s);
}

/* ---- processes and threads --------------------------------------------- */

static void store__tell(const struct store *st, enum acl_rec type, const struct acl_proc *p,
			__u32 tid, __u64 time)
{
	struct acl_gone g = {
		.h = {
			.type = type,
			.tgid = p->tgid,
			.tid = tid,
			.inc = p->inc,
			.time = time,
		},
		.proc = *p,
	};

	if (st->cfg.proc)
		st->cfg.proc(st->cfg.arg, &g);
}

/* A process in scope is seen for the first time, or for the first time since an exec. */
static struct process *store__begin(struct store *st, __u32 tgid, __u32 tid, __u64 time)
{
	const struct acl_target *t = table__get(st->targets, tgid);
	struct process *pr;

	if ((!t && !st->cfg.acl.all) || tgid == st->cfg.acl.self)
		return NULL;
	pr = table__make(st, &st->procs, STORE_PROCS, tgid, sizeof(*pr));
	if (!pr) {
		st->losses[ACL_L_PROC_FULL]++;
		return NULL;
	}
	pr->p.inc = ++st->last_id;
	pr->p.born = time;
	pr->p.tgid = tgid;
	pr->p.late = t ? t->late : 0;
	store__tell(st, ACL_REC_PROC, &pr->p, tid, time);
	return pr;
}

static void env__of(struct acl_env *env, struct store *st, struct process *pr, __u32 tid, __u64 pos)
{
	env->pos = pos;
	env->inc = pr->p.inc;
	env->tgid = pr->p.tgid;
	env->tid = tid;
	env->proc = &pr->p;
	env->th = table__get(pr->tables[STORE_THREADS], tid);
	env->ctx = st;
}

/* Who calls; false where it is nobody we watch or know how to keep. */
static bool env__begin(struct acl_env *env, struct store *st, __u32 tgid, __u32 tid, __u64 pos)
{
	struct process *pr = table__get(st->procs, tgid);

	if (!pr)
		pr = store__begin(st, tgid, tid, pos);
	if (!pr)
		return false;
	env__of(env, st, pr, tid, pos);
	if (env->th)
		return true;
	env->th = table__make(st, &pr->tables[STORE_THREADS], STORE_THREADS, tid, sizeof(*env->th));
	if (!env->th) {
		acl_loss(env, ACL_L_THREAD_FULL);
		pr->p.suspect[ACL_S_LOST] = 1;
		return false;
	}
	acl_thread__reset(env->th, env->inc);
	return true;
}

static void store__end_thread(struct store *st, struct process *pr, __u32 tid, __u64 time)
{
	struct acl_env env;

	env__of(&env, st, pr, tid, time);
	if (!env.th)
		return;
	acl_thread__unwind(&env, ~0ULL);
	table__drop(st, &pr->tables[STORE_THREADS], STORE_THREADS, tid);
}

/* The incarnation ends with everything that belongs to it. */
static void store__end(struct store *st, __u32 tgid, enum acl_rec type, __u64 time)
{
	struct process *pr = table__get(st->procs, tgid);
	struct node *n, *next;

	if (!pr)
		return;
	for (n = pr->tables[STORE_THREADS]; n; n = next) {
		next = n->hh.next;
		store__end_thread(st, pr, n->key, time);
	}
	store__tell(st, type, &pr->p, tgid, time);
	for (int i = 0; i < STORE_OF_PROC; i++)
		table__clear(st, &pr->tables[i], i);
	table__drop(st, &st->procs, STORE_PROCS, tgid);
}

void store__exec(struct store *st, __u32 tgid, __u64 time)
{
	struct acl_target *t = table__get(st->targets, tgid);

	store__end(st, tgid, ACL_REC_EXEC, time);
	if (t) {
		/* all that the new program does can be seen */
		t->late = 0;
		t->complete = 0;
	}
}

void store__exit(struct store *st, __u32 tgid, __u64 time)
{
	store__end(st, tgid, ACL_REC_EXIT, time);
	table__drop(st, &st->targets, STORE_TARGETS, tgid);
}

void store__thread_exit(struct store *st, __u32 tgid, __u32 tid, __u64 time)
{
	struct process *pr = table__get(st->procs, tgid);

	if (pr)
		store__end_thread(st, pr, tid, time);
	if (tid != tgid)
		table__drop(st, &st->targets, STORE_TARGETS, tid);
}

void store__fork(struct store *st, __u32 tgid, __u32 child, __u64 time)
{
	const struct acl_target *t = table__get(st->targets, tgid);
	struct acl_target copy;

	/* the number is free, so whoever had it is gone */
	store__end(st, child, ACL_REC_EXIT, time);
	if (!t || !st->cfg.acl.follow)
		return;
	copy = *t;
	copy.late = 0;
	if (store__target(st, child, &copy))
		st->losses[ACL_L_PROC_FULL]++;
}

/* ---- calls ------------------------------------------------------------- */

void store__enter(struct store *st, const struct acl_enter *in)
{
	struct acl_calls *n;
	struct acl_env env;
	enum acl_role role;

	if (in->call >= ACL_C_MAX || !env__begin(&env, st, in->tgid, in->tid, in->pos))
		return;
	n = &st->calls[in->call];
	role = roles[in->call];
	switch (acl_thread__push(&env, in)) {
	case ACL_PUSH_NEW:
		n->entered++;
		acl_machine__enter(&env, acl_thread__frame(env.th, env.th->depth - 1), role);
		break;
	case ACL_PUSH_FOLDED:
		n->folded++;
		break;
	case ACL_PUSH_TOO_DEEP:
		n->entered++;
		acl_loss(&env, ACL_L_NESTED);
		env.proc->suspect[ACL_S_LOST] = 1;
		break;
	}
}

static bool role__has_output(enum acl_role role)
{
	switch (role) {
	case ACL_R_MALLOC:
	case ACL_R_EV_CREATE:
	case ACL_R_EV_IPC_OPEN:
	case ACL_R_EV_QUERY_STATUS:
	case ACL_R_EV_QUERY:
	case ACL_R_ST_CREATE:
	case ACL_R_ST_DEFAULT:
	case ACL_R_ST_QUERY:
	case ACL_R_CTX_CREATE:
	case ACL_R_CTX_GET:
		return true;
	default:
		return false;
	}
}

void store__leave(struct store *st, const struct acl_leave *out)
{
	struct acl_frame *f;
	struct acl_env env;
	enum acl_role role;
	int pop;

	if (!env__begin(&env, st, out->tgid, out->tid, out->pos))
		return;
	pop = acl_thread__pop(&env, out->sp);
	if (pop != ACL_POP_FRAME) {
		if (pop == ACL_POP_NONE)
			acl_loss(&env, ACL_L_NO_ENTRY);
		return;
	}
	f = acl_thread__frame(env.th, env.th->depth);
	role = roles[f->call];
	st->calls[f->call].returned++;
	if (out->ret)
		st->calls[f->call].failed++;
	else if (!out->out_ok && role__has_output(role))
		acl_loss(&env, ACL_L_FAULT);
	acl_machine__leave(&env, f, role, out);
}

/* ---- the store as a whole ---------------------------------------------- */

struct store *store__new(const struct store_cfg *cfg)
{
	struct store *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->cfg = *cfg;
	memcpy(st->limit, default_limit, sizeof(st->limit));
	return st;
}

void store__free(struct store *st)
{
	struct process *pr;
	struct node *n;

	if (!st)
		return;
	for (n = st->procs; n; n = n->hh.next) {
		pr = (struct process *)n->val;
		for (int i = 0; i < STORE_OF_PROC; i++)
			table__clear(st, &pr->tables[i], i);
	}
	table__clear(st, &st->procs, STORE_PROCS);
	table__clear(st, &st->targets, STORE_TARGETS);
	free(st);
}

void store__limit(struct store *st, enum store_table table, __u64 entries)
{
	st->limit[table] = entries;
}

void store__contend(struct store *st, __u64 after, __u64 times)
{
	st->contend_after = after;
	st->contend_times = times;
}

int store__target(struct store *st, __u32 tgid, const struct acl_target *target)
{
	return table__put(st, &st->targets, STORE_TARGETS, tgid, target, sizeof(*target));
}

void store__suspect(struct store *st, __u32 tgid, enum acl_suspect cause)
{
	struct process *pr = table__get(st->procs, tgid);

	if (pr)
		pr->p.suspect[cause] = 1;
}

const struct acl_proc *store__proc(const struct store *st, __u32 tgid)
{
	const struct process *pr = table__get(st->procs, tgid);

	return pr ? &pr->p : NULL;
}

void store__alive(const struct store *st, __u32 tgid, void *arg,
		  void (*buf)(void *arg, const struct acl_buf *b),
		  void (*event)(void *arg, const struct acl_event *e))
{
	const struct process *pr = table__get(st->procs, tgid);
	const struct node *n;

	if (!pr)
		return;
	for (n = pr->tables[STORE_BUFS]; buf && n; n = n->hh.next)
		buf(arg, (const void *)n->val);
	for (n = pr->tables[STORE_EVENTS]; event && n; n = n->hh.next)
		event(arg, (const void *)n->val);
}

__u64 store__used(const struct store *st, enum store_table table)
{
	return st->used[table];
}

const __u64 *store__losses(const struct store *st)
{
	return st->losses;
}

const struct acl_calls *store__calls(const struct store *st)
{
	return st->calls;
}
