#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Puts a first input for each fuzzer into DIR/NAME: make_seeds.py DIR LIBRARY

Seeds are made rather than kept where they are the image of a structure or a
file that changes with the sources.
"""
import os
import re
import struct
import sys


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def main(out, library):
    with open("/proc/self/maps", "rb") as f:
        write(f"{out}/maps", "self", f.read()[:16384])
    with open(library, "rb") as f:
        write(f"{out}/elffile", "library", f.read())
    # a call is 8 bytes: thread and time, number, arguments (see fuzz_machine.c)
    calls = []
    with open("include/calls.h", encoding="ascii") as f:
        calls = re.findall(r"CALL\((acl\w+),", f.read())

    def op(name=None, *args, leave=False):
        body = [16 | (8 if leave else 0), calls.index(name) if name else 0, *args]
        return bytes(body + [0] * (8 - len(body)))

    done = op(None, 3, 1, 1, leave=True)
    order = (op("aclrtMallocHost", 0, 11) + done + op("aclrtCreateEvent") + done
             + op("aclrtMemcpyAsync", 5, 11, 3, 11, 1, 1) + done
             + op("aclrtRecordEvent", 3, 1) + done
             + op("aclrtQueryEventStatus", 3, 1) + done
             + op("aclrtFreeHost", 3) + done + op("aclrtDestroyEvent", 3) + done)
    write(f"{out}/machine", "order", order)
    # one length-prefixed record with plausible small numbers in it
    record = struct.pack("<IIIIQQ", 1, 1, 1, 0, 1, 1) + struct.pack("<QIHBBBBBB", 2, 0, 2, 1, 2, 1, 2, 1, 1)
    record += b"\0" * 1200
    write(f"{out}/records", "text", b"\0" + struct.pack("<H", len(record) & ~1) + record)
    write(f"{out}/records", "json", b"\1" + struct.pack("<H", len(record) & ~1) + record)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
