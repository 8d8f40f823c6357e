/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two buffers in flight on two streams.  The one that is freed first has been
 * synchronised, the other has not: the verdict is on the freed buffer alone.
 *
 * Expected: nothing.
 */
#include "scenario.h"

SITE void release_settled(aclrtStream stream, unsigned char seed)
{
	struct buffer a, b;
	aclrtStream other;

	OK(aclrtCreateStream(&other));
	start_copy(&a, stream, seed);
	start_copy(&b, other, (unsigned char)(seed + 1));
	OK(aclrtSynchronizeStream(stream));
	OK(release_buffer(&a));
	destroy_event(&a);
	OK(aclrtSynchronizeStream(other));
	OK(release_buffer(&b));
	destroy_event(&b);
	check_device(&a);
	check_device(&b);
	OK(aclrtDestroyStream(other));
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("two_buffers", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		release_settled(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
