#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""aclguard export works as the DaemonSet starts it: with its arguments and capabilities, in
namespaces of its own but for that of processes, on a file system that is read-only but for
its volumes; and it names the pod of who violates a rule.

The runtime's seccomp profile and the image are not imitated, nor is a cluster: the kubelet's
files are made here."""

import contextlib
import os
import re
import urllib.parse
import uuid

import confined                         # first: it finds the others
import manifests
import world
from confined import Service
from world import expect, expect_equal


def kubelet(folder, uid, number):
    """The files that a kubelet makes of a container of a pod."""
    os.makedirs(os.path.join(folder, f"pods/jobs_trainer-0_{uid}/worker"))
    os.makedirs(os.path.join(folder, "containers"))
    os.symlink(f"/var/log/pods/jobs_trainer-0_{uid}/worker/0.log",
               os.path.join(folder, f"containers/trainer-0_jobs_worker-{number}.log"))


def mounts(log):
    """The volumes, of which the host's are where the pod has them."""
    volumes = {volume["name"]: volume for volume in manifests.pod()["spec"]["volumes"]}
    for mount in manifests.container()["volumeMounts"]:
        where, volume = mount["mountPath"], volumes[mount["name"]]
        if "emptyDir" in volume:
            expect_equal(where, "/run/aclguard", "the folder that can be written")
            continue
        source = volume["hostPath"]["path"]
        expect_equal(source, where, "place of " + mount["name"])
        if source.startswith("/var/log/"):
            yield f"mkdir {where}; mount --bind {log}/{os.path.basename(where)} {where}"
        elif os.path.isdir(source):
            yield f"mount --bind {source} {where}"
        yield f"lock {where}"


def command(folder, options, log):
    world.shutil.copytree(log, os.path.join(folder, "log-of-host"), symlinks=True)
    steps = ["mount -t tmpfs none /var/log", *mounts("/run/aclguard/log-of-host"), "hide /tmp",
             "hide /home", "hide /root", "lock /sys", "lock /proc/sys", "lock /"]
    return confined.command(folder, steps, manifests.capabilities(),
                            ["/run/aclguard/aclguard", *manifests.container()["args"], *options],
                            ["--net", "--uts", "--ipc", "--cgroup"])


def pod_seen(beside=()):
    """A violation in a pod, seen from another one, with commands running beside."""
    uid, number, log = str(uuid.uuid4()), confined.new_id(), world.scratch("log")
    kubelet(log, uid, number)
    group = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice/cri-containerd-{number}.scope"
    with confined.container(group) as target, contextlib.ExitStack() as stack:
        service = Service(lambda folder, options: command(folder, options, log))
        for words in beside:
            other = stack.enter_context(world.start(words, stdout=world.subprocess.DEVNULL))
            stack.callback(other.kill)
        target.do("cqfd")
        found = service.violation(target.pid)
        metrics = service.page("/metrics")
        target.finish()
    expect_equal((found["rule"], found["container"]), ("free-before-destroy", number), "violation")
    expect(re.search(r'^aclguard_violations_total\{.*program="steps",namespace="jobs",'
                     r'pod_name="trainer-0",container_name="worker"\} 1$', metrics, re.M),
           "metrics:", metrics)
    return service


def test_as_the_daemonset_says():
    """in a pod like the DaemonSet's, a violation in a pod"""
    service = pod_seen()
    for name, probe in manifests.probes().items():
        expect_equal(service.get(urllib.parse.quote(probe["path"]))[0], 200, name)
    expect(re.search(r'^\{.*"type":"violation"', service.log(), re.M), "no JSON on stdout")
    service.stop()


def test_beside_a_flood():
    """the same beside a program that violates a rule as fast as it can"""
    pod_seen(beside=[[world.scenario("repeat"), "1000000"]]).stop()


if __name__ == "__main__":
    world.run_tests(world.titled(test_as_the_daemonset_says, test_beside_a_flood))
