/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Stories: what belongs together is joined, told once, at the right time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enforcement.h"
#include "json.h"
#include "report_text.h"
#include "sites.h"
#include "story.h"
#include "suppress_file.h"

#define FREE_TIME 1000000000ULL
#define US 1000ULL
#define MS 1000000ULL
#define EVENT_ID 77
#define EVENT_HANDLE 0xe0e0ULL

/* Stories that write to memory. */
struct book {
	FILE *f;
	char *text;
	size_t len;
	size_t seen; /* by fresh() */
	struct json *json;
	struct stories *st;
};

static void book_open_with(struct book *b, bool json, struct report_cfg cfg)
{
	cfg.rules = ACL_RULES_ALL;
	cfg.window_ns = 1000 * MS;
	*b = (struct book){ .seen = 0 };
	b->f = open_memstream(&b->text, &b->len);
	assert_non_null(b->f);
	if (json) {
		b->json = json__new(b->f);
		assert_non_null(b->json);
		cfg.json = b->json;
	} else {
		cfg.text = b->f;
	}
	b->st = stories__new(&cfg);
	assert_non_null(b->st);
}

static void book_open_as(struct book *b, bool json)
{
	book_open_with(b, json, (struct report_cfg){ .text = NULL });
}

static void book_open(struct book *b)
{
	book_open_as(b, false);
}

static void book_close(struct book *b)
{
	stories__free(b->st);
	json__free(b->json);
	fclose(b->f);
	free(b->text);
}

/* What was written since the last time. */
static const char *fresh(struct book *b)
{
	const char *p;

	fflush(b->f);
	p = b->text + b->seen;
	b->seen = b->len;
	return p;
}

static size_t count(const char *hay, const char *needle)
{
	size_t n = 0;

	for (; (hay = strstr(hay, needle)); hay += strlen(needle))
		n++;
	return n;
}

static struct acl_violation violation(uint64_t id, enum acl_rule rule)
{
	struct acl_violation v = {
		.h = { .type = ACL_REC_VIOLATION,
		       .tgid = 42,
		       .tid = 43,
		       .inc = 5,
		       .time = FREE_TIME },
		.id = id,
		.call = ACL_C_aclrtFreeHost,
		.rule = rule,
		.level = ACL_LEVEL_ERROR,
		.evidence = ACL_EV_CERTAIN,
		.ptr = 0xb000,
		.comm = "prog",
	};

	if (rule == ACL_RULE_FREE_BEFORE_DESTROY) {
		v.has_event = 1;
		v.poll.pos = FREE_TIME - 3 * US;
		v.poll.event = EVENT_ID;
		v.poll.handle = EVENT_HANDLE;
	}
	return v;
}

static void report(struct book *b, uint64_t id, enum acl_rule rule)
{
	struct acl_violation v = violation(id, rule);

	assert_int_equal(stories__violation(b->st, &v, sizeof(v)), 0);
}

static int sequel(struct book *b, enum acl_rec type, uint64_t id, uint64_t time, uint64_t end,
		  int ret)
{
	struct acl_sequel s = {
		.h = { .type = type, .tgid = 42, .tid = 43, .inc = 5, .time = time },
		.id = id,
		.end = end,
		.ret = ret,
	};

	return stories__sequel(b->st, &s, sizeof(s));
}

static void released(struct book *b, uint64_t id, int ret)
{
	assert_int_equal(sequel(b, ACL_REC_RELEASED, id, FREE_TIME, FREE_TIME + 12 * US, ret), 0);
}

static void destroyed(struct book *b, uint64_t gap)
{
	assert_int_equal(sequel(b, ACL_REC_DESTROYED, EVENT_ID, FREE_TIME + gap,
				FREE_TIME + gap + US, 0),
			 0);
}

static void reports_are_printed_at_once_and_numbered(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 1, ACL_RULE_FREE_BEFORE_DESTROY);
	assert_non_null(strstr(fresh(&b), "==42==aclguard: ERROR #1 free-before-destroy: "));
	report(&b, 2, ACL_RULE_FREE_IN_FLIGHT);
	assert_non_null(strstr(fresh(&b), "==42==aclguard: ERROR #2 free-in-flight: "));
	assert_int_equal(stories__count(b.st, ACL_LEVEL_ERROR), 2);
	assert_int_equal(stories__count(b.st, ACL_LEVEL_WARNING), 0);
	book_close(&b);
}

static void without_an_event_the_return_ends_the_story(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_IN_FLIGHT);
	fresh(&b);
	released(&b, 9, 0);
	assert_string_equal(fresh(&b),
			    "==42==aclguard: #1: aclrtFreeHost(0xb000) returned 0 after 12.0 us\n");
	assert_int_equal(stories__pending(b.st), 0);
	assert_int_equal(stories__timeout(b.st, FREE_TIME + 500 * MS), UINT64_MAX);
	assert_string_equal(fresh(&b), "");
	book_close(&b);
}

static void return_and_destroy_make_one_follow_up(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_BEFORE_DESTROY);
	fresh(&b);
	released(&b, 9, 507899);
	assert_string_equal(fresh(&b), "");
	destroyed(&b, 35200);
	assert_string_equal(fresh(&b),
			    "==42==aclguard: #1: aclrtFreeHost(0xb000) returned 507899 "
			    "(ACL_ERROR_RT_DRV_INTERNAL_ERROR) after 12.0 us: the runtime refused "
			    "it, which confirms the report; event 0xe0e0 destroyed 35.2 us after "
			    "the release was entered\n");
	assert_int_equal(stories__pending(b.st), 0);
	stories__finish(b.st);
	assert_string_equal(fresh(&b), "");
	book_close(&b);
}

static void the_destroy_may_come_before_the_return(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_BEFORE_DESTROY);
	fresh(&b);
	destroyed(&b, 2 * US);
	assert_string_equal(fresh(&b), "");
	assert_int_equal(stories__pending(b.st), 1);
	released(&b, 9, 0);
	assert_string_equal(fresh(&b), "==42==aclguard: #1: aclrtFreeHost(0xb000) returned 0 after "
				       "12.0 us; event 0xe0e0 destroyed 2.0 us after the release "
				       "was entered\n");
	book_close(&b);
}

static void a_destroy_that_began_before_the_free_is_told_so(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_BEFORE_DESTROY);
	released(&b, 9, 0);
	destroyed(&b, -4 * US);
	assert_non_null(strstr(fresh(&b), "event 0xe0e0 destroyed 4.0 us before the release"));
	book_close(&b);
}

static void a_missing_destroy_is_waited_for_and_told_later(void **state)
{
	uint64_t due = FREE_TIME + 12 * US + FOLLOWUP_DELAY_NS;
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_BEFORE_DESTROY);
	assert_int_equal(stories__timeout(b.st, FREE_TIME + 900 * MS), UINT64_MAX);
	released(&b, 9, 0);
	fresh(&b);
	assert_int_equal(stories__timeout(b.st, due - 7 * MS), 7 * MS);
	assert_int_equal(stories__timeout(b.st, due - 1), 1);
	assert_string_equal(fresh(&b), "");
	assert_int_equal(stories__timeout(b.st, due), UINT64_MAX);
	assert_string_equal(fresh(&b), "==42==aclguard: #1: aclrtFreeHost(0xb000) returned 0 after "
				       "12.0 us; event 0xe0e0 still alive\n");
	assert_int_equal(stories__pending(b.st), 1);
	destroyed(&b, 2000 * MS);
	assert_string_equal(fresh(&b), "==42==aclguard: #1: event 0xe0e0 destroyed 2.000 s after "
				       "the release was entered\n");
	assert_int_equal(stories__pending(b.st), 0);
	book_close(&b);
}

static void timeouts_are_in_the_order_of_the_returns(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	for (uint64_t id = 1; id <= 3; id++)
		report(&b, id, ACL_RULE_FREE_BEFORE_DESTROY);
	for (uint64_t id = 3; id >= 1; id--) /* returns in the opposite order */
		sequel(&b, ACL_REC_RELEASED, id, FREE_TIME, FREE_TIME + (4 - id) * MS, 0);
	fresh(&b);
	assert_int_equal(stories__timeout(b.st, FREE_TIME + FOLLOWUP_DELAY_NS + 2 * MS), MS);
	assert_int_equal(count(fresh(&b), "still alive"), 2);
	assert_int_equal(stories__timeout(b.st, FREE_TIME + FOLLOWUP_DELAY_NS + 3 * MS),
			 UINT64_MAX);
	assert_non_null(strstr(fresh(&b), "#1: "));
	book_close(&b);
}

static void all_stories_of_an_event_hear_of_its_destroy(void **state)
{
	struct book b;
	const char *text;

	(void)state;
	book_open(&b);
	for (uint64_t id = 1; id <= 3; id++)
		report(&b, id, ACL_RULE_FREE_BEFORE_DESTROY);
	released(&b, 1, 0);
	released(&b, 2, 0);
	fresh(&b);
	destroyed(&b, 50 * US);
	text = fresh(&b);
	assert_int_equal(count(text, "destroyed 50.0 us"), 2);
	assert_null(strstr(text, "#3"));
	released(&b, 3, 0);
	assert_non_null(strstr(fresh(&b), "#3: aclrtFreeHost(0xb000) returned 0"));
	assert_int_equal(stories__pending(b.st), 0);
	book_close(&b);
}

/* It was destroyed between the poll and the free: there is nothing to wait for. */
static void an_event_that_is_gone_is_not_waited_for(void **state)
{
	struct acl_violation v = violation(9, ACL_RULE_FREE_BEFORE_DESTROY);
	struct book b;

	(void)state;
	book_open(&b);
	v.has_event = 0;
	stories__violation(b.st, &v, sizeof(v));
	fresh(&b);
	released(&b, 9, 0);
	assert_string_equal(fresh(&b),
			    "==42==aclguard: #1: aclrtFreeHost(0xb000) returned 0 after 12.0 us\n");
	assert_int_equal(stories__pending(b.st), 0);
	book_close(&b);
}

static void sequels_of_others_are_not_joined(void **state)
{
	struct acl_sequel s = { .h = { .type = ACL_REC_RELEASED, .inc = 6 }, .id = 9 };
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_BEFORE_DESTROY);
	fresh(&b);
	assert_int_equal(stories__sequel(b.st, &s, sizeof(s)), 0); /* another incarnation */
	s.h.type = ACL_REC_DESTROYED;
	s.id = EVENT_ID;
	assert_int_equal(stories__sequel(b.st, &s, sizeof(s)), 0);
	released(&b, 10, 0); /* another verdict */
	assert_string_equal(fresh(&b), "");
	assert_int_equal(stories__pending(b.st), 1);
	assert_int_equal(stories__counts(b.st)->orphans, 3);
	book_close(&b);
}

static void a_second_return_changes_nothing(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 9, ACL_RULE_FREE_BEFORE_DESTROY);
	released(&b, 9, 0);
	released(&b, 9, 507899);
	assert_int_equal(stories__counts(b.st)->orphans, 1);
	fresh(&b);
	destroyed(&b, US);
	assert_non_null(strstr(fresh(&b), "returned 0 after"));
	book_close(&b);
}

static void a_refusal_confirms(void **state)
{
	const uint64_t(*n)[ACL_EV_MAX];
	struct acl_violation v = violation(2, ACL_RULE_FREE_BEFORE_DESTROY);
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 1, ACL_RULE_FREE_BEFORE_DESTROY);
	v.level = ACL_LEVEL_WARNING;
	v.evidence = ACL_EV_SUSPECTED;
	stories__violation(b.st, &v, sizeof(v));
	n = stories__counts(b.st)->n[ACL_RULE_FREE_BEFORE_DESTROY];
	assert_int_equal(n[ACL_LEVEL_ERROR][ACL_EV_CERTAIN], 1);
	assert_int_equal(n[ACL_LEVEL_WARNING][ACL_EV_SUSPECTED], 1);
	released(&b, 1, 0);
	released(&b, 2, 507899);
	assert_int_equal(n[ACL_LEVEL_ERROR][ACL_EV_CERTAIN], 1);
	assert_int_equal(n[ACL_LEVEL_ERROR][ACL_EV_CONFIRMED], 0);
	assert_int_equal(n[ACL_LEVEL_WARNING][ACL_EV_SUSPECTED], 0);
	assert_int_equal(n[ACL_LEVEL_WARNING][ACL_EV_CONFIRMED], 1);
	assert_int_equal(stories__count(b.st, ACL_LEVEL_WARNING), 1);
	book_close(&b);
}

static void verdicts_at_the_return_are_whole(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 1, ACL_RULE_FREE_FAILED);
	report(&b, 2, ACL_RULE_DOUBLE_FREE);
	report(&b, 3, ACL_RULE_EVENT_DOUBLE_DESTROY);
	report(&b, 4, ACL_RULE_EVENT_USE_AFTER_DESTROY);
	report(&b, 5, ACL_RULE_COPY_AFTER_FREE);
	assert_int_equal(stories__pending(b.st), 0);
	fresh(&b);
	stories__finish(b.st);
	assert_string_equal(fresh(&b), "");
	book_close(&b);
}

static void a_process_that_is_gone_ends_its_stories(void **state)
{
	struct acl_violation other = violation(4, ACL_RULE_FREE_IN_FLIGHT);
	const char *text;
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 1, ACL_RULE_FREE_IN_FLIGHT);
	report(&b, 2, ACL_RULE_FREE_BEFORE_DESTROY);
	report(&b, 3, ACL_RULE_FREE_BEFORE_DESTROY);
	other.h.inc = 6;
	stories__violation(b.st, &other, sizeof(other));
	released(&b, 2, 0);
	fresh(&b);
	stories__process_gone(b.st, 0);
	assert_string_equal(fresh(&b), "");
	stories__process_gone(b.st, 5);
	text = fresh(&b);
	assert_non_null(strstr(text, "#1: aclrtFreeHost(0xb000) was not seen to return\n"));
	assert_non_null(strstr(text, "#2: aclrtFreeHost(0xb000) returned 0 after 12.0 us; event "
				     "0xe0e0 was never destroyed\n"));
	assert_non_null(strstr(text, "#3: aclrtFreeHost(0xb000) was not seen to return; event "
				     "0xe0e0 was never destroyed\n"));
	assert_null(strstr(text, "#4"));
	assert_int_equal(stories__pending(b.st), 1);
	assert_int_equal(stories__timeout(b.st, FREE_TIME + 900 * MS), UINT64_MAX);
	book_close(&b);
}

static void what_was_told_is_summed_up_at_the_end(void **state)
{
	const char *text;
	struct book b;

	(void)state;
	book_open(&b);
	for (uint64_t id = 1; id <= 20; id++) {
		report(&b, id, ACL_RULE_FREE_BEFORE_DESTROY);
		released(&b, id, 0);
	}
	stories__timeout(b.st, FREE_TIME + 900 * MS);
	fresh(&b);
	stories__process_gone(b.st, 5);
	text = fresh(&b);
	assert_int_equal(count(text, "\n"), 1);
	assert_non_null(strstr(text, "==42==aclguard: #1, #2, #3, "));
	assert_non_null(strstr(text, "#16 and 4 more: the event was never destroyed\n"));
	book_close(&b);
}

static void the_end_of_the_watch_ends_all(void **state)
{
	const char *text;
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 1, ACL_RULE_FREE_BEFORE_DESTROY);
	released(&b, 1, 0);
	report(&b, 2, ACL_RULE_FREE_IN_FLIGHT);
	fresh(&b);
	stories__finish(b.st);
	text = fresh(&b);
	assert_non_null(strstr(text, "event 0xe0e0 still alive\n"));
	assert_non_null(strstr(text, "#2: aclrtFreeHost(0xb000) was not seen to return\n"));
	assert_int_equal(stories__pending(b.st), 0);
	book_close(&b);
}

static void pending_stories_are_bounded(void **state)
{
	const char *text;
	struct book b;

	(void)state;
	book_open(&b);
	for (uint64_t id = 1; id <= STORIES_MAX; id++)
		report(&b, id, ACL_RULE_FREE_BEFORE_DESTROY);
	assert_int_equal(stories__pending(b.st), STORIES_MAX);
	assert_int_equal(stories__counts(b.st)->evicted, 0);
	fresh(&b);
	report(&b, STORIES_MAX + 1, ACL_RULE_FREE_BEFORE_DESTROY);
	text = fresh(&b);
	assert_int_equal(count(text, "#1: aclrtFreeHost(0xb000) was not seen to return"), 1);
	assert_int_equal(stories__pending(b.st), STORIES_MAX);
	assert_int_equal(stories__counts(b.st)->evicted, 1);
	released(&b, 1, 0);
	assert_int_equal(stories__counts(b.st)->orphans, 1);
	released(&b, STORIES_MAX + 1, 0);
	assert_int_equal(stories__counts(b.st)->orphans, 1);
	destroyed(&b, US); /* of all of them at once */
	for (uint64_t id = 2; id <= STORIES_MAX; id++)
		released(&b, id, 0);
	assert_int_equal(stories__pending(b.st), 0);
	book_close(&b);
}

static void what_was_told_is_evicted_silently(void **state)
{
	struct book b;

	(void)state;
	book_open(&b);
	report(&b, 1, ACL_RULE_FREE_BEFORE_DESTROY);
	released(&b, 1, 0);
	stories__timeout(b.st, FREE_TIME + 900 * MS);
	fresh(&b);
	for (uint64_t id = 2; id <= STORIES_MAX + 1; id++)
		report(&b, id, ACL_RULE_FREE_BEFORE_DESTROY);
	assert_null(strstr(fresh(&b), "#1: "));
	assert_int_equal(stories__counts(b.st)->evicted, 1);
	assert_int_equal(stories__pending(b.st), STORIES_MAX);
	book_close(&b);
}

static void damaged_records_are_dropped_and_counted(void **state)
{
	struct acl_violation v = violation(1, ACL_RULE_FREE_IN_FLIGHT), bad;
	struct acl_sequel s = { .h = { .type = ACL_REC_RELEASED } };
	/* Exactly as long as claimed, so that a sanitizer sees what is read beyond. */
	char *cut = malloc(sizeof(v) - 1);
	struct book b;

	(void)state;
	assert_non_null(cut);
	book_open(&b);
	memcpy(cut, &v, sizeof(v) - 1);
	assert_int_equal(stories__violation(b.st, (void *)cut, sizeof(v) - 1), -EINVAL);
	assert_int_equal(stories__violation(b.st, (void *)cut, 0), -EINVAL);
	assert_int_equal(stories__sequel(b.st, (void *)cut, sizeof(s) - 1), -EINVAL);
	free(cut);
#define DAMAGED(field, value)                                                           \
	do {                                                                            \
		bad = v;                                                                \
		bad.field = value;                                                      \
		assert_int_equal(stories__violation(b.st, &bad, sizeof(bad)), -EINVAL); \
	} while (0)
	DAMAGED(h.type, ACL_REC_EXIT);
	DAMAGED(rule, ACL_RULE_NONE);
	DAMAGED(rule, ACL_RULE_MAX);
	DAMAGED(level, ACL_LEVEL_MAX);
	DAMAGED(evidence, ACL_EV_MAX);
	DAMAGED(hazard, ACL_HZ_MAX);
	DAMAGED(call, ACL_C_MAX);
#undef DAMAGED
	s.h.type = ACL_REC_VIOLATION;
	assert_int_equal(stories__sequel(b.st, &s, sizeof(s)), -EINVAL);
	assert_string_equal(fresh(&b), "");
	assert_int_equal(stories__counts(b.st)->malformed, 11);
	assert_int_equal(stories__count(b.st, ACL_LEVEL_ERROR), 0);
	assert_int_equal(stories__violation(b.st, &v, sizeof(v)), 0);
	assert_int_equal(stories__violation(b.st, &v, sizeof(v) + 8), 0); /* room to grow */
	book_close(&b);
}

static void latency_is_measured(void **state)
{
	struct acl_violation v = violation(1, ACL_RULE_FREE_FAILED);
	uint64_t median, p99;
	struct book b;

	(void)state;
	book_open(&b);
	assert_int_equal(stories__latency_ns(b.st, 0.5), 0);
	for (int i = 0; i < 100; i++) {
		v.h.time = report__now() - (i < 90 ? 1000 : 5000) * MS;
		stories__violation(b.st, &v, sizeof(v));
	}
	median = stories__latency_ns(b.st, 0.5);
	p99 = stories__latency_ns(b.st, 0.99);
	assert_in_range(median, 930 * MS, 1200 * MS);
	assert_in_range(p99, 4650 * MS, 5800 * MS);
	assert_int_equal(stories__latency_ns(b.st, 0), median);
	assert_true(stories__latency_ns(b.st, 1) >= p99);
	book_close(&b);
}

static void extreme_latencies_do_not_hurt(void **state)
{
	struct acl_violation v = violation(1, ACL_RULE_FREE_FAILED);
	struct book b;

	(void)state;
	book_open(&b);
	v.h.time = UINT64_MAX; /* in the future */
	stories__violation(b.st, &v, sizeof(v));
	assert_int_equal(stories__latency_ns(b.st, 1), 0);
	v.h.time = 0;
	stories__violation(b.st, &v, sizeof(v));
	assert_true(stories__latency_ns(b.st, 1) > 0);
	book_close(&b);
}

/* A broken output costs the report and nothing else, and is not kept quiet. */
static void write_errors_are_noticed(void **state)
{
	struct report_cfg cfg = { .text = fopen("/dev/full", "w") };
	struct acl_violation v = violation(1, ACL_RULE_FREE_IN_FLIGHT);
	struct stories *st;

	(void)state;
	assert_non_null(cfg.text);
	st = stories__new(&cfg);
	assert_int_equal(stories__write_error(st), 0);
	assert_int_equal(stories__violation(st, &v, sizeof(v)), 0);
	assert_int_equal(stories__write_error(st), -ENOSPC);
	assert_int_equal(stories__count(st, ACL_LEVEL_ERROR), 1);
	stories__finish(st);
	stories__free(st);
	fclose(cfg.text);
}

static void write_errors_of_json_are_noticed(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct report_cfg cfg = { .json = json__new(f) };
	struct acl_violation v = violation(1, ACL_RULE_FREE_IN_FLIGHT);
	struct stories *st = stories__new(&cfg);

	(void)state;
	assert_int_equal(stories__violation(st, &v, sizeof(v)), 0);
	assert_int_equal(stories__write_error(st), -ENOSPC);
	stories__free(st);
	json__free(cfg.json);
	fclose(f);
}

static void in_json_every_story_ends_with_a_line(void **state)
{
	const char *text;
	struct book b;

	(void)state;
	book_open_as(&b, true);
	for (uint64_t id = 1; id <= 3; id++) {
		report(&b, id, ACL_RULE_FREE_BEFORE_DESTROY);
		released(&b, id, 0);
	}
	stories__timeout(b.st, FREE_TIME + 900 * MS);
	text = fresh(&b);
	assert_int_equal(count(text, "\"type\":\"violation\""), 3);
	assert_int_equal(count(text, "\"final\":false}\n"), 3);
	stories__process_gone(b.st, 5);
	text = fresh(&b);
	assert_int_equal(count(text, "\n"), 3);
	assert_int_equal(count(text, "\"event_destroyed\":false,\"destroy_gap_us\":null,"
				     "\"final\":true}\n"),
			 3);
	book_close(&b);
}

/* ---- folding and suppressions ------------------------------------------------ */

static void what_is_folded_is_counted_and_not_told(void **state)
{
	struct report_cfg cfg = { .sites = sites__new(), .fold = true };
	const struct story_counts *n;
	struct book b;

	(void)state;
	book_open_with(&b, false, cfg);
	n = stories__counts(b.st);
	for (uint64_t i = 1; i <= 10; i++) {
		report(&b, i, ACL_RULE_FREE_BEFORE_DESTROY);
		released(&b, i, i > 1 ? 507899 : 0);
		if (i == 1)
			assert_int_equal(count(fresh(&b), "ERROR #1 "), 1);
		else if (i < 10)
			assert_string_equal(fresh(&b), "");
	}
	assert_int_equal(count(fresh(&b), ": 10 times so far, 8 confirmed ("), 1);
	assert_int_equal(n->n[ACL_RULE_FREE_BEFORE_DESTROY][ACL_LEVEL_ERROR][ACL_EV_CONFIRMED], 9);
	assert_int_equal(n->n[ACL_RULE_FREE_BEFORE_DESTROY][ACL_LEVEL_ERROR][ACL_EV_CERTAIN], 1);
	/* the first is followed to its end, of the others nothing waits */
	assert_int_equal(stories__pending(b.st), 1);
	destroyed(&b, 5 * MS);
	assert_int_equal(count(fresh(&b), "#1: "), 1);
	/* their events are destroyed as well, if they have some of their own: no loss */
	for (int i = 0; i < 9; i++)
		destroyed(&b, 5 * MS);
	assert_int_equal(n->orphans, 0);
	destroyed(&b, 5 * MS);
	assert_int_equal(n->orphans, 1);
	stories__finish(b.st);
	assert_string_equal(fresh(&b), "");
	book_close(&b);
	sites__free(cfg.sites);
}

static void what_is_suppressed_is_not_among_the_others(void **state)
{
	static const char file[] = "{\nrule free-in-flight\nprogram prog\n}\n";
	struct report_cfg cfg = { .sites = sites__new(), .suppress = suppressions__new() };
	struct suppress_error error;
	struct book b;

	(void)state;
	assert_int_equal(suppress_file__parse(cfg.suppress, "a", file, sizeof(file) - 1, &error),
			 0);
	book_open_with(&b, true, cfg);
	for (uint64_t i = 1; i <= 3; i++) {
		report(&b, i, ACL_RULE_FREE_IN_FLIGHT);
		released(&b, i, 507899);
	}
	assert_string_equal(fresh(&b), "");
	assert_int_equal(stories__count(b.st, ACL_LEVEL_ERROR), 0);
	assert_int_equal(stories__counts(b.st)->orphans, 0);
	assert_int_equal(stories__pending(b.st), 0);
	assert_int_equal(cfg.suppress->list[0].hits, 3);
	assert_int_equal(cfg.suppress->hits[ACL_RULE_FREE_IN_FLIGHT], 3);
	report(&b, 4, ACL_RULE_FREE_BEFORE_DESTROY);
	assert_non_null(strstr(fresh(&b), "\"id\":1,"));
	book_close(&b);
	sites__free(cfg.sites);
	suppressions__free(cfg.suppress);
}

struct asked {
	unsigned int n;
	bool suppressed;
	struct enforcement sent;
};

static const struct enforcement *ask(void *arg, const struct acl_violation *v, bool suppressed)
{
	struct asked *a = arg;

	(void)v;
	a->n++;
	a->suppressed = suppressed;
	return &a->sent;
}

/* Somebody has to know what was done, and who acts, what is suppressed. */
static void what_is_acted_upon_is_told_each_time(void **state)
{
	static const char file[] = "{\nrule free-before-destroy\n}\n";
	struct asked a = { .sent = { .act = ACL_ACT_SENT, .sig = 19 } };
	struct report_cfg cfg = {
		.sites = sites__new(),
		.suppress = suppressions__new(),
		.fold = true,
		.enforce = ask,
		.enforce_arg = &a,
	};
	struct suppress_error error;
	struct book b;

	(void)state;
	assert_int_equal(suppress_file__parse(cfg.suppress, "a", file, sizeof(file) - 1, &error),
			 0);
	book_open_with(&b, false, cfg);
	for (uint64_t i = 1; i <= 3; i++) {
		report(&b, i, ACL_RULE_FREE_IN_FLIGHT);
		assert_int_equal(count(fresh(&b), "ERROR #"), 1);
		assert_int_equal(a.n, i);
		assert_false(a.suppressed);
	}
	a.sent.act = ACL_ACT_LIMITED;
	report(&b, 4, ACL_RULE_FREE_IN_FLIGHT);
	assert_string_equal(fresh(&b), "");
	report(&b, 5, ACL_RULE_FREE_BEFORE_DESTROY);
	assert_true(a.suppressed);
	book_close(&b);
	sites__free(cfg.sites);
	suppressions__free(cfg.suppress);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_are_printed_at_once_and_numbered),
		cmocka_unit_test(without_an_event_the_return_ends_the_story),
		cmocka_unit_test(return_and_destroy_make_one_follow_up),
		cmocka_unit_test(the_destroy_may_come_before_the_return),
		cmocka_unit_test(a_destroy_that_began_before_the_free_is_told_so),
		cmocka_unit_test(a_missing_destroy_is_waited_for_and_told_later),
		cmocka_unit_test(timeouts_are_in_the_order_of_the_returns),
		cmocka_unit_test(all_stories_of_an_event_hear_of_its_destroy),
		cmocka_unit_test(an_event_that_is_gone_is_not_waited_for),
		cmocka_unit_test(sequels_of_others_are_not_joined),
		cmocka_unit_test(a_second_return_changes_nothing),
		cmocka_unit_test(a_refusal_confirms),
		cmocka_unit_test(verdicts_at_the_return_are_whole),
		cmocka_unit_test(a_process_that_is_gone_ends_its_stories),
		cmocka_unit_test(what_was_told_is_summed_up_at_the_end),
		cmocka_unit_test(the_end_of_the_watch_ends_all),
		cmocka_unit_test(pending_stories_are_bounded),
		cmocka_unit_test(what_was_told_is_evicted_silently),
		cmocka_unit_test(damaged_records_are_dropped_and_counted),
		cmocka_unit_test(latency_is_measured),
		cmocka_unit_test(extreme_latencies_do_not_hurt),
		cmocka_unit_test(write_errors_are_noticed),
		cmocka_unit_test(write_errors_of_json_are_noticed),
		cmocka_unit_test(in_json_every_story_ends_with_a_line),
		cmocka_unit_test(what_is_folded_is_counted_and_not_told),
		cmocka_unit_test(what_is_suppressed_is_not_among_the_others),
		cmocka_unit_test(what_is_acted_upon_is_told_each_time),
	};

	return cmocka_run_group_tests_name("story", tests, NULL, NULL);
}
