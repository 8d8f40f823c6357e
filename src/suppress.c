/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Matching violations against suppressions.  The frames of an entry are to a stack
 * what a pattern is to a name, with "..." for the star, so it is the same loop.
 */
#include "suppress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace.h"
#include "escape.h"
#include "json.h"
#include "names.h"
#include "pattern.h"
#include "report_out.h"
#include "symbols.h"

#define PREFIX "==aclguard== "
#define NAMES_MAX 256  /* of a stack, inlined functions included; deeper ones are not looked at */
#define WRITTEN_MAX 5  /* frames of a generated entry; what makes a site (see sites.h) */
#define PATH_SHOWN 512 /* bytes */

/* What a frame of the stack is called. */
struct place {
	const char *function, *module; /* NULL: unknown */
};

struct suppressions *suppressions__new(void)
{
	return calloc(1, sizeof(struct suppressions));
}

void suppression__clear(struct suppression *e)
{
	for (size_t i = 0; i < e->n_frames; i++)
		pattern__free(e->frames[i].pattern);
	free(e->frames);
	pattern__free(e->program);
	free(e->name);
	free(e->file);
	*e = (struct suppression){ .line = 0 };
}

void suppressions__free(struct suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		suppression__clear(&s->list[i]);
	free(s->list);
	free(s);
}

/* ---- matching ------------------------------------------------------------ */

/* 1, 0 or -EBUSY, as of pattern__match() */
static int match_name(const struct pattern *p, const char *name, uint64_t *steps)
{
	return pattern__match(p, name ? name : "", name ? strlen(name) : 0, steps);
}

static int match_frame(const struct suppress_frame *want, const struct place *is, uint64_t *steps)
{
	const char *base;

	if (want->kind == SUPPRESS_FUNCTION)
		return match_name(want->pattern, is->function, steps);
	base = is->module && !want->path ? strrchr(is->module, '/') : NULL;
	return match_name(want->pattern, base ? base + 1 : is->module, steps);
}

/* The innermost frames decide; what lies below the last one that is named may be anything. */
static int match_stack(const struct suppression *e, const struct place *at, size_t n,
		       uint64_t *steps)
{
	size_t i = 0, k = 0, skip = SIZE_MAX, from = 0;

	while (i < e->n_frames) {
		int is = 0;

		if (e->frames[i].kind == SUPPRESS_SKIP) {
			skip = i++;
			from = k;
			continue;
		}
		if (k >= n)
			return 0;
		is = match_frame(&e->frames[i], &at[k], steps);
		if (is < 0)
			return is;
		if (is) {
			i++;
			k++;
		} else if (skip != SIZE_MAX) {
			i = skip + 1;
			k = ++from;
		} else {
			return 0;
		}
	}
	return 1;
}

static int match_entry(const struct suppression *e, unsigned int rule, const char *comm,
		       const struct place *at, size_t n, uint64_t *steps)
{
	int is = (e->rules >> rule & 1) != 0;

	if (is && e->program)
		is = pattern__match(e->program, comm, strnlen(comm, ACL_COMM_LEN), steps);
	return is > 0 ? match_stack(e, at, n, steps) : is;
}

bool suppress__may_apply(const struct suppressions *s, unsigned int rule)
{
	return s && rule < ACL_RULE_MAX && s->rules & ACL_RULE_BIT(rule);
}

/* A frame and what was compiled into it are as many. */
static size_t add_places(struct place *at, size_t n, const struct sym_result *sym)
{
	for (unsigned int i = 0; i < sym->n_inlined && n < NAMES_MAX; i++)
		at[n++] = (struct place){ sym->inlined[i].function, sym->module };
	if (n < NAMES_MAX)
		at[n++] = (struct place){ sym->function, sym->module };
	return n;
}

struct suppression *suppress__match(struct suppressions *s, unsigned int rule, const char *comm,
				    const struct sym_result *const *frames, size_t n)
{
	uint64_t steps = SUPPRESS_STEPS_MAX;
	struct place at[NAMES_MAX];
	size_t places = 0;

	if (!suppress__may_apply(s, rule))
		return NULL;
	for (size_t i = 0; i < n; i++)
		places = add_places(at, places, frames[i]);
	for (size_t i = 0; i < s->n; i++) {
		int is = match_entry(&s->list[i], rule, comm, at, places, &steps);

		if (is > 0)
			return &s->list[i];
		if (is < 0) {
			s->given_up++;
			return NULL;
		}
	}
	return NULL;
}

struct suppression *suppress__match_backtrace(struct suppressions *s, unsigned int rule,
					      const char *comm, const struct backtrace *bt)
{
	const struct sym_result *frames[BACKTRACE_MAX];

	for (unsigned int i = 0; i < bt->n; i++)
		frames[i] = &bt->f[i].sym;
	return suppress__match(s, rule, comm, frames, bt->n);
}

void suppress__hit(struct suppressions *s, struct suppression *e, unsigned int rule, uint64_t n)
{
	e->hits += n;
	s->hits[rule] += n;
}

/* ---- writing an entry ------------------------------------------------------ */

static void write_line(FILE *f, const char *key, const char *name, size_t len)
{
	char text[PATTERN_TEXT_MAX];

	pattern__of(text, sizeof(text), name, len);
	fprintf(f, "  %-8s %s\n", key, text);
}

/* Returns whether there was something to be known by. */
static bool write_frame(FILE *f, const struct sym_result *sym)
{
	const char *base;

	for (unsigned int i = 0; i < sym->n_inlined; i++)
		if (sym->inlined[i].function && *sym->inlined[i].function)
			write_line(f, "function", sym->inlined[i].function,
				   strlen(sym->inlined[i].function));
		else
			fprintf(f, "  function *\n");
	if (sym->function && *sym->function) {
		write_line(f, "function", sym->function, strlen(sym->function));
		return true;
	}
	if (sym->kind != SYM_FILE || !sym->module)
		return false;
	base = strrchr(sym->module, '/');
	base = base ? base + 1 : sym->module;
	if (*base)
		write_line(f, "module", base, strlen(base));
	return *base;
}

void suppress__generate(FILE *f, const char *name, unsigned int rule, const char *comm,
			const struct backtrace *bt)
{
	unsigned int i = 0;

	fprintf(f, "{\n");
	if (name)
		fprintf(f, "  name     %s\n", name);
	fprintf(f, "  rule     %s\n", acl_rule__name(rule));
	if (*comm)
		write_line(f, "program", comm, strnlen(comm, ACL_COMM_LEN));
	while (i < bt->n && i < WRITTEN_MAX && write_frame(f, &bt->f[i].sym))
		i++;
	if (!i)
		fprintf(f, "  # any stack: this one has no names\n");
	fprintf(f, "}\n");
}

char *suppress__entry(const struct report_cfg *cfg, const struct acl_violation *v,
		      struct backtrace *bt, const char *site)
{
	char name[64], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	backtrace__name(cfg, (pid_t)v->h.tgid, bt);
	snprintf(name, sizeof(name), "site %s", site ? site : "");
	suppress__generate(f, site ? name : NULL, v->rule, v->comm, bt);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- telling --------------------------------------------------------------- */

static uint64_t count_hits(const struct suppressions *s)
{
	uint64_t sum = 0;

	for (int rule = 0; rule < ACL_RULE_MAX; rule++)
		sum += s->hits[rule];
	return sum;
}

/* "NAME (FILE:LINE)" or "FILE:LINE" */
static void print_entry(struct report_out *o, const struct suppression *e)
{
	char file[PATH_SHOWN], name[PATH_SHOWN];

	escape__str(file, sizeof(file), e->file);
	escape__str(name, sizeof(name), e->name);
	if (e->name)
		report_out__printf(o, "%s (%s:%u)\n", name, file, e->line);
	else
		report_out__printf(o, "%s:%u\n", file, e->line);
}

static size_t count_used(const struct suppressions *s)
{
	size_t used = 0;

	for (size_t i = 0; i < s->n; i++)
		used += s->list[i].hits > 0;
	return used;
}

void suppress__print(const struct suppressions *s, struct report_out *o, bool verbose)
{
	if (!s)
		return;
	report_out__printf(o, PREFIX "suppressed: %" PRIu64 " by %zu of %zu entr%s\n",
			   count_hits(s), count_used(s), s->n, s->n == 1 ? "y" : "ies");
	for (size_t i = 0; i < s->n; i++) {
		if (!s->list[i].hits)
			continue;
		report_out__printf(o, PREFIX "  %" PRIu64 " by ", s->list[i].hits);
		print_entry(o, &s->list[i]);
	}
	for (size_t i = 0; verbose && i < s->n; i++) {
		if (s->list[i].hits)
			continue;
		report_out__printf(o, PREFIX "  unused: ");
		print_entry(o, &s->list[i]);
	}
	if (s->given_up)
		report_out__printf(o,
				   PREFIX "  %" PRIu64 " stacks were not matched to the end: their "
					  "names are too long for the patterns\n",
				   s->given_up);
}

static void put_entries(const struct suppressions *s, struct json *j)
{
	json__begin_array(j, "suppressions");
	for (size_t i = 0; s && i < s->n; i++) {
		const struct suppression *e = &s->list[i];

		json__begin_object(j, NULL);
		json__str(j, "name", e->name);
		json__str(j, "file", e->file);
		json__u64(j, "line", e->line);
		json__u64(j, "count", e->hits);
		json__end_object(j);
	}
	json__end_array(j);
}

void suppress__json(const struct suppressions *s, struct json *j)
{
	json__u64(j, "suppressed", s ? count_hits(s) : 0);
	json__begin_object(j, "suppressed_by_rule");
	for (int rule = 0; s && rule < ACL_RULE_MAX; rule++)
		if (s->hits[rule])
			json__u64(j, acl_rule__name(rule), s->hits[rule]);
	json__end_object(j);
	put_entries(s, j);
	json__u64(j, "suppressions_given_up", s ? s->given_up : 0);
}
