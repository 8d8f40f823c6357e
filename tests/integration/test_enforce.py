#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Enforcement: the signal comes before the call does its work, for whom it is meant, and for
nobody else.  That a body has not run, the simulated runtime proves: its counters are in a file
that outlives the program and can be read while it is stopped."""

import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import test_watch
import world
from test_refusals import become_nobody, open_folder
from test_watch import Steps, Watch
from world import expect, expect_equal

RULE = "free-before-destroy"
OLDER = {"ACLGUARD_NO_UPROBE_MULTI": "1"}
# First instructions: see tests/sim/sim.mk.
FIRST = ["mono-push", "mono-endbrpush", "mono-sub", "mono-jmp"]
SHAPES = [*FIRST, "mono", "split", "both", "mono-endbr", "mono-mov", "mono-nop", "mono-call"]
SIGNALS = {"stop": signal.SIGSTOP, "abort": signal.SIGABRT, "term": signal.SIGTERM,
           "kill": signal.SIGKILL}


def enforce(action, *more):
    return [f"--enforce={RULE}={action}", *more]


# ---- what programs did ------------------------------------------------------------

def count_of(data, call):
    for at in range(0, len(data), 64):
        if data[at:at + 56].rstrip(b"\0").decode() == call:
            return struct.unpack_from("=Q", data, at + 56)[0]
    raise world.Failure(f"no count of {call}")


class Counts:
    """The runtime's own, of the bodies that were entered."""

    def __init__(self):
        self.path = world.scratch("counts")
        self.env = {"ACLSIM_COUNTS_LIVE": self.path}

    def of(self, call):
        with open(self.path, "rb") as f:
            return count_of(f.read(), call)

    def frees(self):
        return self.of("aclrtFreeHost")


class Culprit(Steps):
    """A program that does the wrong order when told to, with its counts."""

    def __init__(self, shape="mono", **how):
        self.shape = shape
        self.counts = Counts()
        super().__init__(shape, env={**self.counts.env, **how.pop("env", {})}, **how)

    def tell(self, letter):
        """Without awaiting the answer."""
        os.write(self.process.stdin.fileno(), letter.encode())

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)


def state_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[0].decode()
    return None


def wait_stopped(pid, counts=None):
    """With counts, not before it has polled: `run` stops a program for a moment as it loads."""
    def is_stopped():
        return state_of(pid) == "T" and (not counts or os.path.exists(counts.path) and
                                         counts.of("aclrtQueryEventStatus"))
    world.wait_until(is_stopped, f"process {pid} stops")


def place_of(pid):
    """Where a stopped process is, as the kernel has it."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
        number, _, counter = f.read().split()
    expect_equal(number, "-1", "system call of a process that is stopped at a call")
    return int(counter, 16)


def module_of(pid, address):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            start, end = (int(n, 16) for n in line.split()[0].split("-"))
            if start <= address < end:
                return line.split()[-1]
    return None


def actions(ended, pid=None):
    """(action, outcome) of each violation."""
    return [(v["enforcement"]["action"], v["enforcement"]["outcome"])
            for v in ended.of("violation", pid) if v["enforcement"]]


def outcomes(ended):
    """How often each, by the summary."""
    return {a["outcome"]: a["count"] for a in ended.summary()["enforcement"]["actions"]}


def watching(culprits, *options, env=None):
    watch = Watch("-p", ",".join(str(c.pid) for c in culprits), *options, env=env)
    for culprit in culprits:
        watch.wait_for(f"attached to process {culprit.pid}\\b")
    return watch


# ---- before the body ----------------------------------------------------------------

def ended_by(culprit, sig):
    ended = world.finish(culprit.process)
    expect_equal(ended.status, -sig, f"end of {culprit.shape}")
    expect_equal(culprit.counts.frees(), 0, f"{culprit.shape}: bodies that ran")


def judge_stopped(culprit):
    """Stopped in the first instructions; and then everything is as without us."""
    wait_stopped(culprit.pid)
    expect_equal(culprit.counts.frees(), 0, f"{culprit.shape}: bodies that ran")
    place = place_of(culprit.pid)
    # a call and a jump are gone along; what a nop was replaced by is the kernel's own page
    if culprit.shape not in ("split", "both", "mono-jmp", "mono-call", "mono-nop"):
        expect(0 <= place - culprit.code <= 16, f"{culprit.shape}: stopped at", hex(place),
               "and not at", hex(culprit.code))
    culprit.resume()
    expect_equal(culprit.answer(), "f", f"{culprit.shape}: answer after SIGCONT")
    expect_equal(culprit.counts.frees(), 1, f"{culprit.shape}: bodies that ran then")
    culprit.do("dcsfd")
    line = culprit.finish()
    # the first one is refused, as the race is certain; the second one is in order
    expect_equal([fact["ret"] for fact in line["frees"]], [507899, 0], f"{culprit.shape}: frees")


def test_shapes(action, shapes, env):
    """On every first instruction the body has not run."""
    culprits = [Culprit(shape) for shape in shapes]
    watch = watching(culprits, *enforce(action), env=env)
    for culprit in culprits:
        culprit.do("cq")
        culprit.tell("f")
    for culprit in culprits:
        if action == "stop":
            judge_stopped(culprit)
        else:
            ended_by(culprit, SIGNALS[action])
    ended = watch.finish()
    expect_equal(ended.status, 0, "status of aclguard")
    for culprit in culprits:
        expect_equal(actions(ended, culprit.pid), [(action, "sent")], f"{culprit.shape}: action")
    said = ended.of("violation")[0]["enforcement"]
    expect_equal((said["signal"], said["signal_number"], said["before_call"], said["evaded"]),
                 (SIGNALS[action].name, SIGNALS[action], True, None), "what was sent")
    expect_equal(outcomes(ended), {"sent": len(shapes)}, "the summary")


def test_gdb():
    """a debugger finds the stopped process at aclrtFreeHost, as the report says"""
    if not shutil.which("gdb"):
        raise world.Failure("there is no gdb: make deps installs it")
    culprit = Culprit()
    path = world.scratch("text")
    watch = world.start([world.ACLGUARD, "watch", *enforce("stop"), "--output", path, "-p",
                         str(culprit.pid)])
    test_watch.read_line(watch.stderr.fileno())
    culprit.do("cq")
    culprit.tell("f")
    wait_stopped(culprit.pid)

    def told():
        with open(path, encoding="utf-8") as f:
            return re.search(r"stopped before aclrtFreeHost ran: look with `(gdb -p \d+)' "
                             r"\(thread (\d+)\), go on with `(kill -CONT \d+)'", f.read())
    match = world.wait_until(told, "the report")
    expect_equal(int(match[2]), culprit.pid, "thread in the report")
    done = subprocess.run([*match[1].split(), "-nx", "-batch", "-iex", "set debuginfod enabled off",
                           "-ex", "backtrace"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=world.PATIENCE, check=False)
    # the return address is the kernel's, for its return probe: the callers are in the report
    world.mentions(done.stdout, r"#0 +0x\w+ in aclrtFreeHost \(hostPtr=0x\w+\)")
    expect_equal(culprit.counts.frees(), 0, "bodies that ran")
    subprocess.run(match[3].split(), check=True)
    expect_equal(culprit.answer(), "f", "answer after the command in the report")
    culprit.do("d")
    culprit.finish()
    expect_equal(world.finish(watch).status, 0, "status of aclguard")


# ---- threads and limits ---------------------------------------------------------------

LINGER = 2000       # ms that a program lives on, for its masks to be read


def culprits_command(rounds, threads, *signals):
    return [world.scenario("culprits"), rounds, threads, *signals]


def test_threads_stop():
    """all threads stop with the culprit, as often as there is one, and go on"""
    counts = Counts()
    path = world.scratch("report")
    process = world.start(world.guarded_command(
        culprits_command(1, 6), ["--json", "--output", path, *enforce("stop")]), race="certain",
        env=counts.env)
    pid = world.wait_until(lambda: child_named(process.pid, "culprits"), "the program")
    wait_stopped(pid, counts)
    expect_equal(counts.frees(), 0, "bodies that ran at the first stop")
    while process.poll() is None:
        if state_of(pid) == "T":
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)
    ended = world.finish(process)
    ended.reports = world.reports_of(path)
    expect_equal(ended.status, 0, "status")
    expect_equal(actions(ended), [("stop", "sent")] * 6, "actions")
    expect_equal((counts.frees(), len(ended.lines()[0]["frees"])), (6, 6), "frees in the end")


def test_threads_abort():
    """abort ends a program with threads before any body ran"""
    counts = Counts()
    ended = world.guarded(culprits_command(3, 6), enforce("abort"), race="certain",
                          env=counts.env)
    expect_equal((ended.status, counts.frees()), (-signal.SIGABRT, 0), "status, bodies that ran")
    expect(("abort", "sent") in actions(ended), "actions:", actions(ended))


def test_limit():
    """no more than the limit a minute, whatever the threads; what is over is told"""
    for rounds, threads, limit in (5, 1, 2), (4, 8, 3):
        ended = world.guarded(culprits_command(rounds, threads, "handle", int(signal.SIGUSR1)),
                              enforce("usr1", f"--enforce-limit={limit}"), race="impossible")
        expect_equal(ended.status, 0, "status")
        line, = ended.lines()
        expect_equal(line["handled"], limit, "signals that came")
        expect_equal(outcomes(ended), {"sent": limit, "limited": rounds * threads - limit},
                     "outcomes")
        evaded = {v["enforcement"]["evaded"] for v in ended.of("violation")
                  if v["enforcement"]["outcome"] == "sent"}
        # None: it had ended when we looked
        expect(evaded <= {"handled", None}, "how it was evaded:", evaded)


# ---- what is not acted upon -----------------------------------------------------------

def test_evaded():
    """who handles, blocks or ignores the signal goes on, and the report says so"""
    for how in "handle", "block", "ignore":
        ended = world.guarded(culprits_command(1, 1, how, int(signal.SIGTERM), LINGER),
                              enforce("term"), race="certain")
        word = {"handle": "handled", "block": "blocked", "ignore": "ignored"}[how]
        report, = ended.of("violation")
        expect_equal((report["enforcement"]["outcome"], report["enforcement"]["evaded"]),
                     ("sent", word), "the report")
        expect_equal((ended.status, len(ended.lines()[0]["frees"])), (0, 1), "what it did")
    command = culprits_command(1, 1, "block", int(signal.SIGTERM), LINGER)
    ended = world.run(world.guarded_command(command, enforce("term")), race="certain")
    world.mentions(ended.err, "action: term: SIGTERM sent before aclrtFreeHost ran",
                   "the program blocks SIGTERM: the call may still do its work; "
                   "stop and kill cannot be evaded")


def test_dry_run():
    """a dry run tells and counts, and does nothing"""
    ended = world.guarded(culprits_command(3, 1), enforce("kill", "--enforce-dry-run"),
                          race="certain")
    expect_equal((ended.status, len(ended.lines()[0]["frees"])), (0, 3), "what it did")
    expect_equal(actions(ended), [("kill", "dry-run")] * 3, "actions")
    expect_equal(outcomes(ended), {"dry-run": 3}, "the summary")


def test_report_only():
    """rules that are not named, and report, are reported only"""
    ended = world.guarded([world.scenario("pcd_order"), 1],
                          ["--enforce=double-free=kill,free-in-flight=kill",
                           f"--enforce={RULE}=report"], race="certain")
    expect_equal(ended.status, 0, "status")
    expect_equal([v["enforcement"] for v in ended.of("violation")], [None], "actions")


def test_suspected():
    """warnings and what is suspected are left alone without being asked for, one by one"""
    for options, outcome in (([], "below-level"), (["--enforce-level=warning"], "not-certain"),
                             (["--enforce-suspected"], "below-level"),
                             (["--enforce-level=warning", "--enforce-suspected"], "sent")):
        culprit = Culprit()
        culprit.do("c")
        watch = watching([culprit], *enforce("stop", *options))
        culprit.do("q")
        culprit.tell("f")
        if outcome == "sent":
            wait_stopped(culprit.pid)
            expect_equal(culprit.counts.frees(), 0, "bodies that ran")
            culprit.resume()
        expect_equal(culprit.answer(), "f", "answer")
        culprit.do("d")
        culprit.finish()
        expect_equal(actions(watch.finish()), [("stop", outcome)], f"with {options}")


def test_at_return():
    """where the verdict falls at the return, the report does not say before"""
    ended = world.guarded([world.scenario("double_free"), 1],
                          ["--enforce=double-free=SIGUSR2"], race="impossible")
    expect_equal(ended.status, -signal.SIGUSR2, "status")
    report, = ended.of("violation")
    expect_equal((report["rule"], report["enforcement"]["outcome"],
                  report["enforcement"]["before_call"]), ("double-free", "sent", False), "report")


# ---- suppressions ------------------------------------------------------------------------

def suppressions(*functions):
    """A file with one entry for the rule, for stacks that begin with these functions."""
    path = world.scratch("suppressions")
    with open(path, "w", encoding="ascii") as f:
        f.write("{\n rule " + RULE + "\n" + "".join(f" function {name}\n" for name in functions) +
                "}\n")
    return f"--suppressions={path}"


def test_suppressed():
    """what is suppressed is never acted upon, however often, and leaves the limit alone"""
    culprit = Culprit()
    watch = watching([culprit], suppressions("aclrtFreeHost", "release_buffer"),
                     *enforce("kill", "--enforce-limit=1"))
    for _ in range(3):
        culprit.do("cqfd")
    expect_equal(culprit.counts.frees(), 3, "bodies that ran")
    line = culprit.finish()
    expect_equal(len(line["frees"]), 3, "frees")
    ended = watch.finish()
    expect_equal((ended.of("violation"), outcomes(ended)), ([], {"suppressed": 3}), "reports")


def test_asked():
    """where a suppression might have matched but did not, the body has not run either"""
    for action in SIGNALS:
        culprit = Culprit("mono-push")
        watch = watching([culprit], suppressions("aclrtFreeHost", "somebody_else"),
                         *enforce(action))
        culprit.do("cq")
        culprit.tell("f")
        if action == "stop":
            judge_stopped(culprit)
        else:
            ended_by(culprit, SIGNALS[action])
        expect_equal(actions(watch.finish()), [(action, "sent")], "actions")
    ended = world.guarded(culprits_command(2, 6, "handle", int(signal.SIGUSR1)),
                          [suppressions("nobody"), *enforce("usr1", "--enforce-limit=4")],
                          race="impossible")
    line, = ended.lines()
    expect_equal((ended.status, line["handled"], len(line["frees"])), (0, 4, 12),
                 "threads: status, signals, frees")
    expect_equal(outcomes(ended), {"sent": 4, "limited": 8}, "threads: outcomes")


def asking(*options):
    """A program that waits for the decision of an aclguard that is held up itself."""
    culprit = Culprit()
    watch = watching([culprit], *options)
    culprit.do("cq")
    watch.process.send_signal(signal.SIGSTOP)
    wait_stopped(watch.process.pid)
    culprit.tell("f")
    wait_stopped(culprit.pid)
    expect_equal(culprit.counts.frees(), 0, "bodies that ran while it waits")
    return culprit, watch


def test_asked_of_the_dead():
    """who waits for the decision of an aclguard that is killed goes on"""
    culprit, watch = asking(suppressions("nobody"), *enforce("kill"))
    watch.process.kill()
    watch.process.wait()
    expect_equal(culprit.answer(), "f", "answer")
    culprit.do("d")
    culprit.finish()
    watch.process.stdout.close()
    watch.process.stderr.close()


def test_asked_of_the_stopped():
    """who waits for the decision of an aclguard that is stopped goes on after 2 s; it is told"""
    for action in "kill", "stop":
        culprit, watch = asking(suppressions("nobody"), *enforce(action))
        started = time.monotonic()
        expect_equal(culprit.answer(), "f", "answer")
        expect(1 < time.monotonic() - started < 10, "it waited", time.monotonic() - started)
        # the next one is another matter, though the first one is not decided yet
        culprit.do("dcq")
        culprit.tell("f")
        wait_stopped(culprit.pid)
        watch.process.send_signal(signal.SIGCONT)
        if action == "stop":
            watch.wait_for("is stopped in thread")
            culprit.resume()
            expect_equal(culprit.answer(), "f", "answer in the end")
            culprit.do("d")
            culprit.finish()
        else:
            expect_equal(world.finish(culprit.process).status, -signal.SIGKILL, "end")
        ended = watch.finish()
        expect_equal(actions(ended), [(action, "undecided"), (action, "sent")], "actions")
        expect_equal(outcomes(ended), {"undecided": 1, "sent": 1}, "outcomes")
        expect_equal(culprit.counts.frees(), 1 + (action == "stop"), "bodies that ran")


def test_suppressed_dry_run():
    """a dry run leaves the limit alone where a real run would"""
    culprit = Culprit()
    watch = watching([culprit], suppressions("aclrtFreeHost", "release_buffer"),
                     *enforce("kill", "--enforce-limit=1", "--enforce-dry-run"))
    culprit.do("cqfd" * 3)
    culprit.finish()
    expect_equal(outcomes(watch.finish()), {"suppressed": 3}, "outcomes")
    ended = world.guarded(culprits_command(3, 1), [
        suppressions("nobody"), *enforce("kill", "--enforce-limit=1", "--enforce-dry-run")])
    expect_equal(outcomes(ended), {"dry-run": 1, "limited": 2}, "outcomes where none matches")


def test_another_stop():
    """a stop that somebody else has sent meanwhile is not lifted"""
    culprit, watch = asking(suppressions("aclrtFreeHost"), *enforce("kill"))
    os.kill(culprit.pid, signal.SIGTSTP)
    watch.process.send_signal(signal.SIGCONT)
    time.sleep(1)
    expect_equal((state_of(culprit.pid), culprit.counts.frees()), ("T", 0), "who is stopped")
    culprit.resume()
    expect_equal(culprit.answer(), "f", "answer")
    culprit.do("d")
    culprit.finish()
    expect_equal(outcomes(watch.finish()), {"suppressed": 1}, "outcomes")


# ---- scope ------------------------------------------------------------------------------

def renamed(name):
    path = os.path.join(os.path.dirname(world.scratch("x")), name)
    shutil.copy(world.scenario("steps"), path)
    return path


def test_scope():
    """with --all and a filter, who is not wanted is not touched"""
    ours, other = f"enforced{os.getpid() % 10000}", f"spared{os.getpid() % 10000}"
    watch = Watch("--all", f"--comm={ours}", *enforce("kill"))
    watch.wait_for("watching all processes")
    wanted, spared = (Culprit(program=renamed(name)) for name in (ours, other))
    spared.do("cqfd")
    # until it is known that it is wanted, and its buffers are younger than the probes
    frees = 0
    while wanted.process.poll() is None and frees < 100:
        with contextlib.suppress(BrokenPipeError, world.Failure):
            wanted.do("cqfd")
            frees += 1
            time.sleep(0.1)
    expect_equal(world.finish(wanted.process).status, -signal.SIGKILL, "end of who is wanted")
    expect_equal(wanted.counts.frees(), frees, "bodies that ran")
    spared.do("cqfd")
    spared.finish()
    ended = watch.stop()
    expect_equal((actions(ended)[-1], outcomes(ended)["sent"]), (("kill", "sent"), 1), "actions")
    expect_equal(ended.of("violation", spared.pid), [], "reports of the other")


def test_refusals():
    """what would not be done, or too much, is refused with what to do"""
    bad = [
        (["watch", "--all", *enforce("stop")], "--enforce-all"),
        (["run", "--enforce=event-leak=stop", "--", "true"], "event-leak is a note"),
        (["run", "--enforce=free-after-event-sync=stop", "--", "true"], "is a note"),
        (["run", "--enforce=free-after-stream-query=stop", "--", "true"],
         "--enforce-level=warning"),
        (["run", "--rule=double-free", *enforce("stop"), "--", "true"], "--rule leaves it out"),
        (["run", "--enforce=no-such=stop", "--", "true"], "unknown rule 'no-such'"),
        (["run", *enforce("halt"), "--", "true"], "unknown action 'halt'"),
        (["run", *enforce("33"), "--", "true"], "unknown action '33'"),
        (["run", "--enforce=stop", "--", "true"], "RULE=ACTION"),
        (["run", *enforce("stop", "--enforce-limit=0"), "--", "true"], "1 to 1000"),
        (["run", *enforce("stop", "--enforce-level=note"), "--", "true"], "error or warning"),
        (["run", "--enforce=", "--", "true"], "RULE=ACTION, not ''"),
        (["run", *enforce("stop,"), "--", "true"], "RULE=ACTION, not ''"),
        (["run", *enforce("stop"), *enforce("kill"), "--", "true"], "twice"),
        (["run", *enforce(f"report,{RULE}=kill"), "--", "true"], "twice"),
        (["run", *enforce("stop", "--enforce-all"), "--", "true"], "without --all"),
        (["run", "--control=/nowhere", "--", "true"], "--control has nothing to switch"),
        (["run", *enforce("report", "--enforce-limit=2"), "--", "true"], "another action"),
        *((["run", option, "--", "true"], option.partition("=")[0] + " has no effect")
          for option in ("--enforce-limit=2", "--enforce-dry-run", "--enforce-level=error",
                         "--enforce-suspected", "--enforce-all")),
        (["replay", *enforce("stop"), "file"], "nothing to act on"),
        (["control", "/nowhere"], "a command"),
    ]
    for words, why in bad:
        ended = world.run([world.ACLGUARD, *words])
        expect_equal(ended.status, world.USAGE, f"status of {words}")
        world.mentions(ended.err, re.escape(why))


# ---- pid 1 of a namespace -----------------------------------------------------------------

def test_namespace_init():
    """the first process of a pid namespace is stopped and killed; of others the report tells"""
    command = ["unshare", "--pid", "--fork", world.scenario("culprits"), 1, 1]
    counts = Counts()
    ended = world.guarded(command, enforce("kill"), race="certain", env=counts.env)
    expect((ended.status, counts.frees()) != (0, 0) and not counts.frees(), "killed:", ended.said())
    expect_equal(actions(ended), [("kill", "sent")], "killed: actions")

    ended = world.guarded([*command, "default", 0, LINGER], enforce("abort"), race="certain")
    report, = ended.of("violation")
    expect_equal((ended.status, report["ns_pid"], report["enforcement"]["evaded"]),
                 (0, 1, "namespace-init"), "aborted: status, pid, report")

    counts = Counts()
    path = world.scratch("report")
    process = world.start(world.guarded_command(
        command, ["--json", "--output", path, *enforce("stop")]), race="certain", env=counts.env)
    pid = world.wait_until(lambda: child_named(process.pid, "culprits"), "the program")
    wait_stopped(pid, counts)
    expect_equal(counts.frees(), 0, "stopped: bodies that ran")
    os.kill(pid, signal.SIGCONT)
    expect_equal(world.finish(process).status, 0, "stopped: status")


# ---- the switch -----------------------------------------------------------------------------

def ask(path, *words):
    ended = world.run([world.ACLGUARD, "control", path, *words])
    return ended.status, (ended.out or ended.err).decode().strip()


def test_switch():
    """off and on by the socket and by signals, at once, without detaching"""
    culprit = Culprit()
    path = world.scratch("socket")
    watch = watching([culprit], *enforce("stop"), f"--control={path}")
    expect_equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the socket")
    expect_equal(ask(path, "status"), (0, "ok enforcing, 0 stopped"), "status")
    for _ in range(2):      # which the report tells once
        expect_equal(ask(path, "observe"), (0, "ok observing, 0 stopped"), "switched off")
    culprit.do("cqfd")
    expect_equal(ask(path, "enforce"), (0, "ok enforcing, 0 stopped, switched-off 1"),
                 "switched on")
    culprit.do("cq")
    culprit.tell("f")
    wait_stopped(culprit.pid)
    world.wait_until(lambda: ask(path, "status") ==
                     (0, "ok enforcing, 1 stopped, sent 1, switched-off 1"), "status")
    watch.process.send_signal(signal.SIGUSR1)
    world.wait_until(lambda: ask(path, "status")[1].startswith("ok observing"), "SIGUSR1")
    expect_equal(state_of(culprit.pid), "T", "state of who was stopped before")
    culprit.resume()
    expect_equal(culprit.answer(), "f", "answer")
    culprit.do("dcqfd")
    watch.process.send_signal(signal.SIGUSR2)
    world.wait_until(lambda: ask(path, "status")[1].startswith("ok enforcing"), "SIGUSR2")
    status, said = ask(path, "explode")
    expect_equal(status, world.FAILED, "status of an unknown command")
    world.mentions(said, "unknown command")
    culprit.finish()
    ended = watch.finish()
    expect_equal(outcomes(ended), {"sent": 1, "switched-off": 2}, "outcomes")
    expect_equal([(r["observing"], r["by"]) for r in ended.of("enforcement")],
                 [(True, "the control socket"), (False, "the control socket"),
                  (True, "SIGUSR1"), (False, "SIGUSR2")], "switches in the report")
    expect(not os.path.exists(path), "the socket is left behind")
    expect_equal(ask(path, "status")[0], world.FAILED, "status without anybody to ask")


def connect_to(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.settimeout(world.PATIENCE)
    return client


def told(client):
    """All that it is told until it is dropped."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while more := client.recv(4096):
            answer += more
    return answer


def test_control_clients():
    """clients that are silent, many or rude hold up nothing; only an abandoned socket is taken"""
    path = world.scratch("socket")
    with open(path, "w", encoding="ascii") as f:
        f.write("mine\n")
    ended = world.run(world.guarded_command(["true"], [*enforce("stop"), f"--control={path}"]))
    expect_equal(ended.status, world.FAILED, "status where a file is in the way")
    world.mentions(ended.err, "there is something else")
    os.unlink(path)
    left = socket.socket(socket.AF_UNIX)
    left.bind(path)
    left.close()
    process = world.start(world.guarded_command(
        ["sleep", 100], [*enforce("stop"), f"--control={path}"]))
    world.wait_until(lambda: ask(path, "status")[0] == 0, "an answer")
    crowd = [connect_to(path) for _ in range(20)]
    expect_equal(ask(path, "status")[0], 0, "status while others are silent")
    with contextlib.suppress(OSError):
        crowd[-1].sendall(b"x" * 100000)
    client = connect_to(path)
    client.sendall(b"stat")
    client.sendall(b"us\nstatus\nstatus\0junk\n")
    expect_equal([line.split()[0] for line in told(client).splitlines()],
                 [b"ok", b"ok", b"error"], "answers until it is silent for too long")
    expect_equal([told(c) for c in crowd], [b""] * len(crowd), "answers to the silent")
    ours = os.path.join(open_folder(world.ACLGUARD), "aclguard")
    os.chmod(path, 0o666)
    ended = world.run([ours, "control", path, "observe"], preexec_fn=become_nobody, cwd="/")
    expect_equal((ended.status, ended.err), (world.FAILED, b"aclguard: error not permitted\n"),
                 "another user")
    second = world.run(world.guarded_command(["true"], [*enforce("stop"), f"--control={path}"]))
    world.mentions(second.err, "another aclguard listens there")
    for client in crowd:
        client.close()
    world.wait_until(lambda: ask(path, "status")[0] == 0, "an answer after the crowd")
    process.send_signal(signal.SIGTERM)
    world.finish(process)
    expect(not os.path.exists(path), "the socket is left behind")


# ---- run, and the end -------------------------------------------------------------------------

def child_named(pid, name):
    """A descendant of that name."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            for child in map(int, f.read().split()):
                with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                    if comm.read().strip() == name:
                        return child
                if found := child_named(child, name):
                    return found
    return None


def stopped_run(counts, *options):
    process = world.start(world.guarded_command(culprits_command(1, 1), [*enforce("stop"),
                                                                         *options]),
                          race="certain", env=counts.env)
    pid = world.wait_until(lambda: child_named(process.pid, "culprits"), "the program")
    wait_stopped(pid, counts)
    expect_equal(counts.frees(), 0, "bodies that ran")
    return process, pid


def test_run():
    """run waits for who continues the program, and ends as that does"""
    counts = Counts()
    process, pid = stopped_run(counts)
    time.sleep(1.2)                         # longer than aclguard looks after its own stops
    expect_equal((state_of(pid), process.poll(), counts.frees()), ("T", None, 0),
                 "program, aclguard, bodies")
    os.kill(pid, signal.SIGCONT)
    ended = world.finish(process)
    expect_equal(ended.status, 0, "status")
    line, = ended.lines()
    expect_equal([fact["ret"] for fact in line["frees"]], [507899], "the free")
    world.mentions(ended.err, f"look with `gdb -p {pid}'", "enforcement: .*=stop: 1 sent")


def copies(n):
    """Files of the library that nobody has mapped yet."""
    folder = world.scratch("copies")
    for i in range(n):
        os.makedirs(f"{folder}/{i}")
        shutil.copy(os.path.join(world.runtime("mono"), "libascendcl.so"), f"{folder}/{i}")
    return [f"{folder}/{i}/libascendcl.so" for i in range(n)]


def test_loader_stops():
    """the short stops of `run` as libraries are loaded do not lift one that is to stay"""
    rounds, counts, path = 15, Counts(), world.scratch("report")
    process = world.start(world.guarded_command(
        [world.scenario("reload"), rounds, *copies(2 * rounds)],
        ["--json", "--no-fold", "--output", path, *enforce("stop", "--enforce-limit=1000")]),
        race="certain", env=counts.env)
    pid = world.wait_until(lambda: child_named(process.pid, "reload"), "the program")
    for n in range(rounds):
        world.wait_until(lambda: len([r for r in world.reports_of(path)
                                      if r["type"] == "violation"]) > n, f"report {n + 1}")
        wait_stopped(pid, counts)
        time.sleep(0.1)
        expect_equal((state_of(pid), counts.frees()), ("T", n), f"stop {n + 1}: state, bodies")
        os.kill(pid, signal.SIGCONT)
    ended = world.finish(process)
    ended.reports = world.reports_of(path)
    expect_equal((ended.status, counts.frees()), (0, rounds), "status, bodies in the end")
    expect_equal(actions(ended), [("stop", "sent")] * rounds, "actions")


def test_run_ends():
    """told twice to end, run leaves the program stopped; so it does when it is killed"""
    counts = Counts()
    process, pid = stopped_run(counts)
    process.send_signal(signal.SIGINT)
    said = b""
    while b"once more" not in said:
        said += os.read(process.stderr.fileno(), 65536)
    expect_equal(state_of(pid), "T", "after the first one")
    process.send_signal(signal.SIGINT)
    process.wait(world.PATIENCE)
    expect_equal(process.returncode, 115, "status")
    still_stopped(pid, counts)
    process.stdout.close()
    process.stderr.close()

    counts = Counts()
    process, pid = stopped_run(counts)
    process.kill()
    process.wait()
    still_stopped(pid, counts)
    process.stdout.close()
    process.stderr.close()


def still_stopped(pid, counts):
    time.sleep(0.5)
    expect_equal((state_of(pid), counts.frees()), ("T", 0), "who is left")
    os.kill(pid, signal.SIGKILL)


def test_watch_ends():
    """watch leaves stopped what it stopped, and its end lets nothing run"""
    culprit = Culprit()
    watch = watching([culprit], *enforce("stop"))
    culprit.do("cq")
    culprit.tell("f")
    wait_stopped(culprit.pid)
    ended = watch.stop()
    expect_equal(ended.status, 0, "status")
    expect_equal((state_of(culprit.pid), culprit.counts.frees()), ("T", 0), "who is left")
    culprit.resume()
    expect_equal(culprit.answer(), "f", "answer")
    culprit.do("d")
    culprit.finish()


def all_tests():
    tests = [(f"{action}: the body has not run, whatever the first instruction, {how}",
              functools.partial(test_shapes, action, shapes, env))
             for how, env, shapes, chosen in (("uprobe_multi", None, SHAPES, ["stop"]),
                                              ("uprobe_multi", None, FIRST, [*SIGNALS][1:]),
                                              ("perf events", OLDER, FIRST, ["stop"]),
                                              ("perf events", OLDER, FIRST[:1], ["abort"]))
             for action in chosen]
    return tests + world.titled(
        test_gdb, test_threads_stop, test_threads_abort, test_limit, test_evaded, test_dry_run,
        test_suppressed, test_asked, test_asked_of_the_dead,
        test_asked_of_the_stopped, test_suppressed_dry_run, test_another_stop,
        test_report_only, test_suspected, test_at_return, test_scope, test_refusals,
        test_namespace_init, test_switch, test_control_clients, test_run, test_loader_stops,
        test_run_ends,
        test_watch_ends)


if __name__ == "__main__":
    world.run_tests(all_tests())
