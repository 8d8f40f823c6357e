/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The words of enforcement. */
#define _GNU_SOURCE
#include "enforcement.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "backtrace.h"
#include "json.h"
#include "names.h"
#include "procstatus.h"
#include "report_json.h"
#include "report_text.h"

struct words {
	const char *name, *words;
};

static const struct words acts[] = {
#define ROW(id, name, words) [ACL_ACT_##id] = { name, words },
	ACL_ACTS(ROW)
#undef ROW
};

static const struct words evasions[] = {
#define ROW(id, name, words) [EVASION_##id] = { name, words },
	EVASIONS(ROW)
#undef ROW
};

const char *acl_act__name(unsigned int act)
{
	return act < ACL_ACT_MAX ? acts[act].name : "unknown";
}

const char *acl_act__words(unsigned int act)
{
	return act < ACL_ACT_MAX ? acts[act].words : "unknown";
}

const char *enforcement__action(int sig)
{
	switch (sig) {
	case 0:
		return "report";
	case SIGSTOP:
		return "stop";
	case SIGABRT:
		return "abort";
	case SIGTERM:
		return "term";
	case SIGKILL:
		return "kill";
	default:
		return "signal";
	}
}

const char *enforcement__signal(char buf[SIGNAL_NAME_MAX], int sig)
{
	const char *abbrev = sig < 32 ? sigabbrev_np(sig) : NULL;

	if (abbrev)
		snprintf(buf, SIGNAL_NAME_MAX, "SIG%s", abbrev);
	else
		snprintf(buf, SIGNAL_NAME_MAX, "signal %d", sig);
	return buf;
}

/* ---- evasion -------------------------------------------------------------- */

static bool has(uint64_t mask, int sig)
{
	return mask >> (sig - 1) & 1;
}

enum evasion enforcement__evasion(const struct procstatus *st, int sig)
{
	if (sig < 1 || sig > 64 || sig == SIGKILL || sig == SIGSTOP || !st->has_signals)
		return EVASION_NONE;
	if (has(st->sig_ignored, sig))
		return EVASION_IGNORED;
	/* while its handler runs, a signal is blocked, too; one that is blocked waits */
	if (has(st->sig_caught, sig) &&
	    !(has(st->sig_blocked, sig) && has(st->sig_pending | st->sig_shared, sig)))
		return EVASION_HANDLED;
	if (has(st->sig_blocked, sig))
		return EVASION_BLOCKED;
	if (st->n_ns_pids > 1 && st->ns_pids[st->n_ns_pids - 1] == 1)
		return EVASION_INIT;
	if (sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH)
		return EVASION_HARMLESS;
	return EVASION_NONE;
}

/* ---- a violation ------------------------------------------------------------ */

/* When the signal comes: the verdict falls before the call, or after it. */
static const char *moment(const struct acl_violation *v)
{
	return backtrace__is_at_return(v->rule) ? "after" : "before";
}

static void print_stop(struct report_out *o, const struct acl_violation *v)
{
	report_out__printf(o,
			   "  action: stop: stopped %s %s %s: look with `gdb -p %u' (thread %u), "
			   "go on with `kill -CONT %u'\n",
			   moment(v), acl_call__name(v->call),
			   backtrace__is_at_return(v->rule) ? "returned" : "ran", v->h.tgid,
			   v->h.tid, v->h.tgid);
}

static void print_evasion(struct report_out *o, const struct acl_violation *v,
			  const struct enforcement *e)
{
	char name[SIGNAL_NAME_MAX], words[160];

	if (e->evasion == EVASION_NONE || e->evasion >= EVASION_MAX)
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(words, sizeof(words), evasions[e->evasion].words,
		 enforcement__signal(name, e->sig));
#pragma GCC diagnostic pop
	report_out__printf(o, "    %s: %s; stop and kill cannot be evaded\n", words,
			   backtrace__is_at_return(v->rule) ? "the program may go on"
							    : "the call may still do its work");
}

static void print_sent(struct report_out *o, const struct acl_violation *v,
		       const struct enforcement *e)
{
	char name[SIGNAL_NAME_MAX];

	if (e->sig == SIGSTOP)
		print_stop(o, v);
	else
		report_out__printf(o, "  action: %s: %s sent %s %s %s\n",
				   enforcement__action(e->sig), enforcement__signal(name, e->sig),
				   moment(v), acl_call__name(v->call),
				   backtrace__is_at_return(v->rule) ? "returned" : "ran");
	print_evasion(o, v, e);
	if (e->tracer && e->sig != SIGKILL)
		report_out__printf(o,
				   "    a debugger (pid %d) traces the process and gets the signal "
				   "first: what comes of it is for that to say\n",
				   e->tracer);
}

void enforcement__print(struct report_out *o, const struct acl_violation *v,
			const struct enforcement *e)
{
	char name[SIGNAL_NAME_MAX];

	if (!e || e->act == ACL_ACT_NONE)
		return;
	if (e->act == ACL_ACT_SENT) {
		print_sent(o, v, e);
		return;
	}
	report_out__printf(o, "  action: none (%s): %s%s%s; asked for was %s, %s\n",
			   acl_act__name(e->act), acl_act__words(e->act), e->err ? ", " : "",
			   e->err ? strerror(e->err) : "", enforcement__action(e->sig),
			   enforcement__signal(name, e->sig));
}

void enforcement__put(struct json *j, const struct acl_violation *v, const struct enforcement *e)
{
	char name[SIGNAL_NAME_MAX];

	if (!e || e->act == ACL_ACT_NONE) {
		json__null(j, "enforcement");
		return;
	}
	json__begin_object(j, "enforcement");
	json__str(j, "action", enforcement__action(e->sig));
	json__str(j, "signal", enforcement__signal(name, e->sig));
	json__s64(j, "signal_number", e->sig);
	json__str(j, "outcome", acl_act__name(e->act));
	json__str(j, "error", e->err ? strerror(e->err) : NULL);
	json__bool(j, "before_call", !backtrace__is_at_return(v->rule));
	json__str(j, "evaded",
		  e->evasion > EVASION_NONE && e->evasion < EVASION_MAX ? evasions[e->evasion].name
									: NULL);
	if (e->tracer)
		json__s64(j, "traced_by", e->tracer);
	else
		json__null(j, "traced_by");
	json__end_object(j);
}

int enforcement__switched(const struct report_cfg *cfg, bool observing, const char *by)
{
	struct report_out o;

	if (cfg->json) {
		json__begin(cfg->json);
		json__str(cfg->json, "type", "enforcement");
		json__bool(cfg->json, "observing", observing);
		json__str(cfg->json, "by", by);
		report_json__time(cfg->json, cfg, report__now());
		return json__end(cfg->json);
	}
	report_out__init(&o, cfg->text);
	report_out__printf(&o, "==aclguard== enforcement: switched %s by %s%s\n",
			   observing ? "off" : "on", by,
			   observing ? ", violations are only observed" : "");
	return report_out__flush(&o);
}

/* ---- the summary ------------------------------------------------------------ */

static bool is_on(const struct enforce_counts *n)
{
	for (int rule = 0; n && rule < ACL_RULE_MAX; rule++)
		if (n->sig[rule])
			return true;
	return false;
}

void enforce_counts__print(struct report_out *o, const char *prefix, const struct enforce_counts *n)
{
	if (!is_on(n))
		return;
	for (int rule = 0; rule < ACL_RULE_MAX; rule++) {
		const char *sep = ": ";

		if (!n->sig[rule])
			continue;
		report_out__printf(o, "%senforcement: %s=%s", prefix, acl_rule__name(rule),
				   enforcement__action(n->sig[rule]));
		for (int act = ACL_ACT_SENT; act < ACL_ACT_MAX; act++) {
			if (!n->n[rule][act])
				continue;
			report_out__printf(o, "%s%" PRIu64 " %s", sep, n->n[rule][act],
					   acl_act__name(act));
			sep = ", ";
		}
		report_out__printf(o, "%s\n", *sep == ':' ? ": nothing to act upon" : "");
	}
	if (n->observing)
		report_out__printf(o, "%senforcement: is switched off\n", prefix);
}

void enforce_counts__status(const struct enforce_counts *n, unsigned int held, char *buf,
			    size_t len)
{
	int at = snprintf(buf, len, "ok %s, %u stopped",
			  !is_on(n)	 ? "nothing is enforced"
			  : n->observing ? "observing"
					 : "enforcing",
			  held);

	for (int act = ACL_ACT_SENT; act < ACL_ACT_MAX; act++) {
		uint64_t sum = 0;

		for (int rule = 0; rule < ACL_RULE_MAX; rule++)
			sum += n->n[rule][act];
		if (sum && at > 0 && (size_t)at < len)
			at += snprintf(buf + at, len - (size_t)at, ", %s %" PRIu64,
				       acl_act__name((unsigned int)act), sum);
	}
}

void enforce_counts__put(struct json *j, const struct enforce_counts *n)
{
	char name[SIGNAL_NAME_MAX];

	if (!is_on(n)) {
		json__null(j, "enforcement");
		return;
	}
	json__begin_object(j, "enforcement");
	json__bool(j, "observing", n->observing);
	json__begin_array(j, "actions");
	for (int i = 0; i < ACL_RULE_MAX * ACL_ACT_MAX; i++) {
		int rule = i / ACL_ACT_MAX, act = i % ACL_ACT_MAX;

		if (!n->n[rule][act] || act == ACL_ACT_NONE)
			continue;
		json__begin_object(j, NULL);
		json__str(j, "rule", acl_rule__name(rule));
		json__str(j, "action", enforcement__action(n->sig[rule]));
		json__str(j, "signal", enforcement__signal(name, n->sig[rule]));
		json__str(j, "outcome", acl_act__name(act));
		json__u64(j, "count", n->n[rule][act]);
		json__end_object(j);
	}
	json__end_array(j);
	json__end_object(j);
}
