/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Escaping: what reaches a terminal or JSON is printable, bounded and unambiguous. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "escape.h"

#define TEXT(in, want) check_text(in, sizeof(in) - 1, want)
#define JSON(in, want) check_json(in, sizeof(in) - 1, want)

static void check_text(const char *in, size_t len, const char *want)
{
	char out[256];

	assert_int_equal(escape__text(out, sizeof(out), in, len), strlen(want));
	assert_string_equal(out, want);
}

static void check_json(const char *in, size_t len, const char *want)
{
	char out[256];
	size_t used;

	assert_int_equal(escape__json(out, sizeof(out), in, len, &used), strlen(want));
	assert_int_equal(used, len);
	assert_string_equal(out, want);
}

static void text_keeps_what_is_printable(void **state)
{
	(void)state;
	TEXT("", "");
	TEXT("python3.10 -m train", "python3.10 -m train");
	TEXT("训练 épreuve \xf0\x9f\x98\x80", "训练 épreuve \xf0\x9f\x98\x80");
}

static void text_escapes_controls(void **state)
{
	(void)state;
	TEXT("\x1b]0;owned\x07", "\\x1b]0;owned\\x07");
	TEXT("a\nb\rc\td\x7f", "a\\x0ab\\x0dc\\x09d\\x7f");
	TEXT("a\0b", "a\\x00b");
	/* C1 as one byte is no UTF-8; as a code point it still is CSI to some terminals. */
	TEXT("\x9b", "\\x9b");
	TEXT("\xc2\x9b", "\\u{9b}");
	/* What looks like an escape was escaped itself. */
	TEXT("\\x1b", "\\\\x1b");
}

static void text_escapes_what_deceives(void **state)
{
	(void)state;
	TEXT("a\u202eb", "a\\u{202e}b");
	TEXT("\u2066\u2069\u200f\u061c", "\\u{2066}\\u{2069}\\u{200f}\\u{61c}");
	TEXT("lib\u200bc", "lib\\u{200b}c");
	TEXT("\u2028\ufeff", "\\u{2028}\\u{feff}");
	TEXT("\xf3\xa0\x81\x81", "\\u{e0041}");
}

static void text_escapes_invalid_utf8(void **state)
{
	(void)state;
	TEXT("\x80", "\\x80");
	TEXT("\xc0\xaf", "\\xc0\\xaf");			  /* overlong */
	TEXT("\xe0\x80\xaf", "\\xe0\\x80\\xaf");	  /* overlong */
	TEXT("\xed\xa0\x80", "\\xed\\xa0\\x80");	  /* surrogate */
	TEXT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
	TEXT("\xe8\xae", "\\xe8\\xae");			  /* cut short */
	TEXT("\xe8"
	     "abc",
	     "\\xe8"
	     "abc");
	TEXT("\xff\xfe", "\\xff\\xfe");
}

static void messages_keep_what_was_typed(void **state)
{
	char out[64];

	(void)state;
	escape__message(out, sizeof(out), "a\\x\n\x1b\0\u202e", 9);
	assert_string_equal(out, "a\\x\n\\x1b\\x00\\u{202e}");
}

static void text_truncates_visibly(void **state)
{
	char out[16];

	(void)state;
	assert_int_equal(escape__text(out, 8, "1234567", 7), 7);
	assert_string_equal(out, "1234567");
	assert_int_equal(escape__text(out, 8, "12345678", 8), 7);
	assert_string_equal(out, "1234…");
	/* Never through the middle of an escape or of a character. */
	escape__text(out, 9, "abc\x01\x01", 5);
	assert_string_equal(out, "abc…");
	escape__text(out, 8, "ab\u8bad\u8bad", 8);
	assert_string_equal(out, "ab…");
	assert_int_equal(escape__text(out, 4, "abcdef", 6), 3);
	assert_string_equal(out, "…");
	assert_int_equal(escape__text(out, 3, "abcdef", 6), 0);
	assert_string_equal(out, "");
	assert_int_equal(escape__text(out, 1, "abcdef", 6), 0);
	assert_int_equal(escape__text(NULL, 0, "abcdef", 6), 0);
	assert_int_equal(escape__text(out, 4, NULL, 0), 0);
	assert_int_equal(escape__str(out, 4, NULL), 0);
}

/* Any bytes into any size: in bounds (the sanitizer watches), terminated, printable. */
static void text_and_json_hold_for_random_bytes(void **state)
{
	unsigned int seed = 1;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		size_t inlen = rand_r(&seed) % 40, outsz = rand_r(&seed) % 64 + 1, n, i, used;
		unsigned char *in = malloc(inlen ? inlen : 1);
		char *out = malloc(outsz);
		uint32_t cp;

		for (i = 0; i < inlen; i++)
			in[i] = rand_r(&seed) % 3 ? rand_r(&seed) % 256 : 0xc0 | rand_r(&seed) % 64;
		for (int json = 0; json < 2; json++) {
			n = json ? escape__json(out, outsz, in, inlen, &used)
				 : escape__text(out, outsz, in, inlen);
			assert_true(n < outsz);
			assert_int_equal(strlen(out), n);
			for (i = 0; i < n; i += used) {
				used = escape__decode(out + i, n - i, &cp);
				assert_true(used > 0);
				assert_true(escape__printable(cp));
			}
		}
		free(in);
		free(out);
	}
}

static void json_escapes(void **state)
{
	(void)state;
	JSON("plain 训练", "plain 训练");
	JSON("a\"b\\c/", "a\\\"b\\\\c/");
	JSON("\n\t\r\x1b\0", "\\n\\t\\r\\u001b\\u0000");
	JSON("\x7f\xc2\x85\u202e", "\\u007f\\u0085\\u202e");
	JSON("\xf3\xa0\x81\x81", "\\udb40\\udc41");
	JSON("a\xff\xed\xa0\x80z", "a\ufffd\ufffd\ufffd\ufffdz");
}

static void json_resumes_where_it_stopped(void **state)
{
	char out[8];
	size_t used;

	(void)state;
	assert_int_equal(escape__json(out, sizeof(out),
				      "ab\x01"
				      "cd",
				      5, &used),
			 2);
	assert_int_equal(used, 2);
	assert_int_equal(escape__json(out, sizeof(out),
				      "\x01"
				      "cd",
				      3, &used),
			 7);
	assert_int_equal(used, 2);
	assert_int_equal(escape__json(NULL, 0, "a", 1, &used), 0);
	assert_int_equal(used, 0);
	assert_int_equal(escape__json(out, sizeof(out), NULL, 0, &used), 0);
}

/* Against a second, table-free statement of what UTF-8 is. */
static void decode_agrees_with_encoding(void **state)
{
	uint32_t cp, got;

	(void)state;
	for (cp = 0; cp < 0x110000; cp++) {
		unsigned char b[4];
		size_t n;

		if (cp < 0x80) {
			n = 1, b[0] = cp;
		} else if (cp < 0x800) {
			n = 2, b[0] = 0xc0 | cp >> 6, b[1] = 0x80 | (cp & 63);
		} else if (cp < 0x10000) {
			n = 3, b[0] = 0xe0 | cp >> 12, b[1] = 0x80 | (cp >> 6 & 63);
			b[2] = 0x80 | (cp & 63);
		} else {
			n = 4, b[0] = 0xf0 | cp >> 18, b[1] = 0x80 | (cp >> 12 & 63);
			b[2] = 0x80 | (cp >> 6 & 63), b[3] = 0x80 | (cp & 63);
		}
		if (cp >= 0xd800 && cp <= 0xdfff) {
			assert_int_equal(escape__decode(b, n, &got), 0);
			continue;
		}
		assert_int_equal(escape__decode(b, n, &got), n);
		assert_int_equal(got, cp);
		assert_int_equal(escape__decode(b, n - 1, &got), 0);
	}
	assert_false(escape__printable(0x110000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_keeps_what_is_printable),
		cmocka_unit_test(messages_keep_what_was_typed),
		cmocka_unit_test(text_escapes_controls),
		cmocka_unit_test(text_escapes_what_deceives),
		cmocka_unit_test(text_escapes_invalid_utf8),
		cmocka_unit_test(text_truncates_visibly),
		cmocka_unit_test(text_and_json_hold_for_random_bytes),
		cmocka_unit_test(json_escapes),
		cmocka_unit_test(json_resumes_where_it_stopped),
		cmocka_unit_test(decode_agrees_with_encoding),
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
