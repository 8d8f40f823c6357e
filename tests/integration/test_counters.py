#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What the kernel side counts is exact, whether or not anybody listens."""

import json
import re
import signal
import subprocess

import world
from test_watch import Steps, attached, read_line
from world import expect, expect_equal

CROWD = 1500            # processes at a time
ROUNDS = 1000           # each leaves more in the ring of violations than a 500th of it
REFUSED = 507899

# rules.h and calls.h
FREE_BEFORE_DESTROY, ERROR, CERTAIN, FREE_HOST = 1, 2, 1, 2


def counters(*args):
    """What counters.c prints."""
    if not hasattr(counters, "program"):
        lib = f"{world.BUILD}/libaclguard.a"
        flags = subprocess.run(
            ["pkg-config", "--libs", "libelf", "zlib"],
            stdout=subprocess.PIPE, check=True, timeout=world.PATIENCE).stdout.decode().split()
        counters.program = world.compile_c(
            "counters.c", *(f"-I{folder}" for folder in (
                f"{world.ROOT}/src", f"{world.ROOT}/include", world.BUILD)),
            lib, "-l:libbpf.a", *flags, "-pthread")
    ended = world.run([counters.program, *args])
    expect_equal(ended.status, 0, f"status of counters, {ended.err}")
    return json.loads(re.sub(rb", ([\]}])", rb"\1", ended.out))


def test_exact():
    """verdicts made are those reported and those lost, and codes of errors are counted"""
    target = Steps()
    watch = attached(target)
    watch.process.send_signal(signal.SIGSTOP)
    target.do(ROUNDS * "cqfd")
    full = counters(watch.process.pid)
    watch.process.send_signal(signal.SIGCONT)
    target.do("cqfd")
    ended = watch.stop()
    target.finish()
    kind = [FREE_BEFORE_DESTROY, ERROR, CERTAIN, ROUNDS, ROUNDS]
    expect_equal(full["verdicts"], [kind], "verdicts, made and refused")
    expect_equal(full["procs"][str(target.pid)],
                 {"kinds": [kind], "verdicts": ROUNDS, "events": ROUNDS}, "those of the process")
    expect_equal(full["errors"], [[FREE_HOST, REFUSED, ROUNDS], None], "codes of errors")
    expect_equal((full["frees"], full["otherwise"]), (ROUNDS, 0), "releases, other codes")
    used, size = full["rings"]["violations"]
    expect(0.99 * size < used <= size, f"{used} of {size} bytes wait in a full ring")
    reported = len(ended.of("violation"))
    expect(0 < reported < ROUNDS, "reported:", reported)
    # what was lost of what became of one has a cause of its own
    lost = ended.summary()["lost"]
    expect_equal(lost["violations-ring-full"], ROUNDS + 1 - reported, "lost, not reported")
    expect_equal(ended.summary()["errors"], reported, "errors in the summary")
    # of those that were sent, the release was, too: the last follow-ups may be lost
    expect_equal([full["tables"][name] for name in ("events", "procs", "bufs")],
                 [[0, 100352], [1, full["tables"]["procs"][1]], [ROUNDS, 100352]],
                 "entries of tables")


def test_crowd():
    """of more than a thousand processes at a time, each one's history is kept"""
    path = world.scratch("report")
    process = world.start(world.guarded_command([world.scenario("crowd"), CROWD],
                                                ["--json", "--output", path]),
                          stdin=subprocess.PIPE)
    expect_equal(read_line(process.stdout.fileno()), str(CROWD), "processes that have begun")
    full = counters(process.pid)
    expect_equal([full["tables"][name][0] for name in ("procs", "devs", "bufs")], 3 * [CROWD],
                 "entries of tables")
    expect(full["tables"]["threads"][0] >= CROWD, "threads:", full["tables"]["threads"])
    expect_equal(len(full["procs"]), CROWD + 1, "processes that are told")
    ended = world.finish(process)
    expect_equal(ended.status, 0, "status")
    summary = world.reports_of(path)[-1]
    lost = {cause: n for cause, n in summary["lost"].items() if n and cause != "evicted"}
    expect_equal(lost, {}, "what was lost")
    expect_equal(summary["processes"], CROWD, "processes in the summary")
    expect_equal(summary["objects"]["buffers"], {"made": CROWD, "gone": CROWD, "alive": 0},
                 "buffers of processes that all end at a time")


def test_programs():
    """the kernel tells how often and how long programs ran, while it is asked to"""
    programs = counters()
    programs.pop("")
    expect_equal(set(programs), {"on_exec", "e_aclrtFreeHost"}, "programs that are loaded")
    runs, run_ns, missed = programs["on_exec"]
    expect(runs >= 1 and run_ns > 0 and missed == 0, "on_exec:", programs["on_exec"])
    expect_equal(programs["e_aclrtFreeHost"], [0, 0, 0], "a program that had nothing to do")


if __name__ == "__main__":
    world.run_tests(world.titled(test_exact, test_crowd, test_programs))
