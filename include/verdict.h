/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is wrong and what is not: the pure functions by which a release of a
 * host buffer is judged.  Everything else in the tree feeds these few lines
 * or prints what they say.
 */
#ifndef ACLGUARD_VERDICT_H
#define ACLGUARD_VERDICT_H

#include "state.h"

#ifdef __BPF__
#define ACL_FN static __attribute__((always_inline)) inline
/* Keeps the compiler from testing the ids again instead of the pointer. */
#define acl_opaque(p) asm volatile("" : "+r"(p))
#else
#define acl_opaque(p) (void)(p)
#define ACL_FN static inline __attribute__((unused))
#endif

/*
 * What the host knows of one copy, least first.  A poll by an event and one
 * of the whole stream tell the same; the event comes first because the rule
 * about it is the graver one.
 */
enum acl_know {
	ACL_K_NOTHING, /* in flight, for all that the host knows */
	ACL_K_POLLED,  /* aclrtQueryEventStatus said COMPLETE */
	ACL_K_QUERIED, /* only aclrtStreamQuery said COMPLETE */
	ACL_K_WAITED,  /* an event was waited for: a weak barrier */
	ACL_K_SETTLED, /* the host side was told: nothing holds the buffer */
};

/*
 * `dev_settled`: how far the copy's whole device was settled.  A stream that
 * is not known any more (NULL) was destroyed, which settled it.  Equal
 * positions count as covered: the order that stays silent.
 */
ACL_FN enum acl_know acl_copy__known(const struct acl_copy *c, const struct acl_stream *s,
				     __u64 dev_settled)
{
	if (!s || c->pos <= s->settled || c->pos <= dev_settled)
		return ACL_K_SETTLED;
	if (c->pos <= s->waited)
		return ACL_K_WAITED;
	if (c->pos <= s->polled)
		return ACL_K_POLLED;
	if (c->pos <= s->queried)
		return ACL_K_QUERIED;
	return ACL_K_NOTHING;
}

/* The rule that a release breaks whose least known copy is known like this. */
ACL_FN enum acl_rule acl_verdict__rule(enum acl_know least)
{
	switch (least) {
	case ACL_K_NOTHING:
		return ACL_RULE_FREE_IN_FLIGHT;
	case ACL_K_POLLED:
		/* done on the device, but the host side holds it until the
		 * event is destroyed or the stream synchronised */
		return ACL_RULE_FREE_BEFORE_DESTROY;
	case ACL_K_QUERIED:
		return ACL_RULE_FREE_AFTER_STREAM_QUERY;
	case ACL_K_WAITED:
		return ACL_RULE_FREE_AFTER_EVENT_SYNC;
	case ACL_K_SETTLED:
		break;
	}
	return ACL_RULE_NONE;
}

/*
 * How grave.  `pooled`: the polled event was recorded more than once in its
 * life.  `age`: ns from the poll that advanced the stream to the release.
 * `unfollowed`: after the copy, its stream carried a way to the host that is
 * not followed.
 */
ACL_FN enum acl_level acl_verdict__level(enum acl_rule rule, int pooled, __u64 age, __u64 window,
					 int unfollowed)
{
	switch (rule) {
	case ACL_RULE_FREE_BEFORE_DESTROY:
		return pooled || age > window ? ACL_LEVEL_WARNING : ACL_LEVEL_ERROR;
	case ACL_RULE_FREE_IN_FLIGHT:
		return unfollowed ? ACL_LEVEL_WARNING : ACL_LEVEL_ERROR;
	case ACL_RULE_FREE_AFTER_STREAM_QUERY:
		return ACL_LEVEL_WARNING;
	case ACL_RULE_FREE_AFTER_EVENT_SYNC:
	case ACL_RULE_EVENT_LEAK:
	case ACL_RULE_HOST_LEAK:
		return ACL_LEVEL_NOTE;
	default:
		return ACL_LEVEL_ERROR;
	}
}

#define ACL_EVENT_TIME_LINE 0x8u /* acl_rt.h: ACL_EVENT_TIME_LINE */
#define ACL_EVENT_EXTERNAL 0x20u /* acl_rt.h: ACL_EVENT_EXTERNAL */
#define ACL_EVENT_IPC 0x40u	 /* acl_rt.h: ACL_EVENT_IPC */

/*
 * What the order can do.  The vendor forbids a release without any barrier,
 * and the release between poll and destroy.  Where the polled event has no
 * TIME_LINE, the runtime's own source shows that the host side stays untold;
 * with it, newer runtimes tell it inside the poll and the rule remains the
 * documented one.  `time_line`: 1 or 0, -1 if the creation was not seen.
 */
ACL_FN enum acl_hazard acl_verdict__hazard(enum acl_rule rule, int time_line)
{
	switch (rule) {
	case ACL_RULE_FREE_BEFORE_DESTROY:
		return time_line ? ACL_HZ_DOCUMENTED : ACL_HZ_MECHANISM;
	case ACL_RULE_FREE_IN_FLIGHT:
	case ACL_RULE_DOUBLE_FREE:
	case ACL_RULE_COPY_AFTER_FREE:
	case ACL_RULE_EVENT_DOUBLE_DESTROY:
	case ACL_RULE_EVENT_USE_AFTER_DESTROY:
		return ACL_HZ_DOCUMENTED;
	case ACL_RULE_FREE_AFTER_STREAM_QUERY:
	case ACL_RULE_FREE_AFTER_EVENT_SYNC:
		return ACL_HZ_MECHANISM;
	default:
		return ACL_HZ_UNKNOWN;
	}
}

ACL_FN enum acl_evidence acl_verdict__evidence(__u32 suspects)
{
	return suspects ? ACL_EV_SUSPECTED : ACL_EV_CERTAIN;
}

/* What was said of a call. */
struct acl_verdict {
	__u32 suspects; /* mask of 1 << enum acl_suspect */
	__u8 rule;
	__u8 level;
	__u8 evidence;
	__u8 hazard;
};

/*
 * The causes marked in `suspect` by a 1, as a mask of 1 << enum acl_suspect.
 * Without branches: up to 6.2 the verifier follows each way through them to the end
 * of a program that has functions.
 */
ACL_FN __u32 acl_suspect__mask(const __u8 *suspect)
{
	__u32 mask = 0;

#pragma GCC unroll 8
	for (int i = 0; i < ACL_S_MAX; i++)
		mask |= (suspect[i] & 1U) << i;
	return mask;
}

#endif /* ACLGUARD_VERDICT_H */
