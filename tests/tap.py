#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs test programs that speak TAP and sums up what they say.

    tap.py [--timeout SECONDS] [--summary FILE] PROGRAM...

The programs run one after the other, each in a session of its own; what they
print is passed on as it comes.  The last line is "N passed, N failed", with
", N skipped" when there are any, and the exit status is 1 if anything failed
or nothing ran.

A program that exits non-zero without having reported a failure, is ended by a
signal, takes too long, prints no plan or not as many results as its plan says,
counts as a failure of its own.  A skipped test is never a passed one.  "not ok"
with a TODO is an expected failure and counts as skipped.

A program may ask for more time by a line "# tap-timeout: SECONDS" among its
first output.  Several plans in one program (cmocka prints one a group) add up.
"""

import argparse
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import time

PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*(skip\S*)\b.*)?$", re.I)
RESULT = re.compile(r"(not )?ok\b(.*)$")
DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)", re.I)
TIMEOUT = re.compile(r"#\s*tap-timeout:\s*(\d+)\s*$")

GRACE = 10      # seconds between asking a late program to end and making it
PR_SET_CHILD_SUBREAPER = 36     # <linux/prctl.h>


class Tally:
    """What one program reported."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.planned = None
        self.bailed = False
        self.timeout = None
        self.failures = []

    def line(self, text):
        text = text.rstrip()
        if match := PLAN.match(text):
            self.planned = (self.planned or 0) + int(match[1])
            if match[2] and match[1] == "0":
                self.planned += 1
                self.skipped += 1
        elif match := RESULT.match(text):
            directive = DIRECTIVE.search(match[2])
            word = directive[1].lower() if directive else ""
            # cmocka writes "not ok N # SKIP": what was skipped did not fail.
            if word == "skip" or (word == "todo" and match[1]):
                self.skipped += 1
            elif match[1]:
                self.fail(match[2].strip())
            else:
                self.passed += 1
        elif text.startswith("Bail out!"):
            self.bailed = True
        elif match := TIMEOUT.match(text):
            self.timeout = int(match[1])

    def fail(self, what):
        self.failed += 1
        self.failures.append(what)

    def finish(self, status, late):
        """Judges how the program ended; to be called once, after its last line."""
        results = self.passed + self.failed + self.skipped
        if late:
            self.fail(f"took longer than {late} s")
        elif status < 0:
            self.fail(f"ended by {signal.Signals(-status).name}")
        elif self.bailed:
            self.fail("bailed out")
        elif self.planned is None:
            self.fail(f"no plan (exit status {status})")
        elif results != self.planned:
            self.fail(f"{results} results where {self.planned} were planned")
        elif status and not self.failed:
            self.fail(f"exit status {status}")


def alive(process):
    """Whether the program, or anything it started in its process group, still runs."""
    try:
        # Orphans come to us (see main) and would count as alive until they are reaped.
        while process.poll() is not None and os.waitpid(-process.pid, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def end(process):
    """Ends the program's process group: first asked, so that it can tidy up."""
    for sig in signal.SIGTERM, signal.SIGKILL:
        deadline = time.monotonic() + GRACE
        while alive(process) and time.monotonic() < deadline:
            if sig:
                os.killpg(process.pid, sig)
                os.killpg(process.pid, signal.SIGCONT)      # it may have been stopped
                sig = None
            time.sleep(0.05)


def follow(process, tally, seconds):
    """Passes the program's output on; returns the time limit if it was exceeded."""
    started = time.monotonic()
    pipe = process.stdout.fileno()
    selector = selectors.DefaultSelector()
    selector.register(pipe, selectors.EVENT_READ)
    late = eof = None
    rest = b""
    while True:
        ended = process.poll() is not None
        limit = tally.timeout or seconds
        if not ended and time.monotonic() - started > limit:
            late = limit
            end(process)
            ended = True
        if eof or not selector.select(0 if ended else 0.2):
            # A child that lives on may hold the pipe: the program's own end counts.
            if ended:
                break
            if eof:
                time.sleep(0.05)
            continue
        data = os.read(pipe, 65536)
        eof = not data
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            tally.line(line.decode(errors="replace"))
    if rest:
        tally.line(rest.decode(errors="replace"))
        print(flush=True)
    return late


def run(program, seconds):
    tally = Tally()
    try:
        # stderr is passed on unread: its lines could come in the middle of a line of TAP.
        process = subprocess.Popen([os.path.abspath(program)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=sys.stdout.fileno(),
                                   start_new_session=True)
    except OSError as error:
        tally.fail(f"cannot be run: {error.strerror}")
        return tally
    try:
        late = follow(process, tally, seconds)
        if not late and alive(process):
            print("# left processes behind; they are ended now", flush=True)
    finally:
        end(process)
    tally.finish(process.returncode, late)
    return tally


def main():
    parser = argparse.ArgumentParser(description="Run TAP programs and sum up.")
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS")
    parser.add_argument("--summary", metavar="FILE", help="write the last line here, too")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    args = parser.parse_args()

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.environ["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    passed = failed = skipped = 0
    failures = []
    for program in args.programs:
        name = os.path.relpath(program)
        print(f"\n== {name}", flush=True)
        started = time.monotonic()
        tally = run(program, args.timeout)
        print(f"-- {name}: {time.monotonic() - started:.1f} s", flush=True)
        passed += tally.passed
        failed += tally.failed
        skipped += tally.skipped
        failures += [f"{name}: {what}" for what in tally.failures]

    print()
    for failure in failures:
        print("FAILED", failure)
    summary = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
    if args.summary:
        with open(args.summary, "w", encoding="ascii") as file:
            print(summary, file=file)
    print(summary, flush=True)
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    sys.exit(main())
