/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The first remedy for pcd_order: the stream is synchronised, which tells the host
 * side of its copies, before the buffer is freed.  The event may then go last.
 *
 * Expected: nothing.
 */
#include "scenario.h"

SITE void process_synchronized(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	OK(aclrtSynchronizeStream(stream));
	OK(release_buffer(&b));
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("pcd_fixed_sync", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_synchronized(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
