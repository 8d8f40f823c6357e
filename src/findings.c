/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lists of findings, and how they are shown. */
#define _GNU_SOURCE
#include "findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define TOPIC_WIDTH 16

const char *finding_level__name(enum finding_level level)
{
	static const char *const names[] = {
		[FINDING_FACT] = "fact",
		[FINDING_OK] = "ok",
		[FINDING_LIMIT] = "limit",
		[FINDING_BAD] = "bad",
	};

	return names[level];
}

const char *finding_level__fitness(enum finding_level level)
{
	return level == FINDING_BAD ? "unfit" : level == FINDING_LIMIT ? "limits" : "fit";
}

void findings__add(struct findings *f, enum finding_level level, const char *topic, const char *fmt,
		   ...)
{
	struct finding *list;
	char *text = NULL;
	va_list args;

	if (level > f->worst)
		f->worst = level;
	list = reallocarray(f->list, f->count + 1, sizeof(*list));
	if (!list)
		return;
	f->list = list;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	f->list[f->count++] = (struct finding){ level, topic, text, NULL };
}

void findings__advise(struct findings *f, const char *fmt, ...)
{
	struct finding *last;
	va_list args;

	if (!f->count)
		return;
	last = &f->list[f->count - 1];
	free(last->advice);
	va_start(args, fmt);
	if (vasprintf(&last->advice, fmt, args) < 0)
		last->advice = NULL;
	va_end(args);
}

void findings__print(const struct findings *f, FILE *out)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct finding *l = &f->list[i];

		fprintf(out, "  %-5s  %-*s %s\n",
			l->level == FINDING_FACT ? "-" : finding_level__name(l->level), TOPIC_WIDTH,
			l->topic, l->text ? l->text : "");
		if (l->advice)
			fprintf(out, "  %-5s  %-*s -> %s\n", "", TOPIC_WIDTH, "", l->advice);
	}
}

void findings__json(const struct findings *f, struct json *j)
{
	json__begin_array(j, "findings");
	for (size_t i = 0; i < f->count; i++) {
		const struct finding *l = &f->list[i];

		json__begin_object(j, NULL);
		json__str(j, "level", finding_level__name(l->level));
		json__str(j, "topic", l->topic);
		json__str(j, "text", l->text);
		json__str(j, "advice", l->advice);
		json__end_object(j);
	}
	json__end_array(j);
}

void findings__free(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].text);
		free(f->list[i].advice);
	}
	free(f->list);
	*f = (struct findings){};
}
