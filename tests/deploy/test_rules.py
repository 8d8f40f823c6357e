#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Prometheus takes the rules, each alert fires when it should and not otherwise, and
what the rules speak of exists."""
import os
import re
import shutil
import sys

from metrics import (ALERTS, RECORDING, names_in, read_table, recorded, rules, wrong_names,
                     yaml)
from checks import BUILD, ROOT, Tap, anchors, fails, text_of

TESTS = "tests/deploy/rules.yml"
SEVERITIES = {"info", "warning", "critical"}


def wrong_tests():
    """Alerts that are not tried both ways."""
    tried = {rule["alert"]: set() for rule in rules(ALERTS)}
    for group in yaml.safe_load(text_of(TESTS))["tests"]:
        for test in group.get("alert_rule_test", []):
            tried[test["alertname"]].add(bool(test["exp_alerts"]))
    return [f"{alert}: no test in which it {'fires' if way else 'does not fire'}"
            for alert, ways in tried.items() for way in {True, False} - ways]


def wrong_alerts():
    wrong = []
    sections = anchors(text_of("README.md"))
    for rule in rules(ALERTS):
        name, notes = rule["alert"], rule["annotations"]
        if set(notes) != {"summary", "description", "runbook"}:
            wrong.append(f"{name}: annotations {sorted(notes)}")
        if rule["labels"].get("severity") not in SEVERITIES:
            wrong.append(f"{name}: severity {rule['labels'].get('severity')}")
        file, _, anchor = notes["runbook"].partition("#")
        if file != "README.md" or anchor not in sections:
            wrong.append(f"{name}: the README has no section #{anchor}")
    return wrong


def wrong_readme():
    """The README's table of alerts has a row for each, and its severity."""
    rows = dict(re.findall(r"^\| `(Aclguard\w+)` \| (\w+) \|", text_of("README.md"), re.M))
    there = {rule["alert"]: rule["labels"]["severity"] for rule in rules(ALERTS)}
    return [f"README.md has {name}: {rows.get(name)}, alerts.yml {there.get(name)}"
            for name in sorted(set(rows) | set(there)) if rows.get(name) != there.get(name)]


def wrong_causes():
    """Causes of losses that a selector names exist."""
    source = text_of("include", "rules.h") + text_of("src", "summary.c")
    every = set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', source))
    wrong = []
    for rule in rules(ALERTS):
        for pattern in re.findall(r'cause=~?"([^"]*)"', rule["expr"]):
            for part in re.split(r"\|(?![^(]*\))", pattern):
                for name in expand(part):
                    if name not in every:
                        wrong.append(f"{rule['alert']}: nothing is lost for {name}")
    return wrong


def expand(pattern):
    """(a|b)-c: a-c, b-c."""
    match = re.fullmatch(r"\((.*)\)(.*)", pattern)
    return [word + match[2] for word in match[1].split("|")] if match else [pattern]


def wrong_resource():
    """The Prometheus operator gets the same rules."""
    path = os.path.join(BUILD, "prometheusrule.yaml")
    # as the Makefile calls it
    target = os.path.relpath(path, ROOT) if path.startswith(ROOT + os.sep) else path
    wrong = fails("make", f"BUILD={BUILD}", target)
    if wrong:
        return wrong
    groups = [group for file in (RECORDING, ALERTS)
              for group in yaml.safe_load(text_of(file))["groups"]]
    found = yaml.safe_load(text_of(path))
    return [] if found["kind"] == "PrometheusRule" and found["spec"] == {"groups": groups} \
        else [f"{path} has other rules"]


def wrong_unused():
    """A recorded series that nobody asks for costs for nothing."""
    asked = set()
    for rule in rules(RECORDING) + rules(ALERTS):
        asked |= names_in(rule["expr"])
    dashboard = text_of("deploy", "grafana", "aclguard.json")
    return [f"{name} is recorded and not used"
            for name in recorded() if name not in asked and name not in dashboard]


def main():
    tap = Tap()
    tap.result("the table of metrics was understood",
               [] if len(read_table()) > 50 else [f"only {len(read_table())} series"])
    if shutil.which("promtool"):
        tap.result("promtool takes the rules", fails("promtool", "check", "rules", RECORDING,
                                                      ALERTS))
        tap.result("promtool takes the example of a configuration",
                   fails("promtool", "check", "config", "deploy/prometheus/prometheus.yml"))
        tap.result("what is recorded, and when alerts fire", fails("promtool", "test", "rules",
                                                                    TESTS))
    else:
        tap.skip("promtool takes the rules", "no promtool")
    tap.result("every alert is tried both ways", wrong_tests())
    tap.result("every alert says what to do", wrong_alerts())
    tap.result("the README tells of every alert", wrong_readme())
    tap.result("the causes that alerts name exist", wrong_causes())
    tap.result("what the rules name exists",
               [line for rule in rules(RECORDING) + rules(ALERTS) for line in
                wrong_names(rule.get("record") or rule["alert"], rule["expr"])])
    tap.result("the Prometheus operator gets the same rules", wrong_resource())
    tap.result("what is recorded is used", wrong_unused())
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
