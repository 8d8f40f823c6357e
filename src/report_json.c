/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The JSON report.  The keys are documented and stay; values that are names are
 * those of rules.h and calls.h.
 */
#include "report_json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backtrace.h"
#include "enforcement.h"
#include "json.h"
#include "names.h"
#include "procinfo.h"
#include "report_text.h"
#include "sites.h"
#include "suppress.h"
#include "symbols.h"

#define NS_PER_S 1000000000LL

static void put_us(struct json *j, const char *key, uint64_t from, uint64_t to)
{
	/* Signed: calls on several threads overlap. */
	json__double(j, key, (double)(int64_t)(to - from) / 1e3, 3);
}

/* How long before the judged call that was. */
static void put_age(struct json *j, const struct acl_violation *v, uint64_t pos)
{
	if (pos)
		put_us(j, "age_us", pos, v->h.time);
	else
		json__null(j, "age_us");
}

static void put_thread(struct json *j, uint32_t tid)
{
	if (tid)
		json__u64(j, "thread", tid);
	else
		json__null(j, "thread");
}

/* "unknown" stands for a call that was not seen. */
static void put_call(struct json *j, const char *key, unsigned int call)
{
	if (call < ACL_C_MAX)
		json__str(j, key, acl_call__name(call));
	else
		json__null(j, key);
}

void report_json__time(struct json *j, const struct report_cfg *cfg, uint64_t mono)
{
	int64_t offset = cfg->wall_offset_ns, wall;
	char date[48], text[64];
	struct timespec ts;
	struct tm tm;
	time_t secs;

	if (!offset) {
		clock_gettime(CLOCK_REALTIME, &ts);
		offset = (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec - (int64_t)report__now();
	}
	wall = (int64_t)(mono + (uint64_t)offset);
	secs = wall / NS_PER_S;
	if (wall < 0 || !gmtime_r(&secs, &tm)) {
		json__null(j, "time");
		return;
	}
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06dZ", date, (int)(wall % NS_PER_S / 1000));
	json__str(j, "time", text);
}

void report_json__place(struct json *j, struct procs *procs, pid_t pid)
{
	const struct procinfo *info = procs__get(procs, pid);

	if (info)
		json__s64(j, "ns_pid", info->ns_pid);
	else
		json__null(j, "ns_pid");
	json__str(j, "container", info && info->container[0] ? info->container : NULL);
}

/* ---- parts of a violation ----------------------------------------------- */

static void put_verdict(struct json *j, const struct report_cfg *cfg, uint64_t nr,
			const struct acl_violation *v)
{
	json__str(j, "type", "violation");
	json__u64(j, "id", nr);
	json__str(j, "rule", acl_rule__name(v->rule));
	json__str(j, "level", acl_level__name(v->level));
	json__str(j, "evidence", acl_evidence__name(v->evidence));
	json__begin_array(j, "suspects");
	for (int i = 0; i < ACL_S_MAX; i++)
		if (v->suspects & 1U << i)
			json__str(j, NULL, acl_suspect__name(i));
	json__end_array(j);
	json__str(j, "hazard", acl_hazard__name(v->hazard));
	put_call(j, "call", v->call);
	json__strn(j, "program", v->comm, strnlen(v->comm, sizeof(v->comm)));
	json__u64(j, "pid", v->h.tgid);
	json__u64(j, "tid", v->h.tid);
	report_json__place(j, cfg->procs, (pid_t)v->h.tgid);
	report_json__time(j, cfg, v->h.time);
	json__u64(j, "time_ns", v->h.time);
	json__hex(j, "pointer", v->ptr);
}

static void put_build_id(struct json *j, const struct sym_result *res)
{
	char text[2 * sizeof(res->build_id) + 1];
	unsigned int len = res->build_id_len;

	if (len > sizeof(res->build_id))
		len = sizeof(res->build_id);
	for (unsigned int i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", res->build_id[i]);
	json__str(j, "build_id", len ? text : NULL);
}

static void put_place(struct json *j, const char *file, unsigned int line)
{
	json__str(j, "file", file);
	if (file)
		json__u64(j, "line", line);
	else
		json__null(j, "line");
}

/* The members of one frame; in: of what was compiled into it, or NULL. */
static void put_frame(struct json *j, const char *key, const struct sym_result *res,
		      const struct sym_inline *in)
{
	json__begin_object(j, key);
	json__hex(j, "address", res->addr);
	json__str(j, "function", in ? in->function : res->function);
	if (res->function && !in)
		json__u64(j, "function_offset", res->function_offset);
	else
		json__null(j, "function_offset");
	json__str(j, "module", res->module);
	if (res->module)
		json__u64(j, "module_offset", res->module_offset);
	else
		json__null(j, "module_offset");
	put_build_id(j, res);
	put_place(j, in ? in->file : res->file, in ? in->line : res->line);
	json__bool(j, "inlined", in);
	json__end_object(j);
}

void report_json__frame(struct json *j, const char *key, const struct sym_result *res)
{
	put_frame(j, key, res, NULL);
}

void report_json__frames(struct json *j, const struct sym_result *res)
{
	for (unsigned int i = 0; i < res->n_inlined; i++)
		put_frame(j, NULL, res, &res->inlined[i]);
	put_frame(j, NULL, res, NULL);
}

static void put_frames(struct json *j, const struct backtrace *bt)
{
	json__begin_array(j, "stack");
	for (unsigned int i = 0; i < bt->n; i++)
		report_json__frames(j, &bt->f[i].sym);
	json__end_array(j);
}

/* Of an earlier call, where its stack was kept; empty otherwise. */
static void put_kept(struct json *j, const struct report_cfg *cfg, pid_t pid, uint32_t nr)
{
	struct backtrace bt;

	backtrace__kept(cfg, nr, &bt);
	backtrace__name(cfg, pid, &bt);
	put_frames(j, &bt);
	backtrace__clear(&bt);
}

static void put_buffer(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v)
{
	if (!v->buf.id) {
		json__null(j, "buffer");
		return;
	}
	json__begin_object(j, "buffer");
	json__hex(j, "address", v->buf.base);
	json__u64(j, "size", v->buf.size);
	put_call(j, "allocated_by", v->buf.call);
	put_thread(j, v->buf.tid);
	put_age(j, v, v->buf.born);
	put_kept(j, cfg, v->h.tgid, v->buf.stack);
	json__end_object(j);
}

static void put_copy(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v)
{
	uint64_t base, size;

	if (!v->copy.pos) {
		json__null(j, "copy");
		return;
	}
	json__begin_object(j, "copy");
	put_call(j, "call", v->copy.call);
	json__str(j, "direction", acl_dir__name(v->copy.dir));
	json__hex(j, "address", v->copy.addr);
	report__range(v, &base, &size);
	if (size && v->copy.addr >= base)
		json__u64(j, "offset", v->copy.addr - base);
	else
		json__null(j, "offset");
	json__u64(j, "bytes", v->copy.len);
	put_thread(j, v->copy.tid);
	put_age(j, v, v->copy.pos);
	put_kept(j, cfg, (pid_t)v->h.tgid, v->copy.stack);
	json__end_object(j);
}

static void put_stream(struct json *j, const struct acl_violation *v)
{
	if (!v->stream.id) {
		json__null(j, "stream");
		return;
	}
	json__begin_object(j, "stream");
	json__hex(j, "handle", v->stream.handle);
	json__bool(j, "default", v->stream.is_default);
	if (v->stream.dev >= 0)
		json__s64(j, "device", v->stream.dev);
	else
		json__null(j, "device");
	json__end_object(j);
}

static void put_poll(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v)
{
	bool query = report__is_stream_query(v);

	if (!(query ? v->stream.query_pos : v->poll.pos)) {
		json__null(j, "poll");
		return;
	}
	json__begin_object(j, "poll");
	json__str(j, "call",
		  acl_call__name(query ? ACL_C_aclrtStreamQuery : ACL_C_aclrtQueryEventStatus));
	if (query)
		json__null(j, "event");
	else
		json__hex(j, "event", v->poll.handle);
	put_age(j, v, query ? v->stream.query_pos : v->poll.pos);
	put_thread(j, query ? v->stream.query_tid : v->poll.tid);
	put_kept(j, cfg, (pid_t)v->h.tgid, query ? v->stream.query_stack : v->poll.stack);
	json__end_object(j);
}

static void put_event(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v)
{
	bool created = v->has_event && v->event.call < ACL_C_MAX;

	if (!report__event(v) || report__is_stream_query(v)) {
		json__null(j, "event");
		return;
	}
	json__begin_object(j, "event");
	json__hex(j, "handle", report__event(v));
	put_call(j, "created_by", created ? v->event.call : ACL_C_MAX);
	if (created)
		json__u64(j, "flags", v->event.flags);
	else
		json__null(j, "flags");
	json__u64(j, "records", v->has_event ? v->event.records : v->poll.records);
	put_age(j, v, created ? v->event.born : 0);
	put_kept(j, cfg, v->h.tgid, created ? v->event.stack : 0);
	json__end_object(j);
}

/* What the event was recorded, or reset, by last. */
static void put_record(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v)
{
	if (!v->has_event || !v->event.rec_pos || report__is_stream_query(v)) {
		json__null(j, "record");
		return;
	}
	json__begin_object(j, "record");
	put_call(j, "call", v->event.rec_call);
	put_thread(j, v->event.rec_tid);
	put_age(j, v, v->event.rec_pos);
	put_kept(j, cfg, (pid_t)v->h.tgid, v->event.rec_stack);
	json__end_object(j);
}

/* What is used again although it was released or destroyed. */
static void put_ended(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v)
{
	uint64_t base, size;

	if (!v->ended.id) {
		json__null(j, "ended");
		return;
	}
	report__range(v, &base, &size);
	json__begin_object(j, "ended");
	json__hex(j, "address", size ? base : v->ptr);
	if (size)
		json__u64(j, "size", size);
	else
		json__null(j, "size");
	put_thread(j, v->ended.tid);
	put_age(j, v, v->ended.pos);
	put_kept(j, cfg, (pid_t)v->h.tgid, v->ended.stack);
	json__end_object(j);
}

static void put_stack(struct json *j, const struct report_cfg *cfg, const struct acl_violation *v,
		      struct backtrace *bt)
{
	if (cfg->stacks) {
		backtrace__name(cfg, (pid_t)v->h.tgid, bt);
		put_frames(j, bt);
	} else {
		json__begin_array(j, "stack");
		json__end_array(j);
	}
	json__str(j, "stack_error", cfg->stacks && bt->err ? strerror(-bt->err) : NULL);
	json__str(j, "stack_by", !cfg->stacks ? NULL : bt->unwound ? "dwarf" : "fp");
	json__str(j, "stack_end", cfg->dumps ? unwind_end__name(bt->end) : NULL);
	json__str(j, "stack_end_module", bt->end_module);
}

static void put_suppression(struct json *j, const struct report_cfg *cfg,
			    const struct acl_violation *v, struct backtrace *bt, const char *site)
{
	char *text = cfg->gen_suppressions ? suppress__entry(cfg, v, bt, site) : NULL;

	json__str(j, "suppression", text);
	free(text);
}

int report_json__violation(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
			   struct backtrace *bt, const char *site, uint64_t *printed)
{
	char remedy[REPORT_REMEDY_MAX];
	struct json *j = cfg->json;
	int err;

	json__begin(j);
	put_verdict(j, cfg, nr, v);
	json__str(j, "site", site);
	put_buffer(j, cfg, v);
	put_copy(j, cfg, v);
	put_stream(j, v);
	put_poll(j, cfg, v);
	put_event(j, cfg, v);
	put_record(j, cfg, v);
	put_ended(j, cfg, v);
	json__u64(j, "unsettled", v->unsettled);
	if (backtrace__is_at_return(v->rule))
		json__s64(j, "return", v->ret);
	else
		json__null(j, "return");
	put_stack(j, cfg, v, bt);
	report__remedy(v, remedy, sizeof(remedy));
	json__str(j, "remedy", remedy);
	put_suppression(j, cfg, v, bt, site);
	enforcement__put(j, v, cfg->enforcement);
	if (cfg->wall_offset_ns)
		json__null(j, "latency_us");
	else
		put_us(j, "latency_us", v->h.time, report__now());
	err = json__end(j);
	*printed = report__now();
	return err;
}

/* ---- what came after ---------------------------------------------------- */

static void put_return(struct json *j, const struct story *s)
{
	if (!s->returned || s->unseen) {
		json__null(j, "return");
		json__null(j, "return_name");
		json__null(j, "release_us");
		json__null(j, "buffer_released");
		return;
	}
	json__s64(j, "return", s->ret);
	json__str(j, "return_name", acl_error__name(s->ret));
	put_us(j, "release_us", s->time, s->end);
	json__bool(j, "buffer_released", !s->ret);
}

int report_json__followup(const struct report_cfg *cfg, const struct story *s, enum followup why)
{
	char site[SITE_ID_SIZE];
	struct json *j = cfg->json;

	json__begin(j);
	json__str(j, "type", "followup");
	json__u64(j, "id", s->nr);
	json__str(j, "site", s->has_site ? site__id(site, s->site_id) : NULL);
	json__str(j, "rule", acl_rule__name(s->rule));
	json__u64(j, "pid", s->tgid);
	json__str(j, "evidence", acl_evidence__name(s->evidence));
	put_call(j, "call", s->call);
	put_return(j, s);
	if (s->event)
		json__hex(j, "event", s->event_handle);
	else
		json__null(j, "event");
	json__bool(j, "event_destroyed", s->destroyed);
	if (s->destroyed)
		put_us(j, "destroy_gap_us", s->time, s->destroy_time);
	else
		json__null(j, "destroy_gap_us");
	json__bool(j, "final", why != FOLLOWUP_WAITING);
	return json__end(j);
}
