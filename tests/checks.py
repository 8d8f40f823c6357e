# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What tests that compare texts with the program share: its help, and printing TAP.

A check is a list of lines, each a thing that is wrong; it passes if the list is empty.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
ACLGUARD = os.environ.get("ACLGUARD", os.path.join(BUILD, "aclguard"))

# Debian's modules, for a Python that is not Debian's; they come last.
sys.path.append("/usr/lib/python3/dist-packages")


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def result(self, name, wrong):
        self.n += 1
        for line in wrong:
            print("#", line)
        self.failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {self.n} - {name}", flush=True)

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.n}")
        return 1 if self.failed else 0


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def text_of(*path):
    """A file of the tree."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def usage(*words):
    env = {k: v for k, v in os.environ.items() if k != "ARGP_HELP_FMT"}
    return subprocess.run([ACLGUARD, *words, "--help"], check=True, capture_output=True,
                          text=True, env=env).stdout


def options_of_help(text):
    """The options, and what the value of each is called or nothing."""
    options = {}
    for short, name, value in re.findall(r"^ {2,6}(?:(-\S), |)(--[\w.-]+)(?:=(\S+))?", text,
                                         re.M):
        options[name] = value
        if short:
            options[short] = value
    return options


def complaints(*command):
    """What a program that checks something says, and how it ended."""
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    said = [line for line in (run.stdout + run.stderr).splitlines() if line]
    return said or ([f"{command[0]}: exit status {run.returncode}"] if run.returncode else [])


def fails(*command):
    """The same of a program that says something when all is well, too."""
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if not run.returncode:
        return []
    return (run.stdout + run.stderr).splitlines() + [f"exit status {run.returncode}"]


def anchors(markdown):
    """What a link can lead to: the headings, named as they are on the web."""
    found, code = set(), False
    for line in markdown.splitlines():
        code ^= line.startswith("```")
        if match := re.match(r"#+ +(.*)", line):
            if not code:
                name = re.sub(r"[^\w\- ]", "", match[1].lower())
                found.add(name.replace(" ", "-"))
    return found
