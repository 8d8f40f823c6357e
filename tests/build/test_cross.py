#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Builds everything for the other machine, and looks at whether it is for that one.

What the programs do there is a matter of tests/kernels.
"""
import glob
import os
import platform
import struct
import subprocess
import sys

from test_bpf import Object

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
ARCH = "amd64" if platform.machine() == "aarch64" else "arm64"
OUT = os.path.join(BUILD, ARCH)
# What tests/sysroot.sh and tests/deps.sh end with where packages are not to be had.
NO_PACKAGES = "Error 75", "deps: failed: ", "deps: not root: "

MACHINES = {"amd64": 62, "arm64": 183}      # e_machine
PT_DYNAMIC, PT_INTERP = 2, 3
DT_NEEDED = 1

OP_LOAD = 0x79      # *(u64 *)(src + off)
OP_MOV_REG = 0xBF
OP_CALL = 0x85
WRITES = (0x00, 0x01, 0x04, 0x07)   # classes LD, LDX, ALU, ALU64

# Where struct pt_regs has arguments 1 to 8 and the stack pointer.
REGISTERS = {"amd64": [112, 104, 96, 88, 72, 64], "arm64": [8 * i for i in range(8)]}
STACK = {"amd64": 152, "arm64": 248}
# The arguments that a probe fetches, as registers; the rest it finds on the stack.
# aclrtIpcOpenEventHandle has a structure before its output: on the stack of amd64, and
# on arm64 behind a pointer.
PROBES = {
    "e_aclrtMemcpy2dAsync": {"amd64": range(6), "arm64": range(8)},
    "e_aclrtFreeHost": {"amd64": [0], "arm64": [0]},
    "e_aclrtIpcOpenEventHandle": {"amd64": [0, 1], "arm64": [1]},
}


class Failure(Exception):
    """What is wrong."""


def build():
    """Gives why it cannot be, if it is for want of packages."""
    done = subprocess.run(
        ["make", f"-j{os.cpu_count()}", f"BUILD={BUILD}", f"ARCH={ARCH}",
         "check-objects", "static"],
        env={k: v for k, v in os.environ.items() if k not in ("ARCH", "AR", "CC")},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if done.returncode and any(words in done.stdout for words in NO_PACKAGES):
        return f"the packages for {ARCH} are not to be had"
    if done.returncode:
        raise Failure(done.stdout)
    return None


def program_headers(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] != b"\x7fELF":
        raise Failure(f"{path} is no ELF file")
    machine, = struct.unpack_from("<H", data, 18)
    if machine != MACHINES[ARCH]:
        raise Failure(f"{path} is for machine {machine}")
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return data, [struct.unpack_from("<IIQQQQQQ", data, start + i * size) for i in range(count)]


def programs():
    """the programs, the simulated runtime and the scenarios are for that machine"""
    paths = [os.path.join(OUT, "aclguard")]
    for pattern in "sim/*/*.so", "scenarios/*/*", "unit/test_*":
        found = [path for path in glob.glob(os.path.join(OUT, pattern))
                 if not path.endswith((".d", ".o"))]
        if not found:
            raise Failure(f"there is no {pattern}")
        paths += found
    for path in paths:
        program_headers(path)


def static():
    """the static program wants no loader and no library"""
    path = os.path.join(OUT, "static", "aclguard")
    data, headers = program_headers(path)
    for kind, _, offset, _, _, size, _, _ in headers:
        if kind == PT_INTERP:
            raise Failure(f"{path} wants a loader")
        if kind == PT_DYNAMIC and DT_NEEDED in struct.unpack_from(f"<{size // 8}Q", data,
                                                                  offset)[::2]:
            raise Failure(f"{path} wants libraries")


def context_loads(code):
    """Offsets of what a program reads from its context, which is in register 1 at first."""
    context, offsets = {1}, set()
    for op, dst, src, off, _ in code:
        if op == OP_LOAD and src in context:
            offsets.add(off)
        if op == OP_MOV_REG and src in context:
            context.add(dst)
        elif op == OP_CALL:
            context -= set(range(6))
        elif op & 7 in WRITES:
            context.discard(dst)
    return offsets


def registers():
    """the BPF programs know the registers of each machine"""
    for arch, folder in (("arm64" if ARCH == "amd64" else "amd64", BUILD), (ARCH, OUT)):
        functions = Object(os.path.join(folder, "aclguard.bpf.o")).functions
        for probe, arguments in PROBES.items():
            wanted = {REGISTERS[arch][i] for i in arguments[arch]} | {STACK[arch]}
            got = context_loads(functions[probe])
            if got != wanted:
                raise Failure(f"{probe} for {arch} reads {sorted(got)}, not {sorted(wanted)}")


def main():
    print("# tap-timeout: 900")
    try:
        skip = build()
    except Failure as failure:
        print("".join(f"# {line}\n" for line in str(failure).splitlines()[-60:]), end="")
        print(f"1..1\nnot ok 1 - builds for {ARCH}")
        sys.exit(1)
    if skip:
        print(f"1..0 # SKIP {skip}")
        sys.exit(0)
    tests = programs, static, registers
    print(f"1..{len(tests) + 1}\nok 1 - builds for {ARCH}")
    failed = 0
    for n, test in enumerate(tests, 2):
        try:
            test()
            print(f"ok {n} - {test.__doc__}")
        except Failure as failure:
            failed += 1
            print(f"# {failure}\nnot ok {n} - {test.__doc__}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
