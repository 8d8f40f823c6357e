/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order in a program that looks at what aclrtFreeHost returns and
 * tries again after the event is gone.
 *
 * Expected: free-before-destroy, level error, once a round; where the free fails
 * with 507899 (ACLSIM_RACE=certain) its evidence is "confirmed".  The buffer lives
 * on after a failed free, and the second free is right: nothing is said of it.
 */
#include "scenario.h"

SITE void release_with_retry(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	poll_event(b.event);
	if (!release_buffer(&b)) {
		destroy_event(&b);
		check_device(&b);
		return;
	}
	destroy_event(&b);
	OK(release_buffer(&b));
	check_device(&b);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("free_failed", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		release_with_retry(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
