/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The node daemon's books. */
#define _GNU_SOURCE
#include "exporter.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "counters.h"
#include "enforcement.h"
#include "events.h"
#include "exits.h"
#include "metrics.h"
#include "names.h"
#include "npufile.h"
#include "options.h"
#include "podinfo.h"
#include "privileges.h"
#include "procinfo.h"
#include "report_text.h"
#include "sampler.h"
#include "selfstat.h"
#include "symbols.h"

#define SAMPLE_WAIT_MS 40 /* a scrape is to be answered within 50 */
#define SAMPLE_LAST_MS 2000
#define TRIM_NS 60000000000ULL /* after the last report */

/* Where a live process is at home. */
struct home {
	UT_hash_handle hh;
	uint64_t inc;
	char program[PROCINFO_COMM_MAX]; /* raw */
	struct podinfo pod;
};

struct exporter {
	const struct options *opts;
	struct session_listener listener;
	struct session *session;
	struct metrics *metrics;
	struct events *events;
	struct home *homes; /* of the session's thread alone */
	uint64_t named,
		named_at; /* violations when symbols were last seen in use, and when; 0: trimmed */
	atomic_uint_fast64_t violations, turned, file_errors;
	pthread_mutex_t lock; /* of the numbers, and held shortly */
	struct session_numbers numbers;
	pthread_mutex_t sampling; /* of what follows; the session's thread takes it only at the end */
	struct sampler *sampler; /* NULL: not started yet, or stopped */
	struct sample last;	 /* what it read in the end */
	const struct httpd *web; /* NULL: there is none */
	int bpf_stats;		 /* keeps the kernel measuring; negative: it does not */
};

/* ---- what the session tells ---------------------------------------------- */

static struct home *find_home(struct exporter *ex, uint64_t inc)
{
	struct home *h = NULL;

	HASH_FIND(hh, ex->homes, &inc, sizeof(inc), h);
	return h;
}

static const struct home *add_home(struct exporter *ex, uint64_t inc, pid_t pid,
				   const struct procinfo *info, const char comm[ACL_COMM_LEN])
{
	const struct podinfo_roots roots = { .host = ex->opts->export.host_root };
	struct home *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->inc = inc;
	if (info)
		memcpy(h->program, info->comm, sizeof(h->program));
	else
		memcpy(h->program, comm, ACL_COMM_LEN);
	privileges__raise();
	podinfo__find(&roots, pid, info, &h->pod);
	privileges__lower();
	HASH_ADD(hh, ex->homes, inc, sizeof(h->inc), h);
	return h;
}

/* A violation may be told before it is told that its process began. */
static const struct home *home_of(struct exporter *ex, const struct acl_violation *v)
{
	const struct home *h = find_home(ex, v->h.inc);
	pid_t pid = (pid_t)v->h.tgid;

	if (h)
		return h;
	return add_home(ex, v->h.inc, pid, procs__get(session__report_cfg(ex->session)->procs, pid),
			v->comm);
}

static const struct podinfo *pod_of(const struct home *h)
{
	static const struct podinfo nowhere;

	return h ? &h->pod : &nowhere;
}

static struct metrics_who who_of(const struct home *h)
{
	const struct podinfo *pod = pod_of(h);

	return (struct metrics_who){
		.program = h ? h->program : "?",
		.name_space = pod->name_space,
		.pod = pod->pod,
		.container = pod->container,
	};
}

static void began(void *arg, const struct acl_proc *p, const struct procinfo *info)
{
	struct exporter *ex = arg;
	const struct home *h = find_home(ex, p->inc);
	struct metrics_who who;

	if (!h)
		h = add_home(ex, p->inc, (pid_t)p->tgid, info, p->comm);
	if (!h)
		return;
	who = who_of(h);
	metrics__began(ex->metrics, p, &who);
}

static void over(void *arg, const struct acl_proc *p, uint64_t time)
{
	struct exporter *ex = arg;
	struct home *h = find_home(ex, p->inc);

	metrics__over(ex->metrics, p, time);
	if (!h)
		return;
	HASH_DEL(ex->homes, h);
	free(h);
}

static void turn(void *arg)
{
	struct exporter *ex = arg;
	struct session_numbers n;

	atomic_store(&ex->turned, report__now());
	if (!ex->session) /* it did not come about */
		return;
	session__numbers(ex->session, &n);
	pthread_mutex_lock(&ex->lock);
	ex->numbers = n;
	pthread_mutex_unlock(&ex->lock);
}

static uint64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void observe(struct exporter *ex, enum metric metric, uint64_t from, uint64_t to)
{
	if (from)
		metrics__observe(ex->metrics, metric, METRICS_OK, to > from ? to - from : 0);
}

/* Of the rules that are about a poll, how old that was. */
static void observe_poll(struct exporter *ex, const struct acl_violation *v)
{
	if (report__is_stream_query(v))
		observe(ex, METRIC_POLL_AGE, v->stream.query_pos, v->h.time);
	else if (v->rule == ACL_RULE_FREE_BEFORE_DESTROY)
		observe(ex, METRIC_POLL_AGE, v->poll.pos, v->h.time);
}

static void count_violation(struct exporter *ex, const struct acl_violation *v, bool suppressed)
{
	const char *const labels[] = { acl_rule__name(v->rule), acl_level__name(v->level),
				       acl_evidence__name(v->evidence) };
	const struct metrics_who who = who_of(home_of(ex, v));

	if (suppressed) {
		metrics__count(ex->metrics, METRIC_SUPPRESSED, v->h.inc, &who, labels, 1);
		return;
	}
	metrics__count(ex->metrics, METRIC_VIOLATIONS, v->h.inc, &who, labels, 1);
	metrics__set_seconds(ex->metrics, METRIC_VIOLATION_LAST, v->h.inc, &who, labels,
			     wall_clock());
}

static void count_action(struct exporter *ex, const struct acl_violation *v,
			 const struct enforcement *e)
{
	struct metrics_who who;
	const char *labels[3];

	if (!e || e->act == ACL_ACT_NONE)
		return;
	labels[0] = acl_rule__name(v->rule);
	labels[1] = enforcement__action(e->sig);
	labels[2] = acl_act__name(e->act);
	who = who_of(home_of(ex, v));
	metrics__count(ex->metrics, METRIC_ACTIONS, v->h.inc, &who, labels, 1);
}

static void on_violation(void *arg, const struct story_told *told)
{
	const struct acl_violation *v = told->v;
	struct exporter *ex = arg;

	count_violation(ex, v, told->suppressed);
	count_action(ex, v, told->enforcement);
	if (told->suppressed)
		return;
	atomic_fetch_add(&ex->violations, 1);
	observe_poll(ex, v);
	if (told->folded) /* it is in no report */
		return;
	observe(ex, METRIC_REPORT_DELAY, v->h.time, told->printed);
	events__violation(ex->events, session__report_cfg(ex->session), told,
			  pod_of(home_of(ex, v)));
}

/* What is told for the first time here is counted. */
static void count_followup(struct exporter *ex, const struct story *s)
{
	const char *const labels[] = { acl_rule__name(s->rule) };
	const struct metrics_who who = who_of(find_home(ex, s->inc));

	if (s->destroyed)
		observe(ex, METRIC_GAP, s->time, s->destroy_time);
	if (s->told || !s->returned || s->unseen)
		return;
	metrics__observe(ex->metrics, METRIC_RELEASE_TIME, s->ret ? METRICS_FAILED : METRICS_OK,
			 s->end > s->time ? s->end - s->time : 0);
	if (s->ret)
		metrics__count(ex->metrics, METRIC_CONFIRMED, s->inc, &who, labels, 1);
}

static void on_followup(void *arg, const struct story *s, enum followup why)
{
	struct exporter *ex = arg;

	(void)why;
	if (!s->suppressed)
		count_followup(ex, s);
	if (!s->silent)
		events__followup(ex->events, s);
}

/* ---- rendering ----------------------------------------------------------- */

static void render_named(struct exposition *x, const char *label, uint64_t n)
{
	exposition__u64(x, &label, n);
}

static void render_calls(struct exposition *x, const struct sample *s)
{
	exposition__family(x, METRIC_CALLS);
	for (unsigned int i = 0; i < ACL_C_MAX; i++) {
		const char *name = acl_call__name(i);

		exposition__u64(x, &name, s->calls[i].entered);
	}
}

static void render_errors(struct exposition *x, const struct sample *s)
{
	const char *labels[2];
	char number[16];

	exposition__family(x, METRIC_ERRORS);
	for (size_t i = 0; i < s->n_errors; i++) {
		snprintf(number, sizeof(number), "%d", s->errors[i].ret);
		labels[0] = acl_call__name(s->errors[i].call);
		labels[1] = acl_error__name(s->errors[i].ret);
		labels[1] = labels[1] ? labels[1] : number;
		exposition__u64(x, labels, s->errors[i].n);
	}
	labels[1] = "other";
	for (unsigned int i = 0; i < ACL_C_MAX; i++) {
		labels[0] = acl_call__name(i);
		if (s->calls[i].failed_otherwise)
			exposition__u64(x, labels, s->calls[i].failed_otherwise);
	}
}

static void render_tables(struct exposition *x, const struct sample *s)
{
	exposition__family(x, METRIC_MAP_ENTRIES);
	for (size_t i = 0; i < s->n_tables; i++)
		render_named(x, s->tables[i].name, s->tables[i].entries);
	exposition__family(x, METRIC_MAP_CAPACITY);
	for (size_t i = 0; i < s->n_tables; i++)
		render_named(x, s->tables[i].name, s->tables[i].capacity);
}

static void render_rings(struct exposition *x, struct exporter *ex)
{
	uint64_t used[SESSION_RINGS] = { 0 }, size[SESSION_RINGS] = { 0 };
	const char *names[SESSION_RINGS] = { "violations", "life" };

	pthread_mutex_lock(&ex->sampling);
	for (unsigned int i = 0; ex->sampler && i < SESSION_RINGS; i++) {
		struct ring_buffer *rb = session__ring(ex->session, i, &names[i]);

		used[i] = counters__ring_used(rb);
		size[i] = counters__ring_size(rb);
	}
	pthread_mutex_unlock(&ex->sampling);
	exposition__family(x, METRIC_RING_USED);
	for (unsigned int i = 0; i < SESSION_RINGS; i++)
		exposition__u64(x, &names[i], used[i]);
	exposition__family(x, METRIC_RING_SIZE);
	for (unsigned int i = 0; i < SESSION_RINGS; i++)
		exposition__u64(x, &names[i], size[i]);
}

/* Those that never ran while that was measured have nothing to tell. */
static void render_bpf(struct exposition *x, const struct sample *s)
{
	exposition__family(x, METRIC_RUN_TIME);
	for (size_t i = 0; i < s->n_programs; i++)
		if (s->programs[i].runs)
			exposition__seconds(x, (const char *const[]){ s->programs[i].name },
					    s->programs[i].run_ns);
	exposition__family(x, METRIC_RUNS);
	for (size_t i = 0; i < s->n_programs; i++)
		if (s->programs[i].runs)
			render_named(x, s->programs[i].name, s->programs[i].runs);
	exposition__family(x, METRIC_MISSED);
	for (size_t i = 0; i < s->n_programs; i++)
		render_named(x, s->programs[i].name, s->programs[i].missed);
}

/* As the summary names them. */
static void render_losses(struct exposition *x, const struct sample *s,
			  const struct session_numbers *n)
{
	exposition__family(x, METRIC_LOST);
	for (unsigned int i = 0; i < ACL_L_MAX; i++)
		if (i != ACL_L_EVICTED)
			render_named(x, acl_loss__name(i),
				     s->losses[i] + (i == ACL_L_DUMP ? n->lost_dumps : 0));
	render_named(x, "not-looked-at", n->unlooked);
	render_named(x, "mapping-records", n->lost_mappings);
	render_named(x, "unknown-records", n->unknown_records);
	render_named(x, "damaged-records", n->damaged_records);
	render_named(x, "orphaned-followups", n->orphaned_followups);
	render_named(x, "unfinished-reports", n->unfinished_reports);
	exposition__family(x, METRIC_FORGOTTEN);
	exposition__u64(x, NULL, s->losses[ACL_L_EVICTED]);
}

static void render_attached(struct exposition *x, struct exporter *ex,
			    const struct session_numbers *n)
{
	const char *how = n->how ? n->how : "none";

	exposition__family(x, METRIC_ATTACHED_PROCESSES);
	exposition__u64(x, &how, metrics__live(ex->metrics));
	exposition__family(x, METRIC_ATTACHED_LIBRARIES);
	exposition__u64(x, &how, n->libraries);
	exposition__family(x, METRIC_LATE_ATTACHES);
	exposition__u64(x, NULL, n->late_attaches);
	exposition__family(x, METRIC_LATE_MAX);
	exposition__seconds(x, NULL, n->late_gap);
}

static void render_outputs(struct exposition *x, struct exporter *ex)
{
	exposition__family(x, METRIC_OUTPUT_ERRORS);
	for (unsigned int i = 0; i < EVENTS_OUTPUT_MAX; i++)
		render_named(x, events_output__name(i), events__errors(ex->events, i));
	render_named(x, "textfile", atomic_load(&ex->file_errors));
}

static void render_web(struct exposition *x, struct exporter *ex)
{
	static const char *const names[HTTPD_OUTCOME_MAX] = {
		[HTTPD_OK] = "ok",
		[HTTPD_UNAUTHORIZED] = "unauthorized",
		[HTTPD_CLIENT_ERROR] = "client_error",
		[HTTPD_SERVER_ERROR] = "server_error",
	};
	struct httpd_counts n = { .open = 0 };

	pthread_mutex_lock(&ex->sampling);
	if (ex->web)
		httpd__counts(ex->web, &n);
	pthread_mutex_unlock(&ex->sampling);
	exposition__family(x, METRIC_HTTP_REQUESTS);
	for (unsigned int i = 0; i < HTTPD_OUTCOME_MAX; i++)
		render_named(x, names[i], n.requests[i]);
}

static void render_build(struct exposition *x)
{
#ifdef ACLGUARD_STATIC
	const char *linkage = "static";
#else
	const char *linkage = "dynamic";
#endif
	struct utsname u = { .machine = "" };

	uname(&u);
	exposition__family(x, METRIC_BUILD);
	exposition__u64(x, (const char *const[]){ ACLGUARD_VERSION, u.machine, linkage }, 1);
}

static void render_self(struct exposition *x)
{
	struct selfstat self;

	selfstat__read(&self);
	exposition__family(x, METRIC_CPU);
	exposition__seconds(x, NULL, self.cpu_ns);
	exposition__family(x, METRIC_OPEN_FDS);
	exposition__u64(x, NULL, self.open_fds);
	exposition__family(x, METRIC_MAX_FDS);
	exposition__u64(x, NULL, self.max_fds);
	exposition__family(x, METRIC_VIRTUAL);
	exposition__u64(x, NULL, self.vsize);
	exposition__family(x, METRIC_RESIDENT);
	exposition__u64(x, NULL, self.rss);
	exposition__family(x, METRIC_START);
	exposition__seconds(x, NULL, self.start_ns);
}

/* What the kernel and user space have counted by now. */
static void get_numbers(struct exporter *ex, struct sample *s, struct session_numbers *n)
{
	pthread_mutex_lock(&ex->sampling);
	if (ex->sampler)
		sampler__get(ex->sampler, SAMPLE_WAIT_MS, s);
	else
		*s = ex->last;
	pthread_mutex_unlock(&ex->sampling);
	pthread_mutex_lock(&ex->lock);
	*n = ex->numbers;
	pthread_mutex_unlock(&ex->lock);
}

int exporter__metrics(struct exporter *ex, enum exposition_format format, struct textbuf *out)
{
	struct session_numbers n;
	struct exposition x;
	struct sample s;

	get_numbers(ex, &s, &n);
	exposition__init(&x, format, out);
	metrics__render(ex->metrics, &x);
	render_calls(&x, &s);
	render_errors(&x, &s);
	render_losses(&x, &s, &n);
	render_attached(&x, ex, &n);
	render_tables(&x, &s);
	render_rings(&x, ex);
	render_bpf(&x, &s);
	render_outputs(&x, ex);
	render_web(&x, ex);
	render_build(&x);
	render_self(&x);
	return exposition__end(&x);
}

void exporter__violations(struct exporter *ex, size_t n, struct textbuf *out)
{
	events__recent(ex->events, n, out);
}

int exporter__npu_file(struct exporter *ex, struct textbuf *out)
{
	return npufile__render(ex->metrics, wall_clock(), out);
}

void exporter__web(struct exporter *ex, const struct httpd *web)
{
	pthread_mutex_lock(&ex->sampling);
	ex->web = web;
	pthread_mutex_unlock(&ex->sampling);
}

void exporter__file_failed(struct exporter *ex)
{
	atomic_fetch_add(&ex->file_errors, 1);
}

void exporter__state(struct exporter *ex, struct exporter_state *st)
{
	st->processes = metrics__live(ex->metrics);
	st->violations = atomic_load(&ex->violations);
	st->turned = atomic_load(&ex->turned);
}

/* ---- making -------------------------------------------------------------- */

/* Between bursts of reports, names of functions are not worth their memory. */
static void trim(struct exporter *ex, uint64_t now)
{
	uint64_t violations = atomic_load(&ex->violations);

	if (violations != ex->named) {
		ex->named = violations;
		ex->named_at = now;
	} else if (ex->named_at && now - ex->named_at > TRIM_NS) {
		symbolizer__trim(session__report_cfg(ex->session)->sym);
		ex->named_at = 0;
	}
}

void exporter__tidy(struct exporter *ex)
{
	uint64_t now = report__now();

	metrics__expire(ex->metrics, now);
	trim(ex, now);
}

void exporter__reopen(struct exporter *ex)
{
	events__reopen(ex->events);
}

const struct session_listener *exporter__listener(struct exporter *ex)
{
	return &ex->listener;
}

int exporter__new(const struct options *opts, struct exporter **out)
{
	struct exporter *ex = calloc(1, sizeof(*ex));
	int err;

	if (!ex)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	ex->opts = opts;
	ex->bpf_stats = -1;
	pthread_mutex_init(&ex->lock, NULL);
	pthread_mutex_init(&ex->sampling, NULL);
	ex->metrics = metrics__new(opts->export.max_series, METRICS_EXPIRE_NS);
	err = ex->metrics ? events__new(opts, &ex->events)
			  : refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	if (err) {
		exporter__free(ex);
		return err;
	}
	ex->listener = (struct session_listener){
		.arg = ex,
		.reports = events__stream(ex->events),
		.began = began,
		.over = over,
		.turn = turn,
		.sink = { .arg = ex, .violation = on_violation, .followup = on_followup },
	};
	*out = ex;
	return 0;
}

void exporter__join(struct exporter *ex, struct session *s)
{
	ex->session = s;
}

int exporter__start(struct exporter *ex)
{
	struct sampler *sampler;
	int err;

	if (ex->opts->export.bpf_stats) {
		privileges__raise();
		ex->bpf_stats = counters__measure_runs();
		privileges__lower();
		if (ex->bpf_stats < 0)
			say("cannot measure how long BPF programs run: %s",
			    strerror(-ex->bpf_stats));
	}
	err = sampler__start(session__maps(ex->session), ex->metrics, &sampler);

	if (err)
		return err;
	turn(ex);
	pthread_mutex_lock(&ex->sampling);
	ex->sampler = sampler;
	pthread_mutex_unlock(&ex->sampling);
	return 0;
}

void exporter__stop(struct exporter *ex)
{
	pthread_mutex_lock(&ex->sampling);
	if (ex->sampler)
		sampler__get(ex->sampler, SAMPLE_LAST_MS, &ex->last);
	sampler__stop(ex->sampler);
	ex->sampler = NULL;
	pthread_mutex_unlock(&ex->sampling);
	turn(ex);
}

void exporter__free(struct exporter *ex)
{
	struct home *h;

	if (!ex)
		return;
	h = ex->homes;
	HASH_CLEAR(hh, ex->homes); /* leaves the entries */
	while (h) {
		struct home *next = h->hh.next;

		free(h);
		h = next;
	}
	if (ex->bpf_stats >= 0)
		close(ex->bpf_stats);
	events__free(ex->events);
	metrics__free(ex->metrics);
	pthread_mutex_destroy(&ex->lock);
	pthread_mutex_destroy(&ex->sampling);
	free(ex);
}
