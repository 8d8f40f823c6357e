/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What calls do at their return. */
#ifndef ACLGUARD_MACHINE_LEAVE_H
#define ACLGUARD_MACHINE_LEAVE_H

ACL_FN void acl_leave__record(struct acl_env *env, struct acl_frame *f, __s32 ret, int is_record)
{
	struct acl_event *e = acl_event__same(env, f->args[0], f->obj);
	struct acl_stream *s;

	if (!acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret) &&
	    f->made && !ret)
		acl_loss(env, ACL_L_MISSED_CREATE);
	if (!e)
		return;
	__sync_fetch_and_add(&e->busy, -1);
	if (!ret && !env->th->stack)
		return;
	if (ret && is_record) {
		s = acl_stream__get(env, f->undo.rec.stream);
		if (s && s->way == f->pos)
			s->way = f->undo.rec.way;
	}
	if (ret && f->made) {
		/* an event that only a failing call told us of */
		acl_event__remove(env, f->args[0], f->obj);
		return;
	}
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ret ? ACL_L_CONTENDED : ACL_L_STACK);
		if (ret)
			e->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (ret)
		acl_event__unrecord(env, f, e, is_record);
	else if (e->rec.pos == f->pos)
		e->rec_stack = env->th->stack;
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

	if (acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_DOUBLE_DESTROY, ret))
		return;
	if (!f->obj) {
		if (!ret && f->args[0] && !acl_event__get(env, f->args[0]))
			acl_dead__bury_unknown(env, f->args[0], f->pos, ACL_GRAVE_EVENT);
		return;
	}
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
			.starts = e->starts,
			.suspects = acl_suspect__mask(e->suspect),
			.stack = env->th->stack,
		};

		acl_event__remove(env, f->args[0], f->obj);
		acl_dead__bury(env, &d, ACL_GRAVE_EVENT);
	}
}

ACL_FN void acl_leave__wait(struct acl_env *env, struct acl_frame *f, __s32 ret)
{
	struct acl_inherits *in;

	if (f->made)
		acl_event__used_dead(env, f, f->args[1], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret);
	if (!ret || !f->obj)
		return;
	if (f->busy) {
		struct acl_stream *t = acl_stream__get(env, f->obj);

		if (t) {
			t->capture_stream = f->undo.c[0].stream;
			t->capture_seq = f->undo.c[0].pos;
		}
		return;
	}
	if (acl_lock(env, f->obj)) {
		acl_loss(env, ACL_L_CONTENDED);
		acl_stream__suspect(env, f->obj, ACL_S_RACED);
		return;
	}
	in = acl_inherits__get(env, f->obj);
	if (in && in->last == f->pos) {
		/* a record has taken over meanwhile what was not so */
		if (in->taken > f->pos)
			acl_covers__suspect(env, in->c, ACL_INHERITS_MAX, ACL_S_RACED);
		*in = f->undo.inh;
	} else {
		acl_stream__suspect(env, f->obj, ACL_S_RACED);
	}
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
/* A way that was not taken after all. */
ACL_FN void acl_leave__way(struct acl_env *env, const struct acl_frame *f)
{
	struct acl_stream *s = f->obj ? acl_stream__get(env, f->obj) : 0;

	if (s && s->way == f->pos)
		s->way = f->aux;
}

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
	if (acl_dev__valid(dev)) {
		struct acl_dev *d = acl_dev__of(env, dev);

		if (d)
			__sync_fetch_and_add(&d->refs, 1);
	}
}

ACL_FN void acl_leave__reset_device(struct acl_env *env, const struct acl_frame *f, __s32 dev)
{
	struct acl_dev *d = acl_dev__valid(dev) ? acl_dev__get(env, dev) : 0;

	/* more references seen to be taken than given back: not the last one */
	if (d && d->refs > 1) {
		__sync_fetch_and_add(&d->refs, -1);
		return;
	}
	if (d)
		d->refs = 0;
	acl_proc__settle(env, dev, f->pos);
}

/*
 * The copies of a batch.  They are many, so they are entered when the call has
 * succeeded, at the position of its entry, and there is nothing to take back.
 */
#ifdef __BPF__
__attribute__((noinline)) int acl_batch__copy(__u32 i)
{
	struct acl_enter *in;
	struct acl_frame *f;
	struct acl_env env;

	if (!acl_env__resume(&env))
		return 0;
	f = acl_thread__frame(env.th, env.th->depth);
	env.pos = f->pos;
	in = &env.th->scratch.enter; /* the stack is short here */
	if (acl_batch__entry(&env, f, i, in)) {
		acl_loss(&env, ACL_L_FAULT);
		return 0;
	}
	acl_copy__submit(&env, f, in->args[0], in->args[3], in->args[2], in->args[3],
			 ACL_KIND_DEFAULT, f->args[5]);
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
	struct acl_event *e = acl_event__live(env, f->args[0]);
	struct acl_stream *s;

	if (!e)
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

/*
 * A context goes: its address, and the name of its default stream, may mean
 * another one from now on.
 */
ACL_FN void acl_enter__destroy_ctx(struct acl_env *env, struct acl_frame *f)
{
	const struct acl_ctx *c = acl_ctx__get(env, f->args[0]);
	const __u64 *name;

	if (!c)
		return;
	f->aux = c->token;
	f->starts = c->dev;
	f->made = 1;
	name = acl_name__get(env, f->aux);
	f->obj = name ? *name : 0;
	acl_name__drop(env, f->aux);
	acl_ctx__drop(env, f->args[0]);
}

ACL_FN void acl_leave__destroy_ctx(struct acl_env *env, struct acl_frame *f, __s32 ret)
{
	__u64 id = f->obj;

	if (!ret || !f->made)
		return;
	/* it lives on, unless another one has its address by now */
	if (id)
		acl_name__add(env, f->aux, &id);
	if (!acl_ctx__get(env, f->args[0]))
		acl_ctx__learn(env, f->args[0], f->aux, f->starts);
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

#endif /* ACLGUARD_MACHINE_LEAVE_H */
