/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Source lines by libdw, see lines.h. */
#include "lines.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Debug sections of one file, uncompressed. */
#define DWARF_MAX (128UL << 20)
/* Compilation units looked at for one address, where no index leads to the right one. */
#define DWARF_UNITS_MAX 20000
#define PATH_CUT (64UL << 10) /* a longer one is cut, in bytes */

struct lines {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	size_t bytes;
};

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

void lines__close(struct lines *ls)
{
	if (!ls)
		return;
	if (ls->dwarf)
		dwarf_end(ls->dwarf);
	if (ls->elf)
		elf_end(ls->elf);
	if (ls->fd >= 0)
		close(ls->fd);
	free(ls);
}

struct lines *lines__open(struct elffile *ef)
{
	struct lines *ls = elf_version(EV_CURRENT) == EV_NONE ? NULL : calloc(1, sizeof(*ls));

	if (!ls)
		return NULL;
	ls->fd = fcntl(elffile__fd(ef), F_DUPFD_CLOEXEC, 3);
	/* Not mapped: the owner of the file may truncate it. */
	if (ls->fd >= 0)
		ls->elf = elf_begin(ls->fd, ELF_C_READ, NULL);
	if (ls->elf)
		ls->bytes = dwarf_bytes(ls->elf);
	if (ls->bytes)
		ls->dwarf = dwarf_begin_elf(ls->elf, DWARF_C_READ, NULL);
	if (!ls->dwarf) {
		lines__close(ls);
		return NULL;
	}
	return ls;
}

size_t lines__bytes(const struct lines *ls)
{
	return ls->bytes;
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
char *lines__find(struct lines *ls, uint64_t addr, unsigned int *line)
{
	Dwarf_Die mem, *cu;
	Dwarf_Line *row;
	const char *file;
	int n;

	cu = dwarf_addrdie(ls->dwarf, addr, &mem);
	if (!cu)
		cu = search_units(ls->dwarf, addr, &mem);
	row = cu ? dwarf_getsrc_die(cu, addr) : NULL;
	file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(row, &n) || n <= 0)
		return NULL;
	*line = (unsigned int)n;
	return strndup(file, PATH_CUT);
}
