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
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backtrace.h"
#include "escape.h"
#include "names.h"
#include "procinfo.h"
#include "symbols.h"
#include "verdict.h"

#define HANDLE_MAX 64 /* bytes that hold a handle in words */
#define FRAME_MAX 2048
#define NRS_SHOWN 16

/* ---- output ------------------------------------------------------------- */

void report_out__init(struct report_out *o, FILE *f)
{
	o->f = f;
	o->err = 0;
	o->len = 0;
}

/* Past stdio's buffer, so that it is one write whatever the buffer's size. */
static int write_fd(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, p, n);
		struct pollfd pfd = { .fd = fd, .events = POLLOUT };

		if (w >= 0) {
			p += w;
			n -= w;
		} else if (errno == EAGAIN) {
			/* The target may have made the terminal it shares with us so. */
			if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int write_out(FILE *f, const char *p, size_t n)
{
	int fd = fileno(f);

	errno = 0;
	if (fflush(f))
		return errno ? -errno : -EIO;
	if (fd >= 0)
		return write_fd(fd, p, n);
	errno = 0;
	if (fwrite(p, 1, n, f) < n || fflush(f))
		return errno ? -errno : -EIO;
	return 0;
}

int report_out__flush(struct report_out *o)
{
	if (o->len && !o->err)
		o->err = write_out(o->f, o->buf, o->len);
	o->len = 0;
	return o->err;
}

void report_out__printf(struct report_out *o, const char *fmt, ...)
{
	for (int try = 0; try < 2; try++) {
		size_t room = sizeof(o->buf) - o->len;
		va_list ap;
		int n;

		va_start(ap, fmt);
		n = vsnprintf(o->buf + o->len, room, fmt, ap);
		va_end(ap);
		if (n < 0)
			return;
		if ((size_t)n < room || o->len == 0) {
			o->len += (size_t)n < room ? (size_t)n : room - 1;
			return;
		}
		report_out__flush(o);
	}
}

/* ---- what both reports say ---------------------------------------------- */

uint64_t report__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

bool report__is_stream_query(const struct acl_violation *v)
{
	return v->rule == ACL_RULE_FREE_AFTER_STREAM_QUERY;
}

uint64_t report__event(const struct acl_violation *v)
{
	if (v->rule == ACL_RULE_EVENT_DOUBLE_DESTROY || v->rule == ACL_RULE_EVENT_USE_AFTER_DESTROY)
		return v->ptr;
	return v->poll.handle;
}

void report__range(const struct acl_violation *v, uint64_t *base, uint64_t *size)
{
	*base = v->buf.base;
	*size = v->buf.id ? v->buf.size : 0;
	if (v->buf.id || !v->ended.id || report__event(v))
		return;
	/* a second release is of the base itself */
	*base = v->rule == ACL_RULE_COPY_AFTER_FREE ? v->ended.base : v->ptr;
	*size = v->ended.size;
}

const char *report__span(char buf[REPORT_SPAN_MAX], int64_t ns)
{
	double abs = ns < 0 ? -(double)ns : (double)ns;

	if (abs < 1e3)
		snprintf(buf, REPORT_SPAN_MAX, "%" PRId64 " ns", ns);
	else if (abs < 1e6)
		snprintf(buf, REPORT_SPAN_MAX, "%.1f us", ns / 1e3);
	else if (abs < 1e9)
		snprintf(buf, REPORT_SPAN_MAX, "%.3f ms", ns / 1e6);
	else
		snprintf(buf, REPORT_SPAN_MAX, "%.3f s", ns / 1e9);
	return buf;
}

static const char *hex(char buf[HANDLE_MAX], uint64_t val)
{
	snprintf(buf, HANDLE_MAX, val ? "0x%" PRIx64 : "NULL", val);
	return buf;
}

static void remedy_poll(const struct acl_violation *v, const char *call, char *buf, size_t n)
{
	char event[HANDLE_MAX], stream[HANDLE_MAX], ptr[HANDLE_MAX];

	hex(event, report__event(v));
	hex(stream, v->stream.handle);
	hex(ptr, v->ptr);
	if (!v->copy.pos)
		snprintf(buf, n,
			 "call aclrtDestroyEvent(%s) before %s(%s), or wait for the stream of the "
			 "copy with aclrtSynchronizeStream instead of polling the event.",
			 event, call, ptr);
	else if (v->poll.records > 1 || v->event.records > 1)
		snprintf(buf, n,
			 "event %s is used again and again, so it is not destroyed in time: call "
			 "aclrtSynchronizeStream(%s) before %s(%s), or use an event of its own "
			 "for the last copy and destroy it first.",
			 event, stream, call, ptr);
	else
		snprintf(buf, n,
			 "call aclrtDestroyEvent(%s) before %s(%s), or wait with "
			 "aclrtSynchronizeStream(%s) instead of polling the event.",
			 event, call, ptr, stream);
}

static void remedy_failed(const struct acl_violation *v, const char *call, char *buf, size_t n)
{
	char ptr[HANDLE_MAX];

	snprintf(buf, n,
		 "nothing was released.  The runtime's log of this moment tells why; the usual "
		 "cause is work that still uses %s: synchronise its streams, destroy the events "
		 "that were polled for it, and unregister what was registered in it before %s.",
		 hex(ptr, v->ptr), call);
}

void report__remedy(const struct acl_violation *v, char *buf, size_t n)
{
	const char *call = acl_call__name(v->call);
	char stream[HANDLE_MAX], ptr[HANDLE_MAX];

	hex(stream, v->stream.handle);
	hex(ptr, v->ptr);
	switch (v->rule) {
	case ACL_RULE_FREE_BEFORE_DESTROY:
		remedy_poll(v, call, buf, n);
		break;
	case ACL_RULE_FREE_IN_FLIGHT:
		snprintf(buf, n,
			 "wait for the copy before %s(%s): aclrtSynchronizeStream(%s), or an event "
			 "that is recorded after the copy, found complete and destroyed.",
			 call, ptr, stream);
		break;
	case ACL_RULE_FREE_AFTER_STREAM_QUERY:
		snprintf(
			buf, n,
			"aclrtStreamQuery looks at the device only: call "
			"aclrtSynchronizeStream(%s) before %s(%s); with the stream idle it returns "
			"at once.",
			stream, call, ptr);
		break;
	case ACL_RULE_FREE_AFTER_EVENT_SYNC:
		snprintf(buf, n,
			 "aclrtSynchronizeEvent need not tell the host side: destroy the event "
			 "before %s(%s), or call aclrtSynchronizeStream(%s).",
			 call, ptr, stream);
		break;
	case ACL_RULE_FREE_FAILED:
		remedy_failed(v, call, buf, n);
		break;
	case ACL_RULE_DOUBLE_FREE:
		snprintf(buf, n,
			 "release %s once only: had its address been handed out again meanwhile, "
			 "this call would have taken another owner's buffer.",
			 ptr);
		break;
	case ACL_RULE_EVENT_DOUBLE_DESTROY:
		snprintf(buf, n,
			 "destroy event %s once only: had its handle been handed out again "
			 "meanwhile, this call would have taken another owner's event.",
			 ptr);
		break;
	case ACL_RULE_EVENT_USE_AFTER_DESTROY:
		snprintf(buf, n, "move aclrtDestroyEvent(%s) behind the last use of the event.",
			 ptr);
		break;
	case ACL_RULE_COPY_AFTER_FREE:
		snprintf(buf, n,
			 "%s lies in a buffer that was released before: release it only after its "
			 "last copy was submitted and aclrtSynchronizeStream(%s) has returned.",
			 ptr, stream);
		break;
	default:
		snprintf(buf, n, "%s", "");
	}
}

/* ---- the history -------------------------------------------------------- */

#define MOMENTS_MAX 8
#define CALL_WIDTH 24 /* at least */

struct moment {
	uint64_t pos;
	const char *call;
	uint32_t tid; /* 0: not known */
	char text[192];
};

struct history {
	struct moment m[MOMENTS_MAX];
	unsigned int n;
};

/* Sorted by time; what comes at the same time stays in the order of the calls here. */
__attribute__((format(printf, 5, 6))) static void
history_add(struct history *h, uint64_t pos, const char *call, uint32_t tid, const char *fmt, ...)
{
	unsigned int i = h->n;
	va_list ap;

	if (h->n == MOMENTS_MAX)
		return;
	for (; i > 0 && h->m[i - 1].pos > pos; i--)
		h->m[i] = h->m[i - 1];
	h->m[i].pos = pos;
	h->m[i].call = call;
	h->m[i].tid = tid;
	va_start(ap, fmt);
	vsnprintf(h->m[i].text, sizeof(h->m[i].text), fmt, ap);
	va_end(ap);
	h->n++;
}

static const char *stream_words(const struct acl_violation *v, char buf[HANDLE_MAX])
{
	if (!v->stream.handle)
		snprintf(buf, HANDLE_MAX, "the default stream");
	else
		snprintf(buf, HANDLE_MAX, "%sstream 0x%" PRIx64,
			 v->stream.is_default ? "default " : "", (uint64_t)v->stream.handle);
	return buf;
}

/* An address as base+offset, so that interior pointers are seen as such. */
static const char *address_words(const struct acl_violation *v, char buf[HANDLE_MAX])
{
	uint64_t addr = v->copy.addr, base, size;

	report__range(v, &base, &size);
	if (addr >= base && addr - base < size)
		snprintf(buf, HANDLE_MAX, "0x%" PRIx64 "+0x%" PRIx64, base, addr - base);
	else
		snprintf(buf, HANDLE_MAX, "0x%" PRIx64, addr);
	return buf;
}

static void tell_copy(struct history *h, const struct acl_violation *v)
{
	static const char *const ways[] = {
		[ACL_DIR_H2D] = "host to device, %" PRIu64 " bytes from %s, %s",
		[ACL_DIR_D2H] = "device to host, %" PRIu64 " bytes to %s, %s",
		[ACL_DIR_ANY] = "%" PRIu64 " bytes, host side %s, %s",
	};
	const char *way = ways[v->copy.dir <= ACL_DIR_ANY ? v->copy.dir : ACL_DIR_ANY];
	char addr[HANDLE_MAX], stream[HANDLE_MAX], text[192];

	if (!v->copy.pos)
		return;
	address_words(v, addr);
	stream_words(v, stream);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), way, (uint64_t)v->copy.len, addr, stream);
#pragma GCC diagnostic pop
	history_add(h, v->copy.pos, acl_call__name(v->copy.call), v->copy.tid, "%s", text);
}

static const char *event_kind(const struct acl_violation *v)
{
	return v->event.flags & ACL_EVENT_TIME_LINE ? ", TIME_LINE" : "";
}

static void tell_event(struct history *h, const struct acl_violation *v)
{
	uint64_t handle = report__event(v);

	if (!v->has_event)
		return;
	if (v->event.call < ACL_C_MAX)
		history_add(h, v->event.born, acl_call__name(v->event.call), v->event.tid,
			    "event 0x%" PRIx64 ", flags 0x%x%s", handle, v->event.flags,
			    event_kind(v));
	else
		history_add(h, v->event.born, "(first seen)", v->event.tid,
			    "event 0x%" PRIx64 ", created unseen", handle);
	if (!v->event.rec_pos)
		return;
	if (acl_call__role(v->event.rec_call) == ACL_R_EV_RESET)
		history_add(h, v->event.rec_pos, acl_call__name(v->event.rec_call),
			    v->event.rec_tid, "event 0x%" PRIx64, handle);
	else
		history_add(h, v->event.rec_pos, acl_call__name(v->event.rec_call),
			    v->event.rec_tid, "event 0x%" PRIx64 ", record %u of its life", handle,
			    v->event.records);
}

static void tell_poll(struct history *h, const struct acl_violation *v)
{
	char stream[HANDLE_MAX];

	if (report__is_stream_query(v)) {
		if (v->stream.query_pos)
			history_add(h, v->stream.query_pos, "aclrtStreamQuery", v->stream.query_tid,
				    "%s: COMPLETE", stream_words(v, stream));
		return;
	}
	if (v->rule == ACL_RULE_FREE_BEFORE_DESTROY && v->poll.pos)
		history_add(h, v->poll.pos, "aclrtQueryEventStatus", v->poll.tid,
			    "event 0x%" PRIx64 ": COMPLETE", (uint64_t)v->poll.handle);
	/* A poll after the copy that does not cover it is a mistake worth seeing. */
	if (v->rule == ACL_RULE_FREE_IN_FLIGHT && v->poll.pos > v->copy.pos)
		history_add(h, v->poll.pos, "aclrtQueryEventStatus", v->poll.tid,
			    "event 0x%" PRIx64 ": COMPLETE, for what came before this copy",
			    (uint64_t)v->poll.handle);
}

static bool is_release(const struct acl_violation *v)
{
	enum acl_role role = acl_call__role(v->call);

	return role == ACL_R_FREE || role == ACL_R_FREE_SYNC || role == ACL_R_UNREGISTER;
}

/* The end of what is used once more; which call that was is not kept. */
static void tell_end(struct history *h, const struct acl_violation *v)
{
	uint64_t base, size;

	if (!v->ended.id)
		return;
	if (report__event(v)) {
		history_add(h, v->ended.pos, "(destroyed)", v->ended.tid, "event 0x%" PRIx64,
			    report__event(v));
		return;
	}
	report__range(v, &base, &size);
	history_add(h, v->ended.pos, "(released)", v->ended.tid,
		    "buffer 0x%" PRIx64 ", %" PRIu64 " bytes", base, size);
}

static void tell_call(struct history *h, const struct acl_violation *v)
{
	const char *what = is_release(v) ? "buffer " : report__event(v) ? "event " : "";
	const char *name = acl_error__name(v->ret);
	char ptr[HANDLE_MAX];

	if (v->rule == ACL_RULE_COPY_AFTER_FREE && v->copy.pos)
		return; /* the call is the copy */
	hex(ptr, v->ptr);
	if (!backtrace__is_at_return(v->rule))
		history_add(h, v->h.time, acl_call__name(v->call), v->h.tid, "%s%s", what, ptr);
	else
		history_add(h, v->h.time, acl_call__name(v->call), v->h.tid,
			    "%s%s, returned %d%s%s%s", what, ptr, v->ret, name ? " (" : "",
			    name ? name : "", name ? ")" : "");
}

static void print_history(struct report_out *o, const struct acl_violation *v)
{
	struct history h = { .n = 0 };
	char span[REPORT_SPAN_MAX];
	int width = CALL_WIDTH;

	if (v->buf.id && v->buf.born)
		history_add(&h, v->buf.born, acl_call__name(v->buf.call), v->buf.tid,
			    "buffer 0x%" PRIx64 ", %" PRIu64 " bytes", (uint64_t)v->buf.base,
			    (uint64_t)v->buf.size);
	tell_event(&h, v);
	tell_end(&h, v);
	tell_copy(&h, v);
	tell_poll(&h, v);
	tell_call(&h, v);
	report_out__printf(o, "  history, relative to the %s:\n",
			   is_release(v) ? "release" : "call");
	for (unsigned int i = 0; i < h.n; i++)
		if ((int)strlen(h.m[i].call) > width)
			width = (int)strlen(h.m[i].call);
	for (unsigned int i = 0; i < h.n; i++) {
		const struct moment *m = &h.m[i];
		int64_t ns = (int64_t)(m->pos - v->h.time);

		report_out__printf(o, "    %12s  %-*s %s", ns ? report__span(span, ns) : "0", width,
				   m->call, m->text);
		if (m->tid)
			report_out__printf(o, " [thread %u]", m->tid);
		report_out__printf(o, "\n");
	}
	if (!v->buf.id && v->rule == ACL_RULE_FREE_BEFORE_DESTROY)
		report_out__printf(o, "    the allocation of the buffer and the copies on it were "
				      "not seen\n");
	if (v->unsettled > 1)
		report_out__printf(o, "    %u more cop%s of this buffer %s not settled either\n",
				   v->unsettled - 1, v->unsettled == 2 ? "y" : "ies",
				   v->unsettled == 2 ? "was" : "were");
}

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
			   const struct acl_violation *v)
{
	char comm[ACL_COMM_LEN * ESCAPE_TEXT_EXPAND + 1], ptr[HANDLE_MAX], level[16];
	size_t i;

	snprintf(level, sizeof(level), "%s", acl_level__name(v->level));
	for (i = 0; level[i]; i++)
		level[i] = toupper((unsigned char)level[i]);
	escape__text(comm, sizeof(comm), v->comm, strnlen(v->comm, sizeof(v->comm)));
	report_out__printf(o, "==%u==aclguard: %s #%" PRIu64 " %s: %s: %s by %s (pid %u, tid %u",
			   v->h.tgid, level, nr, acl_rule__name(v->rule),
			   acl_rule__headline(v->rule), hex(ptr, v->ptr), comm, v->h.tgid,
			   v->h.tid);
	print_place(o, cfg, (pid_t)v->h.tgid);
	report_out__printf(o, ")\n");
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

static void print_stack(struct report_out *o, const struct report_cfg *cfg,
			const struct acl_violation *v)
{
	struct backtrace bt;

	backtrace__take(cfg, v, &bt);
	backtrace__name(cfg, (pid_t)v->h.tgid, &bt);
	if (bt.at_return)
		report_out__printf(o, "  stack that %s returned to [thread %u]:\n",
				   acl_call__name(v->call), v->h.tid);
	else
		report_out__printf(o, "  stack of the %s [thread %u]:\n",
				   is_release(v) ? "release" : "call", v->h.tid);
	print_frames(o, &bt);
	if (bt.err)
		report_out__printf(o, "    (the kernel could not walk the stack: %s)\n",
				   strerror(-bt.err));
	else if (v->stack_len == 0)
		report_out__printf(o, "    (the kernel took no stack)\n");
	backtrace__clear(&bt);
}

int report_text__violation(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
			   uint64_t *printed)
{
	char remedy[REPORT_REMEDY_MAX];
	struct report_out o;

	report_out__init(&o, cfg->text);
	print_headline(&o, cfg, nr, v);
	print_knowledge(&o, cfg, v);
	print_history(&o, v);
	report_out__flush(&o);
	*printed = report__now();
	if (cfg->stacks)
		print_stack(&o, cfg, v);
	print_history_stacks(&o, cfg, v);
	report__remedy(v, remedy, sizeof(remedy));
	if (remedy[0])
		report_out__printf(&o, "  remedy: %s\n", remedy);
	return report_out__flush(&o);
}

/* ---- what came after ---------------------------------------------------- */

static void print_return(struct report_out *o, const struct story *s)
{
	const char *name = acl_error__name(s->ret);
	char ptr[HANDLE_MAX], span[REPORT_SPAN_MAX];

	report_out__printf(o, "%s(%s) ", acl_call__name(s->call), hex(ptr, s->ptr));
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
