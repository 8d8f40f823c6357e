/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stories.  Those that are not over are in a pool of fixed size, and linked four
 * ways: by age, to find the oldest; by verdict and by event, to find whom a
 * sequel belongs to; and in the order in which follow-ups fall due, which is the
 * order of the releases' returns because all wait equally long.
 */
#include "story.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "backtrace.h"
#include "enforcement.h"
#include "report_json.h"
#include "report_text.h"
#include "sites.h"
#include "suppress.h"

#define HASH_BITS 12
#define HASH_SIZE (1U << HASH_BITS)

/* Latencies by octave and sixteenth of it. */
#define OCTAVE_BITS 4
#define OCTAVE_STEPS (1U << OCTAVE_BITS)
#define LATENCY_BUCKETS ((64 - OCTAVE_BITS + 1) * OCTAVE_STEPS)

struct node {
	TAILQ_ENTRY(node) age; /* or in the list of free ones */
	TAILQ_ENTRY(node) due;
	LIST_ENTRY(node) by_id;
	LIST_ENTRY(node) by_event;
	bool waits; /* is among the due */
	struct story s;
};

TAILQ_HEAD(node_queue, node);
LIST_HEAD(node_list, node);

struct stories {
	struct report_cfg cfg;
	struct story_counts counts;
	uint64_t nr;
	int write_err;
	size_t pending;
	uint64_t unheard; /* events of what is not followed so far: nobody waits for their end */
	struct node_queue by_age; /* the oldest first */
	struct node_queue by_due;
	struct node_queue unused;
	struct node_list by_id[HASH_SIZE];
	struct node_list by_event[HASH_SIZE];
	uint64_t latency[LATENCY_BUCKETS];
	struct node pool[STORIES_MAX];
};

static unsigned int hash(uint64_t id)
{
	return id * 0x9e3779b97f4a7c15ULL >> (64 - HASH_BITS);
}

struct stories *stories__new(const struct report_cfg *cfg)
{
	struct stories *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->cfg = *cfg;
	TAILQ_INIT(&st->by_age);
	TAILQ_INIT(&st->by_due);
	TAILQ_INIT(&st->unused);
	for (size_t i = 0; i < STORIES_MAX; i++)
		TAILQ_INSERT_TAIL(&st->unused, &st->pool[i], age);
	return st;
}

void stories__free(struct stories *st)
{
	free(st);
}

static void note_write(struct stories *st, int err)
{
	if (err && !st->write_err)
		st->write_err = err;
}

/* ---- latency ------------------------------------------------------------ */

static unsigned int latency_bucket(uint64_t ns)
{
	unsigned int octave;

	if (ns < OCTAVE_STEPS)
		return ns;
	octave = 63 - __builtin_clzll(ns) - OCTAVE_BITS;
	return (octave + 1) * OCTAVE_STEPS + (ns >> octave) % OCTAVE_STEPS;
}

/* The middle of a bucket. */
static uint64_t latency_of(unsigned int bucket)
{
	unsigned int octave;

	if (bucket < 2 * OCTAVE_STEPS)
		return bucket;
	octave = bucket / OCTAVE_STEPS - 1;
	return ((uint64_t)(OCTAVE_STEPS + bucket % OCTAVE_STEPS) << octave) + (1ULL << octave) / 2;
}

static void latency_add(struct stories *st, uint64_t from, uint64_t to)
{
	if (!st->cfg.wall_offset_ns)
		st->latency[latency_bucket(to > from ? to - from : 0)]++;
}

uint64_t stories__latency_ns(const struct stories *st, double quantile)
{
	uint64_t total = 0, below = 0;

	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		total += st->latency[i];
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		below += st->latency[i];
		if (st->latency[i] && (double)below >= quantile * (double)total)
			return latency_of(i);
	}
	return 0;
}

/* How a violation was told, or why not. */
struct telling {
	bool silent; /* it was folded or suppressed */
	bool has_site;
	char id[SITE_ID_SIZE];
	struct site_of of;
	struct site *site; /* NULL: none in the table */
	uint64_t printed;  /* when; 0: it was not */
};

/* ---- one story ---------------------------------------------------------- */

static void follow_up(struct stories *st, struct node *n, enum followup why)
{
	int err = 0;

	if (n->s.silent)
		err = 0;
	else if (st->cfg.json)
		err = report_json__followup(&st->cfg, &n->s, why);
	else
		err = report_text__followup(&st->cfg, &n->s, why);
	note_write(st, err);
	if (st->cfg.sink && st->cfg.sink->followup)
		st->cfg.sink->followup(st->cfg.sink->arg, &n->s, why);
	n->s.told = true;
}

static void stop_waiting(struct stories *st, struct node *n)
{
	if (n->waits)
		TAILQ_REMOVE(&st->by_due, n, due);
	n->waits = false;
}

static void end_story(struct stories *st, struct node *n)
{
	stop_waiting(st, n);
	TAILQ_REMOVE(&st->by_age, n, age);
	LIST_REMOVE(n, by_id);
	if (n->s.event)
		LIST_REMOVE(n, by_event);
	TAILQ_INSERT_HEAD(&st->unused, n, age);
	st->pending--;
}

/* Its end was not seen; what was not told before is told now. */
static void evict_oldest(struct stories *st)
{
	struct node *n = TAILQ_FIRST(&st->by_age);

	if (!n->s.told)
		follow_up(st, n, FOLLOWUP_EVICTED);
	end_story(st, n);
	st->counts.evicted++;
}

/* What is folded or suppressed is followed to its return only: that may confirm it. */
static void begin_story(struct stories *st, const struct acl_violation *v, const struct telling *t)
{
	bool follow = v->has_event && !t->silent;
	struct node *n;

	if (TAILQ_EMPTY(&st->unused))
		evict_oldest(st);
	n = TAILQ_FIRST(&st->unused);
	TAILQ_REMOVE(&st->unused, n, age);
	n->waits = false;
	n->s = (struct story){
		.nr = st->nr,
		.id = v->id,
		.inc = v->h.inc,
		.time = v->h.time,
		.ptr = v->ptr,
		/* only an event that lives can be destroyed */
		.event = follow ? v->poll.event : 0,
		.event_handle = follow ? v->poll.handle : 0,
		.site_id = t->of.id,
		.site_key = t->of.key,
		.tgid = v->h.tgid,
		.call = v->call,
		.rule = v->rule,
		.level = v->level,
		.evidence = v->evidence,
		.silent = t->silent,
		.suppressed = t->of.by,
		.has_site = t->has_site,
	};
	st->unheard += t->silent && v->has_event && v->poll.event;
	TAILQ_INSERT_TAIL(&st->by_age, n, age);
	LIST_INSERT_HEAD(&st->by_id[hash(n->s.id)], n, by_id);
	if (n->s.event)
		LIST_INSERT_HEAD(&st->by_event[hash(n->s.event)], n, by_event);
	st->pending++;
}

/* ---- records ------------------------------------------------------------ */

/* Verdicts that fall at the entry of a call have a return to come. */
static bool has_sequel(enum acl_rule rule)
{
	return rule == ACL_RULE_FREE_BEFORE_DESTROY || rule == ACL_RULE_FREE_IN_FLIGHT ||
	       rule == ACL_RULE_FREE_AFTER_STREAM_QUERY || rule == ACL_RULE_FREE_AFTER_EVENT_SYNC;
}

static bool is_sound(const struct acl_violation *v, size_t size)
{
	return size >= sizeof(*v) && v->h.type == ACL_REC_VIOLATION && v->rule != ACL_RULE_NONE &&
	       v->rule < ACL_RULE_MAX && v->level < ACL_LEVEL_MAX && v->evidence < ACL_EV_MAX &&
	       v->hazard < ACL_HZ_MAX && v->call < ACL_C_MAX;
}

static void tell_sink(const struct stories *st, const struct acl_violation *v,
		      const struct telling *t)
{
	const struct story_told told = {
		.v = v,
		.nr = st->nr,
		.printed = t->printed,
		.suppressed = t->of.by,
		.folded = t->silent && !t->of.by,
		.site = t->has_site ? t->id : NULL,
		.enforcement = st->cfg.enforcement,
	};

	if (st->cfg.sink && st->cfg.sink->violation)
		st->cfg.sink->violation(st->cfg.sink->arg, &told);
}

static void print(struct stories *st, const struct acl_violation *v, struct backtrace *bt,
		  struct telling *t)
{
	const char *id = t->has_site ? t->id : NULL;

	report_cfg__slow(&st->cfg, true);
	if (st->cfg.json)
		note_write(st, report_json__violation(&st->cfg, st->nr, v, bt, id, &t->printed));
	else
		note_write(st, report_text__violation(&st->cfg, st->nr, v, bt, id, &t->printed));
	report_cfg__slow(&st->cfg, false);
	latency_add(st, v->h.time, t->printed);
	if (t->site)
		site__printed(t->site, st->nr, v->level, bt);
}

/* Then it is not just one more: each action is told in full, and how to go on. */
static bool was_acted_upon(const struct report_cfg *cfg)
{
	const struct enforcement *e = cfg->enforcement;

	return e && (e->act == ACL_ACT_SENT || e->act == ACL_ACT_FAILED);
}

static void enforce(struct stories *st, const struct acl_violation *v, bool suppressed)
{
	if (st->cfg.enforce)
		st->cfg.enforcement = st->cfg.enforce(st->cfg.enforce_arg, v, suppressed);
}

/* Whether and how it is told; counts it. */
static void tell(struct stories *st, const struct acl_violation *v, struct backtrace *bt,
		 struct telling *t)
{
	enum site_fate fate = SITE_PRINT;

	bool asks = suppress__may_apply(st->cfg.suppress, v->rule);

	/* as soon as can be: the process goes on */
	if (!asks)
		enforce(st, v, false);
	if (st->cfg.sites) {
		sites__find(st->cfg.sites, &st->cfg, v, bt, &t->of);
		site__id(t->id, t->of.id);
		t->has_site = true;
	}
	if (asks)
		enforce(st, v, t->of.by);
	if (t->of.by) {
		suppress__hit(st->cfg.suppress, t->of.by, v->rule, 1);
		t->silent = true;
		return;
	}
	st->nr++;
	st->counts.n[v->rule][v->level][v->evidence]++;
	if (st->cfg.sites)
		fate = sites__count(st->cfg.sites, &t->of, v, &t->site);
	t->silent = st->cfg.fold && fate != SITE_PRINT && !was_acted_upon(&st->cfg);
	if (!t->silent)
		print(st, v, bt, t);
	else if (fate == SITE_COUNT)
		note_write(st, site__print(&st->cfg, t->site));
}

int stories__violation(struct stories *st, const struct acl_violation *v, size_t size)
{
	struct telling t = { .site = NULL };
	struct backtrace bt;

	if (!is_sound(v, size)) {
		st->counts.malformed++;
		return -EINVAL;
	}
	backtrace__take(&st->cfg, v, &bt);
	tell(st, v, &bt, &t);
	backtrace__clear(&bt);
	tell_sink(st, v, &t);
	if (has_sequel(v->rule))
		begin_story(st, v, &t);
	return 0;
}

/* That the runtime refused the call is the best evidence there is. */
static void confirm(struct stories *st, struct story *s)
{
	uint64_t *n = st->counts.n[s->rule][s->level];

	if (s->suppressed)
		return;
	if (s->has_site && s->evidence != ACL_EV_CONFIRMED)
		sites__confirm(st->cfg.sites, s->site_key);
	n[s->evidence]--;
	n[ACL_EV_CONFIRMED]++;
	s->evidence = ACL_EV_CONFIRMED;
}

/* The story whose call returned; one that has returned does not do so again. */
static struct node *find_story(struct stories *st, const struct acl_sequel *q)
{
	struct node *n;

	for (n = LIST_FIRST(&st->by_id[hash(q->id)]); n; n = LIST_NEXT(n, by_id))
		if (n->s.id == q->id && n->s.inc == q->h.inc && !n->s.returned)
			return n;
	return NULL;
}

static void join_release(struct stories *st, const struct acl_sequel *q)
{
	struct node *n = find_story(st, q);

	if (!n) {
		st->counts.orphans++;
		return;
	}
	n->s.returned = true;
	n->s.ret = q->ret;
	n->s.unseen = q->ret == ACL_RET_UNSEEN;
	n->s.end = q->end;
	if (q->ret && !n->s.unseen)
		confirm(st, &n->s);
	if (n->s.event && !n->s.destroyed) {
		n->waits = true;
		TAILQ_INSERT_TAIL(&st->by_due, n, due);
		return;
	}
	follow_up(st, n, FOLLOWUP_DONE);
	end_story(st, n);
}

/* Every story that names the event hears of it; the youngest come first in the list. */
static void join_destroy(struct stories *st, const struct acl_sequel *q)
{
	struct node *n, *next;
	bool found = false;

	for (n = LIST_FIRST(&st->by_event[hash(q->id)]); n; n = next) {
		next = LIST_NEXT(n, by_event);
		if (n->s.event != q->id || n->s.inc != q->h.inc || n->s.destroyed)
			continue;
		found = true;
		n->s.destroyed = true;
		n->s.destroy_time = q->h.time;
		stop_waiting(st, n);
		if (!n->s.returned)
			continue;
		follow_up(st, n, FOLLOWUP_DONE);
		end_story(st, n);
	}
	if (found)
		return;
	if (st->unheard)
		st->unheard--;
	else
		st->counts.orphans++;
}

int stories__sequel(struct stories *st, const struct acl_sequel *s, size_t size)
{
	if (size >= sizeof(*s) && s->h.type == ACL_REC_RELEASED) {
		join_release(st, s);
	} else if (size >= sizeof(*s) && s->h.type == ACL_REC_DESTROYED) {
		join_destroy(st, s);
	} else {
		st->counts.malformed++;
		return -EINVAL;
	}
	return 0;
}

/* ---- time and ends ------------------------------------------------------ */

uint64_t stories__timeout(struct stories *st, uint64_t now_ns)
{
	struct node *n;

	while ((n = TAILQ_FIRST(&st->by_due))) {
		uint64_t due = n->s.end + FOLLOWUP_DELAY_NS;

		if (due > now_ns)
			return due - now_ns;
		follow_up(st, n, FOLLOWUP_WAITING);
		stop_waiting(st, n);
	}
	return UINT64_MAX;
}

/* Stories of one process that have only this left to say: in text, in one line. */
struct never {
	uint32_t tgid;
	size_t n;
	uint64_t nrs[STORIES_MAX];
};

static void never_flush(struct stories *st, struct never *nv, enum followup why)
{
	if (nv->n)
		note_write(st,
			   report_text__never_destroyed(&st->cfg, nv->tgid, nv->nrs, nv->n, why));
	nv->n = 0;
}

static void never_add(struct stories *st, struct never *nv, const struct story *s,
		      enum followup why)
{
	if (nv->tgid != s->tgid)
		never_flush(st, nv, why);
	nv->tgid = s->tgid;
	nv->nrs[nv->n++] = s->nr;
}

/* inc 0: of all incarnations. */
static void end_all(struct stories *st, uint64_t inc, enum followup why)
{
	struct never *nv = st->cfg.json ? NULL : calloc(1, sizeof(*nv));
	struct node *n, *next;

	for (n = TAILQ_FIRST(&st->by_age); n; n = next) {
		next = TAILQ_NEXT(n, age);
		if (inc && n->s.inc != inc)
			continue;
		if (nv && n->s.told && !n->s.silent)
			never_add(st, nv, &n->s, why);
		else
			follow_up(st, n, why);
		end_story(st, n);
	}
	if (nv)
		never_flush(st, nv, why);
	free(nv);
}

void stories__process_gone(struct stories *st, uint64_t inc)
{
	if (inc) /* 0: it had never called the runtime */
		end_all(st, inc, FOLLOWUP_GONE);
}

void stories__finish(struct stories *st)
{
	end_all(st, 0, FOLLOWUP_STOPPED);
}

/* ---- figures ------------------------------------------------------------ */

const struct story_counts *stories__counts(const struct stories *st)
{
	return &st->counts;
}

uint64_t stories__count(const struct stories *st, enum acl_level level)
{
	uint64_t sum = 0;

	for (int rule = 0; rule < ACL_RULE_MAX; rule++)
		for (int ev = 0; ev < ACL_EV_MAX; ev++)
			sum += st->counts.n[rule][level][ev];
	return sum;
}

size_t stories__pending(const struct stories *st)
{
	return st->pending;
}

int stories__write_error(const struct stories *st)
{
	return st->write_err;
}
