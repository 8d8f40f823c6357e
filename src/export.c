/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclguard export: the node daemon.  Watches all processes as `watch --all' does, and
 * gives metrics to Prometheus, by the web or through files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "commands.h"
#include "exits.h"
#include "export_pages.h"
#include "exporter.h"
#include "httpd.h"
#include "options.h"
#include "privileges.h"
#include "report_text.h"
#include "sdnotify.h"
#include "session.h"
#include "signals.h"
#include "textfile.h"

#define TICK_SECONDS 5 /* when nothing else is to be done */

struct daemon {
	const struct options *opts;
	struct options of_session; /* reports are JSON, wherever they go */
	struct exporter *exporter;
	struct session *session;
	struct textfile *textfile;
	struct httpd *web;
	struct export_pages pages;
	int signals, timer; /* -1: not open */
	uint64_t watchdog;  /* ns between two signs of life; 0: nobody waits for them */
	int status;
};

static int list_metrics(void)
{
	struct textbuf out;
	int status = ACL_EXIT_OK;

	textbuf__init(&out, EXPORTER_PAGE_MAX);
	exposition__list(&out);
	if (out.err || fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout))
		status = refuse(ACL_EXIT_OUTPUT, "cannot list the metrics: %s", strerror(errno));
	textbuf__free(&out);
	return status;
}

/* ---- what wakes us ------------------------------------------------------- */

static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

static int open_timer(uint64_t interval_ns)
{
	const struct timespec every = {
		.tv_sec = (time_t)(interval_ns / 1000000000),
		.tv_nsec = (long)(interval_ns % 1000000000),
	};
	const struct itimerspec it = { .it_interval = every, .it_value = every };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &it, NULL)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_wakers(struct daemon *d)
{
	uint64_t tick = TICK_SECONDS * (uint64_t)1000000000;

	d->watchdog = sdnotify__watchdog();
	if (d->watchdog && d->watchdog < tick)
		tick = d->watchdog;
	d->signals = signals__open(taken, sizeof(taken) / sizeof(taken[0]), NULL);
	d->timer = open_timer(tick);
	if (d->signals < 0 || d->timer < 0)
		return refuse(ACL_EXIT_FAILED, "cannot take signals: %s",
			      strerror(d->signals < 0 ? -d->signals : errno));
	return 0;
}

/* Logs may have been moved away, certificates replaced. */
static void reload(struct daemon *d)
{
	exporter__reopen(d->exporter);
	httpd__reload(d->web);
}

/* Returns whether to end. */
static bool take_signals(struct daemon *d)
{
	struct signalfd_siginfo si;
	bool end = false;

	while (read(d->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGHUP)
			reload(d);
		else if (!session__take_signal(d->session, si.ssi_signo))
			end = true;
	}
	return end;
}

static void take_ticks(struct daemon *d)
{
	struct exporter_state st;
	uint64_t ticks;

	if (read(d->timer, &ticks, sizeof(ticks)) != (ssize_t)sizeof(ticks))
		return;
	exporter__tidy(d->exporter);
	exporter__state(d->exporter, &st);
	sdnotify__send("%sSTATUS=%" PRIu64 " process%s on the Ascend runtime, %" PRIu64
		       " violation%s",
		       d->watchdog ? "WATCHDOG=1\n" : "", st.processes,
		       st.processes == 1 ? "" : "es", st.violations, st.violations == 1 ? "" : "s");
}

/* ---- the web ------------------------------------------------------------- */

static void note(void *arg, const char *line)
{
	(void)arg;
	say("%s", line);
}

static int open_web(struct daemon *d)
{
	const struct export_options *o = &d->opts->export;
	struct httpd_cfg cfg = {
		.listen = o->listen,
		.nlisten = o->nlisten,
		.web_config = o->web_config,
		.title = "aclguard",
		.note = note,
	};
	char why[HTTPD_WHY];
	int err;

	export_pages__init(&d->pages, d->exporter);
	cfg.pages = d->pages.pages;
	cfg.npages = EXPORT_PAGES;
	err = httpd__start(&cfg, &d->web, why);
	if (err)
		return refuse(err == -EINVAL ? ACL_EXIT_USAGE : ACL_EXIT_FAILED, "%s", why);
	exporter__web(d->exporter, d->web);
	for (size_t i = 0; i < (o->nlisten ? o->nlisten : 1); i++)
		say("serving metrics at %s", httpd__address(d->web, i));
	return 0;
}

/* ---- the daemon's life --------------------------------------------------- */

static int attach(struct daemon *d)
{
	int found;

	exporter__join(d->exporter, d->session);
	found = session__watch_all(d->session, d->signals);

	if (found < 0)
		return refuse(ACL_EXIT_FAILED, "cannot look for processes: %s", strerror(-found));
	privileges__drop(); /* where that is refused, all goes on with more than it needs */
	found = exporter__start(d->exporter);
	if (found)
		return refuse(ACL_EXIT_FAILED, "cannot read the kernel's numbers: %s",
			      strerror(-found));
	return 0;
}

static int begin(struct daemon *d)
{
	int err = open_wakers(d);

	if (!err)
		err = exporter__new(d->opts, &d->exporter);
	if (!err)
		err = open_web(d);
	if (!err)
		err = session__open(&d->of_session, exporter__listener(d->exporter), &d->session);
	if (!err)
		err = attach(d);
	if (!err)
		err = textfile__start(d->opts, d->exporter, &d->textfile);
	return err;
}

static int serve(struct daemon *d)
{
	int err;

	say("watching all processes");
	export_pages__ready(&d->pages);
	sdnotify__send("READY=1\nSTATUS=watching");
	do {
		err = session__wait(d->session, d->signals, d->timer);
		if (err < 0)
			return refuse(ACL_EXIT_FAILED, "cannot wait for the processes: %s",
				      strerror(-err));
		take_ticks(d);
	} while (!take_signals(d));
	return 0;
}

static void end(struct daemon *d)
{
	sdnotify__send("STOPPING=1");
	if (d->exporter)
		exporter__web(d->exporter, NULL);
	httpd__stop(d->web);
	if (d->exporter)
		exporter__stop(d->exporter);
	if (d->session && d->status)
		session__abandon(d->session);
	else if (d->session)
		d->status = session__close(d->session);
	textfile__stop(d->textfile);
	exporter__free(d->exporter);
	if (d->signals >= 0)
		close(d->signals);
	if (d->timer >= 0)
		close(d->timer);
}

int command_export(const struct options *opts)
{
	struct daemon d = { .opts = opts, .of_session = *opts, .signals = -1, .timer = -1 };

	if (opts->export.list_metrics)
		return list_metrics();
	d.of_session.json = true;
	d.status = begin(&d);
	if (!d.status)
		d.status = serve(&d);
	end(&d);
	return d.status;
}
