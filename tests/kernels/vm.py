# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Boots a kernel in qemu and takes down what it says on its console."""

import base64
import io
import os
import re
import shutil
import subprocess
import tarfile
import time

# Without the instructions whose every byte is a step of the emulation, which the kernel
# copies with where it has them.
MACHINES = {
    "amd64": (["qemu-system-x86_64", "-M", "q35", "-cpu", "max,-erms,-fsrm"],
              "console=ttyS0 no_timer_check"),
    "arm64": (["qemu-system-aarch64", "-M", "virt", "-cpu", "neoverse-n1"], "console=ttyAMA0"),
}


def is_there(arch):
    return shutil.which(MACHINES[arch][0][0]) is not None


def accelerator(arch):
    """Emulation, unless told otherwise: what /dev/kvm promises is not always kept.

    Before 8.0, kernels that patch their own code break on two emulated CPUs in parallel.
    """
    if os.environ.get("ACCEL") and arch == {"x86_64": "amd64", "aarch64": "arm64"}.get(
            os.uname().machine):
        return os.environ["ACCEL"]
    said = subprocess.run([MACHINES[arch][0][0], "--version"], stdout=subprocess.PIPE,
                          check=False, text=True).stdout
    major = re.search(r"version (\d+)", said)
    return "tcg,thread=" + ("multi" if major and int(major[1]) >= 8 else "single")


class Console:
    """What a machine said, and what it sent."""

    def __init__(self, path, seconds, late):
        self.path, self.seconds, self.late = path, seconds, late
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read().replace("\r", "")
        self.phases = {name: float(at) for name, at in
                       re.findall(r"^@@ (\w+) ([\d.]+)$", text, re.M)}
        self.text = re.sub(r"^@= .*\n", "", text, flags=re.M)
        self.files = {}
        if "ended" in self.phases:
            self.unpack("".join(re.findall(r"^@= ([\w+/]+=*)$", text, re.M)))

    def unpack(self, text):
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text)), mode="r:gz") as tar:
            for member in tar:
                if member.isfile():
                    self.files[os.path.basename(member.name)] = tar.extractfile(member).read()

    def ended(self):
        """It came to its end, and what it sent is whole."""
        return "ended" in self.phases and not self.late

    def file(self, name):
        return self.files.get(name, b"").decode("utf-8", "replace")


def boot(arch, vmlinuz, initrd, words, log, patience):
    """Runs a machine to its end."""
    machine, line = MACHINES[arch]
    # panic=-1: a panic ends it at once.
    command = [*machine, "-accel", accelerator(arch), "-smp", "2", "-m", "1G", "-nodefaults",
               "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", vmlinuz,
               "-initrd", initrd, "-append",
               f"{line} panic=-1 quiet mitigations=off aclguard={','.join(words)}"]
    started = time.monotonic()
    late = False
    with open(log, "wb") as out:
        with subprocess.Popen(["nice", "-n", "10", *command], stdin=subprocess.DEVNULL,
                              stdout=out, stderr=subprocess.STDOUT) as process:
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                late = True
            finally:
                process.kill()
    return Console(log, time.monotonic() - started, late)
