#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Random histories executed for real, under real probes, against the reference model.  TAP.

REAL_HISTORIES (default 200) says how many histories whose order is known; of others there are
fewer in proportion.  REAL_SEED says which ones.  Those that disagree are left in $BUILD/model, in
the form of regressions/, with what both sides said.  Kinds of histories:

    token   one step of one thread after the other, watched from the start
    old     the same with steps that take longer than a small --window
    late    the same, attached to in the middle
    free    threads run freely; any order that the times allow may explain the verdicts
"""

import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.dont_write_bytecode = True

import again                    # noqa: E402
import history                  # noqa: E402
import live                     # noqa: E402
import orders                   # noqa: E402
import reports                  # noqa: E402
import world                    # noqa: E402
from generate import EXPECTED, coverage     # noqa: E402

COUNT = int(os.environ.get("REAL_HISTORIES", "200"))
SEED = int(os.environ.get("REAL_SEED", "1"))
OUT = os.path.join(world.BUILD, "model")
SHAPES = ["mono", "both", "split", "both-call"]
NS = 10 ** 9
WINDOW = 100 * NS       # nothing gets that old here, on no machine
OLD_WINDOW, OLD_STEP = 20 * 10 ** 6, 0.05
LATE_AT_ONCE = 64
ENOUGH = 1000           # histories from which on every row of the coverage must have some
SHRINKING = 60          # seconds


def note(text):
    for line in str(text).splitlines():
        print(f"# {line}", flush=True)


class Batch:
    """Histories of one kind in one run of aclguard."""

    def __init__(self, kind, shape, seeds, options=()):
        self.kind, self.shape, self.seeds = kind, shape, seeds
        self.window = OLD_WINDOW if kind == "old" else WINDOW
        self.options = ["--json", "--strict", f"--window={self.window // 1000}us", *options]
        self.histories = []
        self.said = None
        self.models = []

    def actor(self):
        return os.path.join(OUT, "actor-acl_rt" if self.shape == "split" else "actor-ascendcl")

    # --- running ----------------------------------------------------------------------

    def make(self, host, seed):
        if self.kind == "free":
            return orders.Free(host, seed)
        return live.Live(host, seed, mishaps=self.kind != "late",
                         slow=OLD_STEP if self.kind == "old" else 0)

    def run(self, make=None):
        """Executes the histories and reads what aclguard said."""
        host = live.Host(world.scratch("socket"))
        report = world.scratch("report")
        actor = [self.actor(), "start", host.path]
        options = [*self.options, "--output", report]
        try:
            if self.kind == "late":
                program = self.run_late(host, actor, options, make or self.make)
            else:
                # The older way of probing takes its time.
                old = self.kind == "old" and COUNT >= ENOUGH
                env = {"ACLGUARD_NO_UPROBE_MULTI": "1"} if old else None
                program = world.start(world.guarded_command(actor, options), self.shape, env=env)
                host.start = host.accept()
                for seed in self.seeds:
                    self.histories.append(self.whole((make or self.make)(host, seed)))
        finally:
            host.close()
        ended = world.finish(program)
        world.expect_equal(ended.status, 0, ended.said())
        self.said = reports.Reports(world.reports_of(report), self.histories)

    @staticmethod
    def whole(one):
        try:
            one.begin()
            one.run()
            one.finish()
        except live.Gone as error:
            one.abandon(error)
        return one

    def run_late(self, host, actor, options, make):
        starter = world.start(actor, self.shape)
        host.start = host.accept()
        self.histories = [make(host, seed) for seed in self.seeds]
        for one in self.histories:
            one.begin()
            one.run_first_part()
        pids = ",".join(str(one.processes[0].pid) for one in self.histories)
        watch = world.start([world.ACLGUARD, "watch", *options, "-p", pids], self.shape)
        for _ in self.histories:
            line = watch.stderr.readline()
            world.expect(b"attached to process" in line, "aclguard did not attach:", line)
        for one in self.histories:
            one.attach()
        for one in self.histories:
            try:
                one.run()
                one.finish()
            except live.Gone as error:
                one.abandon(error)
        host.start.close()
        world.finish(starter)
        return watch

    # --- judging ----------------------------------------------------------------------

    def judge(self):
        """[(history, what disagrees, its model)]"""
        results = []
        searched = 0
        for one in self.histories:
            if self.kind == "free":
                wrong, model, tried = orders.judge(one, self.said, self.window)
                searched += tried > 1
            else:
                wrong, model = reports.judge(one, self.said, self.window)
            self.models.append(model)
            results.append((one, wrong, model))
        if self.kind == "free":
            counts = orders.overlaps(self.histories)
            note(f"{counts['overlapping']} of {counts['steps']} steps overlapped others; "
                 f"{searched} histories needed another order than the measured one")
        return results

    def losses(self):
        legitimate = set(reports.LEGITIMATE)
        if self.kind == "free":
            legitimate.add("contended")     # told as the cause "raced"
        if self.kind == "late":
            legitimate.add("return-without-entry")
            # Nothing is stopped: what another program has loaded is looked at when it may be over.
            if any(step.kind in ("fork", "exec") for one in self.histories
                   for step in one.seen()):
                legitimate.add("not-looked-at")
        return self.said.losses(self.histories, legitimate)

    def explain(self, one, wrong, model):
        lines = [f"# {self.kind} history, seed {one.seed}, shape {self.shape}"]
        lines += [history.dump(sorted(one.seen(), key=lambda step: step.position)).rstrip()]
        lines += [f"# model:    {verdict}" for verdict in model.verdicts]
        lines += [f"# aclguard: {said}" for said in self.said.said[one]]
        lines += [f"# differ:   {what}" for what in wrong]
        return "\n".join(lines) + "\n"

    def check(self):
        """The test: no disagreement, and nothing lost."""
        started = time.monotonic()
        self.run()
        made = time.monotonic()
        bad = self.without_contended([result for result in self.judge() if result[1]])
        calls = sum(len(one.entries) for one in self.histories)
        void = sum(model.void for model in self.models)
        blocked = sum(bool(one.blocked) for one in self.histories)
        note(f"{len(self.histories)} {self.kind} histories, {self.shape}, {calls} calls: "
             f"{made - started:.1f} s and {time.monotonic() - made:.1f} s to judge; "
             f"{void} cannot be judged, {blocked} blocked")
        for number, (one, wrong, model) in enumerate(bad[:3]):
            path = os.path.join(OUT, f"real-{self.kind}-{one.seed}.history")
            text = self.explain(one, wrong, model) if number else \
                self.smaller(one, wrong, model)
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            note(f"{path}:\n{text}")
        lost = self.losses()
        world.expect(not bad, f"{len(bad)} histories disagree")
        world.expect(not lost, "\n".join(lost))
        world.expect(blocked <= len(self.histories) // 50, f"{blocked} histories blocked")
        world.expect(void <= len(self.histories) // 8 + 1, f"{void} histories cannot be judged")

    def without_contended(self, bad):
        """Without what a lock that was given up may have kept silent, where that is counted."""
        left = self.said.summary["lost"]["contended"]
        result = []
        for one in bad:
            if left and all("only the model" in what for what in one[1]):
                left -= 1
                note(f"an update was given up and counted: {'; '.join(one[1])}")
            else:
                result.append(one)
        return result

    def smaller(self, one, wrong, model):
        """The smallest history found that shows the same, and what both sides say of it."""
        if self.kind in ("free", "late") or one.mismatches:
            return self.explain(one, wrong, model)
        return again.shrink(self, one, wrong, model, SHRINKING) or \
            self.explain(one, wrong, model)


def build_actors():
    os.makedirs(OUT, exist_ok=True)
    for name, shape, library in (("ascendcl", "mono", "ascendcl"), ("acl_rt", "split", "acl_rt")):
        folder = world.runtime(shape)
        subprocess.run([*world.CC, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
                        "-fno-omit-frame-pointer", f"-I{world.ROOT}/tests/sim/include",
                        f"-I{world.ROOT}/include", f"{HERE}/actor.c", "-o",
                        os.path.join(OUT, f"actor-{name}"), "-pthread", f"-L{folder}",
                        f"-Wl,-rpath-link,{folder}", f"-l{library}"], check=True)


def batches():
    """What is to be run: each kind in some shapes, and in others with another seed."""
    rng = random.Random(SEED)
    shapes = rng.sample(SHAPES, len(SHAPES))
    start = SEED * 10 ** 6
    result = []

    def add(kind, count, parts, options=()):
        nonlocal start
        for part in range(parts):
            some = count // parts + (part < count % parts)
            shape = shapes[0]
            shapes.append(shapes.pop(0))
            result.append(Batch(kind, shape, range(start, start + some), options))
            start += some

    add("token", COUNT, 4 if COUNT >= 400 else 2, ["--stacks=none"])
    add("old", COUNT // 25, 1)
    late = COUNT // 4
    add("late", late, -(-late // LATE_AT_ONCE), ["--stacks=none"])
    add("free", COUNT * 3 // 10, 4 if COUNT >= 400 else 1, ["--stacks=none"])
    return [batch for batch in result if batch.seeds]


def check_coverage(done):
    models = [model for batch in done for model in batch.models]
    rules, evidence = coverage(models)
    note(f"{len(models)} histories, of which")
    missing = []
    for key in EXPECTED:
        number = rules.get(key, evidence.get(key, 0))
        name = " ".join(key) if isinstance(key, tuple) else key
        note(f"{number:8} {name}")
        if not number:
            missing.append(name)
    if COUNT >= ENOUGH:
        world.expect(not missing, "none of:", ", ".join(missing))


def main():
    if os.environ.get("SKIP_BPF") != "1" and os.geteuid() == 0:
        build_actors()
    note(f"REAL_SEED={SEED} REAL_HISTORIES={COUNT}")
    done = batches()
    tests = [(f"{len(batch.seeds)} {batch.kind} histories, {batch.shape}, judged as by the model",
              world.alone(lambda batch=batch: batch.check())) for batch in done]
    tests.append(("what the real histories showed",
                  world.alone(lambda: check_coverage(done))))
    world.run_tests(tests, max(300, COUNT // 2))


if __name__ == "__main__":
    main()
