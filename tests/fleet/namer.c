/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Many programs, one after the other: N processes (second argument), each of a name of its
 * own, job-00000 and so on from the first argument on, that makes an event and lets go of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"

static int job(long n)
{
	aclrtEvent event;
	char name[32]; /* of which the kernel takes 15 bytes */

	snprintf(name, sizeof(name), "job-%05ld", n);
	prctl(PR_SET_NAME, name);
	return aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateEvent(&event) ||
	       aclrtDestroyEvent(event) || aclrtResetDevice(0);
}

int main(int argc, char **argv)
{
	long first = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long end = argc > 2 ? first + strtol(argv[2], NULL, 10) : 0;

	for (long n = first; n < end; n++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(job(n));
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			return 1;
	}
	puts("done");
	return 0;
}
