/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sites.  Two tables: from stacks to sites, a cache in sets of a few ways; and the
 * sites, in a pool that is never outgrown.
 */
#include "sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "backtrace.h"
#include "escape.h"
#include "json.h"
#include "names.h"
#include "procinfo.h"
#include "report_out.h"
#include "story.h"
#include "suppress.h"
#include "symbols.h"

#define PREFIX "==aclguard== "
#define WAYS 4
#define SHOWN_MAX 20 /* in the summary; JSON has all */
#define ID_BITS 48   /* 12 hex digits */

/* A stack that was seen. */
struct seen {
	uint64_t stack; /* what it hashes to, 0: unused */
	uint64_t used;
	struct site_of of;
};

struct node {
	UT_hash_handle hh;
	TAILQ_ENTRY(node) age; /* or in the list of free ones */
	uint64_t key;
	struct site site;
};

TAILQ_HEAD(node_queue, node);

struct sites {
	struct node *table;	  /* by key */
	struct node_queue by_age; /* what was seen longest ago first */
	struct node_queue unused;
	uint64_t forgotten;	   /* sites that went to make room */
	uint64_t forgotten_folded; /* what was folded into them */
	uint64_t seed;		   /* so that nobody can choose stacks that collide */
	uint64_t clock;
	struct seen seen[SITES_STACKS_MAX / WAYS][WAYS];
	struct node pool[SITES_MAX];
};

struct sites *sites__new(void)
{
	struct sites *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	TAILQ_INIT(&st->by_age);
	TAILQ_INIT(&st->unused);
	for (size_t i = 0; i < SITES_MAX; i++)
		TAILQ_INSERT_TAIL(&st->unused, &st->pool[i], age);
	if (getrandom(&st->seed, sizeof(st->seed), GRND_NONBLOCK) < 0)
		st->seed = (uintptr_t)st;
	return st;
}

void sites__free(struct sites *st)
{
	if (!st)
		return;
	HASH_CLEAR(hh, st->table);
	for (size_t i = 0; i < SITES_MAX; i++)
		free(st->pool[i].site.place);
	free(st);
}

/* ---- ids ------------------------------------------------------------------ */

/* FNV-1a: the same everywhere and for ever, which is all that is asked of it. */
#define HASH_START 0xcbf29ce484222325ULL

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

/* With its end, so that what follows cannot be taken for a part of it. */
static uint64_t hash_str(uint64_t h, const char *s)
{
	return hash_bytes(h, s, strlen(s) + 1);
}

static uint64_t hash_number(uint64_t h, uint64_t n)
{
	unsigned char le[8];

	for (int i = 0; i < 8; i++)
		le[i] = (unsigned char)(n >> 8 * i);
	return hash_bytes(h, le, sizeof(le));
}

/* All bits of it count then. */
static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The callers at most: the runtime's own frame is there at a call's entry only. */
static unsigned int frames_of(const struct backtrace *bt)
{
	unsigned int n = bt->at_return ? SITE_FRAMES - 1 : SITE_FRAMES;

	return bt->n < n ? bt->n : n;
}

/* In one that is the same next time; what a program made for its own code is not. */
static bool is_in_file(const struct sym_result *sym)
{
	return sym->kind == SYM_FILE && sym->module && (sym->build_id_len || !sym->deleted);
}

/* Returns how many frames lie in files. */
static unsigned int hash_frames(uint64_t *h, const struct backtrace *bt)
{
	unsigned int n = frames_of(bt), i;

	for (i = 0; i < n; i++) {
		const struct sym_result *sym = &bt->f[i].sym;

		if (!is_in_file(sym))
			break;
		*h = hash_number(*h, sym->build_id_len);
		if (sym->build_id_len)
			*h = hash_bytes(*h, sym->build_id, sym->build_id_len);
		else
			*h = hash_str(*h, base_name(sym->module));
		*h = hash_number(*h, sym->module_offset);
	}
	return i;
}

/* Of what cannot be placed: good within one run. */
static uint64_t hash_addresses(uint64_t h, const struct acl_violation *v,
			       const struct backtrace *bt)
{
	for (unsigned int i = 0; i < frames_of(bt); i++)
		h = hash_number(h, bt->f[i].addr);
	h = hash_number(h, v->h.inc);
	h = hash_number(h, v->buf.id ? v->buf.site : 0);
	return hash_number(h, v->has_event ? v->event.site : 0);
}

static void make_id(const struct acl_violation *v, const struct backtrace *bt, struct site_of *of)
{
	uint64_t h = HASH_START;
	unsigned int placed;

	h = hash_str(h, acl_rule__name(v->rule));
	h = hash_str(h, acl_call__name(v->call));
	h = hash_bytes(h, v->comm, strnlen(v->comm, sizeof(v->comm)));
	h = hash_number(h, 0);
	placed = hash_frames(&h, bt);
	of->id = mix(h) >> (64 - ID_BITS);
	of->key = mix(placed ? h : hash_addresses(h, v, bt));
}

/* ---- stacks that were seen ------------------------------------------------- */

static uint64_t hash_word(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

/* Never 0.  The program's name can change while it runs. */
static uint64_t hash_stack(const struct sites *st, const struct acl_violation *v,
			   const struct backtrace *bt)
{
	uint64_t h = st->seed, words[ACL_COMM_LEN / 8];

	memcpy(words, v->comm, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = hash_word(h, words[i]);
	h = hash_word(h, v->h.inc);
	h = hash_word(h, (uint64_t)v->rule << 16 | v->call);
	h = hash_word(h, v->buf.id ? v->buf.site : 0);
	h = hash_word(h, v->has_event ? v->event.site : 0);
	for (unsigned int i = 0; i < bt->n; i++)
		h = hash_word(h, bt->f[i].addr);
	h = mix(h);
	return h ? h : 1;
}

/* Where it is, or where it is to be put. */
static struct seen *find_seen(struct sites *st, uint64_t stack)
{
	struct seen *set = st->seen[stack % (SITES_STACKS_MAX / WAYS)], *oldest = set;

	for (int i = 0; i < WAYS; i++) {
		if (set[i].stack == stack)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

void sites__find(struct sites *st, const struct report_cfg *cfg, const struct acl_violation *v,
		 struct backtrace *bt, struct site_of *of)
{
	uint64_t stack = hash_stack(st, v, bt);
	struct seen *seen = find_seen(st, stack);
	pid_t pid = (pid_t)v->h.tgid;

	seen->used = ++st->clock;
	if (seen->stack == stack) {
		*of = seen->of;
		return;
	}
	*of = (struct site_of){ .by = NULL };
	report_cfg__slow(cfg, true);
	procs__get(cfg->procs, pid); /* the report asks for it, when it may be gone */
	backtrace__place(cfg, pid, bt, SITE_FRAMES);
	make_id(v, bt, of);
	if (suppress__may_apply(cfg->suppress, v->rule)) {
		backtrace__name(cfg, pid, bt);
		of->by = suppress__match_backtrace(cfg->suppress, v->rule, v->comm, bt);
	}
	report_cfg__slow(cfg, false);
	seen->stack = stack;
	seen->of = *of;
}

/* ---- sites ------------------------------------------------------------------ */

static struct node *find_node(struct sites *st, uint64_t key)
{
	struct node *n;

	HASH_FIND(hh, st->table, &key, sizeof(key), n);
	return n;
}

static void forget_oldest(struct sites *st)
{
	struct node *n = TAILQ_FIRST(&st->by_age);

	HASH_DELETE(hh, st->table, n);
	TAILQ_REMOVE(&st->by_age, n, age);
	TAILQ_INSERT_HEAD(&st->unused, n, age);
	st->forgotten++;
	st->forgotten_folded += n->site.count - n->site.printed;
	free(n->site.place);
	n->site.place = NULL;
}

static struct node *add_node(struct sites *st, const struct site_of *of,
			     const struct acl_violation *v)
{
	struct node *n;

	if (TAILQ_EMPTY(&st->unused))
		forget_oldest(st);
	n = TAILQ_FIRST(&st->unused);
	n->key = of->key;
	n->hh.tbl = NULL;
	HASH_ADD(hh, st->table, key, sizeof(n->key), n);
	if (!n->hh.tbl)
		return NULL; /* no memory */
	TAILQ_REMOVE(&st->unused, n, age);
	TAILQ_INSERT_TAIL(&st->by_age, n, age);
	n->site = (struct site){ .id = of->id, .rule = v->rule, .call = v->call };
	memcpy(n->site.comm, v->comm, sizeof(n->site.comm));
	return n;
}

/* 10, 100, 1000, ... */
static bool is_round(uint64_t n)
{
	while (n >= 10 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

enum site_fate sites__count(struct sites *st, const struct site_of *of,
			    const struct acl_violation *v, struct site **site)
{
	struct node *n = find_node(st, of->key);

	*site = NULL;
	if (!n)
		n = add_node(st, of, v);
	if (!n)
		return SITE_PRINT;
	TAILQ_REMOVE(&st->by_age, n, age);
	TAILQ_INSERT_TAIL(&st->by_age, n, age);
	*site = &n->site;
	n->site.tgid = v->h.tgid;
	n->site.count++;
	n->site.confirmed += v->evidence == ACL_EV_CONFIRMED;
	if (!n->site.printed || v->level > n->site.level)
		return SITE_PRINT;
	return n->site.count >= 10 && is_round(n->site.count) ? SITE_COUNT : SITE_FOLD;
}

void site__printed(struct site *site, uint64_t nr, unsigned int level, const struct backtrace *bt)
{
	unsigned int caller = bt->at_return ? 0 : 1;
	char place[SITE_PLACE_MAX];

	if (!site->first)
		site->first = nr;
	site->printed++;
	if (level > site->level)
		site->level = (uint8_t)level;
	if (site->place || caller >= bt->n)
		return;
	site__place(place, sizeof(place), &bt->f[caller].sym);
	site->place = strdup(place);
}

void sites__confirm(struct sites *st, uint64_t key)
{
	struct node *n = find_node(st, key);

	if (n)
		n->site.confirmed++;
}

/* ---- telling ----------------------------------------------------------------- */

const char *site__id(char buf[SITE_ID_SIZE], uint64_t id)
{
	snprintf(buf, SITE_ID_SIZE, "%012" PRIx64, (uint64_t)(id & ((1ULL << ID_BITS) - 1)));
	return buf;
}

void site__place(char *buf, size_t n, const struct sym_result *sym)
{
	char name[128], module[128];

	if (sym->kind != SYM_FILE || !sym->module) {
		snprintf(buf, n, "at 0x%" PRIx64, sym->addr);
		return;
	}
	escape__str(module, sizeof(module), base_name(sym->module));
	escape__str(name, sizeof(name), sym->function);
	if (sym->function)
		snprintf(buf, n, "in %s+0x%" PRIx64 " (%s+0x%" PRIx64 ")", name,
			 sym->function_offset, module, sym->module_offset);
	else
		snprintf(buf, n, "at (%s+0x%" PRIx64 ")", module, sym->module_offset);
}

static void put_site(struct json *j, const struct site *site)
{
	char id[SITE_ID_SIZE];

	json__str(j, "site", site__id(id, site->id));
	json__str(j, "rule", acl_rule__name(site->rule));
	json__str(j, "call", acl_call__name(site->call));
	json__strn(j, "program", site->comm, strnlen(site->comm, sizeof(site->comm)));
	json__str(j, "place", site->place);
	json__u64(j, "count", site->count);
	json__u64(j, "confirmed", site->confirmed);
	json__u64(j, "printed", site->printed);
	if (site->first)
		json__u64(j, "first", site->first);
	else
		json__null(j, "first");
}

int site__print(const struct report_cfg *cfg, const struct site *site)
{
	char id[SITE_ID_SIZE];
	struct report_out o;

	if (cfg->json) {
		json__begin(cfg->json);
		json__str(cfg->json, "type", "site");
		json__u64(cfg->json, "pid", site->tgid);
		put_site(cfg->json, site);
		return json__end(cfg->json);
	}
	report_out__init(&o, cfg->text);
	report_out__printf(&o,
			   "==%u==aclguard: site %s: %" PRIu64 " times so far, %" PRIu64
			   " confirmed (%s, first #%" PRIu64 ")\n",
			   site->tgid, site__id(id, site->id), site->count, site->confirmed,
			   acl_rule__name(site->rule), site->first);
	return report_out__flush(&o);
}

static void print_site(struct report_out *o, const struct site *site)
{
	char comm[ACL_COMM_LEN * ESCAPE_TEXT_EXPAND + 1], id[SITE_ID_SIZE];

	escape__text(comm, sizeof(comm), site->comm, strnlen(site->comm, sizeof(site->comm)));
	report_out__printf(o,
			   PREFIX "  site %s: %" PRIu64 " times, %" PRIu64
				  " confirmed: %s by %s %s, first #%" PRIu64 "\n",
			   site__id(id, site->id), site->count, site->confirmed,
			   acl_rule__name(site->rule), comm,
			   site->place ? site->place : "at an unknown place", site->first);
}

/* Most violations first, then in the order of the reports. */
static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Copies, in an array that the caller frees; NULL where there is nothing. */
static struct site *sorted(const struct sites *st, bool folded, size_t *n)
{
	struct site *list = calloc(SITES_MAX, sizeof(*list));
	const struct node *node;

	*n = 0;
	if (!list)
		return NULL;
	TAILQ_FOREACH(node, &st->by_age, age)
	if (!folded || node->site.count > node->site.printed)
		list[(*n)++] = node->site;
	if (*n)
		qsort(list, *n, sizeof(*list), compare_sites);
	return list;
}

void sites__print(const struct sites *st, struct report_out *o, bool all)
{
	struct site *list;
	size_t n, shown;

	if (!st)
		return;
	list = sorted(st, true, &n);
	shown = all || n < SHOWN_MAX ? n : SHOWN_MAX;
	if (n)
		report_out__printf(o, PREFIX "printed once and then counted:\n");
	for (size_t i = 0; i < shown; i++)
		print_site(o, &list[i]);
	if (shown < n)
		report_out__printf(o, PREFIX "  and %zu more sites (-v shows all)\n", n - shown);
	if (st->forgotten)
		report_out__printf(o,
				   PREFIX
				   "forgotten: %" PRIu64 " sites, with %" PRIu64
				   " violations that were counted there and not printed; what "
				   "came from them later was printed again\n",
				   st->forgotten, st->forgotten_folded);
	free(list);
}

void sites__json(const struct sites *st, struct json *j)
{
	struct site *list;
	size_t n = 0;

	list = st ? sorted(st, false, &n) : NULL;
	json__begin_array(j, "sites");
	for (size_t i = 0; list && i < n; i++) {
		json__begin_object(j, NULL);
		put_site(j, &list[i]);
		json__end_object(j);
	}
	json__end_array(j);
	json__u64(j, "sites_forgotten", st ? st->forgotten : 0);
	free(list);
}
