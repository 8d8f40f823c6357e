/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The base types and error codes of the Ascend runtime, as far as the simulated
 * runtime and the test programs need them.  Names and values are those of the
 * open CANN runtime, so that a program built with the vendor's headers runs on
 * the simulated library unchanged, and the other way round.
 */
#ifndef ACLSIM_ACL_BASE_H
#define ACLSIM_ACL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int aclError;

typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtContext;
typedef void *aclrtNotify;
typedef void *aclrtCntNotify;
typedef void *aclmdlRI;

enum {
	ACL_SUCCESS = 0,
	ACL_ERROR_NONE = 0,

	/* checks of the aclrt layer itself */
	ACL_ERROR_INVALID_PARAM = 100000,

	/* wrong arguments, found by the runtime below it */
	ACL_ERROR_RT_PARAM_INVALID = 107000,
	ACL_ERROR_RT_INVALID_DEVICEID = 107001,
	ACL_ERROR_RT_CONTEXT_NULL = 107002,
	ACL_ERROR_RT_STREAM_CONTEXT = 107003,
	ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID = 107006,
	ACL_ERROR_RT_STREAM_SUBSCRIBE = 107011,
	ACL_ERROR_RT_THREAD_SUBSCRIBE = 107012,
	ACL_ERROR_RT_STREAM_NO_CB_REG = 107015,
	ACL_ERROR_RT_INVALID_HANDLE = 107017,
	ACL_ERROR_RT_WAIT_TIMEOUT = 107019,
	ACL_ERROR_RT_TASK_TIMEOUT = 107020,
	ACL_ERROR_RT_STREAM_ABORT = 107023,
	ACL_ERROR_RT_STREAM_CAPTURED = 107027,
	ACL_ERROR_RT_EVENT_CAPTURED = 107028,

	/* resources */
	ACL_ERROR_RT_FEATURE_NOT_SUPPORT = 207000,
	ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
	ACL_ERROR_RT_MEMORY_FREE = 207002,
	ACL_ERROR_RT_RESOURCE_ALLOC_FAIL = 207005,
	ACL_ERROR_RT_NO_EVENT_RESOURCE = 207007,
	ACL_ERROR_RT_NO_STREAM_RESOURCE = 207008,
	ACL_ERROR_RT_NO_NOTIFY_RESOURCE = 207009,

	/* the device, the driver */
	ACL_ERROR_RT_INTERNAL_ERROR = 507000,
	ACL_ERROR_RT_STREAM_NOT_COMPLETE = 507004,
	ACL_ERROR_RT_EVENT_NOT_COMPLETE = 507006,
	ACL_ERROR_RT_STREAM_SYNC_TIMEOUT = 507046,
	ACL_ERROR_RT_EVENT_SYNC_TIMEOUT = 507047,
	ACL_ERROR_RT_DRV_INTERNAL_ERROR = 507899,
	ACL_ERROR_RT_SOCKET_CLOSE = 507901,
};

#ifdef __cplusplus
}
#endif

#endif /* ACLSIM_ACL_BASE_H */
