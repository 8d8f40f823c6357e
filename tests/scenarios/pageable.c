/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * PaddleCustomDevice after it gave up page-locked memory (its change 384): the
 * copies come from malloc memory, which is freed before the event is destroyed.
 *
 * Expected: nothing.  The runtime copies pageable memory before it returns, and
 * free() is no business of the tool.
 */
#include "scenario.h"

SITE void process_pageable(aclrtStream stream, unsigned char seed)
{
	struct buffer b = { .stream = stream, .length = SC_SIZE, .seed = seed };
	void *dev;

	OK(aclrtMalloc(&dev, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	b.dev = dev;
	b.host = malloc(SC_SIZE);
	OK(aclrtCreateEvent(&b.event));
	copy_to_device(&b, stream);
	record_event(&b);
	poll_event(b.event);
	free(b.host);
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("pageable", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_pageable(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
