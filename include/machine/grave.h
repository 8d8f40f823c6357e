/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is no more: released buffers and destroyed events, to recognise a later
 * use of them.
 */
#ifndef ACLGUARD_MACHINE_GRAVE_H
#define ACLGUARD_MACHINE_GRAVE_H

/* Keys of the dead and of their graves: no address has its top byte set. */
ACL_FN __u64 acl_grave__key(enum acl_grave kind, __u64 handle)
{
	return ((__u64)kind << 56) | (handle & ~ACL_TOKEN_MASK);
}

/*
 * The range of somebody who lies under the same address is given up, unless
 * the newer one is filed in its place anyhow.
 */
ACL_FN void acl_dead__forget_range(struct acl_env *env, const struct acl_dead *older,
				   const struct acl_dead *newer)
{
	const struct acl_dead *r;

	if (!older || !older->range)
		return;
	if (older->size > newer->size)
		acl_loss(env, ACL_L_EVICTED);
	if (older->range == newer->range)
		return;
	r = acl_range__get(env, older->range);
	if (r && r->id == older->id)
		acl_range__drop(env, older->range);
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
	acl_dead__forget_range(env, acl_dead__get(env, key), d);
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

/* What was ended had not been seen created. */
ACL_FN void acl_dead__bury_unknown(struct acl_env *env, __u64 handle, __u64 pos, __u32 kind)
{
	struct acl_dead d = {
		.id = acl_new_id(env),
		.base = handle,
		.pos = pos,
		.tid = env->tid,
		.suspects = 1U << ACL_S_LATE,
	};

	acl_dead__bury(env, &d, kind);
}

/* The handle is in use again.  The range that was released stays one. */
ACL_FN void acl_dead__revive(struct acl_env *env, enum acl_grave kind, __u64 handle)
{
	struct acl_dead *d = acl_dead__get(env, acl_grave__key(kind, handle));

	if (d)
		d->alive = 1;
}

ACL_FN struct acl_dead *acl_dead__of(struct acl_env *env, enum acl_grave kind, __u64 handle)
{
	struct acl_dead *d = acl_dead__get(env, acl_grave__key(kind, handle));

	return d && !d->alive ? d : 0;
}

#endif /* ACLGUARD_MACHINE_GRAVE_H */
