/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The options of the node daemon, by argp. */
#define _GNU_SOURCE
#include "options_export.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "exits.h"
#include "metrics.h"
#include "options.h"
#include "recent.h"
#include "textfile.h"

enum {
	OPT_LISTEN = 256,
	OPT_WEB_CONFIG,
	OPT_MAX_SERIES,
	OPT_VIOLATIONS,
	OPT_TEXTFILE,
	OPT_NPU_FILE,
	OPT_INTERVAL,
	OPT_JOURNALD,
	OPT_JOURNALD_SOCKET,
	OPT_HOST_ROOT,
	OPT_SOURCE_LINES,
	OPT_BPF_STATS,
	OPT_LIST_METRICS,
};

static const struct argp_option export_options[] = {
	{ "web.listen-address", OPT_LISTEN, "ADDRESS", 0,
	  "Serve metrics here: HOST:PORT, :PORT for all, or unix:PATH; may be given more than once "
	  "(default 127.0.0.1:9877)",
	  0 },
	{ "web.config.file", OPT_WEB_CONFIG, "FILE", 0, "TLS and passwords, as exporters have them",
	  0 },
	{ "violations", OPT_VIOLATIONS, "N", 0,
	  "Keep the newest N violations for /violations (default 100)", 0 },
	{ "max-series", OPT_MAX_SERIES, "N", 0,
	  "Series with the labels of programs; what is more is counted as \"other\" (default 10000)",
	  0 },
	{ "host-root", OPT_HOST_ROOT, "DIR", 0,
	  "Where the host's root directory is, for the kubelet's names in its /var/log (default /)",
	  0 },
	{ "textfile", OPT_TEXTFILE, "DIR", 0,
	  "Write aclguard.prom there, for the textfile collector of node_exporter", 0 },
	{ "npu-exporter-file", OPT_NPU_FILE, "FILE", 0,
	  "Write violations there, for npu-exporter's -textMetricsFilePath", 0 },
	{ "interval", OPT_INTERVAL, "SECONDS", 0, "Between two writes of those files (default 15)",
	  0 },
	{ "journald", OPT_JOURNALD, NULL, 0,
	  "Violations go to the journal, with fields of their own", 0 },
	{ "journald-socket", OPT_JOURNALD_SOCKET, "PATH", 0,
	  "The same, where the journal's socket is elsewhere than in /run/systemd", 0 },
	{ "source-lines", OPT_SOURCE_LINES, NULL, 0,
	  "Look up source lines, too, which takes memory in the order of the debug information",
	  0 },
	{ "bpf-stats", OPT_BPF_STATS, NULL, 0,
	  "Have the kernel measure how long BPF programs run, of everybody's, at some 20 to 50 ns a "
	  "run",
	  0 },
	{ "list-metrics", OPT_LIST_METRICS, NULL, 0,
	  "List the metrics as a table, and do nothing else", 0 },
	{}
};

static void add_address(struct export_options *o, const char *arg, struct argp_state *state)
{
	const char **list = reallocarray(o->listen, o->nlisten + 1, sizeof(*list));

	if (!list) {
		argp_failure(state, ACL_EXIT_FAILED, ENOMEM, "--web.listen-address"); /* exits */
		return;
	}
	o->listen = list;
	list[o->nlisten++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;
	struct export_options *o = &opts->export;

	switch (key) {
	case OPT_LISTEN:
		add_address(o, arg, state);
		return 0;
	case OPT_WEB_CONFIG:
		o->web_config = arg;
		return 0;
	case OPT_MAX_SERIES:
		o->max_series =
			(size_t)options__number(arg, 0, 1000000, "a number of series", state);
		return 0;
	case OPT_VIOLATIONS:
		o->violations =
			(size_t)options__number(arg, 0, 10000, "a number of reports", state);
		return 0;
	case OPT_TEXTFILE:
		o->textfile = arg;
		return 0;
	case OPT_NPU_FILE:
		o->npu_file = arg;
		return 0;
	case OPT_INTERVAL:
		o->interval = (unsigned int)options__number(arg, 1, 86400, "seconds", state);
		return 0;
	case OPT_JOURNALD:
		o->journald = true;
		return 0;
	case OPT_JOURNALD_SOCKET:
		o->journald = true;
		o->journal = arg;
		return 0;
	case OPT_HOST_ROOT:
		o->host_root = arg;
		return 0;
	case OPT_SOURCE_LINES:
		opts->no_lines = false;
		return 0;
	case OPT_BPF_STATS:
		o->bpf_stats = true;
		return 0;
	case OPT_LIST_METRICS:
		o->list_metrics = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp options_export_argp = { export_options, parse, NULL, NULL, NULL, NULL, NULL };

void options_export__init(struct export_options *o)
{
	o->max_series = METRICS_SERIES_DEFAULT;
	o->violations = RECENT_DEFAULT;
	o->interval = TEXTFILE_INTERVAL_DEFAULT;
}

void options_export__free(struct export_options *o)
{
	free(o->listen);
	o->listen = NULL;
	o->nlisten = 0;
}
