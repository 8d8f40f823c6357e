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

#ifdef __cplusplus
}
#endif

#endif /* ACLSIM_H */
