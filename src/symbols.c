/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names for code addresses.
 *
 * A process is held by a descriptor of its /proc directory: as long as that is
 * open, what is read through it is of this process or fails, also when the pid
 * has been given to another one.  A descriptor of its root directory still
 * leads to its files after it exited, and one of its mount namespace keeps the
 * file systems of a container in place until then.
 *
 * Per file, only the addresses and sizes of its functions are kept, sorted; the
 * names are read from the file when one is shown.  The file stays open, so that
 * its inode number cannot be given to another file while it is our key.
 *
 * Source lines come from libdw.  Its own machinery for modules (libdwfl) is not
 * used: it opens files by the names that the target's files contain, and asks
 * debuginfod servers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "symbols.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "escape.h"
#include "maps.h"
#include "privileges.h"

/* Of one file; more is taken for hostile, and the rest of it has no names. */
#define FUNCS_MAX (4UL << 20)
/* Debug sections of one file, uncompressed. */
#define DWARF_MAX (128UL << 20)
/* Compilation units looked at for one address, where no index leads to the right one. */
#define DWARF_UNITS_MAX 20000
/* Symbols before the nearest one that may cover the address, and names compared for it. */
#define FUNCS_LOOK_BACK 16
#define DEBUG_DIR "/usr/lib/debug/.build-id"

struct func {
	uint64_t addr;
	uint64_t size;
	uint64_t name_offset : 63;
	uint64_t global : 1;
};

struct module {
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	struct timespec mtime; /* with the size: whether the file was written to */
	off_t file_size;
	uint64_t used;
	size_t bytes;

	struct elffile *ef;    /* as mapped */
	struct elffile *debug; /* its separate debug file, or NULL */
	uint8_t build_id[ELFFILE_BUILD_ID_MAX];
	unsigned int build_id_len;

	bool funcs_loaded;
	struct elffile *names; /* ef or debug: where the names of funcs are */
	uint64_t names_end;
	struct func *funcs;
	size_t func_count;
	size_t func_cap;

	bool dwarf_tried;
	int dwarf_fd;
	Elf *elf;
	Dwarf *dwarf;
};

struct snapshot {
	pid_t pid;
	int proc_fd; /* /proc/PID */
	int root_fd; /* its root directory, or -1 */
	int mnt_fd;  /* its mount namespace, or -1: held, never entered */
	uint64_t used;
	struct maps maps;
};

struct symbolizer {
	unsigned int flags;
	uint64_t clock; /* counts uses, for finding the oldest */
	size_t bytes;	/* kept by all modules */
	size_t snapshot_count;
	size_t module_count;
	struct snapshot *snapshots[SYMBOLIZER_PIDS_MAX];
	struct module *modules[SYMBOLIZER_MODULES_MAX];
};

/* ---- modules ---- */

static void module__close_dwarf(struct module *m)
{
	if (m->dwarf)
		dwarf_end(m->dwarf);
	if (m->elf)
		elf_end(m->elf);
	if (m->dwarf_fd >= 0)
		close(m->dwarf_fd);
	m->dwarf = NULL;
	m->elf = NULL;
	m->dwarf_fd = -1;
}

static void module__free(struct module *m)
{
	module__close_dwarf(m);
	elffile__close(m->debug);
	elffile__close(m->ef);
	free(m->funcs);
	free(m);
}

static void drop_module(struct symbolizer *sym, size_t i)
{
	sym->bytes -= sym->modules[i]->bytes;
	module__free(sym->modules[i]);
	sym->modules[i] = sym->modules[--sym->module_count];
}

/* Of all but one, which is in use, or NULL.  False: there is none. */
static bool drop_oldest_module(struct symbolizer *sym, const struct module *keep)
{
	size_t i, oldest = SYMBOLIZER_MODULES_MAX;

	for (i = 0; i < sym->module_count; i++) {
		if (sym->modules[i] != keep && (oldest == SYMBOLIZER_MODULES_MAX ||
						sym->modules[i]->used < sym->modules[oldest]->used))
			oldest = i;
	}
	if (oldest == SYMBOLIZER_MODULES_MAX)
		return false;
	drop_module(sym, oldest);
	return true;
}

static void account(struct symbolizer *sym, struct module *m, size_t bytes)
{
	m->bytes += bytes;
	sym->bytes += bytes;
	while (sym->bytes > SYMBOLIZER_BYTES_MAX && drop_oldest_module(sym, m))
		;
}

static bool same_build_id(const struct module *m, struct elffile *other)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	int n = elffile__build_id(other, id);

	return n > 0 && (unsigned int)n == m->build_id_len && memcmp(id, m->build_id, n) == 0;
}

/* What the distribution's debug package installs; of this system, not of the target's root. */
static void module__open_debug(struct module *m)
{
	char path[sizeof(DEBUG_DIR) + 2 * ELFFILE_BUILD_ID_MAX + 16];
	struct elffile *ef;
	unsigned int i;
	size_t n;

	if (m->build_id_len < 2)
		return;
	n = snprintf(path, sizeof(path), "%s/%02x/", DEBUG_DIR, m->build_id[0]);
	for (i = 1; i < m->build_id_len; i++)
		n += snprintf(path + n, sizeof(path) - n, "%02x", m->build_id[i]);
	snprintf(path + n, sizeof(path) - n, ".debug");
	if (elffile__open(path, &ef))
		return;
	if (same_build_id(m, ef))
		m->debug = ef;
	else
		elffile__close(ef);
}

/* Takes fd over. */
static struct module *module__new(int fd, const struct map_entry *e)
{
	struct module *m = calloc(1, sizeof(*m));
	struct stat st;
	int n;

	if (!m || fstat(fd, &st) || elffile__open_fd(fd, &m->ef)) {
		close(fd);
		free(m);
		return NULL;
	}
	close(fd);
	m->dev_major = e->dev_major;
	m->dev_minor = e->dev_minor;
	m->inode = e->inode;
	m->mtime = st.st_mtim;
	m->file_size = st.st_size;
	m->bytes = sizeof(*m);
	m->dwarf_fd = -1;
	n = elffile__build_id(m->ef, m->build_id);
	m->build_id_len = n > 0 ? n : 0;
	module__open_debug(m);
	return m;
}

static bool module__is_current(const struct module *m)
{
	struct stat st;

	return fstat(elffile__fd(m->ef), &st) == 0 && st.st_size == m->file_size &&
	       st.st_mtim.tv_sec == m->mtime.tv_sec && st.st_mtim.tv_nsec == m->mtime.tv_nsec;
}

static void map_files_name(const struct map_entry *e, char name[64])
{
	snprintf(name, 64, "map_files/%" PRIx64 "-%" PRIx64, e->start, e->end);
}

/* The file behind a mapping, or -errno. */
static int open_mapped(const struct snapshot *s, const struct map_entry *e)
{
	char link[64];
	struct stat st;
	int fd;

	/* This is the mapped file itself, whatever became of its name. */
	map_files_name(e, link);
	fd = elffile__open_regular(s->proc_fd, link);
	if (fd >= 0 || s->root_fd < 0)
		return fd;
	fd = elffile__open_in_root(s->root_fd, e->path);
	if (fd < 0)
		return fd;
	/*
	 * This is what has the name now.  The device is not compared: overlay
	 * file systems and btrfs show another one in stat() than in maps.
	 */
	if (fstat(fd, &st) == 0 && st.st_ino == e->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

static struct module *find_module(struct symbolizer *sym, const struct map_entry *e)
{
	size_t i;

	for (i = 0; i < sym->module_count; i++) {
		struct module *m = sym->modules[i];

		if (m->inode != e->inode || m->dev_major != e->dev_major ||
		    m->dev_minor != e->dev_minor)
			continue;
		if (module__is_current(m))
			return m;
		drop_module(sym, i);
		return NULL;
	}
	return NULL;
}

static struct module *get_module(struct symbolizer *sym, const struct snapshot *s,
				 const struct map_entry *e)
{
	struct module *m = find_module(sym, e);
	int fd;

	if (!m) {
		privileges__raise();
		fd = open_mapped(s, e);
		privileges__lower();
		m = fd < 0 ? NULL : module__new(fd, e);
		if (!m)
			return NULL;
		if (sym->module_count == SYMBOLIZER_MODULES_MAX)
			drop_oldest_module(sym, NULL);
		sym->modules[sym->module_count++] = m;
		sym->bytes += m->bytes;
	}
	m->used = ++sym->clock;
	return m;
}

/* ---- functions ---- */

static int add_func(const struct elffile_sym *s, void *ctx)
{
	struct module *m = ctx;

	if (s->addr == 0)
		return 0;
	if (m->func_count == m->func_cap) {
		size_t cap = m->func_cap ? m->func_cap * 2 : 1024;
		struct func *grown;

		if (cap > FUNCS_MAX)
			return -E2BIG;
		grown = realloc(m->funcs, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->funcs = grown;
		m->func_cap = cap;
	}
	m->names_end = s->name_end;
	m->funcs[m->func_count++] = (struct func){
		.addr = s->addr,
		.size = s->size,
		.name_offset = s->name_offset,
		.global = s->global,
	};
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void try_table(struct module *m, struct elffile *ef, enum elffile_table table)
{
	if (!ef || m->func_count > 0)
		return;
	m->names = ef;
	/* What was read before an error still is what the file says. */
	(void)elffile__walk_functions(ef, table, add_func, m);
}

static void load_funcs(struct symbolizer *sym, struct module *m)
{
	if (m->funcs_loaded)
		return;
	m->funcs_loaded = true;
	/* The fullest table there is. */
	try_table(m, m->ef, ELFFILE_SYMTAB);
	try_table(m, m->debug, ELFFILE_SYMTAB);
	try_table(m, m->ef, ELFFILE_DYNSYM);
	if (m->func_count == 0)
		return;
	qsort(m->funcs, m->func_count, sizeof(*m->funcs), by_addr);
	account(sym, m, m->func_cap * sizeof(*m->funcs));
}

static bool covers(const struct func *f, uint64_t addr)
{
	/* Without a size we know where it begins and nothing more. */
	return addr - f->addr < (f->size ? f->size : 1);
}

/* The nearest function that covers addr, and its index; others at its place precede it. */
static const struct func *find_func(const struct module *m, uint64_t addr, size_t *index)
{
	size_t lo = 0, hi = m->func_count, n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->funcs[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (n = 0; n < FUNCS_LOOK_BACK && lo > 0; n++) {
		if (covers(&m->funcs[--lo], addr)) {
			*index = lo;
			return &m->funcs[lo];
		}
	}
	return NULL;
}

static char *read_name(const struct module *m, const struct func *f)
{
	char *name = malloc(SYMBOLIZER_NAME_MAX), *shrunk;
	ssize_t n;

	if (!name)
		return NULL;
	n = elffile__read_string(m->names, f->name_offset, m->names_end, name, SYMBOLIZER_NAME_MAX);
	if (n <= 0) {
		free(name);
		return NULL;
	}
	shrunk = realloc(name, n + 1);
	return shrunk ? shrunk : name;
}

/* Of several names of one place, the one that people call it by: "write", not "__write". */
static bool is_better(const struct func *f, const char *name, const struct func *best,
		      const char *best_name)
{
	size_t bars = strspn(name, "_"), best_bars = strspn(best_name, "_");
	size_t len = strlen(name), best_len = strlen(best_name);

	if (f->global != best->global)
		return f->global;
	if (bars != best_bars)
		return bars < best_bars;
	if (len != best_len)
		return len < best_len;
	return strcmp(name, best_name) < 0;
}

static void name_function(struct module *m, uint64_t addr, struct sym_result *res)
{
	const struct func *f, *best = NULL;
	uint64_t place;
	size_t i, n;

	f = find_func(m, addr, &i);
	if (!f)
		return;
	place = f->addr;
	for (n = 0; n < FUNCS_LOOK_BACK && m->funcs[i].addr == place; n++, i--) {
		char *name = covers(&m->funcs[i], addr) ? read_name(m, &m->funcs[i]) : NULL;

		if (name && (!best || is_better(&m->funcs[i], name, best, res->function))) {
			free(res->function);
			res->function = name;
			best = &m->funcs[i];
		} else {
			free(name);
		}
		if (i == 0)
			break;
	}
	if (best)
		res->function_offset = addr - place;
}

/* ---- source lines ---- */

/*
 * The uncompressed size of what libdw would load, or 0 if it shall not: no
 * lines, too large, or references to further files, which libdw would open by
 * the path that stands in this one.
 */
static uint64_t dwarf_bytes(Elf *elf)
{
	bool lines = false;
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	size_t strndx;

	if (elf_getshdrstrndx(elf, &strndx))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;
		GElf_Chdr ch;

		if (!gelf_getshdr(scn, &sh))
			return 0;
		name = elf_strptr(elf, strndx, sh.sh_name);
		if (!name)
			continue;
		if (strncmp(name, ".zdebug", 7) == 0 || strstr(name, ".dwo") ||
		    strcmp(name, ".gnu_debugaltlink") == 0)
			return 0;
		if (strncmp(name, ".debug_", 7) != 0 || sh.sh_type == SHT_NOBITS)
			continue;
		lines |= strcmp(name, ".debug_line") == 0;
		if (sh.sh_flags & SHF_COMPRESSED) {
			if (sh.sh_size > DWARF_MAX || !gelf_getchdr(scn, &ch))
				return 0;
			sh.sh_size = ch.ch_size;
		}
		if (sh.sh_size > DWARF_MAX - sum)
			return 0;
		sum += sh.sh_size;
	}
	return lines ? sum : 0;
}

static bool open_dwarf(struct symbolizer *sym, struct module *m, struct elffile *ef)
{
	uint64_t bytes;

	if (!ef)
		return false;
	m->dwarf_fd = fcntl(elffile__fd(ef), F_DUPFD_CLOEXEC, 3);
	if (m->dwarf_fd < 0)
		return false;
	/* Not mapped: the owner of the file may truncate it. */
	m->elf = elf_begin(m->dwarf_fd, ELF_C_READ, NULL);
	bytes = m->elf ? dwarf_bytes(m->elf) : 0;
	if (bytes)
		m->dwarf = dwarf_begin_elf(m->elf, DWARF_C_READ, NULL);
	if (!m->dwarf) {
		module__close_dwarf(m);
		return false;
	}
	account(sym, m, bytes);
	return true;
}

static void load_dwarf(struct symbolizer *sym, struct module *m)
{
	if (m->dwarf_tried)
		return;
	m->dwarf_tried = true;
	if (sym->flags & SYMBOLIZER_NO_LINES || elf_version(EV_CURRENT) == EV_NONE)
		return;
	if (!open_dwarf(sym, m, m->ef))
		open_dwarf(sym, m, m->debug);
}

/* The compilation unit of an address, without .debug_aranges: clang writes none. */
static Dwarf_Die *search_units(Dwarf *dwarf, uint64_t addr, Dwarf_Die *die)
{
	Dwarf_Off off = 0, next;
	size_t header, n;

	for (n = 0; n < DWARF_UNITS_MAX; n++, off = next) {
		if (dwarf_nextcu(dwarf, off, &next, &header, NULL, NULL, NULL) != 0)
			return NULL;
		if (next <= off)
			return NULL;
		if (dwarf_offdie(dwarf, off + header, die) && dwarf_haspc(die, addr) == 1)
			return die;
	}
	return NULL;
}

/* Lines are a courtesy: what goes wrong here leaves them unknown. */
static void name_line(struct symbolizer *sym, struct module *m, uint64_t addr,
		      struct sym_result *res)
{
	Dwarf_Die mem, *cu;
	Dwarf_Line *line;
	const char *file;
	int n;

	load_dwarf(sym, m);
	if (!m->dwarf)
		return;
	cu = dwarf_addrdie(m->dwarf, addr, &mem);
	if (!cu)
		cu = search_units(m->dwarf, addr, &mem);
	line = cu ? dwarf_getsrc_die(cu, addr) : NULL;
	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(line, &n) || n <= 0)
		return;
	res->file = strndup(file, SYMBOLIZER_NAME_MAX);
	if (res->file)
		res->line = n;
}

/* ---- snapshots ---- */

static void snapshot__free(struct snapshot *s)
{
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	if (s->root_fd >= 0)
		close(s->root_fd);
	if (s->mnt_fd >= 0)
		close(s->mnt_fd);
	maps__free(&s->maps);
	free(s);
}

static void drop_snapshot(struct symbolizer *sym, size_t i)
{
	snapshot__free(sym->snapshots[i]);
	sym->snapshots[i] = sym->snapshots[--sym->snapshot_count];
}

static int snapshot__refresh(struct snapshot *s)
{
	struct maps fresh = {}; /* what an exiting process shows is empty, and not to replace ours */
	int fd, err;

	fd = openat(s->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = maps__read_fd(fd, &fresh);
	close(fd);
	if (!err && fresh.count == 0)
		err = -ESRCH;
	if (err) {
		maps__free(&fresh);
		return err;
	}
	maps__free(&s->maps);
	s->maps = fresh;
	return 0;
}

static int open_proc(pid_t pid)
{
	char path[32];
	int fd;

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d", maps__task(pid));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

static int snapshot__new(pid_t pid, struct snapshot **out)
{
	int err, fd = open_proc(pid);
	struct snapshot *s;

	if (fd < 0)
		return fd;
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->pid = pid;
	s->proc_fd = fd;
	s->root_fd = openat(fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->mnt_fd = openat(fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
	err = snapshot__refresh(s);
	if (err) {
		snapshot__free(s);
		return err;
	}
	*out = s;
	return 0;
}

static struct snapshot *find_snapshot(struct symbolizer *sym, pid_t pid)
{
	size_t i;

	for (i = 0; i < sym->snapshot_count; i++) {
		if (sym->snapshots[i]->pid == pid) {
			sym->snapshots[i]->used = ++sym->clock;
			return sym->snapshots[i];
		}
	}
	return NULL;
}

static void add_snapshot(struct symbolizer *sym, struct snapshot *s)
{
	size_t i, oldest = 0;

	if (sym->snapshot_count == SYMBOLIZER_PIDS_MAX) {
		for (i = 1; i < sym->snapshot_count; i++) {
			if (sym->snapshots[i]->used < sym->snapshots[oldest]->used)
				oldest = i;
		}
		drop_snapshot(sym, oldest);
	}
	s->used = ++sym->clock;
	sym->snapshots[sym->snapshot_count++] = s;
}

static int take_snapshot(struct symbolizer *sym, pid_t pid)
{
	struct snapshot *s = find_snapshot(sym, pid);
	int err, fd;

	if (!s) {
		err = snapshot__new(pid, &s);
		if (!err)
			add_snapshot(sym, s);
		return err;
	}
	err = snapshot__refresh(s);
	if (err != -ESRCH)
		return err;
	/* Ours is gone; is there one of this number nevertheless, with memory of its own? */
	fd = open_proc(pid);
	if (fd < 0)
		return -ESRCH;
	err = faccessat(s->proc_fd, "maps", F_OK, 0) ? -ESTALE : -ESRCH;
	close(fd);
	return err;
}

int symbolizer__snapshot(struct symbolizer *sym, pid_t pid)
{
	int err;

	privileges__raise();
	err = take_snapshot(sym, pid);
	privileges__lower();
	return err;
}

void symbolizer__forget(struct symbolizer *sym, pid_t pid)
{
	size_t i;

	for (i = 0; i < sym->snapshot_count; i++) {
		if (sym->snapshots[i]->pid == pid) {
			drop_snapshot(sym, i);
			return;
		}
	}
}

/* ---- the symbolizer ---- */

struct symbolizer *symbolizer__new(unsigned int flags)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (sym)
		sym->flags = flags;
	return sym;
}

void symbolizer__trim(struct symbolizer *sym)
{
	while (sym->module_count > 0)
		drop_module(sym, sym->module_count - 1);
}

void symbolizer__free(struct symbolizer *sym)
{
	if (!sym)
		return;
	symbolizer__trim(sym);
	while (sym->snapshot_count > 0)
		drop_snapshot(sym, sym->snapshot_count - 1);
	free(sym);
}

/*
 * Whether the process has something else now where the snapshot has this file:
 * it may have closed one library and opened another.  One readlink tells, and
 * what it cannot tell (a process that is gone, a very long path) is no change.
 */
static bool has_changed(const struct snapshot *s, const struct map_entry *e)
{
	char name[64], target[PATH_MAX];
	size_t len = strlen(e->path);
	ssize_t n;

	map_files_name(e, name);
	n = readlinkat(s->proc_fd, name, target, sizeof(target));
	if (n < 0)
		return errno == ENOENT;
	if ((size_t)n == sizeof(target))
		return false;
	/* " (deleted)" may follow. */
	return (size_t)n < len || memcmp(target, e->path, len) != 0;
}

/* The mapping of an address, asking the process again where ours is missing or out of date. */
static const struct map_entry *look_for_mapping(struct symbolizer *sym, pid_t pid, uint64_t addr,
						struct snapshot **out)
{
	struct snapshot *s = find_snapshot(sym, pid);
	const struct map_entry *e = s ? maps__find(&s->maps, addr) : NULL;

	if (e && (!map_entry__is_file(e) || !has_changed(s, e))) {
		*out = s;
		return e;
	}
	/* On failure the old one remains; then it is the best that there will ever be. */
	(void)symbolizer__snapshot(sym, pid);
	*out = s = find_snapshot(sym, pid);
	return s ? maps__find(&s->maps, addr) : NULL;
}

static const struct map_entry *find_mapping(struct symbolizer *sym, pid_t pid, uint64_t addr,
					    struct snapshot **out)
{
	const struct map_entry *e;

	privileges__raise();
	e = look_for_mapping(sym, pid, addr, out);
	privileges__lower();
	return e;
}

static enum sym_kind kind_of(const struct map_entry *e)
{
	if (map_entry__is_file(e))
		return SYM_FILE;
	if (e->path && (strcmp(e->path, "[vdso]") == 0 || strcmp(e->path, "[vsyscall]") == 0))
		return SYM_VDSO;
	return SYM_ANON;
}

/* back: how far before the address the instruction lies that is meant. */
static void resolve_in_file(struct symbolizer *sym, const struct snapshot *s,
			    const struct map_entry *e, unsigned int back, struct sym_result *res)
{
	struct module *m = get_module(sym, s, e);
	uint64_t addr;

	if (!m)
		return;
	memcpy(res->build_id, m->build_id, m->build_id_len);
	res->build_id_len = m->build_id_len;
	if (elffile__offset_to_addr(m->ef, res->module_offset - back, &addr))
		return;
	res->module_addr = addr + back;
	load_funcs(sym, m);
	name_function(m, addr, res);
	if (res->function)
		res->function_offset += back;
	name_line(sym, m, addr, res);
}

static int resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, unsigned int back,
		   struct sym_result *out)
{
	struct sym_result res = { .kind = SYM_UNKNOWN, .addr = addr };
	const struct map_entry *e;
	struct snapshot *s = NULL;

	if (pid <= 0)
		return -EINVAL;
	if (addr == 0)
		back = 0;
	e = find_mapping(sym, pid, addr - back, &s);
	if (e) {
		res.kind = kind_of(e);
		res.deleted = e->deleted;
		res.module = strdup(e->path ? e->path : "[anon]");
		if (!res.module)
			return -ENOMEM;
		res.module_offset = addr - e->start;
		if (res.kind == SYM_FILE) {
			res.module_offset += e->offset;
			resolve_in_file(sym, s, e, back, &res);
		}
	}
	*out = res;
	return 0;
}

int symbolizer__resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, struct sym_result *out)
{
	return resolve(sym, pid, addr, 0, out);
}

int symbolizer__resolve_return(struct symbolizer *sym, pid_t pid, uint64_t addr,
			       struct sym_result *out)
{
	return resolve(sym, pid, addr, 1, out);
}

void sym_result__clear(struct sym_result *res)
{
	free(res->function);
	free(res->module);
	free(res->file);
	*res = (struct sym_result){};
}

/* ---- showing ---- */

struct line {
	char *buf;
	size_t n;
	size_t pos;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(l->buf + l->pos, l->n - l->pos, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	/* vsnprintf says how long it would have been. */
	l->pos = (size_t)len < l->n - l->pos ? l->pos + len : l->n - 1;
}

static void add_escaped(struct line *l, const char *s, size_t most)
{
	size_t room = l->n - l->pos;

	l->pos += escape__str(l->buf + l->pos, room < most ? room : most, s);
}

/* A share of the line for one name; short lines are for those who do not mind cuts. */
static size_t share(size_t n, size_t least)
{
	return n > least ? n : least;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

size_t sym_format(char *buf, size_t n, unsigned int frame, const struct sym_result *res)
{
	struct line l = { buf, n, 0 };

	if (n == 0)
		return 0;
	buf[0] = '\0';
	add(&l, "#%u 0x%" PRIx64, frame, res->addr);
	if (res->kind == SYM_UNKNOWN) {
		add(&l, " (unknown)");
		return l.pos;
	}
	if (res->function) {
		add(&l, " ");
		add_escaped(&l, res->function, share(n * 3 / 8, 64));
		add(&l, "+0x%" PRIx64, res->function_offset);
	}
	add(&l, " (");
	add_escaped(&l, res->kind == SYM_FILE ? base_name(res->module) : res->module,
		    share(n / 8, 32));
	add(&l, "+0x%" PRIx64 "%s)", res->module_offset, res->deleted ? ", deleted" : "");
	if (res->file) {
		add(&l, " ");
		add_escaped(&l, base_name(res->file), share(n / 8, 32));
		add(&l, ":%u", res->line);
	}
	return l.pos;
}
