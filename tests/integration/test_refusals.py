#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Where aclguard cannot work it says what is missing and what to do, with an exit status
of its own (src/exits.h), and the program is not started.

Kernels and policies that cannot be had here are stood for by a seccomp filter that
returns their errno (deny.c); the names of these tests say so.
"""

import ctypes
import errno
import functools
import os
import shutil
import sys

import world
from world import alone, expect, expect_equal

PYTHON = sys.executable or "python3"

# <linux/capability.h>, <linux/prctl.h>, <linux/bpf.h>
CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF = 19, 21, 38, 39
PR_CAPBSET_DROP = 24
BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28

NOBODY = 65534
MARK = "the program ran"


def refused(options, status, *patterns, prefix=(), command="run", program=("echo", MARK), **how):
    """aclguard must end with that status, say that, and not start the program."""
    tail = ["--", *program] if command == "run" else []
    ended = world.run([*prefix, world.ACLGUARD, command, *options, *tail], **how)
    expect(ended.status == status, f"status {status} was expected:", ended.said())
    expect(MARK.encode() not in ended.out, "the program was started:", ended.said())
    world.mentions(ended.err, *patterns)
    return ended


# ---- the command line ------------------------------------------------------------------

def test_usage():
    """wrong usage is 64, and the message names what is wrong"""
    for options, pattern in ((["--no-such-option"], "no-such-option"),
                             (["--rule=no-such-rule"], "unknown rule.*no-such-rule"),
                             (["--rule="], "rule"),
                             (["--window=soon"], "soon.*duration"),
                             (["--window=-1s"], "-1s.*duration"),
                             (["--stacks=all"], "none, fp or dwarf.*all"),
                             (["--stacks=dwarf,100"], "100.*1K to 64K"),
                             (["--stacks=dwarf", "--stack-bytes=65K"], "65K.*1K to 64K"),
                             (["--stack-bytes=16K"], "--stacks=dwarf"),
                             (["--stack-depth=65"], "65.*frames.*1 to 64"),
                             (["--enforce=\x1b[1m\\=kill"], r"unknown rule '\\x1b\[1m\\'"),
                             (["--error-exitcode=256"], "256.*exit status")):
        refused(options, world.USAGE, pattern)
    for options, pattern in (([], "-p PID"), (["-p", "x"], "x.*process id"),
                             (["-p", "0"], "0.*process id"), (["-p", "1", "true"], "true")):
        refused(options, world.USAGE, pattern, command="watch")
    for command in (["run"], ["no-such-command"], []):
        ended = world.run([world.ACLGUARD, *command])
        expect_equal(ended.status, world.USAGE, f"status of {command}")


def test_help():
    """--help names the rules and the exit statuses"""
    ended = world.run([world.ACLGUARD, "--help"])
    expect_equal(ended.status, 0, "status")
    world.mentions(ended.out, "free-before-destroy", "run", "watch")
    for command in "run", "watch":
        ended = world.run([world.ACLGUARD, command, "--help"])
        expect_equal(ended.status, 0, "status")
        world.mentions(ended.out, "--rule", "--window", "118")


# ---- programs and processes ----------------------------------------------------------------

def test_not_found():
    """a program that is not there is 127"""
    for program in "/no/such/program", "no-such-program":
        refused([], world.NOT_FOUND, f"{program}.*No such file", program=[program])


def test_cannot_exec():
    """a program that cannot be executed is 126"""
    plain = world.scratch("plain")
    with open(plain, "w", encoding="ascii") as f:
        f.write("echo " + MARK + "\n")
    for program in plain, os.path.dirname(plain):
        refused([], world.CANNOT_EXEC, f"{program}.*denied", program=[program])


def test_broken_program():
    """a program that the kernel refuses is 126"""
    broken = world.scratch("broken")
    with open(broken, "w", encoding="ascii") as f:
        f.write("#!/no/such/interpreter\n")
    os.chmod(broken, 0o755)
    ended = world.run(world.guarded_command([broken]))
    expect(ended.status in (world.CANNOT_EXEC, world.NOT_FOUND), "status:", ended.said())
    world.mentions(ended.err, broken)


def test_no_process():
    """no such process is 123"""
    process = world.start(["true"])
    world.finish(process)
    refused(["-p", process.pid], world.NO_PROCESS, f"no such process.*{process.pid}",
            command="watch")


def test_no_library():
    """a process without the runtime is 124 with --no-wait"""
    process = world.start(["sleep", "60"])
    refused(["--no-wait", "-p", process.pid], world.NO_LIBRARY, "Ascend runtime", "libacl_rt.so",
            "--no-wait", command="watch")
    process.kill()
    world.finish(process)


def empty_library():
    folder = world.scratch("empty")
    os.mkdir(folder)
    source = world.scratch("empty.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("int nothing_of_acl(void)\n{\n\treturn 0;\n}\n")
    shutil.move(world.compile_c(source, "-shared", "-fPIC"),
                os.path.join(folder, "libascendcl.so"))
    return {"LD_LIBRARY_PATH": folder}


def test_no_symbols():
    """a library of that name without the calls is 119 in watch, and said in run"""
    env = empty_library()
    target = world.start([PYTHON, os.path.join(world.HERE, "target.py")], env=env,
                         stdin=world.subprocess.PIPE)
    os.write(target.stdin.fileno(), b"load\n")
    expect_equal(target.stdout.readline(), b"load\n", "answer of the target")
    refused(["-p", target.pid], world.NO_SYMBOLS, "none of its calls", f"/proc/{target.pid}/maps",
            command="watch")
    world.finish(target)
    ended = world.run(world.guarded_command(
        [PYTHON, os.path.join(world.HERE, "target.py")]), env=env, data=b"load\n")
    expect_equal((ended.status, ended.out), (0, b"load\n"), "status and stdout")
    world.mentions(ended.err, "none of its calls")


# ---- output -----------------------------------------------------------------------------------

def test_output():
    """a file that cannot be written is 118, before the program is started"""
    for path in "/no/such/folder/report", os.path.dirname(world.scratch("x")):
        refused(["--output", path], world.OUTPUT, f"cannot write reports to {path}")


def test_output_full():
    """reports that could not be written are 118"""
    for options in ["--json"], []:
        ended = world.run(world.guarded_command([world.scenario("pcd_order"), 1],
                                                ["--output", "/dev/full", *options]))
        expect(ended.status == world.OUTPUT, "status 118 was expected:", ended.said())
        world.mentions(ended.err, "could not be written.*No space left")
        expect_equal(len(ended.lines()), 1, "lines of the program")


# ---- privileges -----------------------------------------------------------------------------

def drop_capabilities(*keep):
    """Root without them, from the next exec on."""
    libc = ctypes.CDLL(None)
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as f:
        last = int(f.read())
    for cap in range(last + 1):
        if cap not in keep:
            libc.prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def open_folder(*files):
    """A folder with copies of files, that every user can reach."""
    folder = world.scratch("open")
    os.mkdir(folder)
    os.chmod(os.path.dirname(folder), 0o755)
    for file in files:
        shutil.copy(file, folder)
    return folder


@alone
def test_not_root():
    """an ordinary user is told the missing capabilities"""
    ours = os.path.join(open_folder(world.ACLGUARD), "aclguard")
    for command in ["run", "--", "echo", MARK], ["watch", "-p", "1"]:
        ended = world.run([ours, *command], preexec_fn=become_nobody, cwd="/")
        expect(ended.status == world.PRIVILEGE and not ended.out, "status 120 was expected:",
               ended.said())
        world.mentions(ended.err, "CAP_BPF", "CAP_PERFMON", "missing", "root", "setcap")


@alone
def test_no_capabilities():
    """root without capabilities, as in a container, is told so"""
    refused([], world.PRIVILEGE, "CAP_BPF", "CAP_PERFMON", preexec_fn=drop_capabilities)


@alone
def test_half_the_capabilities():
    """with CAP_BPF alone, CAP_PERFMON is named and CAP_BPF is not"""
    ended = refused([], world.PRIVILEGE, "CAP_PERFMON is missing",
                    preexec_fn=functools.partial(drop_capabilities, CAP_BPF))
    expect(b"CAP_BPF is missing" not in ended.err and b"CAP_BPF CAP" not in ended.err,
           "it names what is there:", ended.said())


@alone
def test_enough_capabilities():
    """CAP_BPF and CAP_PERFMON are enough where the kernel has uprobe_multi"""
    ended = world.guarded([world.scenario("pcd_order"), 1],
                          preexec_fn=functools.partial(drop_capabilities, CAP_BPF, CAP_PERFMON))
    if ended.status == world.PRIVILEGE and b"uprobe_multi" in ended.err:
        raise world.Skipped("this kernel has no uprobe_multi")
    expect(ended.status == 0 and len(ended.of("violation")) == 1, "one report was expected:",
           ended.said(), ended.reports)


@alone
def test_older_way_wants_more():
    """without uprobe_multi, CAP_SYS_ADMIN is named"""
    refused([], world.PRIVILEGE, "CAP_SYS_ADMIN is missing",
            env={"ACLGUARD_NO_UPROBE_MULTI": "1"},
            preexec_fn=functools.partial(drop_capabilities, CAP_BPF, CAP_PERFMON))


@alone
def test_foreign_process():
    """a process whose files may not be looked at: CAP_SYS_PTRACE is named"""
    folder = open_folder(world.scenario("steps"),
                         os.path.join(world.runtime("mono"), "libascendcl.so"))
    target = world.start([os.path.join(folder, "steps")], env={"LD_LIBRARY_PATH": folder},
                         preexec_fn=become_nobody, cwd="/", stdin=world.subprocess.PIPE)
    expect(target.stdout.readline().startswith(b"0x"), "the target does not start")
    os.unlink(os.path.join(folder, "libascendcl.so"))  # the process is the only way to it
    refused(["-p", target.pid], world.PRIVILEGE, "CAP_SYS_PTRACE", command="watch", timeout=15,
            preexec_fn=functools.partial(drop_capabilities, CAP_BPF, CAP_PERFMON))
    world.finish(target)


# ---- kernels and policies -----------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def deny():
    return world.compile_c("deny.c")


def denying(*calls):
    return [deny(), *calls, "--"]


def in_own_mounts(script):
    """A command before which a shell changes what files it sees."""
    return ["unshare", "-m", "sh", "-c", f"set -e; {script}; exec \"$@\"", "sh"]


NO_UPROBE_PMU = "mount -t tmpfs none /sys/bus/event_source/devices"


def test_no_bpf():
    """a kernel without BPF is 121 (seccomp: bpf is ENOSYS)"""
    refused([], world.KERNEL, "without it", "CONFIG_BPF_SYSCALL", "5\\.10",
            prefix=denying("bpf", errno.ENOSYS))


def test_policy():
    """a policy that forbids BPF is 122 (seccomp: bpf is EPERM)"""
    refused([], world.LOCKDOWN, "policy", "seccomp", "although the capabilities are there",
            prefix=denying("bpf", errno.EPERM))


def test_lockdown():
    """lockdown is 122 and named (seccomp: bpf is EPERM; a file says confidentiality)"""
    ended = refused([], world.LOCKDOWN, "lockdown \\(confidentiality\\)", "Secure Boot", prefix=[
        *in_own_mounts("mount -t tmpfs none /sys/kernel/security; "
                       "echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown"),
        *denying("bpf", errno.EPERM)])
    expect(b"policy" not in ended.err, "it blames a policy:", ended.said())


def test_no_uprobes():
    """a kernel without uprobes is 121 (no uprobe PMU to be seen; seccomp: links are EINVAL)"""
    refused([], world.KERNEL, "no uprobes", "CONFIG_UPROBE_EVENTS", prefix=[
        *in_own_mounts(NO_UPROBE_PMU),
        *denying(f"bpf:{BPF_LINK_CREATE}", errno.EINVAL)])


def test_no_links():
    """a kernel without uprobe links works the older way (seccomp: links are EINVAL)"""
    ended = world.run([*denying(f"bpf:{BPF_LINK_CREATE}", errno.EINVAL),
                       *world.guarded_command([world.scenario("pcd_order"), 1], ["-v"])])
    expect_equal(ended.status, 0, "status")
    world.mentions(ended.err, "1 error", "by perf")


def test_no_probes(err, status):
    """A policy that forbids every kind of probe."""
    refused([], status, "probe|perf", prefix=denying(
        f"bpf:{BPF_LINK_CREATE}", err, "perf_event_open", err))


def test_pid_namespace():
    """in a pid namespace of its own it is refused"""
    refused([], world.FAILED, "pid namespace", "--pid=host", "hostPID",
            prefix=["unshare", "-pf", "--mount-proc"])


if __name__ == "__main__":
    world.run_tests(world.titled(
        test_usage, test_help, test_not_found, test_cannot_exec, test_broken_program,
        test_no_process, test_no_library, test_no_symbols, test_output, test_output_full,
        test_not_root, test_no_capabilities, test_half_the_capabilities, test_enough_capabilities,
        test_older_way_wants_more, test_foreign_process, test_no_bpf, test_policy, test_lockdown,
        test_no_uprobes, test_no_links, test_pid_namespace) + [
            (f"probes forbidden: {status} (seccomp: links and perf events are {errno.errorcode[err]})",
             functools.partial(test_no_probes, err, status))
            for err, status in ((errno.EPERM, world.LOCKDOWN), (errno.EACCES, world.LOCKDOWN),
                                (errno.EOPNOTSUPP, world.KERNEL))])
