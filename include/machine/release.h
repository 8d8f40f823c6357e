/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Releases of buffers from entry to return, and uses of what is dead. */
#ifndef ACLGUARD_MACHINE_RELEASE_H
#define ACLGUARD_MACHINE_RELEASE_H

ACL_FN int acl_buf__is_registered(const struct acl_buf *b)
{
	return b->call == ACL_C_aclrtHostRegister || b->call == ACL_C_aclrtHostRegisterV2;
}

/* A buffer that was released, or is being released by another thread, is known. */
ACL_FN __u64 acl_free__unknown(struct acl_env *env, struct acl_frame *f)
{
	if (acl_dead__of(env, ACL_GRAVE_BUF, f->args[0]))
		return 0;
	acl_buf__seek(f->args[0]);
	return env->th->leaving ? 0 : acl_unknown__judge(env, f);
}

ACL_FN void acl_free__enter(struct acl_env *env, struct acl_frame *f, enum acl_role role)
{
	struct acl_buf *b = acl_buf__exact(env, f->args[0]);
	int locked;

	if (b && role == ACL_R_UNREGISTER && !acl_buf__is_registered(b))
		return; /* memory of aclrtMallocHost: what is undone was nothing to us */
	if (!b) {
		if (role == ACL_R_FREE && env->proc->late)
			f->verdict = acl_free__unknown(env, f);
		return;
	}
	locked = !acl_lock(env, b->id);
	if (!locked) {
		acl_loss(env, ACL_L_CONTENDED);
		b->suspect[ACL_S_RACED] = 1;
	}
	f->obj = b->id;
	f->aux = acl_buf__key(b);
	f->verdict = acl_buf__judge(env, f, b, role == ACL_R_FREE_SYNC);
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
	const struct acl_verdict said = {
		.rule = ACL_RULE_FREE_FAILED,
		.level = ACL_LEVEL_ERROR,
		.evidence = ACL_EV_CONFIRMED,
		.hazard = acl_verdict__hazard(ACL_RULE_FREE_FAILED, -1),
	};
	struct acl_violation *v;

	if (!acl_rule__wanted(env, said.rule, ACL_LEVEL_ERROR))
		return;
	v = acl_report__begin(env, f, &said);
	if (!v)
		return;
	if (b)
		acl_violation__buf(v, b);
	v->ret = ret;
	acl_violation__end(env, v);
}

/* ---- uses of the dead --------------------------------------------------- */

/*
 * A call on something that is no more: wrong if the runtime refused it.  If
 * it did not, a creation was missed.
 */
ACL_OUTLINE int acl_dead__used(struct acl_env *env, const struct acl_frame *f, __u64 key,
			       enum acl_rule rule, __s32 ret)
{
	const struct acl_verdict said = {
		.rule = rule,
		.level = acl_verdict__level(rule, 0, 0, 0, 0),
		.evidence = ACL_EV_CONFIRMED,
		.hazard = acl_verdict__hazard(rule, -1),
	};
	struct acl_dead *d = acl_dead__get(env, key);
	struct acl_violation *v;

	if (!d || d->alive)
		return 0;
	/* it ended only after this call was entered: no matter of this call */
	if (d->pos >= f->pos)
		return !ret;
	if (!ret) {
		acl_loss(env, ACL_L_MISSED_CREATE);
		/* in use again, unless this very call ended it again */
		if (rule == ACL_RULE_EVENT_USE_AFTER_DESTROY)
			d->alive = 1;
		else
			d->pos = f->pos;
		return 1;
	}
	if (!acl_rule__wanted(env, rule, ACL_LEVEL_ERROR))
		return 1;
	v = acl_report__begin(env, f, &said);
	if (!v)
		return 1;
	v->ptr = d->base;
	v->ret = ret;
	v->ended.id = d->id;
	v->ended.size = d->size;
	v->ended.pos = d->pos;
	v->ended.tid = d->tid;
	v->ended.stack = d->stack;
	acl_violation__end(env, v);
	return 1;
}

/* Whether the event was dead; only of one that was not known at the entry. */
ACL_FN int acl_event__used_dead(struct acl_env *env, const struct acl_frame *f, __u64 handle,
				enum acl_rule rule, __s32 ret)
{
	if (f->obj && !f->made)
		return 0;
	return acl_dead__used(env, f, acl_grave__key(ACL_GRAVE_EVENT, handle), rule, ret);
}

/* A copy that succeeded lay in a range that was released before. */
ACL_OUTLINE void acl_copy__used_dead(struct acl_env *env, struct acl_frame *f)
{
	const struct acl_dead *d = f->dead ? acl_range__get(env, f->aux) : 0;
	const struct acl_copy *c = &f->undo.copy[acl_index(f->obj, 1)].prev;
	struct acl_verdict said = {
		.rule = ACL_RULE_COPY_AFTER_FREE,
		.level = acl_verdict__level(ACL_RULE_COPY_AFTER_FREE, 0, 0, 0, 0),
		.hazard = acl_verdict__hazard(ACL_RULE_COPY_AFTER_FREE, -1),
	};
	const struct acl_stream *s;
	struct acl_violation *v;

	/* a batch is looked at when it returns, but was entered before */
	if (!d || c->pos <= d->pos || !acl_rule__wanted(env, said.rule, ACL_LEVEL_ERROR))
		return;
	/* what was lost since the release may have been the next allocation */
	said.suspects = d->suspects |
			(acl_suspect__mask(env->proc->suspect) & ~(1U << ACL_S_CONTEXT));
	said.evidence = acl_verdict__evidence(said.suspects);
	s = acl_stream__get(env, c->stream);
	v = acl_report__begin(env, f, &said);
	if (!v)
		return;
	v->ptr = c->addr;
	v->copy = *c;
	v->copy.stack = env->th->stack;
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
	v->ended.stack = d->stack;
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
		.suspects = acl_suspects__of(env, b),
		.stack = env->th->stack,
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
	if (ret && f->rule)
		acl_verdict__count(env, f->rule, f->level, f->evidence, 1);
	if (f->verdict)
		acl_sequel__send(env, ACL_REC_RELEASED, f->verdict, f->call, f->pos, ret);
	if (!f->obj && is_free &&
	    acl_dead__used(env, f, acl_grave__key(ACL_GRAVE_BUF, f->args[0]), ACL_RULE_DOUBLE_FREE,
			   ret))
		return;
	if (ret) {
		if (b)
			b->dying = 0;
		if (!f->rule && (b || (is_free && acl_ret__is_runtime_error(ret))))
			acl_free__failed(env, f, b, ret);
	} else if (b) {
		acl_free__done(env, f, b, is_free);
	} else if (!f->obj && is_free && f->args[0]) {
		/* of a buffer that was not known: its size is not either */
		acl_dead__bury_unknown(env, f->args[0], f->pos, ACL_GRAVE_BUF);
	}
}

#endif /* ACLGUARD_MACHINE_RELEASE_H */
