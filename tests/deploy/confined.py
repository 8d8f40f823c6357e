# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Starting aclguard as a service manager or the kubelet would, where there is neither.

Real are the capabilities, the namespaces, and a view of the file system in which is
read-only or hidden what they would make so.  A folder of the test's becomes /run/aclguard;
it holds the program as well, and sockets by which the test speaks to it.
"""
import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../integration")]

import world                                                            # noqa: E402
from test_all import CONTAINER, cgroup, container_id, folder_with_library   # noqa: E402
from test_watch import Steps                                            # noqa: E402
from world import expect, expect_equal                                  # noqa: E402

SOMEBODY = 54321

# Steps that follow may use hide and lock.
WORLD = """
set -e
hide() { [ ! -d "$1" ] || mount -t tmpfs -o mode=0000 none "$1"; }
lock() {        # with all that is mounted below it; of /, but for the API's own
    mountpoint -q "$1" || mount --bind "$1" "$1"
    awk -v top="${1%/}/" '$5 == substr(top, 1, length(top) - 1) || index($5, top) == 1 {
        print $5 }' /proc/self/mountinfo | sort -u | while read -r at; do
        case $1$at in //run/aclguard|//proc|//proc/*|//sys|//sys/*|//dev|//dev/*) ;;
        *) mount -o remount,bind,ro "$at" ;;
        esac
    done
}
devices() {
    mkdir /run/dev
    for node in null zero full random urandom; do
        : >/run/dev/$node
        mount --bind /dev/$node /run/dev/$node
    done
    mount --rbind /run/dev /dev
}
mount -t tmpfs -o mode=0755 none /run
mkdir /run/aclguard
mount --bind "$1" /run/aclguard
shift
cd /
"""


def command(folder, steps, capabilities, words, namespaces=()):
    """The words are run after the steps, shell commands, in namespaces of their own, as root
    with these capabilities alone; the program's place is /run/aclguard/aclguard."""
    world.shutil.copy(world.ACLGUARD, os.path.join(folder, "aclguard"))
    bounding = ",".join(["-all", *("+" + name[4:].lower() for name in capabilities)])
    return ["unshare", "--mount", *namespaces, "sh", "-c",
            "\n".join([WORLD, *steps, 'exec "$@"']), "sh", folder,
            "setpriv", "--no-new-privs", f"--bounding-set={bounding}", "--inh-caps=-all", *words]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=world.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Service:
    """aclguard export by the command that `make` gives of a folder and further options."""

    def __init__(self, make, env=None):
        self.folder = world.scratch("run")
        os.mkdir(self.folder)
        self.told = ""
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(self.folder, "notify"))
        self.notify.settimeout(world.PATIENCE)
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = world.start(
                make(self.folder, ["--web.listen-address=unix:/run/aclguard/web"]), stderr=log,
                stdout=log, env={"NOTIFY_SOCKET": "/run/aclguard/notify",
                                 "WATCHDOG_USEC": "2000000", **(env or {})})
        self.until("READY=1")

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def until(self, word):
        """Until the service manager is told that."""
        while word not in self.told.split("\n"):
            expect(self.process.poll() is None, "it ended:", self.log())
            self.told += self.notify.recv(4096).decode() + "\n"
        self.told = ""

    def get(self, path):
        with contextlib.closing(UnixConnection(os.path.join(self.folder, "web"))) as web:
            web.request("GET", path)
            answer = web.getresponse()
            return answer.status, answer.read().decode()

    def page(self, path):
        status, text = self.get(path)
        expect_equal(status, 200, path)
        return text

    def violation(self, pid):
        """The one of this process, as soon as it is there."""
        found, = world.wait_until(
            lambda: [v for v in json.loads(self.page("/violations")) if v["pid"] == pid],
            "a violation at /violations")
        return found

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.until("STOPPING=1")
        ended = world.finish(self.process)
        self.notify.close()
        expect_equal(ended.status, 0, "status")
        log = self.log()
        for wrong in "not permitted", "not allowed", "denied":
            expect(wrong not in log, "it was refused something:", log)


class Container(Steps):
    """`steps` as another user, in namespaces of its own, with the runtime from a file that
    was deleted since."""

    def __init__(self, group):
        layer = folder_with_library("layer")
        folder = world.scratch("container")
        for name in "upper", "work", "root":
            os.makedirs(os.path.join(folder, name))
        for path in layer, folder:
            while path not in ("/", "/tmp"):
                os.chmod(path, 0o755)
                path = os.path.dirname(path)
        world.shutil.copy(world.scenario("steps"), os.path.join(folder, "upper"))
        script = CONTAINER.replace('exec "$4"', f'exec setpriv --reuid={SOMEBODY} '
                                   f'--regid={SOMEBODY} --clear-groups "$3/root/steps"')
        self.process = world.start(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh",
             group, layer, folder], race="certain", stdin=world.subprocess.PIPE)
        self.code = int(self.answer(), 16)
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            self.pid = int(file.read().split()[0])
        os.remove(f"/proc/{self.pid}/root{folder}/root/libascendcl.so")

    def end(self):
        """What gave up its user is not ended with unshare."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


_numbers = itertools.count(os.getpid() % 100 + 100)


def new_id():
    return container_id(next(_numbers))


@contextlib.contextmanager
def container(group_name):
    """A container that runs in a control group of this name, a path."""
    with contextlib.ExitStack() as stack:
        for depth in range(1, group_name.count("/") + 2):
            group = stack.enter_context(cgroup("/".join(group_name.split("/")[:depth])))
        target = Container(group)
        try:
            yield target
        finally:
            target.end()
