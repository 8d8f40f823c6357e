#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compares the state machine with the reference model on random histories.

    check.py [--seed N] [--count N] [--jobs N] [--keep N] DRIVER
    check.py --replay FILE... DRIVER

Every history goes through model.py and, by the driver, through the state machine.  What disagrees
is shrunk and printed with what both say; the exit status is then 1.
"""

import argparse
import collections
import multiprocessing
import re
import subprocess
import sys

import history as hist
from generate import Generator, coverage, show
from model import Model, WINDOW
from shrink import shrink

RULES_H = hist.CALLS_H.replace("calls.h", "rules.h")

CALL_NUMBER = {name: number for number, name in enumerate(hist.CALLS)}
CELL = 0x1000                   # where outputs go
TIME_LINE = 8                   # what aclrtCreateEvent makes
LEVELS = ["note", "warning", "error"]


def names(macro):
    with open(RULES_H, encoding="ascii") as file:
        body = re.search(rf"#define {macro}\(X\)((?:.*\\\n)*.*\n)", file.read())[1]
    return re.findall(r'X\(\w+,\s*"([\w-]+)"', body.replace("\\\n", " "))


RULES = ["none"] + names("ACL_RULES")
SUSPECTS = names("ACL_SUSPECTS")


def arguments(step):
    """The arguments of a call as the probes deliver them, by role."""
    args, role = step.args, hist.ROLES[step.name]
    if role == "MALLOC":
        return CELL, args["size"]
    if role in ("FREE", "FREE_SYNC", "UNREGISTER"):
        return (args["ptr"],)
    if role == "REGISTER":
        return args["ptr"], args["size"]
    if role == "EV_CREATE":
        return CELL, args.get("flags", TIME_LINE)
    if role == "EV_RECORD":
        return args["event"], args["stream"], args.get("flag", 0)
    if role == "EV_RESET":
        return args["event"], args["stream"]
    if role == "EV_WAIT":
        return args["stream"], args["event"]
    if role in ("EV_QUERY_STATUS", "EV_QUERY"):
        return args["event"], CELL
    if role.startswith("DEV_"):
        return (args.get("device", 0),)
    if role == "CTX_CREATE":
        return CELL, args["device"]
    if role in ("CTX_SET", "CTX_DESTROY"):
        return (args["context"],)
    if role == "COPY":
        count = args["count"]
        return args["dst"], count, args["src"], count, args["kind"], args["stream"]
    if role == "COPY_2D":
        width, rows = args["width"], args["height"]
        lengths = [args[pitch] * (rows - 1) + width if rows and width else 0
                   for pitch in ("dpitch", "spitch")]
        return args["dst"], lengths[0], args["src"], lengths[1], args["kind"], args["stream"]
    if role == "COPY_BATCH":
        return 0, 0, 0, 0, len(args["items"]), args["stream"]
    if role == "COPY_DESC_SET":
        return args["desc"], args["kind"], args["src"], args["dst"], args["count"]
    if role == "COPY_DESC":
        return args["desc"], args["kind"], args["stream"]
    if "event" in args:
        return (args["event"],)
    if "stream" in args:
        return (args["stream"],)
    return (CELL,)


def encode(history, window=WINDOW):
    """A history in the language of driver.c."""
    attach = [step.position for step in history if step.kind == "attach"]
    lines = [f"H {window} {attach[0] if attach else 0} {1 if attach else 0}"]
    stack = collections.Counter()
    for step in history:
        pid, position = step.pid, step.position
        tid = step.tid and 100 * pid + step.tid     # numbers of threads and processes differ
        if step.kind == "enter":
            if "items" in step.args:
                lines.append(f"N {pid} {tid}")
            for item in step.args.get("items", ()):
                lines.append(f"B {pid} {tid} {item[0]} {item[1]} {item[2]}")
            args = (tuple(arguments(step)) + (0,) * 6)[:6]
            lines.append(f"E {position} {pid} {tid} {4096 + stack[pid, tid]} "
                         f"{CALL_NUMBER[step.name]} {' '.join(map(str, args))}")
        elif step.kind == "leave":
            lines.append(f"L {position} {pid} {tid} {4096 + stack[pid, tid]} "
                         f"{step.ret} {step.out or 0} {0 if step.out is None else 1}")
        elif step.kind == "lost":
            # By longjmp to a function further out.
            stack[pid, tid] += 256
        elif step.kind == "exit":
            lines.append(f"X {position} {pid}")
        elif step.kind == "exec":
            lines.append(f"C {position} {pid}")
        elif step.kind == "thread-exit":
            lines.append(f"T {position} {pid} {tid}")
        elif step.kind == "fork":
            lines.append(f"F {position} {pid} {step.args['child']}")
    lines.append(".")
    return "\n".join(lines) + "\n"


class Said:
    """A verdict of the state machine."""

    def __init__(self, words):
        (self.position, self.pid, self.tid, call, rule, level, evidence, suspects, ret, self.id,
         pointer, base, _, stream, copy, poll, handle) = map(int, words)
        self.tid -= 100 * self.pid
        self.call = hist.CALLS[call]
        self.rule = RULES[rule]
        self.level = LEVELS[level]
        self.certain = evidence == 1
        self.confirmed = evidence == 2
        self.causes = {name for bit, name in enumerate(SUSPECTS) if suspects >> bit & 1}
        self.ret = ret if self.confirmed or self.rule == "copy-after-free" else None
        self.pointer, self.base = pointer, base
        self.stream, self.copy = stream, copy
        self.poll, self.handle = poll, handle

    def __repr__(self):
        text = f"{self.pid}/{self.tid} at {self.position} {self.call}: {self.rule} {self.level}"
        text += f" of {self.base or self.pointer:#x}"
        if self.copy:
            text += f", copy on {self.stream:#x} at {self.copy}"
        if self.poll:
            text += f", poll at {self.poll} of {self.handle:#x}"
        if self.causes:
            text += f", suspected: {' '.join(sorted(self.causes))}"
        if self.ret is not None:
            text += f", returned {self.ret}"
        return text + (", confirmed" if self.confirmed else "")


class Driver:
    """The state machine: takes histories, gives what it said of each."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def run(self, history, window=WINDOW):
        self.process.stdin.write(encode(history, window))
        self.process.stdin.flush()
        verdicts, ends, by_id, overflows = [], [], {}, 0
        for line in self.process.stdout:
            kind, *words = line.split()
            if kind == "V":
                said = Said(words)
                verdicts.append(said)
                by_id[said.id] = said
            elif kind == "S":
                said = by_id[int(words[0])]
                said.ret = int(words[1])
                said.confirmed = said.ret != 0
            elif kind == "P":
                ends.append(tuple(map(int, words)))
            elif kind == "O":
                overflows = int(words[0])
            elif kind == ".":
                return verdicts, ends, overflows
        raise RuntimeError(f"the driver ended with {self.process.wait()}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def differs(ours, said):
    """What two verdicts on the same call disagree in, or None."""
    if ours.rule != said.rule:
        return f"rule {ours.rule} / {said.rule}"
    # How often an event was recorded is uncertain where records raced.
    if ours.level != said.level and not "raced" in ours.may & said.causes:
        return f"level {ours.level} / {said.level}"
    if ours.ret != said.ret or ours.confirmed != said.confirmed:
        return f"returned {ours.ret} / {said.ret}"
    if not ours.must <= said.causes <= ours.must | ours.may:
        return (f"causes {sorted(ours.must)} (perhaps {sorted(ours.may)}) / "
                f"{sorted(said.causes)}")
    if ours.copy_position is not None and \
       ours.copy_position != said.copy:
        return f"copy at {ours.copy_position} / {said.copy}"
    if ours.poll_position is not None and ours.rule == "free-before-destroy" and \
       (ours.poll_position, ours.poll_event) != (said.poll, said.handle):
        return f"poll at {ours.poll_position} / {said.poll}"
    if ours.rule == "free-after-stream-query" and ours.poll_position != said.poll:
        return f"query at {ours.poll_position} / {said.poll}"
    if ours.rule == "copy-after-free":
        return None
    if ours.object != (said.base or said.pointer):
        return f"object {ours.object:#x} / {said.base or said.pointer:#x}"
    return None


def compare(model, answer):
    """What the two disagree in; an empty list where they agree."""
    verdicts, ends, overflows = answer
    wrong = []
    if model.void:
        return wrong

    def key(verdict):
        return verdict.position, verdict.pid, verdict.tid, verdict.call

    ours, theirs = collections.defaultdict(list), collections.defaultdict(list)
    for verdict in model.verdicts:
        ours[key(verdict)].append(verdict)
    for verdict in verdicts:
        theirs[key(verdict)].append(verdict)
    for place in sorted(set(ours) | set(theirs)):
        mine = [v for v in ours[place] if not model.is_uncertain(v, v.object)]
        its = [v for v in theirs[place] if v.certain or
               not model.is_uncertain(v, v.base or v.pointer)]
        while mine and its:
            one, other = mine.pop(0), its.pop(0)
            if one.leaked and "raced" in other.causes:
                continue
            if one.loose and "overflow" in other.causes:
                continue        # a bound was exceeded: it may have forgotten, and says so
            if one.instead == other.rule:
                continue
            while one.several and its and its[0].rule == one.rule:
                its.pop(0)
            what = differs(one, other)
            if what:
                wrong.append(f"{place[0]}: {what}")
        for one in mine:
            if not one.optional and not (one.loose and overflows):
                wrong.append(f"{place[0]}: only the model: {one}")
        for other in its:
            if not model.allows(other):
                wrong.append(f"{place[0]}: only the state machine: {other}")
    for position, pid, buffers, events in ends:
        expected = model.alive.get((pid, position))
        if expected is None:
            continue
        for what, number, (least, most) in zip(("buffers", "events"), (buffers, events),
                                               expected[0]):
            if not least <= number <= most:
                wrong.append(f"{position}: {what} alive {least}..{most} / {number}")
    return wrong


def judge(driver, history):
    model = Model()
    model.run(history)
    return compare(model, driver.run(history)), model


def work(job):
    """One process: histories of a range of seeds.  Returns disagreements and the coverage."""
    program, first, count, keep = job
    driver = Driver(program)
    rules, evidence = collections.Counter(), collections.Counter()
    found = []
    number = 0
    for seed in range(first, first + count):
        history = Generator(seed).generate()
        wrong, model = judge(driver, history)
        more = coverage([model])
        rules.update(more[0])
        evidence.update(more[1])
        if wrong:
            number += 1
            if len(found) < keep:
                kind = classify(wrong[0])
                small = shrink(history, lambda h: any(classify(w) == kind
                                                      for w in judge(driver, h)[0]))
                found.append((seed, small))
    driver.close()
    return number, found, rules, evidence


def classify(text):
    """The kind of a disagreement, without its numbers."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", text)[:60]


def explain(driver, history):
    wrong, model = judge(driver, history)
    verdicts = driver.run(history)[0]
    lines = [hist.dump(history).rstrip()]
    lines += [f"# model:   {verdict}" for verdict in model.verdicts]
    lines += [f"# machine: {verdict}" for verdict in verdicts]
    lines += [f"# differ:  {what}" for what in wrong]
    return "\n".join(lines)


def run(program, seed, count, jobs, keep=3):
    """Returns the number of disagreements, (seed, smallest history) of some, the coverage."""
    size = max(1, min(500, count // (4 * jobs) or 1))
    work_list = [(program, seed + start, min(size, count - start), keep)
                 for start in range(0, count, size)]
    number, found = 0, []
    rules, evidence = collections.Counter(), collections.Counter()
    with multiprocessing.Pool(jobs) as pool:
        for part in pool.imap_unordered(work, work_list):
            number += part[0]
            found += part[1]
            rules.update(part[2])
            evidence.update(part[3])
    return number, found, rules, evidence


def main():
    parser = argparse.ArgumentParser(description="Compare the state machine with the model.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=int, default=3, help="disagreements to shrink a job")
    parser.add_argument("--replay", nargs="+", default=[], metavar="FILE")
    parser.add_argument("driver")
    args = parser.parse_args()

    driver = Driver(args.driver)
    if args.replay:
        for path in args.replay:
            with open(path, encoding="ascii") as file:
                print(f"# {path}\n{explain(driver, hist.parse(file.read()))}\n")
        return 0
    number, found, rules, evidence = run(args.driver, args.seed, args.count, args.jobs, args.keep)
    kinds = {}
    for seed, history in found:
        wrong = judge(driver, history)[0]
        kind = classify(wrong[0]) if wrong else "?"
        kinds.setdefault(kind, []).append((len(history), seed, history))
    for kind, some in kinds.items():
        _, seed, history = min(some, key=lambda item: item[:2])
        print(f"# {len(some)} like this, here from seed {seed}: {kind}")
        print(explain(driver, history), end="\n\n")
    lines, complete = show(rules, evidence, args.count)
    print("\n".join(lines))
    print(f"{number} disagreements")
    driver.close()
    return 0 if complete and not number else 1


if __name__ == "__main__":
    sys.exit(main())
