/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The host learns of the copy's completion from a host function in the stream: a
 * way that the tool does not follow.  Then the buffer is freed.
 *
 * Expected: free-in-flight, but as a warning with evidence "suspected", once a
 * round.
 */
#include "scenario.h"

static void tell(void *arg)
{
	*(_Atomic int *)arg = 1;
}

SITE void release_when_told(aclrtStream stream, unsigned char seed)
{
	_Atomic int told = 0;
	struct buffer b = { 0 };

	allocate_buffer(&b, SC_SIZE, seed);
	copy_to_device(&b, stream);
	OK(aclrtLaunchHostFunc(stream, tell, &told));
	while (!told)
		sched_yield();
	release_buffer(&b);
	OK(aclrtSynchronizeStream(stream));
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("unfollowed_way", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		release_when_told(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
