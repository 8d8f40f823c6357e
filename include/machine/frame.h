/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Pairing entries with returns: the calls in progress on a thread. */
#ifndef ACLGUARD_MACHINE_FRAME_H
#define ACLGUARD_MACHINE_FRAME_H

ACL_FN void acl_thread__reset(struct acl_thread *th, __u64 inc)
{
	__builtin_memset(th, 0, offsetof(struct acl_thread, f));
	th->inc = inc;
	th->dev = -1;
}

/* What a call was about to end may be ended by another one. */
ACL_FN void acl_frame__forsake(struct acl_env *env, const struct acl_frame *f)
{
	struct acl_event *e;
	struct acl_buf *b;

	if (!f->obj)
		return;
	if (f->call == ACL_C_aclrtDestroyEvent) {
		e = acl_event__same(env, f->args[0], f->obj);
		if (e)
			e->dying = ACL_FORSAKEN;
	} else if (f->call == ACL_C_aclrtFreeHost || f->call == ACL_C_aclrtFreeHostWithDevSync ||
		   f->call == ACL_C_aclrtHostUnregister) {
		b = acl_buf__get(env, f->aux);
		if (b && b->id == f->obj)
			b->dying = ACL_FORSAKEN;
	}
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
	acl_frame__forsake(env, f);
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
	th->done_jumps = 0;
	if (th->depth) {
		f = acl_thread__frame(th, th->depth - 1);
		if (f->sp == in->sp && !th->after_entry) {
			/* left by longjmp to the very same depth */
			acl_thread__unwind(env, in->sp + 1);
		} else if (f->call == in->call && f->args[0] == in->args[0]) {
			if (f->sp == in->sp)
				f->jumps++;
			else
				f->calls++;
			return ACL_PUSH_FOLDED;
		} else if (th->depth == ACL_NEST_MAX && f->sp == in->sp) {
			/* no chain of jumps is that long: their returns were lost */
			acl_thread__unwind(env, in->sp + 1);
		}
	}
	if (th->depth >= ACL_NEST_MAX) {
		th->too_deep++;
		return ACL_PUSH_TOO_DEEP;
	}
	th->too_deep = 0;
	f = acl_thread__frame(th, th->depth);
	th->depth++;
	th->after_entry = 1;
	th->site = 0;
	th->stack = 0;
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
	f->jumps = 0;
	f->calls = 0;
	f->rule = 0;
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
		th->done_jumps = f->jumps;
		return ACL_POP_FRAME;
	}
	/* the outer ends of jumps, or the inner end of a call, through two definitions */
	if (th->done_jumps && th->done_sp == sp) {
		th->done_jumps--;
		return ACL_POP_FOLDED;
	}
	if (th->depth == ACL_NEST_MAX && th->too_deep) {
		th->too_deep--; /* counted at its entry */
		return ACL_POP_FOLDED;
	}
	if (th->depth && f->calls) {
		f->calls--;
		return ACL_POP_FOLDED;
	}
	return ACL_POP_NONE;
}

#endif /* ACLGUARD_MACHINE_FRAME_H */
