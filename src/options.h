/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the command line asks for. */
#ifndef ACLGUARD_OPTIONS_H
#define ACLGUARD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "options_symbols.h"

#include "options_enforce.h"
#include "options_export.h"

enum command {
	COMMAND_RUN,
	COMMAND_WATCH,
	COMMAND_RECORD,
	COMMAND_REPLAY,
	COMMAND_DOCTOR,
	COMMAND_CONTROL,
	COMMAND_EXPORT,
};

struct options {
	enum command command;
	uint32_t rules;	  /* mask of ACL_RULE_BIT() */
	uint64_t window;  /* ns */
	bool rules_given; /* replay: otherwise those of the recording */
	bool window_given;
	bool strict;
	bool json;
	bool fold_given;
	bool fold;		   /* what comes from one site is printed once */
	const char **suppressions; /* files */
	size_t nsuppressions;
	bool gen_suppressions;
	bool stacks;
	unsigned int stack_depth; /* frames at most */
	bool dwarf;		  /* stacks are copied, and unwound in user space */
	uint32_t stack_bytes;	  /* copied then */
	bool stack_bytes_given;
	struct symbol_options symbols;
	bool history_stacks;	  /* run, watch */
	bool assume_seccomp_risk; /* probe entries only */
	unsigned int canary; /* watch: seconds that the first process is probed alone; 0: not */
	bool all;	     /* watch: every process that uses the runtime, but for these filters */
	const char *comm;    /* a pattern */
	const char *container; /* the beginning of an id */
	const char *cgroup;
	bool uid_given;
	uid_t uid;
	bool wait; /* watch: for a process that has no runtime yet */
	bool verbose;
	int error_exitcode; /* -1: not asked for */
	const char *output; /* NULL: stderr; of replay, stdout */
	pid_t *pids;	    /* watch, record, doctor */
	size_t npids;
	char **program;			/* run, record: argv, NULL-terminated */
	const char *recording;		/* record, replay: its name; NULL: calls are not kept */
	uint32_t trace_ring;		/* record: bytes of the ring that calls go through */
	bool calls;			/* replay: list the calls */
	struct enforce_options enforce; /* run, watch, record */
	const char *control_path;	/* control */
	const char *control_command;
	bool no_lines; /* symbols only, see SYMBOLIZER_NO_LINES */
	struct export_options export;
};

/*
 * Parses the whole command line.  Does not return where it asks for help or
 * the version, or is wrong (exit status 64).
 */
void options__parse(struct options *opts, int argc, char **argv);
void options__free(struct options *opts);

/* A number of an option, or the end with a usage message that says `what' it should be. */
struct argp_state;
long options__number(const char *arg, long min, long max, const char *what,
		     struct argp_state *state);

#endif /* ACLGUARD_OPTIONS_H */
