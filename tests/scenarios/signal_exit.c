/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ends as it is told to: "signal_exit SIGNAL" kills itself with that signal
 * number (default 15), "signal_exit exit CODE" exits with that code.  Before
 * that it does one clean round.
 *
 * Expected: nothing, and that whoever started it sees the same end.
 */
#include <signal.h>

#include "scenario.h"

SITE void clean_round(void)
{
	aclrtStream stream;
	struct buffer b;

	OK(aclrtCreateStream(&stream));
	start_copy(&b, stream, 1);
	OK(aclrtSynchronizeStream(stream));
	destroy_event(&b);
	OK(release_buffer(&b));
	check_device(&b);
	OK(aclrtDestroyStream(stream));
}

int main(int argc, char **argv)
{
	int sig = (int)sc_arg(argc, argv, 1, SIGTERM);

	sc_begin("signal_exit", 1, argv, 1);
	sc_open_device();
	clean_round();
	sc_close_device();
	sc_report(NULL);
	if (argc > 1 && !strcmp(argv[1], "exit"))
		return (int)sc_arg(argc, argv, 2, 0);
	signal(sig, SIG_DFL);
	kill(getpid(), sig);
	/* A signal that is ignored or stops: when it goes on, it ends well. */
	return 0;
}
