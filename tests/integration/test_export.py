#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The node daemon: metrics that are exact to the unit, in formats that Prometheus takes, and
events wherever they were asked for.

Each daemon watches a copy of its own of the simulated runtime and of the programs, so that
it sees nothing of what else runs on the machine.
"""

import collections
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

import world
from world import expect, expect_equal

PYTHON = sys.executable or "python3"
WHO = ("program", "namespace", "pod_name", "container_name")
HOSTILE = b"\xff\x1b[2J\n\"}\\x{\t"     # behind the prefix that the filter wants
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\.)*)"')


class Samples:
    """What a page of metrics says."""

    def __init__(self, text):
        self.text = text
        self.samples = {}
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            match = SAMPLE.match(line)
            expect(match, "not a sample:", line)
            key = (match[1], frozenset(LABEL.findall(match[2] or "")))
            expect(key not in self.samples, "twice:", line)
            self.samples[key] = float(match[3])

    def each(self, name, **labels):
        """[(labels, value)] of those that have at least these labels."""
        return [(dict(key[1]), value) for key, value in self.samples.items()
                if key[0] == name and labels.items() <= dict(key[1]).items()]

    def sum(self, name, **labels):
        return sum(value for _, value in self.each(name, **labels))


def promtool(text):
    said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, timeout=world.PATIENCE, check=False)
    expect(said.returncode == 0 and not said.stdout + said.stderr, "promtool check metrics:",
           said.stdout, said.stderr)


class Daemon:
    """An `aclguard export` that watches programs of its own."""

    def __init__(self, *options, env=None, clean_exit=True):
        self.folder = world.scratch("daemon")
        self.prefix = f"ax{os.path.basename(self.folder).partition('-')[0]}{os.getpid() % 10000}"
        self.lib = os.path.join(self.folder, "lib")
        shutil.copytree(world.runtime("mono"), self.lib)
        self.said = os.path.join(self.folder, "stderr")
        self.clean_exit = clean_exit
        with open(self.said, "wb") as said:
            self.process = world.start([
                world.ACLGUARD, "export", f"--comm={self.prefix}*",
                "--web.listen-address=127.0.0.1:0", *options], stderr=said, env=env)
        world.wait_until(lambda: self.process.poll() is not None or
                         "watching all" in self.stderr(), "the daemon watches")
        where = re.search(r"serving metrics at 127\.0\.0\.1:(\d+)", self.stderr())
        expect(self.process.poll() is None and where, "the daemon:", self.stderr())
        self.port = int(where[1])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        ended = world.finish(self.process)
        if self.clean_exit:
            expect_equal(ended.status, 0, "status of the daemon")
        return ended

    def stderr(self):
        with open(self.said, encoding="utf-8") as f:
            return f.read()

    def get(self, path, accept=None):
        """Status, content type, text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=world.PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Accept": accept} if accept else {})
            response = connection.getresponse()
            return response.status, response.getheader("Content-Type"), \
                response.read().decode("utf-8")

    def metrics(self):
        status, kind, text = self.get("/metrics")
        expect_equal((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"), "/metrics")
        return Samples(text)

    def program(self, name, scenario):
        """A scenario under another name, which the daemon wants."""
        path = os.path.join(self.folder, f"{self.prefix}{name}")
        if not os.path.exists(path):
            shutil.copy(world.scenario(scenario), path)
        return path

    def start(self, command, race="certain", env=None, **popen):
        return world.start(command, race=race, env={"LD_LIBRARY_PATH": self.lib, **(env or {})},
                           **popen)

    def run(self, name, scenario, *args, **how):
        ended = world.finish(self.start([self.program(name, scenario), *args], **how))
        return [json.loads(line) for line in ended.out.splitlines()]

    def start_target(self, name):
        """tests/integration/target.py under a name that the daemon wants."""
        name = self.prefix.encode() + (name if isinstance(name, bytes) else name.encode())
        return self.start([PYTHON, os.path.join(world.HERE, "target.py"), name.hex()],
                          stdin=subprocess.PIPE)

    def attach(self):
        """The library is probed as a process has it that never calls; later ones are seen whole."""
        process = self.start_target("first")
        process.stdin.write(b"load\n")
        process.stdin.flush()
        world.wait_until(lambda: self.metrics().sum("aclguard_attached_libraries"),
                         "the library is probed")
        world.finish(process, b"exit\n")

    def settled(self, program, processes):
        """The metrics when so many processes of a program have come and gone."""
        def look():
            m = self.metrics()
            seen = m.sum("aclguard_processes_total", program=program)
            expect(seen <= processes, f"{seen} processes of {program}, {processes} made")
            return m if seen == processes and \
                not m.sum("aclguard_live_processes", program=program) else None
        return world.wait_until(look, f"{processes} processes of {program} are over")


# ---- counts -----------------------------------------------------------------------------

def made(counts):
    """Calls by function, as the simulated runtime counted them."""
    total = collections.Counter()
    for path in counts:
        with open(path, encoding="ascii") as f:
            for name, n in map(str.split, f):
                total[name] += int(n)
    return total


def check_violations(m, program, n):
    labels = {"rule": "free-before-destroy", "program": program}
    expect_equal(m.each("aclguard_violations_total", program=program),
                 [({"level": "error", "evidence": "certain", "namespace": "", "pod_name": "",
                    "container_name": "", **labels}, n)], "violations")
    expect_equal(m.sum("aclguard_violations_confirmed_total", **labels), n, "confirmed")
    last = m.sum("aclguard_last_violation_timestamp_seconds", **labels)
    expect(0 <= time.time() - last < world.PATIENCE, "the last violation was at", last)
    for name, more in (("free_to_destroy_seconds", {}), ("poll_age_seconds", {}),
                       ("report_delay_seconds", {}),
                       ("release_duration_seconds", {"outcome": "failed"})):
        expect_equal(m.sum(f"aclguard_{name}_count", **more), n, name)
        expect_equal(m.sum(f"aclguard_{name}_bucket", le="+Inf", **more), n, f"{name}, all buckets")
    expect_equal(m.sum("aclguard_release_duration_seconds_count", outcome="ok"), 0, "releases")


def check_calls(before, after, calls):
    for labels, n in after.each("aclguard_api_calls_total"):
        name = labels["function"]
        seen = n - before.sum("aclguard_api_calls_total", function=name)
        expect_equal(seen, calls[name], f"calls of {name}")


def test_exact(daemon):
    """after runs of known counts every counter is right to the unit"""
    daemon.attach()
    before, counts = daemon.metrics(), []
    for rounds in 3, 5:
        counts.append(world.scratch("counts"))
        daemon.run("order", "pcd_order", rounds, env={"ACLSIM_COUNTS": counts[-1]})
    for _ in range(2):
        counts.append(world.scratch("counts"))
        lines = daemon.run("hammer", "hammer", 2, 5000, env={"ACLSIM_COUNTS": counts[-1]})
    after = daemon.settled(f"{daemon.prefix}order", 2)
    after = daemon.settled(f"{daemon.prefix}hammer", 2)
    check_violations(after, f"{daemon.prefix}order", 8)
    check_calls(before, after, made(counts))
    expect_equal(after.each("aclguard_api_errors_total"),
                 [({"function": "aclrtFreeHost", "code": "ACL_ERROR_RT_DRV_INTERNAL_ERROR"}, 8)],
                 "errors")
    program = f"{daemon.prefix}hammer"
    for kind, create in (("events", "aclrtCreateEvent"), ("streams", "aclrtCreateStream"),
                         ("host_buffers", "aclrtMallocHost")):
        expect_equal(after.sum(f"aclguard_{kind}_total", program=program),
                     made(counts[2:])[create], kind)
        expect_equal(after.sum(f"aclguard_live_{kind}", program=program), 0, f"live {kind}")
    expect(lines[0]["calls"]["aclrtMallocHost"] > 0, "hammer allocates nothing")
    lost = [(labels["cause"], n) for labels, n in after.each("aclguard_lost_total") if n]
    expect_equal(lost, [(labels["cause"], n) for labels, n in before.each("aclguard_lost_total")
                        if n], "lost")
    expect_equal(after.sum("aclguard_late_processes_total", program=program), 0, "late")
    expect_equal(after.sum("aclguard_output_errors_total"), 0, "output errors")


def test_live(daemon):
    """while a process lives, so do its numbers"""
    process = daemon.start_target("live")
    process.stdin.write(b"load\norder\n")
    process.stdin.flush()
    for word in b"load\n", b"order\n":
        expect_equal(process.stdout.readline(), word, "the target's answer")
    name = {"program": f"{daemon.prefix}live"}

    def counted():
        m = daemon.metrics()
        # what the kernel counts is read before what has been told is looked at
        return m if m.sum("aclguard_violations_total", **name) and \
            m.sum("aclguard_events_total", **name) else None
    m = world.wait_until(counted, "the violation is counted")
    promtool(m.text)
    expect_equal([m.sum(f"aclguard_{what}", **name) for what in (
        "live_processes", "processes_total", "events_total", "live_events", "host_bytes_total")],
        [1, 1, 1, 0, 4096], "processes, events, bytes")
    world.wait_until(lambda: daemon.metrics().sum("aclguard_bpf_map_entries", map="procs") >= 1,
                     "the process is in the table")
    world.finish(process, b"exit\n")
    daemon.settled(f"{daemon.prefix}live", 1)


def test_hostile(daemon):
    """a hostile name is one label, and promtool takes the page"""
    before = daemon.metrics().sum("aclguard_violations_total")
    ended = world.finish(daemon.start_target(HOSTILE), b"load\norder\n")
    expect_equal(ended.out, b"load\norder\n", "the target's answers")
    m = world.wait_until(
        lambda: (m := daemon.metrics()).sum("aclguard_violations_total") == before + 1 and m,
        "the violation is counted")
    promtool(m.text)
    expect(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", m.text), "a control character gets through")
    _, kind, text = daemon.get("/metrics", OPENMETRICS)
    expect_equal(kind, OPENMETRICS, "type")
    Samples(text)


# ---- pages ------------------------------------------------------------------------------

def test_pages(daemon):
    """health, OpenMetrics, the newest violations, and what is not there"""
    for path, answer in ("/healthz", "ok\n"), ("/readyz", "ready\n"):
        expect_equal(daemon.get(path)[::2], (200, answer), path)
    _, kind, text = daemon.get("/metrics", f"{OPENMETRICS};q=0.9, text/plain;q=0.3")
    expect_equal(kind, OPENMETRICS, "type")
    expect(text.endswith("# EOF\n") and "\n# TYPE aclguard_violations counter\n" in text and
           "# UNIT aclguard_live_host_bytes bytes\n" in text, "no OpenMetrics:", text[-100:])
    _, kind, text = daemon.get("/violations")
    expect_equal(kind, "application/json; charset=utf-8", "type")
    found = json.loads(text)
    expect(len(found) >= 8, "violations:", len(found))
    ids = [v["id"] for v in found]
    expect_equal(ids, sorted(ids, reverse=True), "the newest first")
    for violation in found:
        expect_equal((violation["type"], violation["followup"]["type"],
                      violation["followup"]["id"]),
                     ("violation", "followup", violation["id"]), "a violation and what came after")
    expect_equal(json.loads(daemon.get("/violations?n=2")[2]), found[:2], "two of them")
    for path, status in (("/violations?n=x", 400), ("/violations?n=-1", 400), ("/nowhere", 404)):
        expect_equal(daemon.get(path)[0], status, path)


def test_idle():
    """an idle daemon is small, passes promtool, and names the build"""
    with Daemon() as daemon:
        m = daemon.metrics()
        promtool(m.text)
        (labels, one), = m.each("aclguard_build_info")
        expect(one == 1 and labels["version"], labels)
        rss = m.sum("process_resident_memory_bytes")
        expect(0 < rss < 16 << 20, "resident bytes of an idle daemon:", rss)
        expect(abs(m.sum("process_start_time_seconds") - time.time()) < world.PATIENCE,
               "start time")
        expect(0 < m.sum("process_open_fds") < m.sum("process_max_fds"), "descriptors")
        expect_equal(m.sum("aclguard_violations_total"), 0, "violations")


def test_web():
    """counters are exact, and pages are right while programs live, are hostile, and go"""
    with Daemon("--no-fold") as daemon:
        for test in test_exact, test_pages, test_live, test_hostile:
            try:
                test(daemon)
            except world.Failure as failure:
                raise world.Failure(f"{test.__doc__}: {failure}\n{daemon.stderr()}") from None


def test_other():
    """what is beyond --max-series is counted as other"""
    with Daemon("--max-series=15", "--violations=1") as daemon:
        daemon.attach()
        for name in "a", "b":
            daemon.run(name, "pcd_order", 2)
        m = world.wait_until(
            lambda: (m := daemon.metrics()).sum("aclguard_processes_total") == 2 and
            m.sum("aclguard_violations_confirmed_total") == 4 and
            m.sum("aclguard_events_total") == 4 and m, "all is counted")
        promtool(m.text)
        other = {label: "other" for label in WHO}
        expect_equal([m.sum(f"aclguard_{what}", **other) for what in (
            "processes_total", "violations_total", "violations_confirmed_total", "events_total")],
            [1, 2, 2, 2], "of others")
        expect_equal(m.sum("aclguard_series_dropped_total"), 1, "dropped")
        expect(m.sum("aclguard_series") <= m.sum("aclguard_series_limit") == 15, "series")
        expect_equal(len(json.loads(daemon.get("/violations")[2])), 1, "violations that are kept")
        # one place in each of two programs
        expect_equal(daemon.stderr().count("error #"), 2, "lines on stderr")


# ---- files and other ways ---------------------------------------------------------------

class Datagrams:
    """A socket that is told things."""

    def __init__(self, name):
        self.path = world.scratch(name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.found = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while datagram := self.socket.recv(1 << 16):
            self.found.append(datagram)

    def take(self):
        """All that has come until now."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"end", self.path)
        world.wait_until(lambda: self.found[-1:] == [b"end"], "all datagrams are read")
        return self.found[:-1]


def journal_entry(data):
    """Fields of an entry in the journal's native protocol."""
    fields = {}
    while data:
        name, _, data = data.partition(b"\n")
        size, = struct.unpack_from("<Q", data)
        fields[name.decode("ascii")] = data[8:8 + size]
        expect_equal(data[8 + size:9 + size], b"\n", f"what ends {name}")
        data = data[9 + size:]
    return fields


def check_journal(entries, program):
    violations = [e for e in entries if "ACLGUARD_LEVEL" in e]
    followups = [e for e in entries if "ACLGUARD_RETURN" in e]
    expect_equal((len(violations), len(followups)), (4, 4), "entries of both kinds")
    for entry in violations:
        wanted = {"PRIORITY": b"3", "SYSLOG_IDENTIFIER": b"aclguard",
                  "ACLGUARD_RULE": b"free-before-destroy", "ACLGUARD_EVIDENCE": b"certain",
                  "ACLGUARD_PROGRAM": program.encode()[:15], "ACLGUARD_CALL": b"aclrtFreeHost",
                  "CODE_FUNC": b"release_buffer"}
        expect_equal({k: entry.get(k) for k in wanted}, wanted, "an entry")
        expect(entry["CODE_FILE"].endswith(b"scenario.h") and int(entry["CODE_LINE"]) > 0,
               "the place in the source:", entry.get("CODE_FILE"), entry.get("CODE_LINE"))
        expect(re.fullmatch(b"[0-9a-f]{32}", entry["MESSAGE_ID"]), entry["MESSAGE_ID"])
        expect(b"free-before-destroy" in entry["MESSAGE"], entry["MESSAGE"])
    expect_equal({e["ACLGUARD_ID"] for e in followups}, {e["ACLGUARD_ID"] for e in violations},
                 "ids of both kinds")
    expect_equal({e["ACLGUARD_RETURN"] for e in followups}, {b"507899"}, "returned")


def check_files(folder, npu, program):
    text = Samples(open(os.path.join(folder, "aclguard.prom"), encoding="utf-8").read())
    promtool(text.text)
    expect_equal(text.sum("aclguard_violations_total", program=program), 4, "in the last file")
    expect_equal(os.listdir(folder), ["aclguard.prom"], "files")
    with open(npu, encoding="utf-8") as f:
        data = json.load(f)
    # what npu-exporter looks at before it takes a file
    expect_equal(sorted(data), ["data_list", "desc", "name", "timestamp", "version"], "keys")
    expect(data["version"] == "1.0" and data["name"] == "aclguard_violations_total" and
           abs(data["timestamp"] / 1e6 - time.time()) < world.PATIENCE and
           0 < len(data["desc"]) <= 1024 and len(data["data_list"]) == 1, data)
    item, = data["data_list"]
    expect_equal((item["value"], item["label"]["program"], len(item["label"])), (4, program, 7),
                 "the item")
    for path in npu, os.path.join(folder, "aclguard.prom"):
        expect_equal(stat.S_IMODE(os.stat(path).st_mode), 0o644, f"permissions of {path}")


def check_rotated(output):
    """The reports, in the order of the files."""
    first, second = (world.reports_of(path) for path in (output + ".1", output))
    for reports in first, second:
        expect_equal([r["type"] for r in reports if r["type"] == "violation"], ["violation"] * 2,
                     "violations in each file")
    expect_equal([r["id"] for r in first + second if r["type"] == "violation"], [1, 2, 3, 4],
                 "ids")
    expect_equal(second[-1]["type"], "summary", "the last report")


def test_files():
    """files of metrics, reports that are rotated, the journal, the service manager"""
    folder, npu, output = world.scratch("textfile"), world.scratch("npu"), world.scratch("reports")
    os.mkdir(folder)
    journal, manager = Datagrams("journal"), Datagrams("manager")
    with Daemon(f"--textfile={folder}", f"--npu-exporter-file={npu}", "--interval=3600", "--json",
                f"--output={output}", f"--journald-socket={journal.path}", "--source-lines",
                env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000"}) as daemon:
        promtool(open(os.path.join(folder, "aclguard.prom"), encoding="utf-8").read())
        with open(npu, encoding="utf-8") as f:
            expect_equal([item["value"] for item in json.load(f)["data_list"]], [0],
                         "values before anything happened")
        daemon.attach()
        program = f"{daemon.prefix}order"
        daemon.run("order", "pcd_order", 2)
        daemon.settled(program, 1)
        os.rename(output, output + ".1")
        daemon.process.send_signal(signal.SIGHUP)
        world.wait_until(lambda: os.path.exists(output), "the file is opened anew")
        daemon.run("order", "pcd_order", 2)
        daemon.settled(program, 2)
        expect_equal(daemon.metrics().sum("aclguard_output_errors_total"), 0, "output errors")
        time.sleep(1)   # for the watchdog
        daemon.stop()
    check_rotated(output)
    check_files(folder, npu, program)
    check_journal([journal_entry(e) for e in journal.take()], program)
    told = manager.take()
    expect(told[0].startswith(b"READY=1\n"), "told first:", told[0])
    expect_equal(told[-1], b"STOPPING=1", "told last")
    expect(sum(b"WATCHDOG=1" in state for state in told) >= 3, "signs of life:", told)
    expect(any(b"STATUS=0 processes on the Ascend runtime, 4 violations" in state
               for state in told), "state:", told)
    expect("free-before-destroy" not in daemon.stderr(), "on stderr, too:", daemon.stderr())


def test_restart():
    """one that is started anew begins at 0, in its own time, and says a line a violation"""
    numbers = []
    for _ in range(2):
        with Daemon("--no-fold") as daemon:
            daemon.attach()
            daemon.run("order", "pcd_order", 2)
            m = daemon.settled(f"{daemon.prefix}order", 1)
            numbers.append([m.sum("aclguard_violations_total"),
                            m.sum("process_start_time_seconds")])
        world.mentions(daemon.stderr(), r"error #1 free-before-destroy: .*error #2 free-before")
        # nothing is written to stdout
        expect_equal(daemon.process.stdout.read() if not daemon.process.stdout.closed else b"",
                     b"", "stdout")
    expect_equal([n for n, _ in numbers], [2, 2], "violations of both")
    expect(numbers[1][1] > numbers[0][1], "start times:", numbers)


def test_refusals():
    """what cannot be done is refused before anything is probed"""
    busy = socket.socket()
    busy.bind(("127.0.0.1", 0))
    busy.listen()
    port = busy.getsockname()[1]
    for options, status, words in (
            (["--output=/tmp/x"], world.USAGE, "--output needs --json"),
            (["--max-series=many"], world.USAGE, "not a number of series"),
            (["--web.listen-address=nonsense"], world.USAGE, "nonsense"),
            (["--json", "--output=/nonexistent/x"], world.OUTPUT, "/nonexistent/x"),
            ([f"--web.listen-address=127.0.0.1:{port}"], world.FAILED, f"{port}"),
            (["--textfile=/nonexistent", "--web.listen-address=127.0.0.1:0"], world.OUTPUT,
             "/nonexistent/aclguard.prom")):
        ended = world.run([world.ACLGUARD, "export", "--comm=nobody", *options])
        expect_equal(ended.status, status, f"status of {options}: {ended.said()}")
        world.mentions(ended.err, re.escape(words))


if __name__ == "__main__":
    world.run_tests(world.titled(test_idle, test_web, test_other, test_files, test_restart,
                                 test_refusals))
