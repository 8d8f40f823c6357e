/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where names and lines come from, as the command line has it. */
#include "options_symbols.h"

#include <stdio.h>
#include <string.h>

#include "debuginfod.h"
#include "exits.h"
#include "usage.h"

enum {
	OPT_DEBUG_DIR = 1024,
	OPT_DEBUGINFOD,
};

static const struct argp_option options[] = {
	{ "debug-dir", OPT_DEBUG_DIR, "DIR", 0,
	  "Look for separate debug files in DIR, as in /usr/lib/debug; may be given more than once",
	  2 },
	{ "debuginfod", OPT_DEBUGINFOD, NULL, 0,
	  "Ask the servers of DEBUGINFOD_URLS for debug files that are not there", 2 },
	{}
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct symbol_options *opts = state->input;

	switch (key) {
	case OPT_DEBUG_DIR:
		if (opts->n_debug_dirs == SYMBOL_OPTIONS_DIRS)
			usage__error(state, "--debug-dir can be given %d times at most",
				     SYMBOL_OPTIONS_DIRS);
		else
			opts->debug_dirs[opts->n_debug_dirs++] = arg;
		return 0;
	case OPT_DEBUGINFOD:
		opts->debuginfod = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp options_symbols_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

int options_symbols__apply(const struct symbol_options *opts, struct symbolizer *sym)
{
	int err;

	for (unsigned int i = 0; i < opts->n_debug_dirs; i++) {
		err = symbolizer__debug_dir(sym, opts->debug_dirs[i]);
		if (!err)
			continue;
		fprintf(stderr, "aclguard: --debug-dir=%s: %s\n", opts->debug_dirs[i],
			strerror(-err));
		return ACL_EXIT_USAGE;
	}
	err = opts->debuginfod ? symbolizer__use_debuginfod(sym) : 0;
	if (err) {
		fprintf(stderr, "aclguard: %s\n", debuginfod__strerror(err));
		return ACL_EXIT_FAILED;
	}
	return 0;
}
