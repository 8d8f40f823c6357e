/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The store of series.  Programs are kept by their four labels, live processes by their
 * incarnation; a live process has the numbers that were last heard of it, so that a
 * counter never falls between its end in the kernel and our hearing of it.
 *
 * Two locks.  `lock` is for all numbers, and held shortly.  `stable` is held by whoever
 * reads labels without it, and by whoever removes programs: rendering takes it, copies
 * the numbers under `lock`, and writes the text at leisure.
 */
#include "metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "escape.h"

#define OTHER "other"
#define WHO_LABELS 4
#define OWN_LABELS 3  /* at most, before those */
#define LABEL_MAX 256 /* bytes of a value; Kubernetes takes no longer names */

/* A series that is not of every program. */
struct series {
	struct series *next;
	const char *labels[OWN_LABELS];
	uint64_t val; /* a count, or ns */
	enum metric metric;
};

/* Of a program; live ones are summed up anew for each rendering. */
struct totals {
	uint64_t processes, late;
	uint64_t events, streams, bufs, bytes;
	uint64_t live, live_events, live_streams, live_bufs, live_bytes;
};

struct program {
	UT_hash_handle hh;
	const char *labels[WHO_LABELS]; /* in `key`, one behind the other with their NULs */
	struct totals gone;		/* of processes that are over */
	struct totals all;		/* with those that live */
	struct series *series;
	size_t nseries;
	uint64_t idle; /* since when it has no live process; 0: that is to be noted */
	size_t nlive;
	bool other;
	char key[];
};

struct live {
	UT_hash_handle hh;
	uint64_t inc;
	struct program *program;
	struct totals now; /* of this process, as far as heard */
};

struct metrics {
	pthread_mutex_t lock;
	pthread_mutex_t stable;
	size_t max_series, nseries;
	uint64_t expire_ns;
	struct program *programs;
	struct program *other;
	struct live *live;
	uint64_t dropped;
	struct histogram gap, poll_age, delay, release[METRICS_OUTCOME_MAX];
};

static const char *const outcomes[METRICS_OUTCOME_MAX] = {
	[METRICS_OK] = "ok",
	[METRICS_FAILED] = "failed",
};

/* ---- programs ------------------------------------------------------------ */

static struct program *program__new(const char *key, size_t len)
{
	struct program *p = calloc(1, sizeof(*p) + len);

	if (!p)
		return NULL;
	memcpy(p->key, key, len);
	for (size_t i = 0; i < WHO_LABELS; i++) {
		p->labels[i] = key = i ? key + strlen(key) + 1 : p->key;
	}
	return p;
}

static void program__free(struct program *p)
{
	struct series *s, *next;

	for (s = p->series; s; s = next) {
		next = s->next;
		free(s);
	}
	free(p);
}

/* As it is shown: so programs whose names look alike are one.  Returns the key's length. */
static size_t make_key(char *key, const struct metrics_who *who)
{
	const char *const vals[WHO_LABELS] = { who->program, who->name_space, who->pod,
					       who->container };
	size_t len = 0;

	for (size_t i = 0; i < WHO_LABELS; i++)
		len += escape__str(key + len, LABEL_MAX, vals[i]) + 1;
	return len;
}

static struct program *add_program(struct metrics *m, const char *key, size_t len)
{
	struct program *p = program__new(key, len);

	if (p)
		HASH_ADD_KEYPTR(hh, m->programs, p->key, len, p);
	return p;
}

/* Its program, or the one for all that find no room. */
static struct program *get_program(struct metrics *m, const struct metrics_who *who)
{
	char key[WHO_LABELS * LABEL_MAX];
	size_t len = make_key(key, who);
	struct program *p = NULL;

	HASH_FIND(hh, m->programs, key, len, p);
	if (p)
		return p;
	if (m->nseries + METRICS_PROGRAM_SERIES <= m->max_series)
		p = add_program(m, key, len);
	if (!p) {
		m->dropped++;
		return m->other;
	}
	m->nseries += METRICS_PROGRAM_SERIES;
	return p;
}

static struct live *get_live(struct metrics *m, uint64_t inc)
{
	struct live *l = NULL;

	HASH_FIND(hh, m->live, &inc, sizeof(inc), l);
	return l;
}

/* ---- series -------------------------------------------------------------- */

static bool same_labels(const struct series *s, const char *const *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s->labels[i], labels[i]) != 0)
			return false;
	return true;
}

/* Labels of a metric before those of the program. */
static size_t own_labels(enum metric metric)
{
	size_t n = 1;

	for (const char *c = metric__info(metric)->labels; *c; c++)
		n += *c == ',';
	return n - WHO_LABELS;
}

static struct series *find_series(struct program *p, enum metric metric, const char *const *labels)
{
	struct series *s = p->series;

	while (s && (s->metric != metric || !same_labels(s, labels, own_labels(metric))))
		s = s->next;
	return s;
}

static struct series *add_series(struct metrics *m, struct program *p, enum metric metric,
				 const char *const *labels)
{
	struct series *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->metric = metric;
	for (size_t i = 0; i < own_labels(metric); i++)
		s->labels[i] = labels[i];
	s->next = p->series;
	p->series = s;
	p->nseries++;
	m->nseries += !p->other;
	return s;
}

/* Of the program, or where there is no room of the one for all others. */
static struct series *get_series(struct metrics *m, struct program *p, enum metric metric,
				 const char *const *labels)
{
	struct series *s = find_series(p, metric, labels);

	if (s)
		return s;
	if (p->other || m->nseries < m->max_series)
		return add_series(m, p, metric, labels);
	m->dropped++;
	return get_series(m, m->other, metric, labels);
}

static struct series *series_of(struct metrics *m, enum metric metric, uint64_t inc,
				const struct metrics_who *who, const char *const *labels)
{
	struct live *l = get_live(m, inc);
	struct program *p = l ? l->program : get_program(m, who);

	if (!l)
		p->idle = 0; /* a sign of life */
	return get_series(m, p, metric, labels);
}

void metrics__count(struct metrics *m, enum metric metric, uint64_t inc,
		    const struct metrics_who *who, const char *const *labels, uint64_t n)
{
	struct series *s;

	pthread_mutex_lock(&m->lock);
	s = series_of(m, metric, inc, who, labels);
	if (s)
		s->val += n;
	pthread_mutex_unlock(&m->lock);
}

void metrics__set_seconds(struct metrics *m, enum metric metric, uint64_t inc,
			  const struct metrics_who *who, const char *const *labels, uint64_t ns)
{
	struct series *s;

	pthread_mutex_lock(&m->lock);
	s = series_of(m, metric, inc, who, labels);
	if (s)
		s->val = ns;
	pthread_mutex_unlock(&m->lock);
}

/* ---- processes ----------------------------------------------------------- */

static uint64_t difference(uint64_t made, uint64_t gone)
{
	return made > gone ? made - gone : 0;
}

static struct totals totals_of(const struct acl_proc *p)
{
	return (struct totals){
		.processes = 1,
		.late = p->late,
		.events = p->events_made,
		.streams = p->streams_made,
		.bufs = p->bufs_made,
		.bytes = p->bytes_made,
		.live = 1,
		.live_events = difference(p->events_made, p->events_gone),
		.live_streams = difference(p->streams_made, p->streams_gone),
		.live_bufs = difference(p->bufs_made, p->bufs_gone),
		.live_bytes = difference(p->bytes_made, p->bytes_gone),
	};
}

static void add_totals(struct totals *to, const struct totals *t, bool lives)
{
	to->processes += t->processes;
	to->late += t->late;
	to->events += t->events;
	to->streams += t->streams;
	to->bufs += t->bufs;
	to->bytes += t->bytes;
	if (!lives)
		return;
	to->live += t->live;
	to->live_events += t->live_events;
	to->live_streams += t->live_streams;
	to->live_bufs += t->live_bufs;
	to->live_bytes += t->live_bytes;
}

static struct live *add_live(struct metrics *m, const struct acl_proc *p,
			     const struct metrics_who *who)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->inc = p->inc;
	l->program = get_program(m, who);
	l->program->nlive++;
	l->program->idle = 0;
	HASH_ADD(hh, m->live, inc, sizeof(l->inc), l);
	return l;
}

void metrics__began(struct metrics *m, const struct acl_proc *p, const struct metrics_who *who)
{
	struct live *l;

	pthread_mutex_lock(&m->lock);
	l = get_live(m, p->inc);
	if (!l)
		l = add_live(m, p, who);
	if (l)
		l->now = totals_of(p);
	pthread_mutex_unlock(&m->lock);
}

void metrics__numbers(struct metrics *m, const struct acl_proc *p)
{
	struct live *l;

	pthread_mutex_lock(&m->lock);
	l = get_live(m, p->inc);
	if (l)
		l->now = totals_of(p);
	pthread_mutex_unlock(&m->lock);
}

static void count_leaked(struct metrics *m, struct program *p, const char *kind, uint64_t n)
{
	struct series *s = n ? get_series(m, p, METRIC_LEAKED, &kind) : NULL;

	if (s)
		s->val += n;
}

void metrics__over(struct metrics *m, const struct acl_proc *p, uint64_t now)
{
	struct totals last = totals_of(p);
	struct live *l;

	pthread_mutex_lock(&m->lock);
	l = get_live(m, p->inc);
	if (l) {
		add_totals(&l->program->gone, &last, false);
		count_leaked(m, l->program, "event", last.live_events);
		count_leaked(m, l->program, "host_buffer", last.live_bufs);
		if (!--l->program->nlive)
			l->program->idle = now;
		HASH_DEL(m->live, l);
		free(l);
	}
	pthread_mutex_unlock(&m->lock);
}

size_t metrics__series(struct metrics *m)
{
	size_t n;

	pthread_mutex_lock(&m->lock);
	n = m->nseries;
	pthread_mutex_unlock(&m->lock);
	return n;
}

size_t metrics__live(struct metrics *m)
{
	size_t n;

	pthread_mutex_lock(&m->lock);
	n = HASH_COUNT(m->live);
	pthread_mutex_unlock(&m->lock);
	return n;
}

/* One that was only ever heard of by what it did begins to be idle when it is seen here. */
void metrics__expire(struct metrics *m, uint64_t now)
{
	struct program *p, *next;

	pthread_mutex_lock(&m->stable);
	pthread_mutex_lock(&m->lock);
	HASH_ITER(hh, m->programs, p, next)
	{
		if (p->other || p->nlive)
			continue;
		if (!p->idle)
			p->idle = now;
		if (now < p->idle || now - p->idle < m->expire_ns)
			continue;
		m->nseries -= METRICS_PROGRAM_SERIES + p->nseries;
		HASH_DEL(m->programs, p);
		program__free(p);
	}
	pthread_mutex_unlock(&m->lock);
	pthread_mutex_unlock(&m->stable);
}

/* ---- histograms ---------------------------------------------------------- */

void metrics__observe(struct metrics *m, enum metric metric, enum metrics_outcome outcome,
		      uint64_t ns)
{
	struct histogram *h = metric == METRIC_GAP	      ? &m->gap
			      : metric == METRIC_POLL_AGE     ? &m->poll_age
			      : metric == METRIC_REPORT_DELAY ? &m->delay
							      : &m->release[outcome];

	pthread_mutex_lock(&m->lock);
	histogram__add(h, ns);
	pthread_mutex_unlock(&m->lock);
}

/* ---- rendering ----------------------------------------------------------- */

/* The numbers as they were at one moment; labels are read where they are. */
struct copy {
	size_t nprograms, nseries;
	struct copied_program {
		const struct program *program;
		struct totals all;
		bool shown;
	} * programs;
	struct copied_series {
		const struct program *program;
		const struct series *series;
		uint64_t val;
	} * series;
	size_t used;
	uint64_t dropped;
	struct histogram gap, poll_age, delay, release[METRICS_OUTCOME_MAX];
};

static size_t count_series(const struct metrics *m)
{
	return m->nseries + m->other->nseries;
}

static void sum_up(struct metrics *m)
{
	struct program *p, *next;
	struct live *l, *following;

	HASH_ITER(hh, m->programs, p, next)
	p->all = p->gone;
	HASH_ITER(hh, m->live, l, following)
	add_totals(&l->program->all, &l->now, true);
}

static void copy_program(struct copy *c, const struct program *p)
{
	c->programs[c->nprograms++] = (struct copied_program){
		.program = p,
		.all = p->all,
		/* of the others, only what there is */
		.shown = !p->other || p->all.processes,
	};
	for (const struct series *s = p->series; s; s = s->next)
		c->series[c->nseries++] = (struct copied_series){ p, s, s->val };
}

/* Returns whether there was memory; copy__free() it in any case. */
static bool copy__take(struct copy *c, struct metrics *m)
{
	struct program *p, *next;

	pthread_mutex_lock(&m->lock);
	c->programs = calloc(HASH_COUNT(m->programs) + 1, sizeof(*c->programs));
	c->series = calloc(count_series(m) + 1, sizeof(*c->series));
	if (c->programs && c->series) {
		sum_up(m);
		HASH_ITER(hh, m->programs, p, next)
		copy_program(c, p);
	}
	c->used = m->nseries;
	c->dropped = m->dropped;
	c->gap = m->gap;
	c->poll_age = m->poll_age;
	c->delay = m->delay;
	memcpy(c->release, m->release, sizeof(c->release));
	pthread_mutex_unlock(&m->lock);
	return c->programs && c->series;
}

static void copy__free(struct copy *c)
{
	free(c->programs);
	free(c->series);
}

static const struct {
	enum metric metric;
	size_t at; /* in struct totals */
} of_programs[] = {
#define FIELD(id, field)                                    \
	{                                                   \
		METRIC_##id, offsetof(struct totals, field) \
	}
	FIELD(LIVE_PROCESSES, live), FIELD(PROCESSES, processes),
	FIELD(LATE_PROCESSES, late), FIELD(LIVE_EVENTS, live_events),
	FIELD(EVENTS, events),	     FIELD(LIVE_STREAMS, live_streams),
	FIELD(STREAMS, streams),     FIELD(LIVE_BUFFERS, live_bufs),
	FIELD(BUFFERS, bufs),	     FIELD(LIVE_BYTES, live_bytes),
	FIELD(BYTES, bytes),
#undef FIELD
};
_Static_assert(sizeof(of_programs) / sizeof(of_programs[0]) == METRICS_PROGRAM_SERIES,
	       "METRICS_PROGRAM_SERIES is wrong");

static void render_programs(struct exposition *x, const struct copy *c, size_t field)
{
	exposition__family(x, of_programs[field].metric);
	for (size_t i = 0; i < c->nprograms; i++) {
		const char *all = (const char *)&c->programs[i].all;
		uint64_t val;

		memcpy(&val, all + of_programs[field].at, sizeof(val));
		if (c->programs[i].shown)
			exposition__u64(x, c->programs[i].program->labels, val);
	}
}

typedef void (*series_fn)(void *arg, const char *const *labels, uint64_t val);

static void each_series(const struct copy *c, enum metric metric, series_fn fn, void *arg)
{
	const char *labels[OWN_LABELS + WHO_LABELS];
	size_t own = own_labels(metric);

	for (size_t i = 0; i < c->nseries; i++) {
		const struct copied_series *s = &c->series[i];

		if (s->series->metric != metric)
			continue;
		memcpy(labels, s->series->labels, own * sizeof(*labels));
		memcpy(labels + own, s->program->labels, sizeof(s->program->labels));
		fn(arg, labels, s->val);
	}
}

static void put_count(void *arg, const char *const *labels, uint64_t val)
{
	exposition__u64(arg, labels, val);
}

static void put_seconds(void *arg, const char *const *labels, uint64_t val)
{
	exposition__seconds(arg, labels, val);
}

static void render_series(struct exposition *x, const struct copy *c, enum metric metric)
{
	bool seconds = !strcmp(metric__info(metric)->unit, "seconds");

	exposition__family(x, metric);
	each_series(c, metric, seconds ? put_seconds : put_count, x);
}

static void render_histograms(struct exposition *x, const struct copy *c)
{
	exposition__family(x, METRIC_GAP);
	exposition__histogram(x, NULL, &c->gap);
	exposition__family(x, METRIC_POLL_AGE);
	exposition__histogram(x, NULL, &c->poll_age);
	exposition__family(x, METRIC_RELEASE_TIME);
	for (size_t i = 0; i < METRICS_OUTCOME_MAX; i++)
		exposition__histogram(x, &outcomes[i], &c->release[i]);
	exposition__family(x, METRIC_REPORT_DELAY);
	exposition__histogram(x, NULL, &c->delay);
}

static void render_number(struct exposition *x, enum metric metric, uint64_t val)
{
	exposition__family(x, metric);
	exposition__u64(x, NULL, val);
}

void metrics__render(struct metrics *m, struct exposition *x)
{
	static const enum metric single[] = {
		METRIC_VIOLATIONS, METRIC_VIOLATION_LAST, METRIC_CONFIRMED,
		METRIC_SUPPRESSED, METRIC_LEAKED,	  METRIC_ACTIONS,
	};
	struct copy c = { .nprograms = 0 };

	pthread_mutex_lock(&m->stable);
	if (!copy__take(&c, m))
		x->out->err = x->out->err ? x->out->err : -ENOMEM;
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		render_series(x, &c, single[i]);
	for (size_t i = 0; i < METRICS_PROGRAM_SERIES; i++)
		render_programs(x, &c, i);
	pthread_mutex_unlock(&m->stable);
	render_histograms(x, &c);
	render_number(x, METRIC_SERIES, c.used);
	render_number(x, METRIC_SERIES_LIMIT, m->max_series);
	render_number(x, METRIC_DROPPED, c.dropped);
	copy__free(&c);
}

void metrics__each(struct metrics *m, enum metric metric, series_fn fn, void *arg)
{
	struct copy c = { .nprograms = 0 };

	pthread_mutex_lock(&m->stable);
	if (copy__take(&c, m))
		each_series(&c, metric, fn, arg);
	pthread_mutex_unlock(&m->stable);
	copy__free(&c);
}

/* ---- making -------------------------------------------------------------- */

struct metrics *metrics__new(size_t max_series, uint64_t expire_ns)
{
	static const struct metrics_who others = { OTHER, OTHER, OTHER, OTHER };
	char key[WHO_LABELS * LABEL_MAX];
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->stable, NULL);
	m->max_series = max_series;
	m->expire_ns = expire_ns;
	m->other = add_program(m, key, make_key(key, &others));
	if (!m->other) {
		metrics__free(m);
		return NULL;
	}
	m->other->other = true;
	return m;
}

void metrics__free(struct metrics *m)
{
	struct program *p;
	struct live *l;

	if (!m)
		return;
	l = m->live;
	p = m->programs;
	HASH_CLEAR(hh, m->live); /* leaves the entries */
	HASH_CLEAR(hh, m->programs);
	while (l) {
		struct live *next = l->hh.next;

		free(l);
		l = next;
	}
	while (p) {
		struct program *next = p->hh.next;

		program__free(p);
		p = next;
	}
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->stable);
	free(m);
}
