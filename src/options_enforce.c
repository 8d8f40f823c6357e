/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parsing what is to be done about violations, and refusing what would not be done. */
#define _GNU_SOURCE
#include "options_enforce.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "names.h"
#include "options.h"
#include "usage.h"

_Static_assert(ACL_SIGSTOP == SIGSTOP, "SIGSTOP has another number here");

enum {
	OPT_ENFORCE = 600, /* beyond those of options.c */
	OPT_LEVEL,
	OPT_SUSPECTED,
	OPT_ALL,
	OPT_LIMIT,
	OPT_DRY_RUN,
	OPT_CONTROL,
};

static const struct argp_option enforce_options[] = {
	{ "enforce", OPT_ENFORCE, "RULE=ACTION,...", 0,
	  "Act upon violations of RULE: report, stop, abort, term, kill, or a signal", 3 },
	{ "enforce-level", OPT_LEVEL, "LEVEL", 0,
	  "Act upon errors (default), or upon warnings, too: error, warning", 3 },
	{ "enforce-suspected", OPT_SUSPECTED, NULL, 0,
	  "Act also where the evidence is only suspected", 3 },
	{ "enforce-all", OPT_ALL, NULL, 0,
	  "With --all and no filter: yes, act upon every process of this machine", 3 },
	{ "enforce-limit", OPT_LIMIT, "N", 0,
	  "Act at most N times a minute upon one process (default 10)", 3 },
	{ "enforce-dry-run", OPT_DRY_RUN, NULL, 0, "Only tell and count what would be done", 3 },
	{ "control", OPT_CONTROL, "PATH", 0,
	  "Listen on the socket PATH for `aclguard control', which switches enforcement", 3 },
	{}
};

/* ---- actions -------------------------------------------------------------- */

static bool is_usable(long sig)
{
	/* 32 and 33 are the C library's own */
	return sig >= 1 && sig <= 64 && sig != 32 && sig != 33;
}

int options_enforce__signal(const char *name)
{
	char *end;
	long n;

	if (isdigit((unsigned char)*name)) {
		n = strtol(name, &end, 10);
		return *end || !is_usable(n) ? -1 : (int)n;
	}
	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (int sig = 1; sig < 32; sig++) {
		const char *abbrev = sigabbrev_np(sig);

		if (abbrev && !strcasecmp(name, abbrev))
			return sig;
	}
	return -1;
}

static int action_signal(const char *action)
{
	static const struct {
		const char *name;
		int sig;
	} actions[] = {
		{ "report", 0 },     { "stop", SIGSTOP }, { "abort", SIGABRT },
		{ "term", SIGTERM }, { "kill", SIGKILL },
	};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(action, actions[i].name))
			return actions[i].sig;
	return options_enforce__signal(action);
}

static void set_action(struct enforce_options *e, int rule, int sig, struct argp_state *state)
{
	if (e->named & ACL_RULE_BIT(rule) && e->cfg.sig[rule] != sig)
		usage__error(state, "--enforce names %s twice, with different actions",
			     acl_rule__name((unsigned int)rule));
	e->named |= ACL_RULE_BIT(rule);
	e->cfg.sig[rule] = (uint8_t)sig;
}

static void parse_enforce(struct enforce_options *e, const char *arg, struct argp_state *state)
{
	char *list = strdup(arg), *rest = list, *word, *action;
	int rule, sig;

	if (!list)
		argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "--enforce");
	while ((word = strsep(&rest, ","))) {
		action = strchr(word, '=');
		if (!action) {
			usage__error(state, "--enforce takes RULE=ACTION, not '%s'", word);
			break;
		}
		*action++ = '\0';
		rule = acl_rule__find(word);
		sig = action_signal(action);
		if (rule < 0)
			usage__error(state, "unknown rule '%s'; `aclguard --help' lists them",
				     word);
		else if (sig < 0)
			usage__error(state,
				     "unknown action '%s': report, stop, abort, term, kill, or a "
				     "signal such as SIGUSR1",
				     action);
		else
			set_action(e, rule, sig, state);
	}
	free(list);
}

/* ---- what does not fit together --------------------------------------------- */

static void check_rule(const struct options *opts, int rule, struct argp_state *state)
{
	const struct enforce_options *e = &opts->enforce;
	const char *name = acl_rule__name((unsigned int)rule);

	if (rule == ACL_RULE_EVENT_LEAK || rule == ACL_RULE_HOST_LEAK ||
	    rule == ACL_RULE_FREE_AFTER_EVENT_SYNC)
		usage__error(state, "%s is a note, and notes are not acted upon", name);
	if (rule == ACL_RULE_FREE_AFTER_STREAM_QUERY && e->cfg.level > ACL_LEVEL_WARNING)
		usage__error(state,
			     "%s is a warning: it is acted upon with --enforce-level=warning",
			     name);
	if (!(opts->rules & ACL_RULE_BIT(rule)))
		usage__error(state, "--enforce %s, but --rule leaves it out", name);
}

/* What would silently have no effect. */
static void check_needs(const struct options *opts, struct argp_state *state)
{
	const struct enforce_options *e = &opts->enforce;

	if (!e->on && e->needs)
		usage__error(state,
			     "%s has no effect without --enforce=RULE=ACTION, with another action "
			     "than report",
			     e->needs);
	/* the daemon's unit names its socket whatever the options, and it says its status */
	if (!e->on && e->control && opts->command != COMMAND_EXPORT)
		usage__error(state,
			     "--control has nothing to switch without --enforce=RULE=ACTION, with "
			     "another action than report");
	if (e->all && !opts->all)
		usage__error(state, "--enforce-all has no effect without --all");
}

static void check(struct options *opts, struct argp_state *state)
{
	struct enforce_options *e = &opts->enforce;
	bool filtered = opts->comm || opts->container || opts->cgroup || opts->uid_given;

	for (int rule = 0; rule < ACL_RULE_MAX; rule++) {
		if (!e->cfg.sig[rule])
			continue;
		e->on = true;
		check_rule(opts, rule, state);
	}
	check_needs(opts, state);
	if (e->on && opts->all && !filtered && !e->all)
		usage__error(state,
			     "--enforce with --all acts upon every process of this machine that "
			     "uses the runtime:\n"
			     "narrow it by --comm, --container, --cgroup or --uid, or say that it "
			     "is meant by --enforce-all");
	e->cfg.confirm = opts->all && filtered;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;
	struct enforce_options *e = &opts->enforce;
	char *end;
	long n;

	switch (key) {
	case OPT_ENFORCE:
		parse_enforce(e, arg, state);
		return 0;
	case OPT_LEVEL:
		if (strcmp(arg, "error") != 0 && strcmp(arg, "warning") != 0)
			usage__error(state, "--enforce-level takes error or warning, not '%s'",
				     arg);
		e->needs = "--enforce-level";
		e->cfg.level = !strcmp(arg, "error") ? ACL_LEVEL_ERROR : ACL_LEVEL_WARNING;
		return 0;
	case OPT_SUSPECTED:
		e->needs = "--enforce-suspected";
		e->cfg.suspected = 1;
		return 0;
	case OPT_ALL:
		e->needs = "--enforce-all";
		e->all = true;
		return 0;
	case OPT_LIMIT:
		n = strtol(arg, &end, 10);
		if (end == arg || *end || n < 1 || n > ENFORCE_LIMIT_MAX)
			usage__error(state, "'%s' is not a number of actions (1 to %d)", arg,
				     ENFORCE_LIMIT_MAX);
		e->needs = "--enforce-limit";
		e->cfg.limit = (uint32_t)n;
		return 0;
	case OPT_DRY_RUN:
		e->needs = "--enforce-dry-run";
		e->cfg.dry_run = 1;
		return 0;
	case OPT_CONTROL:
		e->control = arg;
		return 0;
	case ARGP_KEY_END:
		check(opts, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp options_enforce_argp = { enforce_options, parse, NULL, NULL, NULL, NULL, NULL };

/* ---- where there is nothing to act on ---------------------------------------- */

static const struct argp_option refused_options[] = {
	{ "enforce", OPT_ENFORCE, "RULE=ACTION,...", OPTION_HIDDEN, NULL, 0 }, {}
};

static error_t refuse_all(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != OPT_ENFORCE)
		return ARGP_ERR_UNKNOWN;
	usage__error(state,
		     "--enforce has nothing to act on in a recording: use it with run, watch or "
		     "record");
	return 0;
}

const struct argp options_enforce_refusal_argp = {
	refused_options, refuse_all, NULL, NULL, NULL, NULL, NULL
};

void options_enforce__init(struct enforce_options *e)
{
	*e = (struct enforce_options){
		.cfg = { .limit = ENFORCE_LIMIT_DEFAULT, .level = ACL_LEVEL_ERROR },
	};
}
