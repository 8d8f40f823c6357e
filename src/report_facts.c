/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a violation comes down to, and what to do about it. */
#include "report_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "names.h"

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

bool report__is_release(const struct acl_violation *v)
{
	enum acl_role role = acl_call__role(v->call);

	return role == ACL_R_FREE || role == ACL_R_FREE_SYNC || role == ACL_R_UNREGISTER;
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

const char *report__hex(char buf[REPORT_HANDLE_MAX], uint64_t val)
{
	snprintf(buf, REPORT_HANDLE_MAX, val ? "0x%" PRIx64 : "NULL", val);
	return buf;
}

static void remedy_poll(const struct acl_violation *v, const char *call, char *buf, size_t n)
{
	char event[REPORT_HANDLE_MAX], stream[REPORT_HANDLE_MAX], ptr[REPORT_HANDLE_MAX];

	report__hex(event, report__event(v));
	report__hex(stream, v->stream.handle);
	report__hex(ptr, v->ptr);
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
	char ptr[REPORT_HANDLE_MAX];

	snprintf(buf, n,
		 "nothing was released.  The runtime's log of this moment tells why; the usual "
		 "cause is work that still uses %s: synchronise its streams, destroy the events "
		 "that were polled for it, and unregister what was registered in it before %s.",
		 report__hex(ptr, v->ptr), call);
}

void report__remedy(const struct acl_violation *v, char *buf, size_t n)
{
	const char *call = acl_call__name(v->call);
	char stream[REPORT_HANDLE_MAX], ptr[REPORT_HANDLE_MAX];

	report__hex(stream, v->stream.handle);
	report__hex(ptr, v->ptr);
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
