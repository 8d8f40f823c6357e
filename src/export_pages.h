/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The pages of the node daemon: /metrics, /violations, /healthz, /readyz. */
#ifndef ACLGUARD_EXPORT_PAGES_H
#define ACLGUARD_EXPORT_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "exporter.h"
#include "httpd.h"

#define EXPORT_PAGES 4
#define EXPORT_PAGES_STALE_NS 30000000000ULL /* after which events count as not handled */

struct export_pages {
	struct exporter *exporter;
	atomic_bool ready;
	struct httpd_page pages[EXPORT_PAGES]; /* for httpd__start() */
};

/* The pages point to *p, which must stay where it is. */
void export_pages__init(struct export_pages *p, struct exporter *ex);

/* All processes are watched. */
void export_pages__ready(struct export_pages *p);

#endif /* ACLGUARD_EXPORT_PAGES_H */
