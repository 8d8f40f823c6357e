/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The reported failure: PaddleCustomDevice's NPU runtime before its fix.  Every
 * copy has a page-locked staging buffer and an event; at the next allocation
 * all events are polled, and where one says COMPLETE the buffer is freed FIRST
 * and the event destroyed after.
 *
 * Expected: free-before-destroy, level error, once a round.  The host side has
 * not been told of the copy when the buffer goes.
 */
#include "scenario.h"

#define IN_FLIGHT 8

static struct buffer pending[IN_FLIGHT];
static size_t npending;

/* ProcessEvents of that program, with its wrong order. */
SITE void process_events(void)
{
	size_t done = 0;

	while (done < npending) {
		aclrtEventRecordedStatus status;

		OK(aclrtQueryEventStatus(pending[done].event, &status));
		/* nor are those behind it on the stream; were one of them taken for done, its
		 * destroy would settle this one, too */
		if (status != ACL_EVENT_RECORDED_STATUS_COMPLETE)
			break;
		release_buffer(&pending[done]);
		destroy_event(&pending[done]);
		check_device(&pending[done]);
		done++;
	}
	npending -= done;
	memmove(pending, pending + done, npending * sizeof(pending[0]));
}

SITE void async_copy(aclrtStream stream, unsigned char seed)
{
	process_events();
	while (npending == IN_FLIGHT) {
		sched_yield();
		process_events();
	}
	start_copy(&pending[npending++], stream, seed);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("pcd_order", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		async_copy(stream, (unsigned char)i);
	while (npending) {
		process_events();
		sched_yield();
	}
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
