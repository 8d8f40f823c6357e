/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names: there and back, and nothing out of bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "names.h"
#include "state.h"

typedef const char *(*name_fn)(unsigned int);

static const struct {
	name_fn name;
	name_fn words; /* NULL: there are none */
	unsigned int first;
	unsigned int max;
} tables[] = {
	{ acl_call__name, NULL, 0, ACL_C_MAX },
	{ acl_rule__name, acl_rule__headline, ACL_RULE_NONE + 1, ACL_RULE_MAX },
	{ acl_level__name, NULL, 0, ACL_LEVEL_MAX },
	{ acl_evidence__name, acl_evidence__words, 0, ACL_EV_MAX },
	{ acl_hazard__name, acl_hazard__words, 0, ACL_HZ_MAX },
	{ acl_suspect__name, acl_suspect__words, 0, ACL_S_MAX },
	{ acl_loss__name, acl_loss__words, 0, ACL_L_MAX },
	{ acl_dir__name, NULL, 0, ACL_DIR_ANY + 1 },
};

#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

static void every_number_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (size_t t = 0; t < N_TABLES; t++) {
		for (unsigned int i = tables[t].first; i < tables[t].max; i++) {
			assert_non_null(tables[t].name(i));
			assert_true(tables[t].name(i)[0]);
			for (unsigned int k = tables[t].first; k < i; k++)
				assert_string_not_equal(tables[t].name(i), tables[t].name(k));
			if (tables[t].words)
				assert_true(tables[t].words(i)[0]);
		}
	}
}

static void numbers_out_of_range_are_unknown(void **state)
{
	(void)state;
	for (size_t t = 0; t < N_TABLES; t++) {
		assert_string_equal(tables[t].name(tables[t].max), "unknown");
		assert_string_equal(tables[t].name(UINT_MAX), "unknown");
		if (tables[t].words)
			assert_string_equal(tables[t].words(UINT_MAX), "");
	}
	assert_string_equal(acl_call__args(ACL_C_MAX), "");
	assert_int_equal(acl_call__role(ACL_C_MAX), ACL_R_NONE);
}

static void names_are_those_of_the_lists(void **state)
{
	(void)state;
	assert_string_equal(acl_rule__name(ACL_RULE_FREE_BEFORE_DESTROY), "free-before-destroy");
	assert_string_equal(acl_rule__name(ACL_RULE_HOST_LEAK), "host-leak");
	assert_string_equal(acl_call__name(ACL_C_aclrtFreeHost), "aclrtFreeHost");
	assert_string_equal(acl_call__args(ACL_C_aclrtMemcpyAsync), "pzpzks");
	assert_int_equal(acl_call__role(ACL_C_aclrtFreeHost), ACL_R_FREE);
	assert_string_equal(acl_level__name(ACL_LEVEL_ERROR), "error");
	assert_string_equal(acl_evidence__name(ACL_EV_CONFIRMED), "confirmed");
	assert_string_equal(acl_hazard__name(ACL_HZ_DOCUMENTED), "documented");
	assert_string_equal(acl_suspect__name(ACL_S_WAY), "unfollowed-way");
	assert_string_equal(acl_loss__name(ACL_L_EVICTED), "evicted");
	assert_string_equal(acl_dir__name(ACL_DIR_D2H), "device-to-host");
}

static void names_are_found_again(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ACL_C_MAX; i++)
		assert_int_equal(acl_call__find(acl_call__name(i)), i);
	for (unsigned int i = ACL_RULE_NONE + 1; i < ACL_RULE_MAX; i++)
		assert_int_equal(acl_rule__find(acl_rule__name(i)), i);
	for (unsigned int i = 0; i < ACL_LEVEL_MAX; i++)
		assert_int_equal(acl_level__find(acl_level__name(i)), i);
}

static void other_words_are_not_found(void **state)
{
	static const char *const words[] = { "",
					     "none",
					     "unknown",
					     "free",
					     "free-before-destroy ",
					     "FREE-BEFORE-DESTROY",
					     "aclrtFreeHos" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(acl_rule__find(words[i]), -ENOENT);
		assert_int_equal(acl_call__find(words[i]), -ENOENT);
		assert_int_equal(acl_level__find(words[i]), -ENOENT);
	}
}

static void error_codes_have_names(void **state)
{
	(void)state;
	assert_string_equal(acl_error__name(0), "ACL_SUCCESS");
	assert_string_equal(acl_error__name(100000), "ACL_ERROR_INVALID_PARAM");
	assert_string_equal(acl_error__name(107017), "ACL_ERROR_RT_INVALID_HANDLE");
	assert_string_equal(acl_error__name(207001), "ACL_ERROR_RT_MEMORY_ALLOCATION");
	assert_string_equal(acl_error__name(507006), "ACL_ERROR_RT_EVENT_NOT_COMPLETE");
	assert_string_equal(acl_error__name(507899), "ACL_ERROR_RT_DRV_INTERNAL_ERROR");
	assert_string_equal(acl_error__name(507911), "ACL_ERROR_HOST_MEMORY_NOT_REGISTERED");
}

/* Were the table not sorted, some of its names could not be found. */
static void error_names_are_found_by_bisection(void **state)
{
	unsigned int n = 0;

	(void)state;
	for (int32_t code = 0; code < 600000; code++)
		n += !!acl_error__name(code);
	assert_int_equal(n, acl_error__count());
}

static void other_codes_have_none(void **state)
{
	static const int32_t codes[] = { 1, -1, 99999, 507898, 508000, INT32_MIN, INT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_null(acl_error__name(codes[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_has_a_name_of_its_own),
		cmocka_unit_test(numbers_out_of_range_are_unknown),
		cmocka_unit_test(names_are_those_of_the_lists),
		cmocka_unit_test(names_are_found_again),
		cmocka_unit_test(other_words_are_not_found),
		cmocka_unit_test(error_codes_have_names),
		cmocka_unit_test(error_names_are_found_by_bisection),
		cmocka_unit_test(other_codes_have_none),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
