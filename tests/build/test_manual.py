#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The manual pages say what the program says of itself, all of it and no more.

The pages are read as their reader sees them, rendered; the program's side is its
--help, and for what --help does not tell the source.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checks import BUILD, ROOT, Tap, complaints, options_of_help, output, usage

OPTION = re.compile(r"(?:^|, )(--?[\w?][\w.-]*)(?:[= ](\S+?))?(?=, -|$)")


class Page:
    """A rendered page, as the lines of its sections."""

    def __init__(self, path):
        self.path = path
        self.sections = {}
        section = None
        for line in output("groff", "-mandoc", "-Tascii", "-P-cbou", path).splitlines():
            if re.match(r"[A-Z][A-Z ]+$", line):
                section = self.sections.setdefault(line, [])
            elif section is not None:
                section.append(line)

    def tags(self, section):
        """What the items of a list are called: text that stands at its left edge."""
        for line in self.sections.get(section, []):
            match = re.match(r" {5}(\S.*?)(?:  |$)", line)
            if match:
                yield match[1]

    def options(self):
        return dict(option for tag in self.tags("OPTIONS") if tag[0] == "-"
                    for option in OPTION.findall(tag))

    def statuses(self):
        return {int(tag) for tag in self.tags("EXIT STATUS") if tag.isdigit()}


def statuses_of_help(text, low=(0,)):
    text = " ".join(text.split())
    found = set()
    for first, last in re.findall(r"(?<!\w)(\d+)(?: to (\d+))? [a-zA-Z]", text):
        found |= set(range(int(first), int(last or first) + 1))
    return {n for n in found if n in low or 64 <= n < 128}


def statuses_of_source():
    with open(os.path.join(ROOT, "src", "exits.h"), encoding="ascii") as f:
        return {int(n) for n in re.findall(r"ACL_EXIT_\w+ = (\d+)", f.read())}


def variables_of_source():
    found = set()
    for path in glob.glob(os.path.join(ROOT, "src", "*.c")):
        with open(path, encoding="utf-8") as f:
            found |= set(re.findall(r'getenv\("(\w+)"\)', f.read()))
    return found


def same(left, right, what):
    """What each of two sets has that the other lacks, as lines."""
    return [f"{what}: only the program has {x}" for x in sorted(map(str, left - right))] + \
           [f"{what}: only the page has {x}" for x in sorted(map(str, right - left))]


def check_options(tap, helps, pages):
    for command in helps:
        name = "aclguard-" * bool(command) + (command or "aclguard")
        tap.result(f"{name}(1): the options", same(
            set(options_of_help(helps[command]).items()), set(pages[name].options().items()),
            "option") if name in pages else ["there is no such page"])


def check_statuses(tap, helps, pages):
    every = statuses_of_source()
    tap.result("aclguard(1): the exit statuses",
               same(every, pages["aclguard"].statuses(), "exit status"))
    live = statuses_of_help(helps["run"]) | statuses_of_help(helps["watch"])
    told = {
        "run": statuses_of_help(helps["run"]),
        "watch": statuses_of_help(helps["watch"]),
        "record": live,
        "replay": statuses_of_help(helps["replay"]),
        "export": statuses_of_help(helps["export"]),
        "doctor": statuses_of_help(helps["doctor"], (0, 1, 2)),
        "control": statuses_of_help(helps["control"]),
    }
    for command in sorted(told):
        wrong = same(told[command] & every, pages["aclguard-" + command].statuses(),
                     "exit status")
        if told[command] - every:
            wrong.append(f"--help tells of {told[command] - every}, src/exits.h does not")
        tap.result(f"aclguard-{command}(1): the exit statuses", wrong)


def main():
    tap = Tap()
    made = subprocess.run(["make", f"BUILD={BUILD}", "man"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    paths = sorted(glob.glob(os.path.join(BUILD, "man", "*.1")))
    tap.result("make man", [] if paths and not made.returncode else made.stderr.splitlines())
    if not shutil.which("groff"):
        tap.skip("what the pages say", "no groff")
        return tap.end()

    pages = {os.path.basename(path)[:-2]: Page(path) for path in paths}
    helps = {"": usage()}
    for command in re.findall(r"^ *(?:Usage|or): +aclguard \[OPTION\.\.\.\] (\w+)", helps[""],
                              re.M):
        helps[command] = usage(command)
    tap.result("a page for every command", same(
        {"aclguard"} | {"aclguard-" + command for command in helps if command}, set(pages),
        "page"))
    check_options(tap, helps, pages)
    check_statuses(tap, helps, pages)
    rules = re.findall(r"^  ([\w-]+)  ", helps[""].partition("\nRules:\n")[2], re.M)
    tap.result("aclguard(1): the rules", same(
        set(rules), {t for t in pages["aclguard"].tags("RULES") if re.fullmatch(r"[a-z-]+", t)
                     and "-" in t}, "rule"))
    tap.result("aclguard(1): the environment", same(
        variables_of_source(), {t for t in pages["aclguard"].tags("ENVIRONMENT")
                                if t.isupper()}, "variable"))

    for path in paths:
        name = os.path.basename(path)
        tap.result(f"groff takes {name}", complaints("groff", "-ww", "-mandoc", "-z", path))
    if shutil.which("mandoc"):
        tap.result("mandoc takes all pages", complaints("mandoc", "-T", "lint", "-W", "warning",
                                                         *paths))
    else:
        tap.skip("mandoc takes all pages", "no mandoc")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
