# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What the integration tests share: starting programs on the simulated runtime, with
and without aclguard, reading its reports, and printing TAP.

A test is a function; it passes if it returns and fails with the message of the
exception it raises.  What it started and did not await is ended with the test program.
"""

import atexit
import concurrent.futures
import contextlib
import ctypes
import itertools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build"))
ACLGUARD = os.environ.get("ACLGUARD") or os.path.join(BUILD, "aclguard")
CC = (os.environ.get("CC") or "cc").split()

PATIENCE = 180      # seconds for what should take one or two, on a machine with much to do
PR_SET_CHILD_SUBREAPER = 36     # <linux/prctl.h>

# src/exits.h
USAGE, OUTPUT, NO_SYMBOLS, PRIVILEGE, KERNEL, LOCKDOWN = 64, 118, 119, 120, 121, 122
NO_PROCESS, NO_LIBRARY, FAILED, CANNOT_EXEC, NOT_FOUND = 123, 124, 125, 126, 127

_numbers = itertools.count(1)
_scratch = tempfile.mkdtemp(prefix="aclguard-test-")


class Failure(Exception):
    """The test found something wrong."""


class Skipped(Exception):
    """The test cannot be done here."""


def expect(good, *words):
    if not good:
        raise Failure(" ".join(str(word) for word in words))


def expect_equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: got {got!r}, expected {wanted!r}")


# ---- TAP ----------------------------------------------------------------------

def _explain(text):
    for line in str(text).splitlines():
        print("#   " + line.encode("ascii", "backslashreplace").decode())


def alone(test):
    """Marks a test that must not run beside others: it runs Python between fork and exec."""
    test.alone = True
    return test


def _attempt(test, probes):
    """Gives the result as TAP has it, what follows the name, and what to explain."""
    try:
        expect(not probes or os.geteuid() == 0,
               "probes need root; SKIP_BPF=1 skips these tests")
        test()
    except Skipped as reason:
        return "ok", f" # SKIP {reason}", ""
    except Failure as failure:
        return "not ok", "", str(failure)
    except (OSError, ValueError, LookupError, TypeError,
            subprocess.SubprocessError) as error:
        line = error.__traceback__.tb_next.tb_lineno
        return "not ok", "", f"{type(error).__name__} in line {line}\n{error}"
    return "ok", "", ""


def run_tests(tests, seconds=900, probes=True):
    """Runs [(name, function)] and exits.  With probes, it needs root and BPF, or fails.

    Two at a time: most of a test is the kernel checking the BPF programs, on one CPU.
    """
    print(f"# tap-timeout: {seconds}")
    if probes and os.environ.get("SKIP_BPF") == "1":
        print("1..0 # SKIP probes need root and BPF (SKIP_BPF=1)")
        sys.exit(0)
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = [None if hasattr(test, "alone") else pool.submit(_attempt, test, probes)
                   for _, test in tests]
        for n, (name, test) in enumerate(tests, 1):
            if not results[n - 1]:
                concurrent.futures.wait(filter(None, results))
            result, skip, why = results[n - 1].result() if results[n - 1] else _attempt(test, probes)
            failed += result != "ok"
            _explain(why)
            print(f"{result} {n} - {name}{skip}", flush=True)
    sys.exit(failed != 0)


def titled(*functions):
    """Functions as tests, named by the first line of what they say of themselves."""
    return [(f.__doc__.strip().splitlines()[0].rstrip("."), f) for f in functions]


# ---- files and processes --------------------------------------------------------

def scratch(name):
    """A path for a file of this test program."""
    return os.path.join(_scratch, f"{next(_numbers)}-{name}")


def _children():
    with contextlib.suppress(OSError):
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as f:
            return [int(pid) for pid in f.read().split()]
    return []


@atexit.register
def _tidy():
    # Orphans come to us, so these are all that we started and that still is.
    deadline = time.monotonic() + 10
    while (pids := _children()) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    shutil.rmtree(_scratch, ignore_errors=True)


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_until(condition, what, seconds=PATIENCE):
    """Gives the first true value of condition()."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        expect(time.monotonic() < deadline, f"not within {seconds} s: {what}")
        time.sleep(0.01)
    return value


def compile_c(source, *args):
    """Compiles a C file (of this folder, or any by its path); gives the result's path."""
    path = os.path.join(HERE, source)
    out = scratch(os.path.basename(source)[:-2])
    done = subprocess.run([*CC, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", out, path, *args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    expect(done.returncode == 0, f"cannot compile {source}:", done.stdout.decode())
    return out


def runtime(shape):
    """The folder of the simulated runtime in this shape."""
    return os.path.join(BUILD, "sim", shape)


def scenario(name, shape="mono"):
    return os.path.join(BUILD, "scenarios", "acl_rt" if shape == "split" else "ascendcl", name)


def environment(shape="mono", race=None, env=None):
    """That of a program on the simulated runtime."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("ACLSIM_", "ACLGUARD_"))}
    clean["LD_LIBRARY_PATH"] = runtime(shape)
    if race:
        clean["ACLSIM_RACE"] = race
    clean.update(env or {})
    return clean


def start(command, shape="mono", race=None, env=None, **popen):
    popen.setdefault("stdin", subprocess.DEVNULL)
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([str(word) for word in command],
                            env=environment(shape, race, env), **popen)


class Ended:
    """A program that has ended: status as of subprocess, its output as bytes."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out or b"", err or b""
        self.reports = None

    def said(self):
        return f"status {self.status}\nstdout: {self.out.decode(errors='replace')}\n" \
               f"stderr: {self.err.decode(errors='replace')}"

    def lines(self):
        """What scenarios printed: one object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind, pid=None):
        """The reports of a type, of one process if given."""
        return [r for r in self.reports if r["type"] == kind and pid in (None, r.get("pid"))]

    def summary(self):
        summaries = self.of("summary")
        expect(len(summaries) == 1 and self.reports[-1] is summaries[0],
               "not one summary at the end of the report:", [r["type"] for r in self.reports])
        return summaries[0]


def finish(process, data=None, timeout=PATIENCE):
    """Awaits a program, or ends it and fails."""
    try:
        out, err = process.communicate(data, timeout)
    except subprocess.TimeoutExpired as late:
        process.kill()
        process.wait()
        raise Failure(f"took longer than {timeout} s: {process.args}\n"
                      f"{Ended('none', late.stdout, late.stderr).said()}") from None
    return Ended(process.returncode, out, err)


def run(command, shape="mono", race=None, env=None, data=None, timeout=PATIENCE, **popen):
    if data is not None:
        popen["stdin"] = subprocess.PIPE
    return finish(start(command, shape, race, env, **popen), data, timeout)


def reports_of(path):
    """Every line is a JSON object of its own, whole."""
    with contextlib.suppress(FileNotFoundError):
        with open(path, "rb") as f:
            text = f.read()
        lines = text.split(b"\n")
        expect(lines.pop() == b"", "the report does not end with a newline")
        reports = [json.loads(line.decode("utf-8")) for line in lines]
        expect(all(isinstance(r, dict) for r in reports), "a report is no object")
        return reports
    return []


def guarded_command(command, options=()):
    return [ACLGUARD, "run", *options, "--", *command]


def guarded(command, options=(), **how):
    """`aclguard run --json` of a command; the reports go to a file of their own."""
    path = scratch("report")
    ended = run(guarded_command(command, ["--json", "--output", path, *options]), **how)
    ended.reports = reports_of(path)
    return ended


def is_alive(pid):
    """Runs, and is no zombie."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[0] != b"Z"
    return False


def sh(*commands):
    """A shell that runs one command after the other."""
    return ["sh", "-c", "; ".join(" ".join(str(word) for word in c) for c in commands)]


def mentions(text, *patterns):
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    for pattern in patterns:
        expect(re.search(pattern, text, re.I | re.S), f"no /{pattern}/ in:\n{text}")
