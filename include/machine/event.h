/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events: records, what was seen complete, and what a destroy settles. */
#ifndef ACLGUARD_MACHINE_EVENT_H
#define ACLGUARD_MACHINE_EVENT_H

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
		if (old->filed)
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
	e->stack = env->th->stack;
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

/* The event of a handle, unless it is being destroyed. */
ACL_FN struct acl_event *acl_event__live(struct acl_env *env, __u64 handle)
{
	struct acl_event *e = acl_event__get(env, handle);

	if (!e || e->dying > ACL_FORSAKEN)
		return 0;
	e->dying = 0;
	return e;
}

/* The live event of a handle; one whose creation was not seen is taken in. */
ACL_FN struct acl_event *acl_event__of(struct acl_env *env, struct acl_frame *f, __u64 handle)
{
	struct acl_event *e = acl_event__live(env, handle);

	if (e || !handle)
		return e;
	e = acl_event__get(env, handle);
	if (e) {
		/* being destroyed: it matters if that fails */
		e->suspect[ACL_S_RACED] = 1;
		return 0;
	}
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
	poll->stack = env->th->stack;
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
		/* its destroy will not settle them */
		acl_covers__suspect(env, f->undo.c, f->undo.n < ACL_COVERS_MAX ? 1 : ACL_COVERS_MAX,
				    ACL_S_RACED);
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

	const struct acl_dead *d;

	if (f->busy)
		return 0;
	if (e && e->id == f->obj)
		return e->starts == f->starts;
	/* destroyed since: what it was like in the end */
	d = acl_dead__get(env, acl_grave__key(ACL_GRAVE_EVENT, f->args[0]));
	return !d || d->id != f->obj || d->starts == f->starts;
}

/* Who makes the record or reset, and the one before, in case it fails. */
ACL_FN void acl_event__sign(struct acl_env *env, struct acl_frame *f, struct acl_event *e)
{
	f->undo.rec.tid = e->rec_tid;
	f->undo.rec.stack = e->rec_stack;
	f->undo.rec.call = e->rec_call;
	e->rec_tid = env->tid;
	e->rec_stack = 0;
	e->rec_call = f->call;
}

ACL_OUTLINE void acl_event__record(struct acl_env *env, struct acl_frame *f, struct acl_event *e,
				   struct acl_stream *s, int external)
{
	struct acl_inherits *from = s->inherits ? acl_inherits__get(env, s->id) : 0;
	struct acl_inherits *to;

	f->undo.rec.rec = e->rec;
	f->undo.rec.had = e->rec_inherits;
	f->undo.rec.stream = s->id;
	f->undo.rec.way = 0;
	f->aux = e->captured;
	if (e->rec_inherits) {
		to = acl_inherits__get(env, e->id);
		if (to)
			f->undo.rec.inh = *to;
	}
	e->rec_inherits = 0;
	acl_event__sign(env, f, e);
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
	if (e->shared || external) {
		f->undo.rec.way = s->way;
		acl_raise(s->way, env->pos);
	}
	if (!from)
		return;
	to = acl_inherits__of(env, e->id);
	if (!to) {
		e->suspect[ACL_S_FULL] = 1;
		acl_covers__suspect(env, from->c, ACL_INHERITS_MAX, ACL_S_FULL);
		return;
	}
	e->filed = 1;
	acl_raise(from->taken, env->pos);
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
	e->rec_tid = f->undo.rec.tid;
	e->rec_stack = f->undo.rec.stack;
	e->rec_call = f->undo.rec.call;
	e->captured = f->aux;
	e->rec_inherits = 0;
	if (f->undo.rec.had) {
		to = acl_inherits__of(env, e->id);
		if (to) {
			*to = f->undo.rec.inh;
			e->rec_inherits = 1;
			e->filed = 1;
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
	if (s && !acl_stream__known(env, s, e->rec.pos))
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
		if (e->filed)
			acl_inherits__drop(env, id);
		if (e->more)
			acl_seen__drop(env, id);
		acl_event__drop(env, handle);
		acl_proc__count(&env->proc->events_gone, 1);
	}
	if (locked)
		acl_unlock(env, id);
}

#endif /* ACLGUARD_MACHINE_EVENT_H */
