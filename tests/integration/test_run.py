#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard run: to the outside it is the program, and the program is as without it."""

import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import sys
import termios
import time

import world
from world import Failure, alone, expect, expect_equal

PYTHON = sys.executable or "python3"

# Reports of one round of pcd_order whose free fails, so that the buffer is left.
KINDS = ["violation", "followup", "leak", "summary"]

# Prints what comes in: "ready", then every signal by name, until SIGTERM.
LISTENER = r"""
import os, signal, sys, time
def heard(n, frame):
    os.write(1, (signal.Signals(n).name + "\n").encode())
    if n == signal.SIGTERM:
        os._exit(7)
for n in "INT QUIT HUP USR1 USR2 TERM WINCH".split():
    signal.signal(getattr(signal, "SIG" + n), heard)
os.write(1, b"ready\n")
while True:
    time.sleep(1)
"""


def functions(stack):
    return [frame["function"] for frame in stack]


def all_of(commands, **how):
    """Starts all, so that they load side by side, and gives their ends."""
    started = [world.start(command, **how) for command in commands]
    return [world.finish(process) for process in started]


# ---- stacks -----------------------------------------------------------------------

def test_history_stacks():
    """--history-stacks keeps the stacks of what leads to a report, and of leaks"""
    names = "pcd_order", "stream_query_free", "double_free", "leaks"
    order, query, double, leaking = (
        world.guarded([world.scenario(name), 1], ["--history-stacks"], race="certain")
        for name in names)
    (report,), (queried,), (twice,) = (ended.of("violation") for ended in (order, query, double))
    for made, stack in (
            ("the allocation", report["buffer"]), ("the event's creation", report["event"]),
            ("the copy", report["copy"]), ("the record", report["record"]),
            ("the poll", report["poll"]), ("the stream query", queried["poll"]),
            ("the release before", twice["ended"])):
        expect("main" in functions(stack["stack"]), made, "has no whole stack:", stack)
    expect_equal(
        [functions(report[step]["stack"])[:3]
         for step in ("buffer", "event", "copy", "record")],
        [["allocate_buffer", "start_copy", "async_copy"], ["start_copy", "async_copy", "main"],
         ["copy_to_device", "start_copy", "async_copy"],
         ["record_event", "start_copy", "async_copy"]],
        "who made the steps")
    expect_equal(functions(report["poll"]["stack"])[:2], ["process_events", "main"], "who polled")
    expect_equal(functions(queried["poll"]["stack"])[:2], ["poll_stream", "release_when_idle"],
                 "who asked the stream")
    expect_equal(queried["poll"]["thread"], queried["tid"], "thread that asked the stream")
    expect_equal(functions(twice["ended"]["stack"])[:2], ["release_buffer", "release_twice"],
                 "who released before")
    for ended in order, query, double, leaking:
        expect_equal(ended.summary()["lost"]["stacks-full"], 0, "stacks not kept")
    for leak in leaking.of("leak"):
        expect_equal(leak["stack"][0]["address"], leak["site"]["address"], "site and first frame")
        expect("main" in functions(leak["stack"]), "stack of a leak:", leak)
    expect_equal(len(leaking.of("leak")), 2, "leaks")


def test_history_of_threads():
    """each step is told with its thread, and its stack where those are asked for"""
    command = [world.scenario("threads_order"), 1]
    (report,), (bare,) = (world.guarded(command, options).of("violation")
                          for options in (["--history-stacks"], []))
    text = world.run(world.guarded_command(command, ["--history-stacks"])).err.decode()
    threads = [report["copy"]["thread"], report["record"]["thread"], report["poll"]["thread"],
               report["tid"]]
    expect_equal(len(set(threads)), 4, f"threads in {threads}")
    expect_equal([[f for f in functions(stack) if f in ("main", "recorder", "poller", "releaser")]
                  for stack in (report["copy"]["stack"], report["record"]["stack"],
                                report["poll"]["stack"], report["stack"])],
                 [["main"], ["recorder"], ["poller"], ["releaser"]], "mains of the threads")
    expect_equal([bare[step]["stack"] for step in ("buffer", "event", "copy", "record", "poll")],
                 5 * [[]], "stacks not asked for")
    expect(bare["record"]["thread"], "the record's thread is not told")
    for step in "allocation", "event's creation", "copy", "record", "query":
        expect(re.search(rf"^  stack of the {step} \[thread \d+\]:\n    #0 ", text, re.M),
               f"no stack of the {step} in", text)


# ---- the end ----------------------------------------------------------------------

def test_exit_status():
    """exit statuses are the program's own"""
    codes = 0, 3, 255
    ends = all_of([world.guarded_command([world.scenario("signal_exit"), "exit", code])
                   for code in codes])
    expect_equal([end.status for end in ends], list(codes), "exit statuses")


def test_death_by_signal():
    """who started aclguard sees the signal that the program died of"""
    signals = signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV
    ends = all_of([world.guarded_command([world.scenario("signal_exit"), int(n)])
                   for n in signals])
    expect_equal([end.status for end in ends], [-n for n in signals], "ends")


def exit_statuses(cases):
    """Runs [(what, command, options, wanted status)] and compares."""
    ends = all_of([world.guarded_command(command, options) for _, command, options, _ in cases],
                  race="impossible")
    expect_equal({case[0]: end.status for case, end in zip(cases, ends)},
                 {case[0]: case[3] for case in cases}, "exit statuses")


def test_error_exitcode():
    """--error-exitcode takes the place of the program's own status where an error was reported"""
    order = [world.scenario("pcd_order"), 1]
    ends = [world.scenario("signal_exit"), "exit", 9]
    asked = ["--error-exitcode=42"]
    exit_statuses([
        ("an error", order, asked, 42),
        ("an error, and a status of its own", world.sh(order, ["exit", 9]), asked, 42),
        ("an error, and a signal", world.sh(order, ["kill", "-SEGV", "$$"]), asked, 42),
        ("the greatest one", order, ["--error-exitcode=255"], 255),
        ("0 is none", world.sh(order, ["exit", 9]), ["--error-exitcode=0"], 9),
        ("not asked for", world.sh(order, ["exit", 9]), [], 9),
        ("no error", ends, asked, 9),
        ("no error, and a signal", world.sh(["kill", "-SEGV", "$$"]), asked, -signal.SIGSEGV),
    ])


def test_no_error_exitcode():
    """warnings, notes, leaks, and what is suppressed or not wanted, are no errors"""
    known = world.scratch("known.supp")
    with open(known, "w", encoding="ascii") as f:
        f.write("{\n rule free-before-destroy\n"
                " function aclrtFreeHost\n function release_buffer\n}\n")
    asked = ["--error-exitcode=42"]
    order = [world.scenario("pcd_order"), 1]
    exit_statuses([
        ("nothing", [world.scenario("pcd_fixed_sync"), 1], asked, 0),
        ("warnings", [world.scenario("event_pool"), 1], asked, 0),
        ("a warning by --window", order, [*asked, "--window=1ns"], 0),
        ("notes", [world.scenario("event_sync_free"), 1], [*asked, "--strict"], 0),
        ("leaks", [world.scenario("leaks"), 1], asked, 0),
        ("suppressed", order, [*asked, f"--suppressions={known}"], 0),
        ("not wanted", order, [*asked, "--rule=-free-before-destroy"], 0),
    ])


# ---- what it reads and writes --------------------------------------------------------

def test_pipes():
    """stdin and stdout carry every byte, and only the program's"""
    data = os.urandom(3 << 20)
    ended = world.run(world.guarded_command(["cat"]), data=data)
    expect_equal(ended.status, 0, "status")
    expect(ended.out == data, f"{len(data)} bytes went in, {len(ended.out)} came out, or others")


def test_output_streams():
    """reports go to stderr, stdout is the program's alone"""
    command = [world.scenario("pcd_order"), 1]
    ended = world.run(world.guarded_command(command), race="certain")
    line, = ended.lines()
    expect_equal(line["scenario"], "pcd_order", "stdout")
    fact, = line["frees"]
    world.mentions(ended.err, "free-before-destroy", fact["buffer"] + r"\+0x\w", fact["event"], fact["stream"], f"pid {line['pid']}\\b", "507899",
                   "aclrtDestroyEvent", "release_buffer", "process_events",
                   "1 error")
    expect_equal(ended.err.count(b"ERROR #"), 1, "headlines")
    ended = world.run(world.guarded_command(command, ["--json"]), race="certain")
    expect_equal(len(ended.lines()), 1, "lines on stdout")
    expect_equal([json.loads(text)["type"] for text in ended.err.splitlines()],
                 KINDS, "reports on stderr")


def test_stderr():
    """the program's own stderr is passed through"""
    ended = world.guarded(["sh", "-c", r"printf 'a\000\377\n' >&2"])
    expect_equal(ended.err, b"a\x00\xff\n", "stderr")


def test_output_file():
    """--output appends"""
    path = world.scratch("appended")
    with open(path, "w", encoding="ascii") as f:
        f.write("before\n")
    for _ in range(2):
        ended = world.run(world.guarded_command([world.scenario("pcd_order"), 1],
                                                ["--json", "--output", path]), race="certain")
        expect_equal((ended.status, ended.err), (0, b""), "status and stderr")
    with open(path, encoding="ascii") as f:
        lines = f.read().splitlines()
    expect_equal(lines[0], "before", "what stood in the file")
    expect_equal([json.loads(line)["type"] for line in lines[1:]], KINDS * 2, "appended")


def test_pid():
    """a report's pid and program are those of the program"""
    ended = world.guarded([world.scenario("pcd_order"), 1])
    line, = ended.lines()
    violation, = ended.of("violation")
    expect_equal((violation["pid"], violation["tid"], violation["program"]),
                 (line["pid"], line["frees"][0]["tid"], "pcd_order"), "pid, tid and program")


# ---- what it inherits -------------------------------------------------------------------

INVENTORY = """
grep -E '^(Cap|Seccomp|NoNew|Uid|Gid|Groups|TracerPid)' /proc/self/status
for fd in /proc/self/fd/*; do echo "$fd $(readlink "$fd")"; done | sed 's/:\\[[0-9]*\\]//'
ulimit -a; umask; nice; pwd; env | sort; cat /proc/self/oom_score_adj; cut -d' ' -f5,6 /proc/self/stat
"""
# A shell changes the mask, so this is asked without one.
SIGNALS = ["grep", "-E", "^(SigBlk|SigIgn|SigCgt|SigPnd|ShdPnd):", "/proc/self/status"]


def odd_state():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2, signal.SIGTERM, signal.SIGALRM})
    os.umask(0o027)
    os.nice(3)


@alone
def test_inheritance():
    """signal mask, ignored signals, files, environment, folder and limits are those without us"""
    folder = os.path.dirname(world.scratch("x"))
    extra = os.open("/dev/zero", os.O_RDONLY)
    how = {"preexec_fn": odd_state, "cwd": folder, "pass_fds": (extra,),
           "env": {"ODD NAME": "a\nb", "EMPTY": ""}}
    plain = world.run(["sh", "-c", INVENTORY], **how)
    watched = world.guarded(["sh", "-c", INVENTORY], **how)
    expect(b"/dev/zero" in plain.out, "the inventory:", plain.said())
    expect_equal(watched.out.decode().splitlines(), plain.out.decode().splitlines(), "inventory")
    plain, watched = world.run(SIGNALS, **how), world.guarded(SIGNALS, **how)
    os.close(extra)
    world.mentions(plain.out, "SigBlk:\t0*6800\n", "SigIgn:\t[0-9a-f]*1200\n")
    expect_equal(watched.out.decode(), plain.out.decode(), "signals")


# ---- signals and the terminal -----------------------------------------------------------

def read_until(fd, wanted, seconds=world.PATIENCE):
    """What comes out of a descriptor up to `wanted`."""
    seen = b""
    deadline = time.monotonic() + seconds
    while wanted not in seen:
        ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
        expect(ready, f"no {wanted!r} within {seconds} s in {seen!r}")
        chunk = os.read(fd, 65536)
        expect(chunk, f"no {wanted!r} before the end of {seen!r}")
        seen += chunk
    return seen


def test_signals_reach_the_program():
    """signals sent to aclguard reach the program, once each"""
    process = world.start(world.guarded_command([PYTHON, "-c", LISTENER]))
    out = process.stdout.fileno()
    read_until(out, b"ready\n")
    for name in "SIGUSR1", "SIGINT", "SIGHUP", "SIGUSR2", "SIGQUIT":
        process.send_signal(getattr(signal, name))
        read_until(out, name.encode() + b"\n")
    process.send_signal(signal.SIGTERM)
    ended = world.finish(process)
    expect_equal((ended.out, ended.status), (b"SIGTERM\n", 7), "the rest and the status")


def test_default_signals():
    """a signal that the program does not handle ends it, and us the same way"""
    for n in signal.SIGTERM, signal.SIGINT:
        process = world.start(world.guarded_command(["sh", "-c", "echo ready; exec sleep 100"]))
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(n)
        ended = world.finish(process)
        expect_equal(ended.status, -n, "status")
        world.mentions(ended.err, "0 errors")


def test_interrupted_start():
    """told to end while the programs are loaded, it ends at once and leaves nothing"""
    for n in signal.SIGTERM, signal.SIGINT:
        recording, marker = world.scratch("recording"), world.scratch("marker")
        process = world.start([world.ACLGUARD, "record", "-o", recording, "--", "touch", marker])
        world.wait_until(lambda: os.path.exists(recording), "that loading begins")
        process.send_signal(n)
        ended = world.finish(process, timeout=5)
        expect_equal((ended.status, ended.err), (-n, b""), "status, and what it said")
        expect(not os.path.exists(recording) and not os.path.exists(marker), "something is left")


def spawn_on_terminal(command):
    pid, master = pty.fork()
    if not pid:
        with contextlib.suppress(OSError):
            os.execve(command[0], command, world.environment())
        os._exit(99)
    return pid, master


def drain(master):
    seen = b""
    with contextlib.suppress(OSError):     # EIO: nobody has the other side any more
        while chunk := os.read(master, 65536):
            seen += chunk
    return seen


def set_size(master, rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@alone
def test_terminal():
    """on a terminal: isatty, the foreground group, window size, SIGWINCH and Ctrl-C"""
    look = "import os, sys\n" \
           "print([os.isatty(n) for n in (0, 1, 2)], os.getpgrp() == os.tcgetpgrp(0), " \
           "os.get_terminal_size().columns, flush=True)\n"
    pid, master = spawn_on_terminal(world.guarded_command([PYTHON, "-c", look + LISTENER]))
    set_size(master, 40, 77)
    seen = read_until(master, b"ready")
    # the size may have been set before there was anybody to tell
    expect(b"[True, True, True] True 77" in seen, "the program sees:", seen)
    set_size(master, 50, 100)
    read_until(master, b"SIGWINCH")
    os.write(master, b"\x03")
    seen = read_until(master, b"SIGINT")
    time.sleep(0.3)                        # a second one would have come by then
    os.kill(pid, signal.SIGTERM)
    seen += drain(master)
    expect_equal(seen.count(b"SIGINT"), 1, "SIGINTs of one Ctrl-C")
    _, status = os.waitpid(pid, 0)
    expect_equal(os.waitstatus_to_exitcode(status), 7, "status")


@alone
def test_control_c():
    """Ctrl-C ends the program, and aclguard says what it saw before it ends the same way"""
    command = ["sh", "-c", f"{world.scenario('pcd_order')} 1; echo ready; exec sleep 100"]
    pid, master = spawn_on_terminal(world.guarded_command(command))
    read_until(master, b"ready")
    os.write(master, b"\x03")
    seen = drain(master)
    _, status = os.waitpid(pid, 0)
    expect(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, "status:", status)
    world.mentions(seen, "SUMMARY: 1 error")


# ---- what is watched ----------------------------------------------------------------------

def one_violation_each(ended, lines):
    for line in lines:
        got = [(v["rule"], v["level"], v["evidence"], v["pointer"])
               for v in ended.of("violation", line["pid"])]
        expect_equal(got, [("free-before-destroy", "error", "certain", f["buffer"])
                           for f in line["frees"]], f"reports of pid {line['pid']}")
    expect_equal(len(ended.of("violation")), sum(len(line["frees"]) for line in lines),
                 "reports in all")


def test_children(shape):
    """Children are followed, forked and executed, each with its own reports."""
    ended = world.guarded([world.scenario("forker", shape), 5], shape=shape, race="certain")
    lines = ended.lines()
    expect_equal([line["role"] for line in lines], ["forked"] * 5 + ["executed", "parent"],
                 "roles")
    expect_equal(len({line["pid"] for line in lines}), 7, "processes")
    one_violation_each(ended, lines)
    expect_equal(ended.summary()["processes"], 7, "processes in the summary")


def counted(ended, counts):
    """Calls that the probes saw, against those that the runtime counted itself."""
    with open(counts, encoding="ascii") as f:
        made = {name: int(n) for name, n in map(str.split, f) if int(n)}
    for name, seen in ended.summary()["calls"].items():
        expect_equal(seen["entered"], made.get(name, 0), f"{name} entered")
    return made


def test_late_dlopen(shape, library):
    """A library opened late is watched from its very first call."""
    counts = world.scratch("counts")
    ended = world.guarded([world.scenario("late_dlopen", shape), 3, library, 200], shape=shape,
                          race="certain", env={"ACLSIM_COUNTS": counts})
    one_violation_each(ended, ended.lines())
    counted(ended, counts)
    expect_equal(ended.summary()["calls"]["aclrtSetDevice"]["entered"], 1, "the first call")


def test_python():
    """a Python program that loads the library by ctypes"""
    counts = world.scratch("counts")
    text = "import ctypes, ctypes.util, json, time\n" \
           "lib = ctypes.CDLL('libascendcl.so')\n" \
           "p = ctypes.c_void_p()\n" \
           "for call in (lib.aclInit, None), (lib.aclrtSetDevice, 0):\n" \
           "    assert call[0](call[1]) == 0\n" \
           "assert lib.aclrtMallocHost(ctypes.byref(p), ctypes.c_size_t(4096)) == 0\n" \
           "assert lib.aclrtFreeHost(p) == 0\n" \
           "assert lib.aclrtResetDevice(0) == 0\n"
    ended = world.guarded([PYTHON, "-c", text], env={"ACLSIM_COUNTS": counts})
    expect_equal(ended.status, 0, "status")
    made = counted(ended, counts)
    expect_equal({name: made[name] for name in ("aclrtMallocHost", "aclrtFreeHost")},
                 {"aclrtMallocHost": 1, "aclrtFreeHost": 1}, "calls made")
    expect_equal(sorted(set(made) & set(ended.summary()["calls"])),
                 ["aclrtFreeHost", "aclrtMallocHost", "aclrtResetDevice", "aclrtSetDevice"],
                 "calls seen")


def write_program(text):
    path = world.scratch("program")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path, stat.S_IRWXU)
    return path


def test_script():
    """a script is run by its interpreter, and what it starts is watched"""
    for first in "#!/bin/sh\n", "":
        script = write_program(first + f'{world.scenario("pcd_order")} 1\necho "{{}}"\nexit 5\n')
        ended = world.guarded([script])
        expect(ended.status == 5, f"with {first!r} as its first line:", ended.said())
        one_violation_each(ended, ended.lines()[:1])


def test_path():
    """a program is found in PATH, and by a relative name"""
    folder = os.path.dirname(world.scenario("pcd_order"))
    how = {"env": {"PATH": "/nowhere:" + folder + ":" + os.environ["PATH"]}}
    ended = world.guarded(["pcd_order", 1], **how)
    one_violation_each(ended, ended.lines())
    ended = world.guarded(["./pcd_order", 1], cwd=folder)
    one_violation_each(ended, ended.lines())


def test_short_path():
    """a library with a short name is waited for as any other"""
    ended = world.guarded([world.scenario("pcd_order", "split"), 1], shape="split", race="certain",
                          env={"LD_LIBRARY_PATH": "."}, cwd=world.runtime("split"))
    one_violation_each(ended, ended.lines())


def test_static():
    """a program without a dynamic loader runs, and what it starts is watched"""
    source = world.scratch("static.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <unistd.h>\n"
                "int main(int argc, char **argv)\n"
                "{\n\treturn argc > 1 ? execv(argv[1], argv + 1) : 6;\n}\n")
    try:
        program = world.compile_c(source, "-static")
    except Failure as failure:
        raise world.Skipped("there is no static C library") from failure
    ended = world.guarded([program])
    expect_equal(ended.status, 6, "status")
    ended = world.guarded([program, world.scenario("pcd_order"), "1"])
    one_violation_each(ended, ended.lines())


def test_background():
    """a child that outlives the program is let go, and runs on"""
    # the program ends at once; what it started goes on and must not be stopped or killed
    mark = world.scratch("mark")
    counts = world.scratch("counts")
    command = f"(sleep 0.5; {world.scenario('late_dlopen')} 2 libascendcl.so 700; " \
              f"echo $? > {mark}) > /dev/null 2>&1 &"
    ended = world.guarded(["sh", "-c", command], env={"ACLSIM_COUNTS": counts})
    expect_equal(ended.status, 0, "status")
    world.wait_until(lambda: os.path.exists(mark) and os.path.getsize(mark),
                     "the end of what the program left behind", 20)
    with open(mark, encoding="ascii") as f:
        expect_equal(f.read(), "0\n", "its exit status")


def killed(env=None):
    """Ends aclguard by SIGKILL shortly before the program opens the library."""
    process = world.start(world.guarded_command(
        ["sh", "-c", f"echo ready; exec {world.scenario('late_dlopen')} 2 libascendcl.so 400"]),
        env=env)
    out = process.stdout.fileno()
    read_until(out, b"ready\n")
    time.sleep(0.3)
    process.kill()
    process.wait()
    line = json.loads(read_until(out, b"\n", 30))
    expect_equal(line["scenario"], "late_dlopen", "what goes on")
    expect_equal(len(line["frees"]), 2, "frees")
    process.stdout.close()
    process.stderr.close()


def test_killed():
    """SIGKILL of aclguard: the program runs on, and is not left stopped"""
    killed()


def test_killed_older():
    """the same where taking probes out takes seconds"""
    killed({"ACLGUARD_NO_UPROBE_MULTI": "1"})


def all_tests():
    tests = world.titled(
        test_history_stacks, test_history_of_threads, test_exit_status, test_death_by_signal,
        test_error_exitcode, test_no_error_exitcode, test_pipes, test_output_streams,
        test_stderr, test_output_file, test_pid, test_inheritance,
        test_signals_reach_the_program, test_default_signals, test_interrupted_start,
        test_terminal, test_control_c,
        test_python, test_script, test_path, test_short_path, test_static, test_background,
        test_killed, test_killed_older)
    for shape in "mono", "split", "both":
        library = "libacl_rt.so" if shape == "split" else "libascendcl.so"
        tests += [
            (f"children are followed, {shape}", functools.partial(test_children, shape)),
            (f"a library opened late is watched from its first call, {shape}",
             functools.partial(test_late_dlopen, shape, library)),
        ]
    return tests


if __name__ == "__main__":
    world.run_tests(all_tests())
