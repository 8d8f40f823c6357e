# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A fleet on one machine: nodes, each an `aclguard export` that watches containers of its own,
a real Prometheus that scrapes them with the rules of deploy/, and a real Alertmanager
that sends alerts to a receiver of ours.

Only times are others than in deploy/: rules are evaluated every second, and alerts wait for
one.  Everything listens on free ports of 127.0.0.1, and its files are in one folder.
"""
import base64
import contextlib
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

import world
from test_all import cgroup_root, remove
from test_export import Samples
from test_httpd import basic, bcrypt, certificates
from world import expect, expect_equal

PROMETHEUS_YML = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{folder}/recording.yml, {folder}/alerts.yml]
alerting:
  alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{alertmanager}']}}]}}]
scrape_configs:
  - job_name: aclguard
    file_sd_configs: [{{files: [{folder}/plain.json]}}]
  - job_name: aclguard-secure
    scheme: https
    tls_config: {{ca_file: {certificates}/ca.crt, server_name: localhost}}
    basic_auth: {{username: prometheus, password: secret}}
    file_sd_configs: [{{files: [{folder}/secure.json]}}]
    relabel_configs: [{{target_label: job, replacement: aclguard}}]
"""

ALERTMANAGER_YML = """
route:
  {{receiver: ours, group_by: ['...'], group_wait: 100ms, group_interval: 1s, repeat_interval: 1h}}
receivers:
  - name: ours
    webhook_configs: [{{url: 'http://127.0.0.1:{receiver}/', send_resolved: true}}]
"""

WEB_YML = """
tls_server_config: {{cert_file: {certificates}/server.crt, key_file: {certificates}/server.key}}
basic_auth_users: {{prometheus: {hash}}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".new", path)


class Job:
    """A process of tests/scenarios/steps.c in a container of a node."""

    def __init__(self, node, program, group):
        before = node.attached()
        self.process = node.run_in(group, node.copy(program, "steps"), stdin=subprocess.PIPE)
        self.process.stdout.readline()                  # where aclrtFreeHost is
        world.wait_until(lambda: node.attached() > before, f"{node.name} watches {program}")

    def do(self, order, n=1):
        """Orders of calls: "cqfd" is a violation, "cqdf" is none."""
        self.process.stdin.write(f"{order * n}\n".encode())
        self.process.stdin.flush()
        for letter in order * n:
            expect_equal(self.process.stdout.readline(), f"{letter}\n".encode(), "answer")

    def finish(self):
        expect_equal(world.finish(self.process, b"").status, 0, "status of the program")


class Node:
    """An `aclguard export`, its copy of the runtime, and the containers that it watches."""

    def __init__(self, fleet, name, *options, only=None, secure=False):
        self.fleet, self.name, self.options, self.secure = fleet, name, options, secure
        self.folder = os.path.join(fleet.folder, name)
        self.lib = os.path.join(self.folder, "lib")
        self.logs = os.path.join(self.folder, "root/var/log/containers")
        self.said = os.path.join(self.folder, "stderr")
        self.group = os.path.join(cgroup_root(), f"aclfleet-{os.getpid()}-{name}")
        self.groups, self.programs = [self.group], []
        self.process, self.port = None, free_port()
        os.makedirs(self.logs)
        shutil.copytree(world.runtime("mono"), self.lib)
        os.mkdir(self.group)
        self.options += only or f"--cgroup=/{os.path.basename(self.group)}",
        if secure:
            path = os.path.join(self.folder, "web.yml")
            write(path, WEB_YML.format(certificates=fleet.certificates, hash=bcrypt("secret")))
            self.options += f"--web.config.file={path}",
        self.start()

    def start(self):
        with open(self.said, "wb") as said:
            self.process = world.start(
                [world.ACLGUARD, "export", f"--web.listen-address=127.0.0.1:{self.port}",
                 f"--host-root={self.folder}/root", *self.options],
                stdout=subprocess.DEVNULL, stderr=said)
        world.wait_until(lambda: self.process.poll() is not None or
                         "watching all" in self.stderr(), f"{self.name} watches")
        expect(self.process.poll() is None, self.stderr())

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        world.finish(self.process)

    def close(self):
        for program in self.programs:
            program.kill()
            program.wait()
        self.stop()
        for path in reversed(self.groups):
            world.wait_until(lambda path=path: remove(path), f"{path} is empty")

    def stderr(self):
        with open(self.said, encoding="utf-8") as f:
            return f.read()

    def page(self):
        """Its metrics, by the way that Prometheus takes."""
        if self.secure:
            context = ssl.create_default_context(cafile=f"{self.fleet.certificates}/ca.crt")
            connection = http.client.HTTPSConnection("localhost", self.port, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics", headers=basic("prometheus", "secret"))
            response = connection.getresponse()
            text = response.read().decode("utf-8")
        expect_equal(response.status, 200, f"status of {self.name}")
        return text

    def metrics(self):
        return Samples(self.page())

    def attached(self):
        """Processes that are watched, and libraries that are probed."""
        m = self.metrics()
        return sum(m.sum(f"aclguard_attached_{what}") for what in ("processes", "libraries"))

    def copy(self, program, scenario):
        path = os.path.join(self.folder, program)
        if not os.path.exists(path):
            shutil.copy(world.scenario(scenario), path)
        return path

    def container(self, number, pod, namespace="research", name="main"):
        """A control group as a container runtime makes it, known to the kubelet by these names."""
        uid, cid = f"{number:08x}-0000-4000-8000-000000000000", f"{number:064x}"
        group = os.path.join(self.group, f"kubepods-pod{uid.replace('-', '_')}.slice")
        for path in group, os.path.join(group, f"cri-containerd-{cid}.scope"):
            os.mkdir(path)
            self.groups.append(path)
        os.symlink("/nowhere", os.path.join(self.logs, f"{pod}_{namespace}_{name}-{cid}.log"))
        return path

    def run_in(self, group, *command, **how):
        """Starts a program in a container of this node, which ends when the node does."""
        self.programs.append(world.start(
            ["sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', group, *command],
            race="certain", env={"LD_LIBRARY_PATH": self.lib}, **how))
        return self.programs[-1]


class Receiver:
    """What Alertmanager sends: [(status, labels)]."""

    def __init__(self):
        got = self.got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                got.extend((alert["status"], alert["labels"]) for alert in body["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def has(self, status, **labels):
        return any(s == status and labels.items() <= found.items()
                   for s, found in list(self.got))


class Fleet:
    """Three nodes, node-3 behind TLS and a password; Prometheus, Alertmanager, receiver."""

    def __init__(self):
        self.folder = world.scratch("fleet")
        os.mkdir(self.folder)
        self.certificates = certificates()
        self.nodes, self.receiver = [], Receiver()
        self.port, self.alertmanager = free_port(), free_port()
        self.servers = []

    def __enter__(self):
        try:
            for n in 1, 2, 3:
                # the time that BPF programs take is measured by one for all of the machine
                self.add(f"node-{n}", *["--bpf-stats"] * (n == 1), secure=n == 3)
            self.start_servers()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for server in self.servers:
            server.terminate()
            server.wait(world.PATIENCE)
        self.receiver.server.shutdown()
        for node in self.nodes:
            node.close()

    def add(self, name, *options, **how):
        node = Node(self, name, *options, **how)
        self.nodes.append(node)
        self.tell()
        return node

    def tell(self):
        """Prometheus looks for targets here."""
        for path, secure in ("plain.json", False), ("secure.json", True):
            write(os.path.join(self.folder, path), json.dumps(
                [{"targets": [f"127.0.0.1:{node.port}"], "labels": {"instance": node.name}}
                 for node in self.nodes if node.secure == secure]))

    def rules(self):
        for name in "recording", "alerts":
            with open(os.path.join(world.ROOT, "deploy/prometheus", f"{name}.yml"),
                      encoding="utf-8") as f:
                text = re.sub(r"\b(interval|for): \d+[smh]\n", r"\1: 1s\n", f.read())
            write(os.path.join(self.folder, f"{name}.yml"), text)

    def serve(self, program, *args):
        with open(os.path.join(self.folder, f"{program}.log"), "wb") as log:
            self.servers.append(subprocess.Popen([program, *args], stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log, cwd=self.folder))

    def start_servers(self):
        self.rules()
        write(f"{self.folder}/prometheus.yml", PROMETHEUS_YML.format(
            folder=self.folder, alertmanager=self.alertmanager, certificates=self.certificates))
        write(f"{self.folder}/alertmanager.yml", ALERTMANAGER_YML.format(
            receiver=self.receiver.port))
        self.serve("prometheus-alertmanager", f"--config.file={self.folder}/alertmanager.yml",
                   f"--storage.path={self.folder}/alertmanager", "--cluster.listen-address=",
                   f"--web.listen-address=127.0.0.1:{self.alertmanager}")
        self.serve("prometheus", f"--config.file={self.folder}/prometheus.yml",
                   f"--storage.tsdb.path={self.folder}/tsdb", "--log.level=warn",
                   f"--web.listen-address=127.0.0.1:{self.port}")
        for port in self.port, self.alertmanager:
            world.wait_until(lambda port=port: self.is_ready(port), "Prometheus is ready")

    def is_ready(self, port):
        for server in self.servers:
            expect(server.poll() is None, f"{server.args} ended; see", self.folder)
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as r:
                return r.status == 200
        return False

    # ---- asking Prometheus ----

    def api(self, path, **args):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(args)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as r:
                answer = json.load(r)
        except urllib.error.HTTPError as error:
            raise world.Failure(f"{url}: {error.read().decode()}") from None
        expect_equal(answer["status"], "success", f"status of {url}")
        return answer["data"]

    def query(self, expression):
        """{labels: value}: the labels as a frozenset of pairs, without __name__."""
        data = self.api("query", query=expression)
        if data["resultType"] == "scalar":
            return {frozenset(): float(data["result"][1])}
        return {frozenset((k, v) for k, v in series["metric"].items() if k != "__name__"):
                float(series["value"][1]) for series in data["result"]}

    def query_range(self, expression, seconds=60, step=1):
        now = time.time()
        return self.api("query_range", query=expression, start=now - seconds, end=now,
                        step=step)["result"]

    def gives(self, expression, wanted, seconds=60):
        """An expression comes to give exactly this: {(("label", "value"), ...): value}."""
        wanted = {frozenset(labels): value for labels, value in wanted.items()}
        deadline = time.monotonic() + seconds
        while (got := self.query(expression)) != wanted:
            expect(time.monotonic() < deadline, f"{expression}\ngives", readable(got),
                   "\nexpected", readable(wanted))
            time.sleep(0.25)

    def fires(self, status="firing", seconds=60, **labels):
        """An alert with these labels reaches the receiver."""
        deadline = time.monotonic() + seconds
        while not self.receiver.has(status, **labels):
            expect(time.monotonic() < deadline, f"no alert is {status} with {labels};",
                   "the receiver got", [(s, found.get("alertname")) for s, found in
                                        self.receiver.got])
            time.sleep(0.25)


def readable(series):
    return {", ".join(f"{k}={v}" for k, v in sorted(labels)): value
            for labels, value in series.items()}
