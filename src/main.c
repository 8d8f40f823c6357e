/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* aclguard: sees host buffers released too early, in programs on the Ascend runtime. */
#include "commands.h"
#include "options.h"

int main(int argc, char **argv)
{
	struct options opts;
	int status;

	options__parse(&opts, argc, argv);
	status = opts.command == COMMAND_RUN ? command_run(&opts) : command_watch(&opts);
	options__free(&opts);
	return status;
}
