/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* aclguard: sees host buffers released too early, in programs on the Ascend runtime. */
#include "commands.h"
#include "options.h"

int main(int argc, char **argv)
{
	struct options opts;
	int status = 0;

	options__parse(&opts, argc, argv);
	switch (opts.command) {
	case COMMAND_RUN:
		status = command_run(&opts);
		break;
	case COMMAND_WATCH:
		status = command_watch(&opts);
		break;
	case COMMAND_RECORD:
		status = command_record(&opts);
		break;
	case COMMAND_REPLAY:
		status = command_replay(&opts);
		break;
	case COMMAND_DOCTOR:
		status = command_doctor(&opts);
		break;
	case COMMAND_CONTROL:
		status = command_control(&opts);
		break;
	case COMMAND_EXPORT:
		status = command_export(&opts);
		break;
	}
	options__free(&opts);
	return status;
}
