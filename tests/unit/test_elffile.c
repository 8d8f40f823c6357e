/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The ELF reader: real files, and files that are cut, damaged, or lie about themselves. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, O_PATH */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_image.h"
#include "elffile.h"

static const char *const acl_names[] = { "aclrtFreeHost", "aclrtNothing", "aclrtMallocHost",
					 "aclrtFreeHost" };
#define ACL_NAMES 4

/* Open from a copy of exact size: the sanitizer sees each byte read beyond it. */
struct opened {
	struct elffile *ef;
	void *copy;
};

static struct opened open_copy(const void *data, size_t size, int want)
{
	struct opened o = { .copy = malloc(size ? size : 1) };

	memcpy(o.copy, data, size);
	assert_int_equal(elffile__open_mem(o.copy, size, &o.ef), want);
	return o;
}

static struct opened open_build(const struct elf_build *b)
{
	return open_copy(b->img, b->size, 0);
}

static void opened_close(struct opened *o)
{
	elffile__close(o->ef);
	free(o->copy);
}

static int find_in(const struct elf_build *b, struct elffile_func f[ACL_NAMES])
{
	struct opened o = open_build(b);
	int n = elffile__find_functions(o.ef, acl_names, ACL_NAMES, f);

	opened_close(&o);
	return n;
}

static void finds_functions(void **state)
{
	struct elf_build b = elf_build__new();
	struct elffile_func f[ACL_NAMES];

	(void)state;
	assert_int_equal(find_in(&b, f), 3);
	assert_true(f[0].found && !f[1].found && f[2].found && f[3].found);
	assert_int_equal(f[0].offset, IMG_TEXT_OFFSET + 0x100);
	assert_int_equal(f[0].addr, IMG_TEXT_ADDR + 0x100);
	assert_int_equal(f[0].size, 0x20);
	assert_int_equal(f[0].others, 0);
	assert_false(f[0].ifunc);
	assert_int_equal(f[2].offset, IMG_TEXT_OFFSET + 0x200);
	/* A name that is asked for twice has the answer twice. */
	assert_memory_equal(&f[3], &f[0], sizeof(f[0]));
	free(b.img);
}

static void notices_versions_and_ifuncs(void **state)
{
	struct elf_build b = elf_build__new();
	struct elffile_func f[ACL_NAMES];

	(void)state;
	elf_build__func(&b, "aclrtFreeHost", 0x300, 4);
	elf_build__func(&b, "aclrtFreeHost", 0x100, 4); /* the same place is no other definition */
	elf_build__func(&b, "aclrtNothing", 0x400, 4)->st_info =
		ELF64_ST_INFO(STB_WEAK, STT_GNU_IFUNC);
	assert_int_equal(find_in(&b, f), 4);
	assert_int_equal(f[0].offset, IMG_TEXT_OFFSET + 0x100);
	assert_int_equal(f[0].others, 1);
	assert_true(f[1].ifunc);
	free(b.img);
}

enum {
	UNDEFINED,
	ABSOLUTE,
	OBJECT,
	LOCAL,
	HIDDEN,
	NO_SECTION,
	DATA_SECTION,
	BEFORE,
	BEHIND,
	TOO_LARGE,
	HUGE_SIZE,
	NOT_EXECUTABLE,
	NAME_BEYOND,
	NAME_INSIDE,
	FLAWS
};

static void apply_flaw(struct elf_build *b, int flaw)
{
	Elf64_Sym *s = &b->img->sym[1];

	switch (flaw) {
	case UNDEFINED:
		s->st_shndx = SHN_UNDEF;
		break;
	case ABSOLUTE:
		s->st_shndx = SHN_ABS;
		break;
	case OBJECT:
		s->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
		break;
	case LOCAL:
		s->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
		break;
	case HIDDEN:
		s->st_other = STV_HIDDEN;
		break;
	case NO_SECTION:
		s->st_shndx = IMG_SH_COUNT;
		break;
	case DATA_SECTION:
		s->st_shndx = IMG_SH_DYNSTR;
		break;
	case BEFORE:
		s->st_value = IMG_TEXT_ADDR - 1;
		break;
	case BEHIND:
		s->st_value = IMG_TEXT_ADDR + IMG_TEXT_SIZE;
		break;
	case TOO_LARGE:
		s->st_size = IMG_TEXT_SIZE;
		break;
	case HUGE_SIZE:
		s->st_size = UINT64_MAX;
		break;
	case NOT_EXECUTABLE:
		b->img->ph[IMG_PH_TEXT].p_flags = PF_R;
		break;
	case NAME_BEYOND:
		s->st_name = b->str_len;
		break;
	case NAME_INSIDE:
		s->st_name += 1;
		break;
	}
}

static void refuses_what_cannot_be_probed(void **state)
{
	struct elffile_func f[ACL_NAMES];
	int flaw;

	(void)state;
	for (flaw = 0; flaw < FLAWS; flaw++) {
		struct elf_build b = elf_build__new();

		apply_flaw(&b, flaw);
		assert_true(find_in(&b, f) >= 0);
		assert_false(f[0].found);
		assert_false(f[3].found);
		free(b.img);
	}
}

static void takes_names_of_any_length(void **state)
{
	struct elf_build b = elf_build__new();
	char *name = calloc(1, 100001);
	struct elffile_func f;
	struct opened o;

	(void)state;
	memset(name, 'n', 4096);
	elf_build__func(&b, name, 0x500, 8);
	memset(name, 'n', 100000);
	elf_build__func(&b, name, 0x600, 8);
	o = open_build(&b);
	assert_int_equal(elffile__find_functions(o.ef, (const char *const[]){ name }, 1, &f), 1);
	assert_int_equal(f.offset, IMG_TEXT_OFFSET + 0x600);
	name[4096] = '\0';
	assert_int_equal(elffile__find_functions(o.ef, (const char *const[]){ name }, 1, &f), 1);
	assert_int_equal(f.offset, IMG_TEXT_OFFSET + 0x500);
	assert_int_equal(elffile__find_functions(o.ef, NULL, 0, NULL), 0);
	opened_close(&o);
	/* The last name of the file does not end. */
	memset(b.img->str + b.str_len - 1, 'x', 1);
	o = open_build(&b);
	memset(name, 'n', 100000);
	assert_int_equal(elffile__find_functions(o.ef, (const char *const[]){ name }, 1, &f), 0);
	opened_close(&o);
	free(name);
	free(b.img);
}

static void knows_the_runtime(void **state)
{
	struct elf_build b = elf_build__new();
	struct opened o = open_build(&b);

	(void)state;
	assert_int_equal(elffile__defines_acl(o.ef), 1);
	opened_close(&o);
	b.img->sym[1].st_shndx = SHN_UNDEF;
	b.img->sym[2].st_shndx = SHN_UNDEF;
	/* Named like one, but in no table of ours; and one of ours of another prefix. */
	elf_build__func(&b, "aclrtFreeHostImpl", 0x300, 4);
	elf_build__func(&b, "aclFinalize", 0x300, 4);
	o = open_build(&b);
	assert_int_equal(elffile__defines_acl(o.ef), 0);
	opened_close(&o);
	free(b.img);
}

static int join(const char *s, size_t len, void *ctx)
{
	assert_int_equal(strlen(s), len);
	strcat(strcat(ctx, s), ";");
	return 0;
}

static void finds_imports(void **state)
{
	static const char *const names[] = { "rtMemcpyAsync", "aclrtFreeHost", "rtFreeHost",
					     "rtMemcpyAsync" };
	struct elf_build b = elf_build__new();
	struct opened o;
	Elf64_Sym *s;
	bool found[4];

	(void)state;
	elf_build__func(&b, "rtMemcpyAsync", 0, 0)->st_shndx = SHN_UNDEF;
	elf_build__func(&b, "rtMemcpyAsyncMore", 0, 0)->st_shndx = SHN_UNDEF;
	s = elf_build__func(&b, "rtFreeHost", 0, 0);
	s->st_shndx = SHN_UNDEF;
	s->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE); /* as linkers leave it */
	o = open_build(&b);
	/* what it defines it does not ask for */
	assert_int_equal(elffile__find_imports(o.ef, names, 4, found), 3);
	assert_true(found[0] && !found[1] && found[2] && found[3]);
	opened_close(&o);
	free(b.img);
}

static void finds_sections(void **state)
{
	struct elf_build b = elf_build__new();
	struct opened o;
	uint32_t name;

	(void)state;
	name = elf_build__str(&b, ".go.buildinfo");
	b.img->sh[IMG_SH_TEXT].sh_name = name;
	b.img->sh[IMG_SH_DYNSYM].sh_name = UINT32_MAX;
	b.img->eh.e_shstrndx = IMG_SH_DYNSTR;
	o = open_build(&b);
	assert_int_equal(elffile__has_section(o.ef, ".go.buildinfo"), 1);
	assert_int_equal(elffile__has_section(o.ef, ".go.buildinf"), 0);
	assert_int_equal(elffile__has_section(o.ef, "go.buildinfo"), 0);
	opened_close(&o);
	b.img->eh.e_shstrndx = IMG_SH_COUNT;
	o = open_build(&b);
	assert_int_equal(elffile__has_section(o.ef, ".go.buildinfo"), -ENOEXEC);
	opened_close(&o);
	free(b.img);
}

static void reads_the_dynamic_section(void **state)
{
	struct elf_build b = elf_build__new();
	struct opened o = open_build(&b);
	char all[256] = "";

	(void)state;
	assert_int_equal(elffile__walk_dynamic(o.ef, DT_NEEDED, join, all), 0);
	assert_int_equal(elffile__walk_dynamic(o.ef, DT_RUNPATH, join, all), 0);
	assert_int_equal(elffile__walk_dynamic(o.ef, DT_SONAME, join, all), 0);
	assert_string_equal(all, "libacl_rt.so;libc.so.6;$ORIGIN:/opt;");
	assert_int_equal(elffile__needs(o.ef, "libacl_rt.so"), 1);
	assert_int_equal(elffile__needs(o.ef, "libacl_rt"), 0);
	opened_close(&o);
	b.img->dyn[3].d_un.d_val = UINT64_MAX;
	o = open_build(&b);
	assert_int_equal(elffile__needs(o.ef, "libc.so.6"), -ENOEXEC);
	opened_close(&o);
	b.img->dyn[0].d_un.d_ptr = UINT64_MAX - 3;
	o = open_build(&b);
	assert_int_equal(elffile__needs(o.ef, "libc.so.6"), -ENOEXEC);
	opened_close(&o);
	b.img->ph[IMG_PH_DYNAMIC].p_type = PT_NULL;
	o = open_build(&b);
	assert_int_equal(elffile__needs(o.ef, "libc.so.6"), 0);
	assert_int_equal(elffile__walk_dynamic(o.ef, DT_NEEDED, join, all), -ENOENT);
	opened_close(&o);
	free(b.img);
}

static void reads_the_build_id(void **state)
{
	static const uint32_t bad_sizes[] = { 0, 65, 4096, 0x7fffffff, 0xfffffffc, 0xffffffff };
	uint8_t id[ELFFILE_BUILD_ID_MAX], want[20];
	struct elf_build b = elf_build__new();
	struct opened o = open_build(&b);
	size_t i;

	(void)state;
	memset(want, 0xb1, sizeof(want));
	assert_int_equal(elffile__build_id(o.ef, id), 20);
	assert_memory_equal(id, want, 20);
	opened_close(&o);
	for (i = 0; i < 2 * sizeof(bad_sizes) / sizeof(bad_sizes[0]); i++) {
		b.img->note.h = (Elf64_Nhdr){ 4, 20, NT_GNU_BUILD_ID };
		if (i & 1)
			b.img->note.h.n_namesz = bad_sizes[i / 2];
		else
			b.img->note.h.n_descsz = bad_sizes[i / 2];
		o = open_build(&b);
		assert_int_equal(elffile__build_id(o.ef, id), -ENOENT);
		opened_close(&o);
	}
	free(b.img);
}

static void reads_code(void **state)
{
	struct elf_build b = elf_build__new();
	uint8_t code[32];
	struct opened o;
	uint64_t v;

	(void)state;
	memset(b.img->text, 0x90, IMG_TEXT_SIZE);
	o = open_build(&b);
	assert_int_equal(elffile__read_code(o.ef, IMG_TEXT_OFFSET + 0x100, code, 32), 32);
	assert_int_equal(code[31], 0x90);
	assert_int_equal(elffile__read_code(o.ef, IMG_TEXT_OFFSET + IMG_TEXT_SIZE - 5, code, 32),
			 5);
	assert_int_equal(elffile__read_code(o.ef, IMG_TEXT_OFFSET + IMG_TEXT_SIZE, code, 32),
			 -ENOENT);
	assert_int_equal(elffile__read_code(o.ef, 0, code, 32), -ENOENT);
	assert_int_equal(elffile__read_code(o.ef, UINT64_MAX, code, 32), -ENOENT);
	assert_int_equal(elffile__addr_to_offset(o.ef, IMG_TEXT_ADDR + 7, &v), 0);
	assert_int_equal(v, IMG_TEXT_OFFSET + 7);
	assert_int_equal(elffile__offset_to_addr(o.ef, IMG_TEXT_OFFSET + 7, &v), 0);
	assert_int_equal(v, IMG_TEXT_ADDR + 7);
	assert_int_equal(elffile__addr_to_offset(o.ef, UINT64_MAX, &v), -ENOENT);
	assert_int_equal(elffile__offset_to_addr(o.ef, UINT64_MAX, &v), -ENOENT);
	opened_close(&o);
	free(b.img);
}

static void refuses_other_formats(void **state)
{
	struct elf_build b = elf_build__new();
	unsigned char *ident = b.img->eh.e_ident;
	struct opened o;

	(void)state;
#define REFUSED(change, undo, err)                 \
	do {                                       \
		change;                            \
		o = open_copy(b.img, b.size, err); \
		free(o.copy);                      \
		undo;                              \
	} while (0)
	REFUSED(ident[0] = 0, ident[0] = 0x7f, -ENOEXEC);
	REFUSED(ident[EI_CLASS] = ELFCLASS32, ident[EI_CLASS] = ELFCLASS64, -ENOTSUP);
	REFUSED(ident[EI_DATA] = ELFDATA2MSB, ident[EI_DATA] = ELFDATA2LSB, -ENOTSUP);
	REFUSED(b.img->eh.e_machine = EM_386, b.img->eh.e_machine = EM_X86_64, -ENOTSUP);
	REFUSED(b.img->eh.e_machine = EM_BPF, b.img->eh.e_machine = EM_X86_64, -ENOTSUP);
	REFUSED(b.img->eh.e_phentsize = 32, b.img->eh.e_phentsize = 56, -ENOEXEC);
	REFUSED(b.img->eh.e_phnum = 0xffff, b.img->eh.e_phnum = IMG_PH_COUNT, -E2BIG);
	REFUSED(b.img->eh.e_phoff = UINT64_MAX, b.img->eh.e_phoff = 64, -ENOEXEC);
#undef REFUSED
	b.img->eh.e_machine = EM_AARCH64;
	o = open_build(&b);
	assert_int_equal(elffile__machine(o.ef), EM_AARCH64);
	assert_int_equal(elffile__type(o.ef), ET_DYN);
	assert_int_equal(elffile__fd(o.ef), -1);
	opened_close(&o);
	/* A 32-bit file may be shorter than our header. */
	ident[EI_CLASS] = ELFCLASS32;
	o = open_copy(b.img, 52, -ENOTSUP);
	free(o.copy);
	free(b.img);
}

/* Everything there is, on a file that may be anything; only bounds and sane answers are checked. */
static int count_func(const struct elffile_sym *s, void *ctx)
{
	char name[64];
	ssize_t n = elffile__read_string(ctx, s->name_offset, s->name_end, name, sizeof(name));

	assert_true(n < (ssize_t)sizeof(name));
	if (n >= 0)
		assert_int_equal(strlen(name), n);
	return 0;
}

static int ignore(const char *s, size_t len, void *ctx)
{
	(void)ctx;
	return strlen(s) != len;
}

static void exercise(const void *data, size_t size)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX], code[16];
	struct elffile_func f[ACL_NAMES];
	bool imported[ACL_NAMES];
	struct elffile *ef;
	uint64_t v;
	int i, n;

	n = elffile__open_mem(data, size, &ef);
	if (n) {
		assert_true(n == -ENOEXEC || n == -ENOTSUP || n == -E2BIG);
		return;
	}
	n = elffile__find_functions(ef, acl_names, ACL_NAMES, f);
	for (i = 0; n > 0 && i < ACL_NAMES; i++) {
		if (f[i].found)
			assert_true(elffile__read_code(ef, f[i].offset, code, 16) > 0);
	}
	elffile__walk_functions(ef, ELFFILE_DYNSYM, count_func, ef);
	elffile__walk_functions(ef, ELFFILE_SYMTAB, count_func, ef);
	elffile__walk_dynamic(ef, DT_NEEDED, ignore, NULL);
	n = elffile__find_imports(ef, acl_names, ACL_NAMES, imported);
	assert_true(n <= (int)ACL_NAMES);
	assert_true(elffile__has_section(ef, ".text") <= 1);
	n = elffile__build_id(ef, id);
	assert_true(n < 0 || (n > 0 && n <= ELFFILE_BUILD_ID_MAX));
	if (elffile__offset_to_addr(ef, IMG_TEXT_OFFSET, &v) == 0)
		elffile__addr_to_offset(ef, v, &v);
	elffile__close(ef);
}

static void survives_truncation_anywhere(void **state)
{
	struct elf_build b = elf_build__new();
	size_t size;

	(void)state;
	for (size = 0; size <= b.size; size++) {
		void *copy;

		/* Within the code nothing happens: a few places there are enough. */
		if (size > IMG_TEXT_OFFSET + 8 && size < IMG_TEXT_OFFSET + IMG_TEXT_SIZE - 8 &&
		    size % 64)
			continue;
		copy = malloc(size ? size : 1);
		memcpy(copy, b.img, size);
		exercise(copy, size);
		free(copy);
	}
	free(b.img);
}

static void survives_damage_anywhere(void **state)
{
	static const uint64_t nasty[] = {
		0, 1, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xfffffffffffff000, UINT64_MAX
	};
	struct elf_build b = elf_build__new();
	size_t head = offsetof(struct elf_image, pad);
	unsigned int seed = 4;
	int round, i;

	(void)state;
	for (round = 0; round < 30000; round++) {
		struct elf_image *copy = malloc(b.size);

		memcpy(copy, b.img, b.size);
		for (i = rand_r(&seed) % 4; i >= 0; i--) {
			size_t at = rand_r(&seed) % (head - 8);
			uint64_t v = nasty[rand_r(&seed) % 7];

			if (rand_r(&seed) % 2)
				memcpy((char *)copy + (at & ~7UL), &v, 8);
			else
				((uint8_t *)copy)[at] = rand_r(&seed);
		}
		exercise(copy, b.size);
		free(copy);
	}
	free(b.img);
}

/* The real thing, cut and damaged: the C library. */
static void survives_a_damaged_libc(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	unsigned int seed = 5;
	Dl_info info;
	struct stat st;
	uint8_t *data;
	int fd, i, k;

	(void)state;
	assert_non_null(libc);
	assert_true(dladdr(dlsym(libc, "gnu_get_libc_version"), &info));
	fd = open(info.dli_fname, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	data = malloc(st.st_size);
	assert_int_equal(read(fd, data, st.st_size), st.st_size);
	close(fd);
	for (i = 0; i < 60; i++)
		exercise(data, (size_t)st.st_size * i / 60 + i);
	for (i = 0; i < 60; i++) {
		size_t at[8];
		uint8_t was[8];

		for (k = 0; k < 8; k++) {
			/* Mostly in the first pages and the last: the headers. */
			at[k] = k < 4 ? rand_r(&seed) % 4096
				      : st.st_size - 1 - rand_r(&seed) % 4096;
			was[k] = data[at[k]];
			data[at[k]] = rand_r(&seed);
		}
		exercise(data, st.st_size);
		for (k = 7; k >= 0; k--)
			data[at[k]] = was[k];
	}
	free(data);
	dlclose(libc);
}

/* What we say of libc is what the loader did with it. */
static void agrees_with_the_loader(void **state)
{
	static const char *const names[] = { "getppid", "no_such_function", "qsort", "environ" };
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct elffile_func f[4];
	struct elffile *ef;
	uint8_t code[16];
	Dl_info info;
	int i;

	(void)state;
	assert_true(dladdr(dlsym(libc, "getppid"), &info));
	assert_int_equal(elffile__open(info.dli_fname, &ef), 0);
	assert_int_equal(elffile__find_functions(ef, names, 4, f), 2);
	for (i = 0; i < 3; i += 2) {
		char *real = dlsym(libc, names[i]);

		assert_true(f[i].found);
		assert_ptr_equal((char *)info.dli_fbase + f[i].addr, real);
		assert_int_equal(elffile__read_code(ef, f[i].offset, code, sizeof(code)), 16);
		assert_memory_equal(code, real, 16);
	}
	assert_int_equal(elffile__defines_acl(ef), 0);
	elffile__close(ef);
	dlclose(libc);
}

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static void write_script(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

static void follows_scripts(void **state)
{
	char dir[] = "/tmp/test_elf_XXXXXX", a[64], b[64], text[600], out[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	write_script(a, "#! \t/proc/self/exe  -u x\nrest");
	snprintf(text, sizeof(text), "#!%s\n", a);
	write_script(b, text);
	assert_int_equal(elffile__script_program("/proc/self/exe", out, sizeof(out)), 0);
	assert_int_equal(elffile__script_program(b, out, sizeof(out)), 2);
	assert_string_equal(out, "/proc/self/exe");
	assert_int_equal(elffile__script_program(b, out, 8), -ENAMETOOLONG);
	assert_int_equal(elffile__interp(b, out, sizeof(out)), 0);
	assert_non_null(strstr(out, "/ld-linux"));
	assert_int_equal(elffile__interp(b, out, 4), -ENAMETOOLONG);
	snprintf(text, sizeof(text), "#!%s\n", b);
	write_script(a, text); /* a runs b runs a */
	assert_int_equal(elffile__script_program(a, out, sizeof(out)), -ELOOP);
	write_script(a, "#!  \nx");
	assert_int_equal(elffile__script_program(a, out, sizeof(out)), -ENOEXEC);
	write_script(a, "#!/bin/x");
	assert_int_equal(elffile__script_program(a, out, sizeof(out)), -ENOENT);
	memset(text, 'p', sizeof(text) - 1);
	memcpy(text, "#!", 2);
	text[sizeof(text) - 1] = '\0';
	write_script(a, text);
	assert_int_equal(elffile__script_program(a, out, sizeof(out)), -ENOEXEC);
	write_script(a, "");
	assert_int_equal(elffile__script_program(a, out, sizeof(out)), 0);
	assert_int_equal(elffile__interp(a, out, sizeof(out)), -ENOEXEC);
	unlink(a);
	unlink(b);
	assert_int_equal(elffile__script_program(a, out, sizeof(out)), -ENOENT);
	rmdir(dir);
}

static void opens_regular_files_only(void **state)
{
	char dir[] = "/tmp/test_elf_XXXXXX", fifo[64], link[64], file[64];
	struct elffile *ef = NULL;
	int fd, root;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(file, sizeof(file), "%s/file", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(elffile__open(fifo, &ef), -EINVAL); /* and does not wait for a writer */
	assert_int_equal(elffile__open("/dev/zero", &ef), -EINVAL);
	assert_int_equal(elffile__open(dir, &ef), -EINVAL);
	assert_int_equal(elffile__open(file, &ef), -ENOENT);
	assert_int_equal(elffile__open_fd(-1, &ef), -EBADF);
	fd = open("/dev/zero", O_RDONLY);
	assert_int_equal(elffile__open_fd(fd, &ef), -EINVAL);
	close(fd);
	assert_null(ef);
	/* A link that leads out of the other root ends inside of it. */
	write_script(file, "inside");
	assert_int_equal(symlink("/../../../file", link), 0);
	root = open(dir, O_PATH | O_DIRECTORY);
	fd = elffile__open_in_root(root, "/link");
	if (fd == -ENOSYS) {
		print_message("openat2: not in this kernel\n");
	} else {
		char text[6];

		assert_true(fd >= 0);
		assert_int_equal(read(fd, text, 6), 6);
		assert_memory_equal(text, "inside", 6);
		close(fd);
		assert_int_equal(elffile__open_in_root(root, "/fifo"), -EINVAL);
		assert_int_equal(elffile__open_in_root(root, "/etc/passwd"), -ENOENT);
	}
	close(root);
	unlink(fifo);
	unlink(link);
	unlink(file);
	rmdir(dir);
}

/* The owner truncates the file after it was opened: an error, and no signal. */
static void survives_truncation_while_open(void **state)
{
	char path[] = "/tmp/test_elf_XXXXXX";
	struct elf_build b = elf_build__new();
	struct elffile_func f[ACL_NAMES];
	struct elffile *ef;
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	write_file(path, b.img, b.size);
	assert_int_equal(elffile__open(path, &ef), 0);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(elffile__find_functions(ef, acl_names, ACL_NAMES, f), -ENOEXEC);
	elffile__close(ef);
	unlink(path);
	free(b.img);
}

/* A terabyte of holes costs neither memory nor time. */
static void refuses_what_is_too_large(void **state)
{
	char path[] = "/tmp/test_elf_XXXXXX";
	struct elf_build b = elf_build__new();
	struct elffile_func f[ACL_NAMES];
	struct elffile *ef;
	int fd = mkstemp(path);

	(void)state;
	b.img->sh[IMG_SH_DYNSYM].sh_size = 1ULL << 39;
	close(fd);
	write_file(path, b.img, b.size);
	if (truncate(path, 1LL << 40) == 0) {
		assert_int_equal(elffile__open(path, &ef), 0);
		assert_int_equal(elffile__find_functions(ef, acl_names, ACL_NAMES, f), -E2BIG);
		elffile__close(ef);
		b.img->sh[IMG_SH_DYNSYM].sh_size = 240;
		b.img->sh[IMG_SH_DYNSTR].sh_size = 1ULL << 39;
		fd = open(path, O_WRONLY);
		assert_int_equal(pwrite(fd, b.img, b.size, 0), b.size);
		close(fd);
		assert_int_equal(elffile__open(path, &ef), 0);
		assert_int_equal(elffile__find_functions(ef, acl_names, ACL_NAMES, f), -E2BIG);
		elffile__close(ef);
	}
	unlink(path);
	free(b.img);
}

static void knows_stub_paths(void **state)
{
	(void)state;
	assert_true(
		elffile__is_stub_path("/usr/local/Ascend/cann/x86_64-linux/devlib/libacl_rt.so"));
	assert_true(elffile__is_stub_path("/opt/t/lib64/stub/libascendcl.so"));
	assert_false(elffile__is_stub_path("/usr/local/Ascend/cann/lib64/libascendcl.so"));
	assert_false(elffile__is_stub_path("/home/devlibs/lib64/libascendcl.so"));
	assert_false(elffile__is_stub_path(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions),
		cmocka_unit_test(notices_versions_and_ifuncs),
		cmocka_unit_test(refuses_what_cannot_be_probed),
		cmocka_unit_test(takes_names_of_any_length),
		cmocka_unit_test(knows_the_runtime),
		cmocka_unit_test(finds_imports),
		cmocka_unit_test(finds_sections),
		cmocka_unit_test(reads_the_dynamic_section),
		cmocka_unit_test(reads_the_build_id),
		cmocka_unit_test(reads_code),
		cmocka_unit_test(refuses_other_formats),
		cmocka_unit_test(survives_truncation_anywhere),
		cmocka_unit_test(survives_damage_anywhere),
		cmocka_unit_test(survives_a_damaged_libc),
		cmocka_unit_test(agrees_with_the_loader),
		cmocka_unit_test(follows_scripts),
		cmocka_unit_test(opens_regular_files_only),
		cmocka_unit_test(survives_truncation_while_open),
		cmocka_unit_test(refuses_what_is_too_large),
		cmocka_unit_test(knows_stub_paths),
	};

	return cmocka_run_group_tests_name("elffile", tests, NULL, NULL);
}
