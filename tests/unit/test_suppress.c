/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Suppressions: what a file may say, what it matches, and that neither takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "backtrace.h"
#include "pattern.h"
#include "suppress.h"
#include "suppress_file.h"

/* ---- patterns ------------------------------------------------------------- */

static int match(const char *text, const char *name, size_t len)
{
	uint64_t steps = SUPPRESS_STEPS_MAX;
	struct pattern *p;
	int is;

	assert_int_equal(pattern__new(text, strlen(text), &p), 0);
	is = pattern__match(p, name, len, &steps);
	pattern__free(p);
	return is;
}

static void patterns_match_as_in_a_shell(void **state)
{
	static const struct {
		const char *text, *name;
		int is;
	} want[] = {
		{ "abc", "abc", 1 },
		{ "abc", "abcd", 0 },
		{ "abc", "ab", 0 },
		{ "*", "", 1 },
		{ "*", "abc", 1 },
		{ "a*", "a", 1 },
		{ "a*c", "abc", 1 },
		{ "a*c", "abcb", 0 },
		{ "*b*", "abc", 1 },
		{ "a?c", "abc", 1 },
		{ "a?c", "ac", 0 },
		{ "?", "", 0 },
		{ "*a*b", "aab", 1 },
		{ "a*b*c", "a-b-b-c", 1 },
		{ "a\\*c", "a*c", 1 },
		{ "a\\*c", "abc", 0 },
		{ "\\?", "?", 1 },
		{ "\\\\", "\\", 1 },
		{ "\\x0a", "\n", 1 },
		{ "a\\x20", "a ", 1 },
		{ "\\u{202e}", "\u202e", 1 },
		{ "\\u{1f600}", "\U0001f600", 1 },
		{ "\\xff*", "\xff\xfe", 1 },
		{ "[ab]", "a", 0 },
		{ "[ab]", "[ab]", 1 },
		{ "**a**", "cac", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (match(want[i].text, want[i].name, strlen(want[i].name)) != want[i].is)
			fail_msg("%s and %s", want[i].text, want[i].name);
}

static void wrong_patterns_are_refused(void **state)
{
	static const char *const bad[] = { "",	    "\\",	   "\\n",   "\\x1",
					   "\\xgg", "\\u202e",	   "\\u{}", "\\u{d800}",
					   "\\u{1", "\\u{110000}", "a\\",   "\\u{0000000041}" };
	static char big[PATTERN_MAX + 1];
	struct pattern *p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (pattern__new(bad[i], strlen(bad[i]), &p) != -EINVAL)
			fail_msg("%s", bad[i]);
	memset(big, 'a', sizeof(big));
	assert_int_equal(pattern__new(big, sizeof(big), &p), -E2BIG);
}

/* What is written for a name matches that name, and fits into a file. */
static void assert_written(const char *name, size_t len)
{
	char text[PATTERN_TEXT_MAX];
	size_t n = pattern__of(text, sizeof(text), name, len);

	assert_int_equal(n, strlen(text));
	assert_true(n < sizeof(text));
	assert_null(strchr(text, '\n'));
	assert_null(strchr(text, '\x1b'));
	assert_int_equal(match(text, name, len), 1);
}

static void what_is_written_for_a_name_matches_it(void **state)
{
	static char big[6000];

	(void)state;
	assert_written("release_buffer", 14);
	assert_written("operator*", 9);
	assert_written(" a b ", 5);
	assert_written("\x1b[31m\n\r\\\xff\xc0\x80\u202e?", 16);
	memset(big, 'a', sizeof(big));
	assert_written(big, sizeof(big));
	memset(big, '\xff', sizeof(big));
	assert_written(big, sizeof(big));
	memset(big, '*', sizeof(big));
	assert_written(big, sizeof(big));
}

/* ---- files ------------------------------------------------------------------ */

static struct suppressions *parsed(const char *text)
{
	struct suppressions *s = suppressions__new();
	struct suppress_error error;

	if (suppress_file__parse(s, "a.supp", text, strlen(text), &error))
		fail_msg("line %u: %s", error.line, error.text);
	return s;
}

static void files_are_read(void **state)
{
	struct suppressions *s = parsed("# comment\n\n{\n  name  two words # no comment\n"
					"\trule free-in-flight,double-free\r\n  program a*\n"
					"function f\n ... \nmodule /lib/x*\nmodule y\n}\n"
					"{\nrule *\nfunction g\n}");

	(void)state;
	assert_int_equal(s->n, 2);
	assert_string_equal(s->list[0].name, "two words # no comment");
	assert_string_equal(s->list[0].file, "a.supp");
	assert_int_equal(s->list[0].line, 3);
	assert_int_equal(s->list[0].rules, ACL_RULE_BIT(ACL_RULE_FREE_IN_FLIGHT) |
						   ACL_RULE_BIT(ACL_RULE_DOUBLE_FREE));
	assert_int_equal(s->list[0].n_frames, 4);
	assert_int_equal(s->list[0].frames[1].kind, SUPPRESS_SKIP);
	assert_true(s->list[0].frames[2].path);
	assert_false(s->list[0].frames[3].path);
	assert_null(s->list[1].name);
	assert_true(suppress__may_apply(s, ACL_RULE_HOST_LEAK));
	assert_false(suppress__may_apply(NULL, ACL_RULE_HOST_LEAK));
	suppressions__free(s);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *part;
		unsigned int line;
	} want[] = {
		{ "{\n", "no '}'", 1 },
		{ "\nrule *\n", "should begin", 2 },
		{ "}\n", "should begin", 1 },
		{ "{\n{\n", "within an entry that begins in line 4", 2 },
		{ "{\nname x\n}\n", "no rule", 3 },
		{ "{\nrule *\n}\n", "everything", 3 },
		{ "{\nrule *\n...\n}\n", "everything", 4 },
		{ "{\nrule *\nprogram *\nfunction **\n}\n", "everything", 5 },
		{ "{\nrule *\nprogram a\n} x\n", "'}' stands alone", 4 },
		{ "{ x\n", "'{' stands alone", 1 },
		{ "{\nfunction \\u{d800}\n}\n", "'\\u{d800}' is", 2 },
		{ "{\nrule free-in-fligh\n}\n", "unknown rule 'free-in-fligh'", 2 },
		{ "{\nrule ,\n}\n", "unknown rule ''", 2 },
		{ "{\nrule *\nrule *\n}\n", "second rule", 3 },
		{ "{\nname a\nname b\n}\n", "second name", 3 },
		{ "{\nprogram a\nprogram b\n}\n", "second program", 3 },
		{ "{\nfun f\n}\n", "unknown word 'fun'", 2 },
		{ "{\nfunction\n}\n", "nothing behind 'function'", 2 },
		{ "{\n... x\n}\n", "alone", 2 },
		{ "{\nfunction a\\\n}\n", "no pattern", 2 },
		{ "{\n\x1b[31m x\n}\n", "\\x1b", 2 },
	};
	struct suppressions *s = parsed("{\nrule double-free\n}\n");

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct suppress_error error = { .line = 0 };
		char text[256];

		/* a good entry before it is not taken either */
		snprintf(text, sizeof(text), "{\nrule free-failed\n}\n%s", want[i].text);
		assert_int_equal(suppress_file__parse(s, "b", text, strlen(text), &error), -EINVAL);
		if (error.line != want[i].line + 3 || !strstr(error.text, want[i].part))
			fail_msg("%s: line %u: %s", want[i].text, error.line, error.text);
		assert_int_equal(s->n, 1);
		assert_false(suppress__may_apply(s, ACL_RULE_FREE_FAILED));
	}
	suppressions__free(s);
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static char text[] = "{\nrule *\nfunction a\0b\n}\n";
	struct suppressions *s = suppressions__new();
	struct suppress_error error;

	(void)state;
	assert_int_equal(suppress_file__parse(s, "b", text, sizeof(text) - 1, &error), -EINVAL);
	assert_int_equal(error.line, 3);
	suppressions__free(s);
}

static void files_have_bounds(void **state)
{
	struct suppressions *s = suppressions__new();
	struct suppress_error error;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	fprintf(f, "{\nrule *\n");
	for (int i = 0; i <= SUPPRESS_FRAMES_MAX; i++)
		fprintf(f, "function f\n");
	fprintf(f, "}\n");
	fclose(f);
	assert_int_equal(suppress_file__parse(s, "b", text, len, &error), -EINVAL);
	assert_int_equal(error.line, 3 + SUPPRESS_FRAMES_MAX);
	free(text);
	f = open_memstream(&text, &len);
	for (int i = 0; i <= SUPPRESS_ENTRIES_MAX; i++)
		fprintf(f, "{\nrule *\nprogram x\n}\n");
	fclose(f);
	assert_int_equal(suppress_file__parse(s, "b", text, len, &error), -EINVAL);
	assert_int_equal(s->n, 0);
	free(text);
	suppressions__free(s);
}

/* ---- matching ---------------------------------------------------------------- */

#define RULE ACL_RULE_FREE_IN_FLIGHT

static void add(struct backtrace *bt, const char *function, const char *module)
{
	bt->f[bt->n++].sym = (struct sym_result){
		.kind = module ? SYM_FILE : SYM_UNKNOWN,
		.function = function ? strdup(function) : NULL,
		.module = module ? strdup(module) : NULL,
	};
}

static void stack(struct backtrace *bt)
{
	bt->n = 0;
	bt->named = true;
	add(bt, "aclrtFreeHost", "/usr/lib/libascendcl.so");
	add(bt, "release", "/opt/pool/libpool.so.2");
	add(bt, NULL, "/opt/pool/libpool.so.2");
	add(bt, "main", "/usr/bin/program");
	add(bt, NULL, NULL);
}

static bool matches(const char *body, const struct backtrace *bt)
{
	static const char comm[ACL_COMM_LEN] = "python3.11";
	struct suppression *by;
	struct suppressions *s;
	char text[512];

	snprintf(text, sizeof(text), "{\nrule free-in-flight\n%s}\n", body);
	s = parsed(text);
	by = suppress__match_backtrace(s, RULE, comm, bt);
	suppressions__free(s);
	return by;
}

static void entries_match_from_the_first_frame_on(void **state)
{
	struct backtrace bt;

	(void)state;
	stack(&bt);
	assert_true(matches("", &bt));
	assert_true(matches("program python3*\n", &bt));
	assert_false(matches("program python2*\n", &bt));
	assert_true(matches("function aclrtFreeHost\n", &bt));
	assert_false(matches("function release\n", &bt));
	assert_true(matches("...\nfunction release\n", &bt));
	assert_true(matches("...\nfunction main\n", &bt));
	assert_false(matches("function aclrtFreeHost\nfunction main\n", &bt));
	assert_true(matches("function aclrtFreeHost\n...\nfunction main\n", &bt));
	assert_true(matches("module libascendcl.so\nmodule libpool.so*\nmodule libpool*\n", &bt));
	assert_false(matches("module pool/libpool.so.2\n", &bt));
	assert_true(matches("...\nmodule */pool/libpool.so.2\n", &bt));
	assert_false(matches("...\nfunction nowhere\n", &bt));
	assert_true(matches("...\n", &bt));
	assert_true(matches("...\nfunction main\nfunction *\n", &bt));
	assert_false(matches("...\nfunction main\nfunction *\nfunction *\n", &bt));
	assert_false(matches("...\nfunction main\nfunction ?*\n", &bt));
	backtrace__clear(&bt);
}

static void inlined_functions_are_frames(void **state)
{
	struct backtrace bt;
	struct sym_result *sym = &bt.f[1].sym;

	(void)state;
	stack(&bt);
	sym->inlined = calloc(2, sizeof(*sym->inlined));
	sym->inlined[0].function = strdup("free_it");
	sym->inlined[1].function = strdup("drop");
	sym->n_inlined = 2;
	assert_true(matches("function aclrt*\nfunction free_it\nfunction drop\nfunction release\n",
			    &bt));
	assert_false(matches("function aclrt*\nfunction release\n", &bt));
	assert_true(matches("function aclrt*\nmodule libpool*\nmodule libpool*\nmodule libpool*\n"
			    "module libpool*\nfunction main\n",
			    &bt));
	backtrace__clear(&bt);
}

static void only_the_rules_of_an_entry_match(void **state)
{
	struct suppressions *s = parsed("{\nrule double-free\n}\n{\nrule *\nprogram p\n}\n");
	struct backtrace bt = { .n = 0 };

	(void)state;
	assert_ptr_equal(suppress__match_backtrace(s, ACL_RULE_DOUBLE_FREE, "p", &bt), &s->list[0]);
	assert_ptr_equal(suppress__match_backtrace(s, RULE, "p", &bt), &s->list[1]);
	assert_null(suppress__match_backtrace(s, RULE, "q", &bt));
	suppressions__free(s);
}

static void what_is_generated_matches(void **state)
{
	static const char comm[ACL_COMM_LEN] = "a\n} {\x1b\xff";
	struct suppressions *s;
	struct backtrace bt;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	stack(&bt);
	free(bt.f[1].sym.function);
	bt.f[1].sym.function = strdup("evil\n}\x1b[2J*\xc3 ");
	suppress__generate(f, "site 012345678901", RULE, comm, &bt);
	fclose(f);
	assert_null(strchr(text, '\x1b'));
	s = parsed(text);
	assert_int_equal(s->n, 1);
	assert_non_null(suppress__match_backtrace(s, RULE, comm, &bt));
	assert_null(suppress__match_backtrace(s, RULE, "other", &bt));
	assert_null(suppress__match_backtrace(s, ACL_RULE_DOUBLE_FREE, comm, &bt));
	suppressions__free(s);
	backtrace__clear(&bt);
	free(text);
}

/* Frames of "..." and stars against 4 KiB names that almost match: bounded, and told. */
static void hostile_names_take_no_time(void **state)
{
	static char name[PATTERN_NAME_MAX + 1];
	struct suppressions *s;
	struct timespec from, to;
	struct backtrace bt = { .n = 0, .named = true };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	fprintf(f, "{\nrule free-in-flight\n");
	for (int i = 0; i < SUPPRESS_FRAMES_MAX / 2; i++) {
		fprintf(f, "...\nfunction *");
		for (int k = 0; k < PATTERN_MAX / 2; k++)
			fprintf(f, "a");
		fprintf(f, "b*b\n");
	}
	fprintf(f, "}\n");
	fclose(f);
	s = parsed(text);
	memset(name, 'a', sizeof(name) - 1);
	for (int i = 0; i < BACKTRACE_MAX; i++)
		add(&bt, name, NULL);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	assert_null(suppress__match_backtrace(s, RULE, "p", &bt));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	assert_true(to.tv_sec - from.tv_sec < 5);
	assert_int_equal(s->given_up, 1);
	backtrace__clear(&bt);
	suppressions__free(s);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_in_a_shell),
		cmocka_unit_test(wrong_patterns_are_refused),
		cmocka_unit_test(what_is_written_for_a_name_matches_it),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(files_have_bounds),
		cmocka_unit_test(entries_match_from_the_first_frame_on),
		cmocka_unit_test(inlined_functions_are_frames),
		cmocka_unit_test(only_the_rules_of_an_entry_match),
		cmocka_unit_test(what_is_generated_matches),
		cmocka_unit_test(hostile_names_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
