/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * N processes at a time: each sets the runtime up, allocates a buffer, and waits until
 * stdin ends before it frees it.  The first line of output, "N", comes when all of them
 * have a buffer; the last is the JSON.
 *
 * Expected: silent.
 */
#include <sys/wait.h>

#include "scenario.h"

/* `ready` is written to when the buffer is there; `hold` ends when it is to go. */
SITE void be_one(int ready, int hold)
{
	void *p = NULL;
	char byte = 0;

	sc_open_device();
	OK(aclrtMallocHost(&p, SC_SIZE));
	if (write(ready, &byte, 1) != 1)
		DIE("nobody waits");
	while (read(hold, &byte, 1) > 0)
		;
	OK(aclrtFreeHost(p));
	sc_close_device();
	_exit(0);
}

static void start_all(const int ready[2], const int hold[2])
{
	for (long i = 0; i < sc.rounds; i++) {
		pid_t child = fork();

		if (child < 0)
			DIE("cannot fork");
		if (child)
			continue;
		close(hold[1]);
		be_one(ready[1], hold[0]);
	}
}

int main(int argc, char **argv)
{
	int ready[2], hold[2], status;
	char byte;

	sc_begin("crowd", argc, argv, 100);
	if (pipe(ready) || pipe(hold))
		DIE("no pipe");
	start_all(ready, hold);
	close(ready[1]);
	for (long i = 0; i < sc.rounds; i++)
		if (read(ready[0], &byte, 1) != 1)
			DIE("process %ld ended early", i);
	printf("%ld\n", sc.rounds);
	fflush(stdout);
	while (getchar() != EOF)
		;
	close(hold[1]);
	for (long i = 0; i < sc.rounds; i++)
		if (wait(&status) < 0 || status)
			DIE("a process ended with 0x%x", status);
	sc_report(NULL);
	return 0;
}
