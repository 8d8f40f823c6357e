/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What ends us while we start.  The handler calls nothing but what it may. */
#define _GNU_SOURCE
#include "start.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static const int ends[] = { SIGINT, SIGTERM, SIGQUIT };
#define ENDS (sizeof(ends) / sizeof(ends[0]))

static const char *volatile made;
static sigset_t before;
static bool ours[ENDS];

static void leave(int sig)
{
	sigset_t set;

	if (made)
		unlink(made);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig); /* the first process of a container does not die of that */
}

void start__begin(void)
{
	struct sigaction old, act = { .sa_handler = leave };
	sigset_t set;

	sigemptyset(&set);
	sigfillset(&act.sa_mask);
	for (size_t i = 0; i < ENDS; i++) {
		ours[i] = !sigaction(ends[i], NULL, &old) && old.sa_handler == SIG_DFL;
		if (!ours[i])
			continue;
		sigaction(ends[i], &act, NULL);
		sigaddset(&set, ends[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, &before);
}

void start__end(void)
{
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (size_t i = 0; i < ENDS; i++)
		if (ours[i])
			signal(ends[i], SIG_DFL);
	made = NULL;
}

void start__made(const char *path)
{
	made = path;
}
