# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Which metrics there are, and whether an expression names only such."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checks import text_of              # noqa: E402    it says where yaml may be

import yaml                             # noqa: E402

RECORDING, ALERTS = "deploy/prometheus/recording.yml", "deploy/prometheus/alerts.yml"
# What Prometheus adds.
TARGET_LABELS = {"job", "instance", "le"}
SUFFIXES = {"HISTOGRAM": ("_bucket", "_sum", "_count")}


def read_table():
    """What src/metric_table.h has: the series' names, each with its labels."""
    text = text_of("src", "metric_table.h")
    who = re.search(r'#define ACL_WHO "(.*)"', text)[1]
    text = re.sub(r"\\\n", " ", text.replace("ACL_WHO", f'"{who}"'))
    text = re.sub(r'"\s+"', "", text)
    found = {}
    for name, kind, labels in re.findall(
            r'X\(\w+,\s*"(\w+)",\s*(\w+),\s*"\w*",\s*"([\w,]*)"', text):
        for suffix in SUFFIXES.get(kind, ("",)):
            found[name + suffix] = set(labels.split(",")) - {""} | TARGET_LABELS
    found["up"] = set(TARGET_LABELS)
    return found


def rules(path):
    """The rules of a file, as Prometheus reads them."""
    return [rule for group in yaml.safe_load(text_of(path))["groups"] for rule in group["rules"]]


def recorded():
    return {rule["record"]: rule["expr"] for rule in rules(RECORDING)}


def names_in(expression):
    """The metrics and recorded series that an expression names."""
    bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"", '""', expression)
    bare = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", bare)
    bare = re.sub(r"\{[^}]*\}", "", bare)
    return set(re.findall(r"(?<![\w:$])(?:aclguard_\w+|process_\w+|up\b|\w*:\w+:\w+)", bare))


def labels_in(expression):
    """The labels it selects or groups by."""
    found = set(re.findall(r"(?:[{,]\s*)(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
    for group in re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", expression):
        found |= set(re.findall(r"\w+", group))
    return found


def wrong_names(what, expression):
    """Lines about what an expression names and is not there."""
    table, ours = read_table(), recorded()
    every = set().union(*table.values())
    wrong = [f"{what}: there is no {name}"
             for name in sorted(names_in(expression) - set(table) - set(ours))]
    return wrong + [f"{what}: no metric has a label {label}"
                    for label in sorted(labels_in(expression) - every)]
