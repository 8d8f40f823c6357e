/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where events go.  The reports come as text through a stream; a line is kept until it is
 * said what it was about.
 */
#define _GNU_SOURCE
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backtrace.h"
#include "escape.h"
#include "exits.h"
#include "fileio.h"
#include "journal.h"
#include "names.h"
#include "options.h"
#include "probes.h"
#include "recent.h"
#include "report_text.h"

#define PATH_SHOWN 1024
#define NAME_SHOWN 512

/* Of this program's entries, so that journalctl can select them. */
#define MESSAGE_VIOLATION "9a1f2c8e6d0b4f57a3c4e1d2b5f60718"
#define MESSAGE_FOLLOWUP "4be07d35c2a94816b1d8f3a6907c5e24"

struct events {
	const struct options *opts;
	struct recent *recent;
	FILE *stream;
	char *line; /* that was written last, with its newline */
	size_t len, cap;
	bool complete; /* the next write begins another one */
	int out;       /* takes JSON; -1: nobody wants it */
	bool torn;     /* the line before went out in part */
	atomic_uint_fast64_t errors[EVENTS_OUTPUT_MAX];
};

const char *events_output__name(enum events_output output)
{
	static const char *const names[] = {
		[EVENTS_JSON] = "json",
		[EVENTS_JOURNAL] = "journald",
	};

	return output < EVENTS_OUTPUT_MAX ? names[output] : "unknown";
}

uint64_t events__errors(const struct events *ev, enum events_output output)
{
	return atomic_load(&ev->errors[output]);
}

void events__recent(struct events *ev, size_t n, struct textbuf *out)
{
	recent__render(ev->recent, n, out);
}

/* ---- JSON ---------------------------------------------------------------- */

static void failed(struct events *ev, enum events_output output, int err)
{
	if (!atomic_fetch_add(&ev->errors[output], 1))
		say("cannot write to %s: %s; further failures are counted only",
		    output == EVENTS_JOURNAL ? "the journal"
		    : ev->opts->output	     ? ev->opts->output
					     : "stdout",
		    strerror(err));
}

static void write_line(struct events *ev)
{
	int err = 0;

	if (ev->out < 0)
		return;
	if (ev->torn)
		err = -fileio__write(ev->out, "\n", 1);
	if (!err)
		err = -fileio__write(ev->out, ev->line, ev->len);
	ev->torn = err != 0;
	if (err)
		failed(ev, EVENTS_JSON, err);
}

/* What the stream calls: never refused, so that reports go on whatever becomes of them. */
static ssize_t take(void *arg, const char *data, size_t size)
{
	struct events *ev = arg;
	size_t cap = ev->cap ? ev->cap : 4096;
	char *line;

	if (ev->complete)
		ev->len = 0;
	while (cap - ev->len < size)
		cap *= 2;
	line = cap == ev->cap ? ev->line : realloc(ev->line, cap);
	if (!line) {
		failed(ev, EVENTS_JSON, ENOMEM);
		return (ssize_t)size;
	}
	ev->line = line;
	ev->cap = cap;
	memcpy(line + ev->len, data, size);
	ev->len += size;
	ev->complete = size && data[size - 1] == '\n';
	if (ev->complete)
		write_line(ev);
	return (ssize_t)size;
}

FILE *events__stream(struct events *ev)
{
	return ev->stream;
}

/* Returns a descriptor or -errno. */
static int open_output(const struct options *opts)
{
	int fd;

	if (!opts->json)
		return -1;
	if (!opts->output)
		return STDOUT_FILENO;
	fd = open(opts->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
	return fd < 0 ? -errno : fd;
}

void events__reopen(struct events *ev)
{
	int fd;

	if (!ev->opts->json || !ev->opts->output)
		return;
	fd = open_output(ev->opts);
	if (fd < 0) { /* the old one is better than none */
		failed(ev, EVENTS_JSON, -fd);
		return;
	}
	close(ev->out);
	ev->out = fd;
	ev->torn = false;
}

/* ---- the place in the program -------------------------------------------- */

static bool is_runtime(const struct sym_result *sym)
{
	const char *base = sym->module ? strrchr(sym->module, '/') : NULL;

	return base && probes__is_runtime_name(base + 1);
}

/* The innermost frame that is not the runtime's own; NULL where there is no stack. */
static const struct sym_result *culprit(const struct backtrace *bt)
{
	for (unsigned int i = 0; i < bt->n; i++)
		if (!is_runtime(&bt->f[i].sym))
			return &bt->f[i].sym;
	return NULL;
}

static const char *function_of(const struct sym_result *sym)
{
	return sym->n_inlined && sym->inlined[0].function ? sym->inlined[0].function
							  : sym->function;
}

/* "function (file:line)", or what is known instead; "" for nothing. */
static void describe(const struct sym_result *sym, char *buf, size_t size)
{
	char name[NAME_SHOWN], file[PATH_SHOWN];
	const char *function = sym ? function_of(sym) : NULL;
	const char *where = !sym ? NULL : sym->file ? sym->file : sym->module;

	buf[0] = '\0';
	if (!where)
		return;
	escape__str(name, sizeof(name), function ? function : "?");
	escape__str(file, sizeof(file), where);
	if (sym->file)
		snprintf(buf, size, ", by %s (%s:%u)", name, file, sym->line);
	else
		snprintf(buf, size, ", by %s (%s+0x%" PRIx64 ")", name, file, sym->module_offset);
}

/* ---- in words ------------------------------------------------------------ */

/* " in NAMESPACE/POD/CONTAINER", as far as known. */
static void describe_pod(const struct podinfo *pod, char *buf, size_t size)
{
	buf[0] = '\0';
	if (pod->pod[0])
		snprintf(buf, size, " in %s%s%s/%s", pod->name_space, pod->name_space[0] ? "/" : "",
			 pod->pod, pod->container);
	else if (pod->container[0])
		snprintf(buf, size, " in container %s", pod->container);
}

#define SENTENCE_MAX 4096

static void sentence(char buf[SENTENCE_MAX], const struct story_told *told,
		     const struct podinfo *pod, const struct sym_result *where)
{
	char comm[ACL_COMM_LEN * ESCAPE_TEXT_EXPAND + 1], place[sizeof(struct podinfo) + 32];
	char frame[NAME_SHOWN + PATH_SHOWN + 64];
	const struct acl_violation *v = told->v;

	escape__text(comm, sizeof(comm), v->comm, strnlen(v->comm, sizeof(v->comm)));
	describe_pod(pod, place, sizeof(place));
	describe(where, frame, sizeof(frame));
	snprintf(buf, SENTENCE_MAX,
		 "%s #%" PRIu64 " %s: %s: 0x%" PRIx64 " of %s (pid %u, tid %u)%s%s; %s",
		 acl_level__name(v->level), told->nr, acl_rule__name(v->rule),
		 acl_rule__headline(v->rule), (uint64_t)v->ptr, comm, v->h.tgid, v->h.tid, place,
		 frame, acl_evidence__name(v->evidence));
}

/* ---- the journal --------------------------------------------------------- */

/* As syslog(3) numbers them. */
static int priority(unsigned int level)
{
	return level == ACL_LEVEL_ERROR ? 3 : level == ACL_LEVEL_WARNING ? 4 : 5;
}

static void put_code(struct journal_entry *e, const struct sym_result *where)
{
	const char *function = where ? function_of(where) : NULL;

	if (where && where->file) {
		journal__field(e, "CODE_FILE", "%.*s", PATH_SHOWN, where->file);
		journal__field(e, "CODE_LINE", "%u", where->line);
	}
	if (function)
		journal__field(e, "CODE_FUNC", "%.*s", NAME_SHOWN, function);
	if (where && where->module) {
		journal__field(e, "ACLGUARD_MODULE", "%.*s", PATH_SHOWN, where->module);
		journal__field(e, "ACLGUARD_MODULE_OFFSET", "0x%" PRIx64, where->module_offset);
	}
}

static void put_pod(struct journal_entry *e, const struct podinfo *pod)
{
	if (pod->name_space[0])
		journal__field(e, "ACLGUARD_NAMESPACE", "%s", pod->name_space);
	if (pod->pod[0])
		journal__field(e, "ACLGUARD_POD_NAME", "%s", pod->pod);
	if (pod->container[0])
		journal__field(e, "ACLGUARD_CONTAINER_NAME", "%s", pod->container);
}

static void put_head(struct journal_entry *e, const char *message_id, int level, uint64_t nr,
		     uint32_t pid)
{
	journal__begin(e);
	journal__field(e, "PRIORITY", "%d", level);
	journal__field(e, "SYSLOG_IDENTIFIER", "aclguard");
	journal__field(e, "MESSAGE_ID", "%s", message_id);
	journal__field(e, "OBJECT_PID", "%u", pid);
	journal__field(e, "ACLGUARD_ID", "%" PRIu64, nr);
}

static void send_entry(struct events *ev, const struct journal_entry *e)
{
	int err = journal__send(e, ev->opts->export.journal);

	if (err)
		failed(ev, EVENTS_JOURNAL, -err);
}

static void tell_journal(struct events *ev, const struct story_told *told,
			 const struct podinfo *pod, const struct sym_result *where,
			 const char *message)
{
	const struct acl_violation *v = told->v;
	struct journal_entry e;

	put_head(&e, MESSAGE_VIOLATION, priority(v->level), told->nr, v->h.tgid);
	journal__field(&e, "MESSAGE", "%s", message);
	journal__field(&e, "ACLGUARD_RULE", "%s", acl_rule__name(v->rule));
	journal__field(&e, "ACLGUARD_LEVEL", "%s", acl_level__name(v->level));
	journal__field(&e, "ACLGUARD_EVIDENCE", "%s", acl_evidence__name(v->evidence));
	journal__field(&e, "ACLGUARD_HAZARD", "%s", acl_hazard__name(v->hazard));
	journal__field(&e, "ACLGUARD_CALL", "%s", acl_call__name(v->call));
	journal__field(&e, "ACLGUARD_ADDRESS", "0x%" PRIx64, (uint64_t)v->ptr);
	journal__field(&e, "ACLGUARD_PROGRAM", "%.*s", (int)sizeof(v->comm), v->comm);
	journal__field(&e, "ACLGUARD_TID", "%u", v->h.tid);
	journal__field(&e, "ACLGUARD_UID", "%u", v->uid);
	if (told->site)
		journal__field(&e, "ACLGUARD_SITE", "%s", told->site);
	put_pod(&e, pod);
	put_code(&e, where);
	send_entry(ev, &e);
}

void events__violation(struct events *ev, const struct report_cfg *cfg,
		       const struct story_told *told, const struct podinfo *pod)
{
	const struct sym_result *where;
	char message[SENTENCE_MAX];
	struct backtrace bt = { .n = 0 };

	recent__violation(ev->recent, told->nr, ev->line, ev->len);
	if (!ev->opts->export.journald && ev->opts->json)
		return;
	if (cfg->stacks) {
		backtrace__take(cfg, told->v, &bt);
		backtrace__name(cfg, (pid_t)told->v->h.tgid, &bt);
	}
	where = culprit(&bt);
	sentence(message, told, pod, where);
	if (ev->opts->export.journald)
		tell_journal(ev, told, pod, where, message);
	else
		say("%s", message);
	backtrace__clear(&bt);
}

static void follow_up_journal(struct events *ev, const struct story *s)
{
	char span[REPORT_SPAN_MAX] = "", destroyed[REPORT_SPAN_MAX + 64] = "";
	const char *name = acl_error__name(s->ret);
	struct journal_entry e;

	put_head(&e, MESSAGE_FOLLOWUP, priority(s->level), s->nr, s->tgid);
	journal__field(&e, "ACLGUARD_RULE", "%s", acl_rule__name(s->rule));
	journal__field(&e, "ACLGUARD_EVIDENCE", "%s", acl_evidence__name(s->evidence));
	if (s->destroyed) {
		report__span(span, (int64_t)(s->destroy_time - s->time));
		snprintf(destroyed, sizeof(destroyed), ", its event was destroyed %s after", span);
		journal__field(&e, "ACLGUARD_DESTROY_GAP_USEC", "%" PRIu64,
			       (s->destroy_time - s->time) / 1000);
	}
	if (s->returned && !s->unseen) {
		journal__field(&e, "ACLGUARD_RETURN", "%d", s->ret);
		journal__field(&e, "MESSAGE", "#%" PRIu64 " %s: %s returned %d%s%s%s%s", s->nr,
			       acl_rule__name(s->rule), acl_call__name(s->call), s->ret,
			       s->ret && name ? " (" : "", s->ret && name ? name : "",
			       s->ret && name ? ")" : "", destroyed);
	} else {
		journal__field(&e, "MESSAGE", "#%" PRIu64 " %s: what %s returned was not seen%s",
			       s->nr, acl_rule__name(s->rule), acl_call__name(s->call), destroyed);
	}
	send_entry(ev, &e);
}

void events__followup(struct events *ev, const struct story *s)
{
	recent__followup(ev->recent, s->nr, ev->line, ev->len);
	if (ev->opts->export.journald)
		follow_up_journal(ev, s);
}

/* ---- making -------------------------------------------------------------- */

int events__new(const struct options *opts, struct events **out)
{
	const cookie_io_functions_t io = { .write = take };
	struct events *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	ev->opts = opts;
	ev->complete = true;
	ev->recent = recent__new(opts->export.violations);
	ev->stream = fopencookie(ev, "w", io);
	ev->out = open_output(opts);
	if (opts->json && ev->out < 0) {
		refuse(ACL_EXIT_OUTPUT, "cannot write reports to %s: %s", opts->output,
		       strerror(-ev->out));
		events__free(ev);
		return ACL_EXIT_OUTPUT;
	}
	if (!ev->recent || !ev->stream) {
		events__free(ev);
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	}
	setvbuf(ev->stream, NULL, _IONBF, 0);
	*out = ev;
	return 0;
}

void events__free(struct events *ev)
{
	if (!ev)
		return;
	if (ev->stream)
		fclose(ev->stream);
	if (ev->out > STDERR_FILENO)
		close(ev->out);
	recent__free(ev->recent);
	free(ev->line);
	free(ev);
}
