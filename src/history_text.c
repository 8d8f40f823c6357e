/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The moments of a history, in order. */
#include "history_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backtrace.h"
#include "names.h"
#include "report_facts.h"
#include "verdict.h"

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

static const char *stream_words(const struct acl_violation *v, char buf[REPORT_HANDLE_MAX])
{
	if (!v->stream.handle)
		snprintf(buf, REPORT_HANDLE_MAX, "the default stream");
	else
		snprintf(buf, REPORT_HANDLE_MAX, "%sstream 0x%" PRIx64,
			 v->stream.is_default ? "default " : "", (uint64_t)v->stream.handle);
	return buf;
}

/* An address as base+offset, so that interior pointers are seen as such. */
static const char *address_words(const struct acl_violation *v, char buf[REPORT_HANDLE_MAX])
{
	uint64_t addr = v->copy.addr, base, size;

	report__range(v, &base, &size);
	if (addr >= base && addr - base < size)
		snprintf(buf, REPORT_HANDLE_MAX, "0x%" PRIx64 "+0x%" PRIx64, base, addr - base);
	else
		snprintf(buf, REPORT_HANDLE_MAX, "0x%" PRIx64, addr);
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
	char addr[REPORT_HANDLE_MAX], stream[REPORT_HANDLE_MAX], text[192];

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
	char stream[REPORT_HANDLE_MAX];

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
	const char *what = report__is_release(v) ? "buffer " : report__event(v) ? "event " : "";
	const char *name = acl_error__name(v->ret);
	char ptr[REPORT_HANDLE_MAX];

	if (v->rule == ACL_RULE_COPY_AFTER_FREE && v->copy.pos)
		return; /* the call is the copy */
	report__hex(ptr, v->ptr);
	if (!backtrace__is_at_return(v->rule))
		history_add(h, v->h.time, acl_call__name(v->call), v->h.tid, "%s%s", what, ptr);
	else
		history_add(h, v->h.time, acl_call__name(v->call), v->h.tid,
			    "%s%s, returned %d%s%s%s", what, ptr, v->ret, name ? " (" : "",
			    name ? name : "", name ? ")" : "");
}

void history_text__print(struct report_out *o, const struct acl_violation *v)
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
			   report__is_release(v) ? "release" : "call");
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
