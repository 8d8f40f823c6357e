/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What was done about a violation, in words: for the text report, JSON and the
 * summary.  Also whether a program can get around a signal.
 */
#ifndef ACLGUARD_ENFORCEMENT_H
#define ACLGUARD_ENFORCEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "records.h"

struct json;
struct procstatus;
struct report_out;

/* X(ID, "name", "words", where %s is the signal) */
#define EVASIONS(X)                                                                   \
	X(NONE, "none", "")                                                           \
	X(BLOCKED, "blocked", "the program blocks %s")                                \
	X(IGNORED, "ignored", "the program ignores %s")                               \
	X(HANDLED, "handled", "the program handles %s")                               \
	X(INIT, "namespace-init",                                                     \
	  "the process is pid 1 of a pid namespace, and the kernel keeps it from %s") \
	X(HARMLESS, "harmless", "%s does nothing unless a program handles it")

enum evasion {
#define EVASION_ENUM(id, name, words) EVASION_##id,
	EVASIONS(EVASION_ENUM)
#undef EVASION_ENUM
		EVASION_MAX,
};

struct enforcement {
	enum acl_act act;
	int sig; /* that was asked for; 0: none */
	int err; /* positive errno; 0: it did not fail */
	enum evasion evasion;
	pid_t tracer; /* a debugger gets the signal first; 0: none, or not known */
};

/* By rule and outcome, as they are known in the end. */
struct enforce_counts {
	uint64_t n[ACL_RULE_MAX][ACL_ACT_MAX];
	uint8_t sig[ACL_RULE_MAX]; /* that is asked for, by rule */
	bool observing;		   /* switched off, now */
};

/* As the thread is now.  The status may be of a thread that handles the signal. */
enum evasion enforcement__evasion(const struct procstatus *st, int sig);

const char *acl_act__name(unsigned int act);
const char *acl_act__words(unsigned int act);
const char *enforcement__action(int sig); /* "stop", "abort", "term", "kill", "signal", "report" */
#define SIGNAL_NAME_MAX 24
const char *enforcement__signal(char buf[SIGNAL_NAME_MAX], int sig); /* "SIGUSR1", "signal 40" */

/* Nothing where nothing was asked for.  `e` may be NULL. */
void enforcement__print(struct report_out *o, const struct acl_violation *v,
			const struct enforcement *e);
void enforcement__put(struct json *j, const struct acl_violation *v, const struct enforcement *e);

/* Somebody has switched enforcement off, or on again: a line of the report. */
struct report_cfg;
int enforcement__switched(const struct report_cfg *cfg, bool observing, const char *by);

/* One line: "ok enforcing, 3 stopped, sent 5, ..." */
void enforce_counts__status(const struct enforce_counts *n, unsigned int held, char *buf,
			    size_t len);

/* For the summary; `n` may be NULL.  The text is lines that begin with `prefix`. */
void enforce_counts__print(struct report_out *o, const char *prefix,
			   const struct enforce_counts *n);
void enforce_counts__put(struct json *j, const struct enforce_counts *n);

#endif /* ACLGUARD_ENFORCEMENT_H */
