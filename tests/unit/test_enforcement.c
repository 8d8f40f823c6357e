/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Enforcement: what can get around a signal, its words, and the names of signals. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "enforcement.h"
#include "json.h"
#include "options_enforce.h"
#include "procstatus.h"
#include "report_text.h"

static enum evasion evasion_in(const char *text, int sig)
{
	struct procstatus st;

	procstatus__parse(text, strlen(text), &st);
	return enforcement__evasion(&st, sig);
}

#define MASKS(pending, shared, blocked, ignored, caught)                                \
	"TracerPid:\t0\nNSpid:\t77\nSigQ:\t0/1\nSigPnd:\t" pending "\nShdPnd:\t" shared \
	"\nSigBlk:\t" blocked "\nSigIgn:\t" ignored "\nSigCgt:\t" caught "\nCapInh:\t0\n"
#define NOTHING "0000000000000000"
#define TERM "0000000000004000"
#define RT64 "8000000000000000"

static void masks_say_what_a_program_does_about_a_signal(void **state)
{
	(void)state;
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING), SIGTERM),
			 EVASION_NONE);
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, TERM, NOTHING, NOTHING), SIGTERM),
			 EVASION_BLOCKED);
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, NOTHING, TERM, NOTHING), SIGTERM),
			 EVASION_IGNORED);
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, NOTHING, NOTHING, TERM), SIGTERM),
			 EVASION_HANDLED);
	/* of another signal */
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, TERM, TERM, TERM), SIGABRT),
			 EVASION_NONE);
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, NOTHING, RT64, NOTHING), 64),
			 EVASION_IGNORED);
}

static void a_handler_that_runs_is_no_block(void **state)
{
	(void)state;
	assert_int_equal(evasion_in(MASKS(NOTHING, NOTHING, TERM, NOTHING, TERM), SIGTERM),
			 EVASION_HANDLED);
	assert_int_equal(evasion_in(MASKS(TERM, NOTHING, TERM, NOTHING, TERM), SIGTERM),
			 EVASION_BLOCKED);
	assert_int_equal(evasion_in(MASKS(NOTHING, TERM, TERM, NOTHING, TERM), SIGTERM),
			 EVASION_BLOCKED);
}

static void stop_and_kill_cannot_be_evaded(void **state)
{
	const char *all = MASKS("ffffffffffffffff", "ffffffffffffffff", "ffffffffffffffff",
				"ffffffffffffffff", "ffffffffffffffff");

	(void)state;
	assert_int_equal(evasion_in(all, SIGKILL), EVASION_NONE);
	assert_int_equal(evasion_in(all, SIGSTOP), EVASION_NONE);
	assert_int_equal(evasion_in(all, 0), EVASION_NONE);
	assert_int_equal(evasion_in(all, 65), EVASION_NONE);
}

static void a_namespace_has_a_first_process(void **state)
{
	(void)state;
	assert_int_equal(evasion_in("NSpid:\t77\t1\nSigCgt:\t" NOTHING "\n", SIGTERM),
			 EVASION_INIT);
	assert_int_equal(evasion_in("NSpid:\t77\t1\nSigCgt:\t" TERM "\n", SIGTERM),
			 EVASION_HANDLED);
	assert_int_equal(evasion_in("NSpid:\t77\t2\nSigCgt:\t" NOTHING "\n", SIGTERM),
			 EVASION_NONE);
	assert_int_equal(evasion_in("NSpid:\t77\t1\nSigCgt:\t" NOTHING "\n", SIGKILL),
			 EVASION_NONE);
	assert_int_equal(evasion_in("NSpid:\t1\nSigCgt:\t" NOTHING "\n", SIGTERM), EVASION_NONE);
}

static void some_signals_do_nothing(void **state)
{
	(void)state;
	assert_int_equal(evasion_in("SigCgt:\t0\n", SIGCHLD), EVASION_HARMLESS);
	assert_int_equal(evasion_in("SigCgt:\t0\n", SIGUSR1), EVASION_NONE);
}

static void where_the_masks_are_missing_nothing_is_said(void **state)
{
	(void)state;
	assert_int_equal(evasion_in("", SIGTERM), EVASION_NONE);
	assert_int_equal(evasion_in("NSpid:\t77\t1\n", SIGTERM), EVASION_NONE);
	assert_int_equal(evasion_in("SigCgt:\tzzz\n", SIGTERM), EVASION_NONE);
}

static void signals_have_names_and_numbers(void **state)
{
	char name[SIGNAL_NAME_MAX];

	(void)state;
	assert_int_equal(options_enforce__signal("SIGUSR1"), SIGUSR1);
	assert_int_equal(options_enforce__signal("usr1"), SIGUSR1);
	assert_int_equal(options_enforce__signal("sigTerm"), SIGTERM);
	assert_int_equal(options_enforce__signal("10"), 10);
	assert_int_equal(options_enforce__signal("40"), 40);
	for (const char *const *bad = (const char *const[]){ "", "SIG", "0", "65", "33", "-1", "1x",
							     "USR3", "SIGSIGTERM", " 9", NULL };
	     *bad; bad++)
		assert_int_equal(options_enforce__signal(*bad), -1);
	assert_string_equal(enforcement__signal(name, SIGABRT), "SIGABRT");
	assert_string_equal(enforcement__signal(name, 40), "signal 40");
	assert_string_equal(enforcement__action(SIGSTOP), "stop");
	assert_string_equal(enforcement__action(SIGHUP), "signal");
	assert_string_equal(enforcement__action(0), "report");
	assert_string_equal(acl_act__name(ACL_ACT_MAX), "unknown");
}

static const struct acl_violation violation = {
	.h = { .type = ACL_REC_VIOLATION, .tgid = 4711, .tid = 4712 },
	.rule = ACL_RULE_FREE_BEFORE_DESTROY,
	.call = ACL_C_aclrtFreeHost,
};

static char *text_of(const struct acl_violation *v, const struct enforcement *e)
{
	struct report_out o;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	report_out__init(&o, f);
	enforcement__print(&o, v, e);
	assert_int_equal(report_out__flush(&o), 0);
	fclose(f);
	return text;
}

static void assert_says(const struct acl_violation *v, struct enforcement e, const char *words)
{
	char *text = text_of(v, &e);

	if (!strstr(text, words))
		fail_msg("no \"%s\" in: %s", words, text);
	free(text);
}

static void the_text_says_what_to_do(void **state)
{
	struct acl_violation later = violation;
	char *text;

	(void)state;
	later.rule = ACL_RULE_DOUBLE_FREE;
	assert_says(
		&violation, (struct enforcement){ .act = ACL_ACT_SENT, .sig = SIGSTOP },
		"stopped before aclrtFreeHost ran: look with `gdb -p 4711' (thread 4712), go on "
		"with `kill -CONT 4711'");
	assert_says(&later, (struct enforcement){ .act = ACL_ACT_SENT, .sig = SIGSTOP },
		    "stopped after aclrtFreeHost returned");
	assert_says(&violation,
		    (struct enforcement){
			    .act = ACL_ACT_SENT, .sig = SIGTERM, .evasion = EVASION_BLOCKED },
		    "the program blocks SIGTERM: the call may still do its work; stop and kill "
		    "cannot be evaded");
	assert_says(&violation,
		    (struct enforcement){ .act = ACL_ACT_SENT, .sig = SIGTERM, .tracer = 99 },
		    "pid 99");
	assert_says(&violation, (struct enforcement){ .act = ACL_ACT_LIMITED, .sig = SIGSTOP },
		    "none (limited)");
	assert_says(&violation,
		    (struct enforcement){ .act = ACL_ACT_FAILED, .sig = SIGSTOP, .err = 1 },
		    "Operation not permitted");
	text = text_of(&violation, &(struct enforcement){ .act = ACL_ACT_NONE });
	assert_string_equal(text, "");
	free(text);
	text = text_of(&violation, NULL);
	assert_string_equal(text, "");
	free(text);
}

static json_object *line_of(FILE *f, char **text)
{
	json_object *o;

	fclose(f);
	o = json_tokener_parse(*text);
	assert_non_null(o);
	free(*text);
	return o;
}

static void json_says_it_too(void **state)
{
	const struct enforcement e = { .act = ACL_ACT_SENT, .sig = 40, .evasion = EVASION_HANDLED };
	struct enforce_counts n = { .sig = { [ACL_RULE_FREE_IN_FLIGHT] = SIGKILL } };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct json *j = json__new(f);
	json_object *o, *val, *summary;

	(void)state;
	n.n[ACL_RULE_FREE_IN_FLIGHT][ACL_ACT_SENT] = 3;
	json__begin(j);
	enforcement__put(j, &violation, &e);
	json__begin_object(j, "summary");
	enforce_counts__put(j, &n);
	json__end_object(j);
	assert_int_equal(json__end(j), 0);
	json__free(j);
	o = line_of(f, &text);
	assert_true(json_object_object_get_ex(o, "summary", &summary));
	assert_true(json_object_object_get_ex(o, "enforcement", &val));
	assert_string_equal(json_object_to_json_string_ext(val, JSON_C_TO_STRING_PLAIN),
			    "{\"action\":\"signal\",\"signal\":\"signal 40\",\"signal_number\":40,"
			    "\"outcome\":\"sent\",\"error\":null,\"before_call\":true,"
			    "\"evaded\":\"handled\",\"traced_by\":null}");
	assert_true(json_object_object_get_ex(summary, "enforcement", &val));
	assert_string_equal(json_object_to_json_string_ext(val, JSON_C_TO_STRING_PLAIN),
			    "{\"observing\":false,\"actions\":[{\"rule\":\"free-in-flight\","
			    "\"action\":\"kill\",\"signal\":\"SIGKILL\",\"outcome\":\"sent\","
			    "\"count\":3}]}");
	json_object_put(o);
}

static void the_status_is_one_bounded_line(void **state)
{
	struct enforce_counts n = { .sig = { [ACL_RULE_FREE_IN_FLIGHT] = SIGKILL } };
	char line[200], small[16];

	(void)state;
	enforce_counts__status(&n, 2, line, sizeof(line));
	assert_string_equal(line, "ok enforcing, 2 stopped");
	n.observing = true;
	for (int act = 0; act < ACL_ACT_MAX; act++)
		n.n[ACL_RULE_FREE_IN_FLIGHT][act] = UINT64_MAX;
	enforce_counts__status(&n, 0, line, sizeof(line));
	assert_non_null(strstr(line, "ok observing, 0 stopped, sent "));
	enforce_counts__status(&n, 0, small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
	enforce_counts__status(&(struct enforce_counts){ .observing = false }, 0, line,
			       sizeof(line));
	assert_string_equal(line, "ok nothing is enforced, 0 stopped");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_say_what_a_program_does_about_a_signal),
		cmocka_unit_test(a_handler_that_runs_is_no_block),
		cmocka_unit_test(stop_and_kill_cannot_be_evaded),
		cmocka_unit_test(a_namespace_has_a_first_process),
		cmocka_unit_test(some_signals_do_nothing),
		cmocka_unit_test(where_the_masks_are_missing_nothing_is_said),
		cmocka_unit_test(signals_have_names_and_numbers),
		cmocka_unit_test(the_text_says_what_to_do),
		cmocka_unit_test(json_says_it_too),
		cmocka_unit_test(the_status_is_one_bounded_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
