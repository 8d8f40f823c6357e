/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Host buffers: finding the one that contains an address, making and
 * forgetting them.
 */
#ifndef ACLGUARD_MACHINE_BUFFER_H
#define ACLGUARD_MACHINE_BUFFER_H

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
		if (b && addr - b->base < b->size) {
			if (!b->dying) {
				env->th->found = key;
				return;
			}
			env->th->leaving = key;
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
	th->leaving = 0;
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

ACL_OUTLINE void acl_buf__begins(struct acl_env *env, __u64 key, __u64 base)
{
	const struct acl_buf *b = acl_buf__get(env, key);

	if (b && b->base == base && b->dying <= ACL_FORSAKEN)
		env->th->found = key;
}

/* The live buffer that begins at an address. */
ACL_OUTLINE void acl_buf__find_base(struct acl_env *env, __u64 base)
{
	struct acl_proc *p = env->proc;

	env->th->found = 0;
	for (__u32 cls = ACL_CLASS_MIN; cls <= ACL_CLASS_MAX && !env->th->found; cls++)
		if (p->classes[cls])
			acl_buf__begins(env, acl_chunk(base, cls), base);
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

	if (acl_env__search(&env))
		acl_range__find(&env, addr);
	return 0;
}

/* Not static: so the verifier looks at it once, not wherever it is called. */
__attribute__((noinline)) int acl_buf__seek(__u64 addr)
{
	struct acl_env env;

	if (acl_env__search(&env))
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
	if (env->th->leaving) {
		/* handed out again before the return of its release was seen */
		old = acl_buf__get(env, env->th->leaving);
		if (old)
			acl_buf__remove(env, env->th->leaving, old->id);
	}
	__builtin_memset(b, 0, sizeof(*b));
	b->id = acl_new_id(env);
	b->born = f->pos;
	b->base = base;
	b->size = size;
	b->tid = env->tid;
	b->call = f->call;
	b->site = env->th->site;
	b->stack = env->th->stack;
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

#endif /* ACLGUARD_MACHINE_BUFFER_H */
