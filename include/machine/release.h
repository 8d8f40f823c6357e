/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Releases of buffers from entry to return, and uses of what is dead. */
#ifndef ACLGUARD_MACHINE_RELEASE_H
#define ACLGUARD_MACHINE_RELEASE_H

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

#endif /* ACLGUARD_MACHINE_RELEASE_H */
