/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclrtSynchronizeEvent, then the buffer is freed while the event lives on:
 * MindSpore's ccool library, and PaddleCustomDevice's ClearEvent.  The runtime
 * waits for the device there, but need not tell the host side.
 *
 * Expected: free-after-event-sync, a note that only --strict shows, once a round.
 */
#include "scenario.h"

SITE void clear_event(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	OK(aclrtSynchronizeEvent(b.event));
	release_buffer(&b);
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("event_sync_free", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		clear_event(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
