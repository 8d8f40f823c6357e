/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a check has found: lines of "ok", "limit" or "bad" on a topic, each
 * with what it means and, where there is something to do, what.
 */
#ifndef ACLGUARD_FINDINGS_H
#define ACLGUARD_FINDINGS_H

#include <stddef.h>
#include <stdio.h>

struct json;

enum finding_level {
	FINDING_FACT, /* neither good nor bad */
	FINDING_OK,
	FINDING_LIMIT, /* it works, but not all of it */
	FINDING_BAD,   /* it cannot work */
};

struct finding {
	enum finding_level level;
	const char *topic; /* static */
	char *text;
	char *advice; /* NULL: there is nothing to do */
};

/* Zero is empty. */
struct findings {
	struct finding *list;
	size_t count;
	enum finding_level worst;
};

/*
 * Adds a line.  What comes from a process is to be escaped by the caller.
 * Without memory the text is lost, and the level is not.
 */
void findings__add(struct findings *f, enum finding_level level, const char *topic, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));
/* What to do about the line that was added last. */
void findings__advise(struct findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void findings__print(const struct findings *f, FILE *out);
void findings__json(const struct findings *f, struct json *j); /* an array, key "findings" */
void findings__free(struct findings *f);

const char *finding_level__name(enum finding_level level);
/* Of the worst line: "fit", "limits", "unfit". */
const char *finding_level__fitness(enum finding_level level);

#endif /* ACLGUARD_FINDINGS_H */
