# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""One violation again and again, for test_fold.py and the soak test of it."""

import re
import threading
import time

import world
from world import expect, expect_equal

RSS_MAX = 96 << 10      # KiB: with all the debug information of a C library


class Peak(threading.Thread):
    """The memory that a process takes at most, in KiB; by its own account of it."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.kib = f"/proc/{pid}/status", 0
        self.start()

    def run(self):
        while True:
            try:
                with open(self.path, encoding="ascii", errors="replace") as f:
                    found = re.search(r"VmHWM:\s*(\d+)", f.read())
            except OSError:
                return
            if not found:
                return      # it has exited
            self.kib = int(found.group(1))
            time.sleep(0.05)


def number(pattern, text, default=0):
    found = re.search(pattern, text, re.M)
    return int(found.group(1)) if found else default


def repeated(rounds, timeout):
    """Gives the report of so many violations from one place, and the memory they took."""
    path = world.scratch("report")
    process = world.start(world.guarded_command([world.scenario("repeat"), rounds],
                                                ["--output", path]), race="impossible")
    peak = Peak(process.pid)
    ended = world.finish(process, timeout=timeout)
    expect_equal(ended.status, 0, ended.said())
    with open(path, encoding="utf-8") as f:
        return f.read(), peak.kib, ended.lines()[0]


def check(rounds, text, kib):
    """One report, each counted or lost and told so, nothing grew."""
    expect_equal(len(re.findall(r"^==\d+==aclguard: ERROR #", text, re.M)), 1, "full reports")
    reported = number(r"ERROR SUMMARY: (\d+) errors?, 0 warnings, 0 notes", text)
    lost = number(r"^==aclguard==   free-in-flight: .*, (\d+) more lost$", text)
    expect_equal(reported + lost, rounds, f"{reported} reported and {lost} lost")
    times, confirmed = re.search(
        r"^==aclguard==   site [0-9a-f]{12}: (\d+) times, (\d+) confirmed: free-in-flight by "
        r"repeat in release_unfinished\+0x[0-9a-f]+ \(repeat\+0x[0-9a-f]+\), first #1$",
        text, re.M).groups()
    expect_equal(int(times), reported, "those of the site")
    expect_equal(number(r"free-in-flight: .*\((\d+) confirmed", text), int(confirmed),
                 "confirmed ones")
    said = re.findall(r"^==\d+==aclguard: site [0-9a-f]{12}: (\d+) times so far", text, re.M)
    expect_equal([int(n) for n in said],
                 [10 ** n for n in range(1, len(str(reported)))], "lines between")
    expect(kib < RSS_MAX, f"{kib} KiB of memory")
    return reported, lost
