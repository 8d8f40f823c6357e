/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Processes that come of processes: after a round of its own the program forks
 * N children, each of which sets the runtime up anew and does the order of
 * pcd_order once; then one more child that executes the program again.  Each
 * process prints its own line, the parent's comes last; "role" says whose it is.
 *
 * Expected: free-before-destroy, level error, once for every line, under that
 * line's pid.  Nothing of the parent's may be laid to a child.
 */
#include <sys/wait.h>

#include "scenario.h"

SITE void violate_once(void)
{
	aclrtStream stream;
	struct buffer b;

	sc_open_device();
	OK(aclrtCreateStream(&stream));
	start_copy(&b, stream, (unsigned char)getpid());
	poll_event(b.event);
	release_buffer(&b);
	destroy_event(&b);
	check_device(&b);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
}

static void start_over(void)
{
	sc.nfacts = 0;
	sc.ok = sc.failed = 0;
}

static void await(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		DIE("child %d: status 0x%x", (int)child, status);
}

static void fork_child(void)
{
	pid_t child = fork();

	if (child < 0)
		DIE("cannot fork");
	if (child) {
		await(child);
		return;
	}
	start_over();
	violate_once();
	sc_report("\"role\": \"forked\"");
	exit(0);
}

static void fork_exec(char **argv)
{
	pid_t child = fork();

	if (child < 0)
		DIE("cannot fork");
	if (!child) {
		execl("/proc/self/exe", argv[0], "0", "executed", (char *)NULL);
		_exit(127);
	}
	await(child);
}

int main(int argc, char **argv)
{
	sc_begin("forker", argc, argv, 3);
	violate_once();
	if (argc > 2) {
		sc_report("\"role\": \"executed\"");
		return 0;
	}
	for (long i = 0; i < sc.rounds; i++)
		fork_child();
	fork_exec(argv);
	sc_report("\"role\": \"parent\"");
	return 0;
}
