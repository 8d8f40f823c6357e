/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages about the command line. */
#include "usage.h"

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"

#define MESSAGE_MAX 1024

void usage__error(struct argp_state *state, const char *fmt, ...)
{
	char text[MESSAGE_MAX], shown[MESSAGE_MAX * ESCAPE_TEXT_EXPAND];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	escape__message(shown, sizeof(shown), text, strlen(text));
	argp_error(state, "%s", shown);
}
