#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard export works under what the systemd unit allows it: its capabilities, its system
calls, its view of the file system; and speaks to the service manager."""

import json
import os
import re
import stat

import confined                         # first: it finds the others
import unit
import world
from confined import Service
from world import expect, expect_equal


def check_service(names=None, env=None):
    """It sees a violation in a container, tells of it everywhere, and ends."""
    number = confined.new_id()
    with confined.container(f"docker-{number}.scope") as target:
        service = Service(lambda folder, options: unit.command(folder, options, names), env)
        target.do("cqfd")
        found = service.violation(target.pid)
        metrics = service.page("/metrics")
        target.finish()
    expect_equal((found["rule"], found["level"], found["container"]),
                 ("free-before-destroy", "error", number), "the violation")
    expect(any(frame["function"] == "release_buffer" for frame in found["stack"]),
           "no names in the stack:", found["stack"])
    expect(re.search(r'^aclguard_violations_total\{rule="free-before-destroy",level="error",.*'
                     rf'program="steps".*container_name="{number[:12]}".*\}} [1-9]', metrics, re.M),
           "metrics:", metrics)
    service.until("WATCHDOG=1")
    control = os.path.join(service.folder, "control")
    expect(stat.S_ISSOCK(os.stat(control).st_mode), "no socket for aclguard control")
    service.stop()


def test_as_the_unit_says():
    """under the unit's restrictions, a violation in a container"""
    check_service()


def test_perf_events():
    """the same by the older kind of uprobe"""
    check_service(env={"ACLGUARD_NO_UPROBE_MULTI": "1"})


def test_without_admin():
    """the same without CAP_SYS_ADMIN, where the kernel has uprobe_multi"""
    doctor = json.loads(world.run([world.ACLGUARD, "doctor", "--json"]).out)
    if doctor["attach"] != "uprobe_multi":
        raise world.Skipped("this kernel has no uprobe_multi")
    check_service([cap for cap in unit.capabilities() if cap != "CAP_SYS_ADMIN"])


def test_confined():
    """the restrictions are in force"""
    folder = world.scratch("run")
    os.mkdir(folder)
    probe = ("! touch /etc/x /usr/x /var/x /run/x /sys/kernel/x; ! ls /root; ! ls /tmp; "
             "[ ! -e /dev/kmsg ]; ! unshare --net true; ! mount -t tmpfs none /mnt; "
             "touch /run/aclguard/x; grep CapEff /proc/self/status")
    said = world.run(unit.command(folder, words=["/bin/sh", "-ec", probe]))
    expect_equal(said.status, 0, said.said())
    bits = int(re.search(rb"CapEff:\s+(\w+)", said.out)[1], 16)
    expect_equal(bin(bits).count("1"), len(unit.capabilities()), "capabilities in force")


if __name__ == "__main__":
    world.run_tests(world.titled(test_confined, test_as_the_unit_says, test_perf_events,
                                 test_without_admin))
