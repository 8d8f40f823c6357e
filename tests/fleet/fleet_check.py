#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What a fleet sees: numbers, alerts and the dashboard by a real Prometheus, which scrapes
nodes whose programs violate rules, flood them, are many, or that start anew.

The tests build on each other: one fleet, in this order.
"""
import os
import sys
import time

from fleet import Fleet, Job, HERE

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "deploy"))

import test_dashboard
import world
from world import expect, expect_equal

RULE = "free-before-destroy"
PROGRAMS, BATCH = 10000, 100
# What has nothing to show in a fleet that is well but for violations.
EMPTY = ("Nodes that do not answer", "Enforcement", "Suppressed", "Left at the end",
         "Failures to write", "Lost by cause")
fleet = Fleet()
jobs = {}


def start_jobs():
    """Two containers of one program on two nodes, another program on the third."""
    for n, (node, program, pod) in enumerate((
            (fleet.nodes[0], "trainer", "trainer-0"), (fleet.nodes[1], "trainer", "trainer-1"),
            (fleet.nodes[2], "server", "server-0"))):
        jobs[pod] = Job(node, program, node.container(n + 1, pod))


def who(program, pod):
    return (("program", program), ("namespace", "research"), ("pod_name", pod),
            ("container_name", "main"))


def test_up():
    """Prometheus scrapes all nodes, one of them by TLS and with a password"""
    fleet.gives("up", {(("job", "aclguard"), ("instance", node.name)): 1 for node in fleet.nodes})
    fleet.gives('ALERTS{alertname!="AclguardAbsent"}', {})
    fleet.gives("sum(aclguard_violations_total)", {})


def test_counts():
    """after known violations the fleet's query gives their numbers, by all labels"""
    start_jobs()
    for pod, n in ("trainer-0", 3), ("trainer-1", 5), ("server-0", 2):
        jobs[pod].do("cqfd", n)
        jobs[pod].do("cqdf", 4)                         # none
    name = "aclguard_violations_total"
    fleet.gives(f"sum by (rule) ({name})", {(("rule", RULE),): 10})
    fleet.gives(f"sum by (program, level) ({name})",
                {(("program", "trainer"), ("level", "error")): 8,
                 (("program", "server"), ("level", "error")): 2})
    fleet.gives(f"sum by (instance, program, namespace, pod_name, container_name) ({name})",
                {(("instance", f"node-{n}"), *who(program, pod)): count
                 for n, (program, pod, count) in enumerate((
                     ("trainer", "trainer-0", 3), ("trainer", "trainer-1", 5),
                     ("server", "server-0", 2)), 1)})
    fleet.gives("sum by (program) (aclguard_violations_confirmed_total)",
                {(("program", "trainer"),): 8, (("program", "server"),): 2})
    # each order makes one event and one buffer, of which the refused ones are still there
    fleet.gives("sum by (pod_name) (aclguard_events_total{program!='first'})",
                {(("pod_name", "trainer-0"),): 7, (("pod_name", "trainer-1"),): 9,
                 (("pod_name", "server-0"),): 6})
    fleet.gives("sum by (pod_name) (aclguard_live_host_buffers{program!='first'})",
                {(("pod_name", "trainer-0"),): 3, (("pod_name", "trainer-1"),): 5,
                 (("pod_name", "server-0"),): 2})
    # these are of all who use a library, so another's tests beside these add to them
    for expression, least in (
            ('sum(aclguard_api_calls_total{function="aclrtFreeHost"})', 22),
            ('sum(aclguard_api_errors_total{code="ACL_ERROR_RT_DRV_INTERNAL_ERROR"})', 10)):
        expect(sum(fleet.query(expression).values()) >= least, expression)
    for node in fleet.nodes:
        m = node.metrics()
        expect_equal(m.sum("aclguard_violations_total"),
                     fleet.query(f'sum({name}{{instance="{node.name}"}})')[frozenset()],
                     f"{node.name}, and what Prometheus has of it")


def test_recorded():
    """the recording rules give the same, although the series were not there before"""
    level = (("rule", RULE), ("level", "error"), ("job", "aclguard"))
    fleet.gives("rule:aclguard_violations:increase1h", {level: 10})
    fleet.gives("sum by (program) (rule_program:aclguard_violations:increase1h)",
                {(("program", "trainer"),): 8, (("program", "server"),): 2})
    fleet.gives("sum by (instance) (instance_rule_program:aclguard_violations:increase1h)",
                {(("instance", "node-1"),): 3, (("instance", "node-2"),): 5,
                 (("instance", "node-3"),): 2})


def test_alerts():
    """alerts on violations and refused releases reach the receiver, once a program"""
    for program in "trainer", "server":
        for alert, severity in (("AclguardViolation", "warning"),
                                ("AclguardReleaseRefused", "critical")):
            fleet.fires(alertname=alert, severity=severity, program=program, rule=RULE,
                        namespace="research", container_name="main")
    fired = [labels for status, labels in fleet.receiver.got
             if status == "firing" and labels["alertname"] == "AclguardViolation"]
    expect_equal(len(fired), 2, "alerts on violations")
    jobs["trainer-0"].do("cqfd", 20)
    fleet.fires(alertname="AclguardViolationsRising", program="trainer", rule=RULE)


def test_dashboard_expressions():
    """every expression of the dashboard is one that Prometheus answers, and shows something"""
    board = test_dashboard.load()
    empty = []
    for title, expression in test_dashboard.expressions(board):
        expression = test_dashboard.with_values(expression)
        shown = fleet.query(expression)
        rows = fleet.query_range(expression)
        expect(not shown or rows, f"{title}: now, but not over time: {expression}")
        if not shown:
            empty.append(title)
    expect_equal(sorted(set(empty) - set(EMPTY)), [], "panels that show nothing")
    for title, wanted in (("Errors", 30), ("Releases refused", 30), ("Programs with errors", 2),
                          ("Nodes with errors", 3), ("Processes watched", 3),
                          ("Nodes that do not answer", 0)):
        expression = next(e for t, e in test_dashboard.expressions(board) if t == title)
        fleet.gives(expression, {(): wanted})


def test_flood():
    """scrapes go on while programs call as fast as they can"""
    node = fleet.nodes[0]
    group = node.container(0x77, "hammer-0")
    hammers = [node.run_in(group, node.copy("hammer", "hammer"), 2, 12000) for _ in range(2)]
    start, took = time.monotonic(), []
    while any(h.poll() is None for h in hammers):
        begin = time.monotonic()
        node.page()
        took.append(time.monotonic() - begin)
        time.sleep(0.2)
    seconds = int(time.monotonic() - start) + 1
    for h in hammers:
        expect_equal(world.finish(h).status, 0, "status of hammer")
    slowest = fleet.query(
        f'max_over_time(scrape_duration_seconds{{instance="node-1"}}[{seconds}s])')
    print(f"# {len(took)} scrapes in {seconds} s of flood: {min(took):.4f} to {max(took):.4f} s; "
          f"Prometheus' slowest {max(slowest.values()):.4f} s", flush=True)
    expect(max(took) < 2, "a scrape took", max(took))
    fleet.gives(f'min_over_time(up{{instance="node-1"}}[{seconds}s])',
                {(("job", "aclguard"), ("instance", "node-1")): 1})
    fleet.gives('sum(aclguard_processes_total{program="hammer"})', {(): 2})


def test_restart():
    """a node that starts anew begins at 0, which Prometheus takes for a reset"""
    node, job = fleet.nodes[1], jobs["trainer-1"]
    events = 'aclguard_events_total{instance="node-2",program="trainer"}'
    violations = 'aclguard_violations_total{instance="node-2"}'
    fleet.gives(f"sum({events})", {(): 9})
    fleet.gives(f"sum(resets({events}[1h]))", {(): 0})
    node.stop()
    fleet.fires(alertname="AclguardDown", instance="node-2")
    node.start()
    world.wait_until(lambda: node.attached() >= 1, "the program is watched again")
    job.do("cqfd", 2)
    fleet.gives(f"sum({events})", {(): 2})
    fleet.gives(f"sum({violations})", {(): 2})
    fleet.gives(f"sum(resets({events}[1h]))", {(): 1})
    fleet.fires("resolved", alertname="AclguardDown", instance="node-2")
    # of the other nodes nothing is lost by it, and of this one what is new counts at least
    trainer = fleet.query('sum(rule_program:aclguard_violations:increase1h{program="trainer"})')
    expect(25 <= trainer[frozenset()] <= 31, "violations within the hour:", trainer)


def named(m):
    """Processes of the many programs, under their names or as other."""
    name = "aclguard_processes_total"
    return m.sum(name) - m.sum(name, program="job-first")


def full(m):
    """Calls of processes for which the kernel's table had no room: a few for each."""
    return m.sum("aclguard_lost_total", cause="processes-full")


def test_many_programs():
    """10,000 names of programs: bounded series, nothing uncounted, scrapes that stay short"""
    node = fleet.add("node-4", only="--comm=job-*")
    Job(node, "job-first", node.container(0xf1, "first")).finish()
    namer = world.compile_c(os.path.join(HERE, "namer.c"),
                            *(f"-I{os.path.join(world.ROOT, path)}"
                              for path in ("tests/sim/include", "include")),
                            f"-L{world.runtime('mono')}", "-lascendcl")
    # no more at a time than the kernel's table holds until the daemon has a turn
    for first in range(0, PROGRAMS, BATCH):
        ended = world.run([namer, first, BATCH], env={"LD_LIBRARY_PATH": node.lib})
        expect_equal((ended.status, ended.out), (0, b"done\n"), "namer")
        m = world.wait_until(lambda done=first + BATCH:
                             (m := node.metrics()) and named(m) + full(m) >= done and m,
                             f"{first + BATCH} programs are counted")
    missing = PROGRAMS - named(m)
    expect(0 <= missing <= full(m) and missing < PROGRAMS / 50,
           missing, "missing, of", full(m), "calls that were lost")
    took = []
    for _ in range(20):
        begin = time.monotonic()
        text = node.page()
        took.append(time.monotonic() - begin)
    print(f"# {PROGRAMS} programs, {missing:.0f} lost: {len(text) >> 10} KiB, {min(took):.4f} to "
          f"{max(took):.4f} s, {m.sum('process_resident_memory_bytes') / (1 << 20):.1f} MiB",
          flush=True)
    expect(min(took) < 0.2, "a scrape takes", min(took))
    expect(m.sum("aclguard_series") <= m.sum("aclguard_series_limit"), "series")
    expect(len(m.each("aclguard_processes_total")) < 1000, "programs with labels of their own")
    expect(m.sum("aclguard_series_dropped_total") > 0, "none is counted as other")
    fleet.gives('up{instance="node-4"}', {(("job", "aclguard"), ("instance", "node-4")): 1})
    fleet.fires(alertname="AclguardSeriesLimit", instance="node-4")


def test_gone():
    """a fleet of which nothing is left is told"""
    for node in fleet.nodes:
        node.stop()
    for node in fleet.nodes:
        fleet.fires(alertname="AclguardDown", instance=node.name)
    nodes, fleet.nodes = fleet.nodes, []
    fleet.tell()
    fleet.nodes = nodes
    fleet.fires(alertname="AclguardAbsent", seconds=400)


def main():
    with fleet:
        world.run_tests(world.titled(*map(world.alone, (
            test_up, test_counts, test_recorded, test_alerts, test_dashboard_expressions,
            test_flood, test_restart, test_many_programs, test_gone))), 1200)


if __name__ == "__main__":
    main()
