/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An event is destroyed, then recorded, queried and waited for, and destroyed
 * again.
 *
 * Expected, once a round and level error: event-use-after-destroy for the record,
 * the query and the wait, event-double-destroy for the second destruction.
 */
#include "scenario.h"

SITE void misuse_event(aclrtStream stream, unsigned char seed)
{
	aclrtEventRecordedStatus status;
	struct buffer b;

	start_copy(&b, stream, seed);
	OK(aclrtSynchronizeStream(stream));
	destroy_event(&b);
	if (!aclrtRecordEvent(b.event, stream) || !aclrtQueryEventStatus(b.event, &status) ||
	    !aclrtStreamWaitEvent(stream, b.event) || !aclrtDestroyEvent(b.event))
		DIE("a call on a destroyed event succeeded");
	OK(release_buffer(&b));
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("event_misuse", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		misuse_event(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
