/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A library whose functions are given other names by objcopy, and with -DPROGRAM a
 * program that loads it, by the path that it is given, and calls the runtime through it.
 */
#include <dlfcn.h>
#include <sys/prctl.h>

#include "scenario.h"

#ifdef PROGRAM

int main(int argc, char **argv)
{
	void (*entry)(aclrtStream stream, char *dev);
	aclrtStream stream;
	void *lib, *dev;

	sc_begin("hostile", argc, argv, 3);
	if (argc < 4)
		DIE("rounds, library, name of the program");
	lib = dlopen(argv[2], RTLD_NOW);
	*(void **)&entry = lib ? dlsym(lib, "entry") : NULL;
	if (!entry)
		DIE("%s", dlerror());
	prctl(PR_SET_NAME, argv[3]);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	OK(aclrtMalloc(&dev, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	for (long i = 0; i < sc.rounds; i++)
		entry(stream, dev);
	OK(aclrtSynchronizeStream(stream));
	OK(aclrtDestroyStream(stream));
	OK(aclrtFree(dev));
	sc_close_device();
	return 0;
}

#else

#define RENAMED __attribute__((noinline, noclone))

void long_name(aclrtStream stream, char *dev);
void evil_name(aclrtStream stream, char *dev);
void entry(aclrtStream stream, char *dev);

RENAMED void long_name(aclrtStream stream, char *dev)
{
	void *host;

	if (aclrtMallocHost(&host, SC_SIZE) ||
	    aclrtMemcpyAsync(dev, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream))
		abort();
	aclrtFreeHost(host);
}

RENAMED void evil_name(aclrtStream stream, char *dev)
{
	long_name(stream, dev);
}

void entry(aclrtStream stream, char *dev)
{
	evil_name(stream, dev);
}

#endif
