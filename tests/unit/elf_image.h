/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A small shared library built in memory, for tests that then damage it.  All
 * parts are in one buffer, and the headers can be reached to be changed.
 */
#ifndef ACLGUARD_TEST_ELF_IMAGE_H
#define ACLGUARD_TEST_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define IMG_TEXT_OFFSET 0x1000 /* of .text in the file; page-aligned so that it can be mapped */
#define IMG_TEXT_ADDR 0x41000  /* where it is linked: another number, to tell them apart */
#define IMG_TEXT_SIZE 0x1000
#define IMG_SYMS_MAX 64

enum { IMG_PH_HEAD, IMG_PH_TEXT, IMG_PH_NOTE, IMG_PH_DYNAMIC, IMG_PH_INTERP, IMG_PH_COUNT };
enum { IMG_SH_NULL, IMG_SH_TEXT, IMG_SH_DYNSYM, IMG_SH_DYNSTR, IMG_SH_COUNT };

struct elf_image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[IMG_PH_COUNT];
	Elf64_Shdr sh[IMG_SH_COUNT];
	Elf64_Sym sym[IMG_SYMS_MAX];
	Elf64_Dyn dyn[8];
	struct {
		Elf64_Nhdr h;
		char name[4];
		uint8_t id[20];
	} note;
	char interp[32];
	uint8_t pad[IMG_TEXT_OFFSET - sizeof(Elf64_Ehdr) - IMG_PH_COUNT * sizeof(Elf64_Phdr) -
		    IMG_SH_COUNT * sizeof(Elf64_Shdr) - IMG_SYMS_MAX * sizeof(Elf64_Sym) -
		    8 * sizeof(Elf64_Dyn) - sizeof(Elf64_Nhdr) - 24 - 32];
	uint8_t text[IMG_TEXT_SIZE];
	char str[]; /* to the end of the file */
};

_Static_assert(offsetof(struct elf_image, text) == IMG_TEXT_OFFSET, "");

struct elf_build {
	struct elf_image *img;
	size_t str_len;
	size_t size; /* of the whole file */
	unsigned int syms;
};

static inline uint32_t elf_build__str(struct elf_build *b, const char *s)
{
	size_t at = b->str_len, n = strlen(s) + 1;

	b->str_len += n;
	b->size = sizeof(struct elf_image) + b->str_len;
	b->img = realloc(b->img, b->size);
	memcpy(b->img->str + at, s, n);
	b->img->sh[IMG_SH_DYNSTR].sh_size = b->str_len;
	b->img->dyn[1].d_un.d_val = b->str_len;
	b->img->ph[IMG_PH_HEAD].p_filesz = b->img->ph[IMG_PH_HEAD].p_memsz = b->size;
	return at;
}

static inline Elf64_Sym *elf_build__func(struct elf_build *b, const char *name, uint64_t at,
					 uint64_t size)
{
	uint32_t str = elf_build__str(b, name);
	Elf64_Sym *s = &b->img->sym[++b->syms];

	*s = (Elf64_Sym){
		.st_name = str,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = IMG_SH_TEXT,
		.st_value = IMG_TEXT_ADDR + at,
		.st_size = size,
	};
	b->img->sh[IMG_SH_DYNSYM].sh_size = (b->syms + 1) * sizeof(Elf64_Sym);
	return s;
}

static inline void elf_build__headers(struct elf_image *img)
{
#define AT(member) offsetof(struct elf_image, member)
	memcpy(img->eh.e_ident, ELFMAG "\2\1\1", 7);
	img->eh.e_type = ET_DYN;
	img->eh.e_machine = EM_X86_64;
	img->eh.e_phoff = AT(ph);
	img->eh.e_phentsize = sizeof(Elf64_Phdr);
	img->eh.e_phnum = IMG_PH_COUNT;
	img->eh.e_shoff = AT(sh);
	img->eh.e_shentsize = sizeof(Elf64_Shdr);
	img->eh.e_shnum = IMG_SH_COUNT;
	img->ph[IMG_PH_HEAD] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R };
	img->ph[IMG_PH_TEXT] = (Elf64_Phdr){ .p_type = PT_LOAD,
					     .p_flags = PF_R | PF_X,
					     .p_offset = IMG_TEXT_OFFSET,
					     .p_vaddr = IMG_TEXT_ADDR,
					     .p_filesz = IMG_TEXT_SIZE,
					     .p_memsz = IMG_TEXT_SIZE,
					     .p_align = 0x1000 };
	img->ph[IMG_PH_NOTE] =
		(Elf64_Phdr){ PT_NOTE, PF_R, AT(note), 0, 0, sizeof(img->note), 0, 4 };
	img->ph[IMG_PH_DYNAMIC] =
		(Elf64_Phdr){ PT_DYNAMIC, PF_R, AT(dyn), 0, 0, sizeof(img->dyn), 0, 8 };
	img->ph[IMG_PH_INTERP] =
		(Elf64_Phdr){ PT_INTERP, PF_R, AT(interp), 0, 0, sizeof("/lib/ld.so"), 0, 1 };
	img->sh[IMG_SH_TEXT] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
					     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					     .sh_addr = IMG_TEXT_ADDR,
					     .sh_offset = IMG_TEXT_OFFSET,
					     .sh_size = IMG_TEXT_SIZE };
	img->sh[IMG_SH_DYNSYM] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
					       .sh_offset = AT(sym),
					       .sh_size = sizeof(Elf64_Sym),
					       .sh_link = IMG_SH_DYNSTR,
					       .sh_entsize = sizeof(Elf64_Sym) };
	img->sh[IMG_SH_DYNSTR] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = AT(str) };
	img->dyn[0] = (Elf64_Dyn){ DT_STRTAB, { AT(str) } };
	img->dyn[1] = (Elf64_Dyn){ DT_STRSZ, { 0 } };
	img->note.h = (Elf64_Nhdr){ 4, sizeof(img->note.id), NT_GNU_BUILD_ID };
	memcpy(img->note.name, "GNU", 4);
	memset(img->note.id, 0xb1, sizeof(img->note.id));
	strcpy(img->interp, "/lib/ld.so");
#undef AT
}

/* Defines aclrtFreeHost at 0x100 and aclrtMallocHost at 0x200, and needs libacl_rt.so. */
static inline struct elf_build elf_build__new(void)
{
	struct elf_build b = { .img = calloc(1, sizeof(struct elf_image)) };
	uint32_t acl, libc, runpath;

	elf_build__headers(b.img);
	elf_build__str(&b, "");
	acl = elf_build__str(&b, "libacl_rt.so");
	libc = elf_build__str(&b, "libc.so.6");
	runpath = elf_build__str(&b, "$ORIGIN:/opt");
	b.img->dyn[2] = (Elf64_Dyn){ DT_NEEDED, { acl } };
	b.img->dyn[3] = (Elf64_Dyn){ DT_NEEDED, { libc } };
	b.img->dyn[4] = (Elf64_Dyn){ DT_RUNPATH, { runpath } };
	elf_build__func(&b, "aclrtFreeHost", 0x100, 0x20);
	elf_build__func(&b, "aclrtMallocHost", 0x200, 0);
	return b;
}

#endif /* ACLGUARD_TEST_ELF_IMAGE_H */
