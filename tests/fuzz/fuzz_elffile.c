/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An ELF file that belongs to a hostile process: all that is read of it. */
#include <stdlib.h>

#include "calls.h"
#include "elffile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[ACL_C_MAX] = {
#define NAME(name, role, args) #name,
	ACL_CALLS(NAME)
};

static int count(const struct elffile_sym *sym, void *ctx)
{
	char name[128];

	elffile__read_string(ctx, sym->name_offset, sym->name_end, name, sizeof(name));
	return 0;
}

static int ignore(const char *str, size_t len, void *ctx)
{
	(void)ctx;
	return str[len] != '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elffile_func funcs[ACL_C_MAX];
	uint8_t id[ELFFILE_BUILD_ID_MAX], code[16];
	bool imported[ACL_C_MAX];
	struct elffile *ef;

	if (elffile__open_mem(data, size, &ef))
		return 0;
	if (elffile__find_functions(ef, names, ACL_C_MAX, funcs) > 0)
		for (int i = 0; i < ACL_C_MAX; i++)
			if (funcs[i].found) {
				if (funcs[i].offset >= size)
					abort();
				elffile__read_code(ef, funcs[i].offset, code, sizeof(code));
			}
	elffile__find_imports(ef, names, ACL_C_MAX, imported);
	elffile__has_section(ef, ".go.buildinfo");
	elffile__defines_acl(ef);
	elffile__walk_functions(ef, ELFFILE_DYNSYM, count, ef);
	elffile__walk_functions(ef, ELFFILE_SYMTAB, count, ef);
	elffile__build_id(ef, id);
	elffile__walk_dynamic(ef, 1 /* DT_NEEDED */, ignore, NULL);
	elffile__needs(ef, "libascendcl.so");
	elffile__close(ef);
	return 0;
}
