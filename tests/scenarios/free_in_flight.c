/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The buffer is freed right after the copy was submitted, with no wait of any
 * kind: what torch_npu's emptyCache did before 7.3.0 with blocks still in use.
 *
 * Expected: free-in-flight, level error, once a round.
 */
#include "scenario.h"

SITE void release_unfinished(aclrtStream stream, unsigned char seed)
{
	struct buffer b = { 0 };

	allocate_buffer(&b, SC_SIZE, seed);
	copy_to_device(&b, stream);
	release_buffer(&b);
	OK(aclrtSynchronizeStream(stream));
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("free_in_flight", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		release_unfinished(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
