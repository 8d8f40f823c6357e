#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Suppressions: what a file describes is counted, neither told nor acted upon; and names
that a program chooses reach no output as they are."""

import functools
import os
import re
import signal
import subprocess
import time

import world
from world import expect, expect_equal

ROUNDS = 12
HEADLINE = re.compile(rb"^==\d+==aclguard: (?:ERROR|WARNING|NOTE) #", re.M)

EVIL = b"\x1b[2J\nevil}\r\xff\xe2\x80\xae{*?\\ "
LONG = b"L" * 4096
FOLDER = b"di\x1b[31mr\n\xfe"
COMM = b"\x1b[1m\n\xff{}*"


def in_flight():
    return [world.scenario("free_in_flight"), ROUNDS]


def reported(command, *options, **how):
    """Status and report, as bytes, of a text report."""
    path = world.scratch("report")
    ended = world.run(world.guarded_command(command, ["--output", path, *options]), **how)
    with open(path, "rb") as f:
        return ended, f.read()


def written(*lines):
    path = world.scratch("a.supp")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def entry(*lines):
    return "{", *lines, "}"


def entries_of(text):
    """What --gen-suppressions has put into a report."""
    return b"".join(re.findall(rb"^\{\n(?:[^{}\n].*\n)*\}\n", text, re.M))


def option(path):
    return f"--suppressions={path}"


def generated():
    """A generated entry suppresses what it was made of, in text and in JSON"""
    ended, text = reported(in_flight(), "--gen-suppressions", race="certain")
    path = world.scratch("made.supp")
    with open(path, "wb") as f:
        f.write(entries_of(text))
    ended, text = reported(in_flight(), option(path), "--error-exitcode=9", race="certain")
    expect_equal(ended.status, 0, "status where all is suppressed")
    expect(not HEADLINE.search(text), text)
    world.mentions(text, f"suppressed: {ROUNDS} by 1 of 1 entry\n", r"ERROR SUMMARY: 0 errors",
                   rf"  {ROUNDS} by site [0-9a-f]{{12}} \({path}:1\)\n", "nothing was lost")

    ended = world.guarded(in_flight(), ["--gen-suppressions"], race="certain")
    every = {v["suppression"] for v in ended.of("violation")}
    expect_equal(len(every), 1, "entries")
    with open(path, "w", encoding="utf-8") as f:
        f.write(every.pop())
    ended = world.guarded(in_flight(), [option(path)], race="certain")
    expect_equal(ended.of("violation") + ended.of("followup"), [], "reports")
    summary = ended.summary()
    expect_equal((summary["errors"], summary["suppressed"], summary["suppressed_by_rule"]),
                 (0, ROUNDS, {"free-in-flight": ROUNDS}), "counts")
    expect_equal([(s["file"], s["line"], s["count"]) for s in summary["suppressions"]],
                 [(path, 1, ROUNDS)], "entries and their use")
    expect_equal([summary["lost"]["orphaned-followups"], summary["sites"],
                  summary["lost_violations"]], [0, [], {}], "losses, sites")


def by_frames():
    """Frames, programs and rules decide; the first entry that fits counts; -v names the others"""
    path = written("# of another program", *entry("rule *", "program python*"),
                   *entry("rule double-free", "..."),
                   *entry("name the third", "rule double-free,free-in-flight",
                          "program free_in_*", "function aclrtFreeHost", "...",
                          "function main"),
                   *entry("rule *", "...", "module libc.so*"))
    ended, text = reported(in_flight(), option(path), "-v", race="certain")
    expect_equal(ended.status, 0, ended.said())
    expect(not HEADLINE.search(text), text)
    world.mentions(text, f"suppressed: {ROUNDS} by 1 of 4 entries\n",
                   rf"  {ROUNDS} by the third \({path}:10\)\n", rf"  unused: {path}:2\n",
                   rf"  unused: {path}:6\n", rf"  unused: {path}:18\n")
    for lines in (["function release_unfinished"], ["...", "function nowhere"],
                  ["program free"], ["function aclrtFreeHost", "function main"]):
        path = written(*entry("rule free-in-flight", *lines))
        ended, text = reported(in_flight(), option(path), race="certain")
        expect_equal(len(HEADLINE.findall(text)), 1, f"reports with {lines}")
        world.mentions(text, "suppressed: 0 by 0 of 1 entry")


def of_several():
    """Two files; what they do not describe is reported, and counts for the exit status"""
    one = written(*entry("rule free-before-destroy", "program pcd_order"))
    two = written(*entry("rule free-in-flight", "program nobody"))
    both = world.sh([world.scenario("pcd_order"), 3], in_flight())
    ended, text = reported(both, option(one), option(two), "--error-exitcode=9", race="certain")
    expect_equal(ended.status, 9, "status")
    expect_equal(len(HEADLINE.findall(text)), 1, "reports")
    world.mentions(text, "suppressed: 3 by 1 of 2 entries", f"ERROR SUMMARY: {ROUNDS} errors")


def leaks():
    """What is left over is suppressed by where it was made"""
    command = [world.scenario("leaks")]
    ended, text = reported(command)
    places = len(re.findall(rb"aclguard: NOTE event-leak", text))
    expect(places, text)
    path = written(*entry("rule event-leak", "function *"))
    ended, text = reported(command, option(path))
    expect(b"NOTE event-leak" not in text, text)
    world.mentions(text, "suppressed: [1-9][0-9]* by 1 of 1 entry", "NOTE host-leak")
    ended = world.guarded(command, [option(path)])
    expect_equal([g["rule"] for g in ended.of("leak") if g["rule"] == "event-leak"], [],
                 "leaks")


def wrong_files():
    """A wrong file is refused with its line, before anything is started"""
    marker = world.scratch("marker")
    good = written(*entry("rule *", "program a"))
    for lines, line, words in (
            (entry("rule free-in-fligh"), 2, "unknown rule 'free-in-fligh'"),
            (("", *entry("rule *", "fun f")), 4, "unknown word 'fun'"),
            (("{", "rule *"), 2, "has no '}'"),
            (entry("rule *"), 3, "everything"),
            (entry("rule *", "function a\\"), 3, "no pattern"),
            (("{", "\x1b[31mred"), 2, r"\x1b[31mred")):
        path = written(*lines)
        for command in ([world.ACLGUARD, "run", option(good), option(path), "--", "touch", marker],
                        [world.ACLGUARD, "watch", option(path), "-p", os.getpid()],
                        [world.ACLGUARD, "replay", option(path), "/dev/null"]):
            ended = world.run(command)
            expect_equal(ended.status, world.USAGE, ended.said())
            said = ended.err.decode()
            expect(said.startswith(f"aclguard: {path}:{line}: ") and words in said, said)
    expect(not os.path.exists(marker), "the program was started")
    ended = world.run([world.ACLGUARD, "run", "--suppressions=/nowhere", "--", "true"])
    expect_equal(ended.status, world.USAGE, ended.said())
    world.mentions(ended.err, "cannot read the suppressions in /nowhere: No such file")


def pipes():
    """A pipe is read to its end; one that nobody writes to is refused, and can be interrupted"""
    ours, theirs = os.pipe()
    process = world.start([world.ACLGUARD, "replay", option(f"/dev/fd/{ours}"), "/dev/null"],
                          pass_fds=[ours])
    for text in b"{\nrule *\n", b"program a\n}\n{\n":
        time.sleep(.3)
        os.write(theirs, text)
    os.close(theirs)
    world.mentions(world.finish(process).err, f"/dev/fd/{ours}:5: .*has no '}}'")

    path, marker = world.scratch("fifo"), world.scratch("marker")
    os.mkfifo(path)
    command = [world.ACLGUARD, "run", option(path), "--", "touch", marker]
    ended = world.run(command)
    expect_equal(ended.status, world.USAGE, ended.said())
    world.mentions(ended.err, "nothing came for 5 s")
    for number in signal.SIGINT, signal.SIGTERM:
        process = world.start(command)
        world.wait_until(lambda: has_reader(path), "that the pipe is read")
        process.send_signal(number)
        expect_equal(world.finish(process, timeout=4).status, -number, "status")
    expect(not os.path.exists(marker), "the program was started")


def has_reader(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def not_acted_upon():
    """What is suppressed is not acted upon, whether the kernel asks first or not"""
    path = written(*entry("rule free-in-flight", "...", "function main"))
    for action in "kill", "stop":
        ended = world.guarded(in_flight(), [option(path), f"--enforce=free-in-flight={action}"],
                              race="certain")
        expect_equal(ended.status, 0, f"{action}: {ended.said()}")
        summary = ended.summary()
        expect_equal(summary["suppressed"], ROUNDS, f"{action}: suppressed")
        outcomes = {(a["outcome"], a["count"]) for a in summary["enforcement"]["actions"]}
        expect_equal(outcomes, {("suppressed", ROUNDS)}, f"{action}: outcomes")
    path = written(*entry("rule free-in-flight", "...", "function elsewhere"))
    ended = world.guarded(in_flight(), [option(path), "--enforce=free-in-flight=kill"],
                          race="certain")
    expect(ended.status != 0, "not killed: ", ended.said())
    told = ended.of("violation")
    expect_equal([(v["enforcement"]["action"], v["enforcement"]["outcome"]) for v in told],
                 [("kill", "sent")], "action that is not suppressed")


def replayed():
    """A recording has no stacks: rules and programs decide"""
    recording = world.scratch("recording")
    world.run([world.ACLGUARD, "record", "-o", recording, "--", *in_flight()], race="certain")
    for lines, count in ((("program free_in_flight",), ROUNDS), (("function main",), 0)):
        path = written(*entry("rule free-in-flight", *lines))
        ended = world.run([world.ACLGUARD, "replay", "--json", option(path), recording])
        summary = world.json.loads(ended.out.splitlines()[-1])
        expect_equal((summary["suppressed"], summary["errors"]), (count, ROUNDS - count),
                     f"suppressed by {lines}")


# ---- hostile names ----------------------------------------------------------------

@functools.lru_cache(None)
def hostile():
    """The command of a program whose every name is meant to do harm."""
    include = [word for folder in ("tests/sim/include", "tests/scenarios", "include")
               for word in ("-I", os.path.join(world.ROOT, folder))]
    link = ["-L", world.runtime("mono"), "-lascendcl"]
    flags = ["-D_GNU_SOURCE", "-Wno-unused-function", "-fno-omit-frame-pointer",
             "-fno-optimize-sibling-calls"]
    program = world.compile_c("hostile.c", "-DPROGRAM", *include, *flags, *link, "-ldl")
    objects = world.compile_c("hostile.c", "-c", "-fPIC", *include, *flags)
    folder = os.path.join(os.fsencode(world.scratch("hostile")), FOLDER)
    os.makedirs(folder)
    library = os.path.join(folder, b"lib" + FOLDER + b".so")
    for old, new in ((b"long_name", LONG), (b"evil_name", EVIL)):
        subprocess.run([b"objcopy", b"--redefine-sym", old + b"=" + new, os.fsencode(objects)],
                       check=True)
    subprocess.run([*map(os.fsencode, world.CC), b"-shared", b"-o", library,
                    os.fsencode(objects), *map(os.fsencode, link)], check=True)
    return [os.fsencode(program), b"3", library, COMM]


def run_hostile(*options):
    """Standard output and the report as bytes."""
    path = world.scratch("report")
    command = [os.fsencode(str(word)) for word in
               [world.ACLGUARD, "run", "--output", path, *options, "--"]] + hostile()
    process = subprocess.Popen(command, env=world.environment("mono", "certain"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    ended = world.finish(process)
    expect_equal(ended.status, 0, ended.said())
    with open(path, "rb") as f:
        return ended.err + f.read()


def expect_harmless(text):
    """Lines of printable text, as long as a line of names may be."""
    shown = text.decode("utf-8")
    bad = [c for c in shown if c != "\n" and not c.isprintable()]
    expect(not bad, f"unprintable: {bad}")
    expect(max(map(len, shown.split("\n"))) < 6000, "a line that long")
    for line in shown.split("\n"):
        expect(re.match(r"==(\d+|aclguard)==|  |\{$|\}$|aclguard: |$", line), f"stray: {line!r}")


def hostile_text():
    """Escape sequences, newlines and invalid UTF-8 in names reach no text as they are"""
    text = run_hostile("--gen-suppressions")
    expect_harmless(text)
    world.mentions(text, re.escape(r"\x1b[2J\x0aevil}\x0d\xff\u{202e}{*?\\ "), "L{500}",
                   re.escape(r"by \x1b[1m\x0a\xff{}* ("), re.escape(r"libdi\x1b[31mr\x0a\xfe.so"),
                   r"site [0-9a-f]{12}: 3 times, 3 confirmed: free-in-flight by \\x1b")
    expect_harmless(run_hostile("--no-fold", "-v"))


def hostile_json():
    """JSON says what the names are, by valid strings"""
    lines = run_hostile("--json", "--gen-suppressions", "--fold").splitlines()
    reports = [world.json.loads(line.decode("utf-8")) for line in lines]
    for line in lines:
        expect(all(32 <= byte < 127 or byte >= 128 for byte in line), "control characters")
    told, = [r for r in reports if r["type"] == "violation"]
    functions = [f["function"] for f in told["stack"]]
    expect_equal(functions[1:4], [LONG.decode(), EVIL.decode(errors="replace"), "entry"],
                 "functions")
    expect(FOLDER.decode(errors="replace") in told["stack"][1]["module"], told["stack"][1])
    expect_equal(told["program"], COMM.decode(errors="replace"), "program")
    expect_equal(reports[-1]["sites"][0]["count"], 3, "count")


def hostile_entries():
    """What is generated for such names is a file that suppresses them"""
    path = world.scratch("hostile.supp")
    text = run_hostile("--gen-suppressions")
    with open(path, "wb") as f:
        f.write(entries_of(text))
    text = run_hostile(option(path), "-v")
    expect_harmless(text)
    expect(not HEADLINE.search(text), text)
    world.mentions(text, "suppressed: 3 by 1 of 1 entry")


if __name__ == "__main__":
    world.run_tests(world.titled(generated, by_frames, of_several, leaks, wrong_files,
                                 pipes, not_acted_upon, replayed, hostile_text, hostile_json,
                                 hostile_entries))
