/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Buffers and events that are never freed or destroyed, all of them settled.
 *
 * Expected: the notes event-leak and host-leak in the summary, N of each.
 */
#include "scenario.h"

SITE void forget(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	OK(aclrtSynchronizeStream(stream));
	check_device(&b);
	sc_fact(&b, sc_now(), 0);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("leaks", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		forget(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
