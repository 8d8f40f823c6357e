/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order with the deprecated aclrtQueryEvent, whose COMPLETE is 0
 * and which tells the host side: old Paddle's npu_pinned_allocator.
 *
 * Expected: nothing.
 */
#include "scenario.h"

SITE void process_events(aclrtStream stream, unsigned char seed)
{
	aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
	uint64_t begin = sc_now();
	struct buffer b;

	start_copy(&b, stream, seed);
	while (status != ACL_EVENT_STATUS_COMPLETE) {
		OK(aclrtQueryEvent(b.event, &status));
		if (sc_now() - begin > SC_PATIENCE_NS)
			DIE("the event does not complete");
		sched_yield();
	}
	OK(release_buffer(&b));
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("old_query", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_events(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
