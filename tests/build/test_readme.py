#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""README.zh-CN.md says what README.md says: no more can be held of a translation than its bones.

Section by section, in the same order: the same level, the same code blocks to the letter, the same
links, tables with as many rows and columns and the same `terms` in each row, and the same `terms`
in the text between them.  A section of the translation has the anchor of the original above it.
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checks import Tap, text_of

TERM = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)]+)\)")
HEADING = re.compile(r"(#+) (.*)")
FOREIGN = {"README.md", "README.zh-CN.md"}      # each names the other one


def slug(title):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


class Section:
    def __init__(self, level, anchor):
        self.level = level
        self.anchor = anchor
        self.code, self.rows, self.text = [], [], []

    def terms(self):
        """In the text, by paragraphs joined: a sentence may put them into another order."""
        return collections.Counter(TERM.findall(" ".join(self.text)))

    def links(self):
        lines = self.text + self.rows
        return collections.Counter(link for line in lines for link in LINK.findall(line)
                                   if link not in FOREIGN)

    def table(self):
        return [(row.count("|") - row.count("\\|"), sorted(TERM.findall(row)))
                for row in self.rows]


def code_lines(lines, at):
    """A fenced or indented block that begins at a line, and where it ends."""
    end = at + 1
    if lines[at].startswith("```"):
        while end < len(lines) and not lines[end].startswith("```"):
            end += 1
        end += 1
    else:
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
    return "\n".join(lines[at:end]), end


def is_code(lines, at):
    if lines[at].startswith("```"):
        return True
    return lines[at].startswith("    ") and at > 0 and not lines[at - 1].strip()


def sections(text):
    lines, found, anchor, at = text.splitlines(), [Section(0, "")], "", 0
    while at < len(lines):
        line, heading = lines[at], HEADING.match(lines[at])
        if is_code(lines, at):
            block, at = code_lines(lines, at)
            found[-1].code.append(block)
            continue
        mark = re.fullmatch(r'<a id="([\w-]+)"></a>', line)
        if mark:
            anchor = mark[1]
        elif heading:
            found.append(Section(len(heading[1]), anchor or slug(heading[2])))
            anchor = ""
        elif line.startswith("|"):
            found[-1].rows.append(line)
        else:
            found[-1].text.append(line)
        at += 1
    return found


def missing(what, ours, theirs):
    return [f"{what} is missing: {item}" for item in (ours - theirs)] + \
        [f"{what} is not in the original: {item}" for item in (theirs - ours)]


def compare(one, other):
    """What a section of the translation lacks or has too much."""
    wrong = []
    if one.level != other.level:
        wrong.append(f"level {other.level} instead of {one.level}")
    wrong += missing("code block", collections.Counter(one.code),
                     collections.Counter(other.code))
    wrong += missing("link", one.links(), other.links())
    wrong += missing("term", one.terms(), other.terms())
    if len(one.rows) != len(other.rows):
        wrong.append(f"{len(other.rows)} rows of tables instead of {len(one.rows)}")
    wrong += [f"row differs: {row}" for row, left, right
              in zip(other.rows, one.table(), other.table()) if left != right]
    return wrong


def main():
    tap = Tap()
    original, translation = (sections(text_of(name)) for name in ("README.md", "README.zh-CN.md"))
    ours, theirs = ([part.anchor for part in parts] for parts in (original, translation))
    tap.result("the same sections in the same order",
               [f"{left} / {right}" for left, right in zip(ours + [""], theirs + [""])
                if left != right][:1])
    by_anchor = {part.anchor: part for part in translation}
    for part in original:
        if part.anchor in by_anchor:
            tap.result(f"section {part.anchor or 'before the first'}",
                       compare(part, by_anchor[part.anchor]))
    targets = {anchor for anchor in theirs if anchor}
    links = {link[1:] for part in translation for link in part.links() if link[0] == "#"}
    tap.result("every link within leads somewhere", sorted(links - targets))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
