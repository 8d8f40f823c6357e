/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The functions of a file, see symfile.h. */
#include "symfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of one file; more is taken for hostile, and the rest of it has no names. */
#define FUNCS_MAX (4UL << 20)
/* Symbols before the nearest one that may cover the address, and names compared for it. */
#define FUNCS_LOOK_BACK 16

struct func {
	uint64_t addr;
	uint64_t size;
	uint64_t name_offset : 63;
	uint64_t global : 1;
};

struct symfile_funcs {
	struct elffile *names; /* where the names are */
	uint64_t names_end;
	struct func *all;
	size_t count;
	size_t room;
};

static void read_build_id(struct symfile *f)
{
	int n = elffile__build_id(f->ef, f->build_id);

	f->build_id_len = n > 0 ? n : 0;
	f->bytes = sizeof(*f);
}

int symfile__open(int fd, const char *path, const struct debug_dirs *dirs, struct symfile **out)
{
	struct symfile *f = calloc(1, sizeof(*f));
	struct stat st;
	int err = f ? 0 : -ENOMEM;

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err)
		err = elffile__open_fd(fd, &f->ef);
	if (err) {
		free(f);
		return err;
	}
	f->mtime = st.st_mtim;
	f->size = st.st_size;
	read_build_id(f);
	f->debug = debugfile__find(dirs, f->ef, f->build_id, f->build_id_len, path);
	*out = f;
	return 0;
}

int symfile__open_mem(const void *data, size_t size, struct symfile **out)
{
	struct symfile *f = calloc(1, sizeof(*f));
	int err = f ? elffile__open_mem(data, size, &f->ef) : -ENOMEM;

	if (err) {
		free(f);
		return err;
	}
	read_build_id(f);
	*out = f;
	return 0;
}

void symfile__close(struct symfile *f)
{
	if (!f)
		return;
	elffile__close(f->debug);
	elffile__close(f->ef);
	if (f->funcs)
		free(f->funcs->all);
	free(f->funcs);
	free(f);
}

bool symfile__is_current(const struct symfile *f)
{
	struct stat st;

	return fstat(elffile__fd(f->ef), &st) == 0 && st.st_size == f->size &&
	       st.st_mtim.tv_sec == f->mtime.tv_sec && st.st_mtim.tv_nsec == f->mtime.tv_nsec;
}

static int add_func(const struct elffile_sym *s, void *ctx)
{
	struct symfile_funcs *fs = ctx;

	if (s->addr == 0)
		return 0;
	if (fs->count == fs->room) {
		size_t room = fs->room ? fs->room * 2 : 1024;
		struct func *grown;

		if (room > FUNCS_MAX)
			return -E2BIG;
		grown = realloc(fs->all, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		fs->all = grown;
		fs->room = room;
	}
	fs->names_end = s->name_end;
	fs->all[fs->count++] = (struct func){
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

static void try_table(struct symfile_funcs *fs, struct elffile *ef, enum elffile_table table)
{
	if (!ef || fs->count > 0)
		return;
	fs->names = ef;
	/* What was read before an error still is what the file says. */
	(void)elffile__walk_functions(ef, table, add_func, fs);
}

static const struct symfile_funcs *load_funcs(struct symfile *f)
{
	struct symfile_funcs *fs = f->funcs;

	if (fs)
		return fs;
	f->funcs = fs = calloc(1, sizeof(*fs));
	if (!fs)
		return NULL;
	/* The fullest table there is. */
	try_table(fs, f->ef, ELFFILE_SYMTAB);
	try_table(fs, f->debug, ELFFILE_SYMTAB);
	try_table(fs, f->ef, ELFFILE_DYNSYM);
	if (fs->count > 0)
		qsort(fs->all, fs->count, sizeof(*fs->all), by_addr);
	f->bytes += fs->room * sizeof(*fs->all);
	return fs;
}

void symfile__load(struct symfile *f)
{
	(void)load_funcs(f);
}

static bool covers(const struct func *f, uint64_t addr)
{
	/* Without a size we know where it begins and nothing more. */
	return addr - f->addr < (f->size ? f->size : 1);
}

/* The nearest function that covers addr, and its index; others at its place precede it. */
static const struct func *find_func(const struct symfile_funcs *fs, uint64_t addr, size_t *index)
{
	size_t lo = 0, hi = fs->count, n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (fs->all[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (n = 0; n < FUNCS_LOOK_BACK && lo > 0; n++) {
		if (covers(&fs->all[--lo], addr)) {
			*index = lo;
			return &fs->all[lo];
		}
	}
	return NULL;
}

static char *read_name(const struct symfile_funcs *fs, const struct func *f)
{
	char *name = malloc(SYMFILE_NAME_MAX), *shrunk;
	ssize_t n;

	if (!name)
		return NULL;
	n = elffile__read_string(fs->names, f->name_offset, fs->names_end, name, SYMFILE_NAME_MAX);
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

char *symfile__function(struct symfile *f, uint64_t addr, uint64_t *start)
{
	const struct symfile_funcs *fs = load_funcs(f);
	const struct func *best = NULL, *near;
	char *best_name = NULL;
	size_t i, n;

	near = fs ? find_func(fs, addr, &i) : NULL;
	if (!near)
		return NULL;
	*start = near->addr;
	for (n = 0; n < FUNCS_LOOK_BACK && fs->all[i].addr == *start; n++, i--) {
		char *name = covers(&fs->all[i], addr) ? read_name(fs, &fs->all[i]) : NULL;

		if (name && (!best || is_better(&fs->all[i], name, best, best_name))) {
			free(best_name);
			best_name = name;
			best = &fs->all[i];
		} else {
			free(name);
		}
		if (i == 0)
			break;
	}
	return best_name;
}
