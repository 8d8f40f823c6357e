/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A buffer is freed twice, properly the first time.
 *
 * Expected: double-free, level error, once a round, decided when the second free
 * returns its error.
 */
#include "scenario.h"

SITE void release_twice(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	OK(aclrtSynchronizeStream(stream));
	OK(release_buffer(&b));
	if (!release_buffer(&b))
		DIE("the second free succeeded");
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("double_free", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		release_twice(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
