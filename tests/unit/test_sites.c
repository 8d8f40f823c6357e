/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sites: what makes one, what is printed of it, and that nothing grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "backtrace.h"
#include "sites.h"
#include "story.h"
#include "suppress.h"
#include "suppress_file.h"

static const struct report_cfg plain = { .stacks = true };

static struct acl_violation violation(void)
{
	return (struct acl_violation){
		.h = { .type = ACL_REC_VIOLATION, .tgid = 42, .tid = 42, .inc = 7 },
		.rule = ACL_RULE_FREE_IN_FLIGHT,
		.call = ACL_C_aclrtFreeHost,
		.level = ACL_LEVEL_ERROR,
		.evidence = ACL_EV_CERTAIN,
		.comm = "program",
	};
}

/* A stack in two files, with these addresses. */
static void stack(struct backtrace *bt, uint64_t base, unsigned int n)
{
	bt->n = n;
	bt->at_return = false;
	bt->named = true;
	for (unsigned int i = 0; i < n; i++)
		bt->f[i] = (struct backtrace_frame){
			.addr = base + 16ULL * i,
			.sym = { .kind = SYM_FILE,
				 .addr = base + 16ULL * i,
				 .module = strdup(i ? "/usr/bin/program" : "/lib/libascendcl.so"),
				 .module_offset = 0x100 + i,
				 .build_id = { 1, 2, 3, (uint8_t)!i },
				 .build_id_len = 4 },
		};
}

static struct site_of find(struct sites *st, const struct acl_violation *v, struct backtrace *bt)
{
	struct site_of of;

	sites__find(st, &plain, v, bt, &of);
	return of;
}

static void ids_are_of_the_build_and_not_of_the_run(void **state)
{
	struct acl_violation v = violation();
	struct sites *a = sites__new(), *b = sites__new();
	struct backtrace bt;
	struct site_of x, y;
	char id[SITE_ID_SIZE];

	(void)state;
	stack(&bt, 0x7f0000001000, 5);
	x = find(a, &v, &bt);
	backtrace__clear(&bt);
	v.h.tgid = 4711;
	v.h.inc = 1234;
	v.ptr = 0x1234;
	stack(&bt, 0x7f8888888000, 5);
	free(bt.f[1].sym.module);
	bt.f[1].sym.module = strdup("/elsewhere/program");
	y = find(b, &v, &bt);
	assert_int_equal(x.id, y.id);
	assert_int_equal(x.key, y.key);
	/* pinned: what people have noted down stays theirs */
	assert_string_equal(site__id(id, x.id), "b1e71b0870a9");
	backtrace__clear(&bt);
	sites__free(a);
	sites__free(b);
}

/* Each of these alone makes another site. */
static void what_differs_makes_another_site(void **state)
{
	struct sites *st = sites__new();
	struct backtrace bt;
	uint64_t ids[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct acl_violation v = violation();

		stack(&bt, 0x1000 + 0x1000ULL * i, 5);
		if (i == 1)
			v.rule = ACL_RULE_FREE_BEFORE_DESTROY;
		if (i == 2)
			v.call = ACL_C_aclrtHostUnregister;
		if (i == 3)
			v.comm[0] = 'q';
		if (i == 4)
			bt.f[4].sym.module_offset++;
		if (i == 5)
			bt.f[2].sym.build_id[0]++;
		if (i == 6)
			bt.f[3].sym.build_id_len = 0;
		if (i == 7)
			bt.f[3].sym.kind = SYM_ANON; /* cut there */
		ids[i] = find(st, &v, &bt).id;
		backtrace__clear(&bt);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(ids[i], ids[k]);
	}
	sites__free(st);
}

static void what_lies_beyond_makes_none(void **state)
{
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct backtrace bt;
	uint64_t id = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		stack(&bt, 0x1000 + 0x1000ULL * i, i ? 9 : 5);
		if (i == 2)
			bt.f[5].sym.kind = SYM_UNKNOWN;
		if (i)
			assert_int_equal(find(st, &v, &bt).id, id);
		id = find(st, &v, &bt).id;
		backtrace__clear(&bt);
	}
	sites__free(st);
}

/* At the return the runtime's own frame is gone. */
static void at_the_return_four_callers_count(void **state)
{
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct backtrace bt;
	uint64_t id;

	(void)state;
	v.rule = ACL_RULE_DOUBLE_FREE;
	stack(&bt, 0x1000, 5);
	bt.at_return = true;
	id = find(st, &v, &bt).id;
	backtrace__clear(&bt);
	stack(&bt, 0x2000, 5);
	bt.at_return = true;
	bt.f[4].sym.module_offset++;
	assert_int_equal(find(st, &v, &bt).id, id);
	backtrace__clear(&bt);
	sites__free(st);
}

/* As of a recording: told apart, and with the id of what is known. */
static void addresses_tell_sites_apart_where_nothing_else_does(void **state)
{
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct backtrace bt = { .n = 0, .named = true };
	struct site_of x = find(st, &v, &bt), y, z;

	(void)state;
	v.buf.id = 1;
	v.buf.site = 0x4000;
	y = find(st, &v, &bt);
	bt.n = 1;
	bt.f[0] = (struct backtrace_frame){ .addr = 0x5000 };
	z = find(st, &v, &bt);
	assert_int_equal(x.id, y.id);
	assert_int_equal(x.id, z.id);
	assert_int_not_equal(x.key, y.key);
	assert_int_not_equal(y.key, z.key);
	sites__free(st);
}

static void it_is_printed_once_and_then_counted(void **state)
{
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct backtrace bt;
	struct site *site;
	uint64_t lines = 0;

	(void)state;
	stack(&bt, 0x1000, 5);
	for (uint64_t i = 1; i <= 1000; i++) {
		struct site_of of = find(st, &v, &bt);
		enum site_fate fate = sites__count(st, &of, &v, &site);

		assert_int_equal(site->count, i);
		if (i == 1) {
			assert_int_equal(fate, SITE_PRINT);
			site__printed(site, 17, v.level, &bt);
		} else {
			assert_int_not_equal(fate, SITE_PRINT);
		}
		lines += fate == SITE_COUNT;
		if (i % 2)
			sites__confirm(st, of.key);
	}
	assert_int_equal(lines, 3);
	assert_int_equal(site->confirmed, 500);
	assert_int_equal(site->printed, 1);
	assert_int_equal(site->first, 17);
	backtrace__clear(&bt);
	sites__free(st);
}

static void what_is_worse_is_printed_again(void **state)
{
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct backtrace bt;
	struct site_of of;
	struct site *site;

	(void)state;
	stack(&bt, 0x1000, 5);
	of = find(st, &v, &bt);
	v.level = ACL_LEVEL_WARNING;
	assert_int_equal(sites__count(st, &of, &v, &site), SITE_PRINT);
	site__printed(site, 1, v.level, &bt);
	assert_int_equal(sites__count(st, &of, &v, &site), SITE_FOLD);
	v.level = ACL_LEVEL_ERROR;
	assert_int_equal(sites__count(st, &of, &v, &site), SITE_PRINT);
	site__printed(site, 3, v.level, &bt);
	assert_int_equal(sites__count(st, &of, &v, &site), SITE_FOLD);
	v.level = ACL_LEVEL_WARNING;
	assert_int_equal(sites__count(st, &of, &v, &site), SITE_FOLD);
	backtrace__clear(&bt);
	sites__free(st);
}

/* The one seen longest ago goes, and comes back as a new one. */
static void the_tables_are_bounded(void **state)
{
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct site *site;
	struct backtrace bt;

	(void)state;
	for (unsigned int i = 0; i < 10 * SITES_STACKS_MAX; i++) {
		struct site_of of;

		stack(&bt, 0x1000 + 0x1000ULL * i, 1);
		bt.f[0].sym.module_offset = i;
		of = find(st, &v, &bt);
		assert_int_equal(sites__count(st, &of, &v, &site), SITE_PRINT);
		site__printed(site, i + 1, v.level, &bt);
		backtrace__clear(&bt);
	}
	sites__free(st);
}

/* Once found by its addresses, what its frames are is not looked at. */
static void a_stack_is_looked_up_once(void **state)
{
	static const char file[] = "{\nrule free-in-flight\nfunction f\n}\n";
	struct suppressions *supp = suppressions__new();
	struct suppress_error error;
	struct acl_violation v = violation();
	struct sites *st = sites__new();
	struct report_cfg cfg = { .stacks = true, .sites = st, .suppress = supp };
	struct backtrace bt;
	struct site_of x, y;

	(void)state;
	assert_int_equal(suppress_file__parse(supp, "a", file, sizeof(file) - 1, &error), 0);
	stack(&bt, 0x1000, 2);
	bt.f[0].sym.function = strdup("f");
	sites__find(st, &cfg, &v, &bt, &x);
	assert_ptr_equal(x.by, &supp->list[0]);
	bt.f[0].sym.function[0] = 'g';
	bt.f[0].sym.module_offset = 99;
	sites__find(st, &cfg, &v, &bt, &y);
	assert_ptr_equal(y.by, x.by);
	assert_int_equal(x.id, y.id);
	/* a process with another incarnation may have other files there */
	v.h.inc++;
	sites__find(st, &cfg, &v, &bt, &y);
	assert_null(y.by);
	assert_int_not_equal(x.id, y.id);
	assert_int_equal(supp->list[0].hits, 0); /* asking counts nothing */
	backtrace__clear(&bt);
	sites__free(st);
	suppressions__free(supp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_of_the_build_and_not_of_the_run),
		cmocka_unit_test(what_differs_makes_another_site),
		cmocka_unit_test(what_lies_beyond_makes_none),
		cmocka_unit_test(at_the_return_four_callers_count),
		cmocka_unit_test(addresses_tell_sites_apart_where_nothing_else_does),
		cmocka_unit_test(it_is_printed_once_and_then_counted),
		cmocka_unit_test(what_is_worse_is_printed_again),
		cmocka_unit_test(the_tables_are_bounded),
		cmocka_unit_test(a_stack_is_looked_up_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
