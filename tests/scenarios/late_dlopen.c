/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program that has no Ascend library linked and opens one late, as every
 * Python framework does: it works on something else first, then dlopens the
 * library and does the order of pcd_order through dlsym.
 *
 * Arguments: rounds (3), library (libascendcl.so, else libacl_rt.so, as
 * LD_LIBRARY_PATH finds them), milliseconds of other work before (100).
 *
 * Expected: free-before-destroy, level error, once a round.
 */
#include <dlfcn.h>

#include "acl/acl.h"

#define LATE_CALLS(X)         \
	X(aclInit)            \
	X(aclFinalize)        \
	X(aclrtSetDevice)     \
	X(aclrtResetDevice)   \
	X(aclrtCreateStream)  \
	X(aclrtDestroyStream) \
	X(aclrtMalloc)        \
	X(aclrtFree)          \
	X(aclrtMallocHost)    \
	X(aclrtFreeHost)      \
	X(aclrtMemcpy)        \
	X(aclrtMemcpyAsync)   \
	X(aclrtCreateEvent)   \
	X(aclrtDestroyEvent)  \
	X(aclrtRecordEvent)   \
	X(aclrtQueryEventStatus)

#define LATE_DECLARE(name) static __typeof__(name) *late_##name;
LATE_CALLS(LATE_DECLARE)

/* From here on the names mean the pointers, in scenario.h as well. */
#define aclInit late_aclInit
#define aclFinalize late_aclFinalize
#define aclrtSetDevice late_aclrtSetDevice
#define aclrtResetDevice late_aclrtResetDevice
#define aclrtCreateStream late_aclrtCreateStream
#define aclrtDestroyStream late_aclrtDestroyStream
#define aclrtMalloc late_aclrtMalloc
#define aclrtFree late_aclrtFree
#define aclrtMallocHost late_aclrtMallocHost
#define aclrtFreeHost late_aclrtFreeHost
#define aclrtMemcpy late_aclrtMemcpy
#define aclrtMemcpyAsync late_aclrtMemcpyAsync
#define aclrtCreateEvent late_aclrtCreateEvent
#define aclrtDestroyEvent late_aclrtDestroyEvent
#define aclrtRecordEvent late_aclrtRecordEvent
#define aclrtQueryEventStatus late_aclrtQueryEventStatus

#include "scenario.h"

static void *find_call(void *lib, const char *name)
{
	void *sym = dlsym(lib, name);

	if (!sym)
		DIE("%s", dlerror());
	return sym;
}

/* Gives the name of the library that was opened. */
SITE const char *open_library(const char *wanted)
{
	const char *name = wanted ? wanted : "libascendcl.so";
	void *lib = dlopen(name, RTLD_NOW);

	if (!lib && !wanted) {
		name = "libacl_rt.so";
		lib = dlopen(name, RTLD_NOW);
	}
	if (!lib)
		DIE("%s", dlerror());
#define LATE_FIND(name) late_##name = (__typeof__(late_##name))find_call(lib, #name);
	LATE_CALLS(LATE_FIND)
	return name;
}

SITE void process_events(aclrtStream stream, unsigned char seed)
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
	const char *lib;
	aclrtStream stream;

	sc_begin("late_dlopen", argc, argv, 3);
	sc_sleep_us(sc_arg(argc, argv, 3, 100) * 1000);
	lib = open_library(argc > 2 && *argv[2] ? argv[2] : NULL);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		process_events(stream, (unsigned char)i);
	sc_report("\"library\": \"%s\"", lib);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
