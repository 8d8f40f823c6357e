/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The JSON writer: always valid, always whole lines, errors reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"

/* A writer to memory. */
struct sink {
	FILE *f;
	char *text;
	size_t len;
	struct json *j;
};

static void sink_open(struct sink *s)
{
	*s = (struct sink){}; /* glibc sets text and len at the first flush only */
	s->f = open_memstream(&s->text, &s->len);
	assert_non_null(s->f);
	s->j = json__new(s->f);
	assert_non_null(s->j);
}

static void sink_close(struct sink *s)
{
	json__free(s->j);
	fclose(s->f);
	free(s->text);
}

static void writes_every_kind_of_value(void **state)
{
	struct sink s;

	(void)state;
	sink_open(&s);
	json__begin(s.j);
	json__str(s.j, "s", "a\"b\n");
	json__strn(s.j, "n", "x\0y", 3);
	json__str(s.j, "nil", NULL);
	json__u64(s.j, "u", UINT64_MAX);
	json__s64(s.j, "i", INT64_MIN);
	json__hex(s.j, "h", 0xfffffffffffff000);
	json__double(s.j, "d", -1.5, 3);
	json__double(s.j, "nan", NAN, 3);
	json__double(s.j, "inf", INFINITY, 3);
	json__bool(s.j, "t", true);
	json__bool(s.j, "f", false);
	json__null(s.j, "z");
	assert_int_equal(json__end(s.j), 0);
	assert_string_equal(s.text, "{\"s\":\"a\\\"b\\n\",\"n\":\"x\\u0000y\",\"nil\":null,"
				    "\"u\":18446744073709551615,\"i\":-9223372036854775808,"
				    "\"h\":\"0xfffffffffffff000\",\"d\":-1.500,\"nan\":null,"
				    "\"inf\":null,\"t\":true,\"f\":false,\"z\":null}\n");
	sink_close(&s);
}

static void nests(void **state)
{
	struct sink s;

	(void)state;
	sink_open(&s);
	json__begin(s.j);
	json__begin_array(s.j, "a");
	json__u64(s.j, NULL, 1);
	json__begin_object(s.j, NULL);
	json__begin_object(s.j, "o");
	json__end_object(s.j);
	json__u64(s.j, "k", 2);
	json__end_object(s.j);
	json__begin_array(s.j, NULL);
	json__end_array(s.j);
	json__end_array(s.j);
	json__u64(s.j, "last", 3);
	assert_int_equal(json__end(s.j), 0);
	json__begin(s.j);
	assert_int_equal(json__end(s.j), 0);
	assert_string_equal(s.text, "{\"a\":[1,{\"o\":{},\"k\":2},[]],\"last\":3}\n{}\n");
	sink_close(&s);
}

static void nests_to_the_limit(void **state)
{
	struct sink s;
	int i;

	(void)state;
	sink_open(&s);
	json__begin(s.j);
	json__begin_array(s.j, "a");
	for (i = 2; i < JSON_DEPTH_MAX; i++)
		json__begin_array(s.j, NULL);
	json__u64(s.j, NULL, 7);
	json__u64(s.j, NULL, 8);
	for (i = 1; i < JSON_DEPTH_MAX; i++)
		json__end_array(s.j);
	assert_int_equal(json__end(s.j), 0);
	assert_non_null(strstr(s.text, "[7,8]"));
	assert_int_equal(s.len, strlen("{\"a\":7,8}\n") + 2 * (JSON_DEPTH_MAX - 1));
	sink_close(&s);
}

static void hostile_strings_stay_inside_their_quotes(void **state)
{
	unsigned int seed = 2;
	struct sink s;
	int round;

	(void)state;
	sink_open(&s);
	for (round = 0; round < 2000; round++) {
		unsigned char in[3000];
		size_t n = rand_r(&seed) % sizeof(in), i, from = s.len;
		bool esc = false;

		for (i = 0; i < n; i++)
			in[i] = rand_r(&seed);
		json__begin(s.j);
		json__strn(s.j, "k", in, n);
		assert_int_equal(json__end(s.j), 0);
		assert_memory_equal(s.text + from, "{\"k\":\"", 6);
		assert_memory_equal(s.text + s.len - 3, "\"}\n", 3);
		for (i = from + 6; i < s.len - 3; i++) {
			unsigned char c = s.text[i];

			assert_true(c >= 0x20 && c != 0x7f);
			assert_true(esc || c != '"');
			esc = !esc && c == '\\';
		}
		assert_false(esc);
	}
	sink_close(&s);
}

static void the_locale_has_no_say(void **state)
{
	static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };
	struct sink s;
	size_t i;

	(void)state;
	for (i = 0; i < 3 && !setlocale(LC_NUMERIC, commas[i]); i++)
		;
	sink_open(&s);
	json__begin(s.j);
	json__double(s.j, "d", 1234567.25, 2);
	json__double(s.j, "max", 1.7976931348623157e308, 99);
	json__double(s.j, "int", 3.0, 0);
	assert_int_equal(json__end(s.j), 0);
	assert_non_null(strstr(s.text, "\"d\":1234567.25,"));
	assert_non_null(strstr(s.text, "\"int\":3}"));
	sink_close(&s);
	setlocale(LC_NUMERIC, "C");
}

/* Lines far longer than stdio's buffer, by four writers, into one pipe of whole lines. */
static void *write_lines(void *arg)
{
	struct json *j = json__new(arg);
	char big[3000];
	int i;

	memset(big, 'x', sizeof(big));
	for (i = 0; i < 200; i++) {
		json__begin(j);
		json__strn(j, "big", big, sizeof(big));
		if (json__end(j))
			break;
	}
	json__free(j);
	return (void *)(intptr_t)i;
}

static void lines_do_not_mix(void **state)
{
	size_t len = strlen("{\"big\":\"\"}\n") + 3000, lines = 0;
	char *line = malloc(len + 2);
	pthread_t t[4];
	FILE *f = tmpfile(), *w[4];
	void *ret;
	int i;

	(void)state;
	fcntl(fileno(f), F_SETFL, O_APPEND);
	for (i = 0; i < 4; i++) {
		/* Streams of their own on one file: nothing in stdio orders them. */
		w[i] = fdopen(dup(fileno(f)), "a");
		assert_int_equal(pthread_create(&t[i], NULL, write_lines, w[i]), 0);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &ret);
		assert_int_equal((intptr_t)ret, 200);
		fclose(w[i]);
	}
	rewind(f);
	while (fgets(line, len + 2, f)) {
		assert_int_equal(strlen(line), len);
		assert_memory_equal(line + len - 3, "\"}\n", 3);
		lines++;
	}
	assert_int_equal(lines, 800);
	free(line);
	fclose(f);
}

static void reports_write_errors(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct json *j = json__new(full);
	int fds[2];

	(void)state;
	json__begin(j);
	assert_int_equal(json__end(j), -ENOSPC);
	json__free(j);
	fclose(full);

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	full = fdopen(fds[1], "w");
	j = json__new(full);
	close(fds[0]);
	json__begin(j);
	assert_int_equal(json__end(j), -EPIPE);
	json__free(j);
	fclose(full);
}

/* A file that may grow to 20 bytes: the line is torn, and the next one stands alone. */
static void a_torn_line_does_not_swallow_the_next(void **state)
{
	char name[] = "/tmp/test_json_XXXXXX", text[128] = "";
	int fd = mkstemp(name), status;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	pid = fork();
	if (pid == 0) {
		FILE *f = fdopen(fd, "w");
		struct json *j = json__new(f);
		int err;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 20, 1000 });
		json__begin(j);
		json__str(j, "k", "longer than twenty bytes");
		err = json__end(j);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, 1000 });
		json__begin(j);
		json__bool(j, "ok", true);
		_exit(err == -EFBIG && json__end(j) == 0 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "{\"k\":\"longer than tw\n{\"ok\":true}\n");
	close(fd);
	unlink(name);
}

static void waits_for_a_pipe_that_does_not_block(void **state)
{
	size_t total = 0;
	int fds[2], status;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char *big = calloc(1, 1 << 20);
		FILE *f = fdopen(fds[1], "w");
		struct json *j = json__new(f);

		close(fds[0]);
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		memset(big, 'y', 1 << 20);
		json__begin(j);
		json__strn(j, "k", big, 1 << 20);
		_exit(json__end(j) ? 1 : 0);
	}
	close(fds[1]);
	while ((n = read(fds[0], buf, sizeof(buf))) > 0)
		total += n;
	close(fds[0]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(total, (1 << 20) + strlen("{\"k\":\"\"}\n"));
}

static void a_line_left_unfinished_is_dropped(void **state)
{
	struct sink s;

	(void)state;
	sink_open(&s);
	json__begin(s.j);
	json__str(s.j, "half", "a line");
	fflush(s.f);
	assert_int_equal(s.len, 0);
	sink_close(&s);
}

/* Misuse ends the program when developing: seen from outside, in a child. */
static int ends_by(void (*misuse)(struct json *))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		FILE *null = fopen("/dev/null", "w");
		struct json *j = json__new(null);

		signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(9);
		json__begin(j);
		misuse(j);
		_exit(json__end(j) == -EINVAL ? 22 : 0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void no_key(struct json *j)
{
	json__u64(j, NULL, 1);
}

static void wrong_end(struct json *j)
{
	json__begin_array(j, "a");
	json__end_object(j);
}

static void not_ended(struct json *j)
{
	json__begin_object(j, "o");
}

static void ended_twice(struct json *j)
{
	json__end_object(j);
}

static void too_deep(struct json *j)
{
	int i;

	for (i = 0; i < JSON_DEPTH_MAX; i++)
		json__begin_object(j, "o");
	for (i = 0; i < JSON_DEPTH_MAX; i++)
		json__end_object(j);
}

static void misuse_is_noticed(void **state)
{
	static void (*const misuses[])(struct json *) = { no_key, wrong_end, not_ended, ended_twice,
							  too_deep };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
		int how = ends_by(misuses[i]);

		assert_true(how == SIGABRT || how == EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_every_kind_of_value),
		cmocka_unit_test(nests),
		cmocka_unit_test(nests_to_the_limit),
		cmocka_unit_test(hostile_strings_stay_inside_their_quotes),
		cmocka_unit_test(the_locale_has_no_say),
		cmocka_unit_test(lines_do_not_mix),
		cmocka_unit_test(reports_write_errors),
		cmocka_unit_test(a_torn_line_does_not_swallow_the_next),
		cmocka_unit_test(waits_for_a_pipe_that_does_not_block),
		cmocka_unit_test(a_line_left_unfinished_is_dropped),
		cmocka_unit_test(misuse_is_noticed),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
