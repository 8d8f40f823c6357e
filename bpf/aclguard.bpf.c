/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probes: one program an entry, made from the table of functions, one for
 * all returns, and the few that follow processes.  They fetch arguments and
 * outputs and hand them to the state machine; nothing is decided here.
 *
 * Only struct pt_regs is known of the kernel, whose layout is ABI.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define ACL_STORE_H "store.bpf.h"
#include "machine.h"

char LICENSE[] SEC("license") = "GPL";

/* For kernels with uprobe_multi: which entry program a cookie stands for. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, ACL_C_MAX);
	__type(key, __u32);
	__type(value, __u32);
} entries SEC(".maps");

/*
 * Since Linux 6.13 a program may get a stack per CPU, which takes for granted that
 * it is not entered again there before it has ended.  At a uprobe it can be, after
 * a preemption: threads would work on each other's state, and the kernel on wild
 * pointers.  A program in which there is a tail call, if only a dead one, keeps the
 * stack of the thread.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} nowhere SEC(".maps");

const volatile __u8 never = 0;

#define ACL_OWN_STACK(ctx)                               \
	do {                                             \
		if (never)                               \
			bpf_tail_call(ctx, &nowhere, 0); \
	} while (0)

/* ---- who is asking ----------------------------------------------------- */

/* Zeroed ones to copy from; too large for a memset. */
static const struct acl_proc no_proc;
static const struct acl_thread no_thread;

ACL_FN struct acl_proc *acl_proc__insert(__u32 tgid, struct acl_proc *born)
{
	struct acl_gone *g = bpf_ringbuf_reserve(&life, sizeof(*g), 0);
	struct acl_proc *p;

	if (!g) {
		acl_loss__count(ACL_L_PROC_FULL);
		return 0;
	}
	bpf_probe_read_kernel(&g->proc, sizeof(g->proc), born);
	acl_head__fill(&g->h, ACL_REC_PROC, born->inc, born->born);
	if (bpf_map_update_elem(&procs, &tgid, born, BPF_NOEXIST)) {
		bpf_ringbuf_discard(g, 0);
		p = bpf_map_lookup_elem(&procs, &tgid);
		if (!p)
			acl_loss__count(ACL_L_PROC_FULL);
		return p;
	}
	bpf_ringbuf_submit(g, BPF_RB_FORCE_WAKEUP);
	return bpf_map_lookup_elem(&procs, &tgid);
}

static __attribute__((noinline)) struct acl_proc *acl_proc__begin(__u32 tgid)
{
	struct acl_target *t = bpf_map_lookup_elem(&targets, &tgid);
	struct acl_proc *born, *p;
	__u32 tid;

	if (t ? t->out : !cfg.all)
		return 0;
	if (tgid == cfg.self)
		return 0;
	/* too large for the stack; and Linux 5.10 takes no value for a map out of a ring */
	tid = (__u32)bpf_get_current_pid_tgid();
	bpf_map_update_elem(&newborn, &tid, &no_proc, BPF_ANY);
	born = bpf_map_lookup_elem(&newborn, &tid);
	if (!born) {
		acl_loss__count(ACL_L_PROC_FULL);
		return 0;
	}
	born->inc = acl_new_id(0);
	born->born = bpf_ktime_get_ns();
	born->tgid = tgid;
	born->uid = (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(born->comm, sizeof(born->comm));
	born->late = t ? t->late : 1;
	p = acl_proc__insert(tgid, born);
	bpf_map_delete_elem(&newborn, &tid);
	return p;
}

static __attribute__((noinline)) struct acl_thread *acl_thread__begin(__u32 tid)
{
	bpf_map_update_elem(&threads, &tid, &no_thread, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &tid);
}

/* Who calls; 0 where it is nobody we watch or know how to keep. */
ACL_OUTLINE int acl_env__begin(struct acl_env *env, void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();

	env->tgid = id >> 32;
	env->tid = (__u32)id;
	env->ctx = ctx;
	env->proc = bpf_map_lookup_elem(&procs, &env->tgid);
	if (!env->proc)
		env->proc = acl_proc__begin(env->tgid);
	if (!env->proc)
		return 0;
	env->inc = env->proc->inc;
	env->th = bpf_map_lookup_elem(&threads, &env->tid);
	if (!env->th)
		env->th = acl_thread__begin(env->tid);
	if (!env->th) {
		acl_loss(env, ACL_L_THREAD_FULL);
		env->proc->suspect[ACL_S_LOST] = 1;
		return 0;
	}
	if (env->th->inc != env->inc)
		acl_thread__reset(env->th, env->inc);
	env->pos = bpf_ktime_get_ns();
	return 1;
}

/* ---- entries ----------------------------------------------------------- */

/* Offset of stack argument `i` (from 0) at a function's first instruction. */
#if defined(__TARGET_ARCH_x86)
#define ACL_STACK_ARG(i) (8 + 8 * (i))
#endif

ACL_FN void acl_args__2d(struct pt_regs *ctx, struct acl_enter *in)
{
	__u64 rows = in->args[5], width = in->args[4];
	__u64 dst_len, src_len, kind = 0, stream = 0;

#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&kind, sizeof(kind), (void *)(PT_REGS_SP(ctx) + ACL_STACK_ARG(0)));
	bpf_probe_read_user(&stream, sizeof(stream), (void *)(PT_REGS_SP(ctx) + ACL_STACK_ARG(1)));
#else
	kind = PT_REGS_PARM7(ctx);
	stream = PT_REGS_PARM8(ctx);
#endif
	dst_len = rows && width ? in->args[1] * (rows - 1) + width : 0;
	src_len = rows && width ? in->args[3] * (rows - 1) + width : 0;
	in->args[1] = dst_len;
	in->args[3] = src_len;
	in->args[4] = (__u32)kind;
	in->args[5] = stream;
}

/* Argument `i`, from 0, of those that are on the stack on both machines. */
ACL_FN __u64 acl_args__stacked(struct pt_regs *ctx, int i)
{
	__u64 val = 0;

#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&val, sizeof(val), (void *)(PT_REGS_SP(ctx) + ACL_STACK_ARG(i - 6)));
#else
	bpf_probe_read_user(&val, sizeof(val), (void *)(PT_REGS_SP(ctx) + 8 * (i - 8)));
#endif
	return val;
}

/* Brings the arguments into the order that machine.h expects of the role. */
ACL_FN void acl_args__fetch(struct pt_regs *ctx, struct acl_enter *in, enum acl_call call,
			    enum acl_role role, const char *letters)
{
	int n = __builtin_strlen(letters);

	in->args[0] = n > 0 ? PT_REGS_PARM1(ctx) : 0;
	in->args[1] = n > 1 ? PT_REGS_PARM2(ctx) : 0;
	in->args[2] = n > 2 ? PT_REGS_PARM3(ctx) : 0;
	in->args[3] = n > 3 ? PT_REGS_PARM4(ctx) : 0;
	in->args[4] = n > 4 ? PT_REGS_PARM5(ctx) : 0;
#if defined(__TARGET_ARCH_x86)
	in->args[5] = n > 5 ? ctx->r9 : 0;
#else
	in->args[5] = n > 5 ? PT_REGS_PARM6(ctx) : 0;
#endif
	switch (role) {
	case ACL_R_EV_CREATE:
		if (call == ACL_C_aclrtCreateEvent)
			in->args[1] = ACL_EVENT_TIME_LINE; /* its default */
		break;
	case ACL_R_EV_IPC_OPEN:
#if !defined(__TARGET_ARCH_x86)
		/* the structure by value takes a register there, none on x86-64 */
		in->args[0] = in->args[1];
#endif
		break;
	case ACL_R_COPY:
		in->args[1] = in->args[3];
		in->args[4] = (__u32)in->args[4];
		break;
	case ACL_R_COPY_2D:
		acl_args__2d(ctx, in);
		break;
	case ACL_R_COPY_BATCH:
		/* the stream is the last one, behind failIndex where there is that */
		in->args[5] = acl_args__stacked(ctx, n - 1);
		break;
	case ACL_R_WAY:
		if (letters[1] == 's')
			in->args[0] = in->args[1];
		else if (letters[3] == 's')
			in->args[0] = in->args[3];
		break;
	case ACL_R_DEV_SET:
	case ACL_R_DEV_RESET:
	case ACL_R_DEV_RESET_FORCE:
		in->args[0] = (__s64)(__s32)in->args[0];
		break;
	case ACL_R_CTX_CREATE:
		in->args[1] = (__s64)(__s32)in->args[1];
		break;
	default:
		break;
	}
}

ACL_FN struct acl_calls *acl_calls__of(__u32 call)
{
	return bpf_map_lookup_elem(&calls, &call);
}

ACL_FN int acl_on_entry(struct pt_regs *ctx, enum acl_call call, enum acl_role role,
			const char *letters)
{
	struct acl_enter in = {};
	struct acl_calls *n;
	struct acl_env env;
	struct acl_frame *f;
	int push;

	ACL_OWN_STACK(ctx);
	if (!acl_env__begin(&env, ctx))
		return 0;
	n = acl_calls__of(call);
	if (!n)
		return 0;
	in.pos = env.pos;
	in.sp = PT_REGS_SP(ctx);
	in.call = call;
	acl_args__fetch(ctx, &in, call, role, letters);
	acl_trace__enter(&env, &in, ACL_REC_ENTER);
	push = acl_thread__push(&env, &in);
	if (push == ACL_PUSH_FOLDED) {
		__sync_fetch_and_add(&n->folded, 1);
		return 0;
	}
	__sync_fetch_and_add(&n->entered, 1);
	if (push == ACL_PUSH_TOO_DEEP) {
		acl_loss(&env, ACL_L_NESTED);
		env.proc->suspect[ACL_S_LOST] = 1;
		return 0;
	}
	f = acl_thread__frame(env.th, env.th->depth - 1);
	acl_machine__enter(&env, f, role);
	return 0;
}

#define ACL_ENTRY_PROGRAM(name, role, letters)                                 \
	SEC("uprobe")                                                          \
	int e_##name(struct pt_regs *ctx)                                      \
	{                                                                      \
		return acl_on_entry(ctx, ACL_C_##name, ACL_R_##role, letters); \
	}
ACL_CALLS(ACL_ENTRY_PROGRAM)

/* uprobe_multi: one link for all entries of a library, told apart by cookie. */
SEC("uprobe")
int multi_entry(struct pt_regs *ctx)
{
	bpf_tail_call(ctx, &entries, (__u32)bpf_get_attach_cookie(ctx));
	return 0;
}

/* ---- returns ----------------------------------------------------------- */

static const __u8 roles[ACL_C_MAX] = {
#define ACL_ROLE_OF(name, role, letters) [ACL_C_##name] = ACL_R_##role,
	ACL_CALLS(ACL_ROLE_OF)
};

/* Which argument is the output cell, and how wide it is; 0: there is none. */
ACL_FN int acl_out__cell(enum acl_role role, const struct acl_frame *f, __u64 *cell)
{
	switch (role) {
	case ACL_R_EV_QUERY_STATUS:
	case ACL_R_EV_QUERY:
	case ACL_R_ST_QUERY:
		*cell = f->args[1];
		return 4;
	case ACL_R_MALLOC:
	case ACL_R_EV_CREATE:
	case ACL_R_EV_IPC_OPEN:
	case ACL_R_ST_CREATE:
	case ACL_R_ST_DEFAULT:
	case ACL_R_CTX_CREATE:
	case ACL_R_CTX_GET:
		*cell = f->args[0];
		return 8;
	default:
		return 0;
	}
}

ACL_FN void acl_out__fetch(struct acl_env *env, enum acl_role role, const struct acl_frame *f,
			   struct acl_leave *out)
{
	__u64 cell = 0;
	__u32 word = 0;
	int width = acl_out__cell(role, f, &cell), err;

	out->out = 0;
	out->out_ok = 0;
	if (!width || out->ret)
		return;
	if (width == 4) {
		err = bpf_probe_read_user(&word, sizeof(word), (void *)cell);
		out->out = word;
	} else {
		err = bpf_probe_read_user(&out->out, sizeof(out->out), (void *)cell);
	}
	if (err)
		acl_loss(env, ACL_L_FAULT);
	else
		out->out_ok = 1;
}

/* Whether a report may want to show who made this call. */
ACL_FN int acl_stack__matters(enum acl_role role, const struct acl_leave *out)
{
	switch (role) {
	case ACL_R_MALLOC:
	case ACL_R_REGISTER:
	case ACL_R_FREE:
	case ACL_R_FREE_SYNC:
	case ACL_R_EV_CREATE:
	case ACL_R_EV_IPC_OPEN:
	case ACL_R_EV_RECORD:
	case ACL_R_EV_DESTROY:
	case ACL_R_COPY:
	case ACL_R_COPY_2D:
	case ACL_R_COPY_BATCH:
	case ACL_R_COPY_DESC:
		return 1;
	case ACL_R_EV_QUERY_STATUS:
		return out->out_ok && (__u32)out->out == 1; /* most do not say COMPLETE */
	case ACL_R_ST_QUERY:
		return out->out_ok && (__u32)out->out == 0;
	default:
		return 0;
	}
}

/*
 * Keeps the stack of a call that has returned, where the caller is never missing.  The
 * same stack is kept once; one whose place is another's is not kept, and counted.
 */
ACL_FN void acl_stack__keep(struct acl_env *env, enum acl_role role, struct acl_leave *out)
{
	long nr;

	out->stack = 0;
	if (!cfg.history || out->ret || !acl_stack__matters(role, out))
		return;
	nr = bpf_get_stackid(env->ctx, &stacks, BPF_F_USER_STACK);
	if (nr < 0)
		acl_loss(env, ACL_L_STACK);
	else
		out->stack = (__u32)nr + 1;
}

ACL_FN int acl_on_return(struct pt_regs *ctx)
{
	struct acl_leave out = {};
	struct acl_frame *f;
	struct acl_calls *n;
	struct acl_env env;
	__u32 call;
	int pop;
	__u8 role;

	ACL_OWN_STACK(ctx);
	if (!acl_env__begin(&env, ctx))
		return 0;
#if defined(__TARGET_ARCH_x86)
	out.sp = PT_REGS_SP(ctx) - 8; /* the return address has been popped */
#else
	out.sp = PT_REGS_SP(ctx);
#endif
	out.ret = (__s32)PT_REGS_RC(ctx);
	out.pos = env.pos;
	out.site = PT_REGS_IP(ctx);
	pop = acl_thread__pop(&env, out.sp);
	if (pop != ACL_POP_FRAME) {
		acl_trace__leave(&env, &out);
		if (pop == ACL_POP_NONE)
			acl_loss(&env, ACL_L_NO_ENTRY);
		return 0;
	}
	f = acl_thread__frame(env.th, env.th->depth);
	call = f->call;
	if (call >= ACL_C_MAX)
		return 0;
	role = roles[call];
	n = acl_calls__of(call);
	if (!n)
		return 0;
	__sync_fetch_and_add(&n->returned, 1);
	if (out.ret)
		acl_error__count(n, call, out.ret);
	acl_out__fetch(&env, role, f, &out);
	acl_stack__keep(&env, role, &out);
	if (role != ACL_R_COPY_BATCH)
		acl_trace__leave(&env, &out);
	acl_machine__leave(&env, f, role, &out);
	if (role == ACL_R_COPY_BATCH) /* after its copies */
		acl_trace__leave(&env, &out);
	return 0;
}

SEC("uretprobe")
int call_return(struct pt_regs *ctx)
{
	return acl_on_return(ctx);
}

/* ---- without return probes --------------------------------------------- */

/*
 * On x86-64, some kernels return from a probed function by a system call that a
 * seccomp filter may answer by killing the process.  There, only entries are
 * probed, and a call is taken as returned, with success, when its thread enters
 * the next one.  A cell on the stack that it filled in may have been used again by
 * then, so what it made is not known; what is said is suspected.
 */

#if defined(__TARGET_ARCH_x86)
#define ACL_RETURN_ADDRESS(ctx, addr) \
	bpf_probe_read_user(addr, sizeof(*(addr)), (void *)PT_REGS_SP(ctx))
#else
#define ACL_RETURN_ADDRESS(ctx, addr) (*(addr) = PT_REGS_RET(ctx), 0)
#endif

/* Whether the call in progress has not returned yet: it is this one's caller, or jumped to it. */
ACL_FN int acl_frame__goes_on(struct pt_regs *ctx, const struct acl_thread *th,
			      const struct acl_frame *f, __u32 call, __u64 ret)
{
	__u64 sp = PT_REGS_SP(ctx), slot = 0;

	if (sp > f->sp)
		return 0;
	if (sp == f->sp)
		return f->call == call && th->ret == ret && th->ip != PT_REGS_IP(ctx);
#if defined(__TARGET_ARCH_x86)
	/* whoever calls from there anew overwrites it */
	bpf_probe_read_user(&slot, sizeof(slot), (void *)f->sp);
	return slot == th->ret;
#else
	/* the frame that the call made for itself has it, if it is still there */
	struct {
		__u64 next, ret;
	} frame = { .next = PT_REGS_FP(ctx) };

	for (int i = 0; i < 8; i++) {
		if (frame.next >= f->sp ||
		    bpf_probe_read_user(&frame, sizeof(frame), (void *)frame.next))
			return slot != 0;
		if (frame.ret == th->ret)
			return 1;
	}
	return 0;
#endif
}

ACL_FN void acl_frame__end(struct acl_env *env)
{
	struct acl_frame *f;
	struct acl_leave out = {};
	struct acl_calls *n;
	__u32 call;
	__u8 role;

	env->th->depth = 0;
	env->th->after_entry = 0;
	f = acl_thread__frame(env->th, 0);
	call = f->call;
	if (call >= ACL_C_MAX)
		return;
	role = roles[call];
	n = acl_calls__of(call);
	if (!n)
		return;
	__sync_fetch_and_add(&n->returned, 1);
	out.sp = f->sp;
	out.pos = env->pos;
	out.site = env->th->ret;
	switch (role) {
	case ACL_R_COPY_BATCH: /* its arrays need not be there any more */
		acl_loss(env, ACL_L_UNSEEN_COPY);
		return;
	case ACL_R_MALLOC:
	case ACL_R_EV_CREATE:
	case ACL_R_EV_IPC_OPEN:
	case ACL_R_ST_CREATE:
	case ACL_R_ST_DEFAULT:
	case ACL_R_CTX_CREATE:
	case ACL_R_CTX_GET: /* nor need the cell; a poll's most often is */
		return;
	default:
		break;
	}
	acl_out__fetch(env, role, f, &out);
	acl_machine__leave(env, f, role, &out);
}

SEC("uprobe")
int deferred_entry(struct pt_regs *ctx)
{
	__u32 call = (__u32)bpf_get_attach_cookie(ctx);
	struct acl_calls *n;
	struct acl_env env;
	__u64 ret = 0;

	if (!acl_env__begin(&env, ctx))
		return 0;
	env.proc->suspect[ACL_S_RETURNS] = 1;
	env.proc->late = 1; /* what it makes is not known, as if it had been there before us */
	if (ACL_RETURN_ADDRESS(ctx, &ret))
		ret = 0;
	if (env.th->depth) {
		if (acl_frame__goes_on(ctx, env.th, acl_thread__frame(env.th, 0), call, ret)) {
			n = acl_calls__of(call);
			if (n)
				__sync_fetch_and_add(&n->folded, 1);
			return 0;
		}
		acl_frame__end(&env);
	}
	env.th->ip = PT_REGS_IP(ctx);
	env.th->ret = ret;
	bpf_tail_call(ctx, &entries, call);
	return 0;
}

/* ---- processes --------------------------------------------------------- */

/*
 * A watched process is gone: its last numbers go up, its key is free.  Where there is
 * no room and `may_stay`, user space will come for them when its pidfd tells.
 */
ACL_FN void acl_proc__end(enum acl_rec type, __u32 tgid, int may_stay)
{
	struct acl_proc *p = bpf_map_lookup_elem(&procs, &tgid);
	struct acl_gone *g = bpf_ringbuf_reserve(&life, sizeof(*g), 0);

	if (!g) {
		if (may_stay)
			return;
		acl_loss__count(ACL_L_LOG_FULL);
	} else {
		acl_head__fill(&g->h, type, p ? p->inc : 0, bpf_ktime_get_ns());
		if (p)
			bpf_probe_read_kernel(&g->proc, sizeof(g->proc), p);
		bpf_ringbuf_submit(g, BPF_RB_FORCE_WAKEUP);
	}
	if (p)
		bpf_map_delete_elem(&procs, &tgid);
}

/* Whether its end is of interest: where all are in scope, only that of one that has called. */
ACL_FN int acl_proc__is_told(__u32 tgid, const struct acl_target *t)
{
	return (t && !cfg.all) || bpf_map_lookup_elem(&procs, &tgid);
}

SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct acl_target *t = bpf_map_lookup_elem(&targets, &tgid);
	const struct acl_target fresh = {};

	if (acl_proc__is_told(tgid, t))
		acl_proc__end(ACL_REC_EXEC, tgid, 0);
	/* all that the new program does can be seen */
	if (t) {
		t->late = 0;
		t->complete = 0;
		t->known = 0;
		t->out = 0;
	} else if (cfg.all && bpf_map_update_elem(&targets, &tgid, &fresh, BPF_ANY)) {
		acl_loss__count(ACL_L_PROC_FULL);
	}
	return 0;
}

ACL_FN void on_thread_exit(struct acl_env *env)
{
	struct acl_head *h;

	if (!cfg.record)
		return;
	h = bpf_ringbuf_reserve(&trace, sizeof(*h), 0);
	if (!h) {
		acl_loss(env, ACL_L_LOG_FULL);
		return;
	}
	acl_head__fill(h, ACL_REC_THREAD_EXIT, env->inc, bpf_ktime_get_ns());
	bpf_ringbuf_submit(h, BPF_RB_NO_WAKEUP);
}

/*
 * A thread exits.  Where the tracepoint tells that it was the last of its
 * group, the process ends here; elsewhere user space sees it by its pidfd.
 */
SEC("tp/sched/sched_process_exit")
int on_exit(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, tid = (__u32)id;
	struct acl_thread *th = bpf_map_lookup_elem(&threads, &tid);
	struct acl_env env;
	__u8 dead = 0;

	if (th) {
		env.tgid = tgid;
		env.tid = tid;
		env.th = th;
		env.proc = bpf_map_lookup_elem(&procs, &tgid);
		if (env.proc && env.proc->inc == th->inc) {
			env.inc = env.proc->inc;
			if (!env.proc->suspect[ACL_S_RETURNS]) /* no return is waited for there */
				acl_thread__unwind(&env, ~0ULL);
			on_thread_exit(&env);
		}
		bpf_map_delete_elem(&threads, &tid);
	}
	if (tid != tgid)
		bpf_map_delete_elem(&targets, &tid);
	if (cfg.exit_group_dead)
		bpf_probe_read_kernel(&dead, sizeof(dead), ctx + cfg.exit_group_dead);
	else if (cfg.all && tid == tgid && !bpf_map_lookup_elem(&procs, &tgid))
		bpf_map_delete_elem(&targets, &tgid); /* nobody else would */
	if (!dead)
		return 0;
	if (tgid == cfg.self)
		watcher_gone = 1; /* nobody would continue what is stopped from now on */
	if (acl_proc__is_told(tgid, bpf_map_lookup_elem(&targets, &tgid)))
		acl_proc__end(ACL_REC_EXIT, tgid, 1);
	bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

/*
 * A task is made.  Its number cannot belong to anybody who still lives, so
 * what is kept under it is of a process that is gone.  The new one may be a
 * thread; its entry goes when it exits.
 */
ACL_FN int acl_task__made(__u32 child)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct acl_target *t, copy;
	struct acl_fork *r;

	if (bpf_map_lookup_elem(&procs, &child))
		acl_proc__end(ACL_REC_EXIT, child, 0);
	if (!cfg.follow)
		return 0;
	t = bpf_map_lookup_elem(&targets, &tgid);
	if (!t)
		return 0;
	copy = *t;
	copy.late = 0;
	if (bpf_map_update_elem(&targets, &child, &copy, BPF_ANY)) {
		acl_loss__count(ACL_L_PROC_FULL);
		return 0;
	}
	if (cfg.all) /* heard of when it calls */
		return 0;
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		acl_loss__count(ACL_L_LOG_FULL);
		return 0;
	}
	acl_head__fill(&r->h, ACL_REC_FORK, 0, bpf_ktime_get_ns());
	r->child = child;
	r->_pad = 0;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/*
 * By the tracepoint's record, whose layout tracefs tells; the kernel leaves such a
 * program out while a program or an operation on a map that was preempted is under
 * way on the CPU.
 */
SEC("tp/sched/sched_process_fork")
int on_fork(void *ctx)
{
	__u32 child = 0;

	if (!cfg.fork_child)
		return 0;
	bpf_probe_read_kernel(&child, sizeof(child), ctx + cfg.fork_child);
	return acl_task__made(child);
}

/* By the task itself, where BTF tells the place of its number: never left out so. */
SEC("raw_tp/sched_process_fork")
int on_fork_raw(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 child = 0;

	if (!cfg.task_pid)
		return 0;
	bpf_probe_read_kernel(&child, sizeof(child), (void *)(ctx->args[1] + cfg.task_pid));
	return acl_task__made(child);
}

/* ---- the dynamic loader ------------------------------------------------- */

#define LOADER_MAPS_MAX 512 /* files of a process that are looked at */
#define LOADER_NAME_MAX 128 /* a longer name counts as one of the runtime */

/* From the hook of a loader to its _r_debug; 0 is unused.  Set as loaders are probed. */
volatile __u64 loader_deltas[ACL_LOADERS_MAX];

/* <link.h>, whose layout is ABI */
struct loader_state {
	__s32 version;
	__u32 _pad;
	__u64 map;   /* first struct loader_map */
	__u64 brk;   /* the hook */
	__u32 state; /* 0: consistent */
	__u32 _pad2;
};

struct loader_map {
	__u64 addr;
	__u64 name;
	__u64 dynamic;
	__u64 next;
};

/* The end of a name, as numbers. */
#define END_ASCENDCL 0x6f732e6c63646e65ULL /* "endcl.so" */
#define MID_ASCENDCL 0x63736162U	   /* "basc" before it */
#define END_ACL_RT 0x6f732e74725f6c63ULL   /* "cl_rt.so" */
#define MID_ACL_RT 0x6162696cU		   /* "liba" */

/*
 * Whether the file is named like the runtime: libascendcl.so or libacl_rt.so.
 * Not static: so the verifier looks at it once, not in each turn of the loop.
 */
__attribute__((noinline)) int loader_name__is_runtime(__u64 name)
{
	char buf[LOADER_NAME_MAX];
	__u64 end = 0;
	__u32 mid = 0;
	long len = bpf_probe_read_user_str(buf, sizeof(buf), (void *)name);

	if (len == sizeof(buf))
		return 1;
	if (len < 13) /* "libacl_rt.so" and its end */
		return 0;
	if (bpf_probe_read_user(&end, sizeof(end), (void *)(name + len - 9)) ||
	    bpf_probe_read_user(&mid, sizeof(mid), (void *)(name + len - 13)))
		return 0;
	return (end == END_ASCENDCL && mid == MID_ASCENDCL) ||
	       (end == END_ACL_RT && mid == MID_ACL_RT);
}

/* The state of the loader whose hook is at `ip`; 0 where it is not known. */
ACL_FN int loader_state__find(__u64 ip, struct loader_state *st)
{
	for (int i = 0; i < ACL_LOADERS_MAX; i++) {
		__u64 delta = loader_deltas[i];

		if (delta && !bpf_probe_read_user(st, sizeof(*st), (void *)(ip + delta)) &&
		    st->brk == ip)
			return 1;
	}
	return 0;
}

/* Files named like the runtime among those mapped; 255 where they are too many to look at. */
static __attribute__((noinline)) __u32 loader_maps__count(__u64 map)
{
	struct loader_map m;
	__u32 n = 0;

	for (int i = 0; i < LOADER_MAPS_MAX; i++) {
		if (!map || bpf_probe_read_user(&m, sizeof(m), (void *)map))
			return n;
		n += loader_name__is_runtime(m.name);
		map = m.next;
	}
	return 255;
}

/*
 * The dynamic loader calls this when it begins to map, and when it is done.
 * A process that we started is stopped here if a library of the runtime has
 * come in, until user space has looked; others are not worth a stop, which
 * debuggers and shells would see.  The signal is sent before the record, so
 * that the continue cannot come first.
 */
SEC("uprobe")
int loader(struct pt_regs *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, known = 255, more;
	struct acl_target *t = bpf_map_lookup_elem(&targets, &tgid);
	struct loader_state st = {};
	struct acl_head *h;

	ACL_OWN_STACK(ctx);
	if (!t)
		return 0;
	if (loader_state__find(PT_REGS_IP(ctx), &st)) {
		if (st.state)
			return 0; /* it is not done yet */
		known = loader_maps__count(st.map);
	}
	h = bpf_ringbuf_reserve(&life, sizeof(*h), 0);
	if (!h) {
		acl_loss__count(ACL_L_LOG_FULL);
		return 0;
	}
	more = known == 255 || known > t->known;
	if (t->stop && more && !watcher_gone)
		bpf_send_signal(cfg.loader_signal);
	t->known = known;
	acl_head__fill(h, ACL_REC_LOADER, 0, bpf_ktime_get_ns());
	h->more = more;
	bpf_ringbuf_submit(h, BPF_RB_FORCE_WAKEUP);
	return 0;
}
