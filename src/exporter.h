/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the node daemon makes of a session: it counts what the session tells, hands on
 * events, and gives all metrics as text to whoever asks, in whatever thread.
 */
#ifndef ACLGUARD_EXPORTER_H
#define ACLGUARD_EXPORTER_H

#include <stdint.h>

#include "exposition.h"
#include "httpd.h"
#include "session.h"
#include "textbuf.h"

#define EXPORTER_PAGE_MAX (32U << 20) /* bytes of all metrics */

struct exporter;

/* Returns 0, or an exit status after having said why not.  The options must stay. */
int exporter__new(const struct options *opts, struct exporter **out);
void exporter__free(struct exporter *ex); /* NULL is allowed */

/* For session__open(); of the exporter. */
const struct session_listener *exporter__listener(struct exporter *ex);

/* The session is open: before it tells anything, as processes are already looked for. */
void exporter__join(struct exporter *ex, struct session *s);

/* Privileges are dropped: from now on the kernel's numbers are read.  Returns 0 or -errno. */
int exporter__start(struct exporter *ex);
/* Before the session is closed: the numbers stay as they are then. */
void exporter__stop(struct exporter *ex);

/* The session's thread, now and then: forgets who has been gone for long, and what is idle. */
void exporter__tidy(struct exporter *ex);
/* The files that reports go to are opened anew. */
void exporter__reopen(struct exporter *ex);

/* ---- any thread ---------------------------------------------------------- */

/* All metrics.  Returns out->err. */
int exporter__metrics(struct exporter *ex, enum exposition_format format, struct textbuf *out);

/* At most n violations as a JSON array, the newest first. */
void exporter__violations(struct exporter *ex, size_t n, struct textbuf *out);

/* Violations as npu-exporter takes them from a file. */
int exporter__npu_file(struct exporter *ex, struct textbuf *out);

/* What the web server counts is among the metrics from now on; NULL: no more. */
void exporter__web(struct exporter *ex, const struct httpd *web);

/* A file of metrics could not be written. */
void exporter__file_failed(struct exporter *ex);

struct exporter_state {
	uint64_t processes;  /* that have called the runtime, and live */
	uint64_t violations; /* so far */
	uint64_t turned;     /* when events were handled last, monotonic ns; 0: not yet */
};

void exporter__state(struct exporter *ex, struct exporter_state *st);

#endif /* ACLGUARD_EXPORTER_H */
