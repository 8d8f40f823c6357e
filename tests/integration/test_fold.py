#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Folding: what comes from one place is printed once, and all of it is counted."""

import collections
import re

import repeats
import world
from test_watch import Steps, Watch
from world import expect, expect_equal

HEADLINE = re.compile(r"^==\d+==aclguard: (?:ERROR|WARNING|NOTE) #\d+ ([a-z-]+): .*"
                      r"\(pid \d+, tid \d+[^)]*, site ([0-9a-f]{12})\)$", re.M)
ROUNDS = 12


def text_of(command, *options, **how):
    """The report, and what the program was said to have ended with."""
    path = world.scratch("report")
    ended = world.run(world.guarded_command(command, ["--output", path, *options]), **how)
    expect_equal(ended.status, 0, ended.said())
    with open(path, encoding="utf-8") as f:
        return f.read()


def again(name, rounds=ROUNDS):
    return [world.scenario(name), rounds]


def counts(text):
    """Rules, levels and evidence of the summary."""
    return re.findall(r"^==aclguard==   (?!site )[a-z-]+: \d+ .*$|ERROR SUMMARY: .*notes", text,
                      re.M)


def once_in_full():
    """One report from one site, with its follow-up, a line at 10, and one in the summary"""
    text = text_of(again("free_in_flight"), race="certain")
    (rule, site), = HEADLINE.findall(text)
    expect_equal(rule, "free-in-flight", "rule")
    expect_equal(len(re.findall(r"^==\d+==aclguard: #1: aclrtFreeHost", text, re.M)), 1,
                 "follow-ups of the first")
    expect_equal(len(re.findall(r"^==\d+==aclguard: #", text, re.M)), 1, "follow-ups")
    world.mentions(text, rf"aclguard: site {site}: 10 times so far, 9 confirmed "
                         r"\(free-in-flight, first #1\)\n",
                   rf"  site {site}: {ROUNDS} times, {ROUNDS} confirmed: free-in-flight by "
                   r"free_in_flight in release_buffer\+0x[0-9a-f]+ \(free_in_flight\+0x",
                   rf"ERROR SUMMARY: {ROUNDS} errors", rf"\({ROUNDS} confirmed\)",
                   "nothing was lost")


def unfolded():
    """--no-fold prints all, and both count the same"""
    folded = text_of(again("free_in_flight"), race="certain")
    every = text_of(again("free_in_flight"), "--no-fold", race="certain")
    sites = collections.Counter(HEADLINE.findall(every))
    expect_equal(sites, {HEADLINE.findall(folded)[0]: ROUNDS}, "headlines")
    expect_equal(counts(every), counts(folded), "summary")
    expect("times" not in every, "counted as well:", every)


def followed_to_the_end():
    """Folded ones are followed to their return; events that die later are no loss"""
    text = text_of(again("pcd_order", 200), race="certain")
    full = len(HEADLINE.findall(text))
    expect(0 < full < 5, f"{full} full reports")
    world.mentions(text, "nothing was lost", "event 0x[0-9a-f]+ destroyed")
    sites = re.findall(r"  site [0-9a-f]{12}: (\d+) times, (\d+) confirmed: free-before-dest", text)
    total = int(re.search(r"ERROR SUMMARY: (\d+) errors", text).group(1))
    expect(total > 150, f"{total} errors")
    # one that came once is in no line of its own
    once = full - len(sites)
    expect_equal(sum(int(n) for n, _ in sites) + once, total, f"of all sites: {sites}, {once}")
    confirmed = int(re.search(r"free-before-destroy: .*\((\d+) confirmed", text).group(1))
    of_sites = sum(int(n) for _, n in sites)
    expect(confirmed - once <= of_sites <= confirmed, "confirmed:", of_sites, confirmed)


def json_has_all():
    """JSON has all, each with its site, and with --fold the first one and lines between"""
    ended = world.guarded(again("free_in_flight"), race="certain")
    told = ended.of("violation")
    expect_equal(len(told), ROUNDS, "violations")
    sites = {v["site"] for v in told} | {f["site"] for f in ended.of("followup")}
    expect_equal(len(sites), 1, "sites")
    site, = ended.summary()["sites"]
    expect_equal((site["site"], site["count"], site["confirmed"], site["printed"], site["first"],
                  site["rule"], site["program"]),
                 (*sites, ROUNDS, ROUNDS, ROUNDS, 1, "free-in-flight", "free_in_flight"), "site")
    ended = world.guarded(again("free_in_flight"), ["--fold"], race="certain")
    expect_equal([v["site"] for v in ended.of("violation")], list(sites), "violations, folded")
    expect_equal([f["id"] for f in ended.of("followup")], [1], "follow-ups, folded")
    expect_equal([(s["site"], s["count"]) for s in ended.of("site")], [(*sites, 10)], "lines")
    expect_equal(ended.summary()["sites"][0]["count"], ROUNDS, "count")


def the_same_in_every_process():
    """A site has one id in all runs, and is folded across processes; another program is another"""
    one = again("free_in_flight", 2)
    runs = [text_of(one, race="certain"), text_of(one, "--stacks=fp", race="certain"),
            text_of(world.sh(one, one, again("pcd_order", 1), one), race="certain")]
    first = HEADLINE.findall(runs[0])
    expect_equal(HEADLINE.findall(runs[1]), first, "headlines of another run")
    both = HEADLINE.findall(runs[2])
    expect_equal(both[:1], first, "headlines of several processes")
    expect_equal(len(both), len(set(both)), "each once")
    expect(len(both) > 1, "the other program is missing:", both)
    world.mentions(runs[2], rf"  site {first[0][1]}: 6 times, 6 confirmed")


def rules_apart():
    """One function that breaks several rules has as many sites"""
    ended = world.guarded(again("event_misuse", 3), ["--strict"], race="certain")
    rules = {}
    for v in ended.of("violation"):
        rules.setdefault(v["site"], set()).add(v["rule"])
    expect(len(rules) > 1, "one site only:", rules)
    expect(all(len(of) == 1 for of in rules.values()), "sites of several rules:", rules)


def watched():
    """watch folds, too, and ends with the summary of it"""
    steps = Steps()
    watch = Watch("--no-fold", "-p", steps.pid)
    watch.wait_for("attached")
    folding = Watch("--fold", "-p", steps.pid)
    folding.wait_for("attached")
    steps.do("cqfd" * 3)
    steps.finish()
    every, once = watch.finish(), folding.finish()
    expect_equal((len(every.of("violation")), len(once.of("violation"))), (3, 1), "reports")
    for ended in every, once:
        site, = ended.summary()["sites"]
        expect_equal((site["count"], site["confirmed"]), (3, 3), "count")


def replayed():
    """A replay folds by what it has, and with --no-fold prints all"""
    recording = world.scratch("recording")
    ended = world.run([world.ACLGUARD, "record", "-o", recording, "--", *again("free_in_flight")],
                      race="certain")
    expect_equal(ended.status, 0, ended.said())
    for options, full in ([], 1), (["--no-fold"], ROUNDS):
        ended = world.run([world.ACLGUARD, "replay", *options, recording])
        expect_equal(ended.status, 0, ended.said())
        text = ended.out.decode()
        expect_equal(len(HEADLINE.findall(text)), full, f"full reports with {options}")
        world.mentions(text, rf"ERROR SUMMARY: {ROUNDS} errors")


def in_a_loop():
    """20,000 as fast as they can be made: one report, the right count, bounded memory"""
    text, kib, made = repeats.repeated(20000, world.PATIENCE)
    reported, lost = repeats.check(20000, text, kib)
    print(f"# {reported} reported, {lost} lost, {kib} KiB, made in {made['seconds']} s")


if __name__ == "__main__":
    world.run_tests(world.titled(once_in_full, unfolded, followed_to_the_end, json_has_all,
                                 the_same_in_every_process, rules_apart, watched, replayed,
                                 in_a_loop))
