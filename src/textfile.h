/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Files that others read metrics from, written anew every so often by a thread of its own:
 * aclguard.prom for the textfile collector of node_exporter, and the file of npu-exporter.
 * A file is always whole: it is written under another name and then renamed.
 */
#ifndef ACLGUARD_TEXTFILE_H
#define ACLGUARD_TEXTFILE_H

#include "exporter.h"

#define TEXTFILE_NAME "aclguard.prom"
#define TEXTFILE_INTERVAL_DEFAULT 15 /* seconds */

struct options;
struct textfile;

/* Writes `path` whole, readable by all.  Returns 0 or -errno. */
int textfile__write(const char *path, const void *data, size_t len);

/*
 * Writes the files of the options, if there are any, and starts the thread.  Returns 0,
 * or an exit status after having said why not.
 */
int textfile__start(const struct options *opts, struct exporter *ex, struct textfile **out);

/* Ends the thread, and writes the files a last time.  NULL is allowed. */
void textfile__stop(struct textfile *t);

#endif /* ACLGUARD_TEXTFILE_H */
