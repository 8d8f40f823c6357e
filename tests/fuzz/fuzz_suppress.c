/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A file of suppressions and a stack, both from the fuzzer: what is refused leaves
 * nothing behind, and what is generated for the stack matches it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace.h"
#include "suppress_file.h"

#define FRAMES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct suppressions *parse(const char *text, size_t len)
{
	struct suppressions *s = suppressions__new();
	struct suppress_error error;

	if (suppress_file__parse(s, "fuzz", text, len, &error) && (s->n || s->rules || !error.line))
		abort();
	return s;
}

/* Names separated by zero bytes, functions and modules by turns. */
static void take_stack(struct backtrace *bt, const uint8_t *data, size_t size)
{
	bt->n = 0;
	bt->named = true;
	while (size && bt->n < FRAMES) {
		size_t len = strnlen((const char *)data, size);
		char *name = strndup((const char *)data, len);

		bt->f[bt->n] = (struct backtrace_frame){ .addr = 0 };
		if (bt->n % 2) {
			bt->f[bt->n].sym.kind = SYM_FILE;
			bt->f[bt->n].sym.module = name;
		} else {
			bt->f[bt->n].sym.function = name;
		}
		bt->n++;
		data += len + (len < size);
		size -= len + (len < size);
	}
}

static void generate(const struct backtrace *bt, const char comm[ACL_COMM_LEN])
{
	struct suppressions *s;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	suppress__generate(f, NULL, ACL_RULE_DOUBLE_FREE, comm, bt);
	fclose(f);
	s = parse(text, len);
	if (s->n != 1 || !suppress__match_backtrace(s, ACL_RULE_DOUBLE_FREE, comm, bt))
		abort();
	suppressions__free(s);
	free(text);
}

/* The first two bytes say how much of the rest is the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char comm[ACL_COMM_LEN] = { 0 };
	struct suppressions *s;
	struct backtrace bt;
	size_t file;

	if (size < 2 + sizeof(comm))
		return 0;
	file = (data[0] | data[1] << 8) % (size - 1 - sizeof(comm));
	memcpy(comm, data + 2, sizeof(comm));
	data += 2 + sizeof(comm);
	size -= 2 + sizeof(comm);
	s = parse((const char *)data, file);
	take_stack(&bt, data + file, size - file);
	for (unsigned int rule = 0; rule < ACL_RULE_MAX; rule++)
		suppress__match_backtrace(s, rule, comm, &bt);
	generate(&bt, comm);
	backtrace__clear(&bt);
	suppressions__free(s);
	return 0;
}
