/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state machine: what each call of the runtime means for the state of its
 * process.  The same lines run in the kernel on BPF maps and natively on the
 * user-space store; the includer provides the store, which is
 *
 *   struct acl_T *acl_T__get(env, id)      look up, NULL if absent
 *   int acl_T__put(env, id, val)           insert or replace
 *   int acl_T__add(env, id, val)           insert, -EEXIST if present
 *   void acl_T__drop(env, id)              remove
 *       for T in buf, copies, event, seen, stream, inherits, name (__u64),
 *       ctx, desc, dead, range (struct acl_dead), grave (__u64)
 *   int acl_batch__entry(env, f, i, struct acl_enter *)   args 0, 2, 3 of the
 *                                          i-th copy of a batch: dst, src, len
 *   int acl_lock(env, id)                  0, or -EBUSY after a bounded wait
 *   void acl_unlock(env, id)
 *   __u64 acl_new_id(env)
 *   void acl_loss(env, enum acl_loss)      count, for the process and in all
 *   const volatile struct acl_cfg *acl_cfg(env)
 *   __u64 acl_complete(env)                position since which the process's
 *                                          probes are complete
 *   struct acl_violation *acl_violation__begin(env)   zeroed but for the stack
 *   void acl_violation__end(env, v)        send it
 *   void acl_sequel__send(env, type, id, call, pos, ret)
 *
 * Pointers from a get stay valid until the object is dropped; an object is
 * dropped or replaced only under its lock, and whoever holds the lock checks
 * the id again.  No two locks are ever held at once.
 *
 * The order of things, from which most of the code follows: what a call does
 * to the device counts from its entry and is taken back if the call fails;
 * what it tells the host counts from its return.  Releases and destroys
 * remove at entry and put back at a failing return, since the address may be
 * handed out again before the return is seen.
 */
#ifndef ACLGUARD_MACHINE_H
#define ACLGUARD_MACHINE_H

#include "records.h"
#include "verdict.h"

struct acl_env {
	__u64 pos; /* of the entry or return being handled */
	__u64 inc;
	__u32 tgid;
	__u32 tid;
	struct acl_proc *proc;
	struct acl_thread *th;
	void *ctx; /* the store's own */
};

#include ACL_STORE_H

#ifdef __BPF__
#define ACL_OUTLINE static __attribute__((noinline))
#else
#define ACL_OUTLINE static __attribute__((unused))
#endif

/* ---- names of default streams ------------------------------------------ */

/* No user-space address has its top byte set, so tokens never meet handles. */
#define ACL_TOKEN_CTX (0xacULL << 56)	  /* | address of a created context */
#define ACL_TOKEN_PRIMARY (0xadULL << 56) /* | device */
#define ACL_TOKEN_UNKNOWN (0xaeULL << 56) /* the thread's context was never seen */
#define ACL_TOKEN_MASK (0xffULL << 56)

ACL_FN __u64 acl_token__ctx(__u64 ctx)
{
	return ACL_TOKEN_CTX | (ctx & ~ACL_TOKEN_MASK);
}

ACL_FN __u64 acl_token__primary(__s32 dev)
{
	return ACL_TOKEN_PRIMARY | (__u32)dev;
}

/* ---- small pure helpers ------------------------------------------------ */

#define acl_raise(field, value)            \
	do {                               \
		if ((field) < (value))     \
			(field) = (value); \
	} while (0)

/* An index in a form whose bound the kernel's verifier can see. */
ACL_FN __u32 acl_index(__u32 i, __u32 mask)
{
	acl_opaque(i);
	return i & mask;
}

/* The frame of a call, by how many are in progress outside of it. */
ACL_FN struct acl_frame *acl_thread__frame(struct acl_thread *th, __u32 nr)
{
	return &th->f[acl_index(nr, ACL_NEST_MAX - 1)];
}

/* floor(log2(size)), within the classes there are */
ACL_FN __u32 acl_class(__u64 size)
{
	__u32 cls = 0;

	if (size >> 32) {
		size >>= 32;
		cls += 32;
	}
	if (size >> 16) {
		size >>= 16;
		cls += 16;
	}
	if (size >> 8) {
		size >>= 8;
		cls += 8;
	}
	if (size >> 4) {
		size >>= 4;
		cls += 4;
	}
	if (size >> 2) {
		size >>= 2;
		cls += 2;
	}
	if (size >> 1)
		cls += 1;
	if (cls < ACL_CLASS_MIN)
		cls = ACL_CLASS_MIN;
	if (cls > ACL_CLASS_MAX)
		cls = ACL_CLASS_MAX;
	return cls;
}

/* The chunk of an address and the class, in one word (see struct acl_buf). */
ACL_FN __u64 acl_chunk(__u64 addr, __u32 cls)
{
	return ((addr >> cls) << cls) | cls;
}

ACL_FN __u64 acl_buf__key(const struct acl_buf *b)
{
	return acl_chunk(b->base, acl_class(b->size));
}

/* Returns 0, or -1 where all slots are taken by other streams. */
ACL_OUTLINE int acl_covers__merge(struct acl_cover *c, int max, __u64 stream, __u64 pos)
{
	for (int i = 0; i < max; i++) {
		if (c[i].stream == stream) {
			acl_raise(c[i].pos, pos);
			return 0;
		}
	}
	for (int i = 0; i < max; i++) {
		if (!c[i].stream) {
			c[i].stream = stream;
			c[i].pos = pos;
			return 0;
		}
	}
	return -1;
}

/* ---- process ----------------------------------------------------------- */

ACL_FN void acl_proc__count(__u64 *counter, __u64 n)
{
	__sync_fetch_and_add(counter, n);
}

ACL_FN int acl_dev__valid(__s32 dev)
{
	return dev >= 0 && dev < ACL_DEVICES_MAX;
}

ACL_FN __u32 acl_dev__index(__s32 dev)
{
	return acl_index(dev, ACL_DEVICES_MAX - 1);
}

ACL_OUTLINE void acl_proc__settle(struct acl_env *env, __s32 dev, __u64 pos)
{
	struct acl_proc *p = env->proc;

	if (acl_lock(env, env->inc)) {
		/* a lost settlement could accuse falsely */
		acl_loss(env, ACL_L_CONTENDED);
		p->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (acl_dev__valid(dev))
		acl_raise(p->settled_dev[acl_dev__index(dev)], pos);
	else
		acl_raise(p->settled_all, pos);
	acl_raise(p->settled_any, pos);
	acl_unlock(env, env->inc);
}

/* How far the device of a stream is settled; any device may be an unknown one. */
ACL_FN __u64 acl_proc__settled(const struct acl_proc *p, __s32 dev)
{
	__u64 pos = p->settled_all;

	if (acl_dev__valid(dev))
		acl_raise(pos, p->settled_dev[acl_dev__index(dev)]);
	else
		acl_raise(pos, p->settled_any);
	return pos;
}

/* ---- streams ----------------------------------------------------------- */

ACL_OUTLINE struct acl_stream *acl_stream__make(struct acl_env *env, __u64 name, __u64 handle,
						__s32 dev)
{
	struct acl_stream *s = &env->th->scratch.stream;
	__u64 id = acl_new_id(env);

	__builtin_memset(s, 0, sizeof(*s));
	s->id = id;
	s->born = env->pos;
	s->handle = handle;
	s->dev = dev;
	s->tid = env->tid;
	s->is_default = !handle;
	if (name == ACL_TOKEN_UNKNOWN)
		s->suspect[ACL_S_CONTEXT] = 1;
	if (acl_stream__put(env, id, s)) {
		acl_loss(env, ACL_L_STREAM_FULL);
		env->proc->suspect[ACL_S_FULL] = 1;
		return 0;
	}
	if (acl_name__put(env, name, &id)) {
		acl_loss(env, ACL_L_STREAM_FULL);
		env->proc->suspect[ACL_S_FULL] = 1;
		acl_stream__drop(env, id);
		return 0;
	}
	acl_proc__count(&env->proc->streams_made, 1);
	return acl_stream__get(env, id);
}

/* The stream that a handle, or NULL, means to the calling thread. */
ACL_OUTLINE struct acl_stream *acl_stream__of(struct acl_env *env, __u64 handle)
{
	__u64 name = handle;
	struct acl_stream *s;
	__u64 *id;

	if (!name)
		name = env->th->ctx ? env->th->ctx : ACL_TOKEN_UNKNOWN;
	id = acl_name__get(env, name);
	if (id) {
		s = acl_stream__get(env, *id);
		if (s)
			return s;
	}
	/* Default streams are never created by a call; others were, unseen. */
	if (!handle)
		return acl_stream__make(env, name, 0, env->th->dev);
	acl_loss(env, ACL_L_MISSED_CREATE);
	return acl_stream__make(env, name, handle, -1);
}

enum acl_learn {
	ACL_LEARN_QUERIED,
	ACL_LEARN_POLLED,
	ACL_LEARN_WAITED,
	ACL_LEARN_SETTLED,
};

/*
 * The host learned that the stream is done up to a position.  `poll` is what
 * a POLLED advance is remembered by.  A stream that is gone was settled.
 */
ACL_OUTLINE void acl_stream__learn(struct acl_env *env, __u64 id, __u64 pos, enum acl_learn kind,
				   const struct acl_poll *poll)
{
	struct acl_stream *s = acl_stream__get(env, id);

	if (!s)
		return;
	if (acl_lock(env, id)) {
		acl_loss(env, ACL_L_CONTENDED);
		s->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (kind == ACL_LEARN_SETTLED) {
		acl_raise(s->settled, pos);
	} else if (kind == ACL_LEARN_WAITED) {
		acl_raise(s->waited, pos);
	} else if (kind == ACL_LEARN_QUERIED) {
		if (s->queried < pos) {
			s->queried = pos;
			s->query_pos = env->pos;
		}
	} else if (s->polled < pos) {
		s->polled = pos;
		if (poll)
			s->poll = *poll;
	}
	acl_unlock(env, id);
}

ACL_FN int acl_stream__known(const struct acl_stream *s, const struct acl_proc *p, __u64 pos)
{
	return pos <= s->polled || pos <= s->queried || pos <= s->waited || pos <= s->settled ||
	       pos <= acl_proc__settled(p, s->dev);
}

/* Is what is submitted to the stream now taken into a graph instead of run? */
ACL_FN int acl_stream__capturing(struct acl_env *env, const struct acl_stream *s)
{
	const struct acl_stream *origin = s;

	if (!s->capture_stream)
		return 0;
	if (s->capture_stream != s->id)
		origin = acl_stream__get(env, s->capture_stream);
	return origin && origin->capturing && origin->captures == s->capture_seq;
}

ACL_FN void acl_stream__suspect(struct acl_env *env, __u64 id, enum acl_suspect why)
{
	struct acl_stream *s = acl_stream__get(env, id);

	if (s)
		s->suspect[why] = 1;
}

/* ---- what streams and records inherit ---------------------------------- */

/* The inherits filed under `id`, made if there are none yet. */
ACL_FN struct acl_inherits *acl_inherits__of(struct acl_env *env, __u64 id)
{
	struct acl_inherits *in = acl_inherits__get(env, id);

	if (in)
		return in;
	__builtin_memset(&env->th->scratch.inherits, 0, sizeof(env->th->scratch.inherits));
	if (acl_inherits__put(env, id, &env->th->scratch.inherits)) {
		acl_loss(env, ACL_L_OTHER_FULL);
		return 0;
	}
	return acl_inherits__get(env, id);
}

/* Stream `t` inherits one cover; where it cannot, both sides are suspected. */
ACL_OUTLINE void acl_inherits__take(struct acl_env *env, struct acl_inherits *in,
				    struct acl_stream *t, __u64 stream, __u64 pos)
{
	if (!stream || stream == t->id)
		return;
	if (in && !acl_covers__merge(in->c, ACL_INHERITS_MAX, stream, pos))
		return;
	acl_loss(env, ACL_L_OVERFLOW);
	t->suspect[ACL_S_OVERFLOW] = 1;
	acl_stream__suspect(env, stream, ACL_S_OVERFLOW);
}

/* Puts a stream's or record's inherits into the frame, after what is there. */
ACL_FN void acl_undo__inherits(struct acl_env *env, struct acl_undo *u, __u64 id)
{
	const struct acl_inherits *in = acl_inherits__get(env, id);

	if (!in)
		return;
	for (int i = 0; i < ACL_INHERITS_MAX; i++)
		u->c[1 + i] = in->c[i];
	u->n = ACL_COVERS_MAX;
}

/* ---- what is no more ---------------------------------------------------- */

/* Keys of the dead and of their graves: no address has its top byte set. */
ACL_FN __u64 acl_grave__key(enum acl_grave kind, __u64 handle)
{
	return ((__u64)kind << 56) | (handle & ~ACL_TOKEN_MASK);
}

/* Another one has the grave by now: forget whom it held. */
ACL_FN void acl_grave__clear(struct acl_env *env, __u64 key, __u32 grave)
{
	struct acl_dead *d = acl_dead__get(env, key), *r;

	if (!d || d->grave != grave)
		return; /* created, and perhaps dead again, since */
	r = d->range ? acl_range__get(env, d->range) : 0;
	if (r && r->id == d->id)
		acl_range__drop(env, d->range);
	acl_dead__drop(env, key);
	acl_loss(env, ACL_L_EVICTED);
}

/* `range`: key of a buffer's range, 0 for none. */
ACL_OUTLINE void acl_dead__bury(struct acl_env *env, const struct acl_dead *d, __u32 kind)
{
	struct acl_proc *p = env->proc;
	__u64 key = acl_grave__key(kind, d->base), *old, n;
	__u32 grave;

	if (acl_lock(env, env->inc)) {
		acl_loss(env, ACL_L_CONTENDED);
		return;
	}
	n = p->buried[acl_index(kind, 1)]++;
	acl_unlock(env, env->inc);
	grave = n % ACL_GRAVES_MAX;
	old = acl_grave__get(env, acl_grave__key(kind, grave));
	if (old)
		acl_grave__clear(env, *old, grave);
	env->th->scratch.dead = *d;
	env->th->scratch.dead.grave = grave;
	if (acl_grave__put(env, acl_grave__key(kind, grave), &key) ||
	    acl_dead__put(env, key, &env->th->scratch.dead)) {
		acl_loss(env, ACL_L_EVICTED);
		return;
	}
	if (d->range && acl_range__put(env, d->range, &env->th->scratch.dead))
		acl_loss(env, ACL_L_EVICTED);
}

/* The handle is in use again. */
ACL_FN void acl_dead__revive(struct acl_env *env, enum acl_grave kind, __u64 handle)
{
	acl_dead__drop(env, acl_grave__key(kind, handle));
}

ACL_FN int acl_dead__is(struct acl_env *env, enum acl_grave kind, __u64 handle)
{
	return acl_dead__get(env, acl_grave__key(kind, handle)) != 0;
}

/* ---- buffers ----------------------------------------------------------- */

/*
 * Looking for a buffer leaves the key it is filed under, 0 for none, in the
 * thread: through memory, so that the kernel's verifier has one outcome to
 * follow up instead of one a class.
 */
ACL_FN void acl_buf__probe(struct acl_env *env, __u64 addr, __u32 cls)
{
	__u64 key = acl_chunk(addr, cls);
	const struct acl_buf *b;

	for (int i = 0; i < 3; i++) {
		b = acl_buf__get(env, key);
		if (b && !b->dying && addr - b->base < b->size) {
			env->th->found = key;
			return;
		}
		key -= 1ULL << cls;
	}
}

/* The live buffer that contains an address. */
ACL_FN void acl_buf__find(struct acl_env *env, __u64 addr)
{
	struct acl_proc *p = env->proc;
	struct acl_thread *th = env->th;

	th->found = 0;
	for (__u32 i = ACL_CLASS_MIN - 1; i <= ACL_CLASS_MAX; i++) {
		/* first where the last one was found */
		__u32 cls = i < ACL_CLASS_MIN ? p->hint & 63 : i;

		if (!p->classes[cls])
			continue;
		acl_buf__probe(env, addr, cls);
		if (th->found) {
			p->hint = cls;
			break;
		}
	}
}

ACL_OUTLINE int acl_buf__begins(struct acl_env *env, __u64 key, __u64 base)
{
	const struct acl_buf *b = acl_buf__get(env, key);

	if (!b || b->base != base || b->dying)
		return 0;
	env->th->found = key;
	return 1;
}

/* The live buffer that begins at an address. */
ACL_OUTLINE void acl_buf__find_base(struct acl_env *env, __u64 base)
{
	struct acl_proc *p = env->proc;

	env->th->found = 0;
	for (__u32 cls = ACL_CLASS_MIN; cls <= ACL_CLASS_MAX; cls++)
		if (p->classes[cls] && acl_buf__begins(env, acl_chunk(base, cls), base))
			return;
}

ACL_FN void acl_range__probe(struct acl_env *env, __u64 addr, __u32 cls)
{
	__u64 key = acl_chunk(addr, cls);
	const struct acl_dead *d;

	for (int i = 0; i < 3; i++) {
		d = acl_range__get(env, key);
		if (d && addr - d->base < d->size) {
			env->th->found = key;
			return;
		}
		key -= 1ULL << cls;
	}
}

/* The released range that contains an address. */
ACL_FN void acl_range__find(struct acl_env *env, __u64 addr)
{
	struct acl_proc *p = env->proc;

	env->th->found = 0;
	for (__u32 cls = ACL_CLASS_MIN; cls <= ACL_CLASS_MAX && !env->th->found; cls++)
		if (p->classes[cls])
			acl_range__probe(env, addr, cls);
}

#ifdef __BPF__
__attribute__((noinline)) int acl_range__seek(__u64 addr)
{
	struct acl_env env;

	if (acl_env__resume(&env))
		acl_range__find(&env, addr);
	return 0;
}

/* Not static: so the verifier looks at it once, not wherever it is called. */
__attribute__((noinline)) int acl_buf__seek(__u64 addr)
{
	struct acl_env env;

	if (acl_env__resume(&env))
		acl_buf__find(&env, addr);
	return 0;
}
#else
#define acl_buf__seek(addr) acl_buf__find(env, addr)
#define acl_range__seek(addr) acl_range__find(env, addr)
#endif

ACL_FN struct acl_buf *acl_buf__at(struct acl_env *env, __u64 addr)
{
	acl_buf__seek(addr);
	return env->th->found ? acl_buf__get(env, env->th->found) : 0;
}

ACL_FN struct acl_buf *acl_buf__exact(struct acl_env *env, __u64 base)
{
	acl_buf__find_base(env, base);
	return env->th->found ? acl_buf__get(env, env->th->found) : 0;
}

/* Forget a buffer, if `id` still is what is filed there. */
ACL_OUTLINE void acl_buf__remove(struct acl_env *env, __u64 key, __u64 id)
{
	struct acl_buf *b;
	int locked = !acl_lock(env, id);

	b = acl_buf__get(env, key);
	if (b && b->id == id) {
		if (b->more)
			acl_copies__drop(env, id);
		acl_proc__count(&env->proc->bytes_gone, b->size);
		acl_proc__count(&env->proc->bufs_gone, 1);
		acl_buf__drop(env, key);
	}
	if (locked)
		acl_unlock(env, id);
}

ACL_OUTLINE void acl_buf__make(struct acl_env *env, const struct acl_frame *f, __u64 base,
			       __u64 size)
{
	struct acl_buf *b = &env->th->scratch.buf;
	struct acl_buf *old;
	__u64 key;

	if (!base || !size || base + size < base)
		return;
	/* What still lives there was released unseen. */
	old = acl_buf__at(env, base);
	if (old) {
		acl_loss(env, ACL_L_MISSED_FREE);
		acl_buf__remove(env, acl_buf__key(old), old->id);
	}
	__builtin_memset(b, 0, sizeof(*b));
	b->id = acl_new_id(env);
	b->born = f->pos;
	b->base = base;
	b->size = size;
	b->tid = env->tid;
	b->call = f->call;
	b->site = env->th->site;
	key = acl_buf__key(b);
	old = acl_buf__get(env, key);
	if (old) {
		/* Being released, its return not seen yet; or a stale one. */
		if (!old->dying)
			acl_loss(env, ACL_L_MISSED_FREE);
		acl_buf__remove(env, key, old->id);
	}
	/* before the buffer, so that nobody can look for it in vain */
	env->proc->classes[key & 63] = 1;
	if (acl_buf__put(env, key, b)) {
		acl_loss(env, ACL_L_BUF_FULL);
		return;
	}
	acl_dead__revive(env, ACL_GRAVE_BUF, base);
	acl_proc__count(&env->proc->bufs_made, 1);
	acl_proc__count(&env->proc->bytes_made, size);
}

/* ---- copies ------------------------------------------------------------ */

ACL_OUTLINE int acl_copy__is_settled(struct acl_env *env, const struct acl_copy *c)
{
	const struct acl_stream *s = acl_stream__get(env, c->stream);

	return acl_copy__known(c, s, s ? acl_proc__settled(env->proc, s->dev) : 0) == ACL_K_SETTLED;
}

#define ACL_NO_SLOT 0xff

/*
 * Which of `n` slots a copy on a stream goes into: the one that the stream
 * has, an empty one, one whose copy is settled and says nothing any more;
 * else none.  The answer goes through memory, see acl_buf__find().
 */
ACL_OUTLINE void acl_copies__find(struct acl_env *env, const struct acl_copy *c, int n,
				  __u64 stream)
{
	env->th->slot = ACL_NO_SLOT;
	for (int i = 0; i < n; i++) {
		if (c[i].stream == stream) {
			env->th->slot = i;
			return;
		}
	}
	for (int i = 0; i < n; i++) {
		if (!c[i].stream) {
			env->th->slot = i;
			return;
		}
	}
	for (int i = 0; i < n; i++) {
		if (acl_copy__is_settled(env, &c[i])) {
			env->th->slot = i;
			return;
		}
	}
}

/* The slot whose copy is the oldest: what goes where nothing else can. */
ACL_OUTLINE void acl_copies__find_oldest(struct acl_env *env, const struct acl_copy *c, int n)
{
	__u64 oldest = ~0ULL;

	for (int i = 0; i < n; i++) {
		if (c[i].pos < oldest) {
			oldest = c[i].pos;
			env->th->slot = i;
		}
	}
}

/* Is there a slot for the stream already, beyond the inline ones? */
ACL_OUTLINE int acl_copies__has(const struct acl_copies *m, __u64 stream)
{
	for (int i = 0; i < ACL_COPIES_MORE; i++)
		if (m->c[i].stream == stream)
			return 1;
	return 0;
}

/*
 * Where a new copy on `stream` is kept in a buffer.  Returns the slot, its
 * number in *nr (inline ones first), or NULL where a table is full.
 */
ACL_FN struct acl_copy *acl_buf__slot(struct acl_env *env, struct acl_buf *b, __u64 stream,
				      __u32 *nr)
{
	struct acl_copies *m = 0;
	__u32 slot;

	if (b->more)
		m = acl_copies__get(env, b->id);
	if (!m || !acl_copies__has(m, stream)) {
		acl_copies__find(env, b->c, ACL_COPIES_INLINE, stream);
		slot = env->th->slot;
		if (slot < ACL_COPIES_INLINE) {
			*nr = slot;
			return &b->c[acl_index(slot, ACL_COPIES_INLINE - 1)];
		}
	}
	if (!m) {
		__builtin_memset(&env->th->scratch.copies, 0, sizeof(env->th->scratch.copies));
		if (acl_copies__put(env, b->id, &env->th->scratch.copies))
			return 0;
		b->more = 1;
		m = acl_copies__get(env, b->id);
		if (!m)
			return 0;
	}
	acl_copies__find(env, m->c, ACL_COPIES_MORE, stream);
	if (env->th->slot == ACL_NO_SLOT) {
		acl_loss(env, ACL_L_OVERFLOW);
		b->suspect[ACL_S_OVERFLOW] = 1;
		acl_copies__find_oldest(env, m->c, ACL_COPIES_MORE);
	}
	slot = acl_index(env->th->slot, 7);
	if (slot >= ACL_COPIES_MORE)
		return 0;
	*nr = ACL_COPIES_INLINE + slot;
	return &m->c[slot];
}

ACL_FN struct acl_copy *acl_buf__nth(struct acl_env *env, struct acl_buf *b, __u32 nr)
{
	struct acl_copies *m;

	if (nr < ACL_COPIES_INLINE)
		return &b->c[acl_index(nr, ACL_COPIES_INLINE - 1)];
	nr -= ACL_COPIES_INLINE;
	m = acl_copies__get(env, b->id);
	nr = acl_index(nr, 7);
	if (!m || nr >= ACL_COPIES_MORE)
		return 0;
	return &m->c[nr];
}

/* One end of a copy: enters it into the buffer its address lies in, if any. */
ACL_OUTLINE void acl_copy__enter(struct acl_env *env, struct acl_frame *f, __u32 end)
{
	const struct acl_copy *copy = &env->th->copy;
	struct acl_buf *b = acl_buf__at(env, copy->addr);
	struct acl_copy *slot;
	__u32 nr = 0;
	__u64 id;

	if (end > 1)
		return;
	if (!b) {
		/* pageable memory, or a buffer that is no more: told at the return */
		acl_range__seek(copy->addr);
		if (env->th->found && !f->dead) {
			f->dead = 1;
			f->aux = env->th->found;
			f->undo.copy[end].prev = *copy;
			f->obj = end;
		}
		return;
	}
	id = b->id;
	if (acl_lock(env, id)) {
		acl_loss(env, ACL_L_CONTENDED);
		b->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (b->id == id) {
		slot = acl_buf__slot(env, b, copy->stream, &nr);
		if (!slot) {
			acl_loss(env, ACL_L_OTHER_FULL);
			b->suspect[ACL_S_FULL] = 1;
		} else {
			f->undo.copy[end].key = acl_buf__key(b);
			f->undo.copy[end].buf = id;
			f->undo.copy[end].slot = nr;
			f->undo.copy[end].prev = *slot;
			if (slot->stream != copy->stream || slot->pos <= copy->pos)
				*slot = *copy;
		}
	}
	acl_unlock(env, id);
}

/* A copy that failed did not happen. */
ACL_OUTLINE void acl_copy__undo(struct acl_env *env, struct acl_frame *f, __u32 end)
{
	__u64 id = f->undo.copy[end].buf;
	struct acl_copy *slot;
	struct acl_buf *b;

	if (!id)
		return;
	b = acl_buf__get(env, f->undo.copy[end].key);
	if (!b || b->id != id)
		return;
	if (acl_lock(env, id)) {
		acl_loss(env, ACL_L_CONTENDED);
		b->suspect[ACL_S_RACED] = 1;
		return;
	}
	slot = acl_buf__nth(env, b, f->undo.copy[end].slot);
	if (slot && slot->pos == f->pos && slot->tid == env->tid)
		*slot = f->undo.copy[end].prev;
	else
		b->suspect[ACL_S_RACED] = 1;
	acl_unlock(env, id);
}

enum acl_kind { /* aclrtMemcpyKind, acl_rt.h */
		ACL_KIND_H2H = 0,
		ACL_KIND_H2D = 1,
		ACL_KIND_D2H = 2,
		ACL_KIND_D2D = 3,
		ACL_KIND_DEFAULT = 4, /* decided by the addresses */
		ACL_KIND_H2B2D = 5,   /* host to buffer to device */
};

#define ACL_END_SRC 1
#define ACL_END_DST 2

/* The ends of a copy that may be on the host. */
ACL_FN __u8 acl_kind__ends(__u32 kind)
{
	switch (kind) {
	case ACL_KIND_H2D:
	case ACL_KIND_H2B2D:
		return ACL_END_SRC;
	case ACL_KIND_D2H:
		return ACL_END_DST;
	case ACL_KIND_H2H:
	case ACL_KIND_DEFAULT:
		return ACL_END_SRC | ACL_END_DST;
	default:
		return 0;
	}
}

/*
 * A copy is submitted.  Which ends are on the host, the kind tells, and the
 * addresses where it leaves that open.
 */
ACL_FN void acl_copy__submit(struct acl_env *env, struct acl_frame *f, __u64 dst, __u64 dst_len,
			     __u64 src, __u64 src_len, __u32 kind, __u64 handle)
{
	struct acl_copy *c = &env->th->copy;
	struct acl_stream *s = acl_stream__of(env, handle);

	f->undo.copy[0].buf = 0;
	f->undo.copy[1].buf = 0;
	if (!s || !src_len || acl_stream__capturing(env, s))
		return;
	__builtin_memset(c, 0, sizeof(*c));
	c->stream = s->id;
	c->pos = env->pos;
	c->tid = env->tid;
	c->call = f->call;
	/* through memory, see acl_buf__find() */
	env->th->ends = acl_kind__ends(kind);
	if (env->th->ends & ACL_END_SRC) {
		c->addr = src;
		c->len = src_len;
		c->dir = env->th->ends & ACL_END_DST ? ACL_DIR_ANY : ACL_DIR_H2D;
		acl_copy__enter(env, f, 0);
	}
	if (env->th->ends & ACL_END_DST) {
		c->addr = dst;
		c->len = dst_len;
		c->dir = env->th->ends & ACL_END_SRC ? ACL_DIR_ANY : ACL_DIR_D2H;
		acl_copy__enter(env, f, 1);
	}
}

/* ---- events ------------------------------------------------------------ */

ACL_OUTLINE struct acl_event *acl_event__make(struct acl_env *env, __u64 handle, __u64 born,
					      __u16 call, __u32 flags)
{
	struct acl_event *e = &env->th->scratch.event;
	struct acl_event *old;

	old = acl_event__get(env, handle);
	if (old) {
		if (!old->dying)
			acl_loss(env, ACL_L_MISSED_FREE);
		acl_proc__count(&env->proc->events_gone, 1);
		if (old->rec_inherits)
			acl_inherits__drop(env, old->id);
		if (old->more)
			acl_seen__drop(env, old->id);
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->id = acl_new_id(env);
	e->born = born;
	e->handle = handle;
	e->flags = flags;
	e->site = env->th->site;
	e->tid = env->tid;
	e->call = call;
	e->shared = call != ACL_C_MAX && (flags & (ACL_EVENT_EXTERNAL | ACL_EVENT_IPC));
	if (acl_event__put(env, handle, e)) {
		acl_loss(env, ACL_L_EVENT_FULL);
		env->proc->suspect[ACL_S_FULL] = 1;
		return 0;
	}
	if (call != ACL_C_MAX)
		acl_dead__revive(env, ACL_GRAVE_EVENT, handle);
	acl_proc__count(&env->proc->events_made, 1);
	return acl_event__get(env, handle);
}

/* The live event of a handle; one whose creation was not seen is taken in. */
ACL_FN struct acl_event *acl_event__of(struct acl_env *env, struct acl_frame *f, __u64 handle)
{
	struct acl_event *e = acl_event__get(env, handle);

	if (e && !e->dying)
		return e;
	if (!handle)
		return 0;
	if (!e)
		f->dead = acl_dead__is(env, ACL_GRAVE_EVENT, handle);
	f->made = 1;
	return acl_event__make(env, handle, env->pos, ACL_C_MAX, 0);
}

/* What is filed under the handle, if it still is the generation `id`. */
ACL_FN struct acl_event *acl_event__same(struct acl_env *env, __u64 handle, __u64 id)
{
	struct acl_event *e = id ? acl_event__get(env, handle) : 0;

	if (e && e->id != id)
		e = 0;
	acl_opaque(e);
	return e;
}

/* Remembers that the event was seen COMPLETE up to a position on a stream. */
ACL_OUTLINE void acl_event__saw(struct acl_env *env, struct acl_event *e, __u64 stream, __u64 pos)
{
	struct acl_seen *m = 0;

	if (!stream)
		return;
	if (e->more)
		m = acl_seen__get(env, e->id);
	if (!m && !acl_covers__merge(e->seen, ACL_SEEN_INLINE, stream, pos))
		return;
	if (m) {
#pragma GCC unroll 2
		for (int i = 0; i < ACL_SEEN_INLINE; i++) {
			if (e->seen[i].stream == stream) {
				acl_raise(e->seen[i].pos, pos);
				return;
			}
		}
	} else {
		__builtin_memset(&env->th->scratch.seen, 0, sizeof(env->th->scratch.seen));
		if (!acl_seen__put(env, e->id, &env->th->scratch.seen)) {
			e->more = 1;
			m = acl_seen__get(env, e->id);
		}
	}
	if (m && !acl_covers__merge(m->c, ACL_SEEN_MORE, stream, pos))
		return;
	/* destroying the event will not settle that stream: say so there */
	acl_loss(env, ACL_L_OVERFLOW);
	e->suspect[ACL_S_OVERFLOW] = 1;
	acl_stream__suspect(env, stream, ACL_S_OVERFLOW);
}

/* What a query or wait is about: the record that is current at its entry. */
ACL_FN void acl_event__snapshot(struct acl_env *env, struct acl_frame *f, const struct acl_event *e)
{
	f->obj = e->id;
	f->starts = e->starts;
	f->busy = e->busy != 0;
	f->undo.n = 1;
	f->undo.c[0] = e->rec;
	f->aux = e->records;
	if (e->rec_inherits && e->rec.stream)
		acl_undo__inherits(env, &f->undo, e->id);
}

/* The snapshot turned out complete; tell the streams, and the event. */
ACL_OUTLINE void acl_event__complete(struct acl_env *env, struct acl_frame *f, enum acl_learn kind)
{
	struct acl_poll *poll = &env->th->poll;
	struct acl_event *e;
	__u64 id = f->obj;

	if (!id || !f->undo.c[0].stream)
		return; /* never recorded: says nothing */
	poll->pos = f->pos;
	poll->event = id;
	poll->handle = f->args[0];
	poll->tid = env->tid;
	poll->records = f->aux;
	for (int i = 0; i < ACL_COVERS_MAX; i++) {
		if ((__u32)i >= f->undo.n)
			break;
		if (f->undo.c[i].stream)
			acl_stream__learn(env, f->undo.c[i].stream, f->undo.c[i].pos, kind, poll);
	}
	e = acl_event__same(env, f->args[0], id);
	if (!e)
		return;
	if (acl_lock(env, id)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
		return;
	}
	for (int i = 0; i < ACL_COVERS_MAX; i++) {
		if ((__u32)i >= f->undo.n)
			break;
		acl_event__saw(env, e, f->undo.c[i].stream, f->undo.c[i].pos);
	}
	acl_unlock(env, id);
}

/* A query counts only if no record or reset of the event came in between. */
ACL_FN int acl_event__undisturbed(struct acl_env *env, const struct acl_frame *f)
{
	const struct acl_event *e = acl_event__get(env, f->args[0]);

	if (f->busy)
		return 0;
	return !e || e->id != f->obj || e->starts == f->starts;
}

ACL_OUTLINE void acl_event__record(struct acl_env *env, struct acl_frame *f, struct acl_event *e,
				   struct acl_stream *s)
{
	struct acl_inherits *from = s->inherits ? acl_inherits__get(env, s->id) : 0;
	struct acl_inherits *to;

	f->undo.rec.rec = e->rec;
	f->undo.rec.had = e->rec_inherits;
	f->aux = e->captured;
	if (e->rec_inherits) {
		to = acl_inherits__get(env, e->id);
		if (to)
			f->undo.rec.inh = *to;
	}
	e->rec_inherits = 0;
	if (acl_stream__capturing(env, s)) {
		e->captured = 1;
		e->capture_stream = s->capture_stream;
		e->capture_seq = s->capture_seq;
		e->rec.stream = 0;
		e->rec.pos = env->pos;
		return;
	}
	e->captured = 0;
	e->records++;
	e->rec.stream = s->id;
	e->rec.pos = env->pos;
	if (e->shared)
		acl_raise(s->way, env->pos);
	if (!from)
		return;
	to = acl_inherits__of(env, e->id);
	if (!to) {
		e->suspect[ACL_S_FULL] = 1;
		s->suspect[ACL_S_FULL] = 1;
		return;
	}
	*to = *from;
	to->last = env->pos;
	e->rec_inherits = 1;
}

/* A record or reset that failed did not happen. */
ACL_OUTLINE void acl_event__unrecord(struct acl_env *env, struct acl_frame *f, struct acl_event *e,
				     int is_record)
{
	struct acl_inherits *to;

	if (e->rec.pos != f->pos) {
		e->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (is_record && !e->captured)
		e->records--;
	e->rec = f->undo.rec.rec;
	e->captured = f->aux;
	e->rec_inherits = 0;
	if (f->undo.rec.had) {
		to = acl_inherits__of(env, e->id);
		if (to) {
			*to = f->undo.rec.inh;
			e->rec_inherits = 1;
		}
	}
}

/* What destroying the event settles: all it was seen COMPLETE for, and its
 * current record if that is known complete by any means. */
ACL_OUTLINE void acl_event__settles(struct acl_env *env, struct acl_frame *f,
				    const struct acl_event *e)
{
	struct acl_undo *u = &f->undo;
	const struct acl_inherits *in;
	const struct acl_stream *s;
	const struct acl_seen *m;

	__builtin_memset(u, 0, sizeof(*u));
	for (int i = 0; i < ACL_SEEN_INLINE; i++)
		u->c[i] = e->seen[i];
	m = e->more ? acl_seen__get(env, e->id) : 0;
	if (m)
		for (int i = 0; i < ACL_SEEN_MORE; i++)
			u->c[ACL_SEEN_INLINE + i] = m->c[i];
	u->n = ACL_SEEN_INLINE + ACL_SEEN_MORE;
	if (!e->rec.stream)
		return;
	s = acl_stream__get(env, e->rec.stream);
	if (s && !acl_stream__known(s, env->proc, e->rec.pos))
		return;
	u->c[ACL_SEEN_INLINE + ACL_SEEN_MORE] = e->rec;
	in = e->rec_inherits ? acl_inherits__get(env, e->id) : 0;
	if (in)
		for (int i = 0; i < ACL_INHERITS_MAX; i++)
			u->c[ACL_SEEN_INLINE + ACL_SEEN_MORE + 1 + i] = in->c[i];
	u->n = ACL_UNDO_COVERS;
}

ACL_OUTLINE void acl_event__remove(struct acl_env *env, __u64 handle, __u64 id)
{
	struct acl_event *e;
	int locked = !acl_lock(env, id);

	e = acl_event__same(env, handle, id);
	if (e) {
		if (e->rec_inherits)
			acl_inherits__drop(env, id);
		if (e->more)
			acl_seen__drop(env, id);
		acl_event__drop(env, handle);
		acl_proc__count(&env->proc->events_gone, 1);
	}
	if (locked)
		acl_unlock(env, id);
}

/* ---- the verdict ------------------------------------------------------- */

/* The least known copy of a buffer, and what there is to say about it. */
struct acl_worst {
	__u64 pos;
	__u32 rank; /* enum acl_know and whether it has an unfollowed way */
	__u32 nr;   /* of the slot */
	__u32 unsettled;
};

ACL_OUTLINE void acl_worst__weigh(struct acl_env *env, struct acl_worst *w,
				  const struct acl_copy *c, __u32 nr)
{
	const struct acl_stream *s;
	enum acl_know know;
	__u32 rank;

	if (!c->stream)
		return;
	s = acl_stream__get(env, c->stream);
	know = acl_copy__known(c, s, s ? acl_proc__settled(env->proc, s->dev) : 0);
	if (know == ACL_K_SETTLED)
		return;
	w->unsettled++;
	rank = 2 * know;
	if (know == ACL_K_NOTHING && s && s->way >= c->pos)
		rank++;
	if (rank > w->rank || (rank == w->rank && c->pos <= w->pos))
		return;
	w->rank = rank;
	w->pos = c->pos;
	w->nr = nr;
}

ACL_FN void acl_violation__buf(struct acl_violation *v, const struct acl_buf *b)
{
	v->buf.id = b->id;
	v->buf.base = b->base;
	v->buf.size = b->size;
	v->buf.born = b->born;
	v->buf.site = b->site;
	v->buf.tid = b->tid;
	v->buf.call = b->call;
}

/* What is known of the polled event; it may be gone by now. */
ACL_FN void acl_violation__event(struct acl_env *env, struct acl_violation *v)
{
	struct acl_event *e = acl_event__same(env, v->poll.handle, v->poll.event);

	if (!e)
		return;
	v->has_event = 1;
	v->event.born = e->born;
	v->event.site = e->site;
	v->event.rec_pos = e->rec.pos;
	v->event.records = e->records;
	v->event.flags = e->flags;
	v->event.tid = e->tid;
	v->event.call = e->call;
	v->suspects |= acl_suspect__mask(e->suspect);
	/* so that its destroy is told to whoever prints this */
	e->verdict = v->id;
}

ACL_FN __u32 acl_suspects__of(struct acl_env *env, const struct acl_buf *b)
{
	__u32 mask = acl_suspect__mask(env->proc->suspect) | acl_suspect__mask(b->suspect);

	if (b->born < acl_complete(env))
		mask |= 1U << ACL_S_LATE;
	return mask;
}

ACL_FN int acl_rule__wanted(struct acl_env *env, enum acl_rule rule, enum acl_level level)
{
	const volatile struct acl_cfg *cfg = acl_cfg(env);

	if (level == ACL_LEVEL_NOTE && !cfg->strict)
		return 0;
	return !!(cfg->rules & ACL_RULE_BIT(rule));
}

/* Starts the report of a call that is being judged. */
ACL_FN struct acl_violation *acl_report__begin(struct acl_env *env, const struct acl_frame *f,
					       enum acl_rule rule)
{
	struct acl_violation *v = acl_violation__begin(env);

	if (!v)
		return 0;
	v->h.type = ACL_REC_VIOLATION;
	v->h.tgid = env->tgid;
	v->h.tid = env->tid;
	v->h.inc = env->inc;
	v->h.time = f->pos;
	v->id = acl_new_id(env);
	v->rule = rule;
	v->call = f->call;
	v->ptr = f->args[0];
	return v;
}

/*
 * Judges the release of a buffer that is entered now.  Returns the id of the
 * verdict, 0 where there is nothing to say.
 */
ACL_FN __u64 acl_buf__judge(struct acl_env *env, const struct acl_frame *f, struct acl_buf *b)
{
	struct acl_worst w = { .rank = 2 * ACL_K_SETTLED };
	const struct acl_copies *m;
	const struct acl_stream *s;
	const struct acl_copy *c;
	struct acl_violation *v;
	enum acl_level level;
	enum acl_rule rule;
	int pooled = 0, time_line = 1;
	__u64 age = 0, id;

	for (__u32 i = 0; i < ACL_COPIES_INLINE; i++)
		acl_worst__weigh(env, &w, &b->c[i], i);
	m = b->more ? acl_copies__get(env, b->id) : 0;
	if (m)
		for (__u32 i = 0; i < ACL_COPIES_MORE; i++)
			acl_worst__weigh(env, &w, &m->c[i], ACL_COPIES_INLINE + i);
	rule = acl_verdict__rule(w.rank / 2);
	if (rule == ACL_RULE_NONE)
		return 0;
	if (!acl_rule__wanted(env, rule,
			      rule == ACL_RULE_FREE_AFTER_EVENT_SYNC ? ACL_LEVEL_NOTE
								     : ACL_LEVEL_ERROR))
		return 0;
	c = acl_buf__nth(env, b, w.nr);
	s = c ? acl_stream__get(env, c->stream) : 0;
	if (!s)
		return 0;
	v = acl_report__begin(env, f, rule);
	if (!v)
		return 0;
	v->suspects = acl_suspects__of(env, b) | acl_suspect__mask(s->suspect);
	v->unsettled = w.unsettled;
	acl_violation__buf(v, b);
	v->copy = *c;
	v->stream.id = s->id;
	v->stream.handle = s->handle;
	v->stream.dev = s->dev;
	v->stream.is_default = s->is_default;
	v->stream.query_pos = s->query_pos;
	v->poll = s->poll;
	if (rule == ACL_RULE_FREE_BEFORE_DESTROY) {
		acl_violation__event(env, v);
		pooled = v->poll.records > 1 || (v->has_event && v->event.records > 1);
		time_line = v->has_event && v->event.call != ACL_C_MAX
				    ? !!(v->event.flags & ACL_EVENT_TIME_LINE)
				    : -1;
		age = f->pos - v->poll.pos;
	}
	if (w.rank & 1)
		v->suspects |= 1U << ACL_S_WAY;
	level = acl_verdict__level(rule, pooled, age, acl_cfg(env)->window, w.rank & 1);
	v->level = level;
	v->hazard = acl_verdict__hazard(rule, time_line);
	v->evidence = acl_verdict__evidence(v->suspects);
	id = v->id;
	acl_violation__end(env, v);
	return id;
}

/*
 * On late attach the buffer is not known; the one thing that speaks is that
 * the thread's latest event call was a COMPLETE poll a moment ago.
 */
ACL_FN __u64 acl_unknown__judge(struct acl_env *env, const struct acl_frame *f)
{
	struct acl_violation *v;
	struct acl_event *e;
	__u64 id, poll = env->th->poll_pos;

	if (!env->proc->late || !poll || f->pos - poll > acl_cfg(env)->window)
		return 0;
	if (!acl_rule__wanted(env, ACL_RULE_FREE_BEFORE_DESTROY, ACL_LEVEL_ERROR))
		return 0;
	e = acl_event__get(env, env->th->poll_event);
	if (e && (e->dying || e->id == 0))
		return 0;
	v = acl_report__begin(env, f, ACL_RULE_FREE_BEFORE_DESTROY);
	if (!v)
		return 0;
	v->suspects = 1U << ACL_S_LATE;
	v->poll.pos = poll;
	v->poll.handle = env->th->poll_event;
	v->poll.tid = env->tid;
	if (e) {
		v->poll.event = e->id;
		acl_violation__event(env, v);
	}
	v->level = ACL_LEVEL_WARNING;
	v->hazard = ACL_HZ_DOCUMENTED;
	v->evidence = ACL_EV_SUSPECTED;
	id = v->id;
	acl_violation__end(env, v);
	return id;
}

/* ---- releases ---------------------------------------------------------- */

ACL_FN void acl_free__enter(struct acl_env *env, struct acl_frame *f, int judged)
{
	struct acl_buf *b = acl_buf__exact(env, f->args[0]);
	int locked;

	if (!b) {
		f->dead = acl_dead__is(env, ACL_GRAVE_BUF, f->args[0]);
		if (judged && !f->dead)
			f->verdict = acl_unknown__judge(env, f);
		return;
	}
	locked = !acl_lock(env, b->id);
	if (!locked) {
		acl_loss(env, ACL_L_CONTENDED);
		b->suspect[ACL_S_RACED] = 1;
	}
	f->obj = b->id;
	f->aux = acl_buf__key(b);
	if (judged)
		f->verdict = acl_buf__judge(env, f, b);
	b->dying = env->pos;
	if (locked)
		acl_unlock(env, f->obj);
}

ACL_FN int acl_ret__is_runtime_error(__s32 ret)
{
	return ret >= 507000 && ret <= 507999;
}

ACL_OUTLINE void acl_free__failed(struct acl_env *env, const struct acl_frame *f,
				  const struct acl_buf *b, __s32 ret)
{
	struct acl_violation *v;

	if (f->verdict || (!b && !acl_ret__is_runtime_error(ret)))
		return;
	if (!acl_rule__wanted(env, ACL_RULE_FREE_FAILED, ACL_LEVEL_ERROR))
		return;
	v = acl_report__begin(env, f, ACL_RULE_FREE_FAILED);
	if (!v)
		return;
	if (b)
		acl_violation__buf(v, b);
	v->ret = ret;
	v->level = ACL_LEVEL_ERROR;
	v->hazard = acl_verdict__hazard(ACL_RULE_FREE_FAILED, -1);
	v->evidence = ACL_EV_CONFIRMED;
	acl_violation__end(env, v);
}

/* ---- uses of the dead --------------------------------------------------- */

/*
 * A call on something that is no more: wrong if the runtime refused it.  If
 * it did not, a creation was missed.
 */
ACL_OUTLINE void acl_dead__used(struct acl_env *env, const struct acl_frame *f, __u64 key,
				enum acl_rule rule, __s32 ret)
{
	const struct acl_dead *d = acl_dead__get(env, key);
	struct acl_violation *v;

	if (!ret) {
		acl_loss(env, ACL_L_MISSED_CREATE);
		acl_dead__drop(env, key);
		return;
	}
	if (!d || !acl_rule__wanted(env, rule, ACL_LEVEL_ERROR))
		return;
	v = acl_report__begin(env, f, rule);
	if (!v)
		return;
	v->ptr = d->base;
	v->ret = ret;
	v->ended.id = d->id;
	v->ended.size = d->size;
	v->ended.pos = d->pos;
	v->ended.tid = d->tid;
	v->level = acl_verdict__level(rule, 0, 0, 0, 0);
	v->hazard = acl_verdict__hazard(rule, -1);
	v->evidence = ACL_EV_CONFIRMED;
	acl_violation__end(env, v);
}

ACL_FN void acl_event__used_dead(struct acl_env *env, const struct acl_frame *f, __u64 handle,
				 enum acl_rule rule, __s32 ret)
{
	if (f->dead)
		acl_dead__used(env, f, acl_grave__key(ACL_GRAVE_EVENT, handle), rule, ret);
}

/* A copy that succeeded lay in a range that was released before. */
ACL_OUTLINE void acl_copy__used_dead(struct acl_env *env, struct acl_frame *f)
{
	const struct acl_dead *d = f->dead ? acl_range__get(env, f->aux) : 0;
	const struct acl_copy *c = &f->undo.copy[acl_index(f->obj, 1)].prev;
	const struct acl_stream *s;
	struct acl_violation *v;

	if (!d || !acl_rule__wanted(env, ACL_RULE_COPY_AFTER_FREE, ACL_LEVEL_ERROR))
		return;
	s = acl_stream__get(env, c->stream);
	v = acl_report__begin(env, f, ACL_RULE_COPY_AFTER_FREE);
	if (!v)
		return;
	v->ptr = c->addr;
	v->copy = *c;
	if (s) {
		v->stream.id = s->id;
		v->stream.handle = s->handle;
		v->stream.dev = s->dev;
		v->stream.is_default = s->is_default;
	}
	v->ended.id = d->id;
	v->ended.base = d->base;
	v->ended.size = d->size;
	v->ended.pos = d->pos;
	v->ended.tid = d->tid;
	v->suspects = acl_suspect__mask(env->proc->suspect);
	v->level = acl_verdict__level(ACL_RULE_COPY_AFTER_FREE, 0, 0, 0, 0);
	v->hazard = acl_verdict__hazard(ACL_RULE_COPY_AFTER_FREE, -1);
	v->evidence = acl_verdict__evidence(v->suspects);
	acl_violation__end(env, v);
}

ACL_FN void acl_free__done(struct acl_env *env, const struct acl_frame *f, const struct acl_buf *b,
			   int bury)
{
	struct acl_dead d = {
		.id = b->id,
		.base = b->base,
		.size = b->size,
		.pos = f->pos,
		.range = f->aux,
		.tid = env->tid,
	};

	acl_buf__remove(env, f->aux, f->obj);
	if (bury)
		acl_dead__bury(env, &d, ACL_GRAVE_BUF);
}

ACL_OUTLINE void acl_free__leave(struct acl_env *env, struct acl_frame *f, __s32 ret, int is_free)
{
	struct acl_buf *b = f->obj ? acl_buf__get(env, f->aux) : 0;

	if (b && b->id != f->obj)
		b = 0; /* the address was handed out again meanwhile */
	acl_opaque(b);
	if (f->verdict)
		acl_sequel__send(env, ACL_REC_RELEASED, f->verdict, f->call, f->pos, ret);
	if (f->dead) {
		acl_dead__used(env, f, acl_grave__key(ACL_GRAVE_BUF, f->args[0]),
			       ACL_RULE_DOUBLE_FREE, ret);
	} else if (ret) {
		if (b)
			b->dying = 0;
		acl_free__failed(env, f, b, ret);
	} else if (b) {
		acl_free__done(env, f, b, is_free);
	}
}

/* ---- calls, at their entry --------------------------------------------- */

ACL_FN void acl_enter__record(struct acl_env *env, struct acl_frame *f, __u64 flags)
{
	struct acl_event *e = acl_event__of(env, f, f->args[0]);
	struct acl_stream *s = acl_stream__of(env, f->args[1]);

	env->th->poll_pos = 0;
	if (!e || !s)
		return;
	f->obj = e->id;
	__sync_fetch_and_add(&e->busy, 1);
	__sync_fetch_and_add(&e->starts, 1);
	if (flags & 1) /* ACL_EVENT_RECORD_EXTERNAL */
		e->shared = 1;
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
		s->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (e->id == f->obj)
		acl_event__record(env, f, e, s);
	acl_unlock(env, f->obj);
}

ACL_FN void acl_enter__reset(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__of(env, f, f->args[0]);

	env->th->poll_pos = 0;
	if (!e)
		return;
	f->obj = e->id;
	__sync_fetch_and_add(&e->busy, 1);
	__sync_fetch_and_add(&e->starts, 1);
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (e->id == f->obj) {
		struct acl_inherits *in = e->rec_inherits ? acl_inherits__get(env, e->id) : 0;

		f->undo.rec.rec = e->rec;
		f->undo.rec.had = in != 0;
		f->aux = e->captured;
		if (in)
			f->undo.rec.inh = *in;
		e->rec_inherits = 0;
		e->captured = 0;
		e->rec.stream = 0;
		e->rec.pos = env->pos;
	}
	acl_unlock(env, f->obj);
}

ACL_FN void acl_enter__query(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__get(env, f->args[0]);

	f->obj = 0;
	if (e && !e->dying)
		acl_event__snapshot(env, f, e);
	if (!e)
		f->dead = acl_dead__is(env, ACL_GRAVE_EVENT, f->args[0]);
}

ACL_FN void acl_enter__destroy_event(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__get(env, f->args[0]);

	env->th->poll_pos = 0;
	f->obj = 0;
	if (!e)
		f->dead = acl_dead__is(env, ACL_GRAVE_EVENT, f->args[0]);
	if (!e || e->dying)
		return;
	f->obj = e->id;
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
	} else {
		acl_event__settles(env, f, e);
		acl_unlock(env, f->obj);
	}
	e->dying = env->pos;
}

/* Stream args[0] will wait for event args[1]. */
ACL_FN void acl_enter__wait(struct acl_env *env, struct acl_frame *f)
{
	struct acl_stream *t = acl_stream__of(env, f->args[0]);
	struct acl_event *e = acl_event__get(env, f->args[1]);
	struct acl_inherits *in, *from;

	f->obj = 0;
	if (!e)
		f->dead = acl_dead__is(env, ACL_GRAVE_EVENT, f->args[1]);
	if (!t || !e || e->dying)
		return;
	if (e->captured) {
		struct acl_stream *origin = acl_stream__get(env, e->capture_stream);

		if (origin && origin->capturing && origin->captures == e->capture_seq) {
			t->capture_stream = e->capture_stream;
			t->capture_seq = e->capture_seq;
		}
		return;
	}
	if (!e->rec.stream || acl_stream__capturing(env, t))
		return;
	if (acl_lock(env, t->id)) {
		acl_loss(env, ACL_L_CONTENDED);
		t->suspect[ACL_S_RACED] = 1;
		return;
	}
	in = acl_inherits__of(env, t->id);
	if (in) {
		f->obj = t->id;
		f->undo.inh = *in;
		in->last = env->pos;
		t->inherits = 1;
	} else {
		t->suspect[ACL_S_FULL] = 1;
	}
	acl_inherits__take(env, in, t, e->rec.stream, e->rec.pos);
	from = e->rec_inherits ? acl_inherits__get(env, e->id) : 0;
	if (from)
		for (int i = 0; i < ACL_INHERITS_MAX; i++)
			acl_inherits__take(env, in, t, from->c[i].stream, from->c[i].pos);
	acl_unlock(env, t->id);
}

/* What a barrier or query of a stream speaks about, as it is at its entry. */
ACL_FN void acl_enter__stream(struct acl_env *env, struct acl_frame *f)
{
	struct acl_stream *s = acl_stream__of(env, f->args[0]);

	f->obj = 0;
	if (!s)
		return;
	f->obj = s->id;
	f->undo.n = 0;
	if (s->inherits)
		acl_undo__inherits(env, &f->undo, s->id);
}

ACL_FN void acl_enter__destroy_stream(struct acl_env *env, struct acl_frame *f)
{
	acl_enter__stream(env, f);
	if (f->obj && f->args[0])
		acl_name__drop(env, f->args[0]);
}

ACL_FN void acl_enter__way(struct acl_env *env, __u64 handle)
{
	struct acl_stream *s = acl_stream__of(env, handle);

	if (s)
		acl_raise(s->way, env->pos);
}

ACL_FN void acl_enter__desc(struct acl_env *env, struct acl_frame *f)
{
	struct acl_desc *d = acl_desc__get(env, f->args[0]);

	if (d)
		acl_copy__submit(env, f, d->dst, d->len, d->src, d->len, d->kind, f->args[2]);
	else
		acl_loss(env, ACL_L_UNSEEN_COPY);
}

/* ---- calls, at their return -------------------------------------------- */

ACL_FN void acl_leave__record(struct acl_env *env, struct acl_frame *f, __s32 ret, int is_record)
{
	struct acl_event *e = acl_event__same(env, f->args[0], f->obj);

	acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret);
	if (f->made && !f->dead && !ret)
		acl_loss(env, ACL_L_MISSED_CREATE);
	if (!e)
		return;
	__sync_fetch_and_add(&e->busy, -1);
	if (!ret)
		return;
	if (f->made) {
		/* an event that only a failing call told us of */
		acl_event__remove(env, f->args[0], f->obj);
		return;
	}
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
		return;
	}
	acl_event__unrecord(env, f, e, is_record);
	acl_unlock(env, f->obj);
}

ACL_FN void acl_leave__query(struct acl_env *env, struct acl_frame *f, __s32 ret, int complete,
			     enum acl_learn kind)
{
	acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret);
	if (ret || !complete)
		return;
	if (acl_event__undisturbed(env, f))
		acl_event__complete(env, f, kind);
}

ACL_OUTLINE void acl_leave__destroy_event(struct acl_env *env, struct acl_frame *f, __s32 ret)
{
	struct acl_event *e;

	acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_DOUBLE_DESTROY, ret);
	if (!f->obj)
		return;
	e = acl_event__same(env, f->args[0], f->obj);
	if (ret) {
		if (e)
			e->dying = 0;
		return;
	}
	for (int i = 0; i < ACL_UNDO_COVERS; i++) {
		if ((__u32)i >= f->undo.n)
			break;
		if (f->undo.c[i].stream)
			acl_stream__learn(env, f->undo.c[i].stream, f->undo.c[i].pos,
					  ACL_LEARN_SETTLED, 0);
	}
	if (e && e->verdict)
		acl_sequel__send(env, ACL_REC_DESTROYED, f->obj, f->call, f->pos, ret);
	if (e) {
		struct acl_dead d = {
			.id = f->obj,
			.base = f->args[0],
			.pos = f->pos,
			.tid = env->tid,
		};

		acl_event__remove(env, f->args[0], f->obj);
		acl_dead__bury(env, &d, ACL_GRAVE_EVENT);
	}
}

ACL_FN void acl_leave__wait(struct acl_env *env, struct acl_frame *f, __s32 ret)
{
	struct acl_inherits *in;

	acl_event__used_dead(env, f, f->args[1], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret);
	if (!ret || !f->obj)
		return;
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		acl_stream__suspect(env, f->obj, ACL_S_RACED);
		return;
	}
	in = acl_inherits__get(env, f->obj);
	if (in && in->last == f->pos)
		*in = f->undo.inh;
	else
		acl_stream__suspect(env, f->obj, ACL_S_RACED);
	acl_unlock(env, f->obj);
}

/* A barrier settles what was the stream's own, and waited for the rest. */
ACL_OUTLINE void acl_leave__stream(struct acl_env *env, struct acl_frame *f, enum acl_learn own,
				   enum acl_learn inherited)
{
	if (!f->obj)
		return;
	acl_stream__learn(env, f->obj, f->pos, own, 0);
	for (int i = 1; i < ACL_COVERS_MAX; i++) {
		if ((__u32)i >= f->undo.n)
			break;
		if (f->undo.c[i].stream)
			acl_stream__learn(env, f->undo.c[i].stream, f->undo.c[i].pos, inherited, 0);
	}
}

ACL_FN void acl_leave__destroy_stream(struct acl_env *env, struct acl_frame *f, __s32 ret,
				      int force)
{
	__u64 id = f->obj;

	if (!id || !f->args[0])
		return;
	if (ret) {
		/* it lives on, unless its name means another one by now */
		acl_name__add(env, f->args[0], &id);
		return;
	}
	acl_proc__count(&env->proc->streams_gone, 1);
	if (force)
		return; /* its copies stay unsettled */
	acl_leave__stream(env, f, ACL_LEARN_SETTLED, ACL_LEARN_WAITED);
	acl_inherits__drop(env, id);
	acl_stream__drop(env, id);
}

ACL_FN void acl_leave__create_stream(struct acl_env *env, struct acl_frame *f, __u64 handle)
{
	if (acl_name__get(env, handle))
		acl_loss(env, ACL_L_MISSED_FREE);
	acl_stream__make(env, handle, handle, env->th->dev);
	(void)f;
}

/* A name for what NULL means to this thread now. */
ACL_FN void acl_leave__default_stream(struct acl_env *env, __u64 handle)
{
	struct acl_stream *s = acl_stream__of(env, 0);
	__u64 id;

	if (!s || !handle)
		return;
	id = s->id;
	if (acl_name__put(env, handle, &id))
		acl_loss(env, ACL_L_OTHER_FULL);
}

ACL_FN void acl_leave__set_device(struct acl_env *env, __s32 dev)
{
	env->th->ctx = acl_token__primary(dev);
	env->th->dev = dev;
	if (acl_dev__valid(dev))
		__sync_fetch_and_add(&env->proc->dev_refs[acl_dev__index(dev)], 1);
}

ACL_FN void acl_leave__reset_device(struct acl_env *env, const struct acl_frame *f, __s32 dev)
{
	if (!acl_dev__valid(dev)) {
		acl_proc__settle(env, -1, f->pos);
		return;
	}
	/* more references seen to be taken than given back: not the last one */
	if (env->proc->dev_refs[acl_dev__index(dev)] > 1) {
		__sync_fetch_and_add(&env->proc->dev_refs[acl_dev__index(dev)], -1);
		return;
	}
	env->proc->dev_refs[acl_dev__index(dev)] = 0;
	acl_proc__settle(env, dev, f->pos);
}

/*
 * The copies of a batch.  They are many, so they are entered when the call has
 * succeeded, at the position of its entry, and there is nothing to take back.
 */
#ifdef __BPF__
__attribute__((noinline)) int acl_batch__copy(__u32 i)
{
	struct acl_enter in;
	struct acl_frame *f;
	struct acl_env env;

	if (!acl_env__resume(&env))
		return 0;
	f = acl_thread__frame(env.th, env.th->depth);
	env.pos = f->pos;
	if (acl_batch__entry(&env, f, i, &in)) {
		acl_loss(&env, ACL_L_FAULT);
		return 0;
	}
	acl_copy__submit(&env, f, in.args[0], in.args[3], in.args[2], in.args[3], ACL_KIND_DEFAULT,
			 f->args[5]);
	return 0;
}
#else
ACL_FN void acl_batch__copy_native(struct acl_env *env, struct acl_frame *f, __u32 i)
{
	__u64 pos = env->pos;
	struct acl_enter in;

	if (acl_batch__entry(env, f, i, &in)) {
		acl_loss(env, ACL_L_FAULT);
		return;
	}
	env->pos = f->pos;
	acl_copy__submit(env, f, in.args[0], in.args[3], in.args[2], in.args[3], ACL_KIND_DEFAULT,
			 f->args[5]);
	env->pos = pos;
}
#define acl_batch__copy(i) acl_batch__copy_native(env, f, i)
#endif

ACL_FN void acl_leave__batch(struct acl_env *env, struct acl_frame *f)
{
	for (__u32 i = 0; i < ACL_BATCH_MAX; i++) {
		if (i >= f->args[4])
			return;
		f->dead = 0;
		acl_batch__copy(i);
		acl_copy__used_dead(env, f);
	}
	if (f->args[4] > ACL_BATCH_MAX)
		acl_loss(env, ACL_L_UNSEEN_COPY);
}

/* Others may now see the event complete, and tell each other. */
ACL_FN void acl_leave__export(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__get(env, f->args[0]);
	struct acl_stream *s;

	if (!e || e->dying)
		return;
	e->shared = 1;
	s = e->rec.stream ? acl_stream__get(env, e->rec.stream) : 0;
	if (s)
		acl_raise(s->way, e->rec.pos);
}

ACL_FN void acl_ctx__learn(struct acl_env *env, __u64 ctx, __u64 token, __s32 dev)
{
	struct acl_ctx *c = &env->th->scratch.ctx;

	c->token = token;
	c->dev = dev;
	c->_pad = 0;
	if (acl_ctx__put(env, ctx, c))
		acl_loss(env, ACL_L_OTHER_FULL);
}

/* The thread's current context is `ctx`, whatever that is. */
ACL_OUTLINE void acl_ctx__enter(struct acl_env *env, __u64 ctx)
{
	const struct acl_ctx *c = acl_ctx__get(env, ctx);

	if (c) {
		env->th->ctx = c->token;
		env->th->dev = c->dev;
		return;
	}
	/*
	 * Not seen created: perhaps the primary one of some device, whose
	 * default stream other threads know by another name.
	 */
	env->th->ctx = acl_token__ctx(ctx);
	env->th->dev = -1;
	acl_ctx__learn(env, ctx, env->th->ctx, -1);
	env->proc->suspect[ACL_S_CONTEXT] = 1;
}

ACL_FN void acl_leave__get_ctx(struct acl_env *env, __u64 ctx)
{
	if (!ctx)
		return;
	if (env->th->ctx && !acl_ctx__get(env, ctx))
		acl_ctx__learn(env, ctx, env->th->ctx, env->th->dev);
	else
		acl_ctx__enter(env, ctx);
}

ACL_FN void acl_enter__capture_end(struct acl_env *env, struct acl_frame *f)
{
	struct acl_stream *s = acl_stream__of(env, f->args[0]);

	f->obj = 0;
	if (!s || !s->capturing)
		return;
	f->obj = s->id;
	s->capturing = 0;
}

ACL_FN void acl_leave__capture(struct acl_env *env, struct acl_frame *f, __s32 ret, int begin)
{
	struct acl_stream *s;

	if (begin && !ret) {
		s = acl_stream__of(env, f->args[0]);
		if (!s)
			return;
		s->captures++;
		s->capture_stream = s->id;
		s->capture_seq = s->captures;
		s->capturing = 1;
	} else if (!begin && ret && f->obj) {
		s = acl_stream__get(env, f->obj);
		if (s)
			s->capturing = 1;
	}
}

/* ---- frames: pairing entries with returns ------------------------------ */

ACL_FN void acl_thread__reset(struct acl_thread *th, __u64 inc)
{
	__builtin_memset(th, 0, offsetof(struct acl_thread, f));
	th->inc = inc;
	th->dev = -1;
}

/* The return of this call was not and will not be seen. */
ACL_OUTLINE void acl_frame__abandon(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e;

	acl_loss(env, ACL_L_NO_RETURN);
	/* whether it failed is not known, so what it touched is uncertain */
	env->proc->suspect[ACL_S_LOST] = 1;
	if (f->call == ACL_C_aclrtRecordEvent || f->call == ACL_C_aclrtRecordEventWithFlag ||
	    f->call == ACL_C_aclrtResetEvent) {
		e = acl_event__same(env, f->args[0], f->obj);
		if (e)
			__sync_fetch_and_add(&e->busy, -1);
	}
}

/* Frames below a stack pointer were left by longjmp, or lost their return. */
ACL_FN void acl_thread__unwind(struct acl_env *env, __u64 sp)
{
	struct acl_thread *th = env->th;

	for (int i = 0; i < ACL_NEST_MAX; i++) {
		struct acl_frame *f = acl_thread__frame(th, th->depth - 1);

		if (!th->depth || f->sp >= sp)
			break;
		acl_frame__abandon(env, f);
		th->depth--;
	}
}

enum acl_push {
	ACL_PUSH_NEW,
	ACL_PUSH_FOLDED, /* a second definition of the call that is in progress */
	ACL_PUSH_TOO_DEEP,
};

/*
 * A call is entered.  Where libascendcl.so and libacl_rt.so both define it,
 * one call passes two entries: by a jump at the same stack pointer with
 * nothing in between, or by a call further down.
 */
ACL_OUTLINE int acl_thread__push(struct acl_env *env, const struct acl_enter *in)
{
	struct acl_thread *th = env->th;
	struct acl_frame *f;

	acl_thread__unwind(env, in->sp);
	if (th->depth) {
		f = acl_thread__frame(th, th->depth - 1);
		if (f->sp == in->sp && !th->after_entry) {
			/* left by longjmp to the very same depth */
			acl_frame__abandon(env, f);
			th->depth--;
		} else if (f->call == in->call && f->args[0] == in->args[0]) {
			return ACL_PUSH_FOLDED;
		}
	}
	if (th->depth >= ACL_NEST_MAX)
		return ACL_PUSH_TOO_DEEP;
	f = acl_thread__frame(th, th->depth);
	th->depth++;
	th->after_entry = 1;
	th->site = 0;
	f->pos = in->pos;
	f->sp = in->sp;
	f->call = in->call;
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++)
		f->args[i] = in->args[i];
	f->obj = 0;
	f->verdict = 0;
	f->aux = 0;
	f->busy = 0;
	f->made = 0;
	f->dead = 0;
	f->undo.n = 0;
	return ACL_PUSH_NEW;
}

enum acl_pop {
	ACL_POP_FRAME,
	ACL_POP_FOLDED,
	ACL_POP_NONE, /* nothing is known of its entry */
};

ACL_OUTLINE int acl_thread__pop(struct acl_env *env, __u64 sp)
{
	struct acl_thread *th = env->th;
	struct acl_frame *f;

	acl_thread__unwind(env, sp);
	th->after_entry = 0;
	f = acl_thread__frame(th, th->depth - 1);
	if (th->depth && f->sp == sp) {
		th->depth--;
		th->done_sp = sp;
		return ACL_POP_FRAME;
	}
	/* the outer end of a jump, or the inner end of a call, through two definitions */
	if (th->done_sp == sp || th->depth)
		return ACL_POP_FOLDED;
	return ACL_POP_NONE;
}

/* ---- entry points ------------------------------------------------------ */

/* The part of an entry that the role decides. */
ACL_FN void acl_machine__enter(struct acl_env *env, struct acl_frame *f, enum acl_role role)
{
	switch (role) {
	case ACL_R_FREE:
	case ACL_R_UNREGISTER:
		acl_free__enter(env, f, 1);
		break;
	case ACL_R_FREE_SYNC:
		acl_free__enter(env, f, 0);
		break;
	case ACL_R_EV_DESTROY:
		acl_enter__destroy_event(env, f);
		break;
	case ACL_R_EV_RECORD:
		acl_enter__record(env, f, f->args[2]);
		break;
	case ACL_R_EV_RESET:
		acl_enter__reset(env, f);
		break;
	case ACL_R_EV_QUERY_STATUS:
	case ACL_R_EV_QUERY:
	case ACL_R_EV_SYNC:
		acl_enter__query(env, f);
		break;
	case ACL_R_EV_WAIT:
		acl_enter__wait(env, f);
		break;
	case ACL_R_ST_SYNC:
	case ACL_R_ST_QUERY:
		acl_enter__stream(env, f);
		break;
	case ACL_R_ST_DESTROY:
	case ACL_R_ST_DESTROY_FORCE:
		acl_enter__destroy_stream(env, f);
		break;
	case ACL_R_COPY:
	case ACL_R_COPY_2D:
		acl_copy__submit(env, f, f->args[0], f->args[1], f->args[2], f->args[3], f->args[4],
				 f->args[5]);
		break;
	case ACL_R_COPY_DESC:
		acl_enter__desc(env, f);
		break;
	case ACL_R_CAPTURE_END:
		acl_enter__capture_end(env, f);
		break;
	default:
		break;
	}
}

/* Calls that are over when they are entered: no frame. */
ACL_FN void acl_machine__once(struct acl_env *env, enum acl_role role, const struct acl_enter *in)
{
	if (role == ACL_R_WAY)
		acl_enter__way(env, in->args[0]);
	else if (role == ACL_R_COPY_OFFSET)
		acl_loss(env, ACL_L_UNSEEN_COPY);
}

ACL_FN void acl_machine__leave(struct acl_env *env, struct acl_frame *f, enum acl_role role,
			       const struct acl_leave *out)
{
	__s32 ret = out->ret;

	env->th->site = out->site;
	switch (role) {
	case ACL_R_MALLOC:
		if (!ret && out->out_ok)
			acl_buf__make(env, f, out->out, f->args[1]);
		break;
	case ACL_R_REGISTER:
		if (!ret && !acl_buf__at(env, f->args[0]))
			acl_buf__make(env, f, f->args[0], f->args[1]);
		break;
	case ACL_R_FREE_SYNC:
		if (!ret)
			acl_proc__settle(env, env->th->dev, f->pos);
		acl_free__leave(env, f, ret, 1);
		break;
	case ACL_R_FREE:
	case ACL_R_UNREGISTER:
		acl_free__leave(env, f, ret, role == ACL_R_FREE);
		break;
	case ACL_R_EV_CREATE:
		if (!ret && out->out_ok)
			acl_event__make(env, out->out, f->pos, f->call, f->args[1]);
		break;
	case ACL_R_EV_IPC_OPEN:
		if (!ret && out->out_ok)
			acl_event__make(env, out->out, f->pos, f->call, ACL_EVENT_IPC);
		break;
	case ACL_R_EV_DESTROY:
		acl_leave__destroy_event(env, f, ret);
		break;
	case ACL_R_EV_RECORD:
	case ACL_R_EV_RESET:
		acl_leave__record(env, f, ret, role == ACL_R_EV_RECORD);
		break;
	case ACL_R_EV_QUERY_STATUS:
		env->th->poll_pos = !ret && (__u32)out->out == 1 ? f->pos : 0;
		env->th->poll_event = f->args[0];
		acl_leave__query(env, f, ret, out->out_ok && (__u32)out->out == 1,
				 ACL_LEARN_POLLED);
		break;
	case ACL_R_EV_QUERY:
		env->th->poll_pos = 0;
		acl_leave__query(env, f, ret, out->out_ok && (__u32)out->out == 0,
				 ACL_LEARN_SETTLED);
		break;
	case ACL_R_EV_SYNC:
		env->th->poll_pos = 0;
		acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret);
		if (!ret)
			acl_event__complete(env, f, ACL_LEARN_WAITED);
		break;
	case ACL_R_EV_WAIT:
		acl_leave__wait(env, f, ret);
		break;
	case ACL_R_ST_CREATE:
		if (!ret && out->out_ok)
			acl_leave__create_stream(env, f, out->out);
		break;
	case ACL_R_ST_SYNC:
		if (!ret)
			acl_leave__stream(env, f, ACL_LEARN_SETTLED, ACL_LEARN_WAITED);
		break;
	case ACL_R_ST_QUERY:
		if (!ret && out->out_ok && (__u32)out->out == 0)
			acl_leave__stream(env, f, ACL_LEARN_QUERIED, ACL_LEARN_QUERIED);
		break;
	case ACL_R_ST_DESTROY:
	case ACL_R_ST_DESTROY_FORCE:
		acl_leave__destroy_stream(env, f, ret, role == ACL_R_ST_DESTROY_FORCE);
		break;
	case ACL_R_ST_DEFAULT:
		if (!ret && out->out_ok)
			acl_leave__default_stream(env, out->out);
		break;
	case ACL_R_DEV_SET:
		if (!ret)
			acl_leave__set_device(env, f->args[0]);
		break;
	case ACL_R_DEV_RESET:
		if (!ret)
			acl_leave__reset_device(env, f, f->args[0]);
		break;
	case ACL_R_DEV_RESET_FORCE:
		if (!ret)
			acl_proc__settle(env, f->args[0], f->pos);
		break;
	case ACL_R_DEV_SYNC:
		if (!ret)
			acl_proc__settle(env, env->th->ctx ? env->th->dev : -1, f->pos);
		break;
	case ACL_R_CTX_CREATE:
		if (!ret && out->out_ok) {
			acl_ctx__learn(env, out->out, acl_token__ctx(out->out), f->args[1]);
			acl_ctx__enter(env, out->out);
		}
		break;
	case ACL_R_CTX_SET:
		if (!ret)
			acl_ctx__enter(env, f->args[0]);
		break;
	case ACL_R_CTX_GET:
		if (!ret && out->out_ok)
			acl_leave__get_ctx(env, out->out);
		break;
	case ACL_R_COPY:
	case ACL_R_COPY_2D:
	case ACL_R_COPY_DESC:
		if (ret) {
			acl_copy__undo(env, f, 0);
			acl_copy__undo(env, f, 1);
		} else {
			acl_copy__used_dead(env, f);
		}
		break;
	case ACL_R_COPY_BATCH:
		if (!ret)
			acl_leave__batch(env, f);
		break;
	case ACL_R_EV_IPC_EXPORT:
		if (!ret)
			acl_leave__export(env, f);
		break;
	case ACL_R_COPY_DESC_SET:
		if (!ret) {
			struct acl_desc *d = &env->th->scratch.desc;

			d->src = f->args[2];
			d->dst = f->args[3];
			d->len = f->args[4];
			d->kind = f->args[1];
			d->_pad = 0;
			if (acl_desc__put(env, f->args[0], d))
				acl_loss(env, ACL_L_OTHER_FULL);
		}
		break;
	case ACL_R_CAPTURE_BEGIN:
		acl_leave__capture(env, f, ret, 1);
		break;
	case ACL_R_CAPTURE_END:
		acl_leave__capture(env, f, ret, 0);
		break;
	default:
		break;
	}
}

#endif /* ACLGUARD_MACHINE_H */
