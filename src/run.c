/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclguard run: start a program and watch it.
 *
 * The child is made first and waits until its loader is probed; only then it
 * becomes the program.  Whenever the loader maps something, the kernel stops
 * it for the moment that we need to look (see session.c), so no call of the
 * runtime comes before its probe.  To the outside we are the program: same
 * exit status, same death, and signals sent to us reach it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "elffile.h"
#include "kernel.h"
#include "exits.h"
#include "options.h"
#include "privileges.h"
#include "session.h"
#include "signals.h"

struct child {
	pid_t pid;
	int go;	    /* closing it lets the child go on */
	int failed; /* what execvp() failed with comes out here */
	int pidfd;
	bool left;		     /* stopped, while we end */
	sigset_t mask;		     /* as we were started with */
	struct rlimit memlock;	     /* likewise: libbpf raises it on kernels before 5.11, */
	struct rlimit nofile;	     /* and we raise this one */
	struct sigaction pipe, xfsz; /* likewise */
};

static bool may_run(const char *path)
{
	struct stat st;

	if (access(path, X_OK) || stat(path, &st))
		return false;
	errno = EACCES; /* what execve(2) says of a folder */
	return S_ISREG(st.st_mode);
}

/* As execvp(3) finds it.  0, or -errno. */
static int find_program(const char *name, char *path, size_t n)
{
	const char *dirs = getenv("PATH"), *end;
	int err = -ENOENT;

	if (!*name)
		return err;
	if (strchr(name, '/')) {
		snprintf(path, n, "%s", name);
		return may_run(path) ? 0 : -errno;
	}
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		snprintf(path, n, "%.*s%s%s", (int)(end - dirs), dirs, end == dirs ? "" : "/",
			 name);
		if (may_run(path))
			return 0;
		if (errno == EACCES)
			err = -EACCES;
		if (!*end)
			return err;
	}
}

static int cannot_run(const char *name, int err)
{
	return refuse(err == -ENOENT ? ACL_EXIT_NOT_FOUND : ACL_EXIT_CANNOT_EXEC,
		      "cannot run %s: %s", name, strerror(-err));
}

/* In the child: wait for the go, then become the program. */
static void become(char **program, int go, int failed, const struct child *c)
{
	char byte;
	int err;

	if (read(go, &byte, 1) != 1)
		_exit(ACL_EXIT_FAILED); /* the session did not come about */
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	setrlimit(RLIMIT_MEMLOCK, &c->memlock);
	setrlimit(RLIMIT_NOFILE, &c->nofile);
	sigaction(SIGPIPE, &c->pipe, NULL);
	sigaction(SIGXFSZ, &c->xfsz, NULL);
	execvp(program[0], program);
	err = errno;
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		_exit(ACL_EXIT_FAILED);
	_exit(err == ENOENT ? ACL_EXIT_NOT_FOUND : ACL_EXIT_CANNOT_EXEC);
}

static int child__start(struct child *c, char **program)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		return -errno;
	c->pid = fork();
	if (c->pid < 0)
		return -errno;
	if (!c->pid) {
		close(go[1]);
		close(failed[0]);
		become(program, go[0], failed[1], c);
	}
	close(go[0]);
	close(failed[1]);
	c->go = go[1];
	c->failed = failed[0];
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;
}

/* Returns the errno of a failed exec, 0 where the program runs. */
static int child__go(struct child *c)
{
	int err = 0;

	if (write(c->go, "", 1) != 1)
		return errno;
	close(c->go);
	if (read(c->failed, &err, sizeof(err)) != sizeof(err))
		err = 0; /* closed by the exec */
	close(c->failed);
	return err;
}

static void child__forsake(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static void send_signal(const struct child *c, int sig)
{
	privileges__raise(); /* it may have become somebody else */
	syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, 0);
	privileges__lower();
}

static bool is_to_end(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

/*
 * A signal that somebody sent to us is meant for the program.  One that the
 * terminal sent has reached the program already.  Returns how many were to end it.
 */
static unsigned int forward(int sfd, const struct child *c)
{
	struct signalfd_siginfo si;
	unsigned int ends = 0;

	while (read(sfd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_code != SI_KERNEL)
			send_signal(c, (int)si.ssi_signo);
		ends += is_to_end((int)si.ssi_signo);
	}
	return ends;
}

/*
 * What is stopped by enforcement takes no signal but SIGKILL until it is continued.
 * Who tries twice is let go, and what is stopped is left so.
 */
static bool leaves(const struct session *s, unsigned int ends, bool *said)
{
	if (!ends || !session__held(s))
		return false;
	if (*said)
		return true;
	say("the program is stopped by enforcement and takes the signal only when it is continued "
	    "(see the report):\nonce more, and aclguard ends and leaves it stopped");
	*said = true;
	return false;
}

/* Exits as the program did, by the same signal if by one; without a core of ours. */
static int end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	int sig;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	raise(sig);
	return 128 + sig;
}

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

/* Until the program has ended; 0, 1 where it is left stopped, or -errno where the loop failed. */
static int attend(struct session *s, const struct child *c, int sfd, int *status)
{
	bool said = false;
	pid_t pid;
	int err;

	for (;;) {
		err = session__wait(s, c->pidfd, sfd);
		if (err < 0)
			return err;
		if (leaves(s, forward(sfd, c), &said))
			return 1;
		pid = waitpid(c->pid, status, WNOHANG);
		if (pid == c->pid)
			return 0;
		if (pid < 0)
			return -errno;
		if (!err) /* nobody is in scope any more: it must be about to end */
			return waitpid(c->pid, status, 0) == c->pid ? 0 : -errno;
	}
}

static int watch_child(struct session *s, struct child *c, const char *path, char **program,
		       int sfd, int *status)
{
	int err;

	err = session__add(s, c->pid, true);
	if (!err)
		err = session__probe_loader_of(s, path);
	if (!err) /* what a static program starts has the usual loader */
		session__probe_usual_loaders(s);
	if (err) {
		child__forsake(c);
		if (err == -ENOENT || err == -ENOEXEC || err == -ESRCH || err == -ENOMEM)
			return refuse(ACL_EXIT_FAILED, "cannot watch %s: %s", program[0],
				      strerror(-err));
		return kernel__explain("probe programs", -err);
	}
	err = child__go(c);
	if (err) {
		waitpid(c->pid, NULL, 0);
		return cannot_run(program[0], -err);
	}
	privileges__drop(); /* where that is refused, all goes on with more than it needs */
	err = attend(s, c, sfd, status);
	c->left = err == 1;
	return err < 0 ? refuse(ACL_EXIT_FAILED, "lost sight of %s: %s", program[0], strerror(-err))
		       : 0;
}

int command_run(const struct options *opts)
{
	struct child c = { .pid = -1 };
	char path[PATH_MAX];
	struct session *s;
	int err, sfd, ours, status = 0;

	err = find_program(opts->program[0], path, sizeof(path));
	if (err)
		return cannot_run(opts->program[0], err);
	getrlimit(RLIMIT_MEMLOCK, &c.memlock);
	getrlimit(RLIMIT_NOFILE, &c.nofile);
	sigaction(SIGPIPE, NULL, &c.pipe);
	sigaction(SIGXFSZ, NULL, &c.xfsz);
	sfd = signals__open(passed_on, sizeof(passed_on) / sizeof(passed_on[0]), &c.mask);
	if (sfd < 0)
		return refuse(ACL_EXIT_FAILED, "cannot take signals: %s", strerror(-sfd));
	err = session__open(opts, NULL, &s);
	if (err)
		return err;
	err = child__start(&c, opts->program);
	if (err) {
		session__abandon(s);
		return refuse(ACL_EXIT_FAILED, "cannot fork: %s", strerror(-err));
	}
	err = watch_child(s, &c, path, opts->program, sfd, &status);
	if (err) {
		session__abandon(s);
		return err;
	}
	ours = session__close(s);
	if (c.left)
		return refuse(ACL_EXIT_STOPPED,
			      "process %d is left stopped: `kill -CONT %d' continues it", c.pid,
			      c.pid);
	if (ours)
		return ours;
	sigprocmask(SIG_SETMASK, &c.mask, NULL);
	return end_as(status);
}
