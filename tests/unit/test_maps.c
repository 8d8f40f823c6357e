/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parser of /proc/PID/maps: real processes, and texts no kernel would write. */
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "maps.h"

static struct maps parse(const char *text, size_t len)
{
	struct maps m = {};
	/* A copy of exact size: the sanitizer sees each byte read beyond it. */
	char *exact = malloc(len ? len : 1);

	memcpy(exact, text, len);
	assert_int_equal(maps__parse(exact, len, &m), 0);
	free(exact);
	return m;
}

#define PARSE(text) parse(text, sizeof(text) - 1)

static void reads_each_field(void **state)
{
	struct maps m =
		PARSE("7f0c1d000000-7f0c1d021000 r-xp 0001f000 fd:1a 123456      "
		      "/usr/lib/lib foo.so\n"
		      "7f0c1d021000-7f0c1d022000 -w-s 00000000 00:05 0 \n"
		      "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0      [stack]\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
	const struct map_entry *e = m.entries;

	(void)state;
	assert_int_equal(m.count, 4);
	assert_int_equal(m.malformed, 0);
	assert_int_equal(e->start, 0x7f0c1d000000);
	assert_int_equal(e->end, 0x7f0c1d021000);
	assert_int_equal(e->offset, 0x1f000);
	assert_int_equal(e->dev_major, 0xfd);
	assert_int_equal(e->dev_minor, 0x1a);
	assert_int_equal(e->inode, 123456);
	assert_true(e->read && !e->write && e->exec && !e->shared && !e->deleted);
	assert_string_equal(e->path, "/usr/lib/lib foo.so");
	assert_true(map_entry__is_file(e));
	assert_true(!e[1].read && e[1].write && !e[1].exec && e[1].shared);
	assert_null(e[1].path);
	assert_string_equal(e[2].path, "[stack]");
	assert_false(map_entry__is_file(&e[2]));
	assert_int_equal(e[3].end, 0xffffffffff601000);
	maps__free(&m);
	maps__free(&m);
	maps__free(NULL);
}

static void decodes_names(void **state)
{
	struct maps m = PARSE("1000-2000 r-xp 0 00:00 7 /tmp/a\\012b\\012 (deleted)\n"
			      "2000-3000 r-xp 0 00:00 7 /tmp/x (deleted) (deleted)\n"
			      "3000-4000 r-xp 0 00:00 7 /tmp/\\040\\01\\\n"
			      "4000-5000 r-xp 0 00:00 7 /tmp/\x1b[2J\xff  \n"
			      "5000-6000 r-xp 0 00:00 7 (deleted)\n");

	(void)state;
	assert_int_equal(m.count, 5);
	assert_string_equal(m.entries[0].path, "/tmp/a\nb\n");
	assert_true(m.entries[0].deleted);
	assert_string_equal(m.entries[1].path, "/tmp/x (deleted)");
	assert_true(m.entries[1].deleted);
	assert_string_equal(m.entries[2].path, "/tmp/\\040\\01\\");
	assert_string_equal(m.entries[3].path, "/tmp/\x1b[2J\xff  ");
	assert_string_equal(m.entries[4].path, "(deleted)");
	maps__free(&m);
}

static void skips_and_counts_what_is_malformed(void **state)
{
	struct maps m = PARSE("\n"
			      "garbage\n"
			      "1000\n"
			      "1000-\n"
			      "2000-1000 r-xp 0 00:00 0\n"
			      "1000-1000 r-xp 0 00:00 0\n"
			      "1000-2000 r-xz 0 00:00 0\n"
			      "1000-2000 r-x\n"
			      "1000-2000 r-xp 0 00:00 \n"
			      "1000-2000 r-xp 0 00:00 12a /x\n"
			      "1000-2000 r-xp 0 100000000:00 1 /x\n"
			      "10000000000000000-20000000000000000 r-xp 0 00:00 0\n"
			      "1000-2000 r-xp 0 00:00 99999999999999999999 /x\n"
			      "1000-2000 r-xp 0 00:00 1 /nul\0inside\n"
			      " 1000-2000 r-xp 0 00:00 1 /x\n"
			      "1000-2000 r-xp 0 00:00 1 /good\n"
			      "1800-2800 r-xp 0 00:00 1 /overlaps\n"
			      "0800-0900 r-xp 0 00:00 1 /goes-back\n"
			      "2000-3000 r-xp 0 00:00 1 /no-newline");

	(void)state;
	assert_int_equal(m.malformed, 17);
	assert_int_equal(m.count, 2);
	assert_string_equal(m.entries[0].path, "/good");
	assert_string_equal(m.entries[1].path, "/no-newline");
	maps__free(&m);
}

static void finds_by_address(void **state)
{
	struct maps m = PARSE("1000-2000 r-xp 0 00:00 1 /a\n"
			      "2000-3000 r-xp 0 00:00 1 /b\n"
			      "5000-6000 r-xp 0 00:00 1 /c\n");
	struct maps none = {};

	(void)state;
	assert_null(maps__find(&m, 0xfff));
	assert_ptr_equal(maps__find(&m, 0x1000), &m.entries[0]);
	assert_ptr_equal(maps__find(&m, 0x1fff), &m.entries[0]);
	assert_ptr_equal(maps__find(&m, 0x2000), &m.entries[1]);
	assert_null(maps__find(&m, 0x3000));
	assert_ptr_equal(maps__find(&m, 0x5fff), &m.entries[2]);
	assert_null(maps__find(&m, 0x6000));
	assert_null(maps__find(&m, UINT64_MAX));
	assert_null(maps__find(&none, 0));
	assert_int_equal(maps__parse(NULL, 0, &none), 0);
	assert_int_equal(none.count, 0);
	maps__free(&m);
}

static char *long_line(size_t path_len, size_t *len)
{
	static const char head[] = "1000-2000 r-xp 0 00:00 1 /";
	static const char next[] = "\n2000-3000 r-xp 0 00:00 1 /next\n";
	char *text = malloc(sizeof(head) + path_len + sizeof(next));

	memcpy(text, head, sizeof(head) - 1);
	memset(text + sizeof(head) - 1, 'p', path_len);
	memcpy(text + sizeof(head) - 1 + path_len, next, sizeof(next));
	*len = sizeof(head) - 1 + path_len + sizeof(next) - 1;
	return text;
}

static void both_ways(const char *text, size_t len, struct maps *mem, struct maps *file)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(maps__read_fd(fd, file), 0);
	close(fd);
	assert_int_equal(maps__parse(text, len, mem), 0);
	assert_int_equal(mem->count, file->count);
	assert_int_equal(mem->malformed, file->malformed);
}

static void takes_lines_of_any_length(void **state)
{
	/* Around the limits of the reader's own buffers, too. */
	static const size_t lens[] = { 0,      255,	4096,	 65500,	  65536,   70000,  131000,
				       131072, 1048000, 1048550, 1048576, 1200000, 5000000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct maps mem = {}, file = {};
		size_t len;
		char *text = long_line(lens[i], &len);
		bool fits = lens[i] <= 1048550;

		both_ways(text, len, &mem, &file);
		assert_int_equal(file.count, fits ? 2 : 1);
		assert_int_equal(file.malformed, fits ? 0 : 1);
		if (fits)
			assert_int_equal(strlen(file.entries[0].path), lens[i] + 1);
		assert_string_equal(file.entries[file.count - 1].path, "/next");
		maps__free(&mem);
		maps__free(&file);
		free(text);
	}
}

static void holds_for_mutated_text(void **state)
{
	static const char good[] = "1000-2000 r-xp 00001000 fd:01 77   /usr/lib/liba.so (deleted)\n"
				   "3000-4000 rw-s 00000000 00:00 0\n"
				   "5000-7000 ---p 00000000 00:00 0    [heap]\n";
	unsigned int seed = 3;
	int round, i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		size_t len = sizeof(good) - 1 - rand_r(&seed) % 20, k;
		char text[sizeof(good)];
		struct maps m;

		memcpy(text, good, sizeof(good));
		for (i = rand_r(&seed) % 6; i > 0; i--)
			text[rand_r(&seed) % len] =
				rand_r(&seed) % 2 ? "0f- \n\\/"[rand_r(&seed) % 7] : rand_r(&seed);
		m = parse(text, len);
		for (k = 0; k < m.count; k++) {
			assert_true(m.entries[k].start < m.entries[k].end);
			assert_true(k == 0 || m.entries[k - 1].end <= m.entries[k].start);
		}
		maps__free(&m);
	}
}

static int stop_at_second(const struct map_entry *e, void *ctx)
{
	(void)e;
	return ++*(int *)ctx == 2 ? 42 : 0;
}

static void the_callback_can_stop(void **state)
{
	int n = 0;

	(void)state;
	assert_int_equal(maps__walk(getpid(), stop_at_second, &n, NULL), 42);
	assert_int_equal(n, 2);
}

static void reads_our_own(void **state)
{
	struct maps m = {};
	const struct map_entry *e;
	struct stat st;
	char exe[4096];
	ssize_t n;

	(void)state;
	assert_int_equal(maps__read(getpid(), &m), 0);
	assert_int_equal(m.malformed, 0);
	e = maps__find(&m, (uintptr_t)reads_our_own);
	assert_non_null(e);
	assert_true(e->exec && !e->write && map_entry__is_file(e));
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	assert_true(n > 0);
	exe[n] = '\0';
	assert_string_equal(e->path, exe);
	assert_int_equal(stat(exe, &st), 0);
	assert_int_equal(e->inode, st.st_ino);
	e = maps__find(&m, (uintptr_t)&m);
	assert_non_null(e);
	assert_true(e->write && !e->exec);
	/* Reading again replaces the old content. */
	assert_int_equal(maps__read(getpid(), &m), 0);
	assert_non_null(maps__find(&m, (uintptr_t)reads_our_own));
	maps__free(&m);
}

/* The name is the target's choice: a newline, an escape sequence, and then deleted. */
static void reads_a_hostile_name(void **state)
{
	char dir[] = "/tmp/test_maps_XXXXXX", path[128];
	const struct map_entry *e;
	struct maps m = {};
	void *p;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a\n\x1b[2Jb c\xff", dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
	assert_true(p != MAP_FAILED);
	assert_int_equal(maps__read(getpid(), &m), 0);
	e = maps__find(&m, (uintptr_t)p);
	assert_non_null(e);
	assert_string_equal(e->path, path);
	assert_int_equal(e->offset, 4096);
	assert_true(e->shared && !e->deleted);
	unlink(path);
	rmdir(dir);
	assert_int_equal(maps__read(getpid(), &m), 0);
	e = maps__find(&m, (uintptr_t)p);
	assert_true(e->deleted);
	assert_string_equal(e->path, path);
	maps__free(&m);
	munmap(p, 4096);
	close(fd);
}

/* Deeper than PATH_MAX: reached step by step, as a target would. */
static void reads_a_path_beyond_path_max(void **state)
{
	char name[201], top[] = "/tmp/test_maps_XXXXXX", cmd[64];
	int home = open(".", O_RDONLY | O_DIRECTORY), depth = 0, fd;
	const struct map_entry *e;
	struct maps m = {};
	void *p;

	(void)state;
	memset(name, 'd', 200);
	name[200] = '\0';
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	while (depth < 40 && mkdir(name, 0700) == 0 && chdir(name) == 0)
		depth++;
	fd = open("file", O_RDWR | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_int_equal(fchdir(home), 0);
	assert_int_equal(depth, 40);
	assert_int_equal(maps__read(getpid(), &m), 0);
	e = maps__find(&m, (uintptr_t)p);
	assert_non_null(e);
	assert_int_equal(strlen(e->path), strlen(top) + 40 * 201 + strlen("/file"));
	maps__free(&m);
	munmap(p, 4096);
	close(fd);
	close(home);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	assert_int_equal(system(cmd), 0);
}

static void says_when_the_process_is_gone(void **state)
{
	struct maps m = PARSE("1000-2000 r-xp 0 00:00 1 /kept\n");
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	/* First a zombie, then nothing. */
	waitid(P_PID, pid, NULL, WEXITED | WNOWAIT);
	assert_int_equal(maps__read(pid, &m), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(maps__read(pid, &m), -ESRCH);
	assert_int_equal(maps__read(0, &m), -EINVAL);
	assert_int_equal(maps__read(-5, &m), -EINVAL);
	assert_int_equal(maps__read_fd(-1, &m), -EBADF);
	assert_int_equal(m.count, 1);
	assert_string_equal(m.entries[0].path, "/kept");
	maps__free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_field),
		cmocka_unit_test(decodes_names),
		cmocka_unit_test(skips_and_counts_what_is_malformed),
		cmocka_unit_test(finds_by_address),
		cmocka_unit_test(takes_lines_of_any_length),
		cmocka_unit_test(holds_for_mutated_text),
		cmocka_unit_test(the_callback_can_stop),
		cmocka_unit_test(reads_our_own),
		cmocka_unit_test(reads_a_hostile_name),
		cmocka_unit_test(reads_a_path_beyond_path_max),
		cmocka_unit_test(says_when_the_process_is_gone),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
