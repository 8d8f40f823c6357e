/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Small helpers of the state machine, the names of default streams, and what
 * belongs to the process as a whole: counters and what its devices settled.
 */
#ifndef ACLGUARD_MACHINE_BASE_H
#define ACLGUARD_MACHINE_BASE_H

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

/* That of a valid number, filed if it was not yet; NULL where there is no room. */
ACL_FN struct acl_dev *acl_dev__of(struct acl_env *env, __s32 dev)
{
	struct acl_dev *d = acl_dev__get(env, dev);
	struct acl_dev fresh = { .settled = 0 };

	if (d)
		return d;
	acl_dev__add(env, dev, &fresh); /* unless another thread was faster */
	d = acl_dev__get(env, dev);
	if (!d) {
		acl_loss(env, ACL_L_OTHER_FULL);
		env->proc->suspect[ACL_S_FULL] = 1;
	}
	return d;
}

ACL_OUTLINE void acl_proc__settle(struct acl_env *env, __s32 dev, __u64 pos)
{
	struct acl_proc *p = env->proc;
	struct acl_dev *d;

	if (acl_lock(env, env->inc)) {
		/* a lost settlement could accuse falsely */
		acl_loss(env, ACL_L_CONTENDED);
		p->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (!acl_dev__valid(dev)) {
		acl_raise(p->settled_all, pos);
	} else {
		d = acl_dev__of(env, dev);
		if (d)
			acl_raise(d->settled, pos);
	}
	acl_raise(p->settled_any, pos);
	acl_unlock(env, env->inc);
}

/* How far the device of a stream is settled; any device may be an unknown one. */
ACL_FN __u64 acl_proc__settled(struct acl_env *env, __s32 dev)
{
	const struct acl_proc *p = env->proc;
	const struct acl_dev *d;
	__u64 pos = p->settled_all;

	if (pos == p->settled_any)
		return pos; /* no device is further */
	if (!acl_dev__valid(dev))
		return p->settled_any;
	d = acl_dev__get(env, dev);
	if (d)
		acl_raise(pos, d->settled);
	return pos;
}

#endif /* ACLGUARD_MACHINE_BASE_H */
