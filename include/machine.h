/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state machine: what each call of the runtime means for the state of its
 * process.  The same lines run in the kernel on BPF maps and natively on the
 * user-space store; the includer provides the store, which is
 *
 *   struct acl_T *acl_T__get(env, id)      look up, NULL if absent
 *   int acl_T__put(env, id, val)           insert or replace
 *   int acl_T__add(env, id, val)           insert, -EEXIST if present
 *   void acl_T__drop(env, id)              remove
 *       for T in buf, copies, event, seen, stream, inherits, name (__u64),
 *       ctx, desc, dead, range (struct acl_dead), grave (__u64), dev
 *   int acl_batch__entry(env, f, i, struct acl_enter *)   args 0, 2, 3 of the
 *                                          i-th copy of a batch: dst, src, len
 *   int acl_lock(env, id)                  0, or -EBUSY after a bounded wait
 *   void acl_unlock(env, id)
 *   __u64 acl_new_id(env)
 *   void acl_loss(env, enum acl_loss)      count, for the process and in all
 *   const volatile struct acl_cfg *acl_cfg(env)
 *   __u64 acl_complete(env)                position since which the process's
 *                                          probes are complete
 *   void acl_verdict__count(env, rule, level, evidence, int refused)   made; or, one that
 *                                          was made before: the runtime refused the call
 *   struct acl_violation *acl_violation__begin(env)   zeroed but for the stack
 *   void acl_violation__end(env, v)        send it
 *   void acl_sequel__send(env, type, id, call, pos, ret)
 *
 * Pointers from a get stay valid until the object is dropped; an object is
 * dropped or replaced only under its lock, and whoever holds the lock checks
 * the id again.  No two locks are ever held at once.
 *
 * The order of things, from which most of the code follows: what a call does
 * to the device counts from its entry and is taken back if the call fails;
 * what it tells the host counts from its return.  Releases and destroys
 * remove at entry and put back at a failing return, since the address may be
 * handed out again before the return is seen.
 */
#ifndef ACLGUARD_MACHINE_H
#define ACLGUARD_MACHINE_H

#include "records.h"
#include "verdict.h"

struct acl_env {
	__u64 pos;   /* of the entry or return being handled */
	__u64 asked; /* at the return of a stream query: its entry */
	__u64 inc;
	__u32 tgid;
	__u32 tid;
	struct acl_proc *proc;
	struct acl_thread *th;
	void *ctx; /* the store's own */
};

#include ACL_STORE_H

#ifdef __BPF__
#define ACL_OUTLINE static __attribute__((noinline))
#else
#define ACL_OUTLINE static __attribute__((unused))
#endif

/* each stands on those before it */
#include "machine/base.h"
#include "machine/stream.h"
#include "machine/grave.h"
#include "machine/buffer.h"
#include "machine/copy.h"
#include "machine/event.h"
#include "machine/judge.h"
#include "machine/release.h"
#include "machine/enter.h"
#include "machine/leave.h"
#include "machine/frame.h"

/* The part of an entry that the role decides. */
ACL_FN void acl_machine__enter(struct acl_env *env, struct acl_frame *f, enum acl_role role)
{
	/* any call on an event ends what a poll before it had to say */
	if (role >= ACL_R_EV_CREATE && role <= ACL_R_EV_WAIT)
		env->th->poll_pos = 0;
	switch (role) {
	case ACL_R_FREE:
	case ACL_R_FREE_SYNC:
	case ACL_R_UNREGISTER:
		acl_free__enter(env, f, role);
		break;
	case ACL_R_EV_DESTROY:
		acl_enter__destroy_event(env, f);
		break;
	case ACL_R_EV_RECORD:
		acl_enter__record(env, f, f->args[2]);
		break;
	case ACL_R_EV_RESET:
		acl_enter__reset(env, f);
		break;
	case ACL_R_EV_QUERY_STATUS:
	case ACL_R_EV_QUERY:
	case ACL_R_EV_SYNC:
		acl_enter__query(env, f);
		break;
	case ACL_R_EV_WAIT:
		acl_enter__wait(env, f);
		break;
	case ACL_R_ST_SYNC:
	case ACL_R_ST_QUERY:
		acl_enter__stream(env, f);
		break;
	case ACL_R_ST_DESTROY:
	case ACL_R_ST_DESTROY_FORCE:
		acl_enter__destroy_stream(env, f);
		break;
	case ACL_R_COPY:
	case ACL_R_COPY_2D:
		acl_copy__submit(env, f, f->args[0], f->args[1], f->args[2], f->args[3], f->args[4],
				 f->args[5]);
		break;
	case ACL_R_COPY_DESC:
		acl_enter__desc(env, f);
		break;
	case ACL_R_CAPTURE_END:
		acl_enter__capture_end(env, f);
		break;
	case ACL_R_CTX_DESTROY:
		acl_enter__destroy_ctx(env, f);
		break;
	case ACL_R_WAY:
		acl_enter__way(env, f);
		break;
	case ACL_R_COPY_OFFSET:
		acl_loss(env, ACL_L_UNSEEN_COPY);
		break;
	default:
		break;
	}
}

ACL_FN void acl_machine__leave(struct acl_env *env, struct acl_frame *f, enum acl_role role,
			       const struct acl_leave *out)
{
	__s32 ret = out->ret;

	env->th->site = out->site;
	env->th->stack = out->stack;
	switch (role) {
	case ACL_R_MALLOC:
		if (!ret && out->out_ok)
			acl_buf__make(env, f, out->out, f->args[1]);
		break;
	case ACL_R_REGISTER:
		if (!ret && !acl_buf__at(env, f->args[0]))
			acl_buf__make(env, f, f->args[0], f->args[1]);
		break;
	case ACL_R_FREE_SYNC:
		if (!ret)
			acl_proc__settle(env, env->th->dev, f->pos);
		acl_free__leave(env, f, ret, 1);
		break;
	case ACL_R_FREE:
	case ACL_R_UNREGISTER:
		acl_free__leave(env, f, ret, role == ACL_R_FREE);
		break;
	case ACL_R_EV_CREATE:
		if (!ret && out->out_ok)
			acl_event__make(env, out->out, f->pos, f->call, f->args[1]);
		break;
	case ACL_R_EV_IPC_OPEN:
		if (!ret && out->out_ok)
			acl_event__make(env, out->out, f->pos, f->call, ACL_EVENT_IPC);
		break;
	case ACL_R_EV_DESTROY:
		acl_leave__destroy_event(env, f, ret);
		break;
	case ACL_R_EV_RECORD:
	case ACL_R_EV_RESET:
		acl_leave__record(env, f, ret, role == ACL_R_EV_RECORD);
		break;
	case ACL_R_EV_QUERY_STATUS:
		env->th->poll_pos = !ret && (__u32)out->out == 1 ? f->pos : 0;
		env->th->poll_event = f->args[0];
		env->th->poll_stack = out->stack;
		acl_leave__query(env, f, ret, out->out_ok && (__u32)out->out == 1,
				 ACL_LEARN_POLLED);
		break;
	case ACL_R_EV_QUERY:
		acl_leave__query(env, f, ret, out->out_ok && (__u32)out->out == 0,
				 ACL_LEARN_SETTLED);
		break;
	case ACL_R_EV_SYNC:
		acl_event__used_dead(env, f, f->args[0], ACL_RULE_EVENT_USE_AFTER_DESTROY, ret);
		if (!ret)
			acl_event__complete(env, f, ACL_LEARN_WAITED);
		break;
	case ACL_R_EV_WAIT:
		acl_leave__wait(env, f, ret);
		break;
	case ACL_R_ST_CREATE:
		if (!ret && out->out_ok)
			acl_leave__create_stream(env, f, out->out);
		break;
	case ACL_R_ST_SYNC:
		if (!ret) {
			env->th->poll_pos = 0; /* that is the remedy, whatever came before */
			acl_leave__stream(env, f, ACL_LEARN_SETTLED, ACL_LEARN_WAITED);
		}
		break;
	case ACL_R_ST_QUERY:
		if (!ret && out->out_ok && (__u32)out->out == 0) {
			env->asked = f->pos;
			acl_leave__stream(env, f, ACL_LEARN_QUERIED, ACL_LEARN_QUERIED);
		}
		break;
	case ACL_R_ST_DESTROY:
	case ACL_R_ST_DESTROY_FORCE:
		acl_leave__destroy_stream(env, f, ret, role == ACL_R_ST_DESTROY_FORCE);
		break;
	case ACL_R_ST_DEFAULT:
		if (!ret && out->out_ok)
			acl_leave__default_stream(env, out->out);
		break;
	case ACL_R_DEV_SET:
		if (!ret)
			acl_leave__set_device(env, f->args[0]);
		break;
	case ACL_R_DEV_RESET:
		if (!ret)
			acl_leave__reset_device(env, f, f->args[0]);
		break;
	case ACL_R_DEV_RESET_FORCE:
		if (!ret) {
			struct acl_dev *d = acl_dev__get(env, (__s32)f->args[0]);

			if (d)
				d->refs = 0;
			acl_proc__settle(env, f->args[0], f->pos);
		}
		break;
	case ACL_R_DEV_SYNC:
		if (!ret) {
			env->th->poll_pos = 0;
			acl_proc__settle(env, env->th->ctx ? env->th->dev : -1, f->pos);
		}
		break;
	case ACL_R_CTX_CREATE:
		if (!ret && out->out_ok) {
			acl_name__drop(env, acl_token__ctx(out->out)); /* another one's */
			acl_ctx__learn(env, out->out, acl_token__ctx(out->out), f->args[1]);
			acl_ctx__enter(env, out->out);
		}
		break;
	case ACL_R_CTX_DESTROY:
		acl_leave__destroy_ctx(env, f, ret);
		break;
	case ACL_R_CTX_SET:
		if (!ret)
			acl_ctx__enter(env, f->args[0]);
		break;
	case ACL_R_CTX_GET:
		if (!ret && out->out_ok)
			acl_leave__get_ctx(env, out->out);
		break;
	case ACL_R_COPY:
	case ACL_R_COPY_2D:
	case ACL_R_COPY_DESC:
		if (ret || env->th->stack) {
			acl_copy__leave(env, f, 1, ret);
			acl_copy__leave(env, f, 0, ret);
		}
		if (!ret)
			acl_copy__used_dead(env, f);
		break;
	case ACL_R_COPY_BATCH:
		if (!ret)
			acl_leave__batch(env, f);
		break;
	case ACL_R_EV_IPC_EXPORT:
		if (!ret)
			acl_leave__export(env, f);
		break;
	case ACL_R_COPY_DESC_SET:
		if (!ret) {
			struct acl_desc *d = &env->th->scratch.desc;

			d->src = f->args[2];
			d->dst = f->args[3];
			d->len = f->args[4];
			d->kind = f->args[1];
			d->_pad = 0;
			if (acl_desc__put(env, f->args[0], d))
				acl_loss(env, ACL_L_OTHER_FULL);
		}
		break;
	case ACL_R_WAY:
		if (ret)
			acl_leave__way(env, f);
		break;
	case ACL_R_CAPTURE_BEGIN:
		acl_leave__capture(env, f, ret, 1);
		break;
	case ACL_R_CAPTURE_END:
		acl_leave__capture(env, f, ret, 0);
		break;
	default:
		break;
	}
}

#endif /* ACLGUARD_MACHINE_H */
