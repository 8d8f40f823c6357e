#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Under load every call is accounted for, and no name does harm.

Calls made (as the simulated runtime itself counts them) are calls seen and calls
counted as lost; the program's results are those without aclguard.  What a process calls
itself and its libraries reaches the report as data, never as control characters.
"""

import collections
import functools
import os
import shutil
import sys

import world
from world import expect, expect_equal

PYTHON = sys.executable or "python3"
THREADS, CALLS = 4, 30000

# Every one stands for a call that the probes did not see from entry to return.
LOST_CALLS = ("processes-full", "threads-full", "nested-too-deep", "return-without-entry",
              "entry-without-return")

# Escape sequences (without the colon and semicolon that part folders), a newline that begins a line like ours, a tab, quotes, a bad byte.
HOSTILE_COMM = b"\x1b[2J\n==1==\"\\\xff\t"
HOSTILE_FOLDER = b"evil\x1b]0\x07\n==1==aclguard ERROR \"\\ \xff"


def made(counts):
    with open(counts, encoding="ascii") as f:
        return {name: int(n) for name, n in map(str.split, f)}


def compare(seen, calls, lost):
    """Per function; what is lost cannot be told by function."""
    missing = 0
    for name, count in seen.items():
        expect(count["entered"] <= calls[name],
               f"{name}: seen {count['entered']} times, made {calls[name]} times")
        missing += calls[name] - count["entered"]
        expect(count["returned"] in (0, count["entered"]),
               f"{name}: {count['entered']} entries, {count['returned']} returns")
    expect_equal(missing, sum(lost[cause] for cause in LOST_CALLS), "calls neither seen nor lost")


def test_load(shape, kind):
    """Threads that call as fast as they can."""
    counts = world.scratch("counts")
    command = [world.scenario("hammer", shape), THREADS, CALLS, *kind]
    ended = world.guarded(command, shape=shape, env={"ACLSIM_COUNTS": counts})
    expect_equal(ended.status, 0, "status")
    expect_equal(ended.of("violation"), [], "violations")
    line, = ended.lines()
    expect(line["total"] >= 100000, "calls made:", line["total"])
    calls, summary = made(counts), ended.summary()
    for name, n in line["calls"].items():
        expect_equal(calls[name], n, f"{name}, by the program's and by the runtime's count")
        expect(not n or name in summary["calls"], f"{name} was not seen at all")
    compare(summary["calls"], calls, summary["lost"])
    seen = summary["calls"]["aclrtQueryEventStatus"]["entered"]
    expect(seen > 0.99 * calls["aclrtQueryEventStatus"], "more than 1 % lost: seen", seen)
    plain, = world.run(command, shape=shape).lines()
    expect_equal((line["checksum"], line["calls"]), (plain["checksum"], plain["calls"]),
                 "the program's result, against that without aclguard")


def test_objects():
    """buffers, events and streams made and gone"""
    ended = world.guarded([world.scenario("hammer"), 2, 5000])
    objects, (line,) = ended.summary()["objects"], ended.lines()
    for kind, create, destroy in (("buffers", "aclrtMallocHost", "aclrtFreeHost"),
                                  ("events", "aclrtCreateEvent", "aclrtDestroyEvent"),
                                  ("streams", "aclrtCreateStream", "aclrtDestroyStream")):
        expect_equal(objects[kind], {"made": line["calls"][create], "gone": line["calls"][destroy],
                                     "alive": 0}, kind)
    expect_equal(objects["bytes"]["alive"], 0, "bytes left")


def test_every_call(shape):
    """Calls that only the entry is probed of, and those that pass through two libraries."""
    counts = world.scratch("counts")
    ended = world.guarded([world.scenario("clean_mix", shape)], shape=shape,
                          env={"ACLSIM_COUNTS": counts})
    expect_equal(ended.status, 0, "status")
    calls, seen = made(counts), ended.summary()["calls"]
    wrong = {name: (count["entered"], calls[name]) for name, count in seen.items()
             if count["entered"] != calls[name]}
    expect_equal(wrong, {}, "calls seen and made, where they differ")
    failed = {name: count["failed"] for name, count in seen.items() if count["failed"]}
    expect_equal(failed, {}, "failed calls")


# ---- names ------------------------------------------------------------------------------

def hostile(options=()):
    """The reports of a Python program whose names are not nice."""
    folder = os.path.join(os.fsencode(world.scratch("names")), HOSTILE_FOLDER)
    os.makedirs(folder)
    shutil.copy(os.path.join(os.fsencode(world.runtime("mono")), b"libascendcl.so"), folder)
    target = [PYTHON, os.path.join(world.HERE, "target.py"), HOSTILE_COMM.hex()]
    path = world.scratch("report")
    # the folder is given by its surrogate escapes, as Python does with any bytes
    ended = world.run(world.guarded_command(target, ["--output", path, "-v", *options]),
                      race="certain", env={"LD_LIBRARY_PATH": os.fsdecode(folder)},
                      data=b"load\norder\n")
    expect((ended.status, ended.out) == (0, b"load\norder\n"), "the target:", ended.said())
    with open(path, "rb") as f:
        return path, f.read(), ended.err


def harmless(text, lines=b"\n"):
    bad = collections.Counter(byte for byte in text
                              if (byte < 0x20 and bytes([byte]) not in lines) or byte == 0x7f)
    expect(not bad, "control characters get through:", dict(bad))
    text.decode("utf-8")


def test_hostile_json():
    """hostile names in JSON are strings, and decode to what they are"""
    path, text, said = hostile(["--json"])
    harmless(text)
    harmless(said)
    reports = world.reports_of(path)
    violation, = [r for r in reports if r["type"] == "violation"]
    expect_equal(violation["rule"], "free-before-destroy", "rule")
    # a byte that is no UTF-8 cannot be in JSON: how it is shown is the writer's choice
    for got, sent in ((violation["program"], HOSTILE_COMM[:15]),
                      (violation["stack"][0]["module"], HOSTILE_FOLDER),
                      (reports[-1]["libraries"][0]["path"], HOSTILE_FOLDER)):
        beginning = sent.partition(b"\xff")[0].decode()
        expect(beginning in got, f"{beginning!r} is not in {got!r}")


def test_hostile_text():
    """hostile names in text are escaped, and begin no line of their own"""
    _, text, said = hostile()
    harmless(text)
    harmless(said)
    for line in text.splitlines():
        expect(not line.startswith(b"==1=="), "a name begins a line:", line)
    expect(text.count(b"ERROR #1 free-before-destroy") == 1, "not one headline:", text, said)
    world.mentions(text, r"\\x1b|\\033|\\e", r"libascendcl\.so")


def all_tests():
    tests = []
    for shape in "mono", "both":
        tests += [
            (f"{THREADS} threads, {CALLS} calls each, {shape}",
             functools.partial(test_load, shape, ())),
            (f"queries only, {THREADS} threads, {shape}",
             functools.partial(test_load, shape, ("query",))),
        ]
    tests += world.titled(test_objects, test_hostile_json, test_hostile_text)
    tests += [(f"every call of clean_mix is counted once, {shape}",
               functools.partial(test_every_call, shape)) for shape in ("mono", "split", "both")]
    return tests


if __name__ == "__main__":
    world.run_tests(all_tests())
