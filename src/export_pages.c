/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the web server shows; its thread calls these. */
#include "export_pages.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "report_text.h"

enum {
	TYPE_TEXT,
	TYPE_OPENMETRICS,
};

static const char *const metrics_types[] = {
	[TYPE_TEXT] = HTTPD_TYPE_PROMETHEUS,
	[TYPE_OPENMETRICS] = HTTPD_TYPE_OPENMETRICS,
	NULL,
};
static const char *const json_types[] = { HTTPD_TYPE_JSON, NULL };
static const char *const text_types[] = { HTTPD_TYPE_TEXT, NULL };

static int show_metrics(void *arg, const struct httpd_request *req, unsigned int type,
			struct textbuf *out)
{
	const struct export_pages *p = arg;
	int err = exporter__metrics(
		p->exporter, type == TYPE_OPENMETRICS ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT,
		out);

	(void)req;
	return err ? err : 200;
}

static int show_violations(void *arg, const struct httpd_request *req, unsigned int type,
			   struct textbuf *out)
{
	const char *n = httpd__query(req, "n");
	const struct export_pages *p = arg;
	unsigned long max = SIZE_MAX;
	char *end;

	(void)type;
	if (n) {
		errno = 0;
		max = strtoul(n, &end, 10);
		if (errno || end == n || *end || *n < '0' || *n > '9') {
			textbuf__str(out, "{\"error\":\"n is to be a number\"}\n");
			return 400;
		}
	}
	exporter__violations(p->exporter, max, out);
	return 200;
}

static int show_health(void *arg, const struct httpd_request *req, unsigned int type,
		       struct textbuf *out)
{
	const struct export_pages *p = arg;
	struct exporter_state st;

	(void)req;
	(void)type;
	exporter__state(p->exporter, &st);
	/* before all processes are watched, nothing can be handled */
	if (st.turned && report__now() - st.turned > EXPORT_PAGES_STALE_NS) {
		textbuf__str(out, "events are not handled\n");
		return 503;
	}
	textbuf__str(out, "ok\n");
	return 200;
}

static int show_ready(void *arg, const struct httpd_request *req, unsigned int type,
		      struct textbuf *out)
{
	const struct export_pages *p = arg;

	(void)req;
	(void)type;
	if (!atomic_load(&p->ready)) {
		textbuf__str(out, "not yet\n");
		return 503;
	}
	textbuf__str(out, "ready\n");
	return 200;
}

void export_pages__init(struct export_pages *p, struct exporter *ex)
{
	const struct httpd_page pages[EXPORT_PAGES] = {
		{ "/metrics", "Metrics", metrics_types, false, show_metrics, p },
		{ "/violations", "The newest violations", json_types, false, show_violations, p },
		{ "/healthz", NULL, text_types, true, show_health, p },
		{ "/readyz", NULL, text_types, true, show_ready, p },
	};

	p->exporter = ex;
	atomic_init(&p->ready, false);
	for (int i = 0; i < EXPORT_PAGES; i++)
		p->pages[i] = pages[i];
}

void export_pages__ready(struct export_pages *p)
{
	atomic_store(&p->ready, true);
}
