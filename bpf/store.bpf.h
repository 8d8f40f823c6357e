/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The store of the state machine in the kernel: maps, locks, losses, and the
 * two rings.  machine.h says what each of these has to do.
 *
 * Linux 5.10 gives a uprobe program neither spin locks nor atomics that
 * return something, so a lock is an entry in a hash map: whoever inserts it
 * holds it.
 */
#ifndef ACLGUARD_STORE_BPF_H
#define ACLGUARD_STORE_BPF_H

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

#define ACL_LOCK_TRIES 64

/* Set by the loader before it loads; capacities are set there, too. */
const volatile struct acl_cfg cfg = {};

/* Time since which the probes are complete; ~0 while they are being attached. */
volatile __u64 complete_since = ~0ULL;

/* Every table is a hash map from struct acl_key, or from a pid. */
#define ACL_MAP(map, key_type, value_type, entries) \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_HASH);    \
		__uint(max_entries, entries);       \
		__type(key, key_type);              \
		__type(value, value_type);          \
	} map SEC(".maps")

ACL_MAP(procs, __u32, struct acl_proc, ACL_CAP_PROCS);
ACL_MAP(newborn, __u32, struct acl_proc, 256); /* by tid: procs being put together */
ACL_MAP(devs, struct acl_key, struct acl_dev, ACL_CAP_DEVS);
ACL_MAP(threads, __u32, struct acl_thread, ACL_CAP_THREADS);
ACL_MAP(targets, __u32, struct acl_target, ACL_CAP_TARGETS);
ACL_MAP(bufs, struct acl_key, struct acl_buf, ACL_CAP_BUFS);
ACL_MAP(copies, struct acl_key, struct acl_copies, ACL_CAP_COPIES);
ACL_MAP(events, struct acl_key, struct acl_event, ACL_CAP_EVENTS);
ACL_MAP(seens, struct acl_key, struct acl_seen, ACL_CAP_SEENS);
ACL_MAP(streams, struct acl_key, struct acl_stream, ACL_CAP_STREAMS);
ACL_MAP(inherits, struct acl_key, struct acl_inherits, ACL_CAP_INHERITS);
ACL_MAP(names, struct acl_key, __u64, ACL_CAP_NAMES);
ACL_MAP(ctxs, struct acl_key, struct acl_ctx, ACL_CAP_CTXS);
ACL_MAP(descs, struct acl_key, struct acl_desc, ACL_CAP_DESCS);
ACL_MAP(deads, struct acl_key, struct acl_dead, ACL_CAP_DEADS);
ACL_MAP(ranges, struct acl_key, struct acl_dead, ACL_CAP_RANGES);
ACL_MAP(graves, struct acl_key, __u64, ACL_CAP_GRAVES);
ACL_MAP(locks, __u64, __u8, 4096);
ACL_MAP(verdicts_of, struct acl_key, struct acl_verdicts, ACL_CAP_VERDICTS); /* by its number */
ACL_MAP(errors, __u64, __u64, ACL_CAP_ERRORS); /* by ACL_ERROR_KEY() */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ACL_C_MAX);
	__type(key, __u32);
	__type(value, struct acl_calls);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ACL_L_MAX);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ACL_VERDICTS_MAX);
	__type(key, __u32);
	__type(value, struct acl_verdicts);
} verdicts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} violations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} life SEC(".maps");

/* Every call, where they are recorded; the loader makes it larger then. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} trace SEC(".maps");

/* Of the calls that lead to reports, where they are kept; the loader makes it larger then. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, ACL_KEPT_MAX * sizeof(__u64));
} stacks SEC(".maps");

/* Stacks to be unwound, where they are copied; the loader makes it larger then. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} dumps SEC(".maps");

#define ACL_TABLE(name, map, value_type)                                             \
	ACL_FN value_type *acl_##name##__get(struct acl_env *env, __u64 id)          \
	{                                                                            \
		struct acl_key key = { .inc = env->inc, .id = id };                  \
                                                                                     \
		return bpf_map_lookup_elem(&map, &key);                              \
	}                                                                            \
	ACL_FN int acl_##name##__put(struct acl_env *env, __u64 id, value_type *val) \
	{                                                                            \
		struct acl_key key = { .inc = env->inc, .id = id };                  \
                                                                                     \
		return bpf_map_update_elem(&map, &key, val, BPF_ANY);                \
	}                                                                            \
	ACL_FN int acl_##name##__add(struct acl_env *env, __u64 id, value_type *val) \
	{                                                                            \
		struct acl_key key = { .inc = env->inc, .id = id };                  \
                                                                                     \
		return bpf_map_update_elem(&map, &key, val, BPF_NOEXIST);            \
	}                                                                            \
	ACL_FN void acl_##name##__drop(struct acl_env *env, __u64 id)                \
	{                                                                            \
		struct acl_key key = { .inc = env->inc, .id = id };                  \
                                                                                     \
		bpf_map_delete_elem(&map, &key);                                     \
	}

ACL_TABLE(buf, bufs, struct acl_buf)
ACL_TABLE(copies, copies, struct acl_copies)
ACL_TABLE(event, events, struct acl_event)
ACL_TABLE(seen, seens, struct acl_seen)
ACL_TABLE(stream, streams, struct acl_stream)
ACL_TABLE(inherits, inherits, struct acl_inherits)
ACL_TABLE(name, names, __u64)
ACL_TABLE(ctx, ctxs, struct acl_ctx)
ACL_TABLE(desc, descs, struct acl_desc)
ACL_TABLE(dead, deads, struct acl_dead)
ACL_TABLE(range, ranges, struct acl_dead)
ACL_TABLE(grave, graves, __u64)
ACL_TABLE(dev, devs, struct acl_dev)

ACL_FN void acl_loss__count(enum acl_loss cause)
{
	__u32 key = cause;
	__u64 *n = bpf_map_lookup_elem(&losses, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
}

ACL_FN void acl_loss(struct acl_env *env, enum acl_loss cause)
{
	acl_loss__count(cause);
	__sync_fetch_and_add(&env->proc->losses[cause], 1);
}

ACL_FN void acl_verdicts__add(struct acl_verdicts *n, __u32 refused)
{
	if (refused)
		__sync_fetch_and_add(&n->refused, 1);
	else
		__sync_fetch_and_add(&n->made, 1);
}

/*
 * In all, and for the process; what finds no room there is in the sum only.
 * Not static: the verifier looks at such a function once, not at each call.
 */
__attribute__((noinline)) int acl_verdicts__count(__u64 inc, __u32 nr, __u32 refused)
{
	struct acl_verdicts *n = bpf_map_lookup_elem(&verdicts, &nr);
	struct acl_key key = { .inc = inc, .id = nr };
	const struct acl_verdicts none = {};

	if (n)
		acl_verdicts__add(n, refused);
	n = bpf_map_lookup_elem(&verdicts_of, &key);
	if (!n) {
		bpf_map_update_elem(&verdicts_of, &key, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&verdicts_of, &key);
	}
	if (n)
		acl_verdicts__add(n, refused);
	return 0;
}

ACL_FN void acl_verdict__count(struct acl_env *env, __u32 rule, __u32 level, __u32 evidence,
			       int refused)
{
	acl_verdicts__count(env->inc, ACL_VERDICT_NR(rule, level, evidence), refused);
	if (!refused)
		__sync_fetch_and_add(&env->proc->verdicts, 1);
}

/* A call has failed with `ret`. */
ACL_FN void acl_error__count(struct acl_calls *n, __u32 call, __s32 ret)
{
	__u64 key = ACL_ERROR_KEY(call, ret), none = 0, *count;

	__sync_fetch_and_add(&n->failed, 1);
	count = bpf_map_lookup_elem(&errors, &key);
	if (!count) {
		bpf_map_update_elem(&errors, &key, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&errors, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		__sync_fetch_and_add(&n->failed_otherwise, 1);
}

/* As acl_verdicts__count(), not static. */
__attribute__((noinline)) int acl_lock__take(__u64 id)
{
	__u8 held = 1;

	for (int i = 0; i < ACL_LOCK_TRIES; i++)
		if (!bpf_map_update_elem(&locks, &id, &held, BPF_NOEXIST))
			return 0;
	return -1;
}

ACL_FN int acl_lock(struct acl_env *env, __u64 id)
{
	(void)env;
	return acl_lock__take(id);
}

ACL_FN void acl_unlock(struct acl_env *env, __u64 id)
{
	(void)env;
	bpf_map_delete_elem(&locks, &id);
}

/* Unique as long as no CPU does this twice within a nanosecond. */
ACL_FN __u64 acl_new_id(struct acl_env *env)
{
	(void)env;
	return (bpf_ktime_get_ns() << 10) | (bpf_get_smp_processor_id() & 1023);
}

ACL_FN const volatile struct acl_cfg *acl_cfg(struct acl_env *env)
{
	(void)env;
	return &cfg;
}

ACL_FN __u64 acl_complete(struct acl_env *env)
{
	const struct acl_target *t = bpf_map_lookup_elem(&targets, &env->tgid);
	__u64 since = complete_since;

	if (!t)
		return cfg.all ? ~0ULL : since;
	return t->complete > since ? t->complete : since;
}

ACL_FN void acl_head__fill(struct acl_head *h, enum acl_rec type, __u64 inc, __u64 time)
{
	__u64 id = bpf_get_current_pid_tgid();

	h->type = type;
	h->tgid = id >> 32;
	h->tid = (__u32)id;
	h->more = 0;
	h->inc = inc;
	h->time = time;
}

/* Ordinary records do not wake the reader one by one: it looks when enough wait. */
#define ACL_TRACE_WAKE (64 * 1024)

ACL_FN __u64 acl_trace__flags(void)
{
	return bpf_ringbuf_query(&trace, BPF_RB_AVAIL_DATA) >= ACL_TRACE_WAKE ? BPF_RB_FORCE_WAKEUP
									      : BPF_RB_NO_WAKEUP;
}

ACL_FN void acl_trace__enter(struct acl_env *env, struct acl_enter *in, enum acl_rec type)
{
	struct acl_trace_enter *t;

	if (!cfg.record)
		return;
	in->tgid = env->tgid;
	in->tid = env->tid;
	in->seq = env->th->seq++;
	t = bpf_ringbuf_reserve(&trace, sizeof(*t), 0);
	if (!t) {
		acl_loss(env, ACL_L_LOG_FULL);
		return;
	}
	acl_head__fill(&t->h, type, env->inc, env->pos);
	t->in = *in;
	bpf_ringbuf_submit(t, acl_trace__flags());
}

ACL_FN void acl_trace__leave(struct acl_env *env, struct acl_leave *out)
{
	struct acl_trace_leave *t;

	if (!cfg.record)
		return;
	out->tgid = env->tgid;
	out->tid = env->tid;
	out->seq = env->th->seq++;
	t = bpf_ringbuf_reserve(&trace, sizeof(*t), 0);
	if (!t) {
		acl_loss(env, ACL_L_LOG_FULL);
		return;
	}
	acl_head__fill(&t->h, ACL_REC_LEAVE, env->inc, env->pos);
	t->out = *out;
	bpf_ringbuf_submit(t, acl_trace__flags());
}

/* The arrays of a batch copy, which are still there at its return. */
ACL_FN int acl_batch__entry(struct acl_env *env, const struct acl_frame *f, __u32 i,
			    struct acl_enter *in)
{
	__builtin_memset(in, 0, sizeof(*in));
	if (bpf_probe_read_user(&in->args[0], 8, (void *)(f->args[0] + 8ULL * i)) ||
	    bpf_probe_read_user(&in->args[2], 8, (void *)(f->args[2] + 8ULL * i)) ||
	    bpf_probe_read_user(&in->args[3], 8, (void *)(f->args[3] + 8ULL * i)))
		return -1;
	in->pos = f->pos;
	in->sp = f->sp;
	in->call = f->call;
	acl_trace__enter(env, in, ACL_REC_BATCH);
	return 0;
}

#include "enforce.bpf.h"

ACL_FN struct acl_violation *acl_violation__begin(struct acl_env *env)
{
	struct acl_violation *v = bpf_ringbuf_reserve(&violations, sizeof(*v), 0);

	if (!v) {
		acl_loss(env, ACL_L_RING_FULL);
		return 0;
	}
	__builtin_memset(v, 0, offsetof(struct acl_violation, stack));
	return v;
}

/*
 * Registers and stack for unwinding in user space.  A read that meets one byte that
 * is not there fails as a whole, so the stack is read in pieces that lie in one page
 * each: what follows its end, or was never touched, costs no other piece.  Sizes are
 * constants to the verifier, for the configuration is read-only data.
 *
 * Not static, and given the address of the registers as a number: so the verifier
 * looks at it once, not on each of a thousand ways that lead to a violation.
 */
__attribute__((noinline)) int acl_dump__send(__u64 regs, __u64 inc, __u64 id)
{
	struct acl_dump *d;
	__u64 base;

	d = bpf_ringbuf_reserve(&dumps, sizeof(*d) + cfg.pieces * ACL_DUMP_PIECE, 0);
	if (!d)
		return 0;
	acl_head__fill(&d->h, ACL_REC_DUMP, inc, bpf_ktime_get_ns());
	d->id = id;
	bpf_probe_read_kernel(d->words, sizeof(d->words), (void *)regs);
	d->pieces = cfg.pieces;
	base = d->words[ACL_DUMP_SP] & ~(ACL_DUMP_PIECE - 1ULL);
	for (int i = 0; i < ACL_DUMP_PIECES_MAX; i++) {
		if (i >= cfg.pieces)
			break;
		d->err[i] = bpf_probe_read_user(d->stack + i * ACL_DUMP_PIECE, ACL_DUMP_PIECE,
						(void *)(base + i * ACL_DUMP_PIECE));
	}
	bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Before the violation, whose reader then finds it. */
ACL_FN void acl_violation__dump(struct acl_env *env, struct acl_violation *v)
{
	__u64 regs = 0;

	if (!cfg.pieces)
		return;
	bpf_probe_read_kernel(&regs, sizeof(regs), &env->ctx);
	if (acl_dump__send(regs, v->h.inc, v->id))
		v->h.more = ACL_HAS_DUMP;
	else
		acl_loss(env, ACL_L_DUMP);
}

/*
 * The immediate caller is missing from the kernel's own walk at a function's
 * first instruction, so its return address goes along.  On x86-64 it is on
 * the stack, on arm64 in the link register.
 */
ACL_FN void acl_violation__end(struct acl_env *env, struct acl_violation *v)
{
	struct pt_regs *ctx = env->ctx;
	long len = 0;

	bpf_get_current_comm(v->comm, sizeof(v->comm));
	v->uid = (__u32)bpf_get_current_uid_gid();
	v->ip = PT_REGS_IP(ctx);
	if (cfg.stacks) {
#if defined(__TARGET_ARCH_x86)
		bpf_probe_read_user(&v->ret_addr, sizeof(v->ret_addr), (void *)PT_REGS_SP(ctx));
#else
		v->ret_addr = PT_REGS_RET(ctx);
#endif
		len = bpf_get_stack(ctx, v->stack, cfg.frames * sizeof(v->stack[0]),
				    BPF_F_USER_STACK);
	}
	acl_violation__dump(env, v);
	v->stack_len = len;
	acl_enforce(env, v);
	bpf_ringbuf_submit(v, BPF_RB_FORCE_WAKEUP);
}

ACL_FN void acl_sequel__send(struct acl_env *env, enum acl_rec type, __u64 id, __u16 call,
			     __u64 pos, __s32 ret)
{
	struct acl_sequel *s = bpf_ringbuf_reserve(&violations, sizeof(*s), 0);

	if (!s) {
		acl_loss(env, ACL_L_SEQUEL);
		return;
	}
	acl_head__fill(&s->h, type, env->inc, pos);
	s->id = id;
	s->end = env->pos;
	s->ret = env->proc->suspect[ACL_S_RETURNS] ? ACL_RET_UNSEEN : ret;
	s->call = call;
	s->_pad = 0;
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
}

/* The environment of a call that is being handled, once more. */
ACL_FN int acl_env__resume(struct acl_env *env)
{
	__u64 id = bpf_get_current_pid_tgid();

	env->tgid = id >> 32;
	env->tid = (__u32)id;
	env->proc = bpf_map_lookup_elem(&procs, &env->tgid);
	env->th = bpf_map_lookup_elem(&threads, &env->tid);
	if (!env->proc || !env->th)
		return 0;
	env->inc = env->proc->inc;
	return 1;
}

/* As much of it as a search needs, in a form that may stay in registers. */
ACL_FN int acl_env__search(struct acl_env *env)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, tid = (__u32)id;

	env->proc = bpf_map_lookup_elem(&procs, &tgid);
	env->th = bpf_map_lookup_elem(&threads, &tid);
	if (!env->proc || !env->th)
		return 0;
	env->inc = env->proc->inc;
	return 1;
}

#endif /* ACLGUARD_STORE_BPF_H */
