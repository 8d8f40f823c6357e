/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The files with code that a process has mapped, and what they have to do with
 * the Ascend runtime: which calls of the table each defines and how a probe on
 * them would work, and which calls of the layer below (rt*, libruntime.so) they
 * use past the runtime.  Reads only; nothing is attached.
 */
#ifndef ACLGUARD_MODULES_H
#define ACLGUARD_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls.h"
#include "elffile.h"
#include "prologue.h"

#define MODULES_MAX 8192 /* files of one process that are looked at */

/* The calls of the lower layer that move, free or settle what we follow. */
#define LOWER_CALLS(CALL)             \
	CALL(rtMallocHost)            \
	CALL(rtFreeHost)              \
	CALL(rtHostRegister)          \
	CALL(rtHostUnregister)        \
	CALL(rtMemcpyAsync)           \
	CALL(rtMemcpyAsyncWithCfg)    \
	CALL(rtMemcpyAsyncPtr)        \
	CALL(rtMemcpy2dAsync)         \
	CALL(rtsMemcpyAsync)          \
	CALL(rtEventCreate)           \
	CALL(rtEventCreateWithFlag)   \
	CALL(rtEventCreateExWithFlag) \
	CALL(rtEventDestroy)          \
	CALL(rtEventRecord)           \
	CALL(rtEventReset)            \
	CALL(rtEventQuery)            \
	CALL(rtEventQueryStatus)      \
	CALL(rtEventSynchronize)      \
	CALL(rtStreamWaitEvent)       \
	CALL(rtStreamCreate)          \
	CALL(rtStreamDestroy)         \
	CALL(rtStreamSynchronize)     \
	CALL(rtStreamQuery)           \
	CALL(rtDeviceSynchronize)

enum lower_call {
#define LOWER_CALL_ENUM(name) LOWER_##name,
	LOWER_CALLS(LOWER_CALL_ENUM)
#undef LOWER_CALL_ENUM
		LOWER_MAX,
};

struct module {
	char *path; /* raw, as the process calls it */
	bool deleted;
	bool runtime_name; /* named like the runtime's libraries are */
	bool stub;	   /* where link-time stubs are */
	bool by_name;	   /* opened by its name: not surely the file that is mapped */
	int err;	   /* -errno: it could not be read, and what follows is empty */
	char build_id[2 * ELFFILE_BUILD_ID_MAX + 1]; /* hex; "" if it has none */
	/* The table of calls.h. */
	bool runtime;	    /* it defines aclrt calls: it would be probed */
	unsigned int calls; /* that it defines and that can be probed */
	bool defines[ACL_C_MAX];
	unsigned int prologues[PROLOGUE_MAX]; /* of those, by their first instruction */
	unsigned int others; /* further definitions of the same names: symbol versions */
	bool loader;	     /* a dynamic loader that tells of what it loads */
	/* The layer below. */
	bool lower; /* it defines calls of it */
	unsigned int n_uses;
	bool uses[LOWER_MAX];
	bool beside_runtime; /* lies in the folder of the runtime: a part of the toolkit */
};

struct modules {
	struct module *list;
	size_t count;
	size_t unreadable;
	size_t left_out; /* beyond MODULES_MAX */
	bool lower;	 /* some file defines the lower layer */
	bool loader;	 /* some file is such a loader */
};

/*
 * Of a process.  Returns 0 or -errno, as maps__walk(); then *out is empty.  To
 * be released in either case.
 */
int modules__read(pid_t pid, struct modules *out);
void modules__free(struct modules *mods);

/* Whether any part of the runtime is there that would be probed. */
bool modules__have_runtime(const struct modules *mods);
/* Whether the file is the runtime, or a part of it, and may call the lower layer. */
bool module__is_runtime_part(const struct module *m);

const char *lower_call__name(enum lower_call call);

#endif /* ACLGUARD_MODULES_H */
