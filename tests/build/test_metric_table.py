#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The tables of metrics in the READMEs are the one in the code, and deploy/ names no other."""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checks import ACLGUARD, ROOT, Tap, output, text_of

BEGIN, END = "<!-- aclguard export --list-metrics -->\n", "<!-- end -->\n"


def names(table):
    return re.findall(r"^\| `(\w+)` \|", table, re.M)


def between_marks(text):
    return text.partition(BEGIN)[2].partition(END)[0]


def unknown_names(path, known):
    """What is named like a metric and is none, be it a part of a histogram."""
    text = text_of(path)
    found = set(re.findall(r"(?<![:\w])aclguard_[a-z_]+(?![:\w])", text))
    return [f"{path}: there is no {name}" for name in sorted(found)
            if name not in known and re.sub(r"_(bucket|sum|count)$", "", name) not in known]


def main():
    tap = Tap()
    table = output(ACLGUARD, "export", "--list-metrics")
    known = names(table)
    tap.result("each metric once", [] if known and len(known) == len(set(known))
               else ["no metric, or one twice"])
    tap.result("README.md has the table", [] if between_marks(text_of("README.md")) == table else
               [f"between {BEGIN.strip()} and {END.strip()} there is something else"])
    # the words may be of another language, but not the metrics
    for path in sorted(glob.glob("README.*.md", root_dir=ROOT)):
        there = names(between_marks(text_of(path)))
        tap.result(f"{path} has the same metrics",
                   [f"only one of both has {name}" for name in sorted(set(there) ^ set(known))])
    wrong = []
    for path in sorted(glob.glob("deploy/**", root_dir=ROOT, recursive=True)):
        if path.endswith((".yml", ".yaml", ".json")):
            wrong += unknown_names(path, set(known))
    tap.result("deploy/ names metrics that are there", wrong)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
