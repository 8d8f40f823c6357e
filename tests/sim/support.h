/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The calls that the simulated runtime exports beside the traced table
 * (include/calls.h): what a small real program needs around the traced ones.
 * The library exports these two lists and nothing else, apart from what
 * aclsim.h declares.
 */
#ifndef ACLSIM_SUPPORT_H
#define ACLSIM_SUPPORT_H

#define SIM_SUPPORT(X)                   \
	X(aclInit)                       \
	X(aclGetRecentErrMsg)            \
	/* devices */                    \
	X(aclrtGetDevice)                \
	X(aclrtGetDeviceCount)           \
	X(aclrtGetRunMode)               \
	/* memory and copies */          \
	X(aclrtMalloc)                   \
	X(aclrtFree)                     \
	X(aclrtMemcpy)                   \
	X(aclrtMemcpy2d)                 \
	X(aclrtMemset)                   \
	X(aclrtMemsetAsync)              \
	X(aclrtGetMemcpyDescSize)        \
	X(aclrtHostGetDevicePointer)     \
	/* events and notifies */        \
	X(aclrtQueryEventWaitStatus)     \
	X(aclrtEventElapsedTime)         \
	X(aclrtEventGetTimestamp)        \
	X(aclrtCreateNotify)             \
	X(aclrtDestroyNotify)            \
	X(aclrtWaitAndResetNotify)       \
	X(aclrtCntNotifyCreate)          \
	X(aclrtCntNotifyDestroy)         \
	X(aclrtCntNotifyWaitWithTimeout) \
	/* streams */                    \
	X(aclrtStreamGetId)              \
	X(aclrtSubscribeReport)          \
	X(aclrtUnSubscribeReport)        \
	X(aclrtProcessReport)            \
	/* graphs */                     \
	X(aclmdlRIExecuteAsync)          \
	X(aclmdlRIDestroy)

#endif /* ACLSIM_SUPPORT_H */
