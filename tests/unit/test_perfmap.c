/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of generated code: a file that grows, contradicts itself, or means harm. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfmap.h"

struct file {
	int fd;
	char path[32];
	struct perfmap *pm;
};

static int setup(void **state)
{
	struct file *f = calloc(1, sizeof(*f));

	strcpy(f->path, "/tmp/test_perfmap_XXXXXX");
	f->fd = mkstemp(f->path);
	*state = f;
	return f->fd < 0 ? -1 : perfmap__open(f->fd, &f->pm);
}

static int teardown(void **state)
{
	struct file *f = *state;

	perfmap__free(f->pm);
	close(f->fd);
	unlink(f->path);
	free(f);
	return 0;
}

static void append(struct file *f, const char *text)
{
	size_t n = strlen(text);

	assert_int_equal(pwrite(f->fd, text, n, lseek(f->fd, 0, SEEK_END)), n);
	assert_int_equal(perfmap__update(f->pm), 0);
}

static void expect(struct file *f, uint64_t addr, const char *name, uint64_t from)
{
	uint64_t start;
	char *got = perfmap__find(f->pm, addr, &start);

	if (!name) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, name);
	assert_int_equal(start, from);
	free(got);
}

static void names_code(void **state)
{
	struct file *f = *state;

	expect(f, 0x1000, NULL, 0);
	append(f, "1000 20 py::main:/src/a b.py\n0x2000 0x1 two\nffffffffffffff00 FE last\n");
	expect(f, 0xfff, NULL, 0);
	expect(f, 0x1000, "py::main:/src/a b.py", 0x1000);
	expect(f, 0x101f, "py::main:/src/a b.py", 0x1000);
	expect(f, 0x1020, NULL, 0);
	expect(f, 0x2000, "two", 0x2000);
	expect(f, 0x2001, NULL, 0);
	expect(f, 0xffffffffffffff01, "last", 0xffffffffffffff00);
	expect(f, UINT64_MAX, NULL, 0);
	assert_int_equal(perfmap__malformed(f->pm), 0);
}

static void reads_what_comes(void **state)
{
	struct file *f = *state;

	append(f, "1000 10 one\n2000 1");
	expect(f, 0x1000, "one", 0x1000);
	expect(f, 0x2000, NULL, 0);
	append(f, "0 tw");
	expect(f, 0x2008, NULL, 0);
	append(f, "o\n");
	expect(f, 0x2008, "two", 0x2000);
	assert_int_equal(perfmap__malformed(f->pm), 0);
}

/* Code that was thrown away, and other code in its place. */
static void later_lines_win(void **state)
{
	struct file *f = *state;

	append(f, "1000 1000 old\n1800 10 inner\n1000 10 first\n");
	expect(f, 0x1005, "first", 0x1000);
	expect(f, 0x1805, "inner", 0x1800);
	expect(f, 0x1810, "old", 0x1000);
	append(f, "0 10000 whole\n");
	expect(f, 0x1805, "whole", 0);
	append(f, "1804 4 again\n");
	expect(f, 0x1803, "whole", 0);
	expect(f, 0x1805, "again", 0x1804);
}

static void passes_over_what_is_no_line(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"1000",
		"1000 ",
		"1000 10",
		"1000 10 ",
		"1000  10 name",
		"g000 10 name",
		" 1000 10 name",
		"1000\t10\tname",
		"-1 10 name",
		"10000000000000000 10 name",
		"1000 0 name",
		"ffffffffffffffff 1 name",
		"1000 ffffffffffffffff name",
		"0x 10 name",
	};
	struct file *f = *state;
	char line[64];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "%s\n", bad[i]);
		append(f, line);
		assert_int_equal(perfmap__malformed(f->pm), i + 1);
	}
	append(f, "1000 10 good\n");
	expect(f, 0x1000, "good", 0x1000);
}

static void bounds_lines_and_names(void **state)
{
	struct file *f = *state;
	size_t n = 200000;
	char *line = malloc(n + 64);
	uint64_t start;
	char *got;

	/* Longer than what is read at once. */
	memset(line, 'x', n);
	memcpy(line, "1000 10 ", 8);
	strcpy(line + n, "\n2000 10 after\n");
	append(f, line);
	expect(f, 0x1000, NULL, 0);
	expect(f, 0x2000, "after", 0x2000);
	assert_int_equal(perfmap__malformed(f->pm), 1);
	/* As long as can be. */
	memcpy(line, "3000 10 ", 8);
	strcpy(line + 60000, "\n");
	append(f, line);
	got = perfmap__find(f->pm, 0x3000, &start);
	assert_int_equal(strlen(got), 60000 - 8);
	free(got);
	free(line);
}

static void notices_another_file(void **state)
{
	struct file *f = *state;

	append(f, "1000 10 one\n");
	assert_int_equal(ftruncate(f->fd, 3), 0);
	assert_int_equal(perfmap__update(f->pm), -ESTALE);
	expect(f, 0x1000, NULL, 0);
	append(f, "0 20 two\n3000 10 three\n");
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(perfmap__update(f->pm), -ESTALE);
}

/* Cut and written anew while nobody looked. */
static void says_nothing_of_what_was_written_over(void **state)
{
	struct file *f = *state;

	append(f, "1000 10 one\n2000 10 two\n");
	assert_int_equal(pwrite(f->fd, "5000 10 it\n7000 10 seven\n", 26, 0), 26);
	expect(f, 0x1000, NULL, 0);
	expect(f, 0x2000, NULL, 0);
}

static void keeps_a_bounded_number(void **state)
{
	struct file *f = *state;
	FILE *out = fopen(f->path, "w");

	/* All cover all, so that each could be the one. */
	for (size_t i = 0; i < PERFMAP_ENTRIES_MAX + 10; i++)
		fprintf(out, "%zx ffffff %zx\n", i, i);
	fclose(out);
	assert_int_equal(perfmap__update(f->pm), -E2BIG);
	assert_true(perfmap__bytes(f->pm) <= 32 * PERFMAP_ENTRIES_MAX + 4096);
	expect(f, PERFMAP_ENTRIES_MAX + 5, "fffff", PERFMAP_ENTRIES_MAX - 1);
	expect(f, 7, "7", 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_code),
		TEST(reads_what_comes),
		TEST(later_lines_win),
		TEST(passes_over_what_is_no_line),
		TEST(bounds_lines_and_names),
		TEST(notices_another_file),
		TEST(says_nothing_of_what_was_written_over),
		TEST(keeps_a_bounded_number),
	};

	return cmocka_run_group_tests_name("perfmap", tests, NULL, NULL);
}
