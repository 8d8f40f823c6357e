/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The options of the node daemon. */
#ifndef ACLGUARD_OPTIONS_EXPORT_H
#define ACLGUARD_OPTIONS_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

struct argp;

struct export_options {
	const char **listen; /* addresses; none: the default */
	size_t nlisten;
	const char *web_config; /* a file */
	size_t max_series;
	size_t violations;    /* how many are kept for /violations */
	const char *textfile; /* a folder */
	const char *npu_file;
	unsigned int interval; /* seconds between two writes of files */
	bool journald;
	const char *journal;   /* its socket; NULL: the usual one */
	const char *host_root; /* where the host's /var/log is; NULL: / */
	bool bpf_stats;	       /* how long BPF programs run is measured */
	bool list_metrics;     /* and nothing else */
};

void options_export__init(struct export_options *o);
void options_export__free(struct export_options *o);

/* Child of the command's parser; the input is a struct options. */
extern const struct argp options_export_argp;

#endif /* ACLGUARD_OPTIONS_EXPORT_H */
