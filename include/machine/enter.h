/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What calls do at their entry. */
#ifndef ACLGUARD_MACHINE_ENTER_H
#define ACLGUARD_MACHINE_ENTER_H

ACL_FN void acl_enter__record(struct acl_env *env, struct acl_frame *f, __u64 flags)
{
	struct acl_event *e = acl_event__of(env, f, f->args[0]);
	struct acl_stream *s = acl_stream__of(env, f->args[1]);

	if (!e || !s)
		return;
	f->obj = e->id;
	__sync_fetch_and_add(&e->busy, 1);
	__sync_fetch_and_add(&e->starts, 1);
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
		s->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (e->id == f->obj)
		acl_event__record(env, f, e, s, flags & 1 /* ACL_EVENT_RECORD_EXTERNAL */);
	acl_unlock(env, f->obj);
}

ACL_FN void acl_enter__reset(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__of(env, f, f->args[0]);

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
		acl_event__sign(env, f, e);
		e->rec.stream = 0;
		e->rec.pos = env->pos;
	}
	acl_unlock(env, f->obj);
}

ACL_FN void acl_enter__query(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__live(env, f->args[0]);

	f->obj = 0;
	if (e)
		acl_event__snapshot(env, f, e);
}

ACL_FN void acl_enter__destroy_event(struct acl_env *env, struct acl_frame *f)
{
	struct acl_event *e = acl_event__live(env, f->args[0]);

	f->obj = 0;
	if (!e)
		return;
	f->obj = e->id;
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		e->suspect[ACL_S_RACED] = 1;
		acl_event__settles(env, f, e);
		acl_covers__suspect(env, f->undo.c, ACL_UNDO_COVERS, ACL_S_RACED);
		f->undo.n = 0;
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
	struct acl_event *e = acl_event__live(env, f->args[1]);
	struct acl_inherits *in, *from;

	f->obj = 0;
	f->made = !e; /* in a way: nothing is known of it */
	if (!t || !e)
		return;
	if (e->captured) {
		struct acl_stream *origin = acl_stream__get(env, e->capture_stream);

		if (origin && origin->capturing && origin->captures == e->capture_seq) {
			f->obj = t->id;
			f->busy = 1; /* joined; to be undone if the call fails */
			f->undo.c[0].stream = t->capture_stream;
			f->undo.c[0].pos = t->capture_seq;
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
		acl_stream__suspect(env, e->rec.stream, ACL_S_RACED);
		from = e->rec_inherits ? acl_inherits__get(env, e->id) : 0;
		if (from)
			acl_covers__suspect(env, from->c, ACL_INHERITS_MAX, ACL_S_RACED);
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

ACL_FN void acl_enter__way(struct acl_env *env, struct acl_frame *f)
{
	struct acl_stream *s = acl_stream__of(env, f->args[0]);

	if (!s || acl_stream__capturing(env, s))
		return;
	f->obj = s->id;
	f->aux = s->way;
	acl_raise(s->way, env->pos);
}

ACL_FN void acl_enter__desc(struct acl_env *env, struct acl_frame *f)
{
	struct acl_desc *d = acl_desc__get(env, f->args[0]);

	f->undo.copy[0].buf = 0;
	f->undo.copy[1].buf = 0;
	if (d)
		acl_copy__submit(env, f, d->dst, d->len, d->src, d->len, d->kind, f->args[2]);
	else
		acl_loss(env, ACL_L_UNSEEN_COPY);
}

#endif /* ACLGUARD_MACHINE_ENTER_H */
