/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Enforcement, as kernel and user space share it: what is to be done about
 * which rule, and what came of it.  A violation carries its outcome.
 */
#ifndef ACLGUARD_ENFORCE_H
#define ACLGUARD_ENFORCE_H

#include <linux/types.h>

#include "rules.h"

/* What was done about a violation.  X(ID, "name", "words") */
#define ACL_ACTS(X)                                                                               \
	X(NONE, "none", "no action was asked for")                                                \
	X(SENT, "sent", "the signal was sent")                                                    \
	X(DRY_RUN, "dry-run", "only what would be done is told")                                  \
	X(LIMITED, "limited", "as many as the limit allows were done within a minute")            \
	X(OBSERVING, "switched-off", "enforcement is switched off, violations are only observed") \
	X(LEVEL, "below-level", "a warning is not acted upon unless asked for")                   \
	X(UNSURE, "not-certain", "the evidence is suspected, and that was not asked for")         \
	X(SCOPE, "not-in-scope", "it was not known yet whether the filters want the process")     \
	X(SUPPRESSED, "suppressed", "a suppression matches")                                      \
	X(FAILED, "failed", "the signal could not be sent")                                       \
	X(UNDECIDED, "undecided", "aclguard could not decide in time, and the process went on")   \
	X(ASKED, "asked", "the process waits, stopped, for the decision")

enum acl_act {
#define ACL_ACT_ENUM(id, name, words) ACL_ACT_##id,
	ACL_ACTS(ACL_ACT_ENUM)
#undef ACL_ACT_ENUM
		ACL_ACT_MAX,
};

/* In a violation. */
struct acl_enforced {
	__u8 act; /* enum acl_act */
	__u8 sig; /* that was asked for; 0: none */
	__u8 err; /* errno, where it failed */
	__u8 _pad[5];
};

/* What the command line asks for; all zero: nothing. */
struct acl_enforce_cfg {
	__u8 sig[16];	/* by rule; 0: report only */
	__u32 ask;	/* mask of ACL_RULE_BIT(): user space decides, the process waits stopped */
	__u32 limit;	/* actions per process and minute */
	__u8 level;	/* enum acl_level, at least */
	__u8 suspected; /* also where the evidence is no better */
	__u8 dry_run;
	__u8 confirm; /* user space has to confirm first that a process is in scope */
	__u8 _pad[4];
};

_Static_assert(ACL_RULE_MAX <= 16, "a rule without an action");

#define ACL_ENFORCE_MINUTE 60000000000ULL
#define ACL_CAP_ACTIONS 32768
#define ACL_CAP_STOPPED 1024

/*
 * The table of actions is filed by incarnation: the times of the last ones, by
 * their number, and these.
 */
#define ACL_ACTIONS_NEXT (~0ULL)       /* number of the next one */
#define ACL_ACTIONS_FIRST (1ULL << 32) /* so that a limit can be taken off any number */
#define ACL_ACTIONS_WANTED (~1ULL)     /* user space has confirmed the incarnation */

/* A thread whose process was stopped on its account, and is not known to have gone on. */
struct acl_stopped_key {
	__u32 tgid;
	__u32 tid;
};

struct acl_stopped {
	__u64 time; /* of the stop */
	__u64 ask;  /* it waits for user space's decision */
};

/*
 * A signal that ends a process most often goes to the process, as not every thread
 * may take it; one whose purpose is to show the place goes to the thread there.
 */
static inline int acl_signal__is_for_thread(__u32 sig)
{
	return sig != 9 /* SIGKILL */ && sig != 15 /* SIGTERM */ && sig != 19 /* SIGSTOP */;
}

#define ACL_SIGSTOP 19 /* on every machine that aclguard is for */

#endif /* ACLGUARD_ENFORCE_H */
