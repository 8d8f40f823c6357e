/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Source lines by libdw, see lines.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* reallocarray */
#endif
#include "lines.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scopes.h"

/* Debug sections of one file, uncompressed. */
#define DWARF_MAX (128UL << 20)
/*
 * The line program of one unit, in bytes.  Each may become a row, for which libdw
 * takes up to ROW_BYTES while it reads them.
 */
#define LINE_PROGRAM_MAX (2UL << 20)
#define ROW_BYTES 48
/* Compilation units of a file, and their ranges, where no index leads to the right one. */
#define UNITS_MAX 100000
#define RANGES_MAX (1UL << 20)
/* Entries and ranges looked at for one address: some milliseconds. */
#define ENTRIES_MAX 200000
#define STRING_MAX (64UL << 10) /* a longer name or path is cut, in bytes */

/* Where a unit has code. */
struct range {
	uint64_t start, end;
	Dwarf_Off unit; /* of its entry */
};

/* A file as libdw has it. */
struct dwarf_file {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	size_t bytes;
};

struct lines {
	struct dwarf_file main, alt;
	/* Of all units, sorted; made when the file's own index did not help. */
	bool ranges_made;
	struct range *ranges;
	size_t n_ranges, ranges_room;
	/* Units whose rows libdw has in memory. */
	Dwarf_Off *units;
	size_t n_units, units_room;
	size_t bytes;
};

/* ---- opening ---- */

/*
 * The uncompressed size of what libdw would load, or 0 if it shall not: no
 * debug information, too large, or references to further files, which libdw would
 * open by the path that stands in this one.  alt: that file is known.
 */
static uint64_t dwarf_bytes(Elf *elf, bool alt)
{
	bool info = false;
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
		if (strncmp(name, ".zdebug", 7) == 0 || strstr(name, ".dwo"))
			return 0;
		if (strcmp(name, ".gnu_debugaltlink") == 0 && !alt)
			return 0;
		if (strncmp(name, ".debug_", 7) != 0 || sh.sh_type == SHT_NOBITS)
			continue;
		info |= strcmp(name, ".debug_info") == 0;
		if (sh.sh_flags & SHF_COMPRESSED) {
			if (sh.sh_size > DWARF_MAX || !gelf_getchdr(scn, &ch))
				return 0;
			sh.sh_size = ch.ch_size;
		}
		if (sh.sh_size > DWARF_MAX - sum)
			return 0;
		sum += sh.sh_size;
	}
	return info ? sum : 0;
}

static void dwarf_file__close(struct dwarf_file *f)
{
	if (f->dwarf)
		dwarf_end(f->dwarf);
	if (f->elf)
		elf_end(f->elf);
	if (f->fd > 0)
		close(f->fd);
	*f = (struct dwarf_file){};
}

static bool dwarf_file__open(struct dwarf_file *f, struct elffile *ef, bool alt)
{
	f->fd = fcntl(elffile__fd(ef), F_DUPFD_CLOEXEC, 3);
	/* Not mapped: the owner of the file may truncate it. */
	if (f->fd > 0)
		f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (f->elf)
		f->bytes = dwarf_bytes(f->elf, alt);
	if (f->bytes)
		f->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	if (f->dwarf)
		return true;
	dwarf_file__close(f);
	return false;
}

void lines__close(struct lines *ls)
{
	if (!ls)
		return;
	dwarf_file__close(&ls->main);
	dwarf_file__close(&ls->alt);
	free(ls->ranges);
	free(ls->units);
	free(ls);
}

struct lines *lines__open(struct elffile *ef, struct elffile *alt)
{
	struct lines *ls;

	if (elffile__fd(ef) < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	ls = calloc(1, sizeof(*ls));
	if (!ls)
		return NULL;
	if (alt && !dwarf_file__open(&ls->alt, alt, false))
		alt = NULL;
	if (!dwarf_file__open(&ls->main, ef, alt)) {
		lines__close(ls);
		return NULL;
	}
	if (alt)
		dwarf_setalt(ls->main.dwarf, ls->alt.dwarf);
	ls->bytes = sizeof(*ls) + ls->main.bytes + ls->alt.bytes;
	return ls;
}

size_t lines__bytes(const struct lines *ls)
{
	return ls->bytes;
}

/* ---- the unit of an address ---- */

/* For one more element; false: there is no memory. */
static bool make_room(struct lines *ls, void **array, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown;

	if (n < *room)
		return true;
	grown = reallocarray(*array, more, size);
	if (!grown)
		return false;
	ls->bytes += (more - *room) * size;
	*array = grown;
	*room = more;
	return true;
}

/* False: enough, or no memory. */
static bool add_ranges(struct lines *ls, Dwarf_Die *cu)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(cu, at, &base, &start, &end)) > 0) {
		if (ls->n_ranges == RANGES_MAX || !make_room(ls, (void **)&ls->ranges, ls->n_ranges,
							     &ls->ranges_room, sizeof(*ls->ranges)))
			return false;
		if (start < end)
			ls->ranges[ls->n_ranges++] =
				(struct range){ start, end, dwarf_dieoffset(cu) };
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What .debug_aranges would be; clang writes none. */
static void make_ranges(struct lines *ls)
{
	Dwarf_Off off = 0, next;
	size_t header, n;

	ls->ranges_made = true;
	for (n = 0; n < UNITS_MAX; n++, off = next) {
		Dwarf_Die die;

		if (dwarf_nextcu(ls->main.dwarf, off, &next, &header, NULL, NULL, NULL) != 0 ||
		    next <= off)
			break;
		if (dwarf_offdie(ls->main.dwarf, off + header, &die) && !add_ranges(ls, &die))
			break;
	}
	if (ls->n_ranges)
		qsort(ls->ranges, ls->n_ranges, sizeof(*ls->ranges), by_start);
}

void lines__prepare(struct lines *ls)
{
	Dwarf_Aranges *own;
	size_t n;

	(void)dwarf_getaranges(ls->main.dwarf, &own, &n); /* libdw keeps it */
	if (!ls->ranges_made)
		make_ranges(ls);
}

static Dwarf_Die *search_ranges(struct lines *ls, uint64_t addr, Dwarf_Die *die)
{
	size_t lo = 0, hi;

	if (!ls->ranges_made)
		make_ranges(ls);
	hi = ls->n_ranges;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ls->ranges[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || addr >= ls->ranges[lo - 1].end)
		return NULL;
	return dwarf_offdie(ls->main.dwarf, ls->ranges[lo - 1].unit, die);
}

/* ---- lines ---- */

/* How many bytes the line program of a unit has; 0: none, or not to be read. */
static uint64_t program_bytes(struct lines *ls, Dwarf_Die *cu)
{
	Elf *elf = ls->main.elf;
	Elf_Scn *scn = NULL;
	Dwarf_Attribute attr;
	Dwarf_Word at;
	size_t strndx;

	if (!dwarf_attr(cu, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &at) ||
	    elf_getshdrstrndx(elf, &strndx))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		Elf_Data *data;
		uint32_t len;
		uint64_t wide;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			return 0;
		name = elf_strptr(elf, strndx, sh.sh_name);
		if (!name || strcmp(name, ".debug_line") != 0)
			continue;
		/* as libdw has it: uncompressed by now */
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf || data->d_size < 12 || at > data->d_size - 12)
			return 0;
		memcpy(&len, (char *)data->d_buf + at, sizeof(len));
		memcpy(&wide, (char *)data->d_buf + at + sizeof(len), sizeof(wide));
		return len == UINT32_MAX ? wide : len;
	}
	return 0;
}

/* Whether libdw may read the rows of a unit, or has done so. */
static bool may_have_lines(struct lines *ls, Dwarf_Die *cu)
{
	Dwarf_Off unit = dwarf_dieoffset(cu);
	uint64_t bytes;

	for (size_t i = 0; i < ls->n_units; i++)
		if (ls->units[i] == unit)
			return true;
	bytes = program_bytes(ls, cu);
	if (bytes == 0 || bytes > LINE_PROGRAM_MAX ||
	    !make_room(ls, (void **)&ls->units, ls->n_units, &ls->units_room, sizeof(unit)))
		return false;
	ls->units[ls->n_units++] = unit;
	ls->bytes += bytes * ROW_BYTES;
	return true;
}

static char *copy(const char *s)
{
	return s && *s ? strndup(s, STRING_MAX) : NULL;
}

static void find_row(Dwarf_Die *cu, uint64_t addr, char **file, unsigned int *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(cu, addr);
	int n;

	if (!row || dwarf_lineno(row, &n) || n <= 0)
		return;
	*file = copy(dwarf_linesrc(row, NULL, NULL));
	*line = *file ? (unsigned int)n : 0;
}

/* Where an inlined function was called. */
static void find_call(Dwarf_Die *cu, Dwarf_Die *die, char **file, unsigned int *line)
{
	Dwarf_Word nr = 0, n = 0;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_attr(die, DW_AT_call_file, &attr) || dwarf_formudata(&attr, &nr) ||
	    !dwarf_attr(die, DW_AT_call_line, &attr) || dwarf_formudata(&attr, &n) || n == 0 ||
	    n > UINT32_MAX || dwarf_getsrcfiles(cu, &files, &count) || nr >= count)
		return;
	*file = copy(dwarf_filesrc(files, nr, NULL, NULL));
	*line = *file ? (unsigned int)n : 0;
}

/* From the innermost outwards; each has the place where the one before was called. */
static void fill_in(Dwarf_Die *cu, struct scopes *sc, struct line_place *out)
{
	char *file = out->file;
	unsigned int line = out->line;

	if (sc->n_inlined)
		out->inlined = calloc(sc->n_inlined, sizeof(*out->inlined));
	if (!out->inlined)
		return;
	for (unsigned int i = sc->n_inlined; i-- > 0;) {
		struct sym_inline *in = &out->inlined[out->n_inlined++];

		in->function = copy(scopes__name(&sc->inlined[i]));
		in->file = file;
		in->line = line;
		file = NULL;
		line = 0;
		find_call(cu, &sc->inlined[i], &file, &line);
	}
	if (sc->cut) { /* that is in one of those left out */
		free(file);
		file = NULL;
		line = 0;
	}
	out->file = file;
	out->line = line;
}

/* Lines are a courtesy: what goes wrong here leaves them unknown. */
void lines__find(struct lines *ls, uint64_t addr, struct line_place *out)
{
	unsigned int budget = ENTRIES_MAX;
	struct scopes sc;
	Dwarf_Die mem, *cu;

	*out = (struct line_place){};
	cu = dwarf_addrdie(ls->main.dwarf, addr, &mem);
	if (!cu)
		cu = search_ranges(ls, addr, &mem);
	if (!cu)
		return;
	scopes__find(cu, addr, &budget, &sc);
	if (sc.found && dwarf_entrypc(&sc.function, &out->start) == 0 && out->start <= addr)
		out->function = copy(scopes__name(&sc.function));
	if (!may_have_lines(ls, cu))
		return;
	find_row(cu, addr, &out->file, &out->line);
	/* Half a chain would put the line of one function into another. */
	if (budget && sc.found)
		fill_in(cu, &sc, out);
}

void sym_inline__free(struct sym_inline *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free(list[i].function);
		free(list[i].file);
	}
	free(list);
}

void line_place__clear(struct line_place *p)
{
	sym_inline__free(p->inlined, p->n_inlined);
	free(p->file);
	free(p->function);
	*p = (struct line_place){};
}
