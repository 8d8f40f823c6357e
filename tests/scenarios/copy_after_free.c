/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A copy from a buffer that was freed a moment ago.  To the runtime the address is
 * pageable memory now, so the copy succeeds.  (Not for the address sanitizer,
 * which rightly stops this program.)
 *
 * Expected: copy-after-free, level error, once a round.
 */
#include "scenario.h"

SITE void copy_from_freed(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	OK(aclrtSynchronizeStream(stream));
	destroy_event(&b);
	OK(release_buffer(&b));
	OK(aclrtMemcpyAsync(b.dev, b.length, b.host, b.length, ACL_MEMCPY_HOST_TO_DEVICE, stream));
	OK(aclrtSynchronizeStream(stream));
	OK(aclrtFree(b.dev));
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("copy_after_free", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		copy_from_freed(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
