/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a test may ask the simulated runtime and the real one does not have. */
#ifndef ACLSIM_H
#define ACLSIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How often the body of the call @name ran in this process; 0 for an unknown name. */
uint64_t aclsimCalls(const char *name);

/*
 * From now on @begin runs at the beginning of the body of every call; if it
 * returns a code, the call fails with that and does nothing.  @end runs when
 * the body is done and holds no lock; when it returns, so does the call.  To be
 * called before other threads use the runtime.
 */
typedef int (*aclsimBegin)(const char *name);
typedef void (*aclsimEnd)(const char *name);
void aclsimHook(aclsimBegin begin, aclsimEnd end);

#ifdef __cplusplus
}
#endif

#endif /* ACLSIM_H */
