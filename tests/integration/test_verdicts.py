#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Real probes watch every scenario program in every shape of the library.

What is expected of each stands in verdicts.json.  Every program prints what it did,
and each report is compared with that.  One aclguard watches all programs of a shape;
the pid tells whose a report is.
"""

import collections
import concurrent.futures
import functools
import json
import os
import sys

import world
from world import expect, expect_equal

with open(os.path.join(world.HERE, "verdicts.json"), encoding="ascii") as _file:
    TABLE = json.load(_file)
EXPECTED = TABLE["scenarios"]
MISUSED = TABLE["used after their end"]
LEAKING = TABLE["leaks"]

SHAPES = "mono", "split", "both"
RACES = "certain", "impossible"
REFUSED = 507899

# What the probes have to cope with beyond the three shapes: another way from library to
# library, and every first instruction that the simulated runtime can be built with.
MORE_SHAPES = "both-call", *(f"mono-{x}" for x in
                             ("jmp", "endbr", "push", "sub", "nop", "mov", "call"))
# aclrtMemcpyAsyncWithOffset of clean_mix: addresses in cells that may be on the device.
UNSEEN_COPIES = 3

FEW = "pcd_order", "threads_order", "free_in_flight", "event_pool", "clean_mix", "pcd_fixed_sync"


# ---- the watched runs -----------------------------------------------------------

def watch_all(shape, race, names, options=(), env=None):
    if not os.path.isdir(world.runtime(shape)):
        raise world.Skipped(f"the simulated runtime has no shape {shape} on this machine")
    commands = ([world.scenario(n, shape), *(EXPECTED.get(n) or {}).get("args", [])]
                for n in names)
    ended = world.guarded(world.sh(*commands), options, shape=shape, race=race, env=env)
    expect(ended.status == 0 and not ended.err, "the programs did not end well:", ended.said())
    return ended


@functools.lru_cache(maxsize=None)
def everything(shape, race):
    return watch_all(shape, race, [*EXPECTED, *MISUSED, *LEAKING])


@functools.lru_cache(maxsize=None)
def a_few(shape):
    return watch_all(shape, "random", FEW, env={"ACLSIM_SEED": "3"})


def prefetch():
    """Two at a time: most of a start is the kernel checking the BPF programs."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for shape in SHAPES:
            for race in RACES:
                pool.submit(everything, shape, race)
        for shape in MORE_SHAPES:
            pool.submit(a_few, shape)


# ---- comparing a program's own account with the reports ------------------------

def line_of(ended, name):
    lines = [line for line in ended.lines() if line["scenario"] == name]
    expect_equal(len(lines), 1, f"lines of {name}")
    return lines[0]


def fact_of(violation, facts):
    """The last release of that pointer before the report's time."""
    mine = [f for f in facts if f["buffer"] == violation["pointer"]
            and f["ns"] <= violation["time_ns"]]
    expect(mine, "a report of a release that the program did not make:", violation)
    return max(mine, key=lambda f: f["ns"])


def compare_with_fact(v, fact, wanted):
    """Everything that the report says of the buffer, against the program."""
    expect(v["time_ns"] - fact["ns"] < 10 ** 9, "time of the release:", v["time_ns"], fact["ns"])
    expect_equal(v["tid"], fact["tid"], "tid")
    expect_equal((v["buffer"]["address"], v["buffer"]["size"]), (fact["buffer"], fact["size"]),
                 "buffer")
    expect_equal((v["copy"]["address"], v["copy"]["bytes"]), (fact["host"], fact["length"]),
                 "address and length copied")
    expect_equal(v["copy"]["offset"], int(fact["host"], 16) - int(fact["buffer"], 16), "offset")
    expect(v["copy"]["offset"] > 0, "this scenario copies an interior address")
    expect_equal(v["copy"]["direction"], wanted.get("direction", "host-to-device"), "direction")
    expect_equal(v["stream"]["handle"], fact["stream"], "stream")
    expect_equal(v["stream"]["device"], 0, "device")
    expect(v["buffer"]["age_us"] > v["copy"]["age_us"] > 0, "ages of buffer and copy:",
           v["buffer"]["age_us"], v["copy"]["age_us"])


def compare_poll(v, fact):
    """The poll that the program relied on."""
    if v["rule"] == "free-before-destroy":
        expect_equal(v["poll"]["event"], fact["event"], "event polled")
        expect_equal(v["event"]["handle"], fact["event"], "event")
        expect_equal(v["poll"]["call"], "aclrtQueryEventStatus", "poll")
        expect(0 < v["poll"]["age_us"] < v["copy"]["age_us"], "age of the poll:", v["poll"])
    elif v["rule"] == "free-after-stream-query":
        expect_equal(v["poll"]["call"], "aclrtStreamQuery", "poll")
        expect(0 < v["poll"]["age_us"] < v["copy"]["age_us"], "age of the poll:", v["poll"])


def compare_stack(v, site):
    functions = [frame["function"] for frame in v["stack"]]
    expect_equal(functions[:2], [v["call"], site], "innermost functions")
    expect(len(functions) > 2, "the stack ends too soon:", functions)


def compare_followup(v, fact, followups):
    """What came after: the return, and the destroy."""
    mine = [f for f in followups if f["id"] == v["id"]]
    expect(mine and mine[-1]["final"] and not any(f["final"] for f in mine[:-1]),
           "the story does not end once:", mine)
    last = mine[-1]
    expect_equal(last["return"], fact["ret"], "return code in the follow-up")
    expect_equal(last["buffer_released"], fact["ret"] == 0, "buffer_released")
    expect_equal(last["evidence"], "confirmed" if fact["ret"] == REFUSED else v["evidence"],
                 "evidence after the return")
    expect(last["release_us"] > 0, "time in the call:", last)
    if fact["event"] == "0x0" or v["rule"] != "free-before-destroy":
        return
    expect_equal(last["event"], fact["event"], "event in the follow-up")
    expect(last["event_destroyed"] and last["destroy_gap_us"] > last["release_us"],
           "the gap to the destroy:", last)


def judge(ended, name, race, wanted):
    """The reports of one scenario are as expected."""
    line = line_of(ended, name)
    violations = ended.of("violation", line["pid"])
    followups = ended.of("followup", line["pid"])
    if wanted is None:
        expect(not violations and not followups, "a report on what is right:", violations)
        if EXPECTED[name] is None:
            expect_equal(ended.of("leak", line["pid"]), [], "leaks")
            expect_equal(line.get("free_failed", 0), 0, "failed frees of a program that is right")
        return
    got = [(v["rule"], v["level"], v["evidence"], v["hazard"], v["suspects"], v["call"])
           for v in violations]
    hazard = wanted.get("hazard") or (got and got[0][3])
    expect_equal(collections.Counter(map(str, got)), collections.Counter({str((
        wanted["rule"], wanted["level"], wanted["evidence"], hazard, wanted.get("suspects", []),
        wanted.get("call", "aclrtFreeHost"))): wanted["count"]}), "verdicts")
    site = "unregister_buffer" if wanted.get("call") == "aclrtHostUnregister" else "release_buffer"
    judged = []
    for v in violations:
        fact = fact_of(v, line["frees"])
        judged.append(fact["ns"])
        expect_equal(v["program"], name[:15], "program")
        compare_with_fact(v, fact, wanted)
        compare_poll(v, fact)
        compare_stack(v, site)
        compare_followup(v, fact, followups)
    compare_returns(judged, line["frees"], race, v["rule"])


def compare_returns(judged, facts, race, rule):
    """What was judged is what the runtime refuses; in flight it refuses whatever the race."""
    returns = {f["ns"]: f["ret"] for f in facts}
    expect_equal(len(set(judged)), len(judged), "releases that were judged, each once")
    refused = {ns for ns, ret in returns.items() if ret}
    if race == "certain":
        expect_equal(set(judged), refused, "releases judged, against those that failed")
    else:
        expect(refused <= set(judged), "a release failed and no report says so:",
               refused - set(judged))
    if race == "impossible" and rule != "free-in-flight":
        expect_equal({returns[ns] for ns in judged}, {0}, "what the judged releases returned")


def wanted_of(name, strict=False):
    wanted = EXPECTED[name]
    return None if wanted and wanted.get("only") and not strict else wanted


def test_scenario(shape, race, name):
    judge(everything(shape, race), name, race, wanted_of(name))


def judge_misused(ended, name):
    """What was freed or destroyed is used again: judged when the call returns."""
    violations = ended.of("violation", line_of(ended, name)["pid"])
    keys = "rule", "level", "evidence", "call"
    expect_equal(collections.Counter(tuple(v[key] for key in keys) for v in violations),
                 {tuple(w[key] for key in keys): w["count"] for w in MISUSED[name]}, "verdicts")
    for v in violations:
        expect_equal(v["return"] == 0, v["rule"] == "copy-after-free", "whether it succeeded")
        expect(v["ended"]["address"] and v["ended"]["age_us"] > 0, "the end:", v["ended"])
        expect(len(v["stack"]) > 1 and v["stack"][0]["function"], "stack:", v["stack"])


def judge_leaking(ended, name):
    """What is never freed or destroyed, by the place that made it."""
    pid = line_of(ended, name)["pid"]
    expect_equal(ended.of("violation", pid), [], "violations")
    got = [{**{key: leak[key] for key in LEAKING[name][0]}, "site": leak["site"]["function"]}
           for leak in ended.of("leak", pid)]
    expect_equal(got, LEAKING[name], "leaks")


def test_misused(shape, name):
    judge_misused(everything(shape, "impossible"), name)


def test_leaking(shape, name):
    judge_leaking(everything(shape, "impossible"), name)


def test_few(shape, name):
    judge(a_few(shape), name, "random", wanted_of(name))


# ---- the summary -----------------------------------------------------------------

def test_summary(shape):
    """Violations, libraries and losses of the whole run."""
    ended = everything(shape, "certain")
    summary = ended.summary()
    counted = collections.Counter((v["rule"], v["level"]) for v in ended.of("violation"))
    told = collections.Counter()
    for row in summary["violations"]:
        told[row["rule"], row["level"]] += row["count"]
    expect_equal(told, counted, "violations in the summary")
    for level in "error", "warning", "note":
        expect_equal(summary[level + "s"], sum(n for (_, l), n in counted.items() if l == level),
                     level + "s in the summary")
    expect_equal(summary["processes"], len(EXPECTED) + len(MISUSED) + len(LEAKING), "processes")
    expect_equal(summary["late_processes"], 0, "late processes")
    paths = {"mono": ["libascendcl.so"], "split": ["libacl_rt.so"],
             "both": ["libacl_rt.so", "libascendcl.so"]}[shape]
    expect_equal(sorted(lib["path"] for lib in summary["libraries"]),
                 [os.path.join(world.runtime(shape), p) for p in paths], "libraries")
    folded = sum(call["folded"] for call in summary["calls"].values())
    expect((folded > 0) == (shape == "both"), "folded calls:", folded)
    lost = {cause: n for cause, n in summary["lost"].items() if n}
    lost.pop("evicted", 0)      # of the many buffers that hammer frees
    expect_equal(lost.pop("unseen-copies", 0), UNSEEN_COPIES, "unseen copies")
    expect_equal(lost, {}, "lost")


# ---- options ----------------------------------------------------------------------

def strict(race):
    ended = watch_all("mono", race, ["event_sync_free", "clean_mix", "pcd_order"], ["--strict"])
    for name in "event_sync_free", "clean_mix", "pcd_order":
        judge(ended, name, race, wanted_of(name, strict=True))


def test_strict():
    """--strict shows free-after-event-sync, as a note"""
    strict("impossible")
    strict("certain")


def test_window():
    """a poll older than --window makes it a warning"""
    ended = watch_all("mono", "certain", ["pcd_order"], ["--window", "1ns"])
    judge(ended, "pcd_order", "certain", {**EXPECTED["pcd_order"], "level": "warning"})
    ended = watch_all("mono", "certain", ["pcd_order"], ["--window=20s"])
    judge(ended, "pcd_order", "certain", EXPECTED["pcd_order"])


def test_rule():
    """--rule takes some rules only, or all but some"""
    names = ["pcd_order", "free_in_flight", "stream_query_free"]
    for option, shown in (("free-in-flight,free-after-stream-query", names[1:]),
                          ("-free-in-flight,-free-failed", [names[0], names[2]])):
        ended = watch_all("mono", "impossible", names, ["--rule", option])
        for name in names:
            judge(ended, name, "impossible", EXPECTED[name] if name in shown else None)


def test_no_stacks():
    """--stacks=none takes none"""
    ended = watch_all("mono", "impossible", ["pcd_order"], ["--stacks=none"])
    expect_equal([v["stack"] for v in ended.of("violation")], [[]], "stacks")


def test_random_race():
    """where some frees fail and some do not, each follow-up says what its free returned"""
    ended = world.guarded([world.scenario("late_dlopen"), 40], race="random",
                          env={"ACLSIM_SEED": "11"})
    judge(ended, "late_dlopen", "random", {**EXPECTED["late_dlopen"], "count": 40})
    returns = {f["ret"] for f in line_of(ended, "late_dlopen")["frees"]}
    expect_equal(returns, {0, REFUSED}, "what the frees returned")


def test_many(shape):
    """Events that complete and go out of order settle what was copied before them."""
    ended = world.guarded([world.scenario("pcd_order", shape), 60], shape=shape, race="certain")
    refused = sum(f["ret"] == REFUSED for f in line_of(ended, "pcd_order")["frees"])
    expect(refused > 0, "no free failed")
    judge(ended, "pcd_order", "certain", {**EXPECTED["pcd_order"], "count": refused})


def test_reclaiming_runtime():
    """on a runtime whose query reclaims, the free succeeds and the verdict is the same"""
    ended = watch_all("mono", "certain", ["pcd_order"], env={"ACLSIM_TIMELINE_RECLAIM": "1"})
    judge(ended, "pcd_order", "reclaiming", EXPECTED["pcd_order"])
    expect_equal(line_of(ended, "pcd_order")["free_ok"], 1, "frees that succeeded")


def test_failure_alone():
    """a refused free that breaks no rule shown is reported as free-failed"""
    ended = watch_all("mono", "certain", ["event_sync_free"])
    got = [(v["rule"], v["level"], v["evidence"]) for v in ended.of("violation")]
    expect_equal(got, [("free-failed", "error", "confirmed")] * 3, "verdicts")
    expect_equal([v["return"] for v in ended.of("violation")], [REFUSED] * 3, "return codes")


def test_without_uprobe_multi(shape):
    """The older way of attaching, of kernels before 6.6."""
    ended = watch_all(shape, "certain", FEW, env={"ACLGUARD_NO_UPROBE_MULTI": "1"})
    for name in FEW:
        judge(ended, name, "certain", wanted_of(name))
    expect_equal({lib["attached_by"] for lib in ended.summary()["libraries"]}, {"perf_event"},
                 "attached by")


def test_table():
    """verdicts.json names every scenario"""
    there = {name[:-2] for name in os.listdir(os.path.join(world.ROOT, "tests", "scenarios"))
             if name.endswith(".c")}
    listed = set(EXPECTED) | set(MISUSED) | set(LEAKING) | set(TABLE["tested elsewhere"])
    expect_equal(there - listed, set(), "scenarios without a verdict")
    expect_equal(listed - there, set(), "verdicts without a scenario")


def all_tests():
    tests = []
    for shape in SHAPES:
        for race in RACES:
            tests += [(f"{shape}, race {race}: {name}",
                       functools.partial(test_scenario, shape, race, name)) for name in EXPECTED
                      if not (race == "certain" and name == "event_sync_free")]
        tests += [(f"{shape}: {name}", functools.partial(test_misused, shape, name))
                  for name in MISUSED]
        tests += [(f"{shape}: {name}", functools.partial(test_leaking, shape, name))
                  for name in LEAKING]
        tests.append((f"{shape}: the summary", functools.partial(test_summary, shape)))
        tests.append((f"{shape}: 60 rounds of pcd_order, a report for each free that fails",
                      functools.partial(test_many, shape)))
    for shape in MORE_SHAPES:
        tests += [(f"{shape}: {name}", functools.partial(test_few, shape, name)) for name in FEW]
    tests += world.titled(test_table, test_strict, test_window, test_rule, test_no_stacks,
                          test_random_race, test_reclaiming_runtime, test_failure_alone)
    tests += [(f"{shape}, without uprobe_multi",
               functools.partial(test_without_uprobe_multi, shape)) for shape in ("mono",)]
    return tests


if __name__ == "__main__":
    if os.environ.get("SKIP_BPF") != "1" and os.geteuid() == 0:
        prefetch()
    sys.exit(world.run_tests(all_tests()))
