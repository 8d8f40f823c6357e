#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard watch: it comes to programs that run, and leaves them as they were."""

import functools
import os
import re
import signal
import sys

import world
from world import expect, expect_equal

PYTHON = sys.executable or "python3"


class Steps:
    """The scenario `steps`, which does a step when told to."""

    def __init__(self, shape="mono", race="certain", env=None, prefix=(), program=None):
        self.process = world.start([*prefix, program or world.scenario("steps", shape)],
                                   shape=shape, race=race,
                                   env=env, stdin=world.subprocess.PIPE)
        self.pid = self.process.pid
        self.code = int(self.answer(), 16)
        self.original = self.first_byte()

    def answer(self):
        return read_line(self.process.stdout.fileno())

    def do(self, letters):
        for letter in letters:
            os.write(self.process.stdin.fileno(), letter.encode())
            expect_equal(self.answer(), letter, "answer")

    def first_byte(self):
        """Of aclrtFreeHost, as it is in memory now."""
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as f:
            f.seek(self.code)
            return f.read(1)

    def is_probed(self):
        return self.first_byte() != self.original

    def finish(self):
        """Its own account of what it did."""
        ended = world.finish(self.process)
        expect_equal((ended.status, ended.err), (0, b""), "end of the program")
        line, = ended.lines()
        return line


def own_library():
    """A copy that nobody else maps: a probe is in a file, for all that map it."""
    folder = world.scratch("lib")
    os.mkdir(folder)
    world.shutil.copy(os.path.join(world.runtime("mono"), "libascendcl.so"), folder)
    return {"LD_LIBRARY_PATH": folder}


def read_line(fd):
    """Unbuffered, so that nothing of what follows is taken away."""
    text = b""
    while not text.endswith(b"\n"):
        ready, _, _ = world.select.select([fd], [], [], world.PATIENCE)
        expect(ready, f"no answer but {text!r}")
        char = os.read(fd, 1)
        expect(char, f"the program ended after {text!r}")
        text += char
    return text.decode(errors="replace").rstrip("\n")


class Watch:
    """aclguard watch -v --json, with its reports in a file."""

    def __init__(self, *options, env=None):
        self.path = world.scratch("report")
        self.process = world.start([world.ACLGUARD, "watch", "-v", "--json", "--output", self.path,
                                    *options], env=env)
        self.said = ""

    def wait_for(self, pattern):
        """Until it says that."""
        while not re.search(pattern, self.said):
            self.said += read_line(self.process.stderr.fileno()) + "\n"

    def finish(self):
        ended = world.finish(self.process)
        ended.err = self.said.encode() + ended.err
        ended.reports = world.reports_of(self.path)
        return ended

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.finish()


def attached(*targets, env=None):
    watch = Watch("-p", ",".join(str(target.pid) for target in targets), env=env)
    for target in targets:
        watch.wait_for(f"attached to process {target.pid}\\b")
    return watch


def verdicts(ended, pid):
    return [(v["rule"], v["level"], v["evidence"], v["pointer"])
            for v in ended.of("violation", pid)]


def test_evidence(shape):
    """What began before the attachment is suspected and a warning, the rest is certain."""
    target = Steps(shape)
    target.do("c")
    watch = attached(target)
    target.do("qfd" "cqfd" "csfd")
    ended = watch.stop()
    line = target.finish()
    expect_equal(ended.status, 0, "status of watch")
    before, after, _ = line["frees"]
    expect_equal(verdicts(ended, target.pid),
                 [("free-before-destroy", "warning", "suspected", before["buffer"]),
                  ("free-before-destroy", "error", "certain", after["buffer"])], "verdicts")
    late, certain = ended.of("violation")
    expect_equal(late["suspects"], ["late-attach"], "why it is only suspected")
    expect_equal(late["poll"]["event"], before["event"], "the event polled")
    expect_equal((certain["buffer"]["size"], certain["copy"]["address"]),
                 (after["size"], after["host"]), "buffer and copy")
    for violation, fact in (late, before), (certain, after):
        last = [f for f in ended.of("followup") if f["id"] == violation["id"]][-1]
        expect_equal((last["return"], last["evidence"], last["event_destroyed"]),
                     (fact["ret"], "confirmed", True), "follow-up")
    expect_equal(ended.summary()["late_processes"], 1, "late processes")


def test_detach():
    """Ctrl-C detaches: no probe is left, and the target runs on"""
    target = Steps(env=own_library())
    watch = attached(target)
    expect(target.is_probed(), "attached, and no probe in the target's memory")
    target.do("cqfd")
    ended = watch.stop()
    expect_equal(ended.status, 0, "status of watch")
    expect(not target.is_probed(), "a probe is left in the target's memory")
    target.do("cqfd")
    line = target.finish()
    expect_equal([f["ret"] for f in line["frees"]], [507899] * 2, "the target's frees")
    expect_equal(verdicts(ended, target.pid), [("free-before-destroy", "error", "certain",
                                                line["frees"][0]["buffer"])], "verdicts")


def test_error_exitcode():
    """--error-exitcode: whether an error was reported, not what the target ends with"""
    wanted = {"cqfd": 42, "csfd": 0}
    targets = [Steps() for _ in wanted]
    watches = [Watch("-p", target.pid, "--error-exitcode=42") for target in targets]
    for target, watch, letters in zip(targets, watches, wanted):
        watch.wait_for(f"attached to process {target.pid}\\b")
        target.do(letters)
        target.finish()
    expect_equal([watch.finish().status for watch in watches], list(wanted.values()),
                 "exit statuses")


def test_target_exits():
    """when the target ends, watch ends well"""
    target = Steps()
    watch = attached(target)
    target.do("cqfd")
    line = target.finish()
    ended = watch.finish()
    expect_equal(ended.status, 0, "status of watch")
    expect_equal(len(ended.of("violation")), 1, "violations")
    expect_equal(ended.summary()["errors"], 1, "errors in the summary")
    expect_equal(line["free_failed"], 1, "the target's failed frees")


def test_target_killed():
    """when the target is killed between free and destroy, the story ends"""
    target = Steps()
    watch = attached(target)
    target.do("cqf")
    target.process.kill()
    ended = watch.finish()
    expect_equal(ended.status, 0, "status of watch")
    last = ended.of("followup")[-1]
    expect_equal((last["event_destroyed"], last["final"], last["return"]), (False, True, 507899),
                 "the last follow-up")


def killed(seconds, env=None):
    target = Steps(env=own_library())
    watch = attached(target, env=env)
    target.do("c")
    expect(target.is_probed(), "attached, and no probe in the target's memory")
    watch.process.kill()
    watch.process.wait()
    target.do("q")
    world.wait_until(lambda: not target.is_probed(), "the removal of the probes", seconds)
    target.do("fd" "cqfd")
    expect_equal(len(target.finish()["frees"]), 2, "the target's frees")


def test_killed():
    """SIGKILL of aclguard: no probe is left, and the target runs on"""
    killed(5)


def test_killed_without_uprobe_multi():
    """the same with the older way of attaching"""
    killed(60, {"ACLGUARD_NO_UPROBE_MULTI": "1"})


def test_two():
    """two processes at once, and the end of one is not the end of the other"""
    first, second = Steps("mono"), Steps("both", "impossible")
    watch = attached(first, second)
    first.do("cqfd")
    lines = [first.finish()]
    second.do("cqfd" "cqfd")
    lines.append(second.finish())
    ended = watch.finish()
    expect_equal(ended.status, 0, "status of watch")
    for line in lines:
        expect_equal(verdicts(ended, line["pid"]),
                     [("free-before-destroy", "error", "certain", f["buffer"])
                      for f in line["frees"]], f"verdicts of {line['pid']}")
    expect_equal(len(ended.summary()["libraries"]), 3, "libraries")


def test_out_of_scope():
    """a process that was not asked for is not reported, though its library is probed"""
    target, other = Steps(), Steps()
    watch = attached(target)
    other.do("cqfd")
    target.do("cs")
    ended = watch.stop()
    expect_equal(ended.of("violation"), [], "violations")
    expect_equal(ended.summary()["calls"]["aclrtMallocHost"]["entered"], 1, "calls seen")
    other.finish()
    target.do("fd")
    target.finish()


class Python:
    """target.py, told by words."""

    def __init__(self, env=None):
        self.process = world.start([PYTHON, os.path.join(world.HERE, "target.py")], env=env,
                                   race="certain", stdin=world.subprocess.PIPE)
        self.pid = self.process.pid

    def do(self, *words):
        for word in words:
            os.write(self.process.stdin.fileno(), word.encode() + b"\n")
            answer = read_line(self.process.stdout.fileno())
            expect_equal(answer, word.partition(" ")[0], "answer")


def capabilities(pid):
    """Those in force, and those that may be."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        text = file.read()
    return [int(re.search(rf"{name}:\s+(\w+)", text)[1], 16) for name in ("CapEff", "CapPrm")]


def test_privileges():
    """once attached it may do what attaching takes, and of that reads maps only, but for moments"""
    kill, ptrace, admin, lease, perfmon, bpf, checkpoint, search = 5, 19, 21, 28, 38, 39, 40, 2
    needed = sum(1 << n for n in (kill, ptrace, admin, lease, perfmon, bpf, checkpoint,
                                         search))
    target = Steps()
    watch = attached(target)
    world.wait_until(lambda: capabilities(watch.process.pid)[1] & ~needed == 0, "it has given up")
    world.wait_until(lambda: capabilities(watch.process.pid)[0] == 1 << bpf, "only maps are read")
    target.do("cqfd")
    target.finish()
    ended = watch.finish()
    stack, = [v["stack"] for v in ended.of("violation", target.pid)]
    expect("main" in [frame["function"] for frame in stack], "stack:", stack)


def test_waiting():
    """a process without the library is waited for, and watched when it opens it"""
    target = Python()
    watch = Watch("-p", target.pid)
    watch.wait_for(f"{target.pid} has not loaded the Ascend runtime yet: waiting")
    target.do("load")
    watch.wait_for(f"{target.pid} has loaded the Ascend runtime: attached")
    target.do("order")
    world.finish(target.process)
    ended = watch.finish()
    expect_equal(ended.status, 0, "status of watch")
    expect_equal([v[:3] for v in verdicts(ended, target.pid)],
                 [("free-before-destroy", "error", "certain")], "verdicts")


def test_waiting_in_vain():
    """a process that ends without the library: watch ends well"""
    target = Python()
    watch = Watch("-p", target.pid)
    watch.wait_for("waiting for it")
    world.finish(target.process)
    ended = watch.finish()
    expect_equal((ended.status, ended.of("violation")), (0, []), "status and violations")


def test_no_wait():
    """--no-wait refuses it"""
    target = Python()
    ended = world.run([world.ACLGUARD, "watch", "--no-wait", "-p", target.pid])
    expect_equal(ended.status, world.NO_LIBRARY, "status")
    world.mentions(ended.err, str(target.pid), "Ascend runtime", "libascendcl.so", "--no-wait")
    world.finish(target.process)


def test_deleted_library():
    """a library whose file is gone is watched all the same"""
    env = own_library()
    target = Python(env=env)
    target.do("load")
    os.unlink(os.path.join(env["LD_LIBRARY_PATH"], "libascendcl.so"))
    watch = attached(target)
    target.do("order")
    world.finish(target.process)
    ended = watch.finish()
    expect_equal([v[:3] for v in verdicts(ended, target.pid)],
                 [("free-before-destroy", "error", "certain")], "verdicts")


if __name__ == "__main__":
    world.run_tests(
        [(f"before and after the attachment, {shape}", functools.partial(test_evidence, shape))
         for shape in ("mono", "split", "both")] +
        world.titled(test_privileges, test_detach, test_error_exitcode, test_target_exits,
                     test_target_killed, test_killed,
                     test_killed_without_uprobe_multi, test_two, test_out_of_scope, test_waiting,
                     test_waiting_in_vain, test_no_wait, test_deleted_library))
