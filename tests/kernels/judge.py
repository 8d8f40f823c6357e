# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Judges what a machine sent: the same programs, and the same verdicts, as in
tests/integration/test_verdicts.py, and what else can be said of a kernel."""

import functools
import importlib.machinery
import importlib.util
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
INTEGRATION = os.path.join(os.path.dirname(HERE), "integration")
sys.path.insert(0, INTEGRATION)

import test_enforce                 # noqa: E402 pylint: disable=wrong-import-position
import test_verdicts as table       # noqa: E402 pylint: disable=wrong-import-position
import world                        # noqa: E402 pylint: disable=wrong-import-position
from world import expect, expect_equal  # noqa: E402 pylint: disable=wrong-import-position


def _load(name):
    """A test program without a suffix, as a module."""
    path = os.path.join(INTEGRATION, name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


record_replay = _load("record_replay")

# The emulation is slow.  More threads than processors: probes are preempted, too.
ARGUMENTS = {"hammer": [4, 600]}
# What breaks a rule when the race is lost has a verdict of its own then.
RACES = {"event_sync_free": "impossible"}
ENFORCED_SHAPES = "push", "endbrpush", "sub", "jmp"
# What each of its programs is to come to: exit status as a shell has it, action, bodies.
ENFORCED = {"pcd_order": (137, "kill"), "free_in_flight": (134, "abort"),
            "stream_query_free": (0, "stop")}
# Kernel's own words for something gone wrong.
TROUBLE = re.compile(r"WARNING:|BUG:|Oops|Call [Tt]race|general protection|RIP:|segfault|"
                     r"stall|hung task|Unable to handle|lockdep")


def race_of(name):
    return RACES.get(name, "certain" if name in table.EXPECTED else "impossible")


def plan():
    """The programs, for the machine's init."""
    lines = []
    for name in (*table.EXPECTED, *table.MISUSED, *table.LEAKING):
        words = ARGUMENTS.get(name) or (table.EXPECTED.get(name) or {}).get("args", [])
        lines.append(" ".join(map(str, (race_of(name), name, *words))) + "\n")
    return "".join(lines)


class Sent:
    """The files that came, as the integration tests know the end of a program."""

    def __init__(self, console):
        self.console = console

    def ended(self, status, out, err, reports):
        word = self.console.file(status).strip()
        ended = world.Ended(int(word) if word else None, self.console.files.get(out),
                            self.console.files.get(err))
        ended.reports = reports_in(self.console.files.get(reports, b""))
        return ended

    @functools.cached_property
    def live(self):
        return self.ended("record.status", "programs", "programs.err", "reports")

    @functools.cached_property
    def watch(self):
        return self.ended("watch.status", "steps", "watch.err", "watch")

    @functools.cached_property
    def features(self):
        return dict(line.split() for line in self.console.file("features").splitlines()
                    if len(line.split()) == 2)

    def ways(self):
        """How the two ways of starting attached: record and run, watch."""
        return [sorted({lib["attached_by"] for lib in ended.summary()["libraries"]})
                for ended in (self.live, self.watch)]


def reports_in(text):
    return [json.loads(line) for line in text.decode("utf-8").splitlines()]


# ---- the tests ------------------------------------------------------------------

def test_scenario(sent, name):
    table.judge(sent.live, name, race_of(name), table.wanted_of(name, strict=True))


def test_misused(sent, name):
    table.judge_misused(sent.live, name)


def test_leaking(sent, name):
    table.judge_leaking(sent.live, name)


def test_programs(sent):
    """the programs end well, and so does aclguard record"""
    expect_equal(sent.live.status, 0, "status of aclguard record")
    expect_equal(sent.console.file("programs.err"), "", "what the programs complain of")


def test_summary(sent):
    """everything is counted, and nothing was lost"""
    summary = sent.live.summary()
    expect_equal(summary["processes"],
                 len(table.EXPECTED) + len(table.MISUSED) + len(table.LEAKING), "processes")
    expect_equal(summary["late_processes"], 0, "late processes")
    lost = {cause: n for cause, n in summary["lost"].items() if n}
    lost.pop("evicted", 0)
    # A machine's processors wait for ours: so does who holds a lock, and a call that has
    # ended but whose return is not handled yet when its handle is handed out again.
    lost.pop("contended", 0)
    replayed = again(sent.console.files.get("recording.replayed"), "replay").summary()
    if not replayed["lost"]["missed-creations"]:
        lost.pop("missed-creations", 0)
    expect_equal(lost.pop("unseen-copies", 0), table.UNSEEN_COPIES, "unseen copies")
    expect_equal(lost, {}, "lost")
    rules = {v["rule"] for v in sent.live.of("violation")}
    expect(len(rules) >= 8, "few rules fired:", rules)


def test_stacks(sent):
    """stacks are unwound to their end, whose function no other has called"""
    violations = sent.live.of("violation")
    expect_equal({(v["stack_by"], v["stack_end"]) for v in violations}, {("dwarf", "whole")},
                 "how stacks were taken, and ended")
    # a C library without a symbol table does not name what threads start in
    outermost = {frame["function"] or frame["module"].rpartition("/")[2]
                 for frame in (v["stack"][-1] for v in violations)}
    expect(outermost <= {"_start", "clone", "__clone", "clone3", "__clone3", "thread_start",
                         "libc.so.6"},
           "outermost functions:", outermost)


def test_attached(sent):
    """attached as the kernel can: by uprobe_multi where it makes such links"""
    wanted = "uprobe_multi" if sent.features.get("multi") == "yes" and \
             sent.features.get("cookie") == "yes" else "perf_event"
    expect_equal(sent.ways(), [[wanted], ["perf_event"]], "ways of attaching")


def test_watch(sent):
    """watch -p: a warning for what began before, an error for what came after"""
    ended = sent.watch
    expect_equal(ended.status, 0, "status of aclguard watch")
    expect_equal(sent.console.file("steps.status").strip(), "0", "status of the program")
    line = json.loads(ended.out.splitlines()[-1])
    before, after, _ = line["frees"]
    got = [(v["rule"], v["level"], v["evidence"], v["pointer"])
           for v in ended.of("violation", line["pid"])]
    expect_equal(got, [("free-before-destroy", "warning", "suspected", before["buffer"]),
                       ("free-before-destroy", "error", "certain", after["buffer"])], "verdicts")


def test_text(sent):
    """run: a report in words, with the stack and the summary"""
    expect_equal(sent.console.file("text.status").strip(), "0", "status of aclguard run")
    world.mentions(sent.console.file("text"),
                   r"ERROR #1 free-before-destroy: .* by pcd_order",
                   r"evidence: certain", r"aclrtQueryEventStatus +event 0x\w+: COMPLETE",
                   r"#0 0x\w+ aclrtFreeHost\+0x0 .*#1 0x\w+ release_buffer\+",
                   r"remedy: call aclrtDestroyEvent", r"nothing was lost",
                   r"ERROR SUMMARY: 1 error, 0 warnings, 0 notes; 1 process")


def test_enforced(sent):
    """signals at the call: no body has run, on any first instruction"""
    got = [line.split() for line in sent.console.file("enforced").splitlines()]
    expect_equal(got, [[shape, name, str(status)] for shape in ENFORCED_SHAPES
                       for name, (status, _) in ENFORCED.items()], "ends of the programs")
    for shape in ENFORCED_SHAPES:
        for name, bodies in (*((name, 0) for name in ENFORCED), ("continued", 1)):
            data = sent.console.files[f"bodies.{shape}.{name}"]
            expect_equal(test_enforce.count_of(data, "aclrtFreeHost"), bodies,
                         f"{shape}, {name}: bodies that ran")
    ended = sent.ended("enforced.status", "enforced", "enforced.err", "enforced.reports")
    expect_equal(ended.status, 0, "status of aclguard run")
    expect_equal(test_enforce.actions(ended), [(action, "sent") for _ in ENFORCED_SHAPES
                                               for _, action in ENFORCED.values()], "actions")


def again(text, what):
    ended = world.Ended(0, text, b"")
    expect(text, f"no {what}")
    ended.reports = reports_in(text)
    return ended


def test_replay_there(sent):
    """what was recorded is judged there as it was live"""
    record_replay.compare(sent.live, again(sent.console.files.get("recording.replayed"),
                                           "replay"))


def replay_here(recording):
    path = world.scratch("recording")
    with open(path, "wb") as file:
        file.write(recording)
    return record_replay.replay_json(path)


def test_replay_here(sent):
    """what was recorded there is judged here in the same words"""
    here = replay_here(sent.console.files["recording"])
    expect_equal(here.out.decode(), sent.console.file("recording.replayed"),
                 "replay, here and there")


def test_histories(sent, ours):
    """random histories are judged there as here"""
    theirs = sent.console.file("histories.replayed")
    expect(theirs, "no replay of the histories")
    for mine, its in zip(ours.splitlines(), theirs.splitlines()):
        expect_equal(its, mine, "a verdict, there and here")
    expect_equal(theirs, ours, "verdicts on the histories")


def test_kernel(sent):
    """the kernel has nothing to complain of"""
    lines = sent.console.file("dmesg").splitlines()
    expect(lines, "no kernel log")
    expect_equal([line for line in lines if TROUBLE.search(line)], [], "kernel log")


def tests_of(sent, words, histories):
    """[(name, function)] of a machine."""
    tests = [(name, functools.partial(test_scenario, sent, name)) for name in table.EXPECTED]
    tests += [(name, functools.partial(test_misused, sent, name)) for name in table.MISUSED]
    tests += [(name, functools.partial(test_leaking, sent, name)) for name in table.LEAKING]
    tests += [(title, functools.partial(function, sent)) for title, function in world.titled(
        test_programs, test_summary, test_stacks, test_attached, test_watch, test_replay_there,
        test_replay_here, test_kernel)]
    if "brief" not in words:
        tests += [(title, functools.partial(function, sent))
                  for title, function in world.titled(test_text, test_enforced)]
    if histories is not None:
        tests += [(title, functools.partial(function, sent, histories))
                  for title, function in world.titled(test_histories)]
    return tests


def attempt(test):
    """What is wrong, or nothing."""
    try:
        test()
    except world.Failure as failure:
        return str(failure)
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return ""
