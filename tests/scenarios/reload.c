/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order, while another thread opens further copies of the library:
 *
 *	reload ROUNDS FILE...
 *
 * Expected: free-before-destroy, level error, once a round.
 */
#include <dlfcn.h>

#include "scenario.h"

static void *opener(void *arg)
{
	for (char **file = arg; *file; file++) {
		if (!dlopen(*file, RTLD_NOW | RTLD_LOCAL))
			DIE("%s", dlerror());
		sc_sleep_us(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	aclrtStream stream;

	sc_begin("reload", argc, argv, 1);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	if (pthread_create(&thread, NULL, opener, argv + (argc > 1 ? 2 : 1)))
		DIE("no thread");
	for (long i = 0; i < sc.rounds; i++) {
		struct buffer b = { 0 };

		start_copy(&b, stream, (unsigned char)i);
		poll_event(b.event);
		release_buffer(&b);
		destroy_event(&b);
	}
	pthread_join(thread, NULL);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
