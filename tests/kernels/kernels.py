#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tries aclguard on real kernels, each in a machine of its own; prints a row a kernel.

    kernels.py [PATTERN...]         of the names below; all unless told otherwise

For each the machine's initramfs is made of the tool, the simulated runtime, the scenarios and
the script `init`, booted, and what it sends over the console is judged here.  The console of
one that fails is kept in $BUILD/kernels.
"""

import collections
import concurrent.futures
import fnmatch
import os
import subprocess
import sys

import fetch
import histories
import image
import judge
import vm
from judge import world

sys.path.insert(0, os.path.join(world.ROOT, "tests", "build"))
import test_cross                   # noqa: E402 pylint: disable=wrong-import-position

Kernel = collections.namedtuple("Kernel", "arch package suites words")


def _debian(arch, suites, package="linux-image-cloud-{}", words=()):
    return Kernel(arch, package.format(arch), suites, words)


SUITES = {"5.10": ("bullseye-security", "bullseye"), "6.1": ("bookworm-security", "bookworm"),
          "6.12": ("trixie-security", "trixie"), "7": ("sid",)}
KERNELS = {f"{version}-{arch}": _debian(arch, suites)
           for version, suites in SUITES.items() for arch in ("amd64", "arm64")}
KERNELS["6.12-amd64-nobtf"] = KERNELS["6.12-amd64"]._replace(words=("nobtf", "brief"))
KERNELS["7-arm64-16k"] = _debian("arm64", SUITES["7"], "linux-image-arm64-16k", ("brief",))
OLDEST = "5.10-amd64", "5.10-arm64"

OUT = os.path.join(world.BUILD, "kernels")
PATIENCE = 600      # seconds, for one that takes a minute or two on an idle machine

# This one's programs are the ordinary ones, another's the static one beside the libraries
# that the simulated runtime and the scenarios are linked with.
NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine)
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


class Build:
    """The programs of an architecture."""

    def __init__(self, arch):
        self.arch = arch
        self.native = arch == NATIVE
        self.folder = world.BUILD if self.native else os.path.join(world.BUILD, arch)
        self.aclguard = "aclguard" if self.native else "static/aclguard"
        self.cc = world.CC if self.native else [
            f"{TRIPLETS[arch]}-gcc", f"--sysroot={world.BUILD}/sysroot-{arch}"]

    def make(self):
        """Gives why it cannot be had, if it is for want of packages."""
        env = {k: v for k, v in os.environ.items()
               if k not in ("ARCH", "AR") and (k != "CC" or self.native)}
        done = subprocess.run(["nice", "make", "-C", world.ROOT, f"-j{os.cpu_count()}",
                               f"BUILD={world.BUILD}", f"ARCH={self.arch}", "kernel-programs"],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if not done.returncode:
            return None
        if any(words in done.stdout for words in test_cross.NO_PACKAGES):
            return f"the packages to build for {self.arch} are not to be had"
        raise world.Failure(f"cannot build for {self.arch}:\n{done.stdout[-2000:]}")


def log(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def file_of(name):
    """Kernels that differ in what is asked of them are one file."""
    return name.replace("-nobtf", "")


def make_image(build, recordings):
    """The initramfs of an architecture."""
    img, libraries = image.Image(), image.Libraries(build.cc)
    img.copy("bin/busybox", fetch.busybox(build.arch))
    img.copy("init", os.path.join(judge.HERE, "init"))
    img.copy("bin/acted", os.path.join(judge.HERE, "acted"))
    img.add("plan", judge.plan())
    for folder in "proc", "sys", "dev", "tmp", "out", "run", "etc":
        img.folder(folder)
    programs = {"bin/aclguard": build.aclguard,
                "bin/features": "kernels/features", "bin/driver": "kernels/driver",
                "sim/libascendcl.so": "sim/mono/libascendcl.so"}
    names = [*judge.table.EXPECTED, *judge.table.MISUSED, *judge.table.LEAKING, "steps"]
    programs.update({f"sim-{shape}/libascendcl.so": f"sim/mono-{shape}/libascendcl.so"
                     for shape in judge.ENFORCED_SHAPES})
    programs.update({f"scenarios/{name}": f"scenarios/ascendcl/{name}" for name in names})
    for path, source in programs.items():
        img.copy(path, os.path.join(build.folder, source))
        libraries.add_of(img, os.path.join(build.folder, source))
    for name, contents in recordings.items():
        img.add(f"recordings/{name}", contents, 0o644)
    path = os.path.join(OUT, f"initrd-{build.arch}")
    img.write(path)
    return path


class Result:
    """Of one kernel: its tests as [(name, what is wrong)], and the row."""

    def __init__(self, name, tests, sent=None, missing=None):
        self.name, self.tests, self.sent, self.missing = name, tests, sent, missing
        self.failed = sum(bool(why) for _, why in tests)
        self.passed = len(tests) - self.failed

    def row(self):
        cells = [self.name]
        if self.missing:
            return [*cells, f"not to be had: {self.missing}"]
        features = self.sent.features if self.sent else {}
        release = self.sent.console.file("uname").split() if self.sent else []
        cells.append(release[0] if release else "-")
        cells += [features.get(feature, "-") for feature in FEATURES]
        try:
            cells.append("+".join(dict.fromkeys(sum(self.sent.ways(), []))))
        except (AttributeError, LookupError, ValueError, world.Failure):
            cells.append("-")
        seconds = f"{self.sent.console.seconds:.0f}" if self.sent else "-"
        return [*cells, str(self.passed), str(self.failed), "0", seconds]


FEATURES = "page", "ring", "cookie", "multi", "session", "task_vma", "btf"
COLUMNS = ["kernel", "release", *FEATURES, "attached by", "passed", "failed", "skipped", "s"]
WIDTHS = [17, 25, 5, 4, 6, 5, 7, 8, 4, 23, 6, 6, 7, 4]


def line_of(cells):
    return " ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS)).rstrip() \
        if len(cells) == len(COLUMNS) else "  ".join(cells)


def try_kernel(name, words, initrd, wanted):
    """Boots and judges one."""
    kernel = KERNELS[name]
    words = (*kernel.words, *words)
    path = os.path.join(OUT, f"console-{name}")
    console = vm.boot(kernel.arch, fetch.vmlinuz(file_of(name)), initrd, words, path, PATIENCE)
    sent = judge.Sent(console)
    if not console.ended():
        last = console.text.strip().splitlines()[-3:]
        why = f"{'no answer in time' if console.late else 'it ended early'}: {' / '.join(last)}"
        return Result(name, [("boots and answers", why)], sent)
    tests = [("boots and answers", "")]
    tests += [(title, judge.attempt(test)) for title, test in judge.tests_of(sent, words, wanted)]
    return Result(name, tests, sent)


def prepare(names):
    """Gets kernels and programs.  Gives {name: why it is missing}, and the histories."""
    os.makedirs(OUT, exist_ok=True)
    missing = {}
    recordings = {"histories": histories.recording(range(histories.COUNT))}
    images = {}
    for arch in dict.fromkeys(KERNELS[name].arch for name in names):
        build = Build(arch)
        why = build.make() if vm.is_there(arch) else f"there is no {vm.MACHINES[arch][0][0]}"
        mine = [name for name in names if KERNELS[name].arch == arch]
        if why:
            missing.update(dict.fromkeys(mine, why))
            continue
        failed = fetch.fetch({file_of(name): KERNELS[name] for name in mine}, log)
        missing.update({name: failed[file_of(name)] for name in mine if file_of(name) in failed})
        if set(mine) - set(missing):
            images[arch] = make_image(build, recordings)
    return missing, images, recordings["histories"]


def try_all(names, words, parallel):
    """Yields the results as they come."""
    missing, images, recording = prepare(names)
    for name in missing:
        yield Result(name, [], missing=missing[name])
    there = [name for name in names if name not in missing]
    wanted = judge.replay_here(recording).out.decode() if there else None
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        jobs = [pool.submit(try_kernel, name, words, images[KERNELS[name].arch], wanted)
                for name in reversed(there)]     # the slowest first
        for job in concurrent.futures.as_completed(jobs):
            yield job.result()


def tell(result):
    """The row, and what is wrong."""
    print(line_of(result.row()), flush=True)
    for name, why in result.tests:
        if why:
            print(f"  FAILED {name}:")
            print("\n".join(f"    {line[:500]}" for line in why.splitlines()[:12]))
    if result.failed:
        print(f"  its console: {result.sent.console.path}", flush=True)


def main():
    patterns = sys.argv[1:] or ["*"]
    names = [name for name in KERNELS if any(fnmatch.fnmatch(name, p) for p in patterns)]
    if not names:
        sys.exit(f"no kernel is called that; there are: {' '.join(KERNELS)}")
    print(line_of(COLUMNS), flush=True)
    passed = failed = 0
    try:
        for result in try_all(names, (), int(os.environ.get("PARALLEL") or 2)):
            tell(result)
            passed += result.passed
            failed += result.failed + bool(result.missing)
    except world.Failure as failure:
        print(failure)
        failed += 1
    summary = f"{passed} passed, {failed} failed"
    with open(os.path.join(world.BUILD, "summary"), "w", encoding="ascii") as file:
        file.write(summary + "\n")
    print(summary)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
