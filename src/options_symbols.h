/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The options that say where names and lines of stacks come from. */
#ifndef ACLGUARD_OPTIONS_SYMBOLS_H
#define ACLGUARD_OPTIONS_SYMBOLS_H

#include <argp.h>
#include <stdbool.h>

#include "symbols.h"

#define SYMBOL_OPTIONS_DIRS 8

struct symbol_options {
	const char *debug_dirs[SYMBOL_OPTIONS_DIRS]; /* of argv */
	unsigned int n_debug_dirs;
	bool debuginfod;
};

/* Its input is a struct symbol_options, which begins as zero. */
extern const struct argp options_symbols_argp;

/* Returns 0, or an exit status after having said why not. */
int options_symbols__apply(const struct symbol_options *opts, struct symbolizer *sym);

#endif /* ACLGUARD_OPTIONS_SYMBOLS_H */
