/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The symbolizer: our own functions, those of libc, of children that exited, of hostile files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS, memfd_create */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_image.h"
#include "snapshots.h"
#include "symbols.h"
#include "symfile.h"

/* A function of our own, and its line. */
__attribute__((noinline)) int symbolize_me(int n);
enum { SYMBOLIZE_ME_LINE = __LINE__ + 1 };
__attribute__((noinline)) int symbolize_me(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int setup(void **state)
{
	*state = symbolizer__new(0);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	symbolizer__free(*state);
	return 0;
}

static struct sym_result resolve(void *sym, pid_t pid, const void *addr)
{
	struct sym_result r;

	assert_int_equal(symbolizer__resolve(sym, pid, (uintptr_t)addr, &r), 0);
	assert_int_equal(r.addr, (uintptr_t)addr);
	return r;
}

static void names_our_own_functions(void **state)
{
	struct sym_result r = resolve(*state, getpid(), (char *)symbolize_me);
	char exe[4096] = "";

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(r.kind, SYM_FILE);
	assert_string_equal(r.function, "symbolize_me");
	assert_int_equal(r.function_offset, 0);
	assert_string_equal(r.module, exe);
	assert_false(r.deleted);
	assert_non_null(r.file);
	assert_non_null(strstr(r.file, "test_symbols.c"));
	assert_in_range(r.line, SYMBOLIZE_ME_LINE, SYMBOLIZE_ME_LINE + 4);
	sym_result__clear(&r);
	assert_null(r.function);

	/* A static one, and within it. */
	r = resolve(*state, getpid(), (char *)names_our_own_functions + 1);
	assert_string_equal(r.function, "names_our_own_functions");
	assert_int_equal(r.function_offset, 1);
	sym_result__clear(&r);
}

/* Compiled into one another, and the outermost into a test. */
static void *place;
static __attribute__((noinline)) void note_place(void)
{
	place = __builtin_return_address(0);
}

enum { INNER_LINE = __LINE__ + 3, OUTER_LINE = __LINE__ + 10 };
static inline __attribute__((always_inline)) void inner(void)
{
	note_place();
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void outer(void)
{
	__asm__ volatile("" ::: "memory");
	inner();
}

static void tells_what_was_inlined(void **state)
{
	struct sym_result r;
	unsigned int line = __LINE__ + 2;

	outer();
	assert_int_equal(symbolizer__resolve_return(*state, getpid(), (uintptr_t)place, &r), 0);
	assert_string_equal(r.function, "tells_what_was_inlined");
	assert_int_equal(r.line, line);
	assert_int_equal(r.n_inlined, 2);
	assert_string_equal(r.inlined[0].function, "inner");
	assert_non_null(strstr(r.inlined[0].file, "test_symbols.c"));
	assert_int_equal(r.inlined[0].line, INNER_LINE);
	assert_string_equal(r.inlined[1].function, "outer");
	assert_int_equal(r.inlined[1].line, OUTER_LINE);
	sym_result__clear(&r);
	assert_int_equal(r.n_inlined, 0);
	/* Of the address itself, behind the call, which is in inner() as well. */
	r = resolve(*state, getpid(), (char *)note_place);
	assert_int_equal(r.n_inlined, 0);
	sym_result__clear(&r);
}

/* The address behind a call at the very end of a function is that of the next function. */
static void return_addresses_belong_to_the_call(void **state)
{
	struct sym_result r;

	assert_int_equal(
		symbolizer__resolve_return(*state, getpid(), (uintptr_t)symbolize_me + 1, &r), 0);
	assert_string_equal(r.function, "symbolize_me");
	assert_int_equal(r.function_offset, 1);
	sym_result__clear(&r);
	assert_int_equal(symbolizer__resolve_return(*state, getpid(), (uintptr_t)symbolize_me, &r),
			 0);
	assert_true(!r.function || strcmp(r.function, "symbolize_me") != 0);
	sym_result__clear(&r);
}

static void names_functions_of_libc(void **state)
{
	void *libc = dlopen(LIBC_SO, RTLD_NOW | RTLD_NOLOAD);
	struct elffile_func f;
	struct elffile *ef;
	struct sym_result r;

	assert_non_null(libc);
	r = resolve(*state, getpid(), dlsym(libc, "qsort"));
	assert_string_equal(r.function, "qsort");
	assert_int_equal(elffile__open(r.module, &ef), 0);
	assert_int_equal(elffile__find_functions(ef, (const char *const[]){ "qsort" }, 1, &f), 1);
	assert_int_equal(r.module_offset, f.offset);
	assert_int_equal(r.module_addr, f.addr);
	assert_true(r.build_id_len > 0);
	elffile__close(ef);
	sym_result__clear(&r);
	/* Of several names of one place, the plain one. */
	r = resolve(*state, getpid(), dlsym(libc, "write"));
	assert_string_equal(r.function, "write");
	sym_result__clear(&r);
	dlclose(libc);
}

static void says_what_has_no_names(void **state)
{
	char *jit = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sym_result r = resolve(*state, getpid(), jit + 0x34);
	char line[128];

	assert_int_equal(r.kind, SYM_ANON);
	assert_null(r.function);
	assert_string_equal(r.module, "[anon]");
	assert_true(r.module_offset >= 0x34);
	sym_result__clear(&r);
	munmap(jit, 4096);

	if (getauxval(AT_SYSINFO_EHDR)) {
		r = resolve(*state, getpid(), (char *)getauxval(AT_SYSINFO_EHDR) + 0x10);
		assert_int_equal(r.kind, SYM_VDSO);
		assert_string_equal(r.module, "[vdso]");
		assert_int_equal(r.module_offset, 0x10);
		sym_result__clear(&r);
	}

	r = resolve(*state, getpid(), (void *)8);
	assert_int_equal(r.kind, SYM_UNKNOWN);
	assert_null(r.module);
	sym_format(line, sizeof(line), 3, &r);
	assert_string_equal(line, "#3 0x8 (unknown)");
	sym_result__clear(&r);
	assert_int_equal(symbolizer__resolve_return(*state, getpid(), 0, &r), 0);
	assert_int_equal(r.kind, SYM_UNKNOWN);
	sym_result__clear(&r);
	assert_int_equal(symbolizer__resolve(*state, 0, 8, &r), -EINVAL);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void names_functions_of_the_vdso(void **state)
{
	const char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *eh = (void *)vdso;
	struct elffile_func f;
	struct elffile *ef;
	struct sym_result r;
#ifdef __aarch64__
	const char *name = "__kernel_clock_gettime";
#else
	const char *name = "__vdso_clock_gettime";
#endif

	if (!vdso) {
		print_message("no vdso in this kernel\n");
		return;
	}
	assert_int_equal(elffile__open_mem(vdso, eh->e_shoff + eh->e_shnum * eh->e_shentsize, &ef),
			 0);
	assert_int_equal(elffile__find_functions(ef, &name, 1, &f), 1);
	elffile__close(ef);
	for (int i = 0; i < 2; i++) { /* read, and from what was kept */
		r = resolve(*state, getpid(), vdso + f.offset + 1);
		assert_int_equal(r.kind, SYM_VDSO);
		assert_string_equal(r.module, "[vdso]");
		assert_string_equal(strstr(r.function, "clock_gettime"), "clock_gettime");
		assert_int_equal(r.function_offset, 1);
		assert_true(r.build_id_len > 0);
		sym_result__clear(&r);
	}
}

static void write_map(const char *path, const void *at, unsigned int size, const char *name)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0);
	dprintf(fd, "%lx %x %s\n", (unsigned long)at, size, name);
	close(fd);
}

/* What the process itself says of the code that it made. */
static void names_generated_code(void **state)
{
	char *jit = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64], other[64];
	struct sym_result r;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.not", getpid());
	unlink(path);
	r = resolve(*state, getpid(), jit + 0x44);
	assert_null(r.function);
	sym_result__clear(&r);
	write_map(path, jit + 0x40, 0x10, "py::main:/src/a.py");
	r = resolve(*state, getpid(), jit + 0x44);
	assert_int_equal(r.kind, SYM_ANON);
	assert_string_equal(r.function, "py::main:/src/a.py");
	assert_int_equal(r.function_offset, 4);
	sym_result__clear(&r);
	assert_int_equal(symbolizer__resolve_return(*state, getpid(), (uintptr_t)jit + 0x50, &r),
			 0);
	assert_int_equal(r.function_offset, 0x10);
	sym_result__clear(&r);
	/* It grows; it is replaced. */
	write_map(path, jit + 0x80, 0x10, "more");
	r = resolve(*state, getpid(), jit + 0x80);
	assert_string_equal(r.function, "more");
	sym_result__clear(&r);
	write_map(other, jit + 0x80, 0x10, "other");
	assert_int_equal(rename(other, path), 0);
	r = resolve(*state, getpid(), jit + 0x80);
	assert_string_equal(r.function, "other");
	sym_result__clear(&r);
	/* Not over links, and not of just anybody. */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	r = resolve(*state, getpid(), jit + 0x80);
	assert_true(!r.function || strcmp(r.function, "other") == 0);
	sym_result__clear(&r);
	symbolizer__forget(*state, getpid());
	r = resolve(*state, getpid(), jit + 0x80);
	assert_null(r.function);
	sym_result__clear(&r);
	assert_int_equal(rename(other, path), 0);
	if (geteuid() == 0 && chown(path, 65534, 65534) == 0) {
		symbolizer__forget(*state, getpid());
		r = resolve(*state, getpid(), jit + 0x80);
		assert_null(r.function);
		sym_result__clear(&r);
	}
	unlink(path);
	munmap(jit, 4096);
}

static void names_outlive_the_process(void **state)
{
	pid_t pid = start_child();
	struct sym_result r;

	assert_int_equal(symbolizer__snapshot(*state, pid), 0);
	end_child(pid);
	/* Nothing of the file was read while the process lived. */
	r = resolve(*state, pid, (char *)symbolize_me + 1);
	assert_int_equal(r.kind, SYM_FILE);
	assert_non_null(r.module);
	if (r.build_id_len || r.function)
		assert_string_equal(r.function, "symbolize_me");
	else
		print_message("no openat2() in this kernel\n");
	sym_result__clear(&r);
	assert_int_equal(symbolizer__snapshot(*state, pid), -ESRCH);
	r = resolve(*state, pid, (char *)symbolize_me + 1);
	assert_int_equal(r.kind, SYM_FILE);
	sym_result__clear(&r);
	symbolizer__forget(*state, pid);
	r = resolve(*state, pid, (char *)symbolize_me);
	assert_int_equal(r.kind, SYM_UNKNOWN);
	sym_result__clear(&r);
	symbolizer__forget(*state, pid);
	assert_int_equal(symbolizer__snapshot(*state, pid), -ESRCH);
}

/* A library in a file; the caller unlinks it. */
static void *map_build(const struct elf_build *b, char path[64])
{
	void *text;
	int fd;

	strcpy(path, "/tmp/test_sym_XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->img, b->size), b->size);
	text = mmap(NULL, IMG_TEXT_SIZE, PROT_READ, MAP_PRIVATE, fd, IMG_TEXT_OFFSET);
	assert_true(text != MAP_FAILED);
	close(fd);
	return text;
}

/* What was mapped when it ended nobody knows: no code may come where a file was read. */
static void no_code_where_there_was_none(void **state)
{
	struct elf_build b = elf_build__new();
	struct sym_result r;
	char path[64], *text = map_build(&b, path); /* to be read only */
	pid_t pid = start_child();

	assert_int_equal(symbolizer__snapshot(*state, pid), 0);
	r = resolve(*state, pid, text + 0x100);
	assert_string_equal(r.module, path);
	sym_result__clear(&r);
	end_child(pid);
	r = resolve(*state, pid, text + 0x100);
	assert_int_equal(r.kind, SYM_UNKNOWN);
	assert_null(r.module);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
}

/* As in a container: a mount that only the process has, and that would go when it goes. */
static void names_outlive_a_container(void **state)
{
	char dir[] = "/tmp/test_sym_XXXXXX", path[64];
	struct elf_build b = elf_build__new();
	struct sym_result r;
	char *text = NULL;
	int fds[2];
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		int fd;

		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", dir, "tmpfs", 0, NULL))
			_exit(1);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		if (write(fd, b.img, b.size) != (ssize_t)b.size)
			_exit(1);
		text = mmap(NULL, IMG_TEXT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    IMG_TEXT_OFFSET);
		close(fd);
		if (write(fds[1], &text, sizeof(text)) != sizeof(text))
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	if (read(fds[0], &text, sizeof(text)) == sizeof(text)) {
		assert_int_equal(symbolizer__snapshot(*state, pid), 0);
		end_child(pid);
		r = resolve(*state, pid, text + 0x100);
		assert_string_equal(r.module, path);
		if (r.build_id_len)
			assert_string_equal(r.function, "aclrtFreeHost");
		sym_result__clear(&r);
	} else {
		waitpid(pid, NULL, 0);
		print_message("not allowed to make a mount namespace\n");
	}
	close(fds[0]);
	rmdir(dir);
	free(b.img);
}

static void sees_what_was_mapped_since(void **state)
{
	struct elf_build b = elf_build__new();
	struct sym_result r;
	char path[64], *text;

	assert_int_equal(symbolizer__snapshot(*state, getpid()), 0);
	text = map_build(&b, path);
	r = resolve(*state, getpid(), text + 0x11f);
	assert_string_equal(r.function, "aclrtFreeHost");
	assert_int_equal(r.function_offset, 0x1f);
	assert_string_equal(r.module, path);
	assert_int_equal(r.module_offset, IMG_TEXT_OFFSET + 0x11f);
	assert_int_equal(r.module_addr, IMG_TEXT_ADDR + 0x11f);
	assert_int_equal(r.build_id_len, 20);
	assert_int_equal(r.build_id[19], 0xb1);
	assert_null(r.file);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
}

/* Another file where the one of the snapshot was: what dlclose() and dlopen() do. */
static void notices_another_file_at_the_same_place(void **state)
{
	struct elf_build b = elf_build__new();
	struct sym_result r;
	char path[64], *text;
	int fd;

	text = map_build(&b, path);
	r = resolve(*state, getpid(), text + 0x100);
	assert_string_equal(r.module, path);
	sym_result__clear(&r);
	unlink(path);
	strcpy(path, "/tmp/test_sym_XXXXXX");
	fd = mkstemp(path);
	b.img->sym[1].st_value += 0x80;
	assert_int_equal(write(fd, b.img, b.size), b.size);
	assert_ptr_equal(mmap(text, IMG_TEXT_SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			      IMG_TEXT_OFFSET),
			 text);
	close(fd);
	r = resolve(*state, getpid(), text + 0x180);
	assert_string_equal(r.module, path);
	assert_string_equal(r.function, "aclrtFreeHost");
	assert_int_equal(r.function_offset, 0);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
}

static void never_guesses(void **state)
{
	struct elf_build b = elf_build__new();
	struct sym_result r;
	char path[64], *text;

	elf_build__func(&b, "outer", 0x400, 0x100);
	elf_build__func(&b, "inner", 0x410, 0x10);
	text = map_build(&b, path);
	/* Behind the end of a function, and before the first. */
	r = resolve(*state, getpid(), text + 0x120);
	assert_null(r.function);
	assert_int_equal(r.module_addr, IMG_TEXT_ADDR + 0x120);
	sym_result__clear(&r);
	r = resolve(*state, getpid(), text + 0x10);
	assert_null(r.function);
	sym_result__clear(&r);
	/* Of an unknown size: where it begins, and no further. */
	r = resolve(*state, getpid(), text + 0x200);
	assert_string_equal(r.function, "aclrtMallocHost");
	sym_result__clear(&r);
	r = resolve(*state, getpid(), text + 0x201);
	assert_null(r.function);
	sym_result__clear(&r);
	/* Nested: the innermost that covers it. */
	r = resolve(*state, getpid(), text + 0x415);
	assert_string_equal(r.function, "inner");
	sym_result__clear(&r);
	r = resolve(*state, getpid(), text + 0x420);
	assert_string_equal(r.function, "outer");
	assert_int_equal(r.function_offset, 0x20);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
}

/* Through map_files; without the privilege for that, nothing rather than the wrong thing. */
static void names_deleted_files(void **state)
{
	struct elf_build b = elf_build__new(), other = elf_build__new();
	char path[64], *text = map_build(&b, path);
	struct sym_result r;
	int fd;

	/* Another library takes the name. */
	memcpy(memmem(other.img->str, other.str_len, "aclrtFreeHost", 13), "aclrtXxxxXxxx", 13);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, other.img, other.size), other.size);
	close(fd);
	r = resolve(*state, getpid(), text + 0x100);
	assert_true(r.deleted);
	assert_string_equal(r.module, path);
	assert_int_equal(r.module_offset, IMG_TEXT_OFFSET + 0x100);
	if (r.function)
		assert_string_equal(r.function, "aclrtFreeHost");
	else
		print_message("not allowed to follow /proc/PID/map_files\n");
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
	free(other.img);
}

static void notices_a_file_that_was_rewritten(void **state)
{
	struct elf_build b = elf_build__new();
	char path[64], *text = map_build(&b, path);
	struct sym_result r = resolve(*state, getpid(), text + 0x100);
	int fd;

	assert_string_equal(r.function, "aclrtFreeHost");
	sym_result__clear(&r);
	b.img->sym[1].st_value += 0x80;
	fd = open(path, O_WRONLY);
	usleep(20000); /* the clock of file systems is coarse */
	assert_int_equal(write(fd, b.img, b.size), b.size);
	close(fd);
	r = resolve(*state, getpid(), text + 0x180);
	assert_string_equal(r.function, "aclrtFreeHost");
	assert_int_equal(r.function_offset, 0);
	sym_result__clear(&r);
	/* Cut short: no names, no signal. */
	assert_int_equal(truncate(path, IMG_TEXT_OFFSET + 0x800), 0);
	r = resolve(*state, getpid(), text + 0x180);
	assert_null(r.function);
	assert_string_equal(r.module, path);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
}

static void takes_names_of_any_length(void **state)
{
	struct elf_build b = elf_build__new();
	size_t longest = SYMFILE_NAME_MAX + 1000;
	char path[64], *text, *name = calloc(1, longest + 1);
	struct sym_result r;

	memset(name, '\x1b', longest);
	elf_build__func(&b, name, 0x600, 0x10);
	name[4096] = '\0';
	elf_build__func(&b, name, 0x500, 0x10);
	text = map_build(&b, path);
	r = resolve(*state, getpid(), text + 0x500);
	assert_string_equal(r.function, name);
	sym_result__clear(&r);
	r = resolve(*state, getpid(), text + 0x600);
	assert_int_equal(strlen(r.function), SYMFILE_NAME_MAX - 1);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
	free(name);
}

/* Symbols that all begin at one place: no work without bound, and one clear choice. */
static void chooses_among_many_names(void **state)
{
	struct elf_build b = elf_build__new();
	char path[64], *text, name[32];
	struct sym_result r;
	int i;

	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "__alias%d", i);
		elf_build__func(&b, name, 0x700, 0x10);
	}
	text = map_build(&b, path);
	r = resolve(*state, getpid(), text + 0x708);
	assert_memory_equal(r.function, "__alias", 7);
	assert_int_equal(r.function_offset, 8);
	sym_result__clear(&r);
	munmap(text, IMG_TEXT_SIZE);
	unlink(path);
	free(b.img);
}

/* Anything may be mapped as code. */
static void survives_damaged_files(void **state)
{
	size_t head = offsetof(struct elf_image, pad);
	unsigned int seed = 6;
	int round, i;

	for (round = 0; round < 300; round++) {
		struct elf_build b = elf_build__new();
		char path[64], *text;
		struct sym_result r;

		for (i = 0; i < 6; i++)
			((uint8_t *)b.img)[64 + rand_r(&seed) % (head - 64)] = rand_r(&seed);
		text = map_build(&b, path);
		for (i = 0; i < IMG_TEXT_SIZE; i += 0x100) {
			r = resolve(*state, getpid(), text + i);
			assert_int_equal(r.module_offset, IMG_TEXT_OFFSET + i);
			sym_result__clear(&r);
		}
		munmap(text, IMG_TEXT_SIZE);
		unlink(path);
		free(b.img);
	}
}

/* Our own DWARF with bytes changed: lines may be lost, and nothing else. */
static void survives_damaged_dwarf(void **state)
{
	unsigned int seed = 7;
	struct sym_result own = resolve(*state, getpid(), (char *)symbolize_me);
	struct stat st;
	uint8_t *data;
	int fd, round, i;

	fd = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	data = malloc(st.st_size);
	assert_int_equal(read(fd, data, st.st_size), st.st_size);
	close(fd);
	for (round = 0; round < 40; round++) {
		char path[] = "/tmp/test_sym_XXXXXX", *map;
		struct sym_result r;

		for (i = 0; i < 200; i++)
			data[4096 + rand_r(&seed) % (st.st_size - 4096)] = rand_r(&seed);
		fd = mkstemp(path);
		assert_int_equal(write(fd, data, st.st_size), st.st_size);
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
		for (i = 0; i < 20; i++) {
			r = resolve(*state, getpid(), map + own.module_offset + i * 40);
			assert_int_equal(r.kind, SYM_FILE);
			sym_result__clear(&r);
		}
		munmap(map, st.st_size);
		unlink(path);
	}
	free(data);
	sym_result__clear(&own);
}

static void does_without_lines(void **state)
{
	struct symbolizer *sym = symbolizer__new(SYMBOLIZER_NO_LINES);
	struct sym_result r = resolve(sym, getpid(), (char *)symbolize_me);

	(void)state;
	assert_string_equal(r.function, "symbolize_me");
	assert_null(r.file);
	sym_result__clear(&r);
	symbolizer__free(sym);
	symbolizer__free(NULL);
}

static size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void keeps_a_bounded_number_of_files(void **state)
{
	size_t before = count_fds(), i;
	struct elf_build b = elf_build__new();

	for (i = 0; i < SYMBOLIZER_MODULES_MAX + 20; i++) {
		char path[64], *text = map_build(&b, path);
		struct sym_result r;

		/* other memory, which is not looked at again, may have been there before */
		assert_int_equal(symbolizer__snapshot(*state, getpid()), 0);
		r = resolve(*state, getpid(), text + 0x100);

		assert_string_equal(r.function, "aclrtFreeHost");
		sym_result__clear(&r);
		munmap(text, IMG_TEXT_SIZE);
		unlink(path);
		assert_true(count_fds() <= before + SYMBOLIZER_MODULES_MAX + 3);
	}
	symbolizer__trim(*state);
	assert_true(count_fds() <= before + 3);
	symbolizer__forget(*state, getpid());
	assert_int_equal(count_fds(), before);
	free(b.img);
}

static void keeps_a_bounded_number_of_processes(void **state)
{
	pid_t pids[SNAPSHOTS_MAX + 10];
	size_t before = count_fds(), n = SNAPSHOTS_MAX + 10, i;
	struct sym_result r;

	for (i = 0; i < n; i++) {
		pids[i] = start_child();
		assert_int_equal(symbolizer__snapshot(*state, pids[i]), 0);
		assert_true(count_fds() <= before + 3 * SNAPSHOTS_MAX);
	}
	for (i = 0; i < n; i++)
		end_child(pids[i]);
	/* The first were given up for the last. */
	r = resolve(*state, pids[0], (char *)symbolize_me);
	assert_int_equal(r.kind, SYM_UNKNOWN);
	sym_result__clear(&r);
	r = resolve(*state, pids[n - 1], (char *)symbolize_me);
	assert_int_equal(r.kind, SYM_FILE);
	sym_result__clear(&r);
	for (i = 0; i < n; i++)
		symbolizer__forget(*state, pids[i]);
	symbolizer__trim(*state);
	assert_int_equal(count_fds(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_our_own_functions),
		TEST(tells_what_was_inlined),
		TEST(return_addresses_belong_to_the_call),
		TEST(names_functions_of_libc),
		TEST(says_what_has_no_names),
		TEST(names_functions_of_the_vdso),
		TEST(names_generated_code),
		TEST(names_outlive_the_process),
		TEST(no_code_where_there_was_none),
		TEST(names_outlive_a_container),
		TEST(sees_what_was_mapped_since),
		TEST(notices_another_file_at_the_same_place),
		TEST(never_guesses),
		TEST(names_deleted_files),
		TEST(notices_a_file_that_was_rewritten),
		TEST(takes_names_of_any_length),
		TEST(chooses_among_many_names),
		TEST(survives_damaged_files),
		TEST(survives_damaged_dwarf),
		TEST(does_without_lines),
		TEST(keeps_a_bounded_number_of_files),
		TEST(keeps_a_bounded_number_of_processes),
	};

	return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
