/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The service manager's notification protocol. */
#include "sdnotify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unixgram.h"

#define STATE_MAX 512

int sdnotify__send(const char *fmt, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	char state[STATE_MAX];
	va_list args;
	int n;

	if (!path)
		return 0;
	va_start(args, fmt);
	n = vsnprintf(state, sizeof(state), fmt, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(state))
		return -EINVAL;
	return unixgram__send(path, state, (size_t)n);
}

uint64_t sdnotify__watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long val;
	char *end;

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	val = strtoull(usec, &end, 10);
	if (errno || end == usec || *end || val > UINT64_MAX / 1000)
		return 0;
	return val * 1000 / 2;
}
