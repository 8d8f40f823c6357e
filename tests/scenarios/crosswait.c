/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The copy is on one stream, the event that is polled on another that waited for
 * the first.  Its completion covers the copy, and tells the host side as little.
 *
 * Expected: free-before-destroy, level error, once a round, naming the second
 * stream's event.
 */
#include "scenario.h"

SITE void process_across_streams(aclrtStream stream, unsigned char seed)
{
	struct buffer b;
	aclrtStream other;
	aclrtEvent copied;

	OK(aclrtCreateStream(&other));
	start_copy(&b, stream, seed);
	copied = b.event;
	OK(aclrtStreamWaitEvent(other, copied));
	OK(aclrtCreateEvent(&b.event));
	OK(aclrtRecordEvent(b.event, other));
	poll_event(b.event);
	release_buffer(&b);
	destroy_event(&b);
	OK(aclrtDestroyEvent(copied));
	check_device(&b);
	OK(aclrtDestroyStream(other));
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("crosswait", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_across_streams(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
