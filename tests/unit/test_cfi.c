/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Call frame information: what libdw makes of the same files is the same, at addresses
 * all over them; and what no compiler writes is refused.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlinfo */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi.h"

/* Addresses that are looked up in each file. */
#define LOOKS 20000

static struct cfi_row row;

/* ---- against libdw ---------------------------------------------------------- */

struct theirs {
	Dwarf_Op mem[3], *ops;
	size_t n;
};

static bool is_op(const struct theirs *t, size_t i, unsigned int atom)
{
	return i < t->n && t->ops[i].atom == atom;
}

/* libdw has parsed the expression already: ours has to be as long as its operations say. */
static bool same_expression(const struct theirs *t, size_t first, const struct cfi_rule *rule)
{
	size_t last = t->n - 1;

	if (rule->how == CFI_IS_EXPRESSION && is_op(t, last, DW_OP_stack_value))
		last--;
	return last >= first && last < t->n && rule->len > t->ops[last].offset &&
	       rule->expr[0] == t->ops[first].atom &&
	       rule->expr[t->ops[last].offset] == t->ops[last].atom;
}

static bool same_cfa(Dwarf_Frame *frame, const struct cfi_rule *rule)
{
	struct theirs t;

	assert_int_equal(dwarf_frame_cfa(frame, &t.ops, &t.n), 0);
	if (rule->how == CFI_REGISTER_PLUS_N)
		return t.n == 1 && t.ops[0].atom == DW_OP_bregx && t.ops[0].number == rule->reg &&
		       (int64_t)t.ops[0].number2 == rule->n;
	return rule->how == CFI_IS_EXPRESSION && same_expression(&t, 0, rule);
}

static bool same_register(Dwarf_Frame *frame, int reg, const struct cfi_rule *rule)
{
	struct theirs t;
	int64_t n;

	assert_int_equal(dwarf_frame_register(frame, reg, t.mem, &t.ops, &t.n), 0);
	switch (rule->how) {
	case CFI_UNSPECIFIED: /* libdw knows by itself what is kept by convention */
		return t.n == 0 || (t.n == 1 && is_op(&t, 0, DW_OP_call_frame_cfa)) ||
		       is_op(&t, t.n - 1, DW_OP_stack_value);
	case CFI_UNDEFINED:
		return t.n == 0 && t.ops == t.mem;
	case CFI_SAME:
		return t.n == 0 && !t.ops;
	case CFI_REGISTER:
		return t.n == 1 && is_op(&t, 0, DW_OP_regx) && t.ops[0].number == rule->reg;
	case CFI_AT:
	case CFI_IS:
		n = is_op(&t, 1, DW_OP_plus_uconst) ? (int64_t)t.ops[1].number : 0;
		return is_op(&t, 0, DW_OP_call_frame_cfa) && n == rule->n &&
		       is_op(&t, t.n - 1, DW_OP_stack_value) == (rule->how == CFI_IS);
	default: /* it is put on the stack first */
		return is_op(&t, 0, DW_OP_call_frame_cfa) && same_expression(&t, 1, rule);
	}
}

static void compare_row(Dwarf_Frame *frame, uint64_t addr)
{
	Dwarf_Addr start, end;
	bool signal;

	assert_int_equal(dwarf_frame_info(frame, &start, &end, &signal), row.ra);
	assert_int_equal(signal, row.signal);
	assert_true(addr >= row.start && addr < row.end);
	if (!same_cfa(frame, &row.rules.cfa))
		fail_msg("another CFA at %#lx", (unsigned long)addr);
	for (int reg = 0; reg < CFI_REGS; reg++)
		if (!same_register(frame, reg, &row.rules.reg[reg]))
			fail_msg("another register %d at %#lx", reg, (unsigned long)addr);
}

/* Returns at how many addresses there was a row. */
static unsigned int compare_file(const char *path)
{
	struct elffile_part text;
	struct elffile *ef;
	unsigned int found = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf_CFI *cfi;
	Elf *elf;

	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	assert_int_equal(elffile__open(path, &ef), 0);
	assert_int_equal(elffile__section(ef, ".text", &text), 0);
	for (unsigned int i = 0; i < LOOKS; i++) {
		uint64_t addr = text.addr + (uint64_t)((double)text.size * i / LOOKS);
		Dwarf_Frame *frame;
		int err = cfi__find(ef, addr, &row);

		if (dwarf_cfi_addrframe(cfi, addr, &frame)) {
			assert_int_not_equal(err, 0);
			continue;
		}
		assert_int_equal(err, 0);
		compare_row(frame, addr);
		free(frame);
		found++;
	}
	elffile__close(ef);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return found;
}

static void libc_is_read_as_libdw_does(void **state)
{
	struct link_map *map;
	void *libc = dlopen(LIBC_SO, RTLD_LAZY);

	(void)state;
	assert_non_null(libc);
	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &map), 0);
	assert_true(compare_file(map->l_name) > LOOKS / 2);
	dlclose(libc);
}

static void this_program_is_read_as_libdw_does(void **state)
{
	(void)state;
	assert_true(compare_file("/proc/self/exe") > LOOKS / 2);
}

/* ---- files that say what they like ----------------------------------------- */

/* An ELF file with one function, its CIE and its FDE; both programs are given. */
#define CODE 0x1000 /* address of the function, of 256 bytes */
#define FRAME_AT 0x200

struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[1];
	Elf64_Shdr sh[3];
	char names[32];
	uint8_t pad[FRAME_AT - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr) - 3 * sizeof(Elf64_Shdr) -
		    32];
	uint8_t frame[0x400];
};

static size_t put_entry(uint8_t *at, uint32_t id, const uint8_t *body, size_t n,
			const uint8_t *program, size_t len)
{
	uint32_t size = (uint32_t)(4 + n + len);

	memcpy(at, &size, 4);
	memcpy(at + 4, &id, 4);
	memcpy(at + 8, body, n);
	memcpy(at + 8 + n, program, len);
	return 4 + size;
}

static void make(struct image *img, const uint8_t *cie, size_t cie_len, const uint8_t *fde,
		 size_t fde_len)
{
	/* version 1, no augmentation, factors 1 and -8, return address in 16 */
	static const uint8_t cie_body[] = { 1, 0, 1, 0x78, 16 };
	static const uint64_t fde_body[] = { CODE, 0x100 };
	size_t n;

	memset(img, 0, sizeof(*img));
	memcpy(img->eh.e_ident, ELFMAG "\2\1\1", 7);
	img->eh.e_machine = EM_X86_64;
	img->eh.e_phoff = offsetof(struct image, ph);
	img->eh.e_phentsize = sizeof(Elf64_Phdr);
	img->eh.e_phnum = 1;
	img->eh.e_shoff = offsetof(struct image, sh);
	img->eh.e_shentsize = sizeof(Elf64_Shdr);
	img->eh.e_shnum = 3;
	img->eh.e_shstrndx = 2;
	memcpy(img->names, "\0.eh_frame", 11);
	img->ph[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = sizeof(*img) };
	img->sh[1] = (Elf64_Shdr){ .sh_name = 1,
				   .sh_type = SHT_PROGBITS,
				   .sh_flags = SHF_ALLOC,
				   .sh_addr = FRAME_AT,
				   .sh_offset = FRAME_AT,
				   .sh_size = sizeof(img->frame) };
	img->sh[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(struct image, names),
				   .sh_size = sizeof(img->names) };
	n = put_entry(img->frame, 0, cie_body, sizeof(cie_body), cie, cie_len);
	put_entry(img->frame + n, (uint32_t)n + 4, (const uint8_t *)fde_body, sizeof(fde_body), fde,
		  fde_len);
}

static int find(const uint8_t *cie, size_t cie_len, const uint8_t *fde, size_t fde_len,
		uint64_t addr)
{
	static struct image img;
	struct elffile *ef;
	int err;

	make(&img, cie, cie_len, fde, fde_len);
	assert_int_equal(elffile__open_mem(&img, sizeof(img), &ef), 0);
	err = cfi__find(ef, addr, &row);
	elffile__close(ef);
	return err;
}

#define FIND(fde, addr) find(usual, sizeof(usual), fde, sizeof(fde), addr)

/* CFA = rsp + 8, return address at CFA - 8 */
static const uint8_t usual[] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1 };

static void rows_follow_the_code(void **state)
{
	/* push %rbp after one byte; pop it at 0x80 */
	static const uint8_t fde[] = { DW_CFA_advance_loc | 1,
				       DW_CFA_def_cfa_offset,
				       16,
				       DW_CFA_offset | 6,
				       2,
				       DW_CFA_remember_state,
				       DW_CFA_advance_loc1,
				       0x7f,
				       DW_CFA_restore | 6,
				       DW_CFA_def_cfa_offset,
				       8 };

	(void)state;
	assert_int_equal(FIND(fde, CODE), 0);
	assert_int_equal(row.rules.cfa.n, 8);
	assert_int_equal(row.rules.reg[6].how, CFI_UNSPECIFIED);
	assert_int_equal(row.rules.reg[16].how, CFI_AT);
	assert_int_equal(row.rules.reg[16].n, -8);
	assert_int_equal(FIND(fde, CODE + 1), 0);
	assert_int_equal(row.rules.cfa.n, 16);
	assert_int_equal(row.rules.reg[6].n, -16);
	assert_int_equal(FIND(fde, CODE + 0x80), 0);
	assert_int_equal(row.rules.cfa.n, 8);
	assert_int_equal(row.rules.reg[6].how, CFI_UNSPECIFIED);
	assert_int_equal(FIND(fde, CODE + 0x100), -ENOENT);
	assert_int_equal(FIND(fde, CODE - 1), -ENOENT);
}

/* With libdw, this is an allocation of 2 GiB. */
static void a_register_is_no_size(void **state)
{
	static const uint8_t fde[] = { DW_CFA_offset_extended, 0xff, 0xff, 0xff, 0x3f, 1 };

	(void)state;
	assert_int_equal(FIND(fde, CODE), 0);
	assert_int_equal(row.rules.cfa.n, 8);
}

static void nonsense_is_refused(void **state)
{
	static const uint8_t unknown[] = { 0x3f };
	static const uint8_t cut[] = { DW_CFA_def_cfa, 7 };
	static const uint8_t endless[] = { DW_CFA_def_cfa_offset,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80,
					   0x80 };
	static const uint8_t none_remembered[] = { DW_CFA_restore_state };
	static const uint8_t long_expr[] = { DW_CFA_def_cfa_expression, 100, 1 };
	static const uint8_t wide[] = { DW_CFA_def_cfa, 33, 8 };
	uint8_t nested[CFI_NEST_MAX + 1];

	(void)state;
	memset(nested, DW_CFA_remember_state, sizeof(nested));
	assert_int_equal(FIND(unknown, CODE), -ENOEXEC);
	assert_int_equal(FIND(cut, CODE), -ENOEXEC);
	assert_int_equal(FIND(endless, CODE), -ENOEXEC);
	assert_int_equal(FIND(none_remembered, CODE), -ENOEXEC);
	assert_int_equal(FIND(long_expr, CODE), -ENOEXEC);
	assert_int_equal(FIND(wide, CODE), -ENOEXEC);
	assert_int_equal(FIND(nested, CODE), -ENOEXEC);
}

static void a_cie_neither_moves_nor_restores(void **state)
{
	static const uint8_t moves[] = { DW_CFA_advance_loc | 1 };
	static const uint8_t restores[] = { DW_CFA_restore | 6 };
	static const uint8_t nothing[] = { DW_CFA_nop };

	(void)state;
	assert_int_equal(find(moves, 1, nothing, 1, CODE), -ENOEXEC);
	assert_int_equal(find(restores, 1, nothing, 1, CODE), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libc_is_read_as_libdw_does),
		cmocka_unit_test(this_program_is_read_as_libdw_does),
		cmocka_unit_test(rows_follow_the_code),
		cmocka_unit_test(a_register_is_no_size),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_cie_neither_moves_nor_restores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
