/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Threads beside the one that handles events. */
#define _GNU_SOURCE
#include "thread.h"

#include <signal.h>

#define STACK (1U << 20) /* bytes */

int thread__start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	sigfillset(&all);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pthread_setname_np(*thread, name);
	return -err;
}
