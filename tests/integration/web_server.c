/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The web server, with pages for the tests of it:
 *
 *	web_server [-c WEB_CONFIG] [-n CONNECTIONS] [-m MODE] [-t HEAD,IDLE,REPLY (ms)] [ADDRESS]...
 *
 * Says on stdout where it listens.  SIGHUP: reads the configuration anew; SIGUSR1: says on
 * stdout what was counted; SIGTERM: ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "httpd.h"

static const char *const text[] = { HTTPD_TYPE_TEXT, NULL };
static const char *const metrics[] = { HTTPD_TYPE_PROMETHEUS, HTTPD_TYPE_OPENMETRICS, NULL };

static int render_known(void *arg, const struct httpd_request *req, unsigned int type,
			struct textbuf *out)
{
	static unsigned int rendered;

	(void)arg;
	(void)req;
	textbuf__printf(out, "up 1\nrendered_total %u\n", ++rendered);
	if (type == 1)
		textbuf__str(out, "# EOF\n");
	return 200;
}

/* ?n=BYTES of lines that can be told apart. */
static int render_big(void *arg, const struct httpd_request *req, unsigned int type,
		      struct textbuf *out)
{
	const char *n = httpd__query(req, "n");
	size_t bytes = n ? strtoull(n, NULL, 10) : 0;

	(void)arg;
	(void)type;
	for (unsigned int i = 0; out->len < bytes && !out->err; i++)
		textbuf__printf(out, "line %u of a page that is big\n", i);
	return 200;
}

/* ?status=N, or an error of the page's own. */
static int render_status(void *arg, const struct httpd_request *req, unsigned int type,
			 struct textbuf *out)
{
	const char *status = httpd__query(req, "status");

	(void)arg;
	(void)type;
	textbuf__str(out, "as it is\n");
	return status ? atoi(status) : -EIO;
}

static const struct httpd_page pages[] = {
	{ "/metrics", "Metrics", metrics, false, render_known, NULL },
	{ "/big", NULL, text, false, render_big, NULL },
	{ "/status", NULL, text, false, render_status, NULL },
	{ "/open", "Open to all", text, true, render_known, NULL },
};

static void note(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "note: %s\n", line);
}

static void say_counts(const struct httpd *h)
{
	struct httpd_counts c;

	httpd__counts(h, &c);
	printf("ok=%" PRIu64 " unauthorized=%" PRIu64 " client=%" PRIu64 " server=%" PRIu64
	       " busy=%" PRIu64 " accepted=%" PRIu64 " overdue=%" PRIu64 " evicted=%" PRIu64
	       " open=%" PRIu64 " reloads=%" PRIu64 " reload_fails=%" PRIu64 "\n",
	       c.requests[HTTPD_OK], c.requests[HTTPD_UNAUTHORIZED], c.requests[HTTPD_CLIENT_ERROR],
	       c.requests[HTTPD_SERVER_ERROR], c.busy, c.accepted, c.overdue, c.evicted, c.open,
	       c.reloads, c.reload_fails);
}

static int parse(int argc, char **argv, struct httpd_cfg *cfg)
{
	int opt;

	while ((opt = getopt(argc, argv, "c:n:m:t:")) != -1) {
		if (opt == 'c')
			cfg->web_config = optarg;
		else if (opt == 'n')
			cfg->connections = (unsigned int)atoi(optarg);
		else if (opt == 'm')
			cfg->unix_mode = (mode_t)strtoul(optarg, NULL, 8);
		else if (opt != 't' || sscanf(optarg, "%u,%u,%u", &cfg->head_ms, &cfg->idle_ms,
					      &cfg->reply_ms) != 3)
			return -1;
	}
	cfg->listen = (const char *const *)&argv[optind];
	cfg->nlisten = (size_t)(argc - optind);
	return 0;
}

int main(int argc, char **argv)
{
	struct httpd_cfg cfg = { .pages = pages,
				 .npages = sizeof(pages) / sizeof(pages[0]),
				 .title = "the test's server",
				 .note = note };
	char why[HTTPD_WHY];
	struct httpd *h;
	sigset_t set;
	int sig;

	if (parse(argc, argv, &cfg))
		return 64;
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (httpd__start(&cfg, &h, why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; httpd__address(h, i); i++)
		printf("listening on %s\n", httpd__address(h, i));
	while (!sigwait(&set, &sig) && sig != SIGTERM) {
		if (sig == SIGHUP)
			httpd__reload(h);
		else
			say_counts(h);
	}
	httpd__stop(h);
	puts("stopped");
	return 0;
}
