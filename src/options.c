/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The command line, by argp: one parser for the command, one for its options. */
#define _GNU_SOURCE
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dumps.h"
#include "exits.h"
#include "record.h"
#include "rules.h"
#include "usage.h"

#ifdef ACLGUARD_STATIC /* what had to be left out */
#define BUILT " (static, left out: " ACLGUARD_STATIC ")"
#else
#define BUILT ""
#endif

const char *argp_program_version = "aclguard " ACLGUARD_VERSION BUILT;

enum {
	OPT_RULE = 256,
	OPT_WINDOW,
	OPT_STRICT,
	OPT_JSON,
	OPT_STACKS,
	OPT_STACK_BYTES,
	OPT_STACK_DEPTH,
	OPT_HISTORY_STACKS,
	OPT_SECCOMP_RISK,
	OPT_OUTPUT,
	OPT_FOLD,
	OPT_NO_FOLD,
	OPT_SUPPRESSIONS,
	OPT_GEN_SUPPRESSIONS,
	OPT_ERROR_EXITCODE,
	OPT_NO_WAIT,
	OPT_ALL,
	OPT_COMM,
	OPT_CONTAINER,
	OPT_CGROUP,
	OPT_UID,
	OPT_CANARY,
	OPT_TRACE_RING,
	OPT_CALLS,
};

static const struct {
	const char *name;
	uint32_t bit;
} rule_names[] = {
#define RULE_NAME(id, name, headline) { name, ACL_RULE_BIT(ACL_RULE_##id) },
	ACL_RULES(RULE_NAME)
};

/* ---- values ------------------------------------------------------------- */

/* "a,b" takes these rules only, "-a" all but that one. */
static void parse_rules(struct options *opts, const char *arg, struct argp_state *state)
{
	char *list = strdup(arg), *save = NULL, *word;
	uint32_t only = 0, except = 0;
	size_t i;

	if (!list)
		argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "--rule");
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		bool minus = word[0] == '-';

		for (i = 0; i < sizeof(rule_names) / sizeof(rule_names[0]); i++)
			if (!strcmp(word + minus, rule_names[i].name))
				break;
		if (i == sizeof(rule_names) / sizeof(rule_names[0]))
			usage__error(state, "unknown rule '%s'; `aclguard --help' lists them",
				     word);
		else if (minus)
			except |= rule_names[i].bit;
		else
			only |= rule_names[i].bit;
	}
	free(list);
	if (!only && !except)
		usage__error(state, "--rule needs the name of a rule");
	opts->rules_given = true;
	opts->rules = (only ? only : ACL_RULES_ALL) & ~except;
}

/* A number with a unit: ns, us, ms, s.  Without one it is seconds. */
static uint64_t parse_duration(const char *arg, struct argp_state *state)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;
	double val;

	errno = 0;
	val = strtod(arg, &end);
	for (size_t i = 0; end != arg && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit) && val >= 0 && val * units[i].ns < 9e18)
			return (uint64_t)(val * units[i].ns);
	usage__error(state, "'%s' is not a duration; write for instance 500ms, 2s", arg);
	return 0;
}

long options__number(const char *arg, long min, long max, const char *what,
		     struct argp_state *state)
{
	char *end;
	long val;

	errno = 0;
	val = strtol(arg, &end, 10);
	if (errno || end == arg || *end || val < min || val > max)
		usage__error(state, "'%s' is not %s (%ld to %ld)", arg, what, min, max);
	return val;
}

/* Of a ring: what the kernel takes is a power of two of pages. */
static uint32_t parse_size(const char *arg, struct argp_state *state)
{
	unsigned long val;
	char *end;

	errno = 0;
	val = strtoul(arg, &end, 10);
	if (val < 1UL << 20 && (*end == 'K' || *end == 'M'))
		val <<= *end++ == 'K' ? 10 : 20;
	if (errno || *end || arg[0] == '-' || val < 64UL << 10 || val > 1UL << 30 ||
	    val & (val - 1))
		usage__error(state,
			     "'%s' is not the size of a ring: a power of two from 64K to 1024M",
			     arg);
	return (uint32_t)val;
}

static bool has_pid(const struct options *opts, pid_t pid)
{
	for (size_t i = 0; i < opts->npids; i++)
		if (opts->pids[i] == pid)
			return true;
	return false;
}

static void parse_pids(struct options *opts, const char *arg, struct argp_state *state)
{
	char *list = strdup(arg), *save = NULL, *word;

	if (!list)
		argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "-p");
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		pid_t pid = (pid_t)options__number(word, 1, INT_MAX, "a process id", state);
		pid_t *pids;

		if (has_pid(opts, pid))
			continue;
		pids = reallocarray(opts->pids, opts->npids + 1, sizeof(*pids));

		if (!pids) {
			argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "-p"); /* exits */
			break;
		}
		opts->pids = pids;
		pids[opts->npids++] = pid;
	}
	free(list);
}

/* ---- options of several commands ------------------------------------------ */

static const struct argp_option report_options[] = {
	{ "rule", OPT_RULE, "NAME,...", 0, "Report these rules only; with a minus, all but these",
	  1 },
	{ "window", OPT_WINDOW, "TIME", 0,
	  "A poll older than this at the free is a warning, not an error (default 1s; of a "
	  "recording: as it was recorded)",
	  1 },
	{ "strict", OPT_STRICT, NULL, 0, "Show notes, too, such as free-after-event-sync", 1 },
	{ "json", OPT_JSON, NULL, 0, "One JSON object a line instead of text", 2 },
	{ "output", OPT_OUTPUT, "FILE", 0,
	  "Reports go to FILE (appended) instead of stderr (replay: stdout)", 2 },
	{ "fold", OPT_FOLD, NULL, 0,
	  "Print what comes from one place in a program once, then count it (default for text)",
	  2 },
	{ "no-fold", OPT_NO_FOLD, NULL, 0, "Print every violation (default for JSON)", 2 },
	{ "suppressions", OPT_SUPPRESSIONS, "FILE", 0,
	  "Count what FILE describes, and do not report it; may be given more than once", 2 },
	{ "gen-suppressions", OPT_GEN_SUPPRESSIONS, NULL, 0,
	  "Print an entry for such a file after each report", 2 },
	{ "error-exitcode", OPT_ERROR_EXITCODE, "N", 0, "Exit with N if an error was reported", 2 },
	{ "verbose", 'v', NULL, 0, "Say what is being done", 2 },
	{}
};

static const struct argp_option stacks_options[] = {
	{ "stacks", OPT_STACKS, "HOW", 0,
	  "none: take no stacks; dwarf: by what the files say of their frames, right without "
	  "frame pointers, too; fp: by frame pointers (default)",
	  2 },
	{ "stack-bytes", OPT_STACK_BYTES, "SIZE", 0,
	  "With --stacks=dwarf: how much of the stack is copied (1K to 64K, default 16K)", 2 },
	{ "stack-depth", OPT_STACK_DEPTH, "N", 0, "Frames of a stack at most (1 to 64, default 64)",
	  2 },
	{ "history-stacks", OPT_HISTORY_STACKS, NULL, 0,
	  "Keep the stacks of allocations, copies, records, queries and releases, and show those "
	  "of a report's history and of leaks",
	  2 },
	{ "assume-seccomp-risk", OPT_SECCOMP_RISK, NULL, 0,
	  "Do without return probes, as for programs under a seccomp filter on kernels where those "
	  "kill them",
	  2 },
	{}
};

static void parse_stack_bytes(struct options *opts, const char *arg, struct argp_state *state)
{
	unsigned long val;
	char *end;

	errno = 0;
	val = strtoul(arg, &end, 10);
	if (val <= DUMPS_BYTES_MAX && *end == 'K') {
		val <<= 10;
		end++;
	}
	if (errno || *end || end == arg || arg[0] == '-' || val < DUMPS_BYTES_MIN ||
	    val > DUMPS_BYTES_MAX)
		usage__error(state, "'%s' is not a part of a stack to copy: 1K to 64K", arg);
	opts->stack_bytes = (uint32_t)val;
	opts->stack_bytes_given = true;
}

/* "dwarf,BYTES" as perf has it, too. */
static void parse_stacks_how(struct options *opts, const char *arg, struct argp_state *state)
{
	if (!strncmp(arg, "dwarf,", 6))
		parse_stack_bytes(opts, arg + 6, state);
	else if (strcmp(arg, "none") != 0 && strcmp(arg, "fp") != 0 && strcmp(arg, "dwarf") != 0)
		usage__error(state, "--stacks takes none, fp or dwarf, not '%s'", arg);
	opts->stacks = strcmp(arg, "none") != 0;
	opts->dwarf = arg[0] == 'd';
}

static error_t parse_stacks(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	if (key == OPT_STACK_BYTES) {
		parse_stack_bytes(opts, arg, state);
		return 0;
	}
	if (key == OPT_STACK_DEPTH) {
		opts->stack_depth = (unsigned int)options__number(arg, 1, ACL_STACK_MAX,
								  "a number of frames", state);
		return 0;
	}
	if (key == ARGP_KEY_END) {
		if (opts->stack_bytes_given && !opts->dwarf)
			usage__error(state, "--stack-bytes needs --stacks=dwarf");
		return 0;
	}
	if (key == OPT_HISTORY_STACKS) {
		opts->history_stacks = true;
		return 0;
	}
	if (key == OPT_SECCOMP_RISK) {
		opts->assume_seccomp_risk = true;
		return 0;
	}
	if (key != OPT_STACKS)
		return ARGP_ERR_UNKNOWN;
	parse_stacks_how(opts, arg, state);
	return 0;
}

static void add_suppressions(struct options *opts, const char *file, struct argp_state *state)
{
	const char **files =
		reallocarray(opts->suppressions, opts->nsuppressions + 1, sizeof(*files));

	if (!files) {
		argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "--suppressions"); /* exits */
		return;
	}
	opts->suppressions = files;
	files[opts->nsuppressions++] = file;
}

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case OPT_RULE:
		parse_rules(opts, arg, state);
		return 0;
	case OPT_WINDOW:
		opts->window = parse_duration(arg, state);
		opts->window_given = true;
		return 0;
	case OPT_STRICT:
		opts->strict = true;
		return 0;
	case OPT_JSON:
		opts->json = true;
		return 0;
	case OPT_FOLD:
	case OPT_NO_FOLD:
		opts->fold = key == OPT_FOLD;
		opts->fold_given = true;
		return 0;
	case OPT_SUPPRESSIONS:
		add_suppressions(opts, arg, state);
		return 0;
	case OPT_GEN_SUPPRESSIONS:
		opts->gen_suppressions = true;
		return 0;
	case OPT_OUTPUT:
		opts->output = arg;
		return 0;
	case OPT_ERROR_EXITCODE:
		opts->error_exitcode = (int)options__number(arg, 0, 255, "an exit status", state);
		return 0;
	case 'v':
		opts->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp report_argp = {
	report_options, parse_report, NULL, NULL, NULL, NULL, NULL
};
static const struct argp stacks_argp = {
	stacks_options, parse_stacks, NULL, NULL, NULL, NULL, NULL
};
static const struct argp_child live_children[] = { { &report_argp, 0, NULL, 0 },
						   { &stacks_argp, 0, NULL, 0 },
						   { &options_symbols_argp, 0, NULL, 0 },
						   { &options_enforce_argp, 0, NULL, 0 },
						   {} };
static const struct argp_child replay_children[] = {
	{ &report_argp, 0, NULL, 0 },
	{ &options_enforce_refusal_argp, 0, NULL, 0 },
	{},
};

static error_t init_live(struct options *opts, struct argp_state *state)
{
	state->child_inputs[0] = opts;
	state->child_inputs[1] = opts;
	state->child_inputs[2] = &opts->symbols;
	state->child_inputs[3] = opts;
	return 0;
}

/* ---- run and watch -------------------------------------------------------- */

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		return init_live(opts, state);
	case ARGP_KEY_ARG:
		/* the program's own options are not ours */
		opts->program = &state->argv[state->next - 1];
		state->next = state->argc;
		(void)arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage__error(state, "no program to run");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp run_argp = {
	NULL,
	parse_run,
	"[--] PROGRAM [ARG...]",
	"Start PROGRAM and watch it and the processes it starts.\v"
	"Exits as the program does.  Exit statuses of aclguard's own: 64 wrong usage, "
	"115 the program was left stopped by enforcement, "
	"118 reports could not be written, 119 to 125 it could not watch, "
	"126 PROGRAM cannot be executed, 127 PROGRAM was not found.",
	live_children,
	NULL,
	NULL,
};

static const struct argp_option filter_options[] = {
	{ "comm", OPT_COMM, "PATTERN", 0, "Those of this name, such as 'python*'", 1 },
	{ "container", OPT_CONTAINER, "ID", 0, "Those of the container whose id begins so", 1 },
	{ "cgroup", OPT_CGROUP, "PATH", 0, "Those in this control group or below", 1 },
	{ "uid", OPT_UID, "UID", 0, "Those of the user with this number", 1 },
	{}
};

static const struct argp_option watch_options[] = {
	{ "pid", 'p', "PID,...", 0, "The process to watch; may be given more than once", 0 },
	{ "all", OPT_ALL, NULL, 0,
	  "All processes that use the runtime, now or later; these narrow it: --comm, --container, --cgroup, --uid",
	  0 },
	{ "canary", OPT_CANARY, "SECONDS", 0,
	  "Probe the first process alone for so long, and go on only if it still lives", 0 },
	{ "no-wait", OPT_NO_WAIT, NULL, 0,
	  "Refuse a process that has not loaded the Ascend runtime, instead of waiting for it", 0 },
	{}
};

static uid_t parse_user(const char *arg, struct argp_state *state)
{
	return (uid_t)options__number(arg, 0, UINT_MAX - 1L, "a user's number", state);
}

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case OPT_COMM:
		if (!*arg)
			usage__error(state, "--comm needs a pattern");
		opts->comm = arg;
		return 0;
	case OPT_CONTAINER:
		if (!*arg || arg[strspn(arg, "0123456789abcdef")])
			usage__error(state, "'%s' is not the beginning of a container's id", arg);
		opts->container = arg;
		return 0;
	case OPT_CGROUP:
		if (!*arg)
			usage__error(state, "--cgroup needs a path");
		opts->cgroup = arg;
		return 0;
	case OPT_UID:
		opts->uid = parse_user(arg, state);
		opts->uid_given = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp filter_argp = {
	filter_options, parse_filter, NULL, NULL, NULL, NULL, NULL
};
#define ALL_CHILDREN                                                                          \
	{ &report_argp, 0, NULL, 0 }, { &stacks_argp, 0, NULL, 0 },                           \
		{ &options_symbols_argp, 0, NULL, 0 }, { &options_enforce_argp, 0, NULL, 0 }, \
	{                                                                                     \
		&filter_argp, 0, NULL, 0                                                      \
	}
static const struct argp_child all_children[] = { ALL_CHILDREN, {} };

static error_t init_all(struct options *opts, struct argp_state *state)
{
	state->child_inputs[4] = opts;
	return init_live(opts, state);
}

static void check_watch(const struct options *opts, struct argp_state *state)
{
	if (!opts->npids && !opts->all)
		usage__error(state, "no process to watch: give -p PID, or --all");
	if (opts->npids && opts->all)
		usage__error(state, "-p PID and --all do not go together");
	if (!opts->all && (opts->comm || opts->container || opts->cgroup || opts->uid_given))
		usage__error(state, "--comm, --container, --cgroup and --uid need --all");
	if (opts->all && !opts->wait)
		usage__error(state, "--all and --no-wait do not go together");
}

static error_t parse_watch(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		return init_all(opts, state);
	case 'p':
		parse_pids(opts, arg, state);
		return 0;
	case OPT_ALL:
		opts->all = true;
		return 0;
	case OPT_CANARY:
		opts->canary = (unsigned int)options__number(arg, 1, 3600, "seconds", state);
		return 0;
	case OPT_NO_WAIT:
		opts->wait = false;
		return 0;
	case ARGP_KEY_ARG:
		usage__error(state, "'%s' is not an option; processes are given as -p PID", arg);
		return 0;
	case ARGP_KEY_END:
		check_watch(opts, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp watch_argp = {
	watch_options,
	parse_watch,
	NULL,
	"Attach to running processes, until they end or Ctrl-C.\v"
	"The processes are left as they were.  Exit statuses: 0 done, 64 wrong usage, "
	"116 the process of --canary did not live on, "
	"118 reports could not be written, 119 the library lacks the runtime's calls, "
	"120 a capability is missing, 121 the kernel lacks a feature, 122 a policy forbids it, "
	"123 no such process, 124 no Ascend runtime in it (--no-wait), 125 anything else.",
	all_children,
	NULL,
	NULL,
};

/* ---- record and replay ----------------------------------------------------- */

static const struct argp_option record_options[] = {
	{ "recording", 'o', "FILE", 0, "The file to be written; it must not exist yet", 0 },
	{ "pid", 'p', "PID,...", 0, "Record this process instead of starting one", 0 },
	{ "no-wait", OPT_NO_WAIT, NULL, 0,
	  "Refuse a process that has not loaded the Ascend runtime, instead of waiting for it", 0 },
	{ "canary", OPT_CANARY, "SECONDS", 0,
	  "With -p: probe the first process alone for so long, and go on only if it still lives",
	  0 },
	{ "trace-ring", OPT_TRACE_RING, "SIZE", 0,
	  "Of the kernel's buffer of calls: a power of two, for instance 64M (default 16M)", 0 },
	{}
};

static void check_record(const struct options *opts, struct argp_state *state)
{
	if (!opts->recording)
		usage__error(state, "no file to write: give -o FILE");
	if (!opts->npids && !opts->program)
		usage__error(state, "nothing to record: give a program, or -p PID");
	if (opts->npids && opts->program)
		usage__error(state, "a program and -p PID do not go together");
}

static error_t parse_record(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		return init_live(opts, state);
	case 'o':
		opts->recording = arg;
		return 0;
	case 'p':
		parse_pids(opts, arg, state);
		return 0;
	case OPT_NO_WAIT:
		opts->wait = false;
		return 0;
	case OPT_CANARY:
		opts->canary = (unsigned int)options__number(arg, 1, 3600, "seconds", state);
		return 0;
	case OPT_TRACE_RING:
		opts->trace_ring = parse_size(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		opts->program = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		check_record(opts, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp record_argp = {
	record_options,
	parse_record,
	"-- PROGRAM [ARG...]\n-p PID",
	"Watch as `run' or `watch' do, and keep every call in a file for `aclguard replay'.\v"
	"Reports and exit statuses are those of `run' and `watch'; 118 also where the recording "
	"could not be written.  The file is readable by its owner only: it holds addresses.",
	live_children,
	NULL,
	NULL,
};

static const struct argp_option replay_options[] = {
	{ "calls", OPT_CALLS, NULL, 0, "List the calls, one a line, instead of judging them", 0 },
	{}
};

static error_t parse_replay(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = opts;
		return 0;
	case OPT_CALLS:
		opts->calls = true;
		return 0;
	case ARGP_KEY_ARG:
		if (opts->recording)
			usage__error(state, "one recording at a time");
		opts->recording = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage__error(state, "no recording to replay");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp replay_argp = {
	replay_options,
	parse_replay,
	"FILE",
	"Give the verdicts of a recording again, or list its calls; `-' reads stdin.\v"
	"Rules, window and --strict are those of the recording unless given.  Needs no "
	"privileges.  What the recording lacks is told.  Exit statuses: 0 done, 64 wrong usage, "
	"117 FILE is no recording that can be read, 118 reports could not be written, "
	"125 anything else.",
	replay_children,
	NULL,
	NULL,
};

/* ---- export ----------------------------------------------------------------- */

static error_t parse_export(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		opts->all = true;
		opts->no_lines = true;
		state->child_inputs[5] = opts;
		return init_all(opts, state);
	case ARGP_KEY_ARG:
		usage__error(state, "'%s' is not an option", arg);
		return 0;
	case ARGP_KEY_END:
		if (opts->output && !opts->json)
			usage__error(state, "--output needs --json");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child export_children[] = { ALL_CHILDREN,
						     { &options_export_argp, 0, NULL, 0 },
						     {} };

static const struct argp export_argp = {
	NULL,
	parse_export,
	NULL,
	"The node daemon: watch all processes, and serve metrics for Prometheus.\v"
	"It says a line on stderr for each violation, unless --json (to stdout, or to the file of "
	"--output, which is opened anew upon SIGHUP) or --journald takes them.  Exit statuses: "
	"0 ended by a signal, 64 wrong usage, 118 a file could not be written, "
	"120 a capability is missing, 121 the kernel lacks a feature, 122 a policy forbids it, "
	"125 anything else.",
	export_children,
	NULL,
	NULL,
};

/* ---- doctor ----------------------------------------------------------------- */

static const struct argp_option doctor_options[] = {
	{ "pid", 'p', "PID,...", 0, "Look at this process, too; may be given more than once", 0 },
	{ "json", OPT_JSON, NULL, 0, "One JSON object instead of text", 0 },
	{}
};

static error_t parse_doctor(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case 'p':
		parse_pids(opts, arg, state);
		return 0;
	case OPT_JSON:
		opts->json = true;
		return 0;
	case ARGP_KEY_ARG:
		usage__error(state, "'%s' is not an option; processes are given as -p PID", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp doctor_argp = {
	doctor_options,
	parse_doctor,
	NULL,
	"Say whether this machine, and a process on it, can be watched, what is in the way, and "
	"what would not be seen.\v"
	"Attaches to nothing and changes nothing.  Exit statuses: 0 fit, 1 fit with limits, "
	"2 unfit, 64 wrong usage, 118 the findings could not be written, 125 anything else.",
	NULL,
	NULL,
	NULL,
};

/* ---- control ---------------------------------------------------------------- */

static error_t parse_control(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!opts->control_path)
			opts->control_path = arg;
		else if (!opts->control_command)
			opts->control_command = arg;
		else
			usage__error(state, "one command at a time");
		return 0;
	case ARGP_KEY_END:
		if (!opts->control_command)
			usage__error(state, "give the path of a socket, and a command");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp control_argp = {
	NULL,
	parse_control,
	"PATH COMMAND",
	"Tell an aclguard that was started with --control=PATH what to do: `observe' (act upon "
	"nothing any more), `enforce' (again), or `status'.\v"
	"Its answer goes to stdout.  Exit statuses: 0 done, 64 wrong usage, "
	"125 there was no answer, or it refused.",
	NULL,
	NULL,
	NULL,
};

/* ---- the command --------------------------------------------------------- */

static char *help_filter(int key, const char *text, void *input)
{
	char *rules = NULL;
	size_t n = 0;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC || !text)
		return (char *)text;
	f = open_memstream(&rules, &n);
	if (!f)
		return (char *)text;
	fprintf(f, "%s\nRules:\n", text);
#define RULE_HELP(id, name, headline) fprintf(f, "  %-24s %s\n", name, headline);
	ACL_RULES(RULE_HELP)
	fclose(f);
	return rules;
}

static const struct {
	const char *name;
	enum command command;
	const struct argp *argp;
} commands[] = {
	{ "run", COMMAND_RUN, &run_argp },
	{ "watch", COMMAND_WATCH, &watch_argp },
	{ "record", COMMAND_RECORD, &record_argp },
	{ "replay", COMMAND_REPLAY, &replay_argp },
	{ "export", COMMAND_EXPORT, &export_argp },
	{ "doctor", COMMAND_DOCTOR, &doctor_argp },
	{ "control", COMMAND_CONTROL, &control_argp },
};

static error_t parse_command(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;
	const struct argp *sub = NULL;
	char *name = NULL;

	switch (key) {
	case ARGP_KEY_NO_ARGS:
		usage__error(state, "no command given");
		return 0;
	case ARGP_KEY_ARG:
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(arg, commands[i].name)) {
			opts->command = commands[i].command;
			sub = commands[i].argp;
		}
	}
	if (!sub)
		usage__error(state, "unknown command '%s'", arg);
	/* so that usage messages name the command */
	if (asprintf(&name, "aclguard %s", arg) < 0)
		argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "%s", arg);
	state->argv[state->next - 1] = name;
	argp_parse(sub, state->argc - state->next + 1, &state->argv[state->next - 1], ARGP_IN_ORDER,
		   NULL, opts);
	state->argv[state->next - 1] = arg;
	free(name);
	state->next = state->argc;
	return 0;
}

static const struct argp command_argp = {
	NULL,
	parse_command,
	"run [OPTION...] [--] PROGRAM [ARG...]\nwatch [OPTION...] -p PID\nwatch [OPTION...] --all\n"
	"record -o FILE [OPTION...] -- PROGRAM [ARG...]\nrecord -o FILE [OPTION...] -p PID\n"
	"replay [OPTION...] FILE\nexport [OPTION...]\ndoctor [-p PID] [--json]\ncontrol PATH COMMAND",
	"Watch programs that use the Ascend runtime, and report host buffers that are "
	"released too early.\v"
	"`aclguard run --help' lists the options of run, and so on.\n",
	NULL,
	help_filter,
	NULL,
};

void options__parse(struct options *opts, int argc, char **argv)
{
	memset(opts, 0, sizeof(*opts));
	opts->rules = ACL_RULES_ALL;
	opts->window = 1000000000;
	opts->stacks = true;
	opts->stack_depth = ACL_STACK_MAX;
	opts->stack_bytes = DUMPS_BYTES_DEFAULT;
	opts->wait = true;
	opts->error_exitcode = -1;
	opts->trace_ring = RECORD_RING_DEFAULT;
	options_enforce__init(&opts->enforce);
	options_export__init(&opts->export);
	argp_err_exit_status = ACL_EXIT_USAGE;
	argp_parse(&command_argp, argc, argv, ARGP_IN_ORDER, NULL, opts);
	if (!opts->fold_given)
		opts->fold = !opts->json;
}

void options__free(struct options *opts)
{
	free(opts->suppressions);
	opts->suppressions = NULL;
	opts->nsuppressions = 0;
	free(opts->pids);
	options_export__free(&opts->export);
	opts->pids = NULL;
	opts->npids = 0;
}
