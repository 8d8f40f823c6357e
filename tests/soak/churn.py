#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard watch --all while processes come and go: none is missed, and nothing grows.

SOAK_SECONDS (60) long, 50 processes a second start on the runtime, make the mistake once, and
live on for four seconds, so that 200 are alive at a time.  Part of `make soak`.
"""

import collections
import heapq
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
sys.dont_write_bytecode = True

import world                                        # noqa: E402
from test_all import All, state_of                  # noqa: E402
from test_watch import Steps                        # noqa: E402
from world import expect, expect_equal              # noqa: E402

SECONDS = int(os.environ.get("SOAK_SECONDS", "60"))
RATE, LIFE = 50, 4.0
MAPS = "procs", "threads", "targets", "bufs", "events", "streams", "copies", "deads", "graves"


def entries():
    """How many entries the kernel's tables have, of every aclguard that runs."""
    listed = json.loads(subprocess.run(["bpftool", "-j", "map", "list"], check=True,
                                       stdout=subprocess.PIPE).stdout)
    count = collections.Counter()
    for table in listed:
        if table.get("name") in MAPS:
            dumped = subprocess.run(["bpftool", "-j", "map", "dump", "id", str(table["id"])],
                                    check=False, stdout=subprocess.PIPE).stdout
            count[table["name"]] += len(json.loads(dumped or b"[]"))
    return count


class Crowd:
    """Processes by the time at which they are to end."""

    def __init__(self):
        self.alive = []
        self.pids = []

    def start(self, now):
        process = world.start([world.scenario("steps")], race="certain", stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL)
        process.stdin.write(b"cqfd")
        process.stdin.flush()
        self.pids.append(process.pid)
        heapq.heappush(self.alive, (now + LIFE, process.pid, process))

    def end(self, now):
        while self.alive and self.alive[0][0] <= now:
            process = heapq.heappop(self.alive)[2]
            process.stdin.close()
            expect_equal((process.wait(world.PATIENCE), process.stderr.read()), (0, b""),
                         "end of a process")
            process.stderr.close()


def churn():
    """50 processes a second, 200 at a time: none is missed, nothing grows"""
    holder = Steps()        # so that the library is probed
    watch = All("--comm", "steps", "--stacks=none")
    crowd = Crowd()
    began = time.monotonic()
    states, widest = [], 0
    while (now := time.monotonic() - began) < SECONDS:
        if len(crowd.pids) < now * RATE:
            crowd.start(now)
        else:
            time.sleep(0.002)
        crowd.end(now)
        widest = max(widest, len(crowd.alive))
        if now > LIFE * 2 * (len(states) + 1):
            states.append(state_of(watch.process.pid))
    crowd.end(float("inf"))
    time.sleep(2)
    left = entries()
    states.append(state_of(watch.process.pid))
    holder.finish()
    ended = watch.stop()
    print(f"# {len(crowd.pids)} processes in {SECONDS} s, {widest} at a time at most")
    print(f"# descriptors, resident KiB: {states}")
    print(f"# entries left: {dict(left)}")
    told = collections.Counter(v["pid"] for v in ended.of("violation"))
    missed = [pid for pid in crowd.pids if told[pid] != 1]
    expect(not missed, f"{len(missed)} of {len(crowd.pids)} were not told once:", missed[:10])
    lost = {cause: n for cause, n in ended.summary()["lost"].items() if n}
    expect_equal(lost, {}, "what was lost")
    first, last = states[0], states[-1]
    expect(last[0] <= first[0], "descriptors:", first[0], last[0])
    expect(last[1] <= first[1] + 8192, "resident KiB:", first[1], last[1])
    for name in "procs", "threads", "bufs", "events", "streams", "copies", "deads", "graves":
        # the holder, and what else there is on the machine
        expect(left[name] < 50, f"entries of {name}:", left[name])


if __name__ == "__main__":
    world.run_tests(world.titled(churn), SECONDS + 240)
