# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Executes a history of live.py once more, or parts of it, to find the smallest that disagrees.

Handles and addresses are other ones each time.  So a call is kept with names for what it was
given: the output of the so many-th step, or an address so many bytes into a buffer.
"""

import time

import check
import reports
from live import CONTROL, NEVER_ALLOCATED, Live
from shrink import units

BUFFER_MAX = 0x10000
DEVICE_SIZE = 0x20000       # actor.c
TRIES = 3                   # candidates may differ in what the device has done by when


class Name:
    """What takes the place of a value that is another one each time."""

    def __init__(self, step, offset=0):
        self.step, self.offset = step, offset       # step None: device memory


def named(value, outputs, memory):
    """A value of a call as a name, if it is an output of an earlier step or device memory."""
    if value in outputs:
        return Name(outputs[value])
    if memory <= value < memory + DEVICE_SIZE:
        return Name(None, value - memory)
    inside = [base for base in outputs if base > 1 << 32 and base <= value < base + BUFFER_MAX]
    if inside:
        return Name(outputs[max(inside)], value - max(inside))
    return value


def name_all(live):
    """[(step, arguments with names)] of a history, without what prepares the processes."""
    outputs, memory = {}, {process.number: process.world.device_memory
                           for process in live.processes}
    entered = {}
    result = []
    for index, step in enumerate(live.history):
        if step.tid == CONTROL or step.kind == "exit":
            continue
        args = {}
        for key, value in step.args.items():
            if key == "items":
                args[key] = [tuple(named(v, outputs, memory[step.pid]) for v in item[:2]) +
                             item[2:] for item in value]
            elif key in ("dst", "src", "ptr", "event", "stream", "context", "desc"):
                args[key] = named(value, outputs, memory[step.pid])
            else:
                args[key] = value
        if step.kind == "enter":
            entered[step.pid, step.tid] = index
        elif step.kind == "leave" and step.out and step.out > 4096:
            outputs[step.out] = entered[step.pid, step.tid]
        result.append((index, step, args))
    return result


class Again(Live):
    """Some of the steps of another history, with the same settings."""

    def __init__(self, host, like, steps):
        super().__init__(host, like.seed, mishaps=False)
        self.steps = steps
        self.fails = {entry.index: entry.fail for entry in like.entries}
        self.settings = like.settings
        self.outputs = {}           # step of the other history -> what came out now

    def begin(self):
        self.start()

    def process_of(self, number):
        return next((process for process in self.processes if process.number == number), None)

    def thread_of(self, step):
        process = self.process_of(step.pid)
        if not process:
            return None
        for thread in process.threads:
            if thread.claimed and thread.number == step.tid:
                return thread
        idle = [thread for thread in process.threads if not thread.claimed]
        thread = idle[0] if idle else self.add_thread(process)
        thread.claimed, thread.number = True, step.tid
        return thread

    def value(self, process, value):
        if not isinstance(value, Name):
            return value
        if value.step is None:
            return process.world.device_memory + value.offset
        return self.outputs.get(value.step, NEVER_ALLOCATED) + value.offset

    def real(self, process, args):
        return {key: [tuple(self.value(process, v) for v in item) for item in value]
                if key == "items" else self.value(process, value) for key, value in args.items()}

    def run(self, calls=None):
        for index, step, args in self.steps:
            if self.blocked:
                break
            if step.kind == "exec":
                process = self.process_of(step.pid)
                if process:
                    self.exec(process)
                continue
            thread = self.thread_of(step)
            if thread:
                self.repeat(thread, index, step, args)

    def repeat(self, thread, index, step, args):
        if step.kind == "enter" and not thread.call:
            self.enter(thread, step.name, args, self.fails.get(index, 0))
            thread.origin = index
        elif step.kind == "leave" and thread.call:
            self.leave(thread)
            if thread.result[1]:
                self.outputs[thread.origin] = thread.result[1]
        elif step.kind == "lost" and thread.call:
            self.jump(thread)
        elif step.kind == "thread-exit":
            self.end(thread)
        elif step.kind == "fork" and not thread.call:
            self.fork(thread, step.args["child"])


def renumbered(live):
    """Positions from 1000 on, ten apart: a history to be kept."""
    steps = sorted(live.seen(), key=lambda step: step.position)
    return [type(step)(1000 + 10 * i, step.pid, step.tid, step.kind, step.name, step.args,
                       step.ret, step.out) for i, step in enumerate(steps)]


def kinds_of(wrong):
    return {check.classify(what.split(": ", 1)[-1]) for what in wrong}


def shrink(batch, one, wrong, model, seconds):
    """The text of the smallest history found that disagrees in the same way, or None."""
    wanted = kinds_of(wrong)
    deadline = time.monotonic() + seconds
    steps = name_all(one)
    found = attempt(batch, one, [steps] * TRIES, wanted)
    if not found:
        return None
    best, result = steps, found[0][1]
    size = max(1, len(units([step for _, step, _ in best])) // 2)
    while time.monotonic() < deadline:
        parts = units([step for _, step, _ in best])
        trials = []
        for start in range(0, len(parts), size):
            gone = {index for part in parts[start:start + size] for index in part}
            trials.append([step for i, step in enumerate(best) if i not in gone])
        found = attempt(batch, one, trials * 2, wanted)
        if found:
            number, result = min(found, key=lambda item: len((trials * 2)[item[0]]))
            best = (trials * 2)[number]
        elif size == 1:
            break
        size = max(1, min(size, len(best)) // (1 if found else 2))
    small, live, wrong, model = result
    return small.explain(live, wrong, model)


def attempt(batch, one, trials, wanted):
    """[(number of the trial, (batch, history, what disagrees, model))] of those that show it."""
    small = type(batch)(batch.kind, batch.shape, range(len(trials)), ["--stacks=none"])
    small.run(lambda host, number: Again(host, one, trials[number]))
    found = []
    for number, live in enumerate(small.histories):
        wrong, model = reports.judge(live, small.said, small.window)
        if kinds_of(wrong) & wanted:
            found.append((number, (small, live, wrong, model)))
    return found
