/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order step by step, as whoever started it says by letters on
 * stdin, so that aclguard can come and go in between:
 *
 *  c  a new buffer and event, the copy, the record
 *  q  poll the event until it is COMPLETE
 *  f  free the buffer		d  destroy the event
 *  s  synchronise the stream
 *
 * Each letter is answered with itself.  The first line of output says where
 * aclrtFreeHost is in memory, the last one, at the end of stdin, is the JSON.
 *
 * Expected: free-before-destroy for every q f d: level error and "certain" where
 * aclguard was there for the whole order, a "suspected" warning where the buffer
 * was there before it.
 */
#include <dlfcn.h>

#include "scenario.h"

SITE void do_step(int step, struct buffer *b, aclrtStream stream, unsigned char seed)
{
	switch (step) {
	case 'c':
		start_copy(b, stream, seed);
		break;
	case 'q':
		poll_event(b->event);
		break;
	case 'f':
		release_buffer(b);
		break;
	case 'd':
		destroy_event(b);
		check_device(b);
		break;
	case 's':
		OK(aclrtSynchronizeStream(stream));
		break;
	default:
		DIE("no step '%c'", step);
	}
}

int main(int argc, char **argv)
{
	struct buffer b = { 0 };
	unsigned char seed = 0;
	aclrtStream stream;
	int step;

	sc_begin("steps", 1, argv, 0);
	(void)argc;
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	printf("%p\n", dlsym(RTLD_DEFAULT, "aclrtFreeHost"));
	fflush(stdout);
	while ((step = getchar()) != EOF) {
		if (step == '\n')
			continue;
		do_step(step, &b, stream, seed++);
		printf("%c\n", step);
		fflush(stdout);
	}
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
