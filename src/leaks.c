/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Walking the maps for what is alive of an incarnation, and grouping it. */
#define _GNU_SOURCE
#include "leaks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "aclguard.skel.h"

#include "escape.h"
#include "json.h"
#include "names.h"
#include "report_text.h"
#include "story.h"
#include "symbols.h"

#define GROUPS_MAX 1024 /* further places are counted together, as one without a place */
#define SHOWN_MAX 20	/* in text; JSON has all */

/* What one place of one process left behind. */
struct group {
	uint64_t inc, site;
	uint64_t count, bytes, oldest; /* ns */
	uint64_t example;	       /* address or handle */
	pid_t pid;
	uint16_t call;
	uint8_t rule;
	char comm[ACL_COMM_LEN];
	struct sym_result sym; /* of the site, while the process could be asked */
};

struct leaks {
	struct aclguard_bpf *skel;
	const struct report_cfg *cfg;
	struct group *groups;
	size_t n, room;
};

struct leaks *leaks__new(struct aclguard_bpf *skel, const struct report_cfg *cfg)
{
	struct leaks *lk = calloc(1, sizeof(*lk));

	if (!lk)
		return NULL;
	lk->skel = skel;
	lk->cfg = cfg;
	return lk;
}

void leaks__free(struct leaks *lk)
{
	if (!lk)
		return;
	for (size_t i = 0; i < lk->n; i++)
		sym_result__clear(&lk->groups[i].sym);
	free(lk->groups);
	free(lk);
}

/* ---- taking down --------------------------------------------------------- */

static struct group *find_group(struct leaks *lk, const struct group *g)
{
	for (size_t i = 0; i < lk->n; i++) {
		struct group *h = &lk->groups[i];

		if (h->inc == g->inc && h->site == g->site && h->call == g->call &&
		    h->rule == g->rule)
			return h;
	}
	return NULL;
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
	if (g->site && lk->cfg->sym)
		symbolizer__resolve_return(lk->cfg->sym, g->pid, g->site, &groups->sym);
	return groups;
}

static void take_down(struct leaks *lk, struct group *g, uint64_t bytes, uint64_t age)
{
	struct group *h = find_group(lk, g);

	if (!h && lk->n >= GROUPS_MAX) {
		g->site = 0;
		h = find_group(lk, g);
	}
	if (!h)
		h = add_group(lk, g);
	if (!h)
		return;
	h->count++;
	h->bytes += bytes;
	if (age > h->oldest)
		h->oldest = age;
}

static void collect_bufs(struct leaks *lk, struct group *g, uint64_t now)
{
	struct bpf_map *map = lk->skel->maps.bufs;
	struct acl_key key, *prev = NULL, at;
	struct acl_buf b;

	while (!bpf_map__get_next_key(map, prev, &key, sizeof(key))) {
		at = key;
		prev = &at;
		if (key.inc != g->inc ||
		    bpf_map__lookup_elem(map, &key, sizeof(key), &b, sizeof(b), 0))
			continue;
		g->site = b.site;
		g->call = b.call;
		g->example = b.base;
		take_down(lk, g, b.size, now > b.born ? now - b.born : 0);
	}
}

static void collect_events(struct leaks *lk, struct group *g, uint64_t now)
{
	struct bpf_map *map = lk->skel->maps.events;
	struct acl_key key, *prev = NULL, at;
	struct acl_event e;

	while (!bpf_map__get_next_key(map, prev, &key, sizeof(key))) {
		at = key;
		prev = &at;
		if (key.inc != g->inc ||
		    bpf_map__lookup_elem(map, &key, sizeof(key), &e, sizeof(e), 0))
			continue;
		g->site = e.site;
		g->call = e.call;
		g->example = e.handle;
		take_down(lk, g, 0, now > e.born ? now - e.born : 0);
	}
}

void leaks__collect(struct leaks *lk, uint64_t inc, pid_t pid, const char *comm, uint64_t now)
{
	struct group g = { .inc = inc, .pid = pid };

	strncpy(g.comm, comm, sizeof(g.comm) - 1);
	if (lk->cfg->rules & ACL_RULE_BIT(ACL_RULE_HOST_LEAK)) {
		g.rule = ACL_RULE_HOST_LEAK;
		collect_bufs(lk, &g, now);
	}
	if (lk->cfg->rules & ACL_RULE_BIT(ACL_RULE_EVENT_LEAK)) {
		g.rule = ACL_RULE_EVENT_LEAK;
		collect_events(lk, &g, now);
	}
}

/* ---- printing ------------------------------------------------------------ */

static void text_site(const struct group *g, char *buf, size_t n)
{
	char name[256], module[256];
	const char *base;

	if (g->sym.kind != SYM_FILE) {
		snprintf(buf, n, g->site ? "at 0x%" PRIx64 : "at a place not kept", g->site);
		return;
	}
	base = g->sym.module ? strrchr(g->sym.module, '/') : NULL;
	escape__str(module, sizeof(module), base ? base + 1 : g->sym.module);
	escape__str(name, sizeof(name), g->sym.function);
	if (g->sym.function)
		snprintf(buf, n, "in %s+0x%" PRIx64 " (%s+0x%" PRIx64 ")", name,
			 g->sym.function_offset, module, g->sym.module_offset);
	else
		snprintf(buf, n, "at (%s+0x%" PRIx64 ")", module, g->sym.module_offset);
}

static int print_text(const struct leaks *lk, const struct group *g)
{
	char comm[ACL_COMM_LEN * ESCAPE_TEXT_EXPAND + 1], site[640], age[REPORT_SPAN_MAX];
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
	json__str(j, "created_by", g->call == ACL_C_MAX ? NULL : acl_call__name(g->call));
	json__u64(j, "count", g->count);
	json__u64(j, "bytes", g->bytes);
	json__double(j, "oldest_us", (double)g->oldest / 1000, 3);
	json__hex(j, "example", g->example);
	json__begin_object(j, "site");
	json__hex(j, "address", g->site);
	json__str(j, "function", g->sym.function);
	json__u64(j, "function_offset", g->sym.function_offset);
	json__str(j, "module", g->sym.module);
	json__u64(j, "module_offset", g->sym.module_offset);
	json__str(j, "file", g->sym.file);
	json__u64(j, "line", g->sym.line);
	json__end_object(j);
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

int leaks__print(const struct leaks *lk)
{
	int err = 0;

	if (lk->n)
		qsort(lk->groups, lk->n, sizeof(*lk->groups), compare_groups);
	for (size_t i = 0; !err && i < lk->n; i++) {
		if (lk->cfg->json) {
			err = print_json(lk, &lk->groups[i]);
		} else if (i < SHOWN_MAX || lk->cfg->verbose) {
			err = print_text(lk, &lk->groups[i]);
		} else {
			fprintf(lk->cfg->text,
				"==aclguard== and %zu more places that leave something (-v "
				"shows all)\n",
				lk->n - i);
			break;
		}
	}
	if (lk->cfg->text)
		fflush(lk->cfg->text);
	return err;
}
