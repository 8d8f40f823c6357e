/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Metrics: what is counted where, what becomes of too many, and the text for Prometheus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "names.h"

#define SEC 1000000000ULL
#define HOUR (3600 * SEC)
#define BYTES_MAX (8U << 20)

static const struct metrics_who trainer = { "python3", "ml", "train-0", "main" };
static const char *const labels[] = { "free-before-destroy", "error", "certain" };

/* The text, NUL-terminated; free() it. */
static char *render(struct metrics *m, enum exposition_format format)
{
	struct exposition x;
	struct textbuf out;
	char *text;

	textbuf__init(&out, BYTES_MAX);
	exposition__init(&x, format, &out);
	metrics__render(m, &x);
	assert_int_equal(exposition__end(&x), 0);
	text = strndup(out.data, out.len);
	assert_non_null(text);
	textbuf__free(&out);
	return text;
}

static unsigned int count_lines(const char *text, const char *beginning)
{
	size_t n = strlen(beginning);
	unsigned int found = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		found += !strncmp(line, beginning, n);
	}
	return found;
}

/* Exactly one line that is this. */
static void expect_line(const char *text, const char *line)
{
	size_t n = strlen(line);
	unsigned int found = 0;

	for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
		found += (at == text || at[-1] == '\n') && at[n] == '\n';
	if (found != 1)
		print_error("%u times '%s' in:\n%s\n", found, line, text);
	assert_int_equal(found, 1);
}

static void expect(struct metrics *m, const char *line)
{
	char *text = render(m, EXPOSITION_TEXT);

	expect_line(text, line);
	free(text);
}

static struct acl_proc process(uint64_t inc, uint64_t made, uint64_t gone)
{
	return (struct acl_proc){
		.inc = inc,
		.events_made = made,
		.events_gone = gone,
		.bufs_made = made,
		.bufs_gone = made,
		.bytes_made = made * 4096,
		.bytes_gone = made * 4096,
	};
}

#define WHO "program=\"python3\",namespace=\"ml\",pod_name=\"train-0\",container_name=\"main\""
#define OTHERS "program=\"other\",namespace=\"other\",pod_name=\"other\",container_name=\"other\""

static void programs_are_sums_of_their_processes(void **state)
{
	struct metrics *m = metrics__new(100, HOUR);
	struct acl_proc a = process(1, 3, 1), b = process(2, 10, 10);

	(void)state;
	b.late = 1;
	metrics__began(m, &a, &trainer);
	metrics__began(m, &b, &trainer);
	expect(m, "aclguard_live_processes{" WHO "} 2");
	expect(m, "aclguard_late_processes_total{" WHO "} 1");
	expect(m, "aclguard_live_events{" WHO "} 2");
	expect(m, "aclguard_events_total{" WHO "} 13");
	a = process(1, 5, 1);
	metrics__numbers(m, &a);
	expect(m, "aclguard_events_total{" WHO "} 15");
	expect(m, "aclguard_host_bytes_total{" WHO "} 61440");
	a = process(1, 7, 2);
	metrics__over(m, &a, SEC);
	expect(m, "aclguard_events_total{" WHO "} 17");
	expect(m, "aclguard_live_events{" WHO "} 0");
	expect(m, "aclguard_processes_total{" WHO "} 2");
	expect(m, "aclguard_live_processes{" WHO "} 1");
	expect(m, "aclguard_leaked_objects_total{kind=\"event\"," WHO "} 5");
	/* what was read before its end, and comes after it */
	a = process(1, 6, 2);
	metrics__numbers(m, &a);
	metrics__over(m, &a, SEC);
	expect(m, "aclguard_events_total{" WHO "} 17");
	metrics__free(m);
}

static void counters_belong_to_the_incarnation(void **state)
{
	const struct metrics_who unknown = { "sh", "", "", "" };
	struct metrics *m = metrics__new(100, HOUR);
	struct acl_proc a = process(1, 0, 0);

	(void)state;
	metrics__began(m, &a, &trainer);
	metrics__count(m, METRIC_VIOLATIONS, 1, &unknown, labels, 1);
	metrics__count(m, METRIC_VIOLATIONS, 1, &unknown, labels, 2);
	metrics__count(m, METRIC_VIOLATIONS, 9, &unknown, labels, 1);
	metrics__set_seconds(m, METRIC_VIOLATION_LAST, 1, &unknown, labels, 1500 * SEC / 1000);
	expect(m, "aclguard_violations_total{rule=\"free-before-destroy\",level=\"error\","
		  "evidence=\"certain\"," WHO "} 3");
	expect(m, "aclguard_violations_total{rule=\"free-before-destroy\",level=\"error\","
		  "evidence=\"certain\",program=\"sh\",namespace=\"\",pod_name=\"\","
		  "container_name=\"\"} 1");
	expect(m, "aclguard_last_violation_timestamp_seconds{rule=\"free-before-destroy\","
		  "level=\"error\"," WHO "} 1.500000000");
	metrics__free(m);
}

static void what_finds_no_room_is_other_and_counted(void **state)
{
	struct metrics *m = metrics__new(2 * METRICS_PROGRAM_SERIES + 1, HOUR);
	char name[16], *text;

	(void)state;
	for (uint64_t i = 1; i <= 10000; i++) {
		struct acl_proc p = process(i, 1, 0);
		struct metrics_who who = { name, "", "", "" };

		snprintf(name, sizeof(name), "p%" PRIu64, i);
		metrics__began(m, &p, &who);
		metrics__count(m, METRIC_VIOLATIONS, i, &who, labels, 1);
	}
	text = render(m, EXPOSITION_TEXT);
	assert_int_equal(count_lines(text, "aclguard_events_total{"), 3);
	assert_int_equal(count_lines(text, "aclguard_violations_total{"), 2);
	expect_line(text, "aclguard_events_total{" OTHERS "} 9998");
	expect_line(text, "aclguard_violations_total{rule=\"free-before-destroy\",level=\"error\","
			  "evidence=\"certain\"," OTHERS "} 9999");
	expect_line(text, "aclguard_series 23");
	expect_line(text, "aclguard_series_limit 23");
	/* 9,998 processes, and 9,998 violations of theirs are no news; one of the second is */
	expect_line(text, "aclguard_series_dropped_total 9999");
	free(text);
	for (uint64_t i = 1; i <= 10000; i++) {
		struct acl_proc p = process(i, 2, 2);

		metrics__over(m, &p, SEC);
	}
	expect(m, "aclguard_events_total{" OTHERS "} 19996");
	expect(m, "aclguard_live_processes{" OTHERS "} 0");
	metrics__free(m);
}

static void nothing_fits(void **state)
{
	struct metrics *m = metrics__new(0, HOUR);
	struct acl_proc p = process(1, 1, 0);

	(void)state;
	metrics__began(m, &p, &trainer);
	metrics__count(m, METRIC_VIOLATIONS, 1, &trainer, labels, 1);
	expect(m, "aclguard_events_total{" OTHERS "} 1");
	metrics__free(m);
}

static void who_is_gone_for_long_is_forgotten(void **state)
{
	struct metrics *m = metrics__new(METRICS_PROGRAM_SERIES + 5, HOUR);
	const struct metrics_who next = { "next", "", "", "" };
	struct acl_proc p = process(1, 1, 0), q = process(2, 1, 1);
	char *text;

	(void)state;
	metrics__began(m, &p, &trainer);
	metrics__count(m, METRIC_VIOLATIONS, 1, &trainer, labels, 1);
	metrics__expire(m, 100 * HOUR); /* it lives */
	expect(m, "aclguard_events_total{" WHO "} 1");
	metrics__over(m, &p, 100 * HOUR);
	metrics__expire(m, 101 * HOUR - 1);
	expect(m, "aclguard_events_total{" WHO "} 1");
	metrics__expire(m, 101 * HOUR);
	text = render(m, EXPOSITION_TEXT);
	assert_null(strstr(text, "python3"));
	free(text);
	assert_int_equal(metrics__series(m), 0);
	/* there is room again */
	metrics__began(m, &q, &next);
	expect(m, "aclguard_series_dropped_total 0");
	/* only heard of by what it did: from when that is seen */
	metrics__over(m, &q, 101 * HOUR);
	metrics__expire(m, 102 * HOUR);
	metrics__count(m, METRIC_VIOLATIONS, 7, &trainer, labels, 1);
	metrics__expire(m, 103 * HOUR);
	metrics__count(m, METRIC_VIOLATIONS, 7, &trainer, labels, 1);
	metrics__expire(m, 104 * HOUR);
	assert_int_equal(metrics__series(m), METRICS_PROGRAM_SERIES + 1);
	metrics__expire(m, 105 * HOUR);
	assert_int_equal(metrics__series(m), 0);
	metrics__free(m);
}

static void hostile_names_are_harmless(void **state)
{
	const struct metrics_who evil = { "a\n\"} 1\n\\\xff\x1b[2J", "\xe2\x80\xae", "", "" };
	struct metrics *m = metrics__new(100, HOUR);
	struct acl_proc p = process(1, 1, 0);

	(void)state;
	metrics__began(m, &p, &evil);
	expect(m,
	       "aclguard_events_total{program=\"a\\\\x0a\\\"} 1\\\\x0a\\\\\\\\\\\\xff\\\\x1b[2J\","
	       "namespace=\"\\\\u{202e}\",pod_name=\"\",container_name=\"\"} 1");
	metrics__free(m);
}

/* Two that are shown alike are one series: a second line would make all of it invalid. */
static void names_that_are_cut_are_one(void **state)
{
	char one[1000], other[1000];
	struct metrics *m = metrics__new(100, HOUR);
	struct acl_proc p = process(1, 1, 0), q = process(2, 1, 0);
	char *text;

	(void)state;
	memset(one, 'x', sizeof(one));
	memset(other, 'x', sizeof(other));
	one[sizeof(one) - 1] = other[sizeof(other) - 1] = '\0';
	other[sizeof(other) - 2] = 'y';
	metrics__began(m, &p, &(struct metrics_who){ one, "", "", "" });
	metrics__began(m, &q, &(struct metrics_who){ other, "", "", "" });
	metrics__count(m, METRIC_LEAKED, 0,
		       &(struct metrics_who){ "other", "other", "other", "other" },
		       (const char *const[]){ "event" }, 1);
	text = render(m, EXPOSITION_TEXT);
	assert_int_equal(count_lines(text, "aclguard_events_total{program=\"xxx"), 1);
	expect_line(text, "aclguard_leaked_objects_total{kind=\"event\"," OTHERS "} 1");
	free(text);
	metrics__free(m);
}

static void histograms_are_cumulative(void **state)
{
	struct metrics *m = metrics__new(100, HOUR);

	(void)state;
	metrics__observe(m, METRIC_GAP, METRICS_OK, 0);
	metrics__observe(m, METRIC_GAP, METRICS_OK, 1000000);
	metrics__observe(m, METRIC_GAP, METRICS_OK, 1000001);
	metrics__observe(m, METRIC_GAP, METRICS_OK, 60 * SEC);
	metrics__observe(m, METRIC_RELEASE_TIME, METRICS_FAILED, SEC);
	expect(m, "aclguard_free_to_destroy_seconds_bucket{le=\"1e-05\"} 1");
	expect(m, "aclguard_free_to_destroy_seconds_bucket{le=\"0.001\"} 2");
	expect(m, "aclguard_free_to_destroy_seconds_bucket{le=\"0.003\"} 3");
	expect(m, "aclguard_free_to_destroy_seconds_bucket{le=\"10.0\"} 3");
	expect(m, "aclguard_free_to_destroy_seconds_bucket{le=\"+Inf\"} 4");
	expect(m, "aclguard_free_to_destroy_seconds_sum 60.002000001");
	expect(m, "aclguard_free_to_destroy_seconds_count 4");
	expect(m, "aclguard_release_duration_seconds_bucket{outcome=\"failed\",le=\"1.0\"} 1");
	expect(m, "aclguard_release_duration_seconds_count{outcome=\"ok\"} 0");
	metrics__free(m);
}

static void openmetrics_names_families_without_endings(void **state)
{
	struct metrics *m = metrics__new(100, HOUR);
	struct acl_proc p = process(1, 1, 0);
	char *text;

	(void)state;
	metrics__began(m, &p, &trainer);
	text = render(m, EXPOSITION_OPENMETRICS);
	expect_line(text, "# TYPE aclguard_events counter");
	expect_line(text, "aclguard_events_total{" WHO "} 1");
	expect_line(text, "# TYPE aclguard_host_bytes counter");
	expect_line(text, "# UNIT aclguard_host_bytes bytes");
	expect_line(text, "# TYPE aclguard_free_to_destroy_seconds histogram");
	assert_non_null(strstr(text, "program=\\\"other\\\".\n# TYPE aclguard_series_dropped"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	text = render(m, EXPOSITION_TEXT);
	expect_line(text, "# TYPE aclguard_events_total counter");
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	assert_non_null(strstr(text, "program=\"other\".\n# TYPE aclguard_series_dropped_total"));
	free(text);
	metrics__free(m);
}

static void the_table_keeps_the_conventions(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < METRIC_MAX; i++) {
		const struct metric_info *m = metric__info(i);
		const char *total = strstr(m->name, "_total"), *unit = strstr(m->name, m->unit);
		size_t len = strlen(m->help);

		assert_int_equal(m->type == METRIC_TYPE_COUNTER, total && !total[6]);
		assert_non_null(unit);
		if (*m->unit) /* right before the end, or _total */
			assert_true(unit[-1] == '_' &&
				    (!unit[strlen(m->unit)] || unit + strlen(m->unit) == total));
		assert_true(len > 10 && m->help[len - 1] == '.' && !strchr(m->help, '|'));
		assert_null(strstr(m->labels, "pid"));
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(m->name, metric__info(k)->name);
	}
}

static void what_is_no_utf8_is_replaced(void **state)
{
	struct exposition x;
	struct textbuf out;

	(void)state;
	textbuf__init(&out, BYTES_MAX);
	exposition__init(&x, EXPOSITION_OPENMETRICS, &out);
	exposition__family(&x, METRIC_CALLS);
	exposition__u64(&x, (const char *const[]){ "\xc3\x28\xff\\\"\n\xe4\xb8\xad" }, 1);
	textbuf__add(&out, "", 1);
	assert_int_equal(out.err, 0);
	assert_non_null(strstr(
		out.data, "{function=\"\xef\xbf\xbd(\xef\xbf\xbd\\\\\\\"\\n\xe4\xb8\xad\"} 1\n"));
	textbuf__free(&out);
}

/* ---- two threads --------------------------------------------------------- */

struct busy {
	struct metrics *m;
	bool stop;
};

static void *render_again_and_again(void *arg)
{
	struct busy *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		struct acl_proc p = process(1, 1, 0);

		free(render(b->m, EXPOSITION_TEXT));
		metrics__numbers(b->m, &p);
		metrics__expire(b->m, 1000 * HOUR);
	}
	return NULL;
}

static void nothing_is_lost_beside_a_reader(void **state)
{
	struct busy b = { .m = metrics__new(1000, HOUR) };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, render_again_and_again, &b), 0);
	for (uint64_t i = 1; i <= 5000; i++) {
		struct acl_proc p = process(i, 0, 0), end = process(i, 2, 1);

		metrics__began(b.m, &p, &trainer);
		metrics__count(b.m, METRIC_VIOLATIONS, i, &trainer, labels, 1);
		metrics__began(b.m, &(struct acl_proc){ .inc = i + 5000 }, &trainer);
		metrics__over(b.m, &end, 999 * HOUR + i);
	}
	__atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	expect(b.m, "aclguard_events_total{" WHO "} 10000");
	expect(b.m, "aclguard_processes_total{" WHO "} 10000");
	expect(b.m, "aclguard_leaked_objects_total{kind=\"event\"," WHO "} 5000");
	expect(b.m, "aclguard_violations_total{rule=\"free-before-destroy\",level=\"error\","
		    "evidence=\"certain\"," WHO "} 5000");
	metrics__free(b.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_sums_of_their_processes),
		cmocka_unit_test(counters_belong_to_the_incarnation),
		cmocka_unit_test(what_finds_no_room_is_other_and_counted),
		cmocka_unit_test(nothing_fits),
		cmocka_unit_test(who_is_gone_for_long_is_forgotten),
		cmocka_unit_test(hostile_names_are_harmless),
		cmocka_unit_test(names_that_are_cut_are_one),
		cmocka_unit_test(histograms_are_cumulative),
		cmocka_unit_test(openmetrics_names_families_without_endings),
		cmocka_unit_test(the_table_keeps_the_conventions),
		cmocka_unit_test(what_is_no_utf8_is_replaced),
		cmocka_unit_test(nothing_is_lost_beside_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
