# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Reports of aclguard about real histories, as verdicts that check.py compares.

A report names processes and threads by their ids and calls by their time.  It is joined to the
call of the history that was being entered by that thread at that time.
"""

import collections

import check
from history import ROLES
from model import Model

# What aclguard may say that it did not see or keep, and what that is for these histories.
LEGITIMATE = {"missed-creations", "missed-releases", "evicted", "unseen-copies",
              "bound-exceeded", "entry-without-return"}


class Mismatch(Exception):
    """A report that fits no call."""


class Said:
    """A verdict of aclguard, with positions, processes and threads of the history."""

    def __init__(self, report, calls):
        self.report = report
        self.time = report["time_ns"]
        self.entry = calls.at(report["pid"], self.time, report["tid"])
        if not self.entry or self.entry.step.name != report["call"]:
            raise Mismatch(f"no such call: {report['call']} by {report['pid']}/{report['tid']} "
                           f"at {self.time}")
        step = self.entry.step
        self.position, self.pid, self.tid, self.call = (step.position, step.pid, step.tid,
                                                        step.name)
        self.rule, self.level = report["rule"], report["level"]
        self.certain = report["evidence"] == "certain"
        self.confirmed = report["evidence"] == "confirmed"
        self.causes = set(report["suspects"])
        self.ret = report["return"]
        self.pointer = int(report["pointer"], 16)
        self.base = int(report["buffer"]["address"], 16) if report["buffer"] else 0
        self.stream = int(report["stream"]["handle"], 16) if report["stream"] else 0
        copy, poll = report["copy"], report["poll"]
        self.copy_entry = self.ago(calls, copy, "COPY")
        self.copy = self.copy_entry.step.position if self.copy_entry else 0
        self.poll_entry = self.ago(calls, poll, "QUERY")
        self.poll = self.poll_entry.step.position if self.poll_entry else 0
        self.handle = int(poll["event"], 16) if poll and poll["event"] else 0
        self.followups = []

    def moment(self, what):
        """When the copy or poll was entered, in nanoseconds."""
        return self.time - round(what["age_us"] * 1000)

    def ago(self, calls, what, role):
        if not what:
            return None
        time = self.moment(what)
        entry = calls.at(self.report["pid"], time, what["thread"], role)
        if not entry:
            raise Mismatch(f"#{self.report['id']}: no {role} at {time}")
        return entry

    def renumber(self):
        """The positions of the history have changed."""
        self.position = self.entry.step.position
        self.copy = self.copy_entry.step.position if self.copy_entry else 0
        self.poll = self.poll_entry.step.position if self.poll_entry else 0

    __repr__ = check.Said.__repr__


class Calls:
    """The calls of all histories, to be found by process, thread and time."""

    def __init__(self):
        self.by_thread = collections.defaultdict(list)
        self.by_process = collections.defaultdict(list)
        self.owner = {}             # entry -> history

    def add(self, owner, entries):
        for entry in entries:
            self.by_thread[entry.pid, entry.tid].append(entry)
            self.by_process[entry.pid].append(entry)
            self.owner[entry] = owner

    def at(self, pid, time, tid=None, role=""):
        for entry in self.by_thread[pid, tid] if tid else self.by_process[pid]:
            if entry.before <= time <= entry.begin and role in ROLES[entry.step.name]:
                return entry
        return None


class Reports:
    """All that aclguard said in one run, by history."""

    def __init__(self, reports, histories):
        self.wrong = []             # what concerns no single history
        self.said = collections.defaultdict(list)
        self.leaks = collections.Counter()      # (pid, rule) -> objects
        self.summary = {}
        calls = Calls()
        for live in histories:
            calls.add(live, live.entries)
        self.pids = {process: live for live in histories for process in live.pids}
        by_id = {}
        for report in reports:
            kind = report["type"]
            if kind == "violation":
                try:
                    said = by_id[report["id"]] = Said(report, calls)
                    self.said[calls.owner[said.entry]].append(said)
                except Mismatch as error:
                    self.complain(report["pid"], str(error))
            elif kind == "followup":
                if report["id"] in by_id:
                    self.follow(by_id[report["id"]], report)
            elif kind == "leak":
                self.leaks[report["pid"], report["rule"]] += report["count"]
            elif kind == "summary":
                self.summary = report

    def complain(self, pid, text):
        live = self.pids.get(pid)
        if live:
            live.mismatches.append(text)
        else:
            self.wrong.append(text)

    def follow(self, said, report):
        said.followups.append(report)
        if report["return"] is not None:
            said.ret = report["return"]
            said.confirmed = said.ret != 0
        if report["return"] is not None and \
           (report["evidence"] == "confirmed") != (report["return"] != 0):
            self.complain(said.report["pid"], f"#{report['id']}: returned {report['return']} and "
                                              f"is {report['evidence']}")

    def losses(self, histories, legitimate=LEGITIMATE):
        """What was lost that should not have been, and calls that were counted wrongly."""
        wrong = list(self.wrong)
        if not self.summary:
            return wrong + ["there is no summary"]
        for cause, number in self.summary["lost"].items():
            if number and cause not in legitimate:
                wrong.append(f"lost: {cause} {number}")
        entered, returned = collections.Counter(), collections.Counter()
        for live in histories:
            begun = {}
            for step in live.seen():
                who = step.pid, step.tid
                if step.kind == "enter":
                    entered[step.name] += 1
                    begun[who] = step.name
                elif step.kind == "leave" and who in begun:
                    returned[begun.pop(who)] += 1
        missing = sum(entered.values()) - sum(returned.values())
        if self.summary["lost"]["entry-without-return"] != missing:
            wrong.append(f"entries without return: {missing} / "
                         f"{self.summary['lost']['entry-without-return']}")
        for name in sorted(set(entered) | set(self.summary["calls"])):
            seen = self.summary["calls"].get(name, {"entered": 0, "returned": 0})
            if (seen["entered"], seen["returned"]) != (entered[name], returned[name]):
                wrong.append(f"{name}: entered {entered[name]}, returned {returned[name]} / "
                             f"{seen['entered']}, {seen['returned']}")
        return wrong


def ends_of(live, model, leaks):
    """What lived at the end, as check.compare() takes it, where it can be told."""
    result = []
    last = {}
    for pid, position in model.alive:
        last.setdefault(pid, []).append(position)
    for pid, positions in last.items():
        if len(positions) > 1:
            continue        # by exec: both ends are told under one id; see ends_together()
        real = live.pid_of(pid)
        result.append((positions[0], pid, leaks[real, "host-leak"], leaks[real, "event-leak"]))
    return result


def ends_together(live, model, leaks):
    """Of processes that executed another program: all their ends added up."""
    wrong = []
    last = collections.defaultdict(list)
    for (pid, _), ranges in model.alive.items():
        last[pid] += ranges
    for pid, ranges in last.items():
        if len(ranges) < 2:
            continue
        real = live.pid_of(pid)
        for n, rule in enumerate(("host-leak", "event-leak")):
            least, most = (sum(r[n][i] for r in ranges) for i in (0, 1))
            if not least <= leaks[real, rule] <= most:
                wrong.append(f"{rule} of {pid}: {least}..{most} / {leaks[real, rule]}")
    return wrong


def destroyed_as_told(live, said):
    """Whether what the follow-ups say of the event agrees with the history."""
    wrong = []
    for report in said.followups:
        if not report["event_destroyed"]:
            continue
        gap = round(report["destroy_gap_us"] * 1000)
        handle = int(report["event"], 16)
        time = said.time + gap
        if not any(entry.before <= time <= entry.begin and
                   ROLES[entry.step.name] == "EV_DESTROY" and
                   entry.step.args["event"] == handle for entry in live.entries):
            wrong.append(f"{said.position}: event {handle:#x} was not destroyed {gap} ns later")
    return wrong


def close_to_window(said, window):
    """Whether the age of the poll is about the window: then either level is right."""
    if not said.poll_entry:
        return False
    age = said.entry.begin - said.poll_entry.before
    least = said.entry.before - said.poll_entry.begin
    return least <= window <= age


def judge(live, reports, window):
    """What the model and aclguard disagree in on one history, and the model."""
    model = Model(window)
    model.run(live.seen())
    said = reports.said[live]
    answer = ([one for one in said], ends_of(live, model, reports.leaks),
              reports.summary.get("lost", {}).get("bound-exceeded", 0))
    wrong = live.mismatches + check.compare(model, answer)
    if model.void:
        return live.mismatches, model
    for one in said:
        wrong += destroyed_as_told(live, one)
        if close_to_window(one, window):
            wrong = [what for what in wrong if not what.startswith(f"{one.position}: level")]
    return wrong + ends_together(live, model, reports.leaks), model
