#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Stacks of code without frame pointers: --stacks=dwarf gives the whole chain, as a debugger
does, says where and why it cannot, and the caller is there whatever the options and the
first instruction."""

import functools
import os
import re
import subprocess
import sys

import world
from world import expect, expect_equal

# How the inner library is built, beyond the usual way.
PLAIN = ["-O2", "-g0", "-s", "-fomit-frame-pointer", "-fno-stack-protector"]
NOTHING = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions"]
VARIANTS = {
    "plain": [],
    "no table": ["-Wl,--no-eh-frame-hdr"],
    "nothing": NOTHING,
    "frame pointer": [*NOTHING, "-fno-omit-frame-pointer", "-DKEEP_FRAME_POINTER"],
}
SHAPES = "mono", "split", "both", "both-call", *(f"mono-{x}" for x in (
    "jmp", "endbr", "push", "sub", "nop", "mov", "call"))
PLACES = ("recursion", "many_frames", "never_back", "handler", "other_stack", "small_thread",
          "cleanup")


def build(source, name, *args):
    """Compiles to a file of this name, in a folder of its own; gives the folder."""
    folder = world.scratch("built")
    os.makedirs(folder)
    world.compile_c(source, *args, "-o", os.path.join(folder, name))
    return folder


def relays(variant):
    """The path of the outer library, which finds the inner one."""
    folder = build("unwind_relay.c", "libinner.so", "-shared", "-fPIC", *PLAIN, *VARIANTS[variant],
                   "-L", world.runtime("mono"), "-lascendcl")
    outer = build("unwind_relay.c", "libouter.so", "-shared", "-fPIC", *PLAIN, "-DRELAY_OUTER",
                  "-L", folder, "-linner", f"-Wl,-rpath,{folder}",
                  f"-Wl,-rpath-link,{world.runtime('mono')}")
    return os.path.join(outer, "libouter.so")


def python(outer):
    return [sys.executable, "-B", os.path.join(world.HERE, "unwind_relay.py"), outer]


def program():
    return os.path.join(build(
        "unwind.c", "unwind", "-O2", "-fomit-frame-pointer", "-fexceptions",
        "-fno-optimize-sibling-calls", "-D_GNU_SOURCE", "-pthread", "-Wno-clobbered",
        "-I", os.path.join(world.ROOT, "tests/sim/include"),
        "-I", os.path.join(world.ROOT, "include"), "-L", world.runtime("mono"), "-lascendcl"),
        "unwind")


class Stack:
    """That of the one violation of a process, without what was compiled into others."""

    def __init__(self, reports, pid):
        found = [r for r in reports if r["type"] == "violation" and r["pid"] == pid]
        expect_equal([v["rule"] for v in found], ["free-before-destroy"], f"reports of {pid}")
        violation = found[0]
        self.frames = []
        for frame in violation["stack"]:
            if not frame.get("inlined"):
                self.frames.append(frame)
        self.by, self.end = violation["stack_by"], violation["stack_end"]
        self.module = violation["stack_end_module"]

    def functions(self):
        return [(frame["function"] or "?").removesuffix(".cold") for frame in self.frames]

    def places(self):
        return [(frame["module"], frame["module_offset"]) for frame in self.frames]

    def expect_calls(self, *functions):
        """These, from the innermost on."""
        expect_equal(self.functions()[:len(functions)], list(functions), "functions")

    def expect_end(self, end):
        expect_equal((self.by, self.end), ("dwarf", end), f"end of {self.functions()}")


class Runs:
    """Programs under one aclguard."""

    def __init__(self, options, commands):
        """commands: name -> words; each says its pid in the first line that it prints."""
        self.ended = world.guarded(
            world.sh(*([*map(str, words)] for words in commands.values())), options,
            race="certain")
        lines = self.ended.lines()
        expect_equal(len(lines), len(commands), f"programs\n{self.ended.said()}")
        self.pids = dict(zip(commands, (line["pid"] for line in lines)))

    def stack(self, name):
        return Stack(self.ended.reports, self.pids[name])


@functools.lru_cache(maxsize=None)
def outer(variant):
    return relays(variant)


@functools.lru_cache(maxsize=None)
def unwound():
    commands = {variant: python(outer(variant)) for variant in VARIANTS}
    path = program()
    commands.update((place, [path, place]) for place in PLACES)
    return Runs(["--stacks=dwarf"], commands)


@functools.lru_cache(maxsize=None)
def by_shape(how):
    commands = {}
    for shape in SHAPES:
        if os.path.isdir(world.runtime(shape)):
            commands[shape] = [f"LD_LIBRARY_PATH={world.runtime(shape)}",
                               world.scenario("pcd_order", shape), "1"]
    commands["relay"] = python(outer("plain"))
    return Runs([f"--stacks={how}"], commands)


# ---- the tests ------------------------------------------------------------------

def by_debugger(command):
    """[(file, offset)] from gdb, in aclrtFreeHost."""
    process = world.start([*command, "wait"], race="certain", stdin=subprocess.PIPE)
    expect(b"pid" in process.stdout.readline(), "the program does not begin")
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(process.pid),
         "-x", os.path.join(world.HERE, "unwind_gdb.py")], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=world.PATIENCE, check=False)
    process.communicate()
    rows = [line.split() for line in done.stdout.decode().splitlines() if line[:2] == "@ "]
    expect(len(rows) > 8, "gdb shows no stack:", done.stdout.decode(), done.stderr.decode())
    return [(row[1], int(row[2])) for row in rows]


def test_debugger():
    """from Python through two libraries without frame pointers, as gdb has it"""
    stack = unwound().stack("plain")
    stack.expect_calls("aclrtFreeHost", "relay_inner", "relay_outer")
    stack.expect_end("whole")
    theirs = by_debugger(python(outer("plain")))
    # where exactly in the runtime's function they stop is each one's own
    expect_equal(stack.places()[1:], theirs[1:], "the callers")
    expect_equal(stack.places()[0][0], theirs[0][0], "the runtime")


def test_frame_pointers():
    """by frame pointers, such a stack ends at the function that called the runtime"""
    stack = by_shape("fp").stack("relay")
    expect_equal((stack.by, stack.end), ("fp", None), "how")
    stack.expect_calls("aclrtFreeHost", "relay_inner")
    expect("relay_outer" not in stack.functions(), "frame pointers were not spoilt:",
           stack.functions())


def test_shapes():
    """the caller is there by either way, whatever the first instruction of the function"""
    for how in "fp", "dwarf":
        runs = by_shape(how)
        for shape in runs.pids:
            if shape == "relay":
                continue
            stack = runs.stack(shape)
            expect_equal(stack.functions()[:4],
                         ["aclrtFreeHost", "release_buffer", "process_events", "main"],
                         f"stack by {how} on {shape}")


def test_no_table():
    """a library without .eh_frame_hdr is searched through"""
    stack = unwound().stack("no table")
    stack.expect_calls("aclrtFreeHost", "relay_inner", "relay_outer")
    expect_equal(stack.functions(), unwound().stack("plain").functions(), "functions")


def test_frame_pointer():
    """a library that says nothing of its frames but has frame pointers is passed by those"""
    stack = unwound().stack("frame pointer")
    stack.expect_calls("aclrtFreeHost", "relay_inner", "relay_outer")
    stack.expect_end("whole")


def test_nothing():
    """a library that says nothing of its frames ends the stack, and is named"""
    stack = unwound().stack("nothing")
    expect_equal(stack.functions(), ["aclrtFreeHost", "relay_inner"], "functions")
    stack.expect_end("no-unwind-information")
    expect_equal(os.path.basename(stack.module), "libinner.so", "module")


def test_recursion():
    """beyond the copy nothing is guessed"""
    stack = unwound().stack("recursion")
    stack.expect_end("copy")
    n = len(stack.frames) - 2
    expect(6 <= n <= 10, f"{n} frames of more than 2 KiB from 16 KiB")
    stack.expect_calls("aclrtFreeHost", "release_buffer", *["deep"] * n)


def test_depth():
    """as many frames as were asked for"""
    stack = unwound().stack("many_frames")
    stack.expect_end("depth")
    expect_equal(len(stack.frames), 64, "frames")


def test_places():
    """calls that never return, signal handlers, small threads, cleanups, and the very end"""
    for place, functions in (
            ("never_back", ["free_and_exit", "never_back", "main"]),
            ("handler", ["free_in_handler"]),
            ("small_thread", ["free_in_thread"]),
            ("cleanup", ["free_in_cleanup", "cleaned_up"])):
        stack = unwound().stack(place)
        stack.expect_calls("aclrtFreeHost", "release_buffer", *functions)
        stack.expect_end("whole")
    expect_equal([f for f in unwound().stack("handler").functions()
                  if f in ("raise", "interrupted", "handler", "main")][-3:],
                 ["interrupted", "handler", "main"], "below the handler")


def test_other_stack():
    """from a handler on another stack to what was interrupted, whose frames were not copied"""
    stack = unwound().stack("other_stack")
    stack.expect_calls("aclrtFreeHost", "release_buffer", "free_in_handler")
    expect(len(stack.frames) >= 5, stack.functions())
    stack.expect_end("copy")


def test_options():
    """--stack-bytes and --stack-depth"""
    path = program()
    more = Runs(["--stacks=dwarf,64K"], {"r": [path, "recursion"]}).stack("r")
    more.expect_end("copy")
    expect(24 <= len(more.frames) <= 40, f"{len(more.frames)} frames from 64 KiB")
    few = Runs(["--stacks=dwarf", "--stack-depth=3"], {"r": [path, "recursion"]}).stack("r")
    few.expect_end("depth")
    expect_equal(few.functions(), ["aclrtFreeHost", "release_buffer", "deep"], "functions")


def test_lost():
    """as many copies are counted as lost as stacks are said to lack them"""
    ended = world.guarded([world.scenario("free_in_flight"), 1000],
                          ["--stacks=dwarf,64K", "--no-fold"], race="certain")
    without = [v for v in ended.of("violation") if v["stack_end"] == "lost"]
    lost = ended.summary()["lost"]
    expect_equal(lost["dumps-full"], len(without), "copies lost")
    expect(without, "all of them found room")
    expect_equal(len(ended.of("violation")) + lost["violations-ring-full"], 1000, "violations")


def test_text():
    """in words: why a stack is not longer"""
    ended = world.run(world.guarded_command(python(outer("nothing")), ["--stacks=dwarf"]),
                      race="certain")
    world.mentions(ended.err, r"#1 0x\w+ relay_inner\+\S+ \(libinner\.so\+0x\w+\)\n +"
                              r"\(no unwind information: \S+libinner\.so\)\n")
    expect(not re.search(rb"#2 ", ended.err), ended.said())


if __name__ == "__main__":
    world.run_tests(world.titled(
        test_frame_pointers, test_shapes, test_no_table, test_frame_pointer, test_nothing,
        test_recursion, test_depth, test_places, test_other_stack, test_options, test_lost,
        test_text, test_debugger))
