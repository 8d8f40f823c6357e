# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Random histories of calls as a recording, in the format of src/recording.h.

Each history of tests/model becomes processes of its own, one after the other, so that one
recording holds many and every machine can be asked for its verdicts on the same ones.
"""

import collections
import os
import re
import struct
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "model"))

import check                        # noqa: E402 pylint: disable=wrong-import-position
import history as hist              # noqa: E402 pylint: disable=wrong-import-position
from generate import Generator      # noqa: E402 pylint: disable=wrong-import-position
from model import WINDOW            # noqa: E402 pylint: disable=wrong-import-position

COUNT = 1000
HEADER, ENTER, LEAVE, BATCH, THREAD_EXIT, PROC, _, EXEC, EXIT, FORK, LOST, ROUND, END = \
    range(1, 14)
PIDS = 10           # more than a history has processes
APART = 10 ** 10    # ns between histories: longer than anything is remembered for


def string(text):
    return bytes([len(text)]) + text.encode()


class Recording:
    def __init__(self, window):
        self.out = bytearray(b"\x89ACLREC\n" + struct.pack("<II", 0x0A0B0C0D, 1))
        self.counts = collections.Counter()
        payload = struct.pack("<QqQIIB3x", 1, 0, window, (1 << len(check.RULES)) - 2, 4096, 1)
        payload += b"".join(map(string, ("any", "any", "any", "any")))
        for names in hist.CALLS, ["", *check.RULES[1:]], []:
            payload += struct.pack("<H", len(names)) + b"".join(map(string, names))
        self.add(HEADER, payload)

    def add(self, kind, payload):
        head = struct.pack("<IHH", len(payload), kind, 0)
        self.out += head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload
        self.counts[kind] += 1

    def end(self, time):
        rows = sorted(self.counts.items())
        self.add(END, struct.pack("<QH", time, len(rows)) +
                 b"".join(struct.pack("<HQ", *row) for row in rows))
        return bytes(self.out)


class Writer:
    """Puts histories, in the language of tests/model/driver.c, into a recording."""

    def __init__(self, rec):
        self.rec = rec
        self.incarnations = 0

    def history(self, number, text):
        self.base = 10000 * (number + 1)
        self.since = APART * (number + 1)
        self.inc = {}                   # by pid
        self.seq = collections.Counter()
        self.batch = collections.defaultdict(list)
        self.inside = collections.defaultdict(list)
        now = 0
        for line in text.splitlines():
            words = list(map(int, line[1:].split()))
            if line[0] == "H":
                self.attached = words[1:]
            elif line[0] in "NB":
                self.note_batch(line[0], *words)
            elif line[0] != ".":
                now = words[0] + self.since
                getattr(self, {"E": "enter", "L": "leave", "X": "exit", "C": "exec_",
                               "T": "thread_exit", "F": "fork"}[line[0]])(now, *words[1:])
        self.rec.add(ROUND, struct.pack("<Q", now + 1))
        return now + 2

    def note_batch(self, letter, pid, tid, *copy):
        if letter == "N":
            self.batch[pid, tid] = []
        else:
            self.batch[pid, tid].append(copy)

    def add(self, kind, now, pid, tid, *rest):
        payload = struct.pack("<QQ", now, self.inc.get(pid, 0))
        if kind == PROC:
            payload += struct.pack("<Q", rest[0])
        payload += struct.pack("<II", pid + self.base, tid + self.base)
        return self.rec.add(kind, payload + (b"" if kind == PROC else b"".join(rest)) +
                            (struct.pack("<B", rest[1]) + string("history")
                             if kind == PROC else b""))

    def seq_of(self, pid, tid):
        self.seq[self.inc[pid], tid] += 1
        return self.seq[self.inc[pid], tid] - 1

    def enter(self, now, pid, tid, sp, call, *args):
        if pid not in self.inc:
            self.incarnations += 1
            self.inc[pid] = self.incarnations << 32
            complete, late = self.attached if pid == 1 and self.attached else (0, 0)
            self.attached = None if pid == 1 else self.attached
            self.add(PROC, now, pid, tid, complete and complete + self.since, late)
        self.inside[pid, tid].append((now, sp, call))
        self.add(ENTER, now, pid, tid, self.call(pid, tid, sp, call, args))

    def call(self, pid, tid, sp, call, args):
        return struct.pack(f"<IHHQ{len(args)}Q", self.seq_of(pid, tid), call, len(args), sp, *args)

    def leave(self, now, pid, tid, sp, ret, out, out_ok):
        if pid not in self.inc:
            return
        calls = self.inside[pid, tid]
        while calls and calls[-1][1] != sp:
            calls.pop()
        if calls:
            entered, _, call = calls.pop()
            if hist.ROLES[hist.CALLS[call]] == "COPY_BATCH" and not ret:
                for dst, src, count in self.batch[pid, tid]:
                    self.add(BATCH, entered, pid, tid,
                             self.call(pid, tid, sp, call, (dst, 0, src, count)))
        self.add(LEAVE, now, pid, tid,
                 struct.pack("<IiQQQB", self.seq_of(pid, tid), ret, sp, out, 0, out_ok))

    def exit(self, now, pid):
        self.add(EXIT, now, pid, pid)
        self.inc.pop(pid, None)

    def exec_(self, now, pid):
        self.add(EXEC, now, pid, pid)
        self.inc.pop(pid, None)

    def thread_exit(self, now, pid, tid):
        self.add(THREAD_EXIT, now, pid, tid)
        self.inside.pop((pid, tid), None)

    def fork(self, now, pid, child):
        self.add(FORK, now, pid, pid, struct.pack("<I", child + self.base))


def recording(seeds):
    """The histories of these seeds."""
    rec = Recording(WINDOW)
    writer = Writer(rec)
    now = 0
    for number, seed in enumerate(seeds):
        now = writer.history(number, check.encode(Generator(seed).generate()))
    return rec.end(now)


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as _file:
        _file.write(recording(range(int(sys.argv[2]))))
