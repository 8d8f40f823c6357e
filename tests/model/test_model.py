#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The state machine against the reference model: known histories, then random ones.  TAP.

MODEL_HISTORIES (default 3000) says how many random histories, MODEL_SEED which ones, MODEL_JOBS
how many processes.  regressions/ holds one history for each disagreement that was found:

    # what it shows, and the sentence of the law that decides it
    # expect: RULE LEVEL        a verdict that the model must give; none: it must be silent
    # todo: WHY                 the state machine is known to be wrong here

A history with a todo that disagrees is an expected failure, and so are, as long as there is one,
disagreements on random histories.
"""

import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

sys.dont_write_bytecode = True

import check                    # noqa: E402
import history                  # noqa: E402
from generate import show       # noqa: E402
from model import Model         # noqa: E402


def build(directory):
    """Compiles the driver against the library; returns the program."""
    build_dir = os.environ.get("BUILD", "build")
    library = os.path.join(ROOT, build_dir, "libaclguard.a")
    program = os.path.join(directory, "model-driver")
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run(compiler + ["-std=gnu11", "-O2", "-Wall", "-Wextra", f"-I{ROOT}/include",
                               f"-I{ROOT}/src", f"{HERE}/driver.c", library, "-o", program],
                   check=True)
    return program


class Tap:
    def __init__(self, planned):
        self.number = 0
        self.bad = False
        print(f"1..{planned}", flush=True)

    def result(self, good, name, todo="", notes=()):
        self.number += 1
        for note in notes:
            for line in str(note).splitlines():
                print(f"# {line}")
        directive = f" # TODO {todo}" if todo and not good else ""
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}{directive}", flush=True)
        self.bad = self.bad or not (good or todo)


def regression(driver, path):
    """What is wrong with a known history, and why that is expected."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    steps = history.parse(text)
    model = Model().run(steps)
    expected = re.findall(r"^# expect: (\S+) (\S+)$", text, re.M)
    given = [(verdict.rule, verdict.level) for verdict in model.verdicts if not verdict.optional]
    wrong = check.compare(model, driver.run(steps))
    if given != expected:
        wrong.append(f"the model gives {given}")
        return wrong, ""
    todo = re.search(r"^# todo: (.*)$", text, re.M)
    return wrong, todo[1] if todo else ""


def main():
    count = int(os.environ.get("MODEL_HISTORIES", "3000"))
    seed = int(os.environ.get("MODEL_SEED", "1"))
    jobs = int(os.environ.get("MODEL_JOBS", str(min(2, os.cpu_count() or 1))))
    paths = sorted(glob.glob(f"{HERE}/regressions/*.history"))

    print(f"# tap-timeout: {max(300, count // 50)}")
    tap = Tap(len(paths) + 2)
    out = os.path.join(ROOT, os.environ.get("BUILD", "build"), "model")
    os.makedirs(out, exist_ok=True)
    program = build(out)
    driver = check.Driver(program)
    known_bad = 0
    for path in paths:
        wrong, todo = regression(driver, path)
        name = os.path.basename(path).partition(".")[0].replace("_", " ")
        known_bad += bool(wrong and todo)
        tap.result(not wrong, name, todo, wrong)

    started = time.monotonic()
    number, found, rules, evidence = check.run(program, seed, count, jobs, keep=1)
    took = time.monotonic() - started
    notes = [f"{count} histories in {took:.1f} s, {count / took:.0f} a second"]
    for one, steps in found[:5]:
        notes.append(f"seed {one}:\n{check.explain(driver, steps)}")
    todo = f"{known_bad} known disagreements are open" if known_bad else ""
    tap.result(not number, f"{count} random histories, {number} disagreements", todo, notes)
    lines, complete = show(rules, evidence, count)
    tap.result(complete or count < 2000, "every rule, level and evidence occurred", "", lines)
    driver.close()
    return 1 if tap.bad else 0


if __name__ == "__main__":
    sys.exit(main())
