/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames as lines of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbols.h"

static void formats_a_frame(void **state)
{
	struct sym_result r = {
		.kind = SYM_FILE,
		.addr = 0x7f5ce1a02b3d,
		.function = "function",
		.function_offset = 0x1d,
		.module = "/usr/lib/libfoo.so",
		.module_offset = 0x1234,
		.file = "/build/src/file.c",
		.line = 12,
	};
	char buf[512], small[24], *huge = malloc(70000);
	size_t n;

	(void)state;
	n = sym_format(buf, sizeof(buf), 1, &r);
	assert_string_equal(buf, "#1 0x7f5ce1a02b3d function+0x1d (libfoo.so+0x1234) file.c:12");
	assert_int_equal(n, strlen(buf));
	r.file = NULL;
	r.deleted = true;
	sym_format(buf, sizeof(buf), 10, &r);
	assert_string_equal(buf, "#10 0x7f5ce1a02b3d function+0x1d (libfoo.so+0x1234, deleted)");
	r.function = NULL;
	r.deleted = false;
	sym_format(buf, sizeof(buf), 2, &r);
	assert_string_equal(buf, "#2 0x7f5ce1a02b3d (libfoo.so+0x1234)");
	memcpy(r.build_id, "\x93\xac\x61\xec\x5a\x8e\xb1\x39", 8);
	r.build_id_len = 8;
	sym_format(buf, sizeof(buf), 2, &r);
	assert_string_equal(buf, "#2 0x7f5ce1a02b3d (libfoo.so+0x1234, build-id 93ac61ec5a8e)");
	r.build_id_len = 1;
	sym_format(buf, sizeof(buf), 2, &r);
	assert_string_equal(buf, "#2 0x7f5ce1a02b3d (libfoo.so+0x1234, build-id 93)");
	r.build_id_len = 0;
	n = sym_format(small, sizeof(small), 2, &r);
	assert_int_equal(n, sizeof(small) - 1);
	assert_memory_equal(small, "#2 0x7f5ce1a02b3d (", 19);
	assert_int_equal(sym_format(small, 1, 2, &r), 0);
	assert_int_equal(sym_format(NULL, 0, 2, &r), 0);

	/* Hostile and endless: nothing raw, and what follows is still there. */
	memset(huge, '\x1b', 69999);
	huge[69999] = '\0';
	r.function = r.module = r.file = huge;
	r.addr = r.function_offset = r.module_offset = UINT64_MAX;
	r.line = UINT32_MAX;
	r.deleted = true;
	n = sym_format(buf, sizeof(buf), UINT32_MAX, &r);
	assert_true(n < sizeof(buf));
	assert_null(strchr(buf, '\x1b'));
	assert_string_equal(buf + n - 11, ":4294967295");
	assert_non_null(strstr(buf, "+0xffffffffffffffff, deleted) "));
	for (n = 0; n < sizeof(buf); n++)
		assert_true(sym_format(buf, n, 1, &r) < (n ? n : 1));
	free(huge);
}

static void formats_what_was_inlined(void **state)
{
	struct sym_inline in[] = {
		{ .function = "inner", .file = "/src/file.h", .line = 7 },
		{ .function = NULL },
	};
	struct sym_result r = {
		.kind = SYM_FILE,
		.addr = 0x1000,
		.function = "function",
		.module = "/lib/foo",
		.file = "/src/file.c",
		.line = 12,
		.inlined = in,
		.n_inlined = 2,
	};
	char buf[512], *huge = malloc(70000);

	(void)state;
	sym_format_line(buf, sizeof(buf), 4, &r, 0);
	assert_string_equal(buf, "#4 0x1000 inner file.h:7 (inlined)");
	sym_format_line(buf, sizeof(buf), 5, &r, 1);
	assert_string_equal(buf, "#5 0x1000 (unknown) (inlined)");
	sym_format_line(buf, sizeof(buf), 6, &r, 2);
	assert_string_equal(buf, "#6 0x1000 function+0x0 (foo+0x0) file.c:12");
	memset(huge, '\n', 69999);
	huge[69999] = '\0';
	in[0].function = in[0].file = huge;
	assert_true(sym_format_line(buf, sizeof(buf), 4, &r, 0) < sizeof(buf));
	assert_null(strchr(buf, '\n'));
	assert_non_null(strstr(buf, ":7 (inlined)"));
	for (size_t n = 0; n < sizeof(buf); n++)
		assert_true(sym_format_line(buf, n, 1, &r, 0) < (n ? n : 1));
	free(huge);
}

static void formats_what_is_mapped_nowhere(void **state)
{
	struct sym_result r = { .kind = SYM_UNKNOWN, .addr = 0x1000 };
	char buf[512];

	(void)state;
	sym_format(buf, sizeof(buf), 1, &r);
	assert_string_equal(buf, "#1 0x1000 (unknown)");
	r.function = "py::main:/a.py";
	r.function_offset = 2;
	sym_format(buf, sizeof(buf), 1, &r);
	assert_string_equal(buf, "#1 0x1000 py::main:/a.py+0x2 (unknown)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_a_frame),
		cmocka_unit_test(formats_what_was_inlined),
		cmocka_unit_test(formats_what_is_mapped_nowhere),
	};

	return cmocka_run_group_tests_name("sym_format", tests, NULL, NULL);
}
