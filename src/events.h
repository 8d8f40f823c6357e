/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the daemon's events go: as JSON to a file that can be rotated or to stdout, to the
 * journal, one line each to stderr, and among the newest ones for the web.
 */
#ifndef ACLGUARD_EVENTS_H
#define ACLGUARD_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "podinfo.h"
#include "story.h"
#include "textbuf.h"

struct events;
struct options;

enum events_output {
	EVENTS_JSON,
	EVENTS_JOURNAL,
	EVENTS_OUTPUT_MAX,
};

/* As metrics name it. */
const char *events_output__name(enum events_output output);

/* Returns 0, or an exit status after having said why not. */
int events__new(const struct options *opts, struct events **out);
void events__free(struct events *ev); /* NULL is allowed */

/* All reports are to be written here, as JSON, one object a line.  Stays the events'. */
FILE *events__stream(struct events *ev);

/* The file of JSON is opened anew, under its name, as after it was moved away. */
void events__reopen(struct events *ev);

/* Right after the report was written to the stream.  `pod` is of its process. */
void events__violation(struct events *ev, const struct report_cfg *cfg,
		       const struct story_told *told, const struct podinfo *pod);
void events__followup(struct events *ev, const struct story *s);

/* Any thread. */
uint64_t events__errors(const struct events *ev, enum events_output output);
void events__recent(struct events *ev, size_t n, struct textbuf *out);

#endif /* ACLGUARD_EVENTS_H */
