/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Metrics as text for Prometheus: its text format 0.0.4, or OpenMetrics 1.0.
 *
 *	exposition__family(&x, METRIC_CALLS);
 *	exposition__u64(&x, (const char *[]){ "aclrtFreeHost" }, 17);
 *	exposition__family(&x, METRIC_GAP);
 *	exposition__histogram(&x, NULL, &gap);
 *	err = exposition__end(&x);
 *
 * Names, types and labels are those of metric_table.h.  The values of labels may hold
 * any bytes: what is no UTF-8 becomes U+FFFD, the rest is escaped.
 */
#ifndef ACLGUARD_EXPOSITION_H
#define ACLGUARD_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metric_table.h"
#include "textbuf.h"

enum exposition_format {
	EXPOSITION_TEXT,
	EXPOSITION_OPENMETRICS,
};

struct exposition {
	struct textbuf *out;
	enum exposition_format format;
	enum metric metric; /* the family that samples belong to */
};

struct metric_info {
	const char *name;
	enum metric_type type;
	const char *unit;   /* "": none */
	const char *labels; /* names with commas between them, "": none */
	const char *help;
};

const struct metric_info *metric__info(enum metric metric);

/* The bounds of every histogram's buckets; the last one, without a bound, is beyond them. */
#define HISTOGRAM_BOUNDS 13
#define HISTOGRAM_BUCKETS (HISTOGRAM_BOUNDS + 1)

struct histogram {
	uint64_t n[HISTOGRAM_BUCKETS]; /* each for itself */
	uint64_t sum_ns;
};

void histogram__add(struct histogram *h, uint64_t ns);

/* The text is added to *out, which also keeps what went wrong. */
void exposition__init(struct exposition *x, enum exposition_format format, struct textbuf *out);

/* Begins a family; its samples follow, each with other labels. */
void exposition__family(struct exposition *x, enum metric metric);

/* A sample.  `labels`: a value for each label of the metric, in order; NULL if it has none. */
void exposition__u64(struct exposition *x, const char *const *labels, uint64_t val);
void exposition__seconds(struct exposition *x, const char *const *labels, uint64_t ns);
void exposition__histogram(struct exposition *x, const char *const *labels,
			   const struct histogram *h);

/* What OpenMetrics wants at the end.  Returns out->err. */
int exposition__end(struct exposition *x);

/* The table of all metrics, as the README has it: rows of Markdown. */
void exposition__list(struct textbuf *out);

#endif /* ACLGUARD_EXPOSITION_H */
