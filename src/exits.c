/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What aclguard says about itself, as opposed to about a process. */
#include "exits.h"

#include <stdarg.h>
#include <stdio.h>

static void vsay(const char *fmt, va_list args)
{
	char line[2048];
	int n = vsnprintf(line, sizeof(line), fmt, args);

	if (n < 0)
		return;
	/* one write, so that the traced program's own output does not cut in */
	fprintf(stderr, "aclguard: %s\n", line);
	fflush(stderr);
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsay(fmt, args);
	va_end(args);
}

int refuse(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsay(fmt, args);
	va_end(args);
	return status;
}
