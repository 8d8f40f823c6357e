# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A Python program that frees through two libraries of its own, for test_unwind.py.

    unwind_relay.py OUTER [wait]

It says its pid when it has loaded all.  With "wait" it waits for a line then.
"""

import ctypes
import json
import os
import sys
import time

import target


class Relayed:
    """The runtime, but for the release."""

    def __init__(self, outer):
        self.runtime = ctypes.CDLL("libascendcl.so")
        self.outer = ctypes.CDLL(outer)

    def __getattr__(self, name):
        return getattr(self.runtime, name)

    def aclrtFreeHost(self, host):  # pylint: disable=invalid-name
        """As the runtime has it."""
        return self.outer.relay_outer(host, 1)


if __name__ == "__main__":
    RUNTIME = Relayed(sys.argv[1])
    print(json.dumps({"pid": os.getpid()}), flush=True)
    if len(sys.argv) > 2:
        sys.stdin.readline()
    target.order(RUNTIME)
    time.sleep(0.3)     # a moment for who looks at the stack
