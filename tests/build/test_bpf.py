#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What the BPF object must hold to be accepted by Linux 5.10.

A newer kernel takes more, so loading it here proves little: this looks at the
object itself for what the verifier of 5.10 refuses and later ones do not, and
for what would tie it to one kernel's structures.
"""
import os
import struct
import sys

OBJECT = os.path.join(os.environ.get("BUILD", "build"), "aclguard.bpf.o")
LAST_HELPER = 155  # bpf_redirect_peer, the last one of 5.10
TAIL_CALL = 12
STACK_MAX = 512  # bytes, of all frames of a chain of calls together
NEWER = {"multi_entry", "deferred_entry"}  # loaded only where uprobe_multi is, which is 6.6

OP_LD_IMM64 = 0x18
OP_CALL = 0x85
OP_EXIT = 0x95
OP_MOV_REG = 0xBF
OP_ADD_IMM = 0x07


class Object:
    """The functions of a BPF ELF file: name -> list of (op, dst, src, off, imm)."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        shoff, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * size)
                         for i in range(count)]
        self.section_names = [self.string(names, s[0]) for s in self.sections]
        table = next(s for s in self.sections if s[1] == 2)  # SHT_SYMTAB
        self.symbols = [struct.unpack_from("<IBBHQQ", self.data, table[4] + 24 * i)
                        for i in range(table[5] // 24)]
        self.functions = {}
        self.at = {}
        for name, info, _, section, value, size in self.symbols:
            if info & 15 != 2 or not size:  # STT_FUNC
                continue
            name = self.string(table[6], name)
            start = self.sections[section][4] + value
            self.functions[name] = [self.instruction(start + 8 * i) for i in range(size // 8)]
            self.at[section, value] = name
        self.relocations = {}
        for s in self.sections:
            if s[1] != 9:  # SHT_REL
                continue
            for i in range(s[5] // 16):
                offset, info = struct.unpack_from("<QQ", self.data, s[4] + 16 * i)
                self.relocations[s[7], offset] = self.symbols[info >> 32]

    def string(self, section, offset):
        start = self.sections[section][4] + offset
        return self.data[start:self.data.index(b"\0", start)].decode()

    def instruction(self, at):
        op, regs, off, imm = struct.unpack_from("<BBhi", self.data, at)
        return op, regs & 15, regs >> 4, off, imm

    def callee(self, where, index, imm):
        section, value = where
        at = value + 8 * index
        symbol = self.relocations.get((section, at))
        if not symbol:
            return self.at[section, at + 8 * (imm + 1)]
        if symbol[1] & 15 == 3:  # STT_SECTION
            return self.at[symbol[3], symbol[4] + 8 * (imm + 1)]
        return self.at[symbol[3], symbol[4]]


def edges(index, op, off):
    """(where the verifier goes on, whether it may be a loop's end)."""
    kind, code = op & 7, op & 0xF0
    if op == OP_EXIT:
        return []
    if kind in (5, 6) and code == 0:
        return [(index + off + 1, True)]
    if kind in (5, 6) and code != 0x80:
        return [(index + 1, True), (index + off + 1, True)]
    return [(index + 1, False)]


def back_edges(code):
    """Where plain code falls into a loop that is being walked already."""
    found, state, stack = [], {0: 0}, [0]
    while stack:
        at = stack[-1]
        ways = edges(at, code[at][0], code[at][3])
        if state[at] == len(ways):
            state[at] = -1
            stack.pop()
            continue
        to, may_loop = ways[state[at]]
        state[at] += 1
        if to not in state:
            state[to] = 0
            stack.append(to)
        elif state[to] >= 0 and not may_loop:
            found.append((at, to))
    return found


def frame(code):
    """Bytes of stack of one function, rounded as 5.10 does."""
    depth, pointers = 1, set()
    for op, dst, src, off, imm in code:
        kind = op & 7
        if kind in (2, 3) and dst == 10 or kind == 1 and src == 10:
            depth = max(depth, -off)
        if op == OP_MOV_REG and src == 10:
            pointers.add(dst)
        elif op == OP_ADD_IMM and dst in pointers:
            pointers.remove(dst)
            depth = max(depth, -imm)
    return (depth + 31) // 32 * 32


def deepest(obj):
    """Function -> bytes of the longest chain of calls that it begins."""
    calls = {}
    for where, name in obj.at.items():
        calls[name] = {obj.callee(where, i, imm)
                       for i, (op, _, src, _, imm) in enumerate(obj.functions[name])
                       if op == OP_CALL and src == 1}
    depth = {}

    def measure(name):
        if name not in depth:
            depth[name] = frame(obj.functions[name]) + max(map(measure, calls[name]), default=0)
        return depth[name]

    for name in calls:
        measure(name)
    return depth


def co_re_relocations(obj):
    """Length of the kernel-structure relocations in .BTF.ext, in bytes."""
    if ".BTF.ext" not in obj.section_names:
        return 0
    at = obj.sections[obj.section_names.index(".BTF.ext")][4]
    header, = struct.unpack_from("<I", obj.data, at + 4)
    return struct.unpack_from("<I", obj.data, at + 28)[0] if header >= 32 else 0


def main():
    obj = Object(OBJECT)
    results = []

    def check(name, wrong):
        results.append(not wrong)
        print(("ok" if not wrong else "not ok"), len(results), "-", name)
        for line in wrong:
            print("#", line)

    check("there are programs to look at",
          [] if len(obj.functions) > 60 else [f"{len(obj.functions)} functions"])
    check("no loop is entered in a way that check_cfg() of 5.10 refuses",
          [f"{name}: {a} -> {b}" for name, code in obj.functions.items()
           for a, b in back_edges(code)])
    check(f"no chain of calls takes more than {STACK_MAX} bytes of stack",
          [f"{name}: {depth}" for name, depth in deepest(obj).items() if depth > STACK_MAX])
    check("helpers are those of 5.10",
          [f"{name}: helper {imm}" for name, code in obj.functions.items() if name not in NEWER
           for op, _, src, _, imm in code if op == OP_CALL and src == 0 and imm > LAST_HELPER])
    check("every probe has a tail call, and with it the stack of its thread",
          [name for (section, _), name in obj.at.items()
           if obj.section_names[section] in ("uprobe", "uretprobe") and
           not any(op == OP_CALL and src == 0 and imm == TAIL_CALL
                   for op, _, src, _, imm in obj.functions[name])])
    check("no relocation against structures of the kernel",
          [f"{n} bytes" for n in [co_re_relocations(obj)] if n])
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
