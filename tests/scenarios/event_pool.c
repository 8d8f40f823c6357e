/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * torch_npu from 6.0 on: events come from a pool, made once by
 * aclrtCreateEventExWithFlag, are recorded again and again, and are not destroyed
 * before the host cache is emptied.
 *
 * Expected: free-before-destroy, but as a warning, once a round: the events are
 * pooled, so the program's way to destroy before the free is a long one.
 */
#include "scenario.h"

#define POOL 2

/* Events that have been in use before. */
SITE void fill_pool(aclrtEvent *pool, aclrtStream stream)
{
	for (int i = 0; i < POOL; i++) {
		OK(aclrtCreateEventExWithFlag(&pool[i], ACL_EVENT_CAPTURE_STREAM_PROGRESS));
		OK(aclrtRecordEvent(pool[i], stream));
		poll_event(pool[i]);
	}
}

/* The block comes back to the cache with its event's completion; the cache is emptied. */
SITE void release_cached(aclrtStream stream, aclrtEvent *event, unsigned char seed)
{
	struct buffer b = { .event = *event };

	allocate_buffer(&b, SC_SIZE, seed);
	copy_to_device(&b, stream);
	record_event(&b);
	poll_event(b.event);
	release_buffer(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;
	aclrtEvent pool[POOL];

	sc_begin("event_pool", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	fill_pool(pool, stream);
	for (long i = 0; i < sc.rounds; i++)
		release_cached(stream, &pool[i % POOL], (unsigned char)i);
	for (int i = 0; i < POOL; i++)
		OK(aclrtDestroyEvent(pool[i]));
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
