/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The header a program on the Ascend runtime includes: process set-up and everything else. */
#ifndef ACLSIM_ACL_H
#define ACLSIM_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

aclError aclInit(const char *configPath);
aclError aclFinalize(void);
aclError aclFinalizeReference(uint64_t *refCount);
const char *aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif /* ACLSIM_ACL_H */
