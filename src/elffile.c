/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A reader of ELF files that trusts nothing in them.
 *
 * Of the format we need the headers, two tables and a few strings, of one class
 * and one byte order, which is that of this machine: that is little enough to
 * read it with pread() and to check each range once, in read_at().  A library
 * that maps the file would hand us a SIGBUS when the owner truncates it.
 *
 * Each loop over something in the file has a bound of its own, because a file
 * can claim in a few bytes what takes hours to walk.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "elffile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are read as they are");

#define PHDRS_MAX 512
#define SHDRS_MAX (64UL << 10)
#define SYMBOLS_MAX (8UL << 20)
#define STRTAB_MAX (256UL << 20)
#define NOTES_MAX (64UL << 10)
#define DYNAMIC_MAX 4096
#define STRING_MAX (64UL << 10)
#define SYMBOLS_CHUNK 1024
/* As in the kernel: how much of a "#!" line counts, and how many scripts may follow each other. */
#define SCRIPT_LINE_MAX 256
#define SCRIPT_DEPTH_MAX 5

struct elffile {
	int fd;		    /* or -1 */
	const uint8_t *mem; /* if fd < 0 */
	uint64_t size;
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs;
	size_t phnum;
	Elf64_Shdr *shdrs; /* read when first asked for */
	size_t shnum;
};

/* ---- bytes ---- */

static bool in_range(uint64_t off, uint64_t len, uint64_t end)
{
	return off <= end && len <= end - off;
}

/* All n bytes or an error; the only place that reads the file. */
static int read_at(const struct elffile *ef, uint64_t off, void *buf, size_t n)
{
	size_t done = 0;

	if (!in_range(off, n, ef->size))
		return -ENOEXEC;
	if (ef->fd < 0) {
		if (n)
			memcpy(buf, ef->mem + off, n);
		return 0;
	}
	while (done < n) {
		ssize_t r = pread(ef->fd, (char *)buf + done, n - done, (off_t)(off + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0) /* it was truncated since */
			return -ENOEXEC;
		done += r;
	}
	return 0;
}

/* A freshly allocated copy of a range, or NULL with *err set. */
static void *read_range(const struct elffile *ef, uint64_t off, uint64_t len, int *err)
{
	void *buf;

	if (!in_range(off, len, ef->size)) {
		*err = -ENOEXEC;
		return NULL;
	}
	buf = malloc(len ? len : 1);
	*err = buf ? read_at(ef, off, buf, len) : -ENOMEM;
	if (*err) {
		free(buf);
		return NULL;
	}
	return buf;
}

ssize_t elffile__read_string(struct elffile *ef, uint64_t offset, uint64_t end, char *buf, size_t n)
{
	size_t room, done = 0;

	if (n == 0 || end > ef->size || offset >= end)
		return -ENOEXEC;
	room = end - offset < n ? end - offset : n;
	while (done < room) {
		/* Most strings are short: a large buffer is no reason for a large read. */
		size_t step = room - done < 256 ? room - done : 256;
		char *nul;
		int err = read_at(ef, offset + done, buf + done, step);

		if (err)
			return err;
		nul = memchr(buf + done, '\0', step);
		if (nul)
			return nul - buf;
		done += step;
	}
	if (room < n)
		return -ENOEXEC;
	buf[n - 1] = '\0';
	return n - 1;
}

/* ---- opening ---- */

/* From a descriptor that only names the file to one that reads it; takes path_fd over. */
static int reopen_regular(int path_fd)
{
	char path[32];
	struct stat st;
	int fd, err = 0;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	if (err) {
		close(path_fd);
		return err;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	/* O_NONBLOCK: the owner may hold a lease, which would make us wait. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	err = -errno;
	close(path_fd);
	return fd >= 0 ? fd : err;
}

int elffile__open_regular(int dirfd, const char *path)
{
	return reopen_regular(openat(dirfd, path, O_PATH | O_CLOEXEC));
}

static int open_in_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return reopen_regular((int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how)));
}

int elffile__open_in_root(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, 0);
}

int elffile__open_in_root_nofollow(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, O_NOFOLLOW);
}

static int check_ident(const Elf64_Ehdr *eh)
{
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	if (eh->e_machine != EM_X86_64 && eh->e_machine != EM_AARCH64)
		return -ENOTSUP;
	return 0;
}

static int read_headers(struct elffile *ef)
{
	Elf64_Ehdr *eh = &ef->ehdr;
	int err;

	/* A short file of another class is still of another class. */
	if (ef->size < sizeof(*eh)) {
		err = read_at(ef, 0, eh, ef->size);
		if (!err && ef->size > EI_DATA && check_ident(eh) == -ENOTSUP &&
		    eh->e_ident[EI_CLASS] == ELFCLASS32)
			return -ENOTSUP;
		return err ? err : -ENOEXEC;
	}
	err = read_at(ef, 0, eh, sizeof(*eh));
	if (!err)
		err = check_ident(eh);
	if (err || eh->e_phnum == 0)
		return err;
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	if (eh->e_phnum > PHDRS_MAX)
		return -E2BIG;
	ef->phnum = eh->e_phnum;
	ef->phdrs = read_range(ef, eh->e_phoff, ef->phnum * sizeof(Elf64_Phdr), &err);
	return err;
}

static int finish_open(struct elffile *ef, struct elffile **out)
{
	int err = read_headers(ef);

	if (err) {
		elffile__close(ef);
		return err;
	}
	*out = ef;
	return 0;
}

/* Takes fd over, in failure too. */
static int open_owned(int fd, struct elffile **out)
{
	struct elffile *ef;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	ef = err ? NULL : calloc(1, sizeof(*ef));
	if (!ef) {
		close(fd);
		return err ? err : -ENOMEM;
	}
	ef->fd = fd;
	ef->size = st.st_size;
	return finish_open(ef, out);
}

int elffile__open(const char *path, struct elffile **out)
{
	int fd = elffile__open_regular(AT_FDCWD, path);

	return fd < 0 ? fd : open_owned(fd, out);
}

int elffile__open_fd(int fd, struct elffile **out)
{
	int dup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return dup_fd < 0 ? -errno : open_owned(dup_fd, out);
}

int elffile__open_mem(const void *data, size_t size, struct elffile **out)
{
	struct elffile *ef = calloc(1, sizeof(*ef));

	if (!ef)
		return -ENOMEM;
	ef->fd = -1;
	ef->mem = data;
	ef->size = size;
	return finish_open(ef, out);
}

void elffile__close(struct elffile *ef)
{
	if (!ef)
		return;
	if (ef->fd >= 0)
		close(ef->fd);
	free(ef->phdrs);
	free(ef->shdrs);
	free(ef);
}

uint16_t elffile__machine(const struct elffile *ef)
{
	return ef->ehdr.e_machine;
}

uint16_t elffile__type(const struct elffile *ef)
{
	return ef->ehdr.e_type;
}

int elffile__fd(const struct elffile *ef)
{
	return ef->fd;
}

/* ---- segments ---- */

/* The PT_LOAD segment that has n bytes of the file at addr; flags: PF_* it must have. */
static const Elf64_Phdr *segment_at_addr(const struct elffile *ef, uint64_t addr, uint64_t n,
					 uint32_t flags)
{
	size_t i;

	for (i = 0; i < ef->phnum; i++) {
		const Elf64_Phdr *ph = &ef->phdrs[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & flags) == flags &&
		    addr >= ph->p_vaddr && in_range(addr - ph->p_vaddr, n, ph->p_filesz) &&
		    in_range(ph->p_offset, addr - ph->p_vaddr, ef->size) &&
		    in_range(ph->p_offset + (addr - ph->p_vaddr), n, ef->size))
			return ph;
	}
	return NULL;
}

static const Elf64_Phdr *segment_at_offset(const struct elffile *ef, uint64_t off, uint32_t flags)
{
	size_t i;

	for (i = 0; i < ef->phnum; i++) {
		const Elf64_Phdr *ph = &ef->phdrs[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & flags) == flags &&
		    off >= ph->p_offset && off - ph->p_offset < ph->p_filesz && off < ef->size)
			return ph;
	}
	return NULL;
}

int elffile__addr_to_offset(const struct elffile *ef, uint64_t addr, uint64_t *offset)
{
	const Elf64_Phdr *ph = segment_at_addr(ef, addr, 1, 0);

	if (!ph)
		return -ENOENT;
	*offset = ph->p_offset + (addr - ph->p_vaddr);
	return 0;
}

int elffile__offset_to_addr(const struct elffile *ef, uint64_t offset, uint64_t *addr)
{
	/* Segments may share bytes of the file; who asks is after code. */
	const Elf64_Phdr *ph = segment_at_offset(ef, offset, PF_X);

	if (!ph)
		ph = segment_at_offset(ef, offset, 0);
	if (!ph)
		return -ENOENT;
	/* A sum that wraps is nonsense of the file, and harmless: nothing is there. */
	*addr = ph->p_vaddr + (offset - ph->p_offset);
	return 0;
}

int elffile__read_addr(const struct elffile *ef, uint64_t addr, void *buf, size_t n)
{
	const Elf64_Phdr *ph = segment_at_addr(ef, addr, n, 0);

	return ph ? read_at(ef, ph->p_offset + (addr - ph->p_vaddr), buf, n) : -ENOENT;
}

int elffile__segment(const struct elffile *ef, uint32_t type, struct elffile_part *out)
{
	size_t i;

	for (i = 0; i < ef->phnum; i++) {
		const Elf64_Phdr *ph = &ef->phdrs[i];

		if (ph->p_type != type)
			continue;
		*out = (struct elffile_part){ ph->p_vaddr, ph->p_offset, ph->p_filesz };
		return 0;
	}
	return -ENOENT;
}

ssize_t elffile__read_code(struct elffile *ef, uint64_t offset, void *buf, size_t n)
{
	const Elf64_Phdr *ph = segment_at_offset(ef, offset, PF_X);
	uint64_t room;
	int err;

	if (!ph || n == 0)
		return -ENOENT;
	room = ph->p_filesz - (offset - ph->p_offset);
	if (room > ef->size - offset)
		room = ef->size - offset;
	if (n > room)
		n = room;
	if (n > SSIZE_MAX)
		n = SSIZE_MAX;
	err = read_at(ef, offset, buf, n);
	return err ? err : (ssize_t)n;
}

/* ---- sections and symbols ---- */

static int load_sections(struct elffile *ef)
{
	const Elf64_Ehdr *eh = &ef->ehdr;
	uint64_t n = eh->e_shnum;
	Elf64_Shdr first;
	int err;

	if (ef->shdrs)
		return 0;
	if (eh->e_shoff == 0)
		return -ENOENT;
	if (eh->e_shentsize != sizeof(Elf64_Shdr))
		return -ENOEXEC;
	if (n == 0) { /* more than fit the header */
		err = read_at(ef, eh->e_shoff, &first, sizeof(first));
		if (err)
			return err;
		n = first.sh_size;
	}
	if (n == 0)
		return -ENOENT;
	if (n > SHDRS_MAX)
		return -E2BIG;
	ef->shdrs = read_range(ef, eh->e_shoff, n * sizeof(Elf64_Shdr), &err);
	if (err)
		return err;
	ef->shnum = n;
	return 0;
}

struct symtab {
	uint64_t offset; /* of the symbols */
	uint64_t count;
	uint64_t str_offset; /* of their names */
	uint64_t str_size;
};

static int find_symtab(struct elffile *ef, uint32_t type, struct symtab *st)
{
	const Elf64_Shdr *sym, *str;
	size_t i;
	int err = load_sections(ef);

	if (err)
		return err;
	for (i = 0; i < ef->shnum && ef->shdrs[i].sh_type != type; i++)
		;
	if (i == ef->shnum)
		return -ENOENT;
	sym = &ef->shdrs[i];
	if (sym->sh_entsize != sizeof(Elf64_Sym) || sym->sh_link >= ef->shnum)
		return -ENOEXEC;
	str = &ef->shdrs[sym->sh_link];
	if (str->sh_type != SHT_STRTAB || !in_range(sym->sh_offset, sym->sh_size, ef->size) ||
	    !in_range(str->sh_offset, str->sh_size, ef->size))
		return -ENOEXEC;
	*st = (struct symtab){
		.offset = sym->sh_offset,
		.count = sym->sh_size / sizeof(Elf64_Sym),
		.str_offset = str->sh_offset,
		.str_size = str->sh_size,
	};
	return st->count > SYMBOLS_MAX || st->str_size > STRTAB_MAX ? -E2BIG : 0;
}

static bool is_defined_function(const Elf64_Sym *s)
{
	unsigned int type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF;
}

typedef int (*raw_sym_fn)(const Elf64_Sym *sym, void *ctx);

/* Call fn for each symbol, reading the table in pieces. */
static int walk_table(struct elffile *ef, const struct symtab *st, raw_sym_fn fn, void *ctx)
{
	Elf64_Sym *chunk;
	uint64_t i, n, k;
	int err = 0;

	chunk = malloc(SYMBOLS_CHUNK * sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	for (i = 0; !err && i < st->count; i += n) {
		n = st->count - i < SYMBOLS_CHUNK ? st->count - i : SYMBOLS_CHUNK;
		err = read_at(ef, st->offset + i * sizeof(*chunk), chunk, n * sizeof(*chunk));
		for (k = 0; !err && k < n; k++)
			err = fn(&chunk[k], ctx);
	}
	free(chunk);
	return err;
}

struct function_walk {
	struct symtab table;
	elffile_sym_fn fn;
	void *ctx;
};

static int give_function(const Elf64_Sym *s, void *ctx)
{
	struct function_walk *w = ctx;
	struct elffile_sym sym = {
		.name_offset = w->table.str_offset + s->st_name,
		.name_end = w->table.str_offset + w->table.str_size,
		.addr = s->st_value,
		.size = s->st_size,
		.ifunc = ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC,
		.global = ELF64_ST_BIND(s->st_info) != STB_LOCAL,
	};

	if (!is_defined_function(s) || s->st_name >= w->table.str_size)
		return 0;
	return w->fn(&sym, w->ctx);
}

int elffile__walk_functions(struct elffile *ef, enum elffile_table table, elffile_sym_fn fn,
			    void *ctx)
{
	struct function_walk w = { .fn = fn, .ctx = ctx };
	int err;

	err = find_symtab(ef, table == ELFFILE_DYNSYM ? SHT_DYNSYM : SHT_SYMTAB, &w.table);
	return err ? err : walk_table(ef, &w.table, give_function, &w);
}

/* ---- functions by name ---- */

struct wanted {
	const char *name;
	size_t index; /* in the caller's arrays */
};

struct lookup {
	struct elffile *ef;
	const char *strings;
	size_t strings_len;
	struct wanted *wanted; /* sorted by name */
	size_t n;
	size_t longest;
	struct elffile_func *out; /* looking for functions */
	bool *imported;		  /* looking for imports */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

/* The first of those with this name, which may have been asked for more than once. */
static struct wanted *find_wanted(const struct lookup *l, const char *name)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(l->wanted[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n && strcmp(l->wanted[lo].name, name) == 0 ? &l->wanted[lo] : NULL;
}

/* Whether other files can call it, and the code really lies in the file. */
static const Elf64_Phdr *probeable(const struct elffile *ef, const Elf64_Sym *s)
{
	unsigned int bind = ELF64_ST_BIND(s->st_info);
	unsigned int vis = ELF64_ST_VISIBILITY(s->st_other);
	const Elf64_Shdr *sh;

	if ((bind != STB_GLOBAL && bind != STB_WEAK) || vis == STV_HIDDEN || vis == STV_INTERNAL)
		return NULL;
	if (s->st_shndx >= ef->shnum)
		return NULL;
	sh = &ef->shdrs[s->st_shndx];
	if (!(sh->sh_flags & SHF_EXECINSTR) || s->st_value < sh->sh_addr ||
	    !in_range(s->st_value - sh->sh_addr, s->st_size ? s->st_size : 1, sh->sh_size))
		return NULL;
	return segment_at_addr(ef, s->st_value, s->st_size ? s->st_size : 1, PF_X);
}

static struct wanted *wanted_of(const struct lookup *l, const Elf64_Sym *s)
{
	const char *name;
	size_t room;

	if (s->st_name >= l->strings_len)
		return NULL;
	name = l->strings + s->st_name;
	room = l->strings_len - s->st_name;
	if (room > l->longest + 1)
		room = l->longest + 1;
	return memchr(name, '\0', room) ? find_wanted(l, name) : NULL;
}

static int match_function(const Elf64_Sym *s, void *ctx)
{
	struct lookup *l = ctx;
	struct elffile_func *f;
	const Elf64_Phdr *ph;
	struct wanted *w;

	if (!is_defined_function(s))
		return 0;
	w = wanted_of(l, s);
	ph = w ? probeable(l->ef, s) : NULL;
	if (!ph)
		return 0;
	f = &l->out[w->index];
	if (f->found) {
		f->others += f->addr != s->st_value;
		return 0;
	}
	f->found = true;
	f->ifunc = ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC;
	f->offset = ph->p_offset + (s->st_value - ph->p_vaddr);
	f->addr = s->st_value;
	f->size = s->st_size;
	return 0;
}

static int prepare_wanted(struct lookup *l, const char *const *names, size_t n)
{
	size_t i, len;

	l->wanted = calloc(n ? n : 1, sizeof(*l->wanted));
	if (!l->wanted)
		return -ENOMEM;
	l->n = n;
	for (i = 0; i < n; i++) {
		l->wanted[i] = (struct wanted){ names[i], i };
		len = strlen(names[i]);
		if (len > l->longest)
			l->longest = len;
	}
	qsort(l->wanted, n, sizeof(*l->wanted), by_name);
	return 0;
}

static int match_import(const Elf64_Sym *s, void *ctx)
{
	struct lookup *l = ctx;
	struct wanted *w = s->st_shndx == SHN_UNDEF ? wanted_of(l, s) : NULL;

	if (w)
		l->imported[w->index] = true;
	return 0;
}

/* Give repeated names the same answer, and count. */
static int count_functions(struct lookup *l)
{
	int found = 0;
	size_t i;

	for (i = 0; i < l->n; i++) {
		struct elffile_func *f = &l->out[l->wanted[i].index];

		if (i > 0 && strcmp(l->wanted[i].name, l->wanted[i - 1].name) == 0)
			*f = l->out[l->wanted[i - 1].index];
		found += f->found;
	}
	return found;
}

static int count_imports(struct lookup *l)
{
	int found = 0;
	size_t i;

	for (i = 0; i < l->n; i++) {
		bool *f = &l->imported[l->wanted[i].index];

		if (i > 0 && strcmp(l->wanted[i].name, l->wanted[i - 1].name) == 0)
			*f = l->imported[l->wanted[i - 1].index];
		found += *f;
	}
	return found;
}

/* Looks in .dynsym for what l->out or l->imported is to be filled with. */
static int look_up(struct lookup *l, const char *const *names, size_t n)
{
	struct symtab st;
	char *strings;
	int err;

	err = find_symtab(l->ef, SHT_DYNSYM, &st);
	if (err)
		return err == -ENOENT ? 0 : err;
	strings = read_range(l->ef, st.str_offset, st.str_size, &err);
	if (!strings)
		return err;
	l->strings = strings;
	l->strings_len = st.str_size;
	err = prepare_wanted(l, names, n);
	if (!err)
		err = walk_table(l->ef, &st, l->out ? match_function : match_import, l);
	if (!err)
		err = l->out ? count_functions(l) : count_imports(l);
	free(l->wanted);
	free(strings);
	return err;
}

int elffile__find_functions(struct elffile *ef, const char *const *names, size_t n,
			    struct elffile_func *out)
{
	struct lookup l = { .ef = ef, .out = out };

	if (n)
		memset(out, 0, n * sizeof(*out));
	return look_up(&l, names, n);
}

int elffile__find_imports(struct elffile *ef, const char *const *names, size_t n, bool *found)
{
	struct lookup l = { .ef = ef, .imported = found };

	if (n)
		memset(found, 0, n * sizeof(*found));
	return look_up(&l, names, n);
}

/* The section of this name, or NULL with *err set; -ENOENT: there is none. */
static const Elf64_Shdr *find_section(struct elffile *ef, const char *name, int *err)
{
	const Elf64_Ehdr *eh = &ef->ehdr;
	const Elf64_Shdr *str;
	size_t n = strlen(name) + 1, i;
	char buf[64];

	*err = load_sections(ef);
	if (*err)
		return NULL;
	*err = -ENOEXEC;
	i = eh->e_shstrndx == SHN_XINDEX ? ef->shdrs[0].sh_link : eh->e_shstrndx;
	if (i >= ef->shnum || n > sizeof(buf))
		return NULL;
	str = &ef->shdrs[i];
	if (!in_range(str->sh_offset, str->sh_size, ef->size))
		return NULL;
	for (i = 0; i < ef->shnum; i++) {
		if (!in_range(ef->shdrs[i].sh_name, n, str->sh_size))
			continue;
		*err = read_at(ef, str->sh_offset + ef->shdrs[i].sh_name, buf, n);
		if (*err)
			return NULL;
		if (memcmp(buf, name, n) == 0)
			return &ef->shdrs[i];
	}
	*err = -ENOENT;
	return NULL;
}

int elffile__has_section(struct elffile *ef, const char *name)
{
	int err;

	if (find_section(ef, name, &err))
		return 1;
	return err == -ENOENT ? 0 : err;
}

int elffile__section(struct elffile *ef, const char *name, struct elffile_part *out)
{
	const Elf64_Shdr *sh;
	int err;

	sh = find_section(ef, name, &err);
	if (!sh)
		return err;
	if (sh->sh_type == SHT_NOBITS || !(sh->sh_flags & SHF_ALLOC))
		return -ENOENT;
	*out = (struct elffile_part){ sh->sh_addr, sh->sh_offset, sh->sh_size };
	return 0;
}

ssize_t elffile__read_section(struct elffile *ef, const char *name, void *buf, size_t n)
{
	const Elf64_Shdr *sh;
	int err;

	sh = find_section(ef, name, &err);
	if (!sh)
		return err;
	if (sh->sh_type == SHT_NOBITS)
		return -ENOENT;
	if (sh->sh_flags & SHF_COMPRESSED)
		return -ENOTSUP;
	if (sh->sh_size > n)
		return -E2BIG;
	err = read_at(ef, sh->sh_offset, buf, sh->sh_size);
	return err ? err : (ssize_t)sh->sh_size;
}

static bool is_object_named(const struct elffile *ef, const struct symtab *st, const Elf64_Sym *s,
			    const char *name)
{
	size_t n = strlen(name) + 1;
	char buf[64];

	return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_shndx != SHN_UNDEF &&
	       n <= sizeof(buf) && in_range(s->st_name, n, st->str_size) &&
	       !read_at(ef, st->str_offset + s->st_name, buf, n) && !memcmp(buf, name, n);
}

int elffile__find_object(struct elffile *ef, const char *name, uint64_t *addr)
{
	struct symtab st;
	Elf64_Sym sym;
	uint64_t i;
	int err;

	err = find_symtab(ef, SHT_DYNSYM, &st);
	for (i = 0; !err && i < st.count; i++) {
		err = read_at(ef, st.offset + i * sizeof(sym), &sym, sizeof(sym));
		if (!err && is_object_named(ef, &st, &sym, name)) {
			*addr = sym.st_value;
			return 0;
		}
	}
	return err ? err : -ENOENT;
}

int elffile__defines_acl(struct elffile *ef)
{
#define CALL_NAME(name, role, args) #name,
	static const char *const calls[] = { ACL_CALLS(CALL_NAME) };
#undef CALL_NAME
	const char *names[ACL_C_MAX];
	struct elffile_func found[ACL_C_MAX];
	size_t i, n = 0;
	int err;

	for (i = 0; i < ACL_C_MAX; i++) {
		if (strncmp(calls[i], "aclrt", 5) == 0)
			names[n++] = calls[i];
	}
	err = elffile__find_functions(ef, names, n, found);
	return err < 0 ? err : err > 0;
}

/* ---- notes, dynamic section, interpreter ---- */

static size_t align_up(size_t v, size_t align)
{
	return (v + align - 1) & ~(align - 1);
}

/* Returns the length of the build id, 0 if these notes have none. */
static int build_id_in(const uint8_t *notes, size_t len, size_t align, uint8_t *id)
{
	Elf64_Nhdr nh;
	size_t pos = 0;

	while (in_range(pos, sizeof(nh), len)) {
		size_t name = pos + sizeof(nh), desc;

		memcpy(&nh, notes + pos, sizeof(nh));
		if (nh.n_namesz > len || nh.n_descsz > len)
			return 0;
		desc = align_up(name + nh.n_namesz, align);
		if (!in_range(desc, nh.n_descsz, len))
			return 0;
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
		    nh.n_descsz > 0 && nh.n_descsz <= ELFFILE_BUILD_ID_MAX) {
			memcpy(id, notes + desc, nh.n_descsz);
			return (int)nh.n_descsz;
		}
		pos = align_up(desc + nh.n_descsz, align);
	}
	return 0;
}

/* Of a file without segments, such as what debug files share. */
static int build_id_of_section(struct elffile *ef, uint8_t *id)
{
	uint8_t notes[256];
	ssize_t n = elffile__read_section(ef, ".note.gnu.build-id", notes, sizeof(notes));

	return n > 0 ? build_id_in(notes, (size_t)n, 4, id) : 0;
}

int elffile__build_id(struct elffile *ef, uint8_t id[ELFFILE_BUILD_ID_MAX])
{
	int err, n = 0;
	size_t i;

	for (i = 0; i < ef->phnum && n == 0; i++) {
		const Elf64_Phdr *ph = &ef->phdrs[i];
		uint8_t *notes;

		if (ph->p_type != PT_NOTE || ph->p_filesz > NOTES_MAX)
			continue;
		notes = read_range(ef, ph->p_offset, ph->p_filesz, &err);
		if (!notes)
			return err;
		n = build_id_in(notes, ph->p_filesz, ph->p_align == 8 ? 8 : 4, id);
		free(notes);
	}
	if (ef->phnum == 0)
		n = build_id_of_section(ef, id);
	return n ? n : -ENOENT;
}

static const Elf64_Phdr *find_segment(const struct elffile *ef, uint32_t type)
{
	size_t i;

	for (i = 0; i < ef->phnum; i++) {
		if (ef->phdrs[i].p_type == type)
			return &ef->phdrs[i];
	}
	return NULL;
}

struct dynamic {
	Elf64_Dyn *entries;
	size_t count;
	uint64_t str_offset;
	uint64_t str_end;
};

static int load_dynamic(struct elffile *ef, struct dynamic *d)
{
	const Elf64_Phdr *ph = find_segment(ef, PT_DYNAMIC);
	uint64_t str_addr = 0, str_size = 0;
	size_t i;
	int err;

	if (!ph)
		return -ENOENT;
	d->count = ph->p_filesz / sizeof(Elf64_Dyn);
	if (d->count > DYNAMIC_MAX)
		return -E2BIG;
	d->entries = read_range(ef, ph->p_offset, d->count * sizeof(Elf64_Dyn), &err);
	if (!d->entries)
		return err;
	for (i = 0; i < d->count && d->entries[i].d_tag != DT_NULL; i++) {
		if (d->entries[i].d_tag == DT_STRTAB)
			str_addr = d->entries[i].d_un.d_ptr;
		else if (d->entries[i].d_tag == DT_STRSZ)
			str_size = d->entries[i].d_un.d_val;
	}
	d->count = i;
	err = elffile__addr_to_offset(ef, str_addr, &d->str_offset);
	if (err || !in_range(d->str_offset, str_size, ef->size)) {
		free(d->entries);
		return -ENOEXEC;
	}
	d->str_end = d->str_offset + str_size;
	return 0;
}

int elffile__walk_dynamic(struct elffile *ef, int64_t tag, elffile_str_fn fn, void *ctx)
{
	struct dynamic d = {};
	ssize_t len;
	char *buf;
	size_t i;
	int err;

	err = load_dynamic(ef, &d);
	if (err)
		return err;
	buf = malloc(STRING_MAX);
	if (!buf)
		err = -ENOMEM;
	for (i = 0; !err && i < d.count; i++) {
		if (d.entries[i].d_tag != tag)
			continue;
		if (d.entries[i].d_un.d_val >= d.str_end - d.str_offset) {
			err = -ENOEXEC;
			break;
		}
		len = elffile__read_string(ef, d.str_offset + d.entries[i].d_un.d_val, d.str_end,
					   buf, STRING_MAX);
		err = len < 0 ? (int)len : fn(buf, (size_t)len, ctx);
	}
	free(buf);
	free(d.entries);
	return err;
}

static int same_name(const char *str, size_t len, void *ctx)
{
	return strlen(ctx) == len && memcmp(str, ctx, len) == 0;
}

int elffile__needs(struct elffile *ef, const char *soname)
{
	int ret = elffile__walk_dynamic(ef, DT_NEEDED, same_name, (void *)soname);

	return ret == -ENOENT ? 0 : ret;
}

/* The interpreter in the first line of a script: 1, or 0 if the file is no script. */
static int script_interpreter(const char *path, char interp[SCRIPT_LINE_MAX])
{
	char line[SCRIPT_LINE_MAX];
	const char *p, *end;
	size_t len;
	ssize_t n;
	int fd;

	fd = elffile__open_regular(AT_FDCWD, path);
	if (fd < 0)
		return fd;
	n = pread(fd, line, sizeof(line), 0);
	close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	end = line + n;
	for (p = line + 2; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	for (len = 0; p + len < end && !memchr(" \t\n", p[len], 4); len++)
		;
	/* An empty name, or one that may go on where the kernel stops reading. */
	if (len == 0 || (p + len == end && n == sizeof(line)))
		return -ENOEXEC;
	memcpy(interp, p, len);
	interp[len] = '\0';
	return 1;
}

int elffile__script_program(const char *path, char *buf, size_t n)
{
	char interp[SCRIPT_LINE_MAX];
	int depth, ret;

	if (strlen(path) >= n)
		return -ENAMETOOLONG;
	memmove(buf, path, strlen(path) + 1);
	for (depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
		ret = script_interpreter(buf, interp);
		if (ret <= 0)
			return ret ? ret : depth;
		if (strlen(interp) >= n)
			return -ENAMETOOLONG;
		strcpy(buf, interp);
	}
	return -ELOOP;
}

static int read_interp(struct elffile *ef, char *buf, size_t n)
{
	const Elf64_Phdr *ph = find_segment(ef, PT_INTERP);
	int err;

	if (!ph)
		return -ENOENT;
	if (ph->p_filesz < 2 || ph->p_filesz > PATH_MAX)
		return -ENOEXEC;
	if (ph->p_filesz > n)
		return -ENAMETOOLONG;
	err = read_at(ef, ph->p_offset, buf, ph->p_filesz);
	if (!err && buf[ph->p_filesz - 1] != '\0')
		err = -ENOEXEC;
	return err;
}

int elffile__interp(const char *path, char *buf, size_t n)
{
	char program[PATH_MAX];
	struct elffile *ef;
	int err;

	err = elffile__script_program(path, program, sizeof(program));
	if (err < 0)
		return err;
	err = elffile__open(program, &ef);
	if (err)
		return err;
	err = read_interp(ef, buf, n);
	elffile__close(ef);
	return err;
}

bool elffile__is_stub_path(const char *path)
{
	return strstr(path, "/devlib/") || strstr(path, "/lib64/stub/");
}
