/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The same mistake again and again, as fast as it can be made: no wait for the
 * device in between, but for one where too many releases were refused.
 *
 * Expected: free-in-flight, level error, once a round, from one place.
 */
#include "scenario.h"

#define REFUSED_MAX 4096

static void *refused[REFUSED_MAX];
static size_t nrefused;

SITE void release_unfinished(aclrtStream stream, char *dev)
{
	void *host;

	OK(aclrtMallocHost(&host, SC_SIZE));
	OK(aclrtMemcpyAsync(dev, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
	if (aclrtFreeHost(host))
		refused[nrefused++] = host;
}

/* What was refused lives on. */
SITE void release_refused(aclrtStream stream)
{
	OK(aclrtSynchronizeStream(stream));
	while (nrefused)
		OK(aclrtFreeHost(refused[--nrefused]));
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
	for (long i = 0; i < sc.rounds; i++) {
		release_unfinished(stream, dev);
		if (nrefused == REFUSED_MAX)
			release_refused(stream);
	}
	printf("{\"scenario\": \"repeat\", \"pid\": %d, \"rounds\": %ld, \"seconds\": %.3f}\n",
	       (int)getpid(), sc.rounds, (double)(sc_now() - began) / 1e9);
	release_refused(stream);
	OK(aclrtDestroyStream(stream));
	OK(aclrtFree(dev));
	sc_close_device();
	return 0;
}
