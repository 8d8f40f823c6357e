# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A Python program on the Ascend runtime, for the integration tests to watch.

    target.py [NAME]

Reads words from stdin and answers each with itself: "load" opens libascendcl.so (from
LD_LIBRARY_PATH), "load FILE" another one, "order" does the order of calls that aclguard is for, "exit" ends.
NAME, given as hex, is what the thread calls itself.
"""

import ctypes
import sys
import time

PR_SET_NAME = 15                    # <linux/prctl.h>
HOST_TO_DEVICE, COMPLETE = 1, 1     # acl_rt.h


def ok(ret):
    assert ret == 0, ret


def order(lib):
    """Copy, record, poll, free; the event is destroyed too late."""
    host, device, event, stream = (ctypes.c_void_p() for _ in range(4))
    size = ctypes.c_size_t(4096)
    status = ctypes.c_int()
    ok(lib.aclInit(None))
    ok(lib.aclrtSetDevice(0))
    ok(lib.aclrtCreateStream(ctypes.byref(stream)))
    ok(lib.aclrtMallocHost(ctypes.byref(host), size))
    ok(lib.aclrtMalloc(ctypes.byref(device), size, 0))
    ok(lib.aclrtCreateEvent(ctypes.byref(event)))
    ok(lib.aclrtMemcpyAsync(device, size, host, size, HOST_TO_DEVICE, stream))
    ok(lib.aclrtRecordEvent(event, stream))
    while status.value != COMPLETE:
        ok(lib.aclrtQueryEventStatus(event, ctypes.byref(status)))
        time.sleep(0)
    lib.aclrtFreeHost(host)
    ok(lib.aclrtDestroyEvent(event))
    ok(lib.aclrtDestroyStream(stream))
    ok(lib.aclrtResetDevice(0))
    ok(lib.aclFinalize())


def main():
    lib = None
    if len(sys.argv) > 1:
        ctypes.CDLL(None).prctl(PR_SET_NAME, bytes.fromhex(sys.argv[1]), 0, 0, 0)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "load":
            lib = ctypes.CDLL(rest or "libascendcl.so")
        elif word == "order":
            order(lib)
        elif word == "exit":
            break
        print(word, flush=True)


if __name__ == "__main__":
    main()
