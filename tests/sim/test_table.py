#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The simulated runtime against the table of traced functions.

What each shape of it exports, whether the prototypes are those that the table
says, the same against the vendor's own headers where ASCEND_HOME names them,
and the runtime's check of itself in every shape.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", f"{ROOT}/build")
CC = os.environ.get("CC", "cc").split()
SHAPES = [("mono", "libascendcl.so"), ("split", "libacl_rt.so"), ("both", "libascendcl.so"),
          ("both", "libacl_rt.so"), ("both-call", "libascendcl.so")]
CHECKS = [("ascendcl", "mono"), ("ascendcl", "both"), ("ascendcl", "both-call"),
          ("ascendcl", "mono-call"), ("acl_rt", "split"), ("acl_rt", "both")]
# a value of the type that a letter of the table stands for
VALUES = {"O": "(void *)0", "U": "(void *)0", "p": "(void *)0", "e": "(void *)0",
          "s": "(void *)0", "c": "(void *)0", "z": "(size_t)0", "i": "(int32_t)0",
          "u": "(uint32_t)0", "k": "(aclrtMemcpyKind)0", "x": "(uint64_t)0",
          "V": "(aclrtIpcEventHandle){ 0 }"}
# integers of the table whose parameter is an enumeration, and functions
CASTS = {"aclrtHostRegister": {2: "(aclrtHostRegisterType)0"},
         "aclmdlRICaptureBegin": {1: "(aclmdlRICaptureMode)0"},
         "aclmdlRICaptureToModelRIBegin": {2: "(aclmdlRICaptureMode)0"},
         "aclrtLaunchCallback": {2: "(aclrtCallbackBlockType)0"}}


def traced():
    with open(f"{ROOT}/include/calls.h", encoding="ascii") as f:
        return dict(re.findall(r'CALL\((acl\w+), \w+, "(\w*)"\)', f.read()))


def support():
    with open(f"{HERE}/support.h", encoding="ascii") as f:
        return set(re.findall(r"X\((acl\w+)\)", f.read()))


def exports(path):
    """Names of the functions that an ELF file defines in .dynsym."""
    with open(path, "rb") as f:
        data = f.read()
    shoff, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size) for i in range(count)]
    table = next(s for s in sections if s[1] == 11)  # SHT_DYNSYM
    strings = sections[table[6]][4]
    found = set()
    for i in range(table[5] // 24):
        name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", data, table[4] + 24 * i)
        if section and info & 15 == 2:
            found.add(data[strings + name:data.index(b"\0", strings + name)].decode())
    return found


def calls_source(names):
    """Calls each function with values of the types that the table gives."""
    lines = ["#include <stddef.h>", "#include <stdint.h>", '#include "acl/acl.h"',
             "int table(void);", "int table(void)", "{", "\tint sum = 0;", ""]
    for name, letters in names.items():
        args = [CASTS.get(name, {}).get(i, VALUES[letter]) for i, letter in enumerate(letters)]
        lines.append(f"\tsum += {name}({', '.join(args)});")
    return "\n".join(lines + ["\treturn sum;", "}", ""])


def compiles(include, names):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
        f.write(calls_source(names))
        f.flush()
        ended = subprocess.run([*CC, "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only",
                                f"-I{include}", f.name], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, check=False)
    return ended.stdout.decode().splitlines()[:20] if ended.returncode else []


def vendor_scenarios(include):
    """The scenario programs against the vendor's headers."""
    wrong = []
    for name in sorted(os.listdir(f"{ROOT}/tests/scenarios")):
        if name.endswith(".c"):
            ended = subprocess.run([*CC, "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only",
                                    f"-I{include}", f"-I{ROOT}/include",
                                    f"{ROOT}/tests/scenarios/{name}"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, check=False)
            wrong += ended.stdout.decode().splitlines()[:5] if ended.returncode else []
    return wrong


def self_check(link, shape):
    env = dict(os.environ, ACLSIM_RACE="certain", LD_LIBRARY_PATH=f"{BUILD}/sim/{shape}")
    ended = subprocess.run([f"{BUILD}/sim/check/{link}"], env=env, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False, timeout=120)
    return ended.stdout.decode().splitlines()[-20:] if ended.returncode else []


def main():
    results = []

    def check(name, wrong, skip=None):
        results.append(not wrong)
        print("ok" if not wrong else "not ok", len(results), "-", name,
              f"# SKIP {skip}" if skip else "")
        for line in wrong:
            print("#", line)

    table = traced()
    wanted = set(table) | support() | {"aclsimCalls", "aclsimHook"}
    check("the table has the calls", [] if len(table) == 60 else [f"{len(table)} calls"])
    for shape, library in SHAPES:
        have = exports(f"{BUILD}/sim/{shape}/{library}")
        check(f"{shape}/{library} exports what the tables name, and nothing else",
              [f"missing: {n}" for n in sorted(wanted - have)] +
              [f"too many: {n}" for n in sorted(have - wanted)])
    check("the prototypes are those of the table", compiles(f"{HERE}/include", table))
    home = os.environ.get("ASCEND_HOME")
    skip = None if home else "ASCEND_HOME is not set"
    check("the vendor's prototypes are those of the table",
          compiles(f"{home}/include", table) if home else [], skip)
    check("the scenarios compile against the vendor's headers",
          vendor_scenarios(f"{home}/include") if home else [], skip)
    for link, shape in CHECKS:
        check(f"the runtime behaves: {shape}, linked as {link}", self_check(link, shape))
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
