/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The vocabulary of a verdict: rules, levels, evidence, hazard, and the causes
 * for which something was not seen or cannot be said for certain.  Kernel and
 * user space share the numbers; the names are the ones of the command line,
 * the reports, JSON and the README, and stand nowhere else.
 */
#ifndef ACLGUARD_RULES_H
#define ACLGUARD_RULES_H

/* X(ID, "name", "headline") */
#define ACL_RULES(X)                                                                               \
	X(FREE_BEFORE_DESTROY, "free-before-destroy",                                              \
	  "host buffer released after a mere poll, before the event was destroyed")                \
	X(FREE_IN_FLIGHT, "free-in-flight",                                                        \
	  "host buffer released while an asynchronous copy may still use it")                      \
	X(FREE_AFTER_STREAM_QUERY, "free-after-stream-query",                                      \
	  "host buffer released after a mere aclrtStreamQuery")                                    \
	X(FREE_AFTER_EVENT_SYNC, "free-after-event-sync",                                          \
	  "host buffer released after aclrtSynchronizeEvent, a weak barrier")                      \
	X(FREE_FAILED, "free-failed", "the runtime refused to release a host buffer")              \
	X(DOUBLE_FREE, "double-free", "host buffer released twice")                                \
	X(EVENT_DOUBLE_DESTROY, "event-double-destroy", "event destroyed twice")                   \
	X(EVENT_USE_AFTER_DESTROY, "event-use-after-destroy", "event used after it was destroyed") \
	X(COPY_AFTER_FREE, "copy-after-free",                                                      \
	  "asynchronous copy on a host buffer that was released before")                           \
	X(EVENT_LEAK, "event-leak", "events never destroyed")                                      \
	X(HOST_LEAK, "host-leak", "host buffers never released")

enum acl_rule {
	ACL_RULE_NONE,
#define ACL_RULE_ENUM(id, name, headline) ACL_RULE_##id,
	ACL_RULES(ACL_RULE_ENUM)
#undef ACL_RULE_ENUM
		ACL_RULE_MAX,
};

#define ACL_RULE_BIT(rule) (1U << (rule))
#define ACL_RULES_ALL (ACL_RULE_BIT(ACL_RULE_MAX) - 2)

enum acl_level {
	ACL_LEVEL_NOTE,
	ACL_LEVEL_WARNING,
	ACL_LEVEL_ERROR,
	ACL_LEVEL_MAX,
};

/* How sure we are of the order that a report describes. */
enum acl_evidence {
	ACL_EV_SUSPECTED, /* see the causes */
	ACL_EV_CERTAIN,	  /* the allocation and all after it was seen */
	ACL_EV_CONFIRMED, /* the runtime itself refused the call */
	ACL_EV_MAX,
};

/* What the order can do, apart from whether it was wrong. */
enum acl_hazard {
	ACL_HZ_UNKNOWN,
	ACL_HZ_MECHANISM,  /* the runtime's source shows the host side untold */
	ACL_HZ_DOCUMENTED, /* the vendor's documentation forbids it */
	ACL_HZ_MAX,
};

/* Why the order is only suspected.  X(ID, "name", "words") */
#define ACL_SUSPECTS(X)                                                                     \
	X(LATE, "late-attach", "aclguard attached after this object was created")           \
	X(OVERFLOW, "overflow", "a bound on what is remembered of an object was exceeded")  \
	X(FULL, "map-full", "an object could not be remembered because a table was full")   \
	X(RACED, "raced", "calls on one object overlapped in a way that hides their order") \
	X(CONTEXT, "context-unknown", "the context behind a NULL stream was not seen")      \
	X(WAY, "unfollowed-way",                                                            \
	  "the stream carried a notify, callback, value write or shared event after it")    \
	X(LOST, "lost", "calls of this process were lost")                                  \
	X(RETURNS, "returns-unseen", "without return probes, what calls returned was not seen")

enum acl_suspect {
#define ACL_SUSPECT_ENUM(id, name, words) ACL_S_##id,
	ACL_SUSPECTS(ACL_SUSPECT_ENUM)
#undef ACL_SUSPECT_ENUM
		ACL_S_MAX,
};

/* What was not seen, or not kept, by cause.  X(ID, "name", "words") */
#define ACL_LOSSES(X)                                                                      \
	X(PROC_FULL, "processes-full", "calls of processes beyond the table's capacity")   \
	X(THREAD_FULL, "threads-full", "calls of threads beyond the table's capacity")     \
	X(BUF_FULL, "buffers-full", "host buffers beyond the table's capacity")            \
	X(EVENT_FULL, "events-full", "events beyond the table's capacity")                 \
	X(STREAM_FULL, "streams-full", "streams beyond the table's capacity")              \
	X(OTHER_FULL, "tables-full", "entries of secondary tables beyond their capacity")  \
	X(OVERFLOW, "bound-exceeded", "copies, waits or polls beyond an object's bound")   \
	X(CONTENDED, "contended", "updates given up because an object stayed locked")      \
	X(RING_FULL, "violations-ring-full", "violations that found their ring full")      \
	X(LOG_FULL, "log-ring-full", "records of calls that found their ring full")        \
	X(NO_ENTRY, "return-without-entry", "returns of calls whose entry was not seen")   \
	X(NO_RETURN, "entry-without-return", "calls whose return was not seen")            \
	X(NESTED, "nested-too-deep", "calls nested too deep to be followed")               \
	X(FAULT, "unreadable", "arguments in memory that could not be read")               \
	X(UNSEEN_COPY, "unseen-copies", "copies whose host address cannot be known")       \
	X(MISSED_FREE, "missed-releases", "addresses handed out whose release was unseen") \
	X(MISSED_CREATE, "missed-creations", "objects used whose creation was unseen")     \
	X(EVICTED, "evicted", "released buffers and destroyed events, to make room")       \
	X(STACK, "stacks-full", "stacks of calls that led to reports and were not kept")   \
	X(DUMP, "dumps-full", "stacks to be unwound whose copy found no room")             \
	X(SEQUEL, "followups-ring-full", "follow-ups that found the violations' ring full")

enum acl_loss {
#define ACL_LOSS_ENUM(id, name, words) ACL_L_##id,
	ACL_LOSSES(ACL_LOSS_ENUM)
#undef ACL_LOSS_ENUM
		ACL_L_MAX,
};

#endif /* ACLGUARD_RULES_H */
