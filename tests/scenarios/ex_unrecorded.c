/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An event of aclrtCreateEventExWithFlag answers COMPLETE before it was ever
 * recorded.  This program forgot the record and believes the answer.
 *
 * Expected: free-in-flight, level error, once a round.
 */
#include "scenario.h"

SITE void believe_unrecorded(aclrtStream stream, unsigned char seed)
{
	struct buffer b = { 0 };

	allocate_buffer(&b, SC_SIZE, seed);
	OK(aclrtCreateEventExWithFlag(&b.event, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
	copy_to_device(&b, stream);
	poll_event(b.event);
	release_buffer(&b);
	destroy_event(&b);
	OK(aclrtSynchronizeStream(stream));
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("ex_unrecorded", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		believe_unrecorded(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
