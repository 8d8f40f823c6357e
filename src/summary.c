/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The summary.  Silence must be honest: that nothing was found says little
 * without what was seen, and what was lost on the way.
 */
#include "summary.h"

#include <inttypes.h>

#include "enforcement.h"
#include "escape.h"
#include "json.h"
#include "names.h"
#include "report_text.h"
#include "sites.h"
#include "suppress.h"

#define PREFIX "==aclguard== "
#define PATH_SHOWN 512

static uint64_t count_rule(const struct summary *s, int rule, int level)
{
	uint64_t sum = 0;

	for (int ev = 0; s->counts && ev < ACL_EV_MAX; ev++)
		sum += s->counts->n[rule][level][ev];
	return sum;
}

static uint64_t count_level(const struct summary *s, int level)
{
	uint64_t sum = 0;

	for (int rule = 0; rule < ACL_RULE_MAX; rule++)
		sum += count_rule(s, rule, level);
	return sum;
}

static struct acl_calls count_calls(const struct summary *s, unsigned int *functions)
{
	struct acl_calls sum = { .entered = 0 };

	*functions = 0;
	for (int i = 0; i < ACL_C_MAX; i++) {
		const struct acl_calls *c = &s->calls[i];

		sum.entered += c->entered;
		sum.returned += c->returned;
		sum.failed += c->failed;
		sum.folded += c->folded;
		*functions += c->entered || c->returned || c->folded;
	}
	return sum;
}

static uint64_t alive(const struct summary_objects *o)
{
	return o->made > o->gone ? o->made - o->gone : 0;
}

/* Violations of a rule that were made and have not arrived. */
static uint64_t count_lost(const struct report_cfg *cfg, const struct summary *s, int rule)
{
	uint64_t arrived = s->unwanted[rule] + (cfg->suppress ? cfg->suppress->hits[rule] : 0);

	for (int level = 0; level < ACL_LEVEL_MAX; level++)
		arrived += count_rule(s, rule, level);
	return s->made[rule] > arrived ? s->made[rule] - arrived : 0;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void summary__add(struct summary *sum, const struct acl_proc *p)
{
	sum->bufs.made += p->bufs_made;
	sum->bufs.gone += p->bufs_gone;
	sum->bytes.made += p->bytes_made;
	sum->bytes.gone += p->bytes_gone;
	sum->events.made += p->events_made;
	sum->events.gone += p->events_gone;
	sum->streams.made += p->streams_made;
	sum->streams.gone += p->streams_gone;
	sum->late += p->late;
}

/* ---- text --------------------------------------------------------------- */

static void print_libraries(struct report_out *o, const struct summary *s)
{
	char path[PATH_SHOWN];

	for (size_t i = 0; i < s->n_libs; i++) {
		const struct summary_library *l = &s->libs[i];

		escape__str(path, sizeof(path), l->path);
		report_out__printf(o, PREFIX "watched %s: %u function%s%s%s\n", path, l->functions,
				   plural(l->functions), l->how ? ", by " : "",
				   l->how ? l->how : "");
	}
}

static void print_call(struct report_out *o, const char *name, uint64_t entered, uint64_t returned,
		       uint64_t failed, uint64_t folded)
{
	report_out__printf(o,
			   PREFIX "  %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %s\n",
			   entered, returned, failed, folded, name);
}

static void print_calls(struct report_out *o, const struct report_cfg *cfg, const struct summary *s)
{
	unsigned int functions;
	struct acl_calls sum = count_calls(s, &functions);
	uint64_t entered = sum.entered, failed = sum.failed, folded = sum.folded;

	report_out__printf(o, PREFIX "calls: %" PRIu64 " of %u function%s, %" PRIu64 " failed",
			   entered, functions, plural(functions), failed);
	if (folded)
		report_out__printf(o, ", %" PRIu64 " more on the way through a second library",
				   folded);
	report_out__printf(o, "\n");
	if (!cfg->verbose || !functions)
		return;
	report_out__printf(o, PREFIX "  %12s %12s %10s %10s\n", "entered", "returned", "failed",
			   "folded");
	for (int i = 0; i < ACL_C_MAX; i++) {
		const struct acl_calls *c = &s->calls[i];

		if (c->entered || c->returned || c->folded)
			print_call(o, acl_call__name(i), c->entered, c->returned, c->failed,
				   c->folded);
	}
}

static void print_kind(struct report_out *o, const char *kind, const char *made, const char *gone,
		       const struct summary_objects *n)
{
	report_out__printf(o, PREFIX "%s: %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " left", kind,
			   n->made, made, n->gone, gone, alive(n));
}

static void print_objects(struct report_out *o, const struct summary *s)
{
	print_kind(o, "host buffers", "allocated", "released", &s->bufs);
	report_out__printf(o, " (%" PRIu64 " bytes, %" PRIu64 " left)\n", s->bytes.made,
			   alive(&s->bytes));
	print_kind(o, "events", "created", "destroyed", &s->events);
	report_out__printf(o, "\n");
	print_kind(o, "streams", "seen", "destroyed", &s->streams);
	report_out__printf(o, "\n");
}

/* Returns how many causes there were. */
static unsigned int print_losses(struct report_out *o, const struct summary *s)
{
	unsigned int n = 0;

	for (int i = 0; i < ACL_L_MAX; i++) {
		if (!s->losses[i] || i == ACL_L_EVICTED)
			continue;
		report_out__printf(o, PREFIX "lost: %" PRIu64 " %s (%s)\n", s->losses[i],
				   acl_loss__words(i), acl_loss__name(i));
		n++;
	}
	return n;
}

static unsigned int print_loss(struct report_out *o, uint64_t n, const char *words)
{
	if (n)
		report_out__printf(o, PREFIX "lost: %" PRIu64 " %s\n", n, words);
	return n > 0;
}

static void print_lost(struct report_out *o, const struct summary *s)
{
	unsigned int n = print_losses(o, s);
	char span[REPORT_SPAN_MAX];

	n += print_loss(o, s->unlooked,
			"times that what a process had loaded could not be looked at or probed");
	n += print_loss(o, s->lost_mappings, "records of mappings, made good by a look at /proc");
	n += print_loss(o, s->unknown_records, "records of an unknown type");
	if (s->counts) {
		n += print_loss(o, s->counts->malformed, "records that were damaged");
		n += print_loss(o, s->counts->orphans, "follow-ups whose report was gone");
		n += print_loss(o, s->counts->evicted, "reports not followed to their end");
	}
	if (!s->processes)
		report_out__printf(o, PREFIX "no process called the Ascend runtime\n");
	else if (!n)
		report_out__printf(o, PREFIX "%s\n",
				   s->incomplete ? "nothing else was lost" : "nothing was lost");
	if (s->losses[ACL_L_EVICTED]) /* as in every long run: nothing went wrong */
		report_out__printf(o, PREFIX "forgotten: %" PRIu64 " %s (%s)\n",
				   s->losses[ACL_L_EVICTED], acl_loss__words(ACL_L_EVICTED),
				   acl_loss__name(ACL_L_EVICTED));
	if (s->late_attaches)
		report_out__printf(o,
				   PREFIX "%" PRIu64 " time%s a library was probed after a process "
					  "had mapped it, up to %s later\n",
				   s->late_attaches, plural(s->late_attaches),
				   report__span(span, (int64_t)s->late_gap));
	if (s->late)
		report_out__printf(o,
				   PREFIX "%" PRIu64 " of %" PRIu64 " process%s ran before it was "
					  "watched; what it did before is not known\n",
				   s->late, s->processes, s->processes == 1 ? "" : "es");
}

static void print_rule(struct report_out *o, const struct report_cfg *cfg, const struct summary *s,
		       int rule)
{
	uint64_t lost = count_lost(cfg, s, rule);
	const char *sep = "";

	for (int level = ACL_LEVEL_MAX - 1; level >= 0; level--) {
		uint64_t n = count_rule(s, rule, level);

		if (!n)
			continue;
		if (!*sep)
			report_out__printf(o, PREFIX "  %s: ", acl_rule__name(rule));
		report_out__printf(o, "%s%" PRIu64 " %s%s (", sep, n, acl_level__name(level),
				   plural(n));
		sep = "";
		for (int ev = ACL_EV_MAX - 1; ev >= 0; ev--) {
			if (!s->counts->n[rule][level][ev])
				continue;
			report_out__printf(o, "%s%" PRIu64 " %s", sep,
					   s->counts->n[rule][level][ev], acl_evidence__name(ev));
			sep = ", ";
		}
		report_out__printf(o, ")");
		sep = ", ";
	}
	if (lost && !*sep)
		report_out__printf(o, PREFIX "  %s: ", acl_rule__name(rule));
	if (lost)
		report_out__printf(o, "%s%" PRIu64 " more lost", sep, lost);
	if (*sep || lost)
		report_out__printf(o, "\n");
}

static int print_text(const struct report_cfg *cfg, const struct summary *s)
{
	uint64_t errors = count_level(s, ACL_LEVEL_ERROR);
	uint64_t warnings = count_level(s, ACL_LEVEL_WARNING);
	uint64_t notes = count_level(s, ACL_LEVEL_NOTE);
	char span[REPORT_SPAN_MAX];
	struct report_out o;

	report_out__init(&o, cfg->text);
	if (cfg->verbose)
		print_libraries(&o, s);
	print_calls(&o, cfg, s);
	print_objects(&o, s);
	print_lost(&o, s);
	report_out__printf(&o,
			   PREFIX "ERROR SUMMARY: %" PRIu64 " error%s, %" PRIu64
				  " warning%s, %" PRIu64 " note%s; %" PRIu64 " process%s in %s\n",
			   errors, plural(errors), warnings, plural(warnings), notes, plural(notes),
			   s->processes, s->processes == 1 ? "" : "es",
			   report__span(span, (int64_t)s->duration_ns));
	for (int rule = 0; rule < ACL_RULE_MAX; rule++)
		print_rule(&o, cfg, s, rule);
	enforce_counts__print(&o, PREFIX, s->enforced);
	if (cfg->fold)
		sites__print(cfg->sites, &o, cfg->verbose);
	suppress__print(cfg->suppress, &o, cfg->verbose);
	return report_out__flush(&o);
}

/* ---- JSON --------------------------------------------------------------- */

static void put_violations(struct json *j, const struct summary *s)
{
	json__u64(j, "errors", count_level(s, ACL_LEVEL_ERROR));
	json__u64(j, "warnings", count_level(s, ACL_LEVEL_WARNING));
	json__u64(j, "notes", count_level(s, ACL_LEVEL_NOTE));
	json__begin_array(j, "violations");
	for (int i = 0; s->counts && i < ACL_RULE_MAX * ACL_LEVEL_MAX * ACL_EV_MAX; i++) {
		int ev = i % ACL_EV_MAX, level = i / ACL_EV_MAX % ACL_LEVEL_MAX;
		int rule = i / ACL_EV_MAX / ACL_LEVEL_MAX;

		if (!s->counts->n[rule][level][ev])
			continue;
		json__begin_object(j, NULL);
		json__str(j, "rule", acl_rule__name(rule));
		json__str(j, "level", acl_level__name(level));
		json__str(j, "evidence", acl_evidence__name(ev));
		json__u64(j, "count", s->counts->n[rule][level][ev]);
		json__end_object(j);
	}
	json__end_array(j);
	json__begin_object(j, "leaks");
	json__u64(j, acl_rule__name(ACL_RULE_EVENT_LEAK), alive(&s->events));
	json__u64(j, acl_rule__name(ACL_RULE_HOST_LEAK), alive(&s->bufs));
	json__end_object(j);
}

static void put_calls(struct json *j, const struct summary *s)
{
	json__begin_object(j, "calls");
	for (int i = 0; i < ACL_C_MAX; i++) {
		const struct acl_calls *c = &s->calls[i];

		if (!c->entered && !c->returned && !c->folded)
			continue;
		json__begin_object(j, acl_call__name(i));
		json__u64(j, "entered", c->entered);
		json__u64(j, "returned", c->returned);
		json__u64(j, "failed", c->failed);
		json__u64(j, "folded", c->folded);
		json__end_object(j);
	}
	json__end_object(j);
}

static void put_kind(struct json *j, const char *key, const struct summary_objects *o)
{
	json__begin_object(j, key);
	json__u64(j, "made", o->made);
	json__u64(j, "gone", o->gone);
	json__u64(j, "alive", alive(o));
	json__end_object(j);
}

static void put_objects(struct json *j, const struct summary *s)
{
	json__begin_object(j, "objects");
	put_kind(j, "buffers", &s->bufs);
	put_kind(j, "bytes", &s->bytes);
	put_kind(j, "events", &s->events);
	put_kind(j, "streams", &s->streams);
	json__end_object(j);
}

static void put_lost(struct json *j, const struct report_cfg *cfg, const struct summary *s)
{
	json__begin_object(j, "lost_violations");
	for (int rule = 0; rule < ACL_RULE_MAX; rule++)
		if (count_lost(cfg, s, rule))
			json__u64(j, acl_rule__name(rule), count_lost(cfg, s, rule));
	json__end_object(j);
	json__begin_object(j, "lost");
	for (int i = 0; i < ACL_L_MAX; i++)
		json__u64(j, acl_loss__name(i), s->losses[i]);
	json__u64(j, "not-looked-at", s->unlooked);
	json__u64(j, "mapping-records", s->lost_mappings);
	json__u64(j, "unknown-records", s->unknown_records);
	json__u64(j, "damaged-records", s->counts ? s->counts->malformed : 0);
	json__u64(j, "orphaned-followups", s->counts ? s->counts->orphans : 0);
	json__u64(j, "unfinished-reports", s->counts ? s->counts->evicted : 0);
	json__end_object(j);
}

static void put_libraries(struct json *j, const struct summary *s)
{
	json__begin_array(j, "libraries");
	for (size_t i = 0; i < s->n_libs; i++) {
		json__begin_object(j, NULL);
		json__str(j, "path", s->libs[i].path);
		json__str(j, "attached_by", s->libs[i].how);
		json__u64(j, "functions", s->libs[i].functions);
		json__end_object(j);
	}
	json__end_array(j);
}

static int print_json(const struct report_cfg *cfg, const struct summary *s)
{
	struct json *j = cfg->json;

	json__begin(j);
	json__str(j, "type", "summary");
	json__double(j, "duration_s", (double)s->duration_ns / 1e9, 3);
	json__u64(j, "processes", s->processes);
	json__u64(j, "late_processes", s->late);
	json__u64(j, "late_attaches", s->late_attaches);
	json__double(j, "late_attach_max_us", (double)s->late_gap / 1000, 3);
	put_violations(j, s);
	enforce_counts__put(j, s->enforced);
	suppress__json(cfg->suppress, j);
	sites__json(cfg->sites, j);
	put_calls(j, s);
	put_objects(j, s);
	put_lost(j, cfg, s);
	put_libraries(j, s);
	return json__end(j);
}

int summary__print(const struct report_cfg *cfg, const struct summary *s)
{
	return cfg->json ? print_json(cfg, s) : print_text(cfg, s);
}
