#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard watch --all: whoever uses the runtime is found, wherever it is and whenever it comes.

Other programs on the machine may use the runtime meanwhile, so only what is said of our own
processes is looked at.
"""

import contextlib
import os
import re
import signal
import subprocess
import time

import world
from world import expect, expect_equal
from test_watch import Python, Steps, Watch, own_library, verdicts

ERROR = "free-before-destroy", "error"


class All(Watch):
    """aclguard watch --all, once it is there."""

    def __init__(self, *options, env=None):
        super().__init__("--all", *options, env=env)
        self.wait_for("watching all processes")

    def alive(self):
        return self.process.poll() is None


class Target(Python):
    """target.py, which loads the runtime when told to, and then makes the mistake."""

    def finish(self):
        ended = world.finish(self.process)
        expect_equal((ended.status, ended.err), (0, b""), "end of the program")


def errors(ended, pid):
    return [v for v in ended.of("violation", pid) if (v["rule"], v["level"]) == ERROR]


def one_error(ended, pid):
    found = errors(ended, pid)
    expect(len(found) == 1, f"not one error of process {pid}:",
           [(v["pid"], v["rule"], v["level"], v["evidence"]) for v in ended.of("violation")])
    return found[0]


def folder_with_library(name):
    """A folder of this name with a copy of the runtime that nobody else maps."""
    folder = os.path.join(world.scratch("named"), name)
    os.makedirs(folder)
    world.shutil.copy(os.path.join(world.runtime("mono"), "libascendcl.so"), folder)
    return folder


def caught_late(name="libascendcl.so", folder="lib", load=False):
    """A library that is new comes in under watch; what was said of it, and the reports."""
    folder = folder_with_library(folder)
    path = os.path.join(folder, name)
    os.rename(os.path.join(folder, "libascendcl.so"), path)
    watch = All()
    if load:
        target = Target({"LD_LIBRARY_PATH": folder})
        target.do(f"load {path}" if name != "libascendcl.so" else "load")
        watch.wait_for(f"process {target.pid} .*probed .* later")
        target.do("order")
    else:
        target = Steps(env={"LD_LIBRARY_PATH": folder})
        watch.wait_for(f"process {target.pid} .*probed .* later")
        target.do("cqfd")
    target.finish()
    ended = watch.stop()
    expect(ended.summary()["late_attaches"] > 0, "no late attachment in the summary")
    return ended, target.pid


# ---- now and later --------------------------------------------------------------

def test_before_and_after():
    """who ran before is suspected for what was before, who comes later is certain"""
    early = Steps()
    early.do("c")
    watch = All()
    later = Steps()
    early.do("qfd" "cqfd")
    later.do("cqfd")
    frees = early.finish()["frees"], later.finish()["frees"]
    ended = watch.stop()
    before, after = frees[0]
    expect_equal(verdicts(ended, early.pid),
                 [("free-before-destroy", "warning", "suspected", before["buffer"]),
                  (*ERROR, "certain", after["buffer"])], "who ran before")
    expect_equal(verdicts(ended, later.pid), [(*ERROR, "certain", frees[1][0]["buffer"])],
                 "who came later")


def test_new_copy():
    """a copy of the library that comes later is probed, and told as attached late"""
    ended, pid = caught_late()
    expect_equal(one_error(ended, pid)["evidence"], "certain", "evidence of what came after")
    expect(ended.summary()["late_attach_max_us"] > 0, "no gap told")


def test_ctypes():
    """Python's ctypes loads it late; a known copy is seen from its first call"""
    ended, pid = caught_late(load=True)
    one_error(ended, pid)
    holder = Steps()        # somebody has the usual copy: it is probed
    watch = All()
    target = Target({})
    target.do("load", "order")
    target.finish()
    ended = watch.stop()
    holder.finish()
    expect_equal(one_error(ended, target.pid)["evidence"], "certain", "evidence")


def test_renamed():
    """a library of another name is found by what it defines"""
    ended, pid = caught_late("libnpu_runtime.so.8", load=True)
    one_error(ended, pid)


def test_hostile_path():
    """paths with blanks, newlines and escapes are shown escaped, and deep ones are reached"""
    ended, pid = caught_late(folder="a b\n\x1b[31mred")
    one_error(ended, pid)
    expect(b"\x1b" not in ended.err and rb"a b\x0a" in ended.err, "what was said:", ended.err)
    ended, pid = caught_late(folder="/".join(["d" * 200] * 18))
    one_error(ended, pid)


def test_deleted():
    """a library that was deleted while it is mapped"""
    env = own_library()
    target = Steps(env=env)
    os.remove(os.path.join(env["LD_LIBRARY_PATH"], "libascendcl.so"))
    watch = All()
    target.do("cqfd")
    target.finish()
    one_error(watch.stop(), target.pid)


def test_replaced():
    """an upgrade by renaming a new file over the old one: both are watched"""
    env = own_library()
    path = os.path.join(env["LD_LIBRARY_PATH"], "libascendcl.so")
    old = Steps(env=env)
    watch = All()
    world.shutil.copy(path, path + ".new")
    os.rename(path + ".new", path)
    new = Steps(env=env)
    watch.wait_for(f"process {new.pid} .*probed .* later")
    for target in old, new:
        target.do("cqfd")
        target.finish()
    ended = watch.stop()
    one_error(ended, old.pid)
    one_error(ended, new.pid)


def overwrite(path):
    """In place, with the same code, so that who runs it goes on."""
    with open(path, "r+b", buffering=0) as file:
        data = file.read()
        file.seek(0)
        file.write(data)


def test_overwritten():
    """a library that is written to in place loses its probes, and gets them again"""
    env = own_library()
    target = Steps(env=env)
    watch = All()
    target.do("cqfd")
    expect(target.is_probed(), "not probed")
    overwrite(os.path.join(env["LD_LIBRARY_PATH"], "libascendcl.so"))
    watch.wait_for("is about to be written to")
    watch.wait_for(f"probed, as process {target.pid} ")
    time.sleep(0.5)         # for the rest of it
    target.do("cqfd")
    target.finish()
    ended = watch.stop()
    expect_equal(len(errors(ended, target.pid)), 2, "errors before and after")


def test_other_version():
    """one that is overwritten with another version harms nobody, however soon it is mapped"""
    folder = own_library()["LD_LIBRARY_PATH"]
    path = os.path.join(folder, "libascendcl.so")
    versions = [os.path.join(world.runtime(shape), "libascendcl.so") for shape in
                ("mono", "mono-call")]
    watch = All()
    pids = []
    for i in range(8):
        world.shutil.copyfile(versions[i % 2], path)        # waits until the probes are out
        ended = world.run([world.scenario("pcd_order"), 1], race="certain",
                          env={"LD_LIBRARY_PATH": folder})
        expect_equal((ended.status, ended.err), (0, b""), f"the program on version {i}")
        pids.append(ended.lines()[0]["pid"])
        target = Steps(env={"LD_LIBRARY_PATH": folder})     # so that it is probed for sure
        time.sleep(0.5)         # it may have been before, so its first byte does not tell
        target.do("cqfd")
        target.finish()
        pids[-1] = target.pid
    ended = watch.stop()
    for pid in pids:
        one_error(ended, pid)


LEADERLESS = r"""
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "acl/acl.h"
static void *order(void *arg)
{
	void *host, *dev;
	aclrtStream s;
	aclrtEvent e;
	aclrtEventRecordedStatus status = 0;
	char letter;

	(void)arg;
	aclInit(0);
	aclrtSetDevice(0);
	aclrtCreateStream(&s);
	if (read(0, &letter, 1) != 1)
		_exit(1);
	aclrtMallocHost(&host, 4096);
	aclrtMalloc(&dev, 4096, 0);
	aclrtCreateEvent(&e);
	aclrtMemcpyAsync(dev, 4096, host, 4096, ACL_MEMCPY_HOST_TO_DEVICE, s);
	aclrtRecordEvent(e, s);
	while (status != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
		aclrtQueryEventStatus(e, &status);
		sched_yield();
	}
	aclrtFreeHost(host);
	aclrtDestroyEvent(e);
	_exit(0);
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, order, 0);
	pthread_exit(0);
}
"""


def test_without_main_thread():
    """a process whose main thread is gone is watched as any other"""
    source = world.scratch("zombie.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(LEADERLESS)
    program = world.compile_c(source, "-I", os.path.join(world.ROOT, "tests/sim/include"), "-I",
                              os.path.join(world.ROOT, "include"), "-L", world.runtime("mono"),
                              "-lascendcl", "-pthread")
    for watcher in "-p", "--all":
        target = world.start([program], env=own_library(), race="certain", stdin=subprocess.PIPE)
        world.wait_until(lambda: state(target.pid) == "Z", "its main thread is gone")
        if watcher == "-p":
            watch = Watch("-p", target.pid)
            watch.wait_for(f"attached to process {target.pid}")
        else:
            watch = All()
        target.stdin.write(b"x")
        target.stdin.close()
        target.stdin = None
        world.finish(target)
        one_error(watch.finish() if watcher == "-p" else watch.stop(), target.pid)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


# ---- filters ----------------------------------------------------------------------

def test_filters():
    """--comm and --uid"""
    def caught(options, wanted, user=()):
        env = own_library()
        os.chmod(env["LD_LIBRARY_PATH"], 0o755)
        watch = All(*options)
        target = Steps(env=env, prefix=user)
        if wanted:
            watch.wait_for(f"process {target.pid} .*probed .* later")
        else:
            time.sleep(1)
        target.do("cqfd")
        target.finish()
        expect_equal(len(errors(watch.stop(), target.pid)), wanted, f"errors with {options}")
    caught(["--comm", "step*"], 1)
    caught(["--comm", "nobody"], 0)
    caught(["--uid", os.geteuid(), "--comm", "steps"], 1)
    caught(["--uid", 54321], 0)
    holder, watch = Steps(), All("--comm", "*p*")
    ended = world.run(world.sh(*[[world.scenario("pcd_order"), 1]] * 50), race="certain")
    pids = [line["pid"] for line in ended.lines()]
    holder.finish()
    ended = watch.stop()
    expect_equal([pid for pid in pids if not ended.of("violation", pid)], [], "short ones missed")
    expect_equal(ended.summary()["lost"]["orphaned-followups"], 0, "orphans")
    caught(["--uid", 54321], 1, ["setpriv", "--reuid=54321", "--clear-groups",
                                 "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"])


def test_filter_usage():
    """filters need --all, which does not go with -p"""
    for options in (["--comm", "x", "-p", 1], ["--all", "-p", 1], ["--all", "--no-wait"],
                    ["--all", "--container", "nothex"], ["--all", "--uid", "-1"], []):
        expect_equal(world.run([world.ACLGUARD, "watch", *options]).status, world.USAGE,
                     f"status with {options}")


# ---- containers ---------------------------------------------------------------------

def cgroup_root():
    """A hierarchy of control groups in which we may make some."""
    for path in "/sys/fs/cgroup/pids", "/sys/fs/cgroup":
        if os.path.exists(os.path.join(path, "cgroup.procs")):
            return path
    raise world.Failure("no control groups are mounted")


@contextlib.contextmanager
def cgroup(name):
    path = os.path.join(cgroup_root(), name)
    os.mkdir(path)
    try:
        yield path
    finally:
        world.wait_until(lambda: remove(path), "the control group is empty")


def remove(path):
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


CONTAINER = """
set -e
echo $$ > "$1"/cgroup.procs
mount -t overlay overlay -o "lowerdir=$2,upperdir=$3/upper,workdir=$3/work" "$3/root"
LD_LIBRARY_PATH=$3/root exec "$4"
"""


class Container(Steps):
    """`steps` in namespaces of its own, on an overlay over a layer that others may share."""

    def __init__(self, group, layer):
        folder = world.scratch("container")
        for name in "upper", "work", "root":
            os.makedirs(os.path.join(folder, name))
        self.process = world.start(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", CONTAINER, "sh",
             group, layer, folder, world.scenario("steps")],
            race="certain", stdin=subprocess.PIPE)
        self.code = int(self.answer(), 16)
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            self.pid = int(file.read().split()[0])


def container_id(number):
    return f"{number:02x}" * 32


def test_containers():
    """four containers on one layer, two on another: each violation once, with its container"""
    layers = folder_with_library("one"), folder_with_library("two")
    with contextlib.ExitStack() as stack:
        groups = [stack.enter_context(cgroup(f"docker-{container_id(i)}.scope")) for i in range(6)]
        early = [Container(groups[i], layers[i // 4]) for i in (0, 1, 4)]
        watch = All()
        late = [Container(groups[i], layers[i // 4]) for i in (2, 3, 5)]
        time.sleep(1)       # what is heard of late is not what is asked for here
        containers = dict(zip((0, 1, 4, 2, 3, 5), early + late))
        for container in containers.values():
            container.do("cqfd")
            container.finish()
        ended = watch.stop()
    for i, container in containers.items():
        violation = one_error(ended, container.pid)
        expect_equal((violation["ns_pid"], violation["container"]), (1, container_id(i)),
                     f"pid and container of {i}")
    paths = [lib["path"] for lib in ended.summary()["libraries"]
             if re.search(r"/\d+-(container|named)/", lib["path"])]
    expect_equal(len(paths), 2, f"libraries probed: {paths}")


def test_container_filter():
    """--container and --cgroup"""
    layer = folder_with_library("layer")
    with contextlib.ExitStack() as stack:
        groups = [stack.enter_context(cgroup(f"crio-{container_id(0xa0 + i)}")) for i in range(2)]
        for options in (["--container", container_id(0xa0)[:12]],
                        ["--cgroup", "/" + os.path.basename(groups[0])]):
            watch = All(*options)
            both = [Container(group, layer) for group in groups]
            watch.wait_for(f"process {both[0].pid} .*probed .* later")
            for container in both:
                container.do("cqfd")
                container.finish()
            ended = watch.stop()
            one_error(ended, both[0].pid)
            expect_equal(ended.of("violation", both[1].pid), [], f"the other one with {options}")


# ---- coming and going ---------------------------------------------------------------

def state_of(pid):
    """Descriptors and resident memory (KiB) of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        resident = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
    return len(os.listdir(f"/proc/{pid}/fd")), resident


def test_short_lived():
    """hundreds of short-lived processes leave descriptors and memory where they were"""
    holder = Steps()        # so that the library is probed before they come
    watch = All("--stacks=none")

    def some(n):
        ended = world.run(world.sh(*[[world.scenario("pcd_order"), 1]] * n), race="certain")
        expect_equal(ended.status, 0, "status of the programs")
        time.sleep(1)
        return [line["pid"] for line in ended.lines()]
    pids = some(50)
    before = state_of(watch.process.pid)
    pids += some(150)
    after = state_of(watch.process.pid)
    ended = watch.stop()
    # other programs on the machine may be watched, too: three descriptors each
    expect(after[0] <= before[0] + 30, "descriptors:", before[0], after[0])
    expect(after[1] <= before[1] + 4096, "resident KiB:", before[1], after[1])
    holder.finish()
    found = [pid for pid in pids if ended.of("violation", pid)]
    expect_equal(len(found), len(pids), "processes that were caught")


def test_two():
    """two aclguards on one machine do not disturb each other"""
    target = Steps(env=own_library())
    watches = All(), All()
    target.do("cqfd")
    for watch in watches:
        one_error(watch.stop(), target.pid)
        target.do("cq" if watch is watches[0] else "")
    target.do("fd")
    target.finish()
    expect(not target.process.returncode, "the program")


def test_killed():
    """SIGKILL leaves no probe, and the program runs on"""
    target = Steps(env=own_library())
    watch = All()
    target.do("cqfd")
    expect(target.is_probed(), "not probed")
    watch.process.send_signal(signal.SIGKILL)
    watch.process.communicate()
    world.wait_until(lambda: not target.is_probed(), "the probes are out")
    target.do("cqfd")
    target.finish()


# ---- caution ------------------------------------------------------------------------

CANARY_DEAD = 116       # src/exits.h


def test_canary():
    """--canary probes one process alone, and goes on only if it lives"""
    first, second = Steps(env=own_library()), Steps(env=own_library())
    watch = Watch("-p", f"{first.pid},{second.pid}", "--canary", 2)
    watch.wait_for(f"process {first.pid} is probed alone, for 2 s")
    expect(first.is_probed() and not second.is_probed(), "who is probed:", first.is_probed(),
           second.is_probed())
    watch.wait_for(f"attached to process {second.pid}\\b")
    first.do("cqfd")
    second.do("cqfd")
    ended = watch.stop()
    for target in first, second:
        target.finish()
        one_error(ended, target.pid)
    first, second = Steps(env=own_library()), Steps(env=own_library())
    watch = Watch("-p", f"{first.pid},{second.pid}", "--canary", 30)
    watch.wait_for("is probed alone")
    first.process.kill()
    ended = watch.finish()
    expect_equal(ended.status, CANARY_DEAD, "status")
    expect(not second.is_probed(), "the second one is probed")
    second.finish()
    world.mentions(ended.err, f"process {first.pid} ended while it was probed alone")


def test_canary_of_all():
    """the same where all processes are watched"""
    bird = world.scratch("bird")        # a name of its own: it is the first of that name
    world.shutil.copy(world.scenario("steps"), bird)
    name = os.path.basename(bird)[:15]
    target = Steps(env=own_library(), program=bird)
    watch = Watch("--all", "--comm", name, "--canary", 30)
    watch.wait_for(f"process {target.pid} is probed alone")
    expect(target.is_probed(), "not probed")
    target.process.kill()
    expect_equal(watch.finish().status, CANARY_DEAD, "status")
    target = Steps(env=own_library(), program=bird)
    watch = Watch("--all", "--comm", name, "--canary", 1)
    watch.wait_for("watching all processes")
    target.do("cqfd")
    target.finish()
    one_error(watch.stop(), target.pid)


def test_entries_only():
    """--assume-seccomp-risk: under a strict filter it lives on, the mistake is told, remedies are not"""
    def watched(name, *prefix):
        ended = world.guarded([*prefix, world.scenario(name), 2], ["--assume-seccomp-risk"],
                              race="certain")
        expect_equal(ended.status, 0, f"status of {name}")
        return ended
    filtered = watched("pcd_order", world.compile_c("strict.c"))
    expect_equal([(v["rule"], v["level"], v["evidence"], v["suspects"])
                  for v in filtered.of("violation")],
                 2 * [("free-before-destroy", "warning", "suspected", ["returns-unseen"])],
                 "verdicts")
    expect_equal([lib["attached_by"] for lib in filtered.summary()["libraries"]],
                 ["uprobe_multi, entries only"], "how it was attached")
    for name in "pcd_fixed_sync", "pcd_fixed_destroy", "clean_mix":
        expect_equal(watched(name).of("violation"), [], f"violations of {name}")
    expect_equal(world.run([world.ACLGUARD, "record", "-o", world.scratch("rec"),
                            "--assume-seccomp-risk", "true"]).status, 125, "status of record")


def all_tests():
    return world.titled(
        test_before_and_after, test_new_copy, test_ctypes, test_renamed, test_hostile_path,
        test_deleted, test_replaced, test_overwritten, test_other_version,
        test_without_main_thread, test_filters, test_filter_usage,
        test_containers, test_container_filter, test_short_lived, test_two, test_killed,
        test_canary, test_canary_of_all, test_entries_only)


if __name__ == "__main__":
    world.run_tests(all_tests())
