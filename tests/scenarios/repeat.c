/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The same mistake again and again, as fast as it can be made: no wait for the
 * device in between, and nothing checked.
 *
 * Expected: free-in-flight, level error, once a round, from one place.
 */
#include "scenario.h"

SITE void release_unfinished(aclrtStream stream, char *dev)
{
	void *host;

	OK(aclrtMallocHost(&host, SC_SIZE));
	OK(aclrtMemcpyAsync(dev, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
	aclrtFreeHost(host);
}

int main(int argc, char **argv)
{
	aclrtStream stream;
	uint64_t began;
	void *dev;

	sc_begin("repeat", argc, argv, 1000);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	OK(aclrtMalloc(&dev, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	began = sc_now();
	for (long i = 0; i < sc.rounds; i++)
		release_unfinished(stream, dev);
	printf("{\"scenario\": \"repeat\", \"pid\": %d, \"rounds\": %ld, \"seconds\": %.3f}\n",
	       (int)getpid(), sc.rounds, (double)(sc_now() - began) / 1e9);
	OK(aclrtSynchronizeStream(stream));
	OK(aclrtDestroyStream(stream));
	OK(aclrtFree(dev));
	sc_close_device();
	return 0;
}
