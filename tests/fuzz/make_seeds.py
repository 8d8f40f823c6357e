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


def frames(table):
    """A small ELF file with one function and its .eh_frame: found by .eh_frame_hdr, or not."""
    code, at = 0x1000, 0x200
    cie = bytes([0, 0, 0, 0, 1, *b"zR\0", 1, 0x78, 16, 1, 0x1b,
                 0x0c, 7, 8, 0x90, 1, 0, 0])            # CFA: rsp + 8; return address at -8
    fde = struct.pack("<IiI", 4 + len(cie) + 4, code - (at + 4 + len(cie) + 8), 256)
    fde += bytes([0, 0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x44, 0x0f, 3, 0x77, 8, 6, 0x0b,
                  0x16, 6, 3, 0x77, 0, 6])
    frame = b"".join(struct.pack("<I", len(e)) + e for e in (cie, fde)) + b"\0" * 4
    hdr_at = at + len(frame)
    hdr = struct.pack("<BBBBiI", 1, 0x1b, 3, 0x3b, at - hdr_at - 4, 1)
    hdr += struct.pack("<ii", code - hdr_at, at + 4 + len(cie) - hdr_at)
    names = b"\0.eh_frame\0"
    names_at = hdr_at + len(hdr)
    size = names_at + len(names)
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 64 + 2 * 56, 0, 64, 56, 1 + table, 64, 3, 2)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 0)
    head += struct.pack("<IIQQQQQQ", 0x6474e550, 4, hdr_at, hdr_at, hdr_at, len(hdr), len(hdr), 4)
    for section in ((0,) * 10, (1, 1, 2, at, at, len(frame), 0, 0, 8, 0),
                    (0, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)):
        head += struct.pack("<IIQQQQIIQQ", *section)
    return head.ljust(at, b"\0") + frame + hdr + names


def main(out, library):
    with open("/proc/self/maps", "rb") as f:
        write(f"{out}/maps", "self", f.read()[:16384])
    with open(library, "rb") as f:
        write(f"{out}/elffile", "library", f.read())
    for table, addr in (True, 0x1001), (False, 0x1004), (True, 0x1002):
        write(f"{out}/unwind", f"{table}-{addr:x}",
              struct.pack("<Q", addr) + bytes(range(256)) + frames(table))
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
