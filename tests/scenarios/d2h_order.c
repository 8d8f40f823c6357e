/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order for a copy from the device to the host: the report names
 * both directions.  The data has arrived, yet the host side is not told.
 *
 * Expected: free-before-destroy, level error, once a round.
 */
#include "scenario.h"

SITE void process_result(aclrtStream stream, unsigned char seed)
{
	struct buffer b = { .stream = stream };
	char *src = malloc(SC_SIZE);

	allocate_buffer(&b, SC_SIZE, seed);
	sc_fill(src, SC_SIZE, seed);
	OK(aclrtMemcpy(b.dev, SC_SIZE, src, SC_SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
	free(src);
	OK(aclrtCreateEvent(&b.event));
	OK(aclrtMemcpyAsync(b.host, SC_SIZE, b.dev, SC_SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
	record_event(&b);
	poll_event(b.event);
	sc_verify(b.host, SC_SIZE, seed);
	release_buffer(&b);
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("d2h_order", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_result(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
