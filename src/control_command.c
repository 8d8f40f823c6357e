/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* aclguard control: tells a running aclguard what to do, through its socket. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "control.h"
#include "escape.h"
#include "exits.h"
#include "options.h"

int command_control(const struct options *opts)
{
	char answer[CONTROL_LINE_MAX], shown[CONTROL_LINE_MAX * ESCAPE_TEXT_EXPAND + 1];
	int err = control__ask(opts->control_path, opts->control_command, answer, sizeof(answer));

	if (err)
		return refuse(ACL_EXIT_FAILED, "no answer from %s: %s", opts->control_path,
			      strerror(-err));
	escape__str(shown, sizeof(shown), answer);
	if (strncmp(answer, "ok", 2) != 0)
		return refuse(ACL_EXIT_FAILED, "%s", shown);
	puts(shown);
	return fflush(stdout) ? ACL_EXIT_OUTPUT : ACL_EXIT_OK;
}
