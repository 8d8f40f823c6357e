/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the kernel sends to user space through its two rings: violations and
 * their sequel through one that ordinary traffic can never fill, everything
 * else through the other.  Also the configuration, the counters and the
 * arguments of a call, which both sides share.
 *
 * All times are CLOCK_MONOTONIC nanoseconds, all ids as in state.h.
 */
#ifndef ACLGUARD_RECORDS_H
#define ACLGUARD_RECORDS_H

#include "calls.h"
#include "enforce.h"
#include "state.h"

#define ACL_STACK_MAX 64 /* frames of a user stack */
#define ACL_KEPT_MAX 32	 /* frames of a stack that is kept */

_Static_assert(ACL_C_MAX <= 0xff, "a call takes a byte in an object");
_Static_assert(ACL_CAP_STACKS <= 0xffff, "a stack takes two, its number plus 1");

/* A copy of a stack is made of pieces, each of which was readable or not. */
#define ACL_DUMP_PIECE 4096
#define ACL_DUMP_PIECES_MAX 17 /* 64 KiB, and what lies below the stack pointer in its piece */
/* Of struct pt_regs, whose layout is ABI: registers by their place in it. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define ACL_DUMP_WORDS 33 /* x0 to x30, sp, pc */
#define ACL_DUMP_SP 31
#define ACL_DUMP_PC 32
#else
#define ACL_DUMP_WORDS 21 /* from r15 to ss */
#define ACL_DUMP_SP 19
#define ACL_DUMP_PC 16
#endif

enum acl_rec {
	ACL_REC_VIOLATION = 1, /* struct acl_violation */
	ACL_REC_RELEASED,      /* struct acl_sequel: what the judged release returned */
	ACL_REC_DESTROYED,     /* struct acl_sequel: the event a verdict named is destroyed */
	ACL_REC_PROC,	       /* struct acl_gone: a process was seen for the first time */
	ACL_REC_EXEC,	       /* struct acl_gone: a watched process executes a new program */
	ACL_REC_EXIT,	       /* struct acl_gone: a watched thread group is gone */
	ACL_REC_LOADER, /* struct acl_head: the dynamic loader mapped something; `more`: perhaps
				* a file that is named like the runtime, and was not there before */
	ACL_REC_FORK,	/* struct acl_fork */
	/* only where calls are recorded, and through a ring of their own: */
	ACL_REC_ENTER,	     /* struct acl_trace_enter */
	ACL_REC_LEAVE,	     /* struct acl_trace_leave */
	ACL_REC_BATCH,	     /* struct acl_trace_enter: one copy of a batch, before its LEAVE */
	ACL_REC_THREAD_EXIT, /* struct acl_head */
	/* only where stacks are unwound in user space, and through a ring of their own: */
	ACL_REC_DUMP, /* struct acl_dump */
};

struct acl_head {
	__u32 type; /* enum acl_rec */
	__u32 tgid;
	__u32 tid;
	__u32 more; /* by type */
	__u64 inc;
	__u64 time;
};

struct acl_fork {
	struct acl_head h; /* of the parent */
	__u32 child;	   /* its pid, or the tid of a new thread */
	__u32 _pad;
};

struct acl_gone {
	struct acl_head h;    /* inc 0: it had never called the runtime */
	struct acl_proc proc; /* as it was last */
};

/* `more` of a violation: a dump of the same id was sent before it. */
#define ACL_HAS_DUMP 1U

/* Filled by the state machine; stack, comm and registers by the store. */
struct acl_violation {
	struct acl_head h; /* time: entry of the judged call; more: 0 or ACL_HAS_DUMP */
	__u64 id;
	__u32 suspects; /* mask of 1 << enum acl_suspect */
	__u16 call;	/* the judged call */
	__u8 rule;
	__u8 level;
	__u8 evidence;
	__u8 hazard;
	__u8 unsettled; /* copies of the buffer that were not settled */
	__u8 has_event; /* `event` holds what is known of it, beyond the poll */
	__s32 ret;	/* where the verdict fell at the return */
	__u64 ptr;	/* the pointer given to the call */
	struct {
		__u64 id, base, size, born, site;
		__u32 tid;
		__u32 call;
		__u32 stack; /* of the allocation, see acl_leave */
		__u32 _pad;
	} buf;		      /* id 0: not a tracked buffer */
	struct acl_copy copy; /* the least known one */
	struct {
		__u64 id, handle, query_pos;
		__s32 dev;
		__u32 is_default;
		__u32 query_tid, query_stack;
	} stream;	      /* the one it was submitted to */
	struct acl_poll poll; /* the last that advanced the stream; pos 0: none */
	struct {
		__u64 born, rec_pos, site;
		__u32 records, flags, tid;
		__u32 call;  /* creating call; ACL_C_MAX if it was not seen */
		__u32 stack; /* of the creation, see acl_leave */
		__u32 rec_tid, rec_call, rec_stack; /* of the record of rec_pos */
	} event;				    /* the polled one */
	struct {
		__u64 id, base, size, pos;
		__u32 tid;
		__u32 stack;
	} ended; /* what was released or destroyed before, and is used again; id 0: no such */
	__u64 ip;
	__u64 ret_addr; /* where the judged call returns to */
	char comm[ACL_COMM_LEN];
	__s32 stack_len; /* bytes in `stack`, or -errno */
	__u32 uid;	 /* of the process */
	struct acl_enforced enforced;
	__u64 stack[ACL_STACK_MAX];
};

/* What unwinding in user space needs of a thread at a violation. */
struct acl_dump {
	struct acl_head h;
	__u64 id; /* of the violation */
	__u64 words[ACL_DUMP_WORDS];
	__u32 pieces; /* of the stack that follow, from that of the stack pointer up */
	__s8 err[ACL_DUMP_PIECES_MAX]; /* of each: 0, or it could not be read */
	__u8 _pad[3];
	__u8 stack[];
};

/* `ret` of a sequel: the return was not seen, it is merely over */
#define ACL_RET_UNSEEN (-0x7fffffff - 1)

struct acl_sequel {
	struct acl_head h; /* time: entry of the call */
	__u64 id;	   /* RELEASED: of the verdict.  DESTROYED: of the event */
	__u64 end;	   /* time of the return */
	__s32 ret;
	__u16 call;
	__u16 _pad;
};

/* What the loader tells the kernel side before it starts. */
struct acl_cfg {
	__u64 window;	     /* ns after which a poll counts as old */
	__u32 rules;	     /* mask of ACL_RULE_BIT() that are wanted */
	__u8 strict;	     /* notes are wanted, too */
	__u8 stacks;	     /* a user stack goes with a violation */
	__u8 all;	     /* every process is in scope */
	__u8 follow;	     /* children of a process in scope are in scope */
	__u8 record;	     /* every call goes up through the trace ring */
	__u8 history;	     /* the stacks of what leads to a report are kept */
	__u8 frames;	     /* of a violation's stack at most; up to ACL_STACK_MAX */
	__u8 pieces;	     /* of the stack that are copied at a violation; 0: none */
	__u32 loader_signal; /* sent to a process in scope when its loader maps, 0: none */
	/* where sched_process_fork and _exit keep their fields; 0: not known */
	__u16 fork_child;
	__u16 exit_group_dead;
	__u32 self;	/* our own tgid: never in scope */
	__u32 task_pid; /* offset of a task's number in it, from BTF; 0: not known */
	__u32 _pad2;
};

#define ACL_LOADERS_MAX 4 /* kinds of dynamic loaders that are looked into */

/*
 * Why a process is in scope.  Where all are, one without an entry ran before us.
 */
struct acl_target {
	__u64 complete; /* time since which all its probes are in; 0: since ever, ~0: not yet */
	__u8 late;	/* it ran before we attached */
	__u8 stop;	/* the loader signal is for it, too: we started it */
	__u8 known;	/* files named like the runtime that its loader had mapped last */
	__u8 out;	/* a filter does not want it: it is not in scope */
	__u8 _pad[4];
};

/* Per traced function, summed over CPUs by the reader. */
struct acl_calls {
	__u64 entered;
	__u64 returned;
	__u64 failed; /* returned non-zero */
	__u64 folded; /* entered on the way through a second definition of the same call */
	__u64 failed_otherwise; /* of `failed`: with codes beyond the table of them */
};

/*
 * Verdicts of one kind, counted when they fall: whether they could be sent up or
 * found their ring full makes no difference.
 */
struct acl_verdicts {
	__u64 made;
	__u64 refused; /* of them, given at the entry of a release that then failed */
};

/* Kinds of verdicts are numbered: rule, level, evidence. */
#define ACL_VERDICTS_MAX (ACL_RULE_MAX * ACL_LEVEL_MAX * ACL_EV_MAX)
#define ACL_VERDICT_NR(rule, level, evidence) \
	(((rule)*ACL_LEVEL_MAX + (level)) * ACL_EV_MAX + (evidence))

/* A failed call and what it returned, as a key. */
#define ACL_ERROR_KEY(call, ret) ((__u64)(call) << 32 | (__u32)(ret))

/* Its return. */
struct acl_leave {
	__u64 pos;  /* time of the return */
	__u64 sp;   /* stack pointer as it was at the entry */
	__u64 out;  /* the output argument, where the call has one and succeeded */
	__u64 site; /* address that it returns to */
	__s32 ret;
	__u32 tgid;
	__u32 tid;
	__u32 seq;
	__u8 out_ok; /* the output could be read */
	__u8 _pad[3];
	__u32 stack; /* its number among those kept, plus 1; 0: it was not kept */
};

struct acl_trace_enter {
	struct acl_head h; /* time: that of the call's entry */
	struct acl_enter in;
};

struct acl_trace_leave {
	struct acl_head h; /* time: that of the call's return */
	struct acl_leave out;
};

#endif /* ACLGUARD_RECORDS_H */
