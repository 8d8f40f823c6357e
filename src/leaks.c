/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Grouping what is left, and printing the groups. */
#define _GNU_SOURCE
#include "leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace.h"
#include "escape.h"
#include "json.h"
#include "names.h"
#include "procinfo.h"
#include "report_json.h"
#include "report_text.h"
#include "sites.h"
#include "story.h"
#include "suppress.h"
#include "symbols.h"

#define GROUPS_MAX 1024 /* further places are counted together, as one without a place */
#define SHOWN_MAX 20	/* in text; JSON has all */
#define FRAME_MAX 1024	/* bytes of a frame's line */

/* What one place of one process left behind. */
struct group {
	uint64_t inc, site;
	uint64_t count, bytes, oldest; /* ns */
	uint64_t example;	       /* address or handle of the oldest */
	pid_t pid;
	uint16_t call;
	uint8_t rule;
	char comm[ACL_COMM_LEN];
	pid_t ns_pid;
	char container[PROCINFO_CONTAINER_MAX + 1];
	uint32_t stack;	       /* of the creation, see struct acl_leave */
	struct sym_result sym; /* of the site */
	struct sym_result *frames;
	unsigned int nframes;
};

struct leaks {
	const struct report_cfg *cfg;
	struct group *groups;
	size_t n, room;
};

struct leaks *leaks__new(const struct report_cfg *cfg)
{
	struct leaks *lk = calloc(1, sizeof(*lk));

	if (lk)
		lk->cfg = cfg;
	return lk;
}

void leaks__free(struct leaks *lk)
{
	if (!lk)
		return;
	for (size_t i = 0; i < lk->n; i++) {
		struct group *g = &lk->groups[i];

		sym_result__clear(&g->sym);
		for (unsigned int f = 0; f < g->nframes; f++)
			sym_result__clear(&g->frames[f]);
		free(g->frames);
	}
	free(lk->groups);
	free(lk);
}

/* ---- taking down --------------------------------------------------------- */

static struct group *find_group(struct leaks *lk, const struct group *g)
{
	for (size_t i = 0; i < lk->n; i++) {
		struct group *h = &lk->groups[i];

		if (h->inc == g->inc && h->site == g->site && h->stack == g->stack &&
		    h->call == g->call && h->rule == g->rule)
			return h;
	}
	return NULL;
}

/* While the process, or what is kept of it, can be asked. */
static void resolve(const struct leaks *lk, struct group *g)
{
	const struct procinfo *info;
	struct backtrace bt;

	info = procs__get(lk->cfg->procs, g->pid);
	g->ns_pid = info ? info->ns_pid : g->pid;
	if (info)
		memcpy(g->container, info->container, sizeof(g->container));
	g->sym.addr = g->site;
	if (g->site && lk->cfg->sym)
		symbolizer__resolve_return(lk->cfg->sym, g->pid, g->site, &g->sym);
	backtrace__kept(lk->cfg, g->stack, &bt);
	if (bt.n)
		g->frames = calloc(bt.n, sizeof(*g->frames));
	if (!g->frames)
		return;
	backtrace__name(lk->cfg, g->pid, &bt);
	g->nframes = bt.n;
	for (unsigned int i = 0; i < bt.n; i++)
		g->frames[i] = bt.f[i].sym; /* and what it owns */
}

static struct group *add_group(struct leaks *lk, const struct group *g)
{
	struct group *groups;

	if (lk->n == lk->room) {
		size_t room = lk->room ? 2 * lk->room : 16;

		groups = reallocarray(lk->groups, room, sizeof(*groups));
		if (!groups)
			return NULL;
		lk->groups = groups;
		lk->room = room;
	}
	groups = &lk->groups[lk->n++];
	*groups = *g;
	resolve(lk, groups);
	return groups;
}

/* `g` is what makes the group; the process is filled in here. */
static void take_down(struct leaks *lk, const struct leaks_of *of, struct group *g, uint64_t bytes,
		      uint64_t born)
{
	uint64_t age = of->now > born ? of->now - born : 0;
	struct group *h;

	if (!(lk->cfg->rules & ACL_RULE_BIT(g->rule)))
		return;
	g->inc = of->inc;
	g->pid = of->pid;
	strncpy(g->comm, of->comm, sizeof(g->comm) - 1);
	h = find_group(lk, g);
	if (!h && lk->n >= GROUPS_MAX) {
		g->site = 0;
		g->stack = 0;
		h = find_group(lk, g);
	}
	if (!h)
		h = add_group(lk, g);
	if (!h)
		return;
	h->count++;
	h->bytes += bytes;
	if (age > h->oldest) {
		h->oldest = age;
		h->example = g->example;
	}
}

void leaks__buf(struct leaks *lk, const struct leaks_of *of, const struct acl_buf *b)
{
	struct group g = {
		.rule = ACL_RULE_HOST_LEAK,
		.site = b->site,
		.stack = b->stack,
		.call = b->call,
		.example = b->base,
	};

	take_down(lk, of, &g, b->size, b->born);
}

void leaks__event(struct leaks *lk, const struct leaks_of *of, const struct acl_event *e)
{
	struct group g = {
		.rule = ACL_RULE_EVENT_LEAK,
		.site = e->site,
		.stack = e->stack,
		.call = e->call,
		.example = e->handle,
	};

	take_down(lk, of, &g, 0, e->born);
}

/* ---- printing ------------------------------------------------------------ */

static void text_site(const struct group *g, char *buf, size_t n)
{
	if (g->site)
		site__place(buf, n, &g->sym);
	else
		snprintf(buf, n, "at a place not kept");
}

static void print_frames(const struct leaks *lk, const struct group *g)
{
	char line[FRAME_MAX];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < g->nframes; i++) {
		for (unsigned int k = 0; k <= g->frames[i].n_inlined; k++) {
			sym_format_line(line, sizeof(line), nr++, &g->frames[i], k);
			fprintf(lk->cfg->text, "    %s\n", line);
		}
	}
}

static int print_text(const struct leaks *lk, const struct group *g)
{
	char comm[ACL_COMM_LEN * ESCAPE_TEXT_EXPAND + 1], site[SITE_PLACE_MAX],
		age[REPORT_SPAN_MAX];
	bool host = g->rule == ACL_RULE_HOST_LEAK;

	escape__text(comm, sizeof(comm), g->comm, strnlen(g->comm, sizeof(g->comm)));
	text_site(g, site, sizeof(site));
	if (host)
		fprintf(lk->cfg->text,
			"==%d==aclguard: NOTE %s: %" PRIu64 " host buffer%s, %" PRIu64
			" bytes, never released by %s: %s %s, e.g. 0x%" PRIx64 ", oldest %s\n",
			g->pid, acl_rule__name(g->rule), g->count, g->count == 1 ? "" : "s",
			g->bytes, comm, acl_call__name(g->call), site, g->example,
			report__span(age, (int64_t)g->oldest));
	else
		fprintf(lk->cfg->text,
			"==%d==aclguard: NOTE %s: %" PRIu64
			" event%s never destroyed by %s: %s %s, "
			"e.g. 0x%" PRIx64 ", oldest %s\n",
			g->pid, acl_rule__name(g->rule), g->count, g->count == 1 ? "" : "s", comm,
			g->call == ACL_C_MAX ? "created unseen" : acl_call__name(g->call), site,
			g->example, report__span(age, (int64_t)g->oldest));
	print_frames(lk, g);
	return ferror(lk->cfg->text) ? -EIO : 0;
}

static int print_json(const struct leaks *lk, const struct group *g)
{
	struct json *j = lk->cfg->json;

	json__begin(j);
	json__str(j, "type", "leak");
	json__str(j, "rule", acl_rule__name(g->rule));
	json__str(j, "level", acl_level__name(ACL_LEVEL_NOTE));
	json__strn(j, "program", g->comm, strnlen(g->comm, sizeof(g->comm)));
	json__s64(j, "pid", g->pid);
	json__s64(j, "ns_pid", g->ns_pid);
	json__str(j, "container", g->container[0] ? g->container : NULL);
	json__str(j, "created_by", g->call == ACL_C_MAX ? NULL : acl_call__name(g->call));
	json__u64(j, "count", g->count);
	json__u64(j, "bytes", g->bytes);
	json__double(j, "oldest_us", (double)g->oldest / 1000, 3);
	json__hex(j, "example", g->example);
	report_json__frame(j, "site", &g->sym);
	json__begin_array(j, "stack");
	for (unsigned int i = 0; i < g->nframes; i++)
		report_json__frames(j, &g->frames[i]);
	json__end_array(j);
	return json__end(j);
}

/* Most bytes first, then most objects. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return 0;
}

/* What made them is what a suppression sees: all of the stack, where it was kept. */
static bool is_suppressed(const struct leaks *lk, const struct group *g)
{
	const struct sym_result *frames[ACL_KEPT_MAX] = { &g->sym };
	struct suppression *by;
	unsigned int n = 1;

	for (unsigned int i = 0; i < g->nframes && i < ACL_KEPT_MAX; i++) {
		frames[i] = &g->frames[i];
		n = i + 1;
	}
	by = suppress__match(lk->cfg->suppress, g->rule, g->comm, frames, n);
	if (by)
		suppress__hit(lk->cfg->suppress, by, g->rule, g->count);
	return by;
}

/* Those that are to be printed, first. */
static size_t sort_groups(const struct leaks *lk)
{
	size_t n = 0;

	for (size_t i = 0; i < lk->n; i++) {
		struct group g = lk->groups[i];

		if (is_suppressed(lk, &g))
			continue;
		lk->groups[i] = lk->groups[n];
		lk->groups[n++] = g;
	}
	if (n)
		qsort(lk->groups, n, sizeof(*lk->groups), compare_groups);
	return n;
}

int leaks__print(const struct leaks *lk)
{
	size_t n = sort_groups(lk);
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		if (lk->cfg->json) {
			err = print_json(lk, &lk->groups[i]);
		} else if (i < SHOWN_MAX || lk->cfg->verbose) {
			err = print_text(lk, &lk->groups[i]);
		} else {
			fprintf(lk->cfg->text,
				"==aclguard== and %zu more places that leave something (-v "
				"shows all)\n",
				n - i);
			break;
		}
	}
	if (lk->cfg->text)
		fflush(lk->cfg->text);
	return err;
}
