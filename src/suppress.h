/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Suppressions: violations that somebody has looked at and does not want to see
 * again.  The user writes them into files (see suppress_file.h and the README); here
 * they are matched against a violation and counted.
 *
 * The decision for a violation in hand, to act on it or not, is part of what sites__find()
 * of sites.h finds, which remembers it, so that asking again costs nothing.
 *
 * Names are the target's choice: what matching may take is bounded, and an entry that
 * could not be decided within the bound does not match, which is counted.
 */
#ifndef ACLGUARD_SUPPRESS_H
#define ACLGUARD_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rules.h"

#define SUPPRESS_ENTRIES_MAX 4096
#define SUPPRESS_FRAMES_MAX 64	       /* of an entry */
#define SUPPRESS_STEPS_MAX (8UL << 20) /* comparisons for one violation */

struct acl_violation;
struct backtrace;
struct json;
struct pattern;
struct report_cfg;
struct report_out;
struct sym_result;

/* What a frame of an entry wants. */
struct suppress_frame {
	enum {
		SUPPRESS_FUNCTION, /* its name, as reports show it */
		SUPPRESS_MODULE,   /* the file's name, or its path where the pattern has a slash */
		SUPPRESS_SKIP,	   /* any number of frames */
	} kind;
	bool path;
	struct pattern *pattern;
};

struct suppression {
	char *name; /* NULL: none was given */
	char *file; /* where it stands */
	unsigned int line;
	uint32_t rules;		 /* mask of ACL_RULE_BIT() */
	struct pattern *program; /* NULL: any */
	struct suppress_frame *frames;
	size_t n_frames; /* 0: any stack */
	uint64_t hits;
};

struct suppressions {
	struct suppression *list;
	size_t n;
	uint32_t rules; /* of all entries */
	uint64_t hits[ACL_RULE_MAX];
	uint64_t given_up; /* times that an entry could not be decided within the bound */
};

struct suppressions *suppressions__new(void);	 /* NULL if there is no memory */
void suppressions__free(struct suppressions *s); /* NULL is allowed */
void suppression__clear(struct suppression *e);

/* Whether any entry is for this rule.  NULL has no entry. */
bool suppress__may_apply(const struct suppressions *s, unsigned int rule);

/*
 * The first entry that fits; NULL: none.  Counts nothing.  `comm` is a field of
 * ACL_COMM_LEN bytes.  Frames innermost first, with their names looked up.
 */
struct suppression *suppress__match(struct suppressions *s, unsigned int rule, const char *comm,
				    const struct sym_result *const *frames, size_t n);
struct suppression *suppress__match_backtrace(struct suppressions *s, unsigned int rule,
					      const char *comm, const struct backtrace *bt);

/* That entry has kept back so many of a rule. */
void suppress__hit(struct suppressions *s, struct suppression *e, unsigned int rule, uint64_t n);

/* An entry that would suppress this violation, ready to be put into a file. */
void suppress__generate(FILE *f, const char *name, unsigned int rule, const char *comm,
			const struct backtrace *bt);

/*
 * The same as a string that the caller frees, for a report; looks up the names if that
 * was not done.  `site` may be NULL.  NULL if there is no memory.
 */
char *suppress__entry(const struct report_cfg *cfg, const struct acl_violation *v,
		      struct backtrace *bt, const char *site);

/* For the summary; `verbose` names those that never were used. */
void suppress__print(const struct suppressions *s, struct report_out *o, bool verbose);
/* Members "suppressed", "suppressions" and what goes with them. */
void suppress__json(const struct suppressions *s, struct json *j);

#endif /* ACLGUARD_SUPPRESS_H */
