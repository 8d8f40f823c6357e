/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The stream is polled until it is idle and the buffer freed then.  Like the
 * event query, aclrtStreamQuery reads the device side only.
 *
 * Expected: free-after-stream-query, level warning, once a round.
 */
#include "scenario.h"

SITE void poll_stream(aclrtStream stream)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
	uint64_t begin = sc_now();

	for (;;) {
		OK(aclrtStreamQuery(stream, &status));
		if (status == ACL_STREAM_STATUS_COMPLETE)
			return;
		if (sc_now() - begin > SC_PATIENCE_NS)
			DIE("the stream does not become idle");
		sched_yield();
	}
}

SITE void release_when_idle(aclrtStream stream, unsigned char seed)
{
	struct buffer b = { 0 };

	allocate_buffer(&b, SC_SIZE, seed);
	copy_to_device(&b, stream);
	poll_stream(stream);
	release_buffer(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("stream_query_free", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		release_when_idle(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
