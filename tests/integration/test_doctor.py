#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard doctor: what it finds of the kernel, of our rights and of processes is true.

The capabilities that it names as enough for each way of attaching are tried by real
attachments with all others dropped, and found too few when one more is dropped.
"""

import ctypes
import errno
import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys

import world
from world import alone, expect, expect_equal

PYTHON = sys.executable or "python3"
FIT, LIMITS, UNFIT = 0, 1, 2
WORDS = {FIT: "fit", LIMITS: "limits", UNFIT: "unfit"}

# <linux/capability.h>, <linux/prctl.h>, <linux/bpf.h>
CAPS = {"CAP_DAC_READ_SEARCH": 2, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38,
        "CAP_BPF": 39, "CAP_CHECKPOINT_RESTORE": 40}
PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAPABILITY_V3 = 8, 47, 2, 0x20080522
BPF_LINK_CREATE = 28
NOBODY, SOMEBODY = 65534, 65533

OLDER_WAY = {"ACLGUARD_NO_UPROBE_MULTI": "1"}


# ---- asking ---------------------------------------------------------------------------------

def doctor(*options, status=None, prefix=(), aclguard=world.ACLGUARD, **how):
    """Gives what it found; text and JSON must be of one opinion."""
    said = world.run([*prefix, aclguard, "doctor", "--json", *options], **how)
    expect(said.out.count(b"\n") == 1 and said.out.endswith(b"\n"), "not one line:", said.said())
    found = json.loads(said.out)
    expect_equal(found["type"], "doctor", "type")
    expect(said.status in WORDS and found["fit"] == WORDS[said.status],
           "the exit status says another thing than the text:", said.said())
    if status is not None:
        expect_equal(said.status, status, f"exit status, with {bad_lines(found)}")
    return found


def patient(pid, **how):
    """What it found of one process."""
    found = doctor("-p", pid, **how)
    expect_equal([p["pid"] for p in found["processes"]], [pid], "processes")
    return found["processes"][0]


def findings(found, level=None, topic=None):
    return [f for f in found["findings"]
            if level in (None, f["level"]) and topic in (None, f["topic"])]


def bad_lines(found):
    return [f for part in (found, *found.get("processes", ())) for f in part["findings"]
            if f["level"] in ("limit", "bad")]


def says(found, level, topic, *patterns):
    lines = findings(found, level, topic)
    expect(lines, f"nothing {level} on {topic}:", found["findings"])
    for pattern in patterns:
        world.mentions("\n".join(f"{f['text']} {f['advice'] or ''}" for f in lines), pattern)


def library(found, name):
    libraries = [lib for lib in found["libraries"] if os.path.basename(lib["path"]) == name]
    expect_equal(len(libraries), 1, f"libraries named {name} in {found['libraries']}")
    return libraries[0]


# ---- processes to look at ------------------------------------------------------------------------

class Target:
    """A process that waits, and ends with the block."""

    def __init__(self, command, ready=True, **how):
        how.setdefault("stdin", subprocess.PIPE)
        self.process = world.start(command, **how)
        self.pid = self.process.pid
        if ready:
            expect(self.process.stdout.readline(), "the target does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        world.finish(self.process)


def steps(shape="mono", **how):
    return Target([world.scenario("steps", shape)], shape=shape, **how)


def python(code, **how):
    """A Python program that does something, says so, and waits."""
    return Target([PYTHON, "-c", f"import ctypes, os, sys\n{code}\nprint('ready', flush=True)\n"
                                 "sys.stdin.read()"], **how)


@functools.lru_cache(maxsize=None)
def build(name, source, *args):
    """A program or library from a few lines of C; gives its path."""
    folder = world.scratch(f"built-{name}")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    path = os.path.join(folder, f"{name}.c")
    with open(path, "w", encoding="ascii") as f:
        f.write(source)
    shutil.move(world.compile_c(path, *args), os.path.join(folder, name))
    return os.path.join(folder, name)


WAITS = ('#include <stdio.h>\n#include <unistd.h>\n'
         'int main(void)\n{\n\tputs("ready");\n\tfflush(stdout);\n\tpause();\n\treturn 0;\n}\n')


# ---- the machine ------------------------------------------------------------------------------------

def test_root():
    """as root this machine is fit, and every need was tried"""
    found = doctor()
    expect(not findings(found, "bad"), "something is bad:", found["findings"])
    features = found["kernel"]["features"]
    for key in "bpf", "ring_buffer", "return_probe", "send_signal":
        expect_equal(features[key], "yes", key)
    expect("yes" in (features["uprobe_multi"], features["uprobe_perf_event"]), "no probes")
    expect_equal(found["attach"],
                 "uprobe_multi" if features["uprobe_multi"] == "yes" else "perf_event", "attach")
    expect_equal(found["kernel"]["release"], os.uname().release, "release")
    expect(found["kernel"]["seccomp_tried_by_probe"], "no return probe was tried")
    expect_equal(found["processes"], [], "processes")


def test_text():
    """the text has a line for each finding, with its level"""
    found = doctor()
    said = world.run([world.ACLGUARD, "doctor"])
    lines = said.out.decode().splitlines()
    for finding in found["findings"]:
        mark = "-" if finding["level"] == "fact" else finding["level"]
        expect(any(line.split()[0] == mark and finding["text"] in line for line in lines[1:]),
               "not in the text:", finding, said.said())
    world.mentions(lines[0], "this machine: fit")
    world.mentions(said.out, "next: aclguard run")


def test_usage():
    """wrong usage is 64, and --help tells the exit statuses"""
    for options in ["extra"], ["-p", "x"], ["-p", "0"], ["--strict"]:
        ended = world.run([world.ACLGUARD, "doctor", *options])
        expect_equal(ended.status, world.USAGE, f"status of {options}")
    world.mentions(world.run([world.ACLGUARD, "doctor", "--help"]).out, "2 unfit", "--json", "-p")


def test_output_full():
    """findings that cannot be written are 118"""
    for options in [], ["--json"]:
        with open("/dev/full", "wb") as full:
            ended = world.run([world.ACLGUARD, "doctor", *options], stdout=full)
        expect_equal(ended.status, world.OUTPUT, "status")
        world.mentions(ended.err, "No space left")


@functools.lru_cache(maxsize=None)
def deny():
    return world.compile_c("deny.c")


def test_no_bpf():
    """without BPF it is unfit (seccomp: bpf is ENOSYS)"""
    found = doctor(status=UNFIT, prefix=[deny(), "bpf", errno.ENOSYS, "--"])
    says(found, "bad", "bpf", "Function not implemented", "5\\.10")
    expect_equal(found["kernel"]["features"]["bpf"], "no", "bpf")
    expect_equal(found["kernel"]["features"]["ring_buffer"], "not-tried", "ring_buffer")
    expect_equal((found["attach"], found["command"]), (None, None), "attach, command")


def test_policy():
    """where a policy forbids BPF, it is named (seccomp: bpf is EPERM)"""
    found = doctor(status=UNFIT, prefix=[deny(), "bpf", errno.EPERM, "--"])
    says(found, "bad", "bpf", "not permitted", "capabilities are there", "seccomp")
    expect_equal(found["kernel"]["features"]["bpf"], "denied", "bpf")


def test_lockdown():
    """lockdown is named (a file says confidentiality; seccomp: bpf is EPERM)"""
    found = doctor(status=UNFIT, prefix=[
        "unshare", "-m", "sh", "-c", "set -e; mount -t tmpfs none /sys/kernel/security; "
        "echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown; exec \"$@\"",
        "sh", deny(), "bpf", errno.EPERM, "--"])
    expect_equal(found["kernel"]["lockdown"], "confidentiality", "lockdown")
    says(found, "bad", "lockdown", "confidentiality", "lockdown=integrity")
    says(found, "bad", "bpf", "lockdown \\(confidentiality\\)")


def test_no_links():
    """without uprobe_multi it is the older way, with limits (seccomp: links are EINVAL)"""
    found = doctor(status=LIMITS, prefix=[deny(), f"bpf:{BPF_LINK_CREATE}", errno.EINVAL, "--"])
    expect_equal(found["attach"], "perf_event", "attach")
    expect_equal(found["kernel"]["features"]["uprobe_multi"], "no", "uprobe_multi")
    expect_equal(found["kernel"]["features"]["return_probe"], "yes", "return_probe")
    says(found, "limit", "probes", "perf events")


def test_no_probes():
    """without any kind of probe it is unfit (seccomp: links and perf events are EOPNOTSUPP)"""
    found = doctor(status=UNFIT, prefix=[deny(), f"bpf:{BPF_LINK_CREATE}", errno.EOPNOTSUPP,
                                         "perf_event_open", errno.EOPNOTSUPP, "--"])
    says(found, "bad", "probes", "neither")
    expect_equal(found["attach"], None, "attach")


def test_pid_namespace():
    """in a pid namespace of its own it is unfit"""
    found = doctor(status=UNFIT, prefix=["unshare", "-pf", "--mount-proc"])
    says(found, "bad", "pid namespace", "--pid=host", "hostPID")
    expect_equal(found["kernel"]["pid_namespace"], "own", "pid_namespace")


# ---- capabilities --------------------------------------------------------------------------------

def become(user, *caps):
    """An ordinary user with these capabilities, beyond exec."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = [CAPS[cap] for cap in caps]
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    masks = [sum(1 << n % 32 for n in numbers if n // 32 == half) for half in (0, 1)]
    head = (ctypes.c_uint32 * 2)(CAPABILITY_V3, 0)
    data = (ctypes.c_uint32 * 6)(*(mask for mask in masks for _ in range(3)))
    if libc.capset(head, data):
        raise OSError(ctypes.get_errno(), "capset")
    for number in numbers:
        if libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0):
            raise OSError(ctypes.get_errno(), "PR_CAP_AMBIENT_RAISE")


@functools.lru_cache(maxsize=None)
def open_folder():
    """aclguard, a scenario and the runtime, where every user can reach them."""
    folder = world.scratch("open")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    os.chmod(os.path.dirname(folder), 0o755)
    for file in (world.ACLGUARD, world.scenario("pcd_order"), world.scenario("steps"),
                 os.path.join(world.runtime("mono"), "libascendcl.so")):
        shutil.copy(file, folder)
    return folder


def as_user(caps, user=NOBODY):
    return {"preexec_fn": functools.partial(become, user, *caps), "cwd": "/"}


def doctor_with(caps, *options, env=None, **how):
    return doctor(*options, aclguard=os.path.join(open_folder(), "aclguard"), env=env,
                  **as_user(caps), **how)


def run_with(caps, env=None):
    """`aclguard run` of the faulty order with these capabilities only; whether it reported."""
    folder = open_folder()
    ended = world.run([os.path.join(folder, "aclguard"), "run", "--json", "--",
                       os.path.join(folder, "pcd_order"), 1],
                      env={"LD_LIBRARY_PATH": folder, **(env or {})}, **as_user(caps))
    expect((ended.status == 0) == (b'"rule":"free-before-destroy"' in ended.err),
           "neither refused nor reported:", ended.said())
    expect(ended.status in (0, world.PRIVILEGE), "refused for another reason:", ended.said())
    return ended.status == 0


def ways():
    return {w["way"]: w for w in doctor()["privileges"]["ways"]}


def check_way(way, env):
    """What doctor names is enough for real probes, and no smaller set is."""
    needs = ways()[way]["needs"]
    found = doctor_with(needs, env=env)
    if found["attach"] != way:
        raise world.Skipped(f"this kernel cannot attach by {way}")
    expect(not findings(found, "bad"), "it finds fault:", bad_lines(found))
    enough = {w["way"]: w["enough"] for w in found["privileges"]["ways"]}
    expect(enough[way], "it does not say that this is enough:", found["privileges"])
    expect(run_with(needs, env), f"{needs} are not enough for {way}")
    for fewer in itertools.combinations(needs, len(needs) - 1):
        expect(not run_with(fewer, env), f"{fewer} are enough for {way} already")
        poor = doctor_with(fewer, env=env, status=UNFIT)
        expect(set(needs) - set(fewer) <= set(poor["privileges"]["missing"]),
               "it does not name what is missing:", poor["privileges"])
        says(poor, "bad", "privileges", "setcap", "root")


@alone
def test_least_for_uprobe_multi():
    """CAP_BPF and CAP_PERFMON are enough for uprobe_multi, and neither alone is"""
    check_way("uprobe_multi", None)


@alone
def test_least_for_perf_event():
    """CAP_SYS_ADMIN is enough for perf-event probes, and nothing less is"""
    check_way("perf_event", OLDER_WAY)
    everything_else = [cap for cap in CAPS if cap != "CAP_SYS_ADMIN"]
    expect(not run_with(everything_else, OLDER_WAY), "all others are enough")
    says(doctor_with(everything_else, env=OLDER_WAY, status=UNFIT), "bad", "probes",
         "perf events")


def watch_with(caps, pid):
    """Whether `aclguard watch` attaches with these capabilities only."""
    process = world.start([os.path.join(open_folder(), "aclguard"), "watch", "-p", pid],
                          **as_user(caps))
    said = b""
    while b"attached to" not in said:
        line = process.stderr.readline()
        if not line:
            break
        said += line
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    ended = world.finish(process)
    attached = b"attached to" in said
    expect(attached or ended.status == world.PRIVILEGE, "refused for another reason:", said,
           ended.said())
    return attached


def check_others(target, needs, base):
    """Somebody else's process: with these capabilities and no fewer."""
    good = doctor_with(base + needs, "-p", target.pid)
    expect(not findings(good["processes"][0], "bad"), f"with {base + needs}:",
           bad_lines(good))
    expect(watch_with(base + needs, target.pid), f"{base + needs} are not enough")
    for missing in needs:
        fewer = [cap for cap in base + needs if cap != missing]
        poor = doctor_with(fewer, "-p", target.pid, status=UNFIT)
        says(poor["processes"][0], "bad", "library", "cannot be read", missing)
        expect(not watch_with(fewer, target.pid), f"{fewer} are enough already")


def somebody(folder):
    """A process of another user than the one that asks."""
    return Target([os.path.join(folder, "steps")], env={"LD_LIBRARY_PATH": folder},
                  preexec_fn=functools.partial(become, SOMEBODY), cwd="/")


@alone
def test_processes_of_others():
    """CAP_SYS_PTRACE is what other users' processes need, with libraries that are not ours"""
    table = ways()
    base = table["uprobe_multi" if doctor()["attach"] == "uprobe_multi" else "perf_event"]["needs"]
    folder = world.scratch("container")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    script = (f"set -e; mount -t tmpfs -o mode=755 none {folder}; "
              f"cp {open_folder()}/libascendcl.so {folder}; exec \"$@\"")
    with Target(["unshare", "-m", "sh", "-c", script, "sh", "setpriv", f"--reuid={SOMEBODY}",
                 f"--regid={SOMEBODY}", "--clear-groups", os.path.join(open_folder(), "steps")],
                env={"LD_LIBRARY_PATH": folder}) as target:
        check_others(target, table["processes-of-others"]["needs"], base)


@alone
def test_deleted_libraries_of_others():
    """and CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH where the library has been deleted since"""
    table = ways()
    if doctor()["attach"] != "uprobe_multi":
        raise world.Skipped("CAP_SYS_ADMIN, which probes need here, contains it")
    folder = world.scratch("goes")
    shutil.copytree(open_folder(), folder)
    os.chmod(folder, 0o755)
    with somebody(folder) as target:
        os.unlink(os.path.join(folder, "libascendcl.so"))
        check_others(target, table["deleted-libraries-of-others"]["needs"],
                     table["uprobe_multi"]["needs"])


@alone
def test_ordinary_user():
    """an ordinary user learns what is missing, and what can be seen all the same"""
    found = doctor_with([], status=UNFIT)
    expect_equal(found["privileges"]["present"], [], "present")
    expect_equal(set(found["privileges"]["missing"]), set(CAPS), "missing")
    says(found, "bad", "bpf", "not permitted", "root")
    expect(found["kernel"]["seccomp_sees_return_probes"] != "unknown", "seccomp was not tried")
    expect_equal(found["command"], "sudo aclguard doctor", "command")


# ---- processes ------------------------------------------------------------------------------------

def check_shape(shape, libraries, probed, twice):
    with steps(shape) as target:
        found = patient(target.pid, status=FIT)
        expect_equal(found["command"], f"aclguard watch -p {target.pid}", "command")
        expect_equal(found["name"], "steps", "name")
        expect_equal(found["program"], world.scenario("steps", shape), "program")
        expect_equal((found["bits"], found["static"], found["go"]), (64, False, False), "program")
        expect_equal(found["namespace_pids"][0], target.pid, "namespace_pids")
        expect_equal(found["mount_namespace"], "ours", "mount_namespace")
        expect_equal({os.path.basename(lib["path"]) for lib in found["libraries"]}, libraries,
                     "libraries")
        for lib in found["libraries"]:
            name = os.path.basename(lib["path"])
            expect_equal(lib["path"], os.path.join(world.runtime(shape), name), "path")
            expect_equal(lib["probed"], name in probed, f"probed of {name}")
            counts = sum(lib["first_instructions"].values())
            expect_equal(counts, lib["calls"], "first instructions")
            if lib["probed"]:
                expect(lib["calls"] > 0 and not lib["missing"], "calls are missing:", lib)
            expect(lib["build_id"] and len(lib["build_id"]) == 40, "no build id:", lib)
        calls = library(found, sorted(probed)[0])["calls"]
        expect_equal(found["calls_defined_twice"], calls if twice else 0, "calls_defined_twice")
        expect_equal(found["lower_layer_callers"], [], "lower_layer_callers")


IMPL = "libacl_rt_impl.so"
SHAPES = {
    "mono": ({"libascendcl.so"}, {"libascendcl.so"}, False),
    "split": ({"libacl_rt.so"}, {"libacl_rt.so"}, False),
    "both": ({"libascendcl.so", "libacl_rt.so"}, {"libascendcl.so", "libacl_rt.so"}, True),
}


def check_prologue(prologue, key):
    with steps(f"mono-{prologue}") as target:
        counts = library(patient(target.pid), "libascendcl.so")["first_instructions"]
        expect_equal(max(counts, key=counts.get), key, f"first instructions {counts}")
        expect(counts[key] >= 55, "of too few:", counts)


PROLOGUES = {"jmp": "emulated", "push": "emulated", "call": "emulated", "endbr": "landing_pad",
             "sub": "single_stepped", "mov": "single_stepped"}


def test_nothing_changes():
    """a process that was looked at runs on, untraced and unstopped"""
    with steps() as target:
        def status():
            with open(f"/proc/{target.pid}/status", encoding="ascii") as f:
                return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        world.wait_until(lambda: status()["State"].startswith("S"), "sleep")
        before = status()
        with open(f"/proc/{target.pid}/maps", encoding="ascii") as f:
            maps = f.read()
        doctor("-p", target.pid)
        after = status()
        for key in "State", "TracerPid", "SigPnd", "ShdPnd", "VmSize", "nonvoluntary_ctxt_switches":
            expect_equal(after[key], before[key], key)
        with open(f"/proc/{target.pid}/maps", encoding="ascii") as f:
            expect_equal(f.read(), maps, "maps: a trampoline would be a mapping more")


def test_not_loaded():
    """a process without the runtime can be waited for: limits"""
    with Target(["sleep", "60"], ready=False) as target:
        world.wait_until(lambda: b"sleep" in open(f"/proc/{target.pid}/comm", "rb").read(), "exec")
        found = patient(target.pid, status=LIMITS)
        says(found, "limit", "library", "has not loaded", "waits")
        expect_equal(found["libraries"], [], "libraries")


def test_several():
    """several processes, one of which is gone"""
    gone = world.start(["true"])
    world.finish(gone)
    with steps() as target:
        found = doctor("-p", f"{target.pid},{gone.pid}", "-p", target.pid, status=UNFIT)
        expect_equal([(p["pid"], p["fit"], p["there"]) for p in found["processes"]],
                     [(target.pid, "fit", True), (gone.pid, "unfit", False)], "processes")
        says(found["processes"][1], "bad", "process", "no such process")
        expect_equal(found["processes"][1]["command"], None, "command")


def test_zombie():
    """a zombie, a thread and a kernel thread are no processes to watch"""
    process = subprocess.Popen(["true"])
    world.wait_until(lambda: not world.is_alive(process.pid), "end")
    says(patient(process.pid, status=UNFIT), "bad", "process", "zombie")
    process.wait()
    with python("import threading, time\n"
                "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()") as target:
        thread = [int(t) for t in os.listdir(f"/proc/{target.pid}/task")
                  if int(t) != target.pid][0]
        says(patient(thread, status=UNFIT), "bad", "process", f"a thread of process {target.pid}",
             f"-p {target.pid}")
    if os.path.exists("/proc/2/maps") and not os.path.exists("/proc/2/exe"):
        says(patient(2, status=UNFIT), "bad", "process", "kernel thread|not allowed")


def fake(name, source, folder="lib", *args):
    """A library under a name of our choice; gives its folder."""
    home = world.scratch("fake")
    os.makedirs(os.path.join(home, folder))
    shutil.copy(build(f"{name}.src", source, "-shared", "-fPIC", *args),
                os.path.join(home, folder, name))
    return os.path.join(home, folder)


NOTHING = "int nothing_of_acl(void)\n{\n\treturn 0;\n}\n"


def load(folder, name="libascendcl.so"):
    return python(f"lib = ctypes.CDLL({os.path.join(folder, name)!r})")


def test_empty_library():
    """a library that is named like the runtime and defines nothing: unfit"""
    with load(fake("libascendcl.so", NOTHING)) as target:
        found = patient(target.pid, status=UNFIT)
        says(found, "bad", "library", "defines none of its calls", "stub")
        expect_equal(library(found, "libascendcl.so")["probed"], False, "probed")


def test_stub():
    """a link-time stub is told by where it lies: unfit"""
    folder = fake("libascendcl.so", "int aclrtFreeHost(void *p)\n{\n\treturn p != 0;\n}\n",
                  "devlib/linux")
    with load(folder) as target:
        found = patient(target.pid, status=UNFIT)
        says(found, "bad", "library", "link-time stub", "LD_LIBRARY_PATH")
        lib = library(found, "libascendcl.so")
        expect_equal((lib["stub"], lib["probed"], lib["calls"]), (True, False, 1), "library")


def test_part_of_the_calls():
    """a library with few of the calls: limits, and they are named"""
    folder = fake("libascendcl.so", "int aclrtFreeHost(void *p)\n{\n\treturn p != 0;\n}\n")
    with load(folder) as target:
        found = patient(target.pid, status=LIMITS)
        says(found, "limit", "calls", "aclrtMallocHost", "more")
        missing = library(found, "libascendcl.so")["missing"]
        expect("aclrtFreeHost" not in missing and "aclrtMemcpyAsync" in missing, missing)


def test_deleted():
    """a library that was deleted is looked at all the same"""
    folder = world.scratch("goes")
    os.mkdir(folder)
    shutil.copy(os.path.join(world.runtime("mono"), "libascendcl.so"), folder)
    with steps(env={"LD_LIBRARY_PATH": folder}) as target:
        os.unlink(os.path.join(folder, "libascendcl.so"))
        lib = library(patient(target.pid, status=FIT), "libascendcl.so")
        expect(lib["deleted"] and lib["probed"] and lib["build_id"], lib)


def test_weird_path():
    """a path with a newline, an escape sequence and no UTF-8 reaches no terminal"""
    folder = os.fsencode(world.scratch("weird")) + b"\nok     probes \x1b[31mred\xff\xe2\x80\xae"
    os.mkdir(folder)
    shutil.copy(os.path.join(world.runtime("mono"), "libascendcl.so"), os.fsdecode(folder))
    with steps(env={"LD_LIBRARY_PATH": os.fsdecode(folder)}) as target:
        found = patient(target.pid, status=FIT)
        lib = library(found, "libascendcl.so")
        expect("\nok     probes \x1b[31mred" in lib["path"] and lib["probed"], lib)
        for options in [], ["--json"]:
            said = world.run([world.ACLGUARD, "doctor", *options, "-p", target.pid]).out
            expect(not any(b < 0x20 and b != 0x0a for b in said) and b"\xe2\x80\xae" not in said,
                   "raw bytes in:", said)
            expect(not said.count(b"\nok  "), "a line was injected:", said)


def test_other_mounts():
    """a library that only the process sees is opened as the process has it"""
    folder = world.scratch("mounted")
    os.mkdir(folder)
    script = (f"set -e; mount -t tmpfs none {folder}; "
              f"cp {world.runtime('mono')}/libascendcl.so {folder}; exec \"$@\"")
    with Target(["unshare", "-m", "sh", "-c", script, "sh", world.scenario("steps")],
                env={"LD_LIBRARY_PATH": folder}) as target:
        expect(not os.listdir(folder), "the mount is visible here")
        found = patient(target.pid, status=FIT)
        expect_equal(found["mount_namespace"], "other", "mount_namespace")
        expect(library(found, "libascendcl.so")["probed"], found["libraries"])


def test_pid_in_namespace():
    """a process in a pid namespace has its number there as well"""
    with Target(["unshare", "-pf", "--kill-child", world.scenario("steps")]) as target:
        with open(f"/proc/{target.pid}/task/{target.pid}/children", encoding="ascii") as f:
            child = int(f.read().split()[0])
        found = patient(child, status=FIT)
        expect_equal(found["namespace_pids"], [child, 1], "namespace_pids")
        says(found, "fact", "pid namespace", "pid 1 ", str(child))


LOWER = ("int rtMemcpyAsync(void)\n{\n\treturn 0;\n}\n"
         "int rtEventQueryStatus(void)\n{\n\treturn 0;\n}\n")
USER = ("int rtMemcpyAsync(void);\nint rtEventQueryStatus(void);\n"
        "int user(void)\n{\n\treturn rtMemcpyAsync() + rtEventQueryStatus();\n}\n")


def test_lower_layer():
    """who calls libruntime.so directly is named: limits; the toolkit's own libraries are counted"""
    toolkit, own = fake("libruntime.so", LOWER), fake("libuser.so", USER)
    shutil.copy(os.path.join(world.runtime("mono"), "libascendcl.so"), toolkit)
    shutil.copy(os.path.join(own, "libuser.so"), os.path.join(toolkit, "libhccl.so"))
    loads = "".join(f"ctypes.CDLL({os.path.join(toolkit, name)!r}, ctypes.RTLD_GLOBAL)\n"
                    for name in ("libruntime.so", "libascendcl.so", "libhccl.so"))
    with python(loads) as target:
        found = patient(target.pid, status=FIT)
        expect_equal([(os.path.basename(c["path"]), c["of_toolkit"])
                      for c in found["lower_layer_callers"]], [("libhccl.so", True)], "callers")
        says(found, "fact", "lower layer", "1 libraries of the toolkit")
    with python(loads + f"ctypes.CDLL({os.path.join(own, 'libuser.so')!r})") as target:
        found = patient(target.pid, status=LIMITS)
        expect(found["lower_layer_loaded"], "libruntime.so was not seen")
        callers = {os.path.basename(c["path"]): c for c in found["lower_layer_callers"]}
        expect_equal(callers["libuser.so"]["calls"], ["rtMemcpyAsync", "rtEventQueryStatus"],
                     "calls")
        says(found, "limit", "lower layer", "libuser.so", "rtEventQueryStatus", "not seen")


def test_static():
    """a static program is unfit"""
    with Target([build("static", WAITS, "-static")]) as target:
        found = patient(target.pid, status=UNFIT)
        expect(found["static"], "it is not told as static")
        says(found, "bad", "program", "statically")


def test_go():
    """a Go program is told by its sections: limits (a C program with such a section)"""
    source = WAITS + '__attribute__((section(".go.buildinfo"), used)) static int info = 1;\n'
    with Target([build("gopher", source)]) as target:
        found = patient(target.pid, status=LIMITS)
        expect(found["go"], "it is not told as Go")
        says(found, "limit", "program", "written in Go", "stack")


def test_32_bit():
    """a 32-bit program is unfit"""
    try:
        program = build("narrow", "int main(void)\n{\n\tfor (;;)\n"
                        "\t\t__asm__ volatile(\"int $0x80\" : : \"a\"(29));\n}\n"
                        "void _start(void)\n{\n\tmain();\n}\n",
                        "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pic", "-no-pie",
                        "-fno-stack-protector")
    except world.Failure:
        raise world.Skipped("this compiler makes no 32-bit programs") from None
    try:
        target = Target([program], ready=False)
    except OSError:
        raise world.Skipped("this kernel runs no 32-bit programs") from None
    with target:
        found = patient(target.pid, status=UNFIT)
        expect_equal(found["bits"], 32, "bits")
        says(found, "bad", "program", "32-bit")


# ---- seccomp --------------------------------------------------------------------------------------

def test_seccomp():
    """a filter is seen, and its danger is what it really is on this kernel"""
    prefix = [deny(), "perf_event_open", errno.EPERM, "--"]
    with Target([*prefix, world.scenario("steps")]) as target:
        found = doctor("-p", target.pid)
        seccomp = found["processes"][0]["seccomp"]
        expect_equal((seccomp["mode"], seccomp["no_new_privs"]), ("filter", False), "seccomp")
        expect(seccomp["filters"] in (1, None), seccomp)
        risky = found["kernel"]["seccomp_sees_return_probes"] == "filters"
        expect_equal(seccomp["risk"], "kill" if risky else "none", "risk")
        expect_equal(found["processes"][0]["fit"], "limits" if risky else "fit", "fit")
    with steps() as target:
        expect_equal(patient(target.pid)["seccomp"]["mode"], "none", "mode")


def test_seccomp_of_a_thread():
    """a filter that only one thread has is seen, too"""
    source = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *filtered(void *arg)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { 1, &allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	puts(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? "failed" : "ready");
	fflush(stdout);
	pause();
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, filtered, NULL);
	pause();
	return 0;
}
"""
    with Target([build("filtered", source, "-pthread")]) as target:
        expect_equal(patient(target.pid)["seccomp"]["mode"], "filter", "mode")


def test_seccomp_truth():
    """that filters do not see return probes is true: a strict one outlives them"""
    found = doctor()
    if found["kernel"]["seccomp_sees_return_probes"] == "filters":
        raise world.Skipped("this kernel kills what is probed under a filter")
    source = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int aclrtFreeHost(void *);

int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_exit_group), ALLOW(SYS_write), ALLOW(SYS_futex), ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), filter };

	aclrtFreeHost(NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 1;
	aclrtFreeHost(NULL);
	write(1, "alive\n", 6);
	_exit(0);
}
"""
    program = build("strict", source, "-L" + world.runtime("mono"), "-lascendcl",
                    "-Wno-unused-result")
    expect_equal(world.run([program]).out, b"alive\n", "output without probes")
    for env in None, OLDER_WAY:
        ended = world.guarded([program], env=env)
        expect_equal((ended.status, ended.out), (0, b"alive\n"), f"result with {env}")
        calls = ended.summary()["calls"]["aclrtFreeHost"]
        expect_equal((calls["entered"], calls["returned"]), (2, 2), "calls seen")


if __name__ == "__main__":
    world.run_tests(world.titled(
        test_root, test_text, test_usage, test_output_full, test_no_bpf,
        test_policy, test_lockdown, test_no_links, test_no_probes, test_pid_namespace,
        test_least_for_uprobe_multi, test_least_for_perf_event, test_processes_of_others,
        test_deleted_libraries_of_others, test_ordinary_user) + [
            (f"libraries, calls and first instructions of shape {shape}",
             functools.partial(check_shape, shape, *what)) for shape, what in SHAPES.items()] + [
            (f"functions that begin with {prologue} are {key}",
             functools.partial(check_prologue, prologue, key))
            for prologue, key in PROLOGUES.items() if os.uname().machine == "x86_64"] +
        world.titled(
            test_nothing_changes, test_not_loaded, test_several, test_zombie, test_empty_library,
            test_stub, test_part_of_the_calls, test_deleted, test_weird_path, test_other_mounts,
            test_pid_in_namespace, test_lower_layer, test_static, test_go, test_32_bit,
            test_seccomp, test_seccomp_of_a_thread, test_seccomp_truth))
