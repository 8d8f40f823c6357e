/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of traced functions: which calls of the Ascend runtime aclguard
 * probes, and what their arguments mean.  Everything that depends on that set
 * is generated from here: the BPF programs, the attachment, the decoding of recordings, the summary, the coverage test of
 * the simulated runtime and the documentation.
 *
 * Each call is probed at its entry and at its return: most have an output or an
 * effect that a failing call takes back, and only returns tell one call through
 * two definitions from two calls.  A row is CALL(name, ROLE, "arguments"):
 *
 *  ROLE      what the state machine does with the call (enum acl_role).  The
 *            position of the arguments within a role is fixed; where calls of
 *            one role differ in it, `arguments` tells (the 's' of ACL_R_WAY).
 *  arguments one letter an argument, in the order of the C declaration:
 *              O  address of a pointer that the call fills in
 *              U  address of a 32-bit enum that the call fills in
 *              p  address          e  event       s  stream     c  context
 *              z  size, count      i  int32       u  uint32     k  memcpy kind
 *              x  any other 64-bit value          V  structure passed by value
 *
 * Source of the signatures: acl/acl_rt.h of the open CANN runtime, v8.5.0 to
 * v9.2.0; the types of these parameters are the same in all of them.
 */
#ifndef ACLGUARD_CALLS_H
#define ACLGUARD_CALLS_H

enum acl_role {
	ACL_R_NONE,
	/* host memory */
	ACL_R_MALLOC,	  /* O z: page-locked memory, 64-byte aligned */
	ACL_R_FREE,	  /* p */
	ACL_R_FREE_SYNC,  /* p: synchronises the device, then frees */
	ACL_R_REGISTER,	  /* p z */
	ACL_R_UNREGISTER, /* p */
	/* events */
	ACL_R_EV_CREATE,       /* O [u flags] */
	ACL_R_EV_IPC_OPEN,     /* ... O: an event of another process */
	ACL_R_EV_IPC_EXPORT,   /* e */
	ACL_R_EV_DESTROY,      /* e */
	ACL_R_EV_RECORD,       /* e s */
	ACL_R_EV_RESET,	       /* e s */
	ACL_R_EV_QUERY_STATUS, /* e U: COMPLETE is 1 */
	ACL_R_EV_QUERY,	       /* e U: COMPLETE is 0, and the call reclaims */
	ACL_R_EV_SYNC,	       /* e */
	ACL_R_EV_WAIT,	       /* s e */
	/* streams */
	ACL_R_ST_CREATE,	/* O */
	ACL_R_ST_DESTROY,	/* s */
	ACL_R_ST_DESTROY_FORCE, /* s: does not wait */
	ACL_R_ST_SYNC,		/* s */
	ACL_R_ST_QUERY,		/* s U: COMPLETE is 0 */
	ACL_R_ST_ABORT,		/* s */
	ACL_R_ST_DEFAULT,	/* O: a name for what NULL means here */
	/* devices, contexts, the process */
	ACL_R_DEV_SET,	       /* i */
	ACL_R_DEV_RESET,       /* i */
	ACL_R_DEV_RESET_FORCE, /* i */
	ACL_R_DEV_SYNC,	       /* */
	ACL_R_CTX_CREATE,      /* O i */
	ACL_R_CTX_DESTROY,     /* c */
	ACL_R_CTX_SET,	       /* c */
	ACL_R_CTX_GET,	       /* O */
	ACL_R_FINALIZE,	       /* */
	/* copies */
	ACL_R_COPY,	     /* p z p z k s */
	ACL_R_COPY_2D,	     /* p z p z z z k s */
	ACL_R_COPY_BATCH,    /* p p p p z p p z [p] s */
	ACL_R_COPY_DESC_SET, /* p k p(src) p(dst) z p */
	ACL_R_COPY_DESC,     /* p k s */
	ACL_R_COPY_OFFSET,   /* addresses stand in cells that may be on the device */
	/* graph capture */
	ACL_R_CAPTURE_BEGIN, /* s ... */
	ACL_R_CAPTURE_END,   /* s ... */
	/* ways by which the host can learn of completion that we do not follow */
	ACL_R_WAY, /* the stream is the 's' of the arguments */
};

#define ACL_CALLS(CALL)                                           \
	/* host memory */                                         \
	CALL(aclrtMallocHost, MALLOC, "Oz")                       \
	CALL(aclrtMallocHostWithCfg, MALLOC, "Ozp")               \
	CALL(aclrtFreeHost, FREE, "p")                            \
	CALL(aclrtFreeHostWithDevSync, FREE_SYNC, "p")            \
	CALL(aclrtHostRegister, REGISTER, "pzuO")                 \
	CALL(aclrtHostRegisterV2, REGISTER, "pzu")                \
	CALL(aclrtHostUnregister, UNREGISTER, "p")                \
	/* events */                                              \
	CALL(aclrtCreateEvent, EV_CREATE, "O")                    \
	CALL(aclrtCreateEventWithFlag, EV_CREATE, "Ou")           \
	CALL(aclrtCreateEventExWithFlag, EV_CREATE, "Ou")         \
	CALL(aclrtIpcGetEventHandle, EV_IPC_EXPORT, "ep")         \
	CALL(aclrtIpcOpenEventHandle, EV_IPC_OPEN, "VO")          \
	CALL(aclrtDestroyEvent, EV_DESTROY, "e")                  \
	CALL(aclrtRecordEvent, EV_RECORD, "es")                   \
	CALL(aclrtRecordEventWithFlag, EV_RECORD, "esu")          \
	CALL(aclrtResetEvent, EV_RESET, "es")                     \
	CALL(aclrtQueryEventStatus, EV_QUERY_STATUS, "eU")        \
	CALL(aclrtQueryEvent, EV_QUERY, "eU")                     \
	CALL(aclrtSynchronizeEvent, EV_SYNC, "e")                 \
	CALL(aclrtSynchronizeEventWithTimeout, EV_SYNC, "ei")     \
	CALL(aclrtStreamWaitEvent, EV_WAIT, "se")                 \
	CALL(aclrtStreamWaitEventWithTimeout, EV_WAIT, "sei")     \
	CALL(aclrtStreamWaitEventWithFlag, EV_WAIT, "seuu")       \
	/* streams */                                             \
	CALL(aclrtCreateStream, ST_CREATE, "O")                   \
	CALL(aclrtCreateStreamV2, ST_CREATE, "Op")                \
	CALL(aclrtCreateStreamWithConfig, ST_CREATE, "Ouu")       \
	CALL(aclrtDestroyStream, ST_DESTROY, "s")                 \
	CALL(aclrtDestroyStreamForce, ST_DESTROY_FORCE, "s")      \
	CALL(aclrtSynchronizeStream, ST_SYNC, "s")                \
	CALL(aclrtSynchronizeStreamWithTimeout, ST_SYNC, "si")    \
	CALL(aclrtStreamQuery, ST_QUERY, "sU")                    \
	CALL(aclrtStreamAbort, ST_ABORT, "s")                     \
	CALL(aclrtCtxGetCurrentDefaultStream, ST_DEFAULT, "O")    \
	/* devices, contexts, the process */                      \
	CALL(aclrtSetDevice, DEV_SET, "i")                        \
	CALL(aclrtResetDevice, DEV_RESET, "i")                    \
	CALL(aclrtResetDeviceForce, DEV_RESET_FORCE, "i")         \
	CALL(aclrtSynchronizeDevice, DEV_SYNC, "")                \
	CALL(aclrtSynchronizeDeviceWithTimeout, DEV_SYNC, "i")    \
	CALL(aclrtCreateContext, CTX_CREATE, "Oi")                \
	CALL(aclrtDestroyContext, CTX_DESTROY, "c")               \
	CALL(aclrtSetCurrentContext, CTX_SET, "c")                \
	CALL(aclrtGetCurrentContext, CTX_GET, "O")                \
	CALL(aclFinalize, FINALIZE, "")                           \
	CALL(aclFinalizeReference, FINALIZE, "p")                 \
	/* copies */                                              \
	CALL(aclrtMemcpyAsync, COPY, "pzpzks")                    \
	CALL(aclrtMemcpyAsyncWithCondition, COPY, "pzpzks")       \
	CALL(aclrtMemcpy2dAsync, COPY_2D, "pzpzzzks")             \
	CALL(aclrtMemcpyBatchAsync, COPY_BATCH, "ppppzppzps")     \
	CALL(aclrtMemcpyBatchAsyncV2, COPY_BATCH, "ppppzppzs")    \
	CALL(aclrtSetMemcpyDesc, COPY_DESC_SET, "pkppzp")         \
	CALL(aclrtMemcpyAsyncWithDesc, COPY_DESC, "pks")          \
	CALL(aclrtMemcpyAsyncWithOffset, COPY_OFFSET, "pzzpzzks") \
	/* graph capture */                                       \
	CALL(aclmdlRICaptureBegin, CAPTURE_BEGIN, "su")           \
	CALL(aclmdlRICaptureToModelRIBegin, CAPTURE_BEGIN, "spu") \
	CALL(aclmdlRICaptureEnd, CAPTURE_END, "sO")               \
	/* ways to the host that are not followed */              \
	CALL(aclrtRecordNotify, WAY, "ps")                        \
	CALL(aclrtCntNotifyRecord, WAY, "psp")                    \
	CALL(aclrtLaunchCallback, WAY, "ppus")                    \
	CALL(aclrtLaunchHostFunc, WAY, "spp")                     \
	CALL(aclrtValueWrite, WAY, "pxus")

enum acl_call {
#define ACL_CALL_ENUM(name, role, args) ACL_C_##name,
	ACL_CALLS(ACL_CALL_ENUM)
#undef ACL_CALL_ENUM
		ACL_C_MAX,
};

#endif /* ACLGUARD_CALLS_H */
