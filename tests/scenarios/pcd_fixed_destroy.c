/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The second remedy for pcd_order, PaddleCustomDevice's own fix: the event is
 * polled as before, but destroyed before the buffer is freed.
 *
 * Expected: nothing.
 */
#include "scenario.h"

SITE void process_events(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	poll_event(b.event);
	destroy_event(&b);
	OK(release_buffer(&b));
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("pcd_fixed_destroy", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_events(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
