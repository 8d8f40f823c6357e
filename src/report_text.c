/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The text report, in the manner of the sanitizers: a headline that can be
 * searched for, what is known and how well, the history on a time axis whose
 * zero is the judged call, the stack, and what to do.
 *
 * Numbers come from the kernel or a recording and are printed whatever they are;
 * the program's name is the target's choice and is escaped.
 */
#include "report_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace.h"
#include "enforcement.h"
#include "escape.h"
#include "history_text.h"
#include "names.h"
#include "procinfo.h"
#include "suppress.h"
#include "symbols.h"

#define MODULE_MAX 512
#define FRAME_MAX 2048
#define NRS_SHOWN 16

/* ---- the violation ------------------------------------------------------ */

/* The short form of a container's id is what engines print. */
#define CONTAINER_SHOWN 12

/* ", pid 7 in container 0123456789ab" where the process is in one. */
static void print_place(struct report_out *o, const struct report_cfg *cfg, pid_t pid)
{
	const struct procinfo *info = procs__get(cfg->procs, pid);

	if (!info)
		return;
	if (info->ns_pid != pid)
		report_out__printf(o, ", pid %d in", info->ns_pid);
	else if (info->container[0])
		report_out__printf(o, ", in");
	if (info->container[0])
		report_out__printf(o, " container %.*s", CONTAINER_SHOWN, info->container);
	else if (info->ns_pid != pid)
		report_out__printf(o, " its namespace");
}

static void print_headline(struct report_out *o, const struct report_cfg *cfg, uint64_t nr,
			   const struct acl_violation *v, const char *site)
{
	char comm[ACL_COMM_LEN * ESCAPE_TEXT_EXPAND + 1], ptr[REPORT_HANDLE_MAX], level[16];
	size_t i;

	snprintf(level, sizeof(level), "%s", acl_level__name(v->level));
	for (i = 0; level[i]; i++)
		level[i] = toupper((unsigned char)level[i]);
	escape__text(comm, sizeof(comm), v->comm, strnlen(v->comm, sizeof(v->comm)));
	report_out__printf(o, "==%u==aclguard: %s #%" PRIu64 " %s: %s: %s by %s (pid %u, tid %u",
			   v->h.tgid, level, nr, acl_rule__name(v->rule),
			   acl_rule__headline(v->rule), report__hex(ptr, v->ptr), comm, v->h.tgid,
			   v->h.tid);
	print_place(o, cfg, (pid_t)v->h.tgid);
	report_out__printf(o, "%s%s)\n", site ? ", site " : "", site ? site : "");
}

/* Why an order that can be an error is only a warning here. */
static void print_level(struct report_out *o, const struct report_cfg *cfg,
			const struct acl_violation *v)
{
	uint64_t age = v->h.time - v->poll.pos;
	char span[REPORT_SPAN_MAX];

	if (v->level != ACL_LEVEL_WARNING)
		return;
	if (v->rule == ACL_RULE_FREE_IN_FLIGHT)
		report_out__printf(o, "  a warning, because the program may know of the end of the "
				      "copy by other ways\n");
	if (v->rule != ACL_RULE_FREE_BEFORE_DESTROY || !v->buf.id)
		return;
	if (v->poll.records > 1 || v->event.records > 1)
		report_out__printf(o, "  a warning, because the event is used again and again\n");
	else if (cfg->window_ns && age > cfg->window_ns)
		report_out__printf(o,
				   "  a warning, because the poll is older than the window of "
				   "%s\n",
				   report__span(span, cfg->window_ns));
}

static void print_knowledge(struct report_out *o, const struct report_cfg *cfg,
			    const struct acl_violation *v)
{
	bool causes = v->evidence == ACL_EV_SUSPECTED && v->suspects;

	print_level(o, cfg, v);
	report_out__printf(o, "  evidence: %s%s%s\n", acl_evidence__name(v->evidence),
			   causes ? "" : ", ", causes ? "" : acl_evidence__words(v->evidence));
	for (int i = 0; causes && i < ACL_S_MAX; i++)
		if (v->suspects & 1U << i)
			report_out__printf(o, "    %s: %s\n", acl_suspect__name(i),
					   acl_suspect__words(i));
	if (v->hazard != ACL_HZ_UNKNOWN)
		report_out__printf(o, "  hazard: %s, %s\n", acl_hazard__name(v->hazard),
				   acl_hazard__words(v->hazard));
}

static void print_frames(struct report_out *o, const struct backtrace *bt)
{
	char line[FRAME_MAX];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < bt->n; i++) {
		for (unsigned int k = 0; k <= bt->f[i].sym.n_inlined; k++) {
			sym_format_line(line, sizeof(line), nr++, &bt->f[i].sym, k);
			report_out__printf(o, "    %s\n", line);
		}
	}
}

static void print_kept(struct report_out *o, const struct report_cfg *cfg, pid_t pid, uint32_t nr,
		       uint32_t tid, const char *what)
{
	struct backtrace bt;

	backtrace__kept(cfg, nr, &bt);
	if (!bt.n)
		return;
	report_out__printf(o, "  stack of the %s [thread %u]:\n", what, tid);
	backtrace__name(cfg, pid, &bt);
	print_frames(o, &bt);
	backtrace__clear(&bt);
}

/* Those of the history, in its usual order. */
static void print_history_stacks(struct report_out *o, const struct report_cfg *cfg,
				 const struct acl_violation *v)
{
	bool query = report__is_stream_query(v);
	pid_t pid = (pid_t)v->h.tgid;

	if (!cfg->kept)
		return;
	if (v->buf.id)
		print_kept(o, cfg, pid, v->buf.stack, v->buf.tid, "allocation");
	if (v->has_event)
		print_kept(o, cfg, pid, v->event.stack, v->event.tid, "event's creation");
	if (v->ended.id)
		print_kept(o, cfg, pid, v->ended.stack, v->ended.tid,
			   report__event(v) ? "destroy" : "release before");
	if (v->rule != ACL_RULE_COPY_AFTER_FREE) /* which is the call itself */
		print_kept(o, cfg, pid, v->copy.stack, v->copy.tid, "copy");
	if (v->has_event && acl_call__role(v->event.rec_call) == ACL_R_EV_RECORD)
		print_kept(o, cfg, pid, v->event.rec_stack, v->event.rec_tid, "record");
	print_kept(o, cfg, pid, query ? v->stream.query_stack : v->poll.stack,
		   query ? v->stream.query_tid : v->poll.tid, "query");
}

/* Why a stack that was to be unwound is not longer. */
static void print_end(struct report_out *o, const struct backtrace *bt)
{
	const char *words = backtrace__end_words(bt);
	char module[MODULE_MAX] = "";

	if (!words)
		return;
	if (bt->end_module)
		escape__str(module, sizeof(module), bt->end_module);
	report_out__printf(o, "    (%s%s%s)\n", words, module[0] ? ": " : "", module);
}

static void print_stack(struct report_out *o, const struct report_cfg *cfg,
			const struct acl_violation *v, struct backtrace *bt)
{
	backtrace__name(cfg, (pid_t)v->h.tgid, bt);
	if (bt->at_return)
		report_out__printf(o, "  stack that %s returned to [thread %u]:\n",
				   acl_call__name(v->call), v->h.tid);
	else
		report_out__printf(o, "  stack of the %s [thread %u]:\n",
				   report__is_release(v) ? "release" : "call", v->h.tid);
	print_frames(o, bt);
	if (bt->err)
		report_out__printf(o, "    (the kernel could not walk the stack: %s)\n",
				   strerror(-bt->err));
	else if (!bt->unwound && v->stack_len == 0)
		report_out__printf(o, "    (the kernel took no stack)\n");
	print_end(o, bt);
}

/* As one write, and longer than what a report_out takes. */
static int print_suppression(const struct report_cfg *cfg, const struct acl_violation *v,
			     struct backtrace *bt, const char *site)
{
	char *text = suppress__entry(cfg, v, bt, site);
	int err;

	if (!text)
		return -ENOMEM;
	errno = 0;
	err = fputs(text, cfg->text) < 0 || fflush(cfg->text) ? (errno ? -errno : -EIO) : 0;
	free(text);
	return err;
}

int report_text__violation(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
			   struct backtrace *bt, const char *site, uint64_t *printed)
{
	char remedy[REPORT_REMEDY_MAX];
	struct report_out o;
	int err;

	report_out__init(&o, cfg->text);
	print_headline(&o, cfg, nr, v, site);
	print_knowledge(&o, cfg, v);
	history_text__print(&o, v);
	report_out__flush(&o);
	*printed = report__now();
	if (cfg->stacks)
		print_stack(&o, cfg, v, bt);
	print_history_stacks(&o, cfg, v);
	report__remedy(v, remedy, sizeof(remedy));
	if (remedy[0])
		report_out__printf(&o, "  remedy: %s\n", remedy);
	enforcement__print(&o, v, cfg->enforcement);
	err = report_out__flush(&o);
	if (!err && cfg->gen_suppressions)
		err = print_suppression(cfg, v, bt, site);
	return err;
}

/* ---- what came after ---------------------------------------------------- */

static void print_return(struct report_out *o, const struct story *s)
{
	const char *name = acl_error__name(s->ret);
	char ptr[REPORT_HANDLE_MAX], span[REPORT_SPAN_MAX];

	report_out__printf(o, "%s(%s) ", acl_call__name(s->call), report__hex(ptr, s->ptr));
	if (!s->returned || s->unseen) {
		report_out__printf(o, "was not seen to return");
		return;
	}
	report_out__printf(o, "returned %d", s->ret);
	if (s->ret && name)
		report_out__printf(o, " (%s)", name);
	report_out__printf(o, " after %s", report__span(span, (int64_t)(s->end - s->time)));
	if (s->ret)
		report_out__printf(o, ": the runtime refused it, which confirms the report");
}

static void print_destroy(struct report_out *o, const struct story *s, enum followup why)
{
	bool before = s->destroy_time < s->time;
	uint64_t gap = before ? s->time - s->destroy_time : s->destroy_time - s->time;
	char span[REPORT_SPAN_MAX];

	report_out__printf(o, "event 0x%" PRIx64 " ", s->event_handle);
	if (s->destroyed) {
		report_out__printf(o, "destroyed %s %s the release was entered",
				   report__span(span, (int64_t)gap), before ? "before" : "after");
		return;
	}
	switch (why) {
	case FOLLOWUP_GONE:
		report_out__printf(o, "was never destroyed");
		break;
	case FOLLOWUP_EVICTED:
		report_out__printf(o, "still alive, and no longer followed: too many reports wait");
		break;
	default:
		report_out__printf(o, "still alive");
	}
}

int report_text__followup(const struct report_cfg *cfg, const struct story *s, enum followup why)
{
	struct report_out o;

	report_out__init(&o, cfg->text);
	report_out__printf(&o, "==%u==aclguard: #%" PRIu64 ": ", s->tgid, s->nr);
	if (!s->told)
		print_return(&o, s);
	if (!s->told && s->event)
		report_out__printf(&o, "; ");
	if (s->event)
		print_destroy(&o, s, why);
	report_out__printf(&o, "\n");
	return report_out__flush(&o);
}

int report_text__never_destroyed(const struct report_cfg *cfg, uint32_t tgid, const uint64_t *nrs,
				 size_t n, enum followup why)
{
	struct report_out o;

	report_out__init(&o, cfg->text);
	report_out__printf(&o, "==%u==aclguard: ", tgid);
	for (size_t i = 0; i < n && i < NRS_SHOWN; i++)
		report_out__printf(&o, "%s#%" PRIu64, i ? ", " : "", nrs[i]);
	if (n > NRS_SHOWN)
		report_out__printf(&o, " and %zu more", n - NRS_SHOWN);
	report_out__printf(&o, ": the event %s\n",
			   why == FOLLOWUP_GONE ? "was never destroyed" : "is still alive");
	return report_out__flush(&o);
}
