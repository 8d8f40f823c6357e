/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For the benchmark of reports: one violation in the order of pcd_order every few
 * milliseconds (second argument, default 5).  `ns` in the output is the time,
 * CLOCK_MONOTONIC, right before each aclrtFreeHost.
 *
 * Expected: free-before-destroy, level error, once a round.
 */
#include "scenario.h"

SITE void violate(aclrtStream stream, unsigned char seed)
{
	struct buffer b;

	start_copy(&b, stream, seed);
	poll_event(b.event);
	release_buffer(&b);
	destroy_event(&b);
	check_device(&b);
}

int main(int argc, char **argv)
{
	long pause_ms = sc_arg(argc, argv, 2, 5);
	aclrtStream stream;

	sc.max = (size_t)sc_arg(argc, argv, 1, 20);
	sc_begin("latency", argc, argv, 20);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++) {
		violate(stream, (unsigned char)i);
		sc_sleep_us(pause_ms * 1000);
	}
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
