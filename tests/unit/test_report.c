/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reports and the summary: complete, readable, and safe whatever the target is called. */
#define _GNU_SOURCE /* fopencookie, strptime */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "backtrace.h"
#include "json.h"
#include "report_json.h"
#include "report_text.h"
#include "summary.h"
#include "symbols.h"
#include "verdict.h"

#define NOW 5000000000ULL
#define US 1000ULL
#define MS 1000000ULL
#define BASE 0x7f3a5c000000ULL
#define HOSTILE "\x1b[31m\n==1==\"\\\xff\xe2\x80"

/* The case this tool is for, with everything known. */
static struct acl_violation violation(void)
{
	struct acl_violation v = {
		.h = { .type = ACL_REC_VIOLATION, .tgid = 4711, .tid = 4712, .inc = 1, .time = NOW },
		.id = 99,
		.call = ACL_C_aclrtFreeHost,
		.rule = ACL_RULE_FREE_BEFORE_DESTROY,
		.level = ACL_LEVEL_ERROR,
		.evidence = ACL_EV_CERTAIN,
		.hazard = ACL_HZ_MECHANISM,
		.unsettled = 1,
		.has_event = 1,
		.ptr = BASE,
		.buf = { .id = 3,
			 .base = BASE,
			 .size = 65536,
			 .born = NOW - 1832 * US,
			 .tid = 4711,
			 .call = ACL_C_aclrtMallocHost },
		.copy = { .stream = 4,
			  .pos = NOW - 1700 * US,
			  .addr = BASE + 0x40,
			  .len = 4096,
			  .tid = 4711,
			  .call = ACL_C_aclrtMemcpyAsync,
			  .dir = ACL_DIR_H2D },
		.stream = { .id = 4, .handle = 0x55d0a0, .dev = 2 },
		.poll = { .pos = NOW - 12400,
			  .event = 5,
			  .handle = 0x55d0e0,
			  .tid = 4712,
			  .records = 1 },
		.event = { .born = NOW - 1750 * US,
			   .rec_pos = NOW - 1690 * US,
			   .rec_call = ACL_C_aclrtRecordEventWithFlag,
			   .rec_tid = 4713,
			   .records = 1,
			   .flags = 1,
			   .tid = 4711,
			   .call = ACL_C_aclrtCreateEventWithFlag },
		.ip = 0x1000,
		.ret_addr = 0x2000,
		.comm = "pcd_order",
		.stack_len = 16,
		.stack = { 0x1000, 0x3000 },
	};

	return v;
}

static int print_text(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
		      uint64_t *printed)
{
	struct backtrace bt;
	int err;

	backtrace__take(cfg, v, &bt);
	err = report_text__violation(cfg, nr, v, &bt, NULL, printed);
	backtrace__clear(&bt);
	return err;
}

static char *text_of(const struct report_cfg *cfg, const struct acl_violation *v)
{
	struct report_cfg c = *cfg;
	uint64_t printed = 0;
	char *text = NULL;
	size_t len = 0;

	c.text = open_memstream(&text, &len);
	assert_non_null(c.text);
	assert_int_equal(print_text(&c, 7, v, &printed), 0);
	assert_true(printed > 0);
	fclose(c.text);
	return text;
}

static char *plain_text_of(const struct acl_violation *v)
{
	const struct report_cfg cfg = { .window_ns = 1000 * MS };

	return text_of(&cfg, v);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
}

/* ---- text --------------------------------------------------------------- */

static void the_report_tells_the_whole_story(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = true };
	char *text = text_of(&cfg, &v);

	(void)state;
	assert_string_equal(
		text,
		"==4711==aclguard: ERROR #7 free-before-destroy: host buffer released after a mere "
		"poll, before the event was destroyed: 0x7f3a5c000000 by pcd_order (pid 4711, tid "
		"4712)\n"
		"  evidence: certain, the allocation and everything after it was seen\n"
		"  hazard: mechanism, by the runtime's source, the host side has not been told "
		"yet\n"
		"  history, relative to the release:\n"
		"       -1.832 ms  aclrtMallocHost          buffer 0x7f3a5c000000, 65536 bytes "
		"[thread 4711]\n"
		"       -1.750 ms  aclrtCreateEventWithFlag event 0x55d0e0, flags 0x1 [thread 4711]\n"
		"       -1.700 ms  aclrtMemcpyAsync         host to device, 4096 bytes from "
		"0x7f3a5c000000+0x40, stream 0x55d0a0 [thread 4711]\n"
		"       -1.690 ms  aclrtRecordEventWithFlag event 0x55d0e0, record 1 of its life "
		"[thread 4713]\n"
		"        -12.4 us  aclrtQueryEventStatus    event 0x55d0e0: COMPLETE [thread 4712]\n"
		"               0  aclrtFreeHost            buffer 0x7f3a5c000000 [thread 4712]\n"
		"  stack of the release [thread 4712]:\n"
		"    #0 0x1000 (unknown)\n"
		"    #1 0x2000 (unknown)\n"
		"    #2 0x3000 (unknown)\n"
		"  remedy: call aclrtDestroyEvent(0x55d0e0) before aclrtFreeHost(0x7f3a5c000000), "
		"or wait with aclrtSynchronizeStream(0x55d0a0) instead of polling the event.\n");
	free(text);
}

static void stacks_that_were_not_asked_for_are_left_out(void **state)
{
	struct acl_violation v = violation();
	char *text = plain_text_of(&v);

	(void)state;
	assert_lacks(text, "stack");
	assert_has(text, "  remedy: ");
	free(text);
}

static void an_unknown_buffer_reads_well(void **state)
{
	struct acl_violation v = violation();
	char *text;

	(void)state;
	memset(&v.buf, 0, sizeof(v.buf));
	memset(&v.copy, 0, sizeof(v.copy));
	memset(&v.stream, 0, sizeof(v.stream));
	v.unsettled = 0;
	v.level = ACL_LEVEL_WARNING;
	v.evidence = ACL_EV_SUSPECTED;
	v.suspects = 1U << ACL_S_LATE;
	text = plain_text_of(&v);
	assert_has(text, "WARNING #7 free-before-destroy");
	assert_has(text, "  evidence: suspected\n    late-attach: aclguard attached after this "
			 "object was created\n");
	assert_has(text, "the allocation of the buffer and the copies on it were not seen\n");
	assert_has(text, "aclrtFreeHost            buffer 0x7f3a5c000000 [thread 4712]\n");
	assert_has(text, "remedy: call aclrtDestroyEvent(0x55d0e0) before");
	assert_lacks(text, "aclrtMemcpyAsync");
	assert_lacks(text, "0 bytes");
	assert_lacks(text, "NULL");
	free(text);
}

static void the_causes_of_suspicion_are_named(void **state)
{
	struct acl_violation v = violation();
	char *text;

	(void)state;
	v.evidence = ACL_EV_SUSPECTED;
	v.suspects = 1U << ACL_S_RACED | 1U << ACL_S_WAY | 1U << 31;
	text = plain_text_of(&v);
	assert_has(text, "    raced: calls on one object");
	assert_has(text, "    unfollowed-way: the stream carried");
	assert_lacks(text, "late-attach");
	free(text);
}

static void a_warning_says_why_it_is_none_worse(void **state)
{
	struct acl_violation v = violation();
	char *text;

	(void)state;
	v.level = ACL_LEVEL_WARNING;
	v.event.records = 9;
	v.event.call = ACL_C_aclrtCreateEventExWithFlag;
	text = plain_text_of(&v);
	assert_has(text, "a warning, because the event is used again and again");
	assert_has(text, "aclrtCreateEventExWithFlag event 0x55d0e0,"); /* columns stay such */
	assert_has(text, "aclrtFreeHost              buffer 0x7f3a5c000000");
	assert_has(text, "remedy: event 0x55d0e0 is used again and again");
	free(text);
	v.event.records = 1;
	v.poll.pos = NOW - 2000 * MS;
	text = plain_text_of(&v);
	assert_has(text, "a warning, because the poll is older than the window of 1.000 s");
	assert_has(text, "  -2.000 s  aclrtQueryEventStatus");
	free(text);
	v.level = ACL_LEVEL_ERROR;
	text = plain_text_of(&v);
	assert_lacks(text, "a warning");
	free(text);
}

static void the_default_stream_is_called_so(void **state)
{
	struct acl_violation v = violation();
	char *text;

	(void)state;
	v.stream.handle = 0;
	v.stream.is_default = 1;
	v.copy.dir = ACL_DIR_D2H;
	v.unsettled = 3;
	text = plain_text_of(&v);
	assert_has(text, "device to host, 4096 bytes to 0x7f3a5c000000+0x40, the default stream");
	assert_has(text, "aclrtSynchronizeStream(NULL)");
	assert_has(text, "2 more copies of this buffer were not settled either");
	free(text);
	v.stream.handle = 0xabc;
	v.copy.addr = BASE - 64; /* rounded range: outside after all */
	text = plain_text_of(&v);
	assert_has(text, "bytes to 0x7f3a5bffffc0, default stream 0xabc");
	free(text);
}

static void a_stream_query_is_told_as_such(void **state)
{
	struct acl_violation v = violation();
	char *text;

	(void)state;
	v.rule = ACL_RULE_FREE_AFTER_STREAM_QUERY;
	v.level = ACL_LEVEL_WARNING;
	v.has_event = 0;
	v.stream.query_pos = NOW - 900;
	v.stream.query_tid = 4714;
	text = plain_text_of(&v);
	assert_has(text, "-900 ns  aclrtStreamQuery         stream 0x55d0a0: COMPLETE "
			 "[thread 4714]\n");
	assert_lacks(text, "aclrtQueryEventStatus");
	assert_has(text, "remedy: aclrtStreamQuery looks at the device only: call "
			 "aclrtSynchronizeStream(0x55d0a0)");
	free(text);
}

static void in_flight_shows_a_poll_only_if_it_misled(void **state)
{
	struct acl_violation v = violation();
	char *text;

	(void)state;
	v.rule = ACL_RULE_FREE_IN_FLIGHT;
	v.has_event = 0;
	text = plain_text_of(&v);
	assert_has(text, "COMPLETE, for what came before this copy");
	free(text);
	v.poll.pos = v.copy.pos - 1;
	text = plain_text_of(&v);
	assert_lacks(text, "COMPLETE");
	free(text);
}

static void a_failed_free_names_its_code(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = true };
	char *text;

	(void)state;
	v.rule = ACL_RULE_FREE_FAILED;
	v.evidence = ACL_EV_CONFIRMED;
	v.hazard = ACL_HZ_UNKNOWN;
	v.ret = 507899;
	v.has_event = 0;
	memset(&v.copy, 0, sizeof(v.copy));
	memset(&v.poll, 0, sizeof(v.poll));
	text = text_of(&cfg, &v);
	assert_has(text, "buffer 0x7f3a5c000000, returned 507899 "
			 "(ACL_ERROR_RT_DRV_INTERNAL_ERROR)");
	assert_has(text, "evidence: confirmed, the runtime itself refused the call");
	assert_has(text, "stack that aclrtFreeHost returned to [thread 4712]:\n    #0 0x1000 "
			 "(unknown)\n    #1 0x3000");
	assert_lacks(text, "hazard");
	free(text);
	v.ret = 12345;
	memset(&v.buf, 0, sizeof(v.buf));
	text = plain_text_of(&v);
	assert_has(text, "aclrtFreeHost            buffer 0x7f3a5c000000, returned 12345 [thread");
	free(text);
}

static void an_event_rule_names_the_event(void **state)
{
	struct acl_violation v = {
		.h = { .type = ACL_REC_VIOLATION, .tgid = 1, .tid = 2, .time = NOW },
		.rule = ACL_RULE_EVENT_DOUBLE_DESTROY,
		.level = ACL_LEVEL_ERROR,
		.call = ACL_C_aclrtDestroyEvent,
		.ptr = 0xe1,
		.ret = 107017,
		.ended = { .id = 8, .pos = NOW - 4 * MS, .tid = 3 },
	};
	char *text = plain_text_of(&v);

	(void)state;
	assert_has(text, "event destroyed twice: 0xe1 by");
	assert_has(text, "relative to the call:\n"
			 "       -4.000 ms  (destroyed)              event 0xe1 [thread 3]\n");
	assert_has(text, "event 0xe1, returned 107017 (ACL_ERROR_RT_INVALID_HANDLE)");
	assert_has(text, "remedy: destroy event 0xe1 once only");
	free(text);
}

static struct acl_violation late_copy(void)
{
	struct acl_violation v = violation();

	v.rule = ACL_RULE_COPY_AFTER_FREE;
	v.call = ACL_C_aclrtMemcpyAsync;
	v.has_event = 0;
	memset(&v.buf, 0, sizeof(v.buf));
	memset(&v.poll, 0, sizeof(v.poll));
	v.copy.pos = NOW;
	v.ptr = v.copy.addr;
	v.ended.id = 8;
	v.ended.base = BASE;
	v.ended.size = 65536;
	v.ended.pos = NOW - 4 * MS;
	v.ended.tid = 3;
	return v;
}

static void a_second_end_shows_the_first(void **state)
{
	struct acl_violation v = late_copy();
	char *text = plain_text_of(&v);

	(void)state;
	assert_has(text, "released before: 0x7f3a5c000040 by");
	assert_has(text,
		   "relative to the call:\n"
		   "       -4.000 ms  (released)               buffer 0x7f3a5c000000, 65536 "
		   "bytes [thread 3]\n"
		   "               0  aclrtMemcpyAsync         host to device, 4096 bytes from "
		   "0x7f3a5c000000+0x40, stream 0x55d0a0 [thread 4711]\n"
		   "  remedy: ");
	free(text);
	v.rule = ACL_RULE_DOUBLE_FREE;
	v.call = ACL_C_aclrtFreeHost;
	memset(&v.copy, 0, sizeof(v.copy));
	v.ptr = BASE;
	v.ended.base = 0;
	v.ret = 107000;
	text = plain_text_of(&v);
	assert_has(text, "(released)               buffer 0x7f3a5c000000, 65536 bytes");
	assert_has(text, "0  aclrtFreeHost            buffer 0x7f3a5c000000, returned 107000 "
			 "(ACL_ERROR_RT_PARAM_INVALID) [thread 4712]");
	free(text);
}

/* Every control character in the output is a newline of ours. */
static void assert_safe(const char *text, size_t lines)
{
	size_t n = 0;

	for (; *text; text++) {
		assert_true((unsigned char)*text >= 0x20 || *text == '\n');
		n += *text == '\n';
	}
	assert_int_equal(n, lines);
}

static void a_hostile_program_name_stays_in_its_line(void **state)
{
	struct acl_violation v = violation();
	char *text = plain_text_of(&v);
	size_t lines = 0;

	(void)state;
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	free(text);
	memset(v.comm, 'x', sizeof(v.comm)); /* no NUL */
	memcpy(v.comm, HOSTILE, sizeof(HOSTILE) - 1);
	text = plain_text_of(&v);
	assert_safe(text, lines);
	assert_has(text, "by \\x1b[31m\\x0a==1==\"\\\\\\xff\\xe2\\x80 (pid");
	free(text);
}

/* A file with such a name, mapped as code into this very process. */
static void a_hostile_path_in_the_stack_is_escaped(void **state)
{
	struct report_cfg cfg = { .stacks = true, .sym = symbolizer__new(0) };
	struct acl_violation v = violation();
	const char *path = "/tmp/aclguard-test-"
			   "\x1b[2J\n==1==x";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *text;
	void *code;

	(void)state;
	assert_non_null(cfg.sym);
	if (fd < 0)
		skip();
	assert_int_equal(ftruncate(fd, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	unlink(path);
	if (code == MAP_FAILED)
		skip(); /* /tmp is mounted noexec */
	v.h.tgid = getpid();
	v.ip = v.stack[0] = (uintptr_t)code;
	text = text_of(&cfg, &v);
	for (const char *p = text; *p; p++)
		assert_true((unsigned char)*p >= 0x20 || *p == '\n');
	assert_has(text, "\\x1b[2J");
	assert_lacks(text, "\n==1==");
	free(text);
	munmap(code, 4096);
	symbolizer__free(cfg.sym);
}

static void frames_are_symbolized(void **state)
{
	struct report_cfg cfg = { .stacks = true, .sym = symbolizer__new(SYMBOLIZER_NO_LINES) };
	struct acl_violation v = violation();
	char *text;

	(void)state;
	v.h.tgid = getpid();
	v.ip = v.stack[0] = (uintptr_t)backtrace__take;
	text = text_of(&cfg, &v);
	assert_has(text, "backtrace__take");
	free(text);
	symbolizer__free(cfg.sym);
}

struct writes {
	unsigned int n;
	char *first;
};

static ssize_t note_write(void *cookie, const char *buf, size_t n)
{
	struct writes *w = cookie;

	if (w->n++ == 0)
		w->first = strndup(buf, n);
	return n;
}

static void the_headline_does_not_wait_for_the_stack(void **state)
{
	struct writes w = { .n = 0 };
	struct report_cfg cfg = {
		.stacks = true,
		.text = fopencookie(&w, "w", (cookie_io_functions_t){ .write = note_write }),
	};
	struct acl_violation v = violation();
	static char big[65536];
	uint64_t printed;

	(void)state;
	setvbuf(cfg.text, big, _IOFBF, sizeof(big));
	assert_int_equal(print_text(&cfg, 1, &v, &printed), 0);
	assert_int_equal(w.n, 2);
	assert_has(w.first, "==4711==aclguard: ERROR #1");
	assert_has(w.first, "aclrtFreeHost            buffer");
	assert_lacks(w.first, "stack");
	free(w.first);
	fclose(cfg.text);
}

static void a_full_disk_and_a_closed_pipe_are_told(void **state)
{
	struct acl_violation v = violation();
	struct summary s = { .duration_ns = 1 };
	struct report_cfg cfg = { .text = fopen("/dev/full", "w") };
	uint64_t printed;

	(void)state;
	assert_int_equal(print_text(&cfg, 1, &v, &printed), -ENOSPC);
	assert_int_equal(summary__print(&cfg, &s), -ENOSPC);
	fclose(cfg.text);
}

/* ---- frames and remedies ------------------------------------------------- */

static void assert_frames(const struct acl_violation *v, int err, unsigned int n, uint64_t a,
			  uint64_t b, uint64_t c)
{
	const uint64_t want[] = { a, b, c };
	const struct report_cfg cfg = { .stacks = true };
	struct backtrace fr;

	backtrace__take(&cfg, v, &fr);
	assert_int_equal(fr.err, err);
	assert_int_equal(fr.n, n);
	for (unsigned int i = 0; i < n && i < 3; i++)
		assert_int_equal(fr.f[i].addr, want[i]);
}

static void the_caller_is_put_in_where_it_is_missing(void **state)
{
	struct acl_violation v = violation();

	(void)state;
	assert_frames(&v, 0, 3, 0x1000, 0x2000, 0x3000); /* missing */
	v.stack[1] = 0x2000;
	assert_frames(&v, 0, 2, 0x1000, 0x2000, 0); /* there */
	v.stack_len = 8;
	assert_frames(&v, 0, 2, 0x1000, 0x2000, 0);
	v.stack_len = 0;
	assert_frames(&v, 0, 2, 0x1000, 0x2000, 0);
	v.stack_len = -EFAULT;
	assert_frames(&v, -EFAULT, 2, 0x1000, 0x2000, 0);
	v.stack_len = 16;
	v.stack[0] = 0x4000; /* a walk that begins elsewhere is kept whole */
	v.stack[1] = 0x5000;
	assert_frames(&v, 0, 4, 0x1000, 0x2000, 0x4000);
	v.ret_addr = 0;
	assert_frames(&v, 0, 3, 0x1000, 0x4000, 0x5000);
}

static void after_the_call_there_is_no_caller_to_put_in(void **state)
{
	struct acl_violation v = violation();

	(void)state;
	v.rule = ACL_RULE_COPY_AFTER_FREE;
	assert_frames(&v, 0, 2, 0x1000, 0x3000, 0);
}

static void stack_lengths_are_bounded(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = true };
	struct backtrace fr;

	(void)state;
	v.stack[0] = 1;
	v.stack_len = INT32_MAX;
	backtrace__take(&cfg, &v, &fr);
	assert_int_equal(fr.n, BACKTRACE_MAX);
	v.stack_len = INT32_MIN;
	backtrace__take(&cfg, &v, &fr);
	assert_int_equal(fr.n, 2);
	assert_int_equal(fr.err, -EINVAL);
}

static void every_remedy_names_its_handles(void **state)
{
	static const struct {
		enum acl_rule rule;
		const char *parts[3];
	} want[] = {
		{ ACL_RULE_FREE_BEFORE_DESTROY, { "0x55d0e0", "0x55d0a0", "0x7f3a5c000000" } },
		{ ACL_RULE_FREE_IN_FLIGHT, { "0x55d0a0", "0x7f3a5c000000", "wait" } },
		{ ACL_RULE_FREE_AFTER_STREAM_QUERY, { "0x55d0a0", "0x7f3a5c000000", "" } },
		{ ACL_RULE_FREE_AFTER_EVENT_SYNC, { "0x55d0a0", "0x7f3a5c000000", "destroy" } },
		{ ACL_RULE_FREE_FAILED, { "0x7f3a5c000000", "log", "nothing was released" } },
		{ ACL_RULE_DOUBLE_FREE, { "0x7f3a5c000000", "once", "" } },
		{ ACL_RULE_EVENT_DOUBLE_DESTROY, { "0x7f3a5c000000", "once", "" } },
		{ ACL_RULE_EVENT_USE_AFTER_DESTROY, { "0x7f3a5c000000", "behind", "" } },
		{ ACL_RULE_COPY_AFTER_FREE, { "0x7f3a5c000000", "0x55d0a0", "last copy" } },
	};
	struct acl_violation v = violation();
	char buf[REPORT_REMEDY_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		v.rule = want[i].rule;
		report__remedy(&v, buf, sizeof(buf));
		for (size_t k = 0; k < 3; k++)
			assert_has(buf, want[i].parts[k]);
		assert_true(buf[strlen(buf) - 1] == '.'); /* not cut */
	}
	v.rule = 200;
	report__remedy(&v, buf, sizeof(buf));
	assert_string_equal(buf, "");
}

static void remedies_fit_the_longest_handles(void **state)
{
	struct acl_violation v = violation();
	char buf[REPORT_REMEDY_MAX];

	(void)state;
	v.ptr = v.stream.handle = v.poll.handle = UINT64_MAX;
	v.call = ACL_C_aclrtFreeHostWithDevSync;
	for (int records = 1; records < 3; records++) {
		v.event.records = records;
		for (int rule = 1; rule < ACL_RULE_EVENT_LEAK; rule++) {
			v.rule = rule;
			report__remedy(&v, buf, sizeof(buf));
			assert_true(buf[0] && buf[strlen(buf) - 1] == '.');
		}
	}
}

static void spans_are_readable(void **state)
{
	char buf[REPORT_SPAN_MAX];

	(void)state;
	assert_string_equal(report__span(buf, 0), "0 ns");
	assert_string_equal(report__span(buf, -999), "-999 ns");
	assert_string_equal(report__span(buf, 35249), "35.2 us");
	assert_string_equal(report__span(buf, -1832000), "-1.832 ms");
	assert_string_equal(report__span(buf, 61500000000), "61.500 s");
	assert_string_equal(report__span(buf, INT64_MIN), "-9223372036.855 s");
	assert_string_equal(report__span(buf, INT64_MAX), "9223372036.855 s");
}

/* ---- JSON --------------------------------------------------------------- */

/* Prints one line, checks that it is one, and parses it. */
static json_object *parse(char *text)
{
	json_object *o;

	assert_non_null(text);
	assert_true(text[0] && strchr(text, '\n') == text + strlen(text) - 1);
	for (const char *p = text; *p != '\n'; p++)
		assert_true((unsigned char)*p >= 0x20);
	o = json_tokener_parse(text);
	assert_non_null(o);
	free(text);
	return o;
}

static int print_json(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
		      uint64_t *printed)
{
	struct backtrace bt;
	int err;

	backtrace__take(cfg, v, &bt);
	err = report_json__violation(cfg, nr, v, &bt, NULL, printed);
	backtrace__clear(&bt);
	return err;
}

static json_object *json_of(const struct report_cfg *cfg, const struct acl_violation *v)
{
	struct report_cfg c = *cfg;
	uint64_t printed = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	c.json = json__new(f);
	assert_int_equal(print_json(&c, 7, v, &printed), 0);
	json__free(c.json);
	fclose(f);
	return parse(text);
}

static json_object *get(json_object *o, const char *path)
{
	char key[64];

	while (*path) {
		size_t n = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		path += n + (path[n] == '.');
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, strtoul(key, NULL, 10));
		else if (!json_object_object_get_ex(o, key, &o))
			fail_msg("no key %s", key);
	}
	return o;
}

#define assert_str(o, path, want) assert_string_equal(json_object_get_string(get(o, path)), want)
#define assert_num(o, path, want) assert_int_equal(json_object_get_int64(get(o, path)), want)
#define assert_real(o, path, want) \
	assert_true(fabs(json_object_get_double(get(o, path)) - (want)) < 1e-6)
#define assert_nil(o, path) assert_null(get(o, path))

static void json_has_every_key(void **state)
{
	static const char *const keys[] = {
		"type",	       "id",	      "rule",
		"level",       "evidence",    "suspects",
		"hazard",      "call",	      "program",
		"pid",	       "tid",	      "time",
		"time_ns",     "buffer",      "pointer",
		"copy",	       "stream",      "poll",
		"event",       "record",      "ended",
		"unsettled",   "return",      "stack",
		"stack_error", "remedy",      "latency_us",
		"ns_pid",      "container",   "enforcement",
		"stack_by",    "stack_end",   "stack_end_module",
		"site",	       "suppression",
	};
	const struct acl_violation empty = {
		.h = { .type = ACL_REC_VIOLATION },
		.rule = ACL_RULE_FREE_IN_FLIGHT,
		.call = ACL_C_aclrtFreeHost,
	};
	const struct acl_violation full = violation();
	const struct report_cfg cfg = { .stacks = true };
	json_object *a = json_of(&cfg, &empty), *b = json_of(&cfg, &full);

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		assert_true(json_object_object_get_ex(a, keys[i], NULL));
		assert_true(json_object_object_get_ex(b, keys[i], NULL));
	}
	assert_int_equal(json_object_object_length(a), sizeof(keys) / sizeof(keys[0]));
	assert_int_equal(json_object_object_length(b), sizeof(keys) / sizeof(keys[0]));
	assert_nil(a, "buffer");
	assert_nil(a, "copy");
	assert_nil(a, "stream");
	assert_nil(a, "poll");
	assert_nil(a, "event");
	assert_nil(a, "record");
	assert_nil(a, "return");
	json_object_put(a);
	json_object_put(b);
}

static void json_has_the_values(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = true };
	json_object *o;

	(void)state;
	v.suspects = 1U << ACL_S_LATE | 1U << ACL_S_LOST;
	o = json_of(&cfg, &v);
	assert_str(o, "type", "violation");
	assert_num(o, "id", 7);
	assert_str(o, "rule", "free-before-destroy");
	assert_str(o, "level", "error");
	assert_str(o, "evidence", "certain");
	assert_str(o, "suspects.0", "late-attach");
	assert_str(o, "suspects.1", "lost");
	assert_str(o, "hazard", "mechanism");
	assert_str(o, "call", "aclrtFreeHost");
	assert_str(o, "program", "pcd_order");
	assert_num(o, "pid", 4711);
	assert_num(o, "tid", 4712);
	assert_num(o, "time_ns", NOW);
	assert_str(o, "pointer", "0x7f3a5c000000");
	assert_str(o, "buffer.address", "0x7f3a5c000000");
	assert_num(o, "buffer.size", 65536);
	assert_str(o, "buffer.allocated_by", "aclrtMallocHost");
	assert_num(o, "buffer.thread", 4711);
	assert_real(o, "buffer.age_us", 1832);
	assert_str(o, "copy.call", "aclrtMemcpyAsync");
	assert_str(o, "copy.direction", "host-to-device");
	assert_str(o, "copy.address", "0x7f3a5c000040");
	assert_num(o, "copy.offset", 64);
	assert_num(o, "copy.bytes", 4096);
	assert_real(o, "copy.age_us", 1700);
	assert_str(o, "stream.handle", "0x55d0a0");
	assert_false(json_object_get_boolean(get(o, "stream.default")));
	assert_num(o, "stream.device", 2);
	assert_str(o, "poll.call", "aclrtQueryEventStatus");
	assert_str(o, "poll.event", "0x55d0e0");
	assert_real(o, "poll.age_us", 12.4);
	assert_num(o, "poll.thread", 4712);
	assert_str(o, "event.handle", "0x55d0e0");
	assert_str(o, "event.created_by", "aclrtCreateEventWithFlag");
	assert_num(o, "event.flags", 1);
	assert_num(o, "event.records", 1);
	assert_real(o, "event.age_us", 1750);
	assert_str(o, "record.call", "aclrtRecordEventWithFlag");
	assert_num(o, "record.thread", 4713);
	assert_real(o, "record.age_us", 1690);
	assert_num(o, "unsettled", 1);
	assert_str(o, "stack.0.address", "0x1000");
	assert_str(o, "stack.1.address", "0x2000");
	assert_nil(o, "stack.1.function");
	assert_nil(o, "stack_error");
	assert_has(json_object_get_string(get(o, "remedy")), "aclrtDestroyEvent(0x55d0e0)");
	assert_true(json_object_get_double(get(o, "latency_us")) != 0);
	json_object_put(o);
}

static void json_shows_a_stream_query(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = false };
	json_object *o;

	(void)state;
	v.rule = ACL_RULE_FREE_AFTER_STREAM_QUERY;
	v.has_event = 0;
	v.stream.dev = -1;
	v.stream.query_pos = NOW - 500;
	v.stream.query_tid = 4714;
	o = json_of(&cfg, &v);
	assert_str(o, "poll.call", "aclrtStreamQuery");
	assert_nil(o, "poll.event");
	assert_num(o, "poll.thread", 4714);
	assert_real(o, "poll.age_us", 0.5);
	assert_nil(o, "record");
	assert_nil(o, "event");
	assert_nil(o, "stream.device");
	assert_int_equal(json_object_array_length(get(o, "stack")), 0);
	json_object_put(o);
}

static void json_shows_what_had_ended(void **state)
{
	const struct report_cfg cfg = { .stacks = false };
	struct acl_violation v = late_copy();
	json_object *o = json_of(&cfg, &v);

	(void)state;
	assert_str(o, "ended.address", "0x7f3a5c000000");
	assert_num(o, "ended.size", 65536);
	assert_num(o, "ended.thread", 3);
	assert_real(o, "ended.age_us", 4000);
	assert_num(o, "copy.offset", 64);
	assert_num(o, "return", 0);
	assert_nil(o, "buffer");
	json_object_put(o);
	v.rule = ACL_RULE_EVENT_USE_AFTER_DESTROY;
	v.ptr = 0xe1;
	v.ended.size = 0;
	o = json_of(&cfg, &v);
	assert_str(o, "ended.address", "0xe1");
	assert_nil(o, "ended.size");
	assert_str(o, "event.handle", "0xe1");
	json_object_put(o);
}

static void json_shows_what_a_failed_free_returned(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = true };
	json_object *o;

	(void)state;
	v.rule = ACL_RULE_FREE_FAILED;
	v.ret = 507899;
	v.stack_len = -EFAULT;
	v.event.call = ACL_C_MAX;
	o = json_of(&cfg, &v);
	assert_num(o, "return", 507899);
	assert_str(o, "stack_error", "Bad address");
	assert_str(o, "stack.0.address", "0x1000");
	assert_nil(o, "event.created_by");
	assert_nil(o, "event.flags");
	assert_nil(o, "event.age_us");
	json_object_put(o);
}

static void json_times_of_a_recording_are_its_own(void **state)
{
	struct acl_violation v = violation();
	struct report_cfg cfg = { .wall_offset_ns = 1700000000123456789 - (int64_t)NOW };
	json_object *o = json_of(&cfg, &v);
	struct tm tm = { .tm_sec = 0 };
	time_t wall;

	(void)state;
	assert_str(o, "time", "2023-11-14T22:13:20.123456Z");
	assert_nil(o, "latency_us");
	json_object_put(o);
	cfg.wall_offset_ns = 0; /* live: about now */
	v.h.time = report__now();
	o = json_of(&cfg, &v);
	assert_non_null(strptime(json_object_get_string(get(o, "time")), "%Y-%m-%dT%H:%M:%S", &tm));
	wall = timegm(&tm);
	assert_true(llabs((long long)(time(NULL) - wall)) <= 2);
	json_object_put(o);
	cfg.wall_offset_ns = INT64_MIN;
	o = json_of(&cfg, &v);
	assert_nil(o, "time");
	json_object_put(o);
}

static void json_survives_a_hostile_name(void **state)
{
	struct acl_violation v = violation();
	const struct report_cfg cfg = { .stacks = false };
	json_object *o;

	(void)state;
	memset(v.comm, 'x', sizeof(v.comm));
	memcpy(v.comm, HOSTILE, sizeof(HOSTILE) - 1);
	o = json_of(&cfg, &v);
	/* all of it, nothing behind it; what is no text became U+FFFD */
	assert_int_equal(json_object_get_string_len(get(o, "program")), 13 + 3 * 3);
	assert_memory_equal(json_object_get_string(get(o, "program")), "\x1b[31m\n==1==\"\\", 13);
	assert_num(o, "pid", 4711);
	json_object_put(o);
}

static void json_symbolizes(void **state)
{
	struct report_cfg cfg = { .stacks = true, .sym = symbolizer__new(0) };
	struct acl_violation v = violation();
	json_object *o;

	(void)state;
	v.h.tgid = getpid();
	v.ip = v.stack[0] = (uintptr_t)backtrace__take + 4;
	o = json_of(&cfg, &v);
	assert_str(o, "stack.0.function", "backtrace__take");
	assert_num(o, "stack.0.function_offset", 4);
	assert_has(json_object_get_string(get(o, "stack.0.module")), "test_report");
	assert_true(json_object_get_int64(get(o, "stack.0.module_offset")) > 0);
	json_object_put(o);
	symbolizer__free(cfg.sym);
}

static json_object *followup_of(const struct story *s, enum followup why)
{
	struct report_cfg cfg = { .text = NULL };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	cfg.json = json__new(f);
	assert_int_equal(report_json__followup(&cfg, s, why), 0);
	json__free(cfg.json);
	fclose(f);
	return parse(text);
}

static void json_follow_ups_have_stable_keys(void **state)
{
	struct story s = {
		.nr = 7,
		.time = NOW,
		.event = 5,
		.event_handle = 0xe0,
		.tgid = 4711,
		.call = ACL_C_aclrtFreeHost,
		.rule = ACL_RULE_FREE_BEFORE_DESTROY,
		.evidence = ACL_EV_CONFIRMED,
		.returned = true,
		.destroyed = true,
		.ret = 507899,
		.end = NOW + 12345,
		.destroy_time = NOW + 35200,
	};
	json_object *o = followup_of(&s, FOLLOWUP_DONE);
	int keys = json_object_object_length(o);

	(void)state;
	assert_str(o, "type", "followup");
	assert_num(o, "id", 7);
	assert_str(o, "rule", "free-before-destroy");
	assert_num(o, "pid", 4711);
	assert_str(o, "evidence", "confirmed");
	assert_num(o, "return", 507899);
	assert_str(o, "return_name", "ACL_ERROR_RT_DRV_INTERNAL_ERROR");
	assert_real(o, "release_us", 12.345);
	assert_str(o, "event", "0xe0");
	assert_true(json_object_get_boolean(get(o, "event_destroyed")));
	assert_real(o, "destroy_gap_us", 35.2);
	assert_false(json_object_get_boolean(get(o, "buffer_released")));
	assert_true(json_object_get_boolean(get(o, "final")));
	json_object_put(o);
	s.returned = s.destroyed = false;
	s.event = 0;
	o = followup_of(&s, FOLLOWUP_GONE);
	assert_nil(o, "return");
	assert_nil(o, "buffer_released");
	assert_nil(o, "event");
	assert_nil(o, "destroy_gap_us");
	assert_int_equal(json_object_object_length(o), keys);
	json_object_put(o);
}

/* Numbers of any value, as a damaged recording may hold them. */
static void any_numbers_give_a_report(void **state)
{
	const struct report_cfg cfg = { .stacks = true, .window_ns = 1000 };
	struct acl_violation v;

	(void)state;
	srandom(7);
	for (int i = 0; i < 3000; i++) {
		unsigned char *p = (unsigned char *)&v;

		for (size_t k = 0; k < sizeof(v); k++)
			p[k] = random() % 4 ? random() : random() % 2 ? 0 : 0xff;
		v.rule = 1 + random() % (ACL_RULE_MAX - 1);
		v.level %= ACL_LEVEL_MAX;
		v.evidence %= ACL_EV_MAX;
		v.hazard %= ACL_HZ_MAX;
		v.call %= ACL_C_MAX;
		free(text_of(&cfg, &v));
		json_object_put(json_of(&cfg, &v));
	}
}

/* ---- summary ------------------------------------------------------------ */

static char *summary_text(const struct report_cfg *cfg, const struct summary *s)
{
	struct report_cfg c = *cfg;
	char *text = NULL;
	size_t len = 0;

	c.text = open_memstream(&text, &len);
	assert_int_equal(summary__print(&c, s), 0);
	fclose(c.text);
	return text;
}

static json_object *summary_json(const struct summary *s)
{
	struct report_cfg cfg = { .text = NULL };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	cfg.json = json__new(f);
	assert_int_equal(summary__print(&cfg, s), 0);
	json__free(cfg.json);
	fclose(f);
	return parse(text);
}

static void fill_summary(struct summary *s, struct story_counts *counts)
{
	static const struct summary_library lib = { .path = "/opt/" HOSTILE "/libascendcl.so",
						    .how = "uprobe_multi",
						    .functions = 62 };

	*counts = (struct story_counts){ .malformed = 0 };
	counts->n[ACL_RULE_FREE_BEFORE_DESTROY][ACL_LEVEL_ERROR][ACL_EV_CONFIRMED] = 2;
	counts->n[ACL_RULE_FREE_BEFORE_DESTROY][ACL_LEVEL_ERROR][ACL_EV_CERTAIN] = 1;
	counts->n[ACL_RULE_FREE_BEFORE_DESTROY][ACL_LEVEL_WARNING][ACL_EV_SUSPECTED] = 1;
	counts->n[ACL_RULE_FREE_IN_FLIGHT][ACL_LEVEL_ERROR][ACL_EV_CERTAIN] = 1;
	*s = (struct summary){
		.duration_ns = 12345 * MS,
		.processes = 3,
		.bufs = { .made = 10, .gone = 8 },
		.bytes = { .made = 1000, .gone = 800 },
		.events = { .made = 5, .gone = 5 },
		.libs = &lib,
		.n_libs = 1,
		.counts = counts,
	};
	s->calls[ACL_C_aclrtFreeHost] = (struct acl_calls){ 8, 8, 2, 0, 0 };
	s->calls[ACL_C_aclrtMallocHost] = (struct acl_calls){ 10, 10, 0, 3, 0 };
}

static void the_summary_counts(void **state)
{
	const struct report_cfg cfg = { .rules = ACL_RULES_ALL };
	struct story_counts counts;
	struct summary s;
	char *text;

	(void)state;
	fill_summary(&s, &counts);
	text = summary_text(&cfg, &s);
	assert_has(text, "==aclguard== calls: 18 of 2 functions, 2 failed, 3 more on the way");
	assert_has(text, "host buffers: 10 allocated, 8 released, 2 left (1000 bytes, 200 left)\n");
	assert_has(text, "events: 5 created, 5 destroyed, 0 left\n");
	assert_has(text, "==aclguard== nothing was lost\n");
	assert_has(text, "ERROR SUMMARY: 4 errors, 1 warning, 0 notes; 3 processes in 12.345 s\n");
	assert_has(text, "  free-before-destroy: 3 errors (2 confirmed, 1 certain), 1 warning "
			 "(1 suspected)\n");
	assert_has(text, "  free-in-flight: 1 error (1 certain)\n");
	assert_lacks(text, "double-free");
	assert_lacks(text, "aclrtFreeHost");
	assert_lacks(text, "host-leak");
	assert_lacks(text, "libascendcl");
	assert_lacks(text, "before it was watched");
	free(text);
}

static void a_verbose_summary_has_the_functions(void **state)
{
	const struct report_cfg cfg = { .rules = ACL_RULES_ALL, .verbose = true, .strict = true };
	struct story_counts counts;
	struct summary s;
	char *text;

	(void)state;
	fill_summary(&s, &counts);
	text = summary_text(&cfg, &s);
	assert_has(text, "             8            8          2          0 aclrtFreeHost\n");
	assert_lacks(text, "aclrtMemcpyAsync");
	assert_has(text, "watched /opt/\\x1b[31m\\x0a==1==");
	assert_has(text, "/libascendcl.so: 62 functions, by uprobe_multi\n");
	assert_lacks(text, "\x1b");
	free(text);
}

static void losses_are_admitted(void **state)
{
	const struct report_cfg cfg = { .rules = ACL_RULES_ALL };
	struct story_counts counts;
	struct summary s;
	char *text;

	(void)state;
	fill_summary(&s, &counts);
	s.losses[ACL_L_RING_FULL] = 4;
	s.losses[ACL_L_EVICTED] = 1;
	s.late = 1;
	counts.malformed = 2;
	text = summary_text(&cfg, &s);
	assert_has(text, "lost: 4 violations that found their ring full (violations-ring-full)\n");
	assert_has(text,
		   "forgotten: 1 released buffers and destroyed events, to make room (evicted)\n");
	assert_has(text, "lost: 2 records that were damaged\n");
	assert_lacks(text, "nothing was lost");
	assert_has(text, "1 of 3 processes ran before it was watched");
	free(text);
	s.losses[ACL_L_RING_FULL] = 0;
	text = summary_text(&cfg, &s);
	assert_lacks(text, "nothing was lost");
	free(text);
	counts.malformed = counts.orphans = counts.evicted = 0;
	text = summary_text(&cfg, &s);
	assert_has(text, "forgotten: 1 ");
	free(text);
}

static void an_empty_summary_is_one(void **state)
{
	const struct report_cfg cfg = { .rules = ACL_RULES_ALL, .verbose = true, .strict = true };
	const struct summary s = { .duration_ns = 0 };
	json_object *o = summary_json(&s);
	char *text = summary_text(&cfg, &s);

	(void)state;
	assert_has(text, "calls: 0 of 0 functions, 0 failed\n");
	assert_has(text, "ERROR SUMMARY: 0 errors, 0 warnings, 0 notes; 0 processes in 0 ns\n");
	assert_num(o, "errors", 0);
	assert_int_equal(json_object_array_length(get(o, "violations")), 0);
	assert_num(o, "lost.violations-ring-full", 0);
	json_object_put(o);
	free(text);
}

static void the_summary_is_one_json_object(void **state)
{
	struct story_counts counts;
	struct summary s;
	json_object *o;

	(void)state;
	fill_summary(&s, &counts);
	s.losses[ACL_L_NESTED] = 6;
	o = summary_json(&s);
	assert_str(o, "type", "summary");
	assert_real(o, "duration_s", 12.345);
	assert_num(o, "processes", 3);
	assert_num(o, "late_processes", 0);
	assert_num(o, "errors", 4);
	assert_num(o, "warnings", 1);
	assert_int_equal(json_object_array_length(get(o, "violations")), 4);
	assert_str(o, "violations.0.rule", "free-before-destroy");
	assert_str(o, "violations.0.level", "warning");
	assert_str(o, "violations.0.evidence", "suspected");
	assert_num(o, "violations.0.count", 1);
	assert_num(o, "leaks.host-leak", 2);
	assert_num(o, "leaks.event-leak", 0);
	assert_num(o, "calls.aclrtFreeHost.failed", 2);
	assert_int_equal(json_object_object_length(get(o, "calls")), 2);
	assert_num(o, "objects.bytes.alive", 200);
	assert_num(o, "lost.nested-too-deep", 6);
	assert_num(o, "libraries.0.functions", 62);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_report_tells_the_whole_story),
		cmocka_unit_test(stacks_that_were_not_asked_for_are_left_out),
		cmocka_unit_test(an_unknown_buffer_reads_well),
		cmocka_unit_test(the_causes_of_suspicion_are_named),
		cmocka_unit_test(a_warning_says_why_it_is_none_worse),
		cmocka_unit_test(the_default_stream_is_called_so),
		cmocka_unit_test(a_stream_query_is_told_as_such),
		cmocka_unit_test(in_flight_shows_a_poll_only_if_it_misled),
		cmocka_unit_test(a_failed_free_names_its_code),
		cmocka_unit_test(an_event_rule_names_the_event),
		cmocka_unit_test(a_second_end_shows_the_first),
		cmocka_unit_test(a_hostile_program_name_stays_in_its_line),
		cmocka_unit_test(a_hostile_path_in_the_stack_is_escaped),
		cmocka_unit_test(frames_are_symbolized),
		cmocka_unit_test(the_headline_does_not_wait_for_the_stack),
		cmocka_unit_test(a_full_disk_and_a_closed_pipe_are_told),
		cmocka_unit_test(the_caller_is_put_in_where_it_is_missing),
		cmocka_unit_test(after_the_call_there_is_no_caller_to_put_in),
		cmocka_unit_test(stack_lengths_are_bounded),
		cmocka_unit_test(every_remedy_names_its_handles),
		cmocka_unit_test(remedies_fit_the_longest_handles),
		cmocka_unit_test(spans_are_readable),
		cmocka_unit_test(json_has_every_key),
		cmocka_unit_test(json_has_the_values),
		cmocka_unit_test(json_shows_a_stream_query),
		cmocka_unit_test(json_shows_what_had_ended),
		cmocka_unit_test(json_shows_what_a_failed_free_returned),
		cmocka_unit_test(json_times_of_a_recording_are_its_own),
		cmocka_unit_test(json_survives_a_hostile_name),
		cmocka_unit_test(json_symbolizes),
		cmocka_unit_test(json_follow_ups_have_stable_keys),
		cmocka_unit_test(any_numbers_give_a_report),
		cmocka_unit_test(the_summary_counts),
		cmocka_unit_test(a_verbose_summary_has_the_functions),
		cmocka_unit_test(losses_are_admitted),
		cmocka_unit_test(an_empty_summary_is_one),
		cmocka_unit_test(the_summary_is_one_json_object),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
