# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Histories of calls: the steps, the table of calls, and the readable form in files.

One step a line; what follows a '#' is a comment:

    POSITION PID/TID > CALL NAME=VALUE...       a thread enters a call
    POSITION PID/TID < RET [out=VALUE]          it returns
    POSITION PID attach                         from here on every probe is in place; the
                                                process ran before
    POSITION PID exec | exit                    the incarnation ends
    POSITION PID fork child=PID
    POSITION PID/TID thread-exit                perhaps inside a call
    POSITION PID/TID lost                       the return of its call will not be seen
"""

import os
import re

CALLS_H = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/calls.h")

ROLES = {}
CALLS = []          # in the order of enum acl_call

with open(CALLS_H, encoding="ascii") as _file:
    for _row in re.finditer(r'CALL\((acl\w+), (\w+), "\w*"\)', _file.read()):
        CALLS.append(_row[1])
        ROLES[_row[1]] = _row[2]


class Step:
    __slots__ = ("position", "pid", "tid", "kind", "name", "args", "ret", "out")

    def __init__(self, position, pid, tid, kind, name=None, args=None, ret=None, out=None):
        self.position = position
        self.pid = pid
        self.tid = tid
        self.kind = kind
        self.name = name
        self.args = args if args is not None else {}
        self.ret = ret
        self.out = out

    def __str__(self):
        who = f"{self.pid}/{self.tid}" if self.tid is not None else f"{self.pid}"
        text = f"{self.position:>10} {who:<6} "
        if self.kind == "enter":
            text += f"> {self.name}"
        elif self.kind == "leave":
            return text + f"< {self.ret}" + (f" out={self.out:#x}" if self.out is not None else "")
        else:
            text += self.kind
        for name, value in self.args.items():
            if name == "items":
                value = ",".join(":".join(f"{x:#x}" for x in item) for item in value)
            elif value > 99:
                value = f"{value:#x}"
            text += f" {name}={value}"
        return text


def dump(history):
    return "".join(f"{step}\n" for step in history)


def parse(text):
    history = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        pid, _, tid = words[1].partition("/")
        args = {}
        for word in words[3:]:
            name, equals, value = word.partition("=")
            if not equals:
                continue
            if name == "items":
                args[name] = [tuple(int(x, 0) for x in item.split(":"))
                              for item in value.split(",") if item]
            else:
                args[name] = int(value, 0)
        step = Step(int(words[0]), int(pid), int(tid) if tid else None, words[2])
        if words[2] == ">":
            step.kind, step.name, step.args = "enter", words[3], args
        elif words[2] == "<":
            step.kind, step.ret, step.out = "leave", int(words[3]), args.get("out")
        else:
            step.args = args
        history.append(step)
    return history
