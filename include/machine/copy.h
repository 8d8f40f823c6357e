/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Copies: entering them into the buffer they touch, and taking them back. */
#ifndef ACLGUARD_MACHINE_COPY_H
#define ACLGUARD_MACHINE_COPY_H

ACL_OUTLINE int acl_copy__is_settled(struct acl_env *env, const struct acl_copy *c)
{
	const struct acl_stream *s = acl_stream__get(env, c->stream);

	return acl_copy__known(c, s, s ? acl_proc__settled(env, s->dev) : 0) == ACL_K_SETTLED;
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
	if (!b && env->th->leaving) {
		/* one that is being released: it matters if that fails */
		b = acl_buf__get(env, env->th->leaving);
		if (b)
			b->suspect[ACL_S_RACED] = 1;
	}
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

/* The copy has returned: one that failed did not happen, the other's stack is known now. */
ACL_OUTLINE void acl_copy__leave(struct acl_env *env, struct acl_frame *f, __u32 end, __s32 ret)
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
		acl_loss(env, ret ? ACL_L_CONTENDED : ACL_L_STACK);
		if (ret)
			b->suspect[ACL_S_RACED] = 1;
		return;
	}
	slot = acl_buf__nth(env, b, f->undo.copy[end].slot);
	if (slot && (slot->pos != f->pos || slot->tid != env->tid))
		slot = 0;
	if (slot && ret)
		*slot = f->undo.copy[end].prev;
	else if (slot)
		slot->stack = env->th->stack;
	else if (ret)
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
	c->stack = env->th->stack; /* of a batch, which has returned */
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

#endif /* ACLGUARD_MACHINE_COPY_H */
