# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The systemd unit: reading it, and imitating what it asks for where systemd is not pid 1.

Beside what confined.py does, the seccomp filters are real (confine.c).  What systemd does by
control groups (MemoryMax=, CPUQuota=, TasksMax=) is not imitated.
"""
import functools
import os
import re
import shlex

import confined                         # first: it finds the others
import world
from checks import output, text_of

UNIT = "deploy/systemd/aclguard.service"

# Each hides or locks something; what is done for it here, in this order.
MOUNTS = {
    "PrivateMounts": "mount --make-rslave /",
    "PrivateTmp": "hide /tmp; hide /var/tmp",
    "ProtectHome": "hide /home; hide /root",
    "PrivateDevices": "devices",
    "ProtectKernelModules": "hide /usr/lib/modules",
    "ProtectKernelLogs": "mount --bind /dev/null /proc/kmsg",
    "ProtectKernelTunables": "lock /proc/sys; lock /sys",
    "ProtectControlGroups": "lock /sys/fs/cgroup",
    "ProtectSystem": "lock /",
}
FILTERS = {"RestrictAddressFamilies", "RestrictNamespaces", "MemoryDenyWriteExecute",
           "RestrictSUIDSGID", "SystemCallFilter", "SystemCallErrorNumber", "NoNewPrivileges"}
# Calls that are not in the list of those allowed are refused anyway: clocks, the host's
# name; and nothing is tried here of foreign architectures, personality(), real time.
REFUSED = {"ProtectClock", "ProtectHostname", "LockPersonality", "SystemCallArchitectures",
           "RestrictRealtime"}


@functools.cache
def settings():
    """{name: [values]} of the section [Service]."""
    found = {}
    section = text_of(UNIT).partition("\n[Service]\n")[2].partition("\n[")[0]
    for name, value in re.findall(r"^(\w+)=(.*)$", section, re.M):
        found.setdefault(name, []).append(value)
    return found


def setting(name):
    value, = settings()[name]
    return value


def capabilities():
    return " ".join(settings()["CapabilityBoundingSet"]).split()


def calls_of(word):
    """The system calls of a word of SystemCallFilter=, whose sets hold sets."""
    if not word.startswith("@"):
        return {word}
    lines = [line.strip() for line in
             output("systemd-analyze", "syscall-filter", word).splitlines()]
    return set().union(*(calls_of(line) for line in lines[1:] if line and line[0] != "#"))


@functools.cache
def allowed_calls():
    found = set()
    for words in settings()["SystemCallFilter"]:
        calls = set().union(*map(calls_of, words.lstrip("~").split()))
        found = found - calls if words.startswith("~") else found | calls
    # systemd allows the former whatever is set, and has called execve() by then.
    return found | calls_of("@default") | {"execve"}


def command(folder, options=(), names=None, words=None):
    """The unit's command as systemd would run it, with further options; or other words, or
    with other capabilities than it names."""
    confine = world.compile_c(os.path.join(confined.HERE, "confine.c"), "-lseccomp")
    world.shutil.copy(confine, os.path.join(folder, "confine"))
    if not words:
        words = shlex.split(setting("ExecStart").replace("$ACLGUARD_OPTIONS", ""))
        words[0] = "/run/aclguard/aclguard"
    steps = [step for name, step in MOUNTS.items() if name in settings()]
    return confined.command(
        folder, steps, capabilities() if names is None else names,
        ["/run/aclguard/confine", *sorted(allowed_calls()), "--", *words, *options])
