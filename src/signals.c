/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Signals that are read from a descriptor. */
#include "signals.h"

#include <errno.h>
#include <sys/signalfd.h>

int signals__open(const int *sigs, size_t n, sigset_t *old)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, sigs[i]);
	if (sigprocmask(SIG_BLOCK, &set, old))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
