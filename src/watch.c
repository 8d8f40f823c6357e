/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclguard watch: attach to processes that run, and leave them as they were
 * when they or we end.  Nothing of theirs is stopped or changed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands.h"
#include "exits.h"
#include "options.h"
#include "privileges.h"
#include "probes.h"
#include "session.h"
#include "signals.h"

/* The canary did not live on, or nobody wants to know any more. */
static int canary_over(int err)
{
	return err == -ECANCELED ? ACL_EXIT_CANARY : ACL_EXIT_OK;
}

static int cannot_watch(pid_t pid, int err)
{
	if (err == -ECANCELED || err == -EINTR)
		return canary_over(err);
	if (err == -ESRCH)
		return refuse(ACL_EXIT_NO_PROCESS, "no such process: %d", pid);
	if (err == -EACCES || err == -EPERM)
		return refuse(ACL_EXIT_PRIVILEGE,
			      "not allowed to look at process %d: CAP_SYS_PTRACE is missing, or a "
			      "policy forbids it",
			      pid);
	return refuse(ACL_EXIT_FAILED, "cannot watch process %d: %s", pid, strerror(-err));
}

/* A process without the runtime: wait for it, or refuse. */
static int without_runtime(const struct options *opts, pid_t pid, int found)
{
	if (found & PROBES_EMPTY)
		return refuse(ACL_EXIT_NO_SYMBOLS,
			      "process %d maps a library that is named like the Ascend runtime but "
			      "defines none of its calls.\n"
			      "Perhaps it is a link-time stub: look which libascendcl.so or "
			      "libacl_rt.so it has loaded in /proc/%d/maps.",
			      pid, pid);
	if (!opts->wait)
		return refuse(ACL_EXIT_NO_LIBRARY,
			      "process %d has not loaded the Ascend runtime (libascendcl.so, "
			      "libacl_rt.so).\n"
			      "Without --no-wait, aclguard waits for it.",
			      pid);
	say("process %d has not loaded the Ascend runtime yet: waiting for it", pid);
	return 0;
}

static int attach(struct session *s, const struct options *opts, pid_t pid, int interrupt)
{
	int found, err;

	err = session__add(s, pid, false);
	if (err)
		return cannot_watch(pid, err);
	err = session__canary(s, pid, interrupt);
	if (err)
		return cannot_watch(pid, err);
	found = session__scan(s, pid);
	if (found < 0)
		return cannot_watch(pid, found);
	if (!(found & PROBES_RUNTIME))
		return without_runtime(opts, pid, found);
	err = session__complete(s, pid);
	if (err)
		return cannot_watch(pid, err);
	say("attached to process %d", pid);
	return 0;
}

static int attach_all(struct session *s, int interrupt)
{
	int found = session__watch_all(s, interrupt);

	if (found == -ECANCELED || found == -EINTR)
		return canary_over(found);
	if (found < 0)
		return refuse(ACL_EXIT_FAILED, "cannot look for processes: %s", strerror(-found));
	say("watching all processes; %d use%s the Ascend runtime now", found,
	    found == 1 ? "s" : "");
	return 0;
}

static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

/* Those of the signals that do not end the watch.  Returns whether one does. */
static bool take_signals(struct session *s, int sfd)
{
	struct signalfd_siginfo si;
	bool over = false;

	while (read(sfd, &si, sizeof(si)) == sizeof(si)) {
		if (!session__take_signal(s, si.ssi_signo))
			over = true;
	}
	return over;
}

int command_watch(const struct options *opts)
{
	struct session *s;
	int err, sfd, ours;

	/* a typo need not load anything first */
	for (size_t i = 0; i < opts->npids; i++)
		if (kill(opts->pids[i], 0) && errno == ESRCH)
			return cannot_watch(opts->pids[i], -ESRCH);
	sfd = signals__open(taken, sizeof(taken) / sizeof(taken[0]), NULL);
	if (sfd < 0)
		return refuse(ACL_EXIT_FAILED, "cannot take signals: %s", strerror(-sfd));
	err = session__open(opts, NULL, &s);
	if (err)
		return err;
	if (opts->all)
		err = attach_all(s, sfd);
	for (size_t i = 0; !err && i < opts->npids; i++)
		err = attach(s, opts, opts->pids[i], sfd);
	if (err) {
		session__abandon(s);
		return err;
	}
	privileges__drop(); /* where that is refused, all goes on with more than it needs */
	do
		err = session__wait(s, sfd, -1);
	while (err == 1 && !take_signals(s, sfd));
	if (err < 0 && err != -ECANCELED && err != -EINTR)
		say("cannot wait for the processes: %s", strerror(-err));
	ours = session__close(s);
	close(sfd);
	if (err == -ECANCELED || err == -EINTR)
		return canary_over(err);
	return err < 0 ? ACL_EXIT_FAILED : ours;
}
