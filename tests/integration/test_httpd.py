#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The web server, by a program that has nothing else (web_server.c): what clients get, what
they cannot do to it, and the web configuration with TLS and passwords.

WEB_SERVER names another build of that program.
"""

import base64
import contextlib
import ctypes
import gzip
import http.client
import os
import re
import resource
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import world
from world import Failure, expect, expect_equal

SERVER = os.environ.get("WEB_SERVER") or os.path.join(world.BUILD, "integration", "web_server")
PLACES = 64
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


# ---- the server ------------------------------------------------------------------

class Server:
    """A running one; stdout and stderr are read as they come."""

    def __init__(self, *args, cwd=None):
        self.lines, self.notes, self.addresses = [], [], []
        self.process = subprocess.Popen([SERVER, *map(str, args)], cwd=cwd, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        wanted = max(1, sum(1 for a in map(str, args) if ":" in a))
        for pipe, to in ((self.process.stdout, self.lines), (self.process.stderr, self.notes)):
            threading.Thread(target=self._read, args=(pipe, to), daemon=True).start()
        world.wait_until(lambda: self.process.poll() is not None
                         or len(self.listening()) == wanted, "the server listens", 30)
        expect(self.process.poll() is None, "it does not start:", self.notes)
        self.addresses = self.listening()
        self.port = int(self.addresses[0].rpartition(":")[2]) if args and \
            not self.addresses[0].startswith("unix:") else None

    @staticmethod
    def _read(pipe, to):
        for line in pipe:
            to.append(line.rstrip("\n"))

    def listening(self):
        return [line.split(" ", 2)[2] for line in list(self.lines)
                if line.startswith("listening on ")]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.terminate()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure("it does not end") from None
        if not kind:
            expect_equal(status, 0, f"status of the server, which said {self.notes}")

    def counts(self):
        """What the server counted, from now."""
        before = len(self.lines)
        self.process.send_signal(signal.SIGUSR1)
        line = world.wait_until(lambda: self.lines[before:], "counts", 30)[0]
        return {k: int(v) for k, _, v in (word.partition("=") for word in line.split())}

    def note(self, pattern, seconds=30):
        return world.wait_until(lambda: [n for n in self.notes if re.search(pattern, n)],
                                f"a note like {pattern}, but {self.notes}", seconds)[0]

    def memory(self, field="VmRSS"):
        """Bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))

    def cpu(self, name):
        """Seconds that the thread of this name has run."""
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm", encoding="ascii") as f:
                if f.read().strip() != name:
                    continue
            with open(f"{tasks}/{task}/schedstat", encoding="ascii") as f:
                return int(f.read().split()[0]) / 1e9
        raise Failure(f"there is no thread {name}")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def get(self, path="/metrics", method="GET", headers=(), body=None, source=None):
        """One request on a connection of its own: status, headers, body."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30, source_address=source)
        try:
            c.request(method, path, body=body, headers=dict(headers))
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def connect(self, source=None):
        return socket.create_connection(("127.0.0.1", self.port), 30, source)

    def raw(self, data, half_close=False):
        """All that is answered to these bytes until the server closes."""
        with self.connect() as s:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                s.sendall(data)
                if half_close:
                    s.shutdown(socket.SHUT_WR)
            return read_all(s)


def read_all(s):
    out = bytearray()
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while chunk := s.recv(1 << 20):
            out += chunk
    return bytes(out)


def refused(*args, cwd=None):
    """Starting it so fails; gives what it said."""
    ended = world.run([SERVER, *map(str, args)], cwd=cwd, timeout=30)
    expect_equal(ended.status, 1, f"status of {args}, which said {ended.err}")
    expect_equal(ended.out, b"", "output")
    return ended.err.decode().strip()


def test_pages():
    """pages in the type that is accepted, HEAD, and a list of them"""
    with Server("127.0.0.1:0") as s:
        status, headers, body = s.get()
        expect_equal((status, headers["Content-Type"], body),
                     (200, TEXT, b"up 1\nrendered_total 1\n"),
                     "GET")
        status, headers, body = s.get(headers={"Accept": "application/openmetrics-text"})
        expect_equal((headers["Content-Type"], body),
                     (OPENMETRICS, b"up 1\nrendered_total 2\n# EOF\n"),
                     "OpenMetrics")
        status, headers, body = s.get(method="HEAD")
        expect_equal((status, headers["Content-Length"], body), (200, "22", b""), "HEAD")
        status, headers, body = s.get("/")
        expect_equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "/")
        expect(b'<a href="/metrics">Metrics</a>' in body and b"/big" not in body, body)
        expect_equal(s.get("/status?status=503")[::2], (503, b"as it is\n"), "a page's status")
        expect_equal(s.get("/status")[0], 500, "a page's error")
        expect_equal(s.get("/big?n=20000000")[0], 500, "a page beyond all bounds")
        # Accept in two lines is one list
        lines = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" \
                b"Accept: text/plain;q=0.5\r\nAccept: application/openmetrics-text\r\n\r\n"
        expect(OPENMETRICS.encode() in s.raw(lines), "two lines of Accept")
        counts = s.counts()
        expect_equal((counts["ok"], counts["client"], counts["server"]), (5, 0, 3), "counted")


def test_refusals():
    """wrong paths, methods and bodies have their statuses"""
    with Server("127.0.0.1:0") as s:
        for path in "/metric", "/metrics/", "//", "/..", "/%6detrics%2f", "/favicon.ico":
            expect_equal(s.get(path)[0], 404, path)
        for method in "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW":
            status, headers, _ = s.get(method=method, headers={"Content-Length": "0"})
            expect_equal((status, headers["Allow"]), (405, "GET, HEAD"), method)
        for method in "GET", "POST":
            expect_equal(s.get(method=method, body=b"x" * 1000)[0], 413, f"{method} with a body")
        expect_equal(s.get("/metrics?x=1&y")[0], 200, "with a query")


def test_gzip():
    """a page of megabytes comes packed where that is accepted, and is the same"""
    with Server("127.0.0.1:0") as s:
        url = f"http://127.0.0.1:{s.port}/big?n=6000000"
        plain = world.run(["curl", "-sS", url]).out
        packed = world.run(["curl", "-sS", "-H", "Accept-Encoding: gzip", url]).out
        expect(len(plain) >= 6000000 and plain.endswith(b" of a page that is big\n"), len(plain))
        expect(len(packed) < len(plain) / 5, "packed:", len(packed))
        expect(gzip.decompress(packed) == plain, "packed is another page")
        for coding, is_packed in ("gzip;q=0", False), ("identity", False), ("br, *", True):
            headers = s.get("/big?n=5000", headers={"Accept-Encoding": coding})[1]
            expect_equal(headers["Content-Encoding"] == "gzip", is_packed, coding)
            expect_equal(headers["Vary"], "Accept, Accept-Encoding", "Vary")
        # tens of megabytes in all; what was rendered goes back to the kernel
        idle = s.memory()
        for _ in range(10):
            expect_equal(len(s.get("/big?n=8000000")[2]) >= 8000000, True, "big")
        expect(s.memory() < idle + (4 << 20), "memory:", idle, "->", s.memory())


def test_connections():
    """keep-alive, pipelining, HTTP/1.0"""
    head = b"GET /metrics HTTP/1.%d\r\nHost: x\r\n%s\r\n"
    with Server("127.0.0.1:0") as s:
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        for n in range(1, 4):
            c.request("GET", "/metrics")
            expect_equal(c.getresponse().read(), b"up 1\nrendered_total %d\n" % n, "kept alive")
        c.close()
        pipelined = s.raw(head % (1, b"") * 19 + head % (1, b"Connection: close\r\n"))
        expect_equal(re.findall(rb"rendered_total (\d+)", pipelined),
                     [b"%d" % n for n in range(4, 24)], "pipelined")
        one = s.raw(head % (0, b""))
        expect(one.startswith(b"HTTP/1.") and one.endswith(b"rendered_total 24\n"), one)
        expect_equal(s.counts()["accepted"], 3, "connections")
        # who hangs up, and who says only half: neither stays
        with s.connect() as c:
            c.sendall(b"GET /metr")
        expect_equal(s.raw(b"GET /metr", half_close=True), b"", "half a request")
        world.wait_until(lambda: s.counts()["open"] == 0, "all places free", 10)


def test_garbage():
    """garbage is answered by 4xx or a closed connection, and nothing of it stays"""
    with Server("-t", "2000,2000,2000", "127.0.0.1:0") as s:
        ok = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
        for name, data, statuses in (
                ("nothing HTTP", b"\x00\x01\x02\x03\r\n\r\n", ("400",)),
                ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500, ("400",)),
                ("blanks", b" \r\n" * 100, ("400",)),
                ("no version", b"GET /metrics\r\n\r\n", ("400", "200")),
                ("another version", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", ("400", "505")),
                ("no Host", b"GET / HTTP/1.1\r\n\r\n", ("400",)),
                ("a long path", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                 ("414", "400", "431")),
                ("a long header", ok + b"A: " + b"b" * 100000 + b"\r\n\r\n", ("431", "413", "400")),
                ("many headers", ok + b"A: b\r\n" * 20000 + b"\r\n", ("431", "413", "400")),
                ("many queries", b"GET /?" + b"a=b&" * 5000 + b" HTTP/1.1\r\n\r\n",
                 ("414", "400", "431")),
                ("a length that is none", ok + b"Content-Length: x\r\n\r\n", ("400", "413")),
                ("a length below zero", ok + b"Content-Length: -1\r\n\r\n", ("400", "413")),
                ("a length beyond all", ok + b"Content-Length: 99999999999999999999\r\n\r\n",
                 ("400", "413")),
                ("chunks", ok + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
                 ("413", "400")),
                ("another encoding", ok + b"Transfer-Encoding: x\r\n\r\n", ("413", "400", "501")),
                ("a long Authorization", ok + b"Connection: close\r\nAuthorization: Basic "
                 + b"QQ" * 3000 + b"\r\n\r\n", ("200",)),
                ("bytes above 127", b"GET /\xff\xfe HTTP/1.1\r\nHost: \xff\r\n"
                 b"Connection: close\r\n\r\n",
                 ("404", "400"))):
            answer = s.raw(data)
            expect(not answer or answer.split()[1].decode() in statuses, f"{name}:", answer[:200])
        expect_equal(s.get()[0], 200, "afterwards")
        world.wait_until(lambda: s.counts()["open"] == 0, "all places free", 10)
        expect(s.memory() < 40 << 20, "memory:", s.memory())


# ---- addresses -------------------------------------------------------------------

def test_addresses():
    """several addresses at once: IPv4, IPv6, all, localhost"""
    with Server("127.0.0.1:0", "[::1]:0", ":0", "localhost:0") as s:
        expect(s.addresses[2].startswith("[::]:") and s.addresses[3].startswith("127.0.0.1:"),
               s.addresses)
        for n, host in (0, "127.0.0.1"), (1, "[::1]"), (2, "127.0.0.1"), (2, "[::1]"), \
                (3, "localhost"):
            port = s.addresses[n].rpartition(":")[2]
            answer = world.run(["curl", "-sS", f"http://{host}:{port}/metrics"])
            expect(answer.out.startswith(b"up 1\n"), host, answer.said())
        with open(f"/proc/{s.process.pid}/status", encoding="ascii") as f:
            expect("Threads:\t2\n" in f.read(), "not one thread besides the first")


def test_wrong_addresses():
    """addresses that are taken or wrong are told, with the address"""
    with Server("127.0.0.1:0") as s:
        said = refused(f"127.0.0.1:{s.port}")
        expect_equal(said, f"cannot listen on 127.0.0.1:{s.port}: Address already in use: another "
                     "program does; name another port", "a port in use")
    expect("Cannot assign requested address" in refused("192.0.2.1:0"), "of another machine")
    for address, why in (("9877", "has no port"), ("127.0.0.1:", "a port is a number"),
                         ("127.0.0.1:65536", "a port is a number"), (":-1", "a port is a number"),
                         (":http", "a port is a number"), ("example.org:80", "the host is"),
                         ("::1:80", "the host is"), ("[::1:80", "the host is"),
                         ("[127.0.0.1]:80", "the host is"), ("127.1:80", "the host is"),
                         ("unix:", "names no file"), ("unix:@x", "names no file"),
                         ("unix:/" + "x" * 108, "at most 107 bytes")):
        expect(why in refused(address), f"{address}: {why} expected, not", refused(address))
    # what was bound before the failure is free again
    path = world.scratch("web.sock")
    refused("unix:" + path, "192.0.2.1:0")
    expect(not os.path.exists(path), "a socket is left behind")


def test_unix_socket():
    """a unix socket: its permissions, a stale one, one in use, a file, the end"""
    path = world.scratch("web.sock")
    get = ["curl", "-sS", "--unix-socket", path, "http://x/metrics"]
    with Server("unix:" + path) as s:
        expect_equal(os.stat(path).st_mode & 0o777, 0o660, "permissions")
        expect(world.run(get).out.startswith(b"up 1\n"), "no answer")
        expect_equal(refused("unix:" + path),
                     f"somebody listens on {path} already: end that one, or name another path",
                     "one in use")
        expect(world.run(get).out.startswith(b"up 1\n"), "the first one is gone")
    expect(not os.path.exists(path), "a socket is left behind")
    killed = Server("-m", "600", "unix:" + path)
    expect_equal(os.stat(path).st_mode & 0o777, 0o600, "permissions")
    killed.process.kill()
    killed.process.wait()
    expect(os.path.exists(path), "a killed one cannot remove it")
    with Server("-m", "666", "unix:" + path):           # over the stale one
        expect_equal(os.stat(path).st_mode & 0o777, 0o666, "permissions")
        expect(world.run(get).out.startswith(b"up 1\n"), "no answer")
        os.unlink(path)                                 # another takes the name
        with open(path, "w", encoding="ascii"):
            pass
    expect(os.path.exists(path), "the file of another was removed")
    expect("exists and is no socket: it is left alone" in refused("unix:" + path), "a file")


# ---- clients that take their time ------------------------------------------------

def until_closed(s):
    """Seconds until the server closes."""
    start = time.monotonic()
    read_all(s)
    return time.monotonic() - start


def drip(s, every=0.05):
    """Sends one byte after the other of a head that does not end; seconds until it is closed."""
    start = time.monotonic()
    with contextlib.suppress(OSError):
        s.sendall(b"GET /metrics HTTP/1.1\r\nA: ")
        while time.monotonic() < start + 30:
            s.sendall(b"b")
            time.sleep(every)
    return time.monotonic() - start


def test_slow_clients():
    """a head, a handshake, a pause, and taking an answer may take so long and no longer"""
    with Server("-t", "1000,1500,2000", "127.0.0.1:0") as s, s.connect() as silent, \
            s.connect() as slow, s.connect() as idle, s.connect() as reader:
        took = {}

        def measure(name, what, *args):
            took[name] = what(*args)

        idle.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        expect(idle.recv(1000).startswith(b"HTTP/1.1 200"), "no answer")
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(b"GET /big?n=15000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        threads = [threading.Thread(target=measure, args=args) for args in (
            ("silent", until_closed, silent), ("slow", drip, slow), ("idle", until_closed, idle))]
        for t in threads:
            t.start()
        for n in range(20):                             # the others get on
            expect_equal(s.get()[0], 200, f"request {n}")
        for t in threads:
            t.join()
        for name, least in ("silent", 0.9), ("slow", 0.9), ("idle", 1.4):
            expect(least <= took[name] <= least + 5, name, took)
        world.wait_until(lambda: s.counts()["open"] == 0, "who does not read is closed", 10)
        expect_equal(s.counts()["overdue"], 4, "counted as overdue")


def many(n, source, port, data):
    """n connections that send this and wait; those that are refused do not count."""
    out = []
    for _ in range(n):
        c = socket.socket()
        c.bind((source, 0))
        c.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            c.connect(("127.0.0.1", port))
        out.append(c)
    time.sleep(0.3)
    for c in out:
        with contextlib.suppress(OSError):
            c.send(data)
    return out


def close_all(sockets):
    for s in sockets:
        s.close()


def test_parallel():
    """1,000 clients that say nothing do not keep others out, and cost no more than 64"""
    with Server("127.0.0.1:0") as s:
        s.get()
        idle = s.memory()
        silent = many(1000, "127.0.0.2", s.port, b"GET /metrics HTTP/1.1\r\nA: b")
        try:
            took, most = [], 0
            for n in range(10):
                start = time.monotonic()
                expect_equal(s.get(source=("127.0.0.3", 0))[0], 200, f"request {n}")
                took.append(time.monotonic() - start)
                most = max(most, s.descriptors())
            counts = s.counts()
            print(f"# with 1,000 silent ones: {min(took):.3f} to {max(took):.3f} s, {most} "
                  f"descriptors, {(s.memory() - idle) >> 10} KiB more, {counts}", flush=True)
            expect(max(took) < 8, "waited:", took)
            expect(most <= PLACES + 16, "descriptors:", most)
            expect(s.memory() - idle < 8 << 20, "memory:", idle, s.memory())
            expect(counts["open"] <= PLACES and counts["evicted"] > 0, counts)
        finally:
            close_all(silent)
        world.wait_until(lambda: s.counts()["open"] == 0, "all places free", 20)


def burst(n, source, port, data):
    """n requests at a time, each sent as soon as it is connected; gives all answers."""
    answers, watch = {}, selectors.DefaultSelector()
    for _ in range(n):
        c = socket.socket()
        c.bind((source, 0))
        c.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            c.connect(("127.0.0.1", port))
        watch.register(c, selectors.EVENT_WRITE)
        answers[c] = b""
    deadline = time.monotonic() + 60
    while watch.get_map() and time.monotonic() < deadline:
        for key, what in watch.select(1):
            with contextlib.suppress(ConnectionResetError):
                if what == selectors.EVENT_WRITE:
                    key.fileobj.send(data)
                    watch.modify(key.fileobj, selectors.EVENT_READ)
                    continue
                if part := key.fileobj.recv(65536):
                    answers[key.fileobj] += part
                    continue
            watch.unregister(key.fileobj)
            key.fileobj.close()
    close_all(answers)
    return list(answers.values())


def test_burst():
    """1,000 requests at a time are all answered"""
    with Server("127.0.0.1:0") as s:
        ok = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        start = time.monotonic()
        answers = burst(1000, "127.0.0.2", s.port, ok)
        counts = s.counts()
        print(f"# answered in {time.monotonic() - start:.2f} s, {counts}", flush=True)
        expect_equal(sum(a.startswith(b"HTTP/1.1 200") for a in answers), 1000, "answers")
        expect_equal(counts["accepted"], 1000, "connections")


def test_memory():
    """those who ask for megabytes and do not take them cost bounded memory"""
    with Server("-t", "2000,2000,4000", "127.0.0.1:0") as s:
        head = b"GET /big?n=4000000 HTTP/1.1\r\nHost: x\r\n\r\n"
        readers = many(PLACES - 4, "127.0.0.2", s.port, head)
        try:
            world.wait_until(lambda: s.counts()["ok"] + s.counts()["busy"] >= PLACES - 4,
                             "all are answered", 20)
            counts = s.counts()
            print(f"# {counts}, {s.memory('VmHWM') >> 20} MiB at most", flush=True)
            expect(counts["busy"] > 0, "nobody was sent away:", counts)
            expect(s.memory("VmHWM") < 64 << 20, "memory:", s.memory("VmHWM"))
            expect_equal(s.get()[0], 200, "a small page")
        finally:
            close_all(readers)
        world.wait_until(lambda: s.counts()["open"] == 0, "all places free", 20)
        expect(s.memory() < 24 << 20, "memory afterwards:", s.memory())


# ---- passwords -------------------------------------------------------------------

def bcrypt(password, cost=5):
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), b"$2b$%02d$abcdefghijklmnopqrstuu" % cost).decode()


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def folder(**files):
    """A folder with files; the names' underscores are dots."""
    path = world.scratch("web")
    os.mkdir(path)
    for name, text in files.items():
        write(os.path.join(path, name.replace("_", ".")), text)
    return path


def write(path, text):
    """All at once, as a careful administrator would."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".new", path)


def test_passwords():
    """basic authentication: right ones, wrong ones, and what is none"""
    users = f"basic_auth_users:\n  alice: {bcrypt('open sesame')}\n  'bob b': {bcrypt('ü:x')}\n" \
            f"  empty: {bcrypt('')}\nhttp_server_config:\n  headers:\n    X-Frame-Options: deny\n"
    with Server("-c", os.path.join(folder(web_yml=users), "web.yml"), "127.0.0.1:0") as s:
        s.note("without tls_server_config they can be read on the way")
        for user, password, status in (("alice", "open sesame", 200), ("bob b", "ü:x", 200),
                                       ("empty", "", 200), ("alice", "open sesame", 200),
                                       ("alice", "open", 401), ("alice", "", 401), ("", "", 401),
                                       ("Alice", "open sesame", 401), ("carol", "x", 401),
                                       ("bob b", "open sesame", 401), ("alice", "x" * 1500, 401),
                                       ("alice", "open sesame\0x", 401)):
            got = s.get(headers=basic(user, password))
            expect_equal(got[0], status, f"{user}:{password}")
            expect_equal(got[1]["X-Frame-Options"], "deny", "header")
        expect_equal(s.get()[1]["WWW-Authenticate"],
                     'Basic realm="aclguard", charset="UTF-8"', "none")
        for value in ("", "Basic", "Basic ", "Basic !!!", "Basic YWxpY2U=", "Bearer x",
                      "Basic " + "QUFB" * 1000):
            expect_equal(s.get(headers={"Authorization": value})[0], 401, value)
        # another path is no way to learn of pages, and some pages are for all
        expect_equal(s.get("/nothing")[0], 401, "an unknown page")
        expect_equal(s.get("/open")[0], 200, "an open page")
        expect_equal(s.get(method="POST", headers={"Content-Length": "0"})[0], 405, "POST")
        expect_equal(s.counts()["unauthorized"], 17, "counted")
        out = world.run(["curl", "-sS", "-u", "alice:open sesame",
                         f"http://127.0.0.1:{s.port}/metrics"])
        expect(out.out.startswith(b"up 1\n"), out.said())


def test_password_costs():
    """unknown users cost as much, right passwords cost once, guessing keeps nobody waiting"""
    users = f"basic_auth_users:\n  alice: {bcrypt('right', 9)}\n"
    with Server("-c", os.path.join(folder(web_yml=users), "web.yml"), "127.0.0.1:0") as s:
        def cost(user, password, n=8):
            """Seconds of CPU that the thread for it takes, and of the clock, for one try."""
            before, start = s.cpu("aclguard-auth"), time.monotonic()
            for _ in range(n):
                s.get(headers=basic(user, password))
            return (s.cpu("aclguard-auth") - before) / n, (time.monotonic() - start) / n

        s.get(headers=basic("alice", "wrong"))          # starts the thread
        (wrong, took), (unknown, _) = cost("alice", "wrong"), cost("carol", "wrong")
        expect_equal(s.get(headers=basic("alice", "right"))[0], 200, "right")
        right = cost("alice", "right")[0]
        print(f"# wrong {wrong:.4f} s, unknown {unknown:.4f} s, remembered {right:.4f} s",
              flush=True)
        expect(0.8 < unknown / wrong < 1.25, "unknown users can be told:", unknown, wrong)
        expect(right < wrong / 20, "a right one is not remembered:", right, wrong)
        head = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: " + \
            basic("alice", "guess")["Authorization"].encode() + b"\r\n\r\n"
        guesses = many(40, "127.0.0.2", s.port, head)
        try:
            start = time.monotonic()
            expect_equal(s.get(headers=basic("alice", "right"))[0], 200, "amid guesses")
            waited = time.monotonic() - start
            expect(waited < 8 * took, "waited for guesses:", waited, took)
            for c in guesses:
                c.setblocking(True)
            statuses = {read_all(c).split()[1] for c in guesses}
            expect_equal(statuses, {b"401", b"503"}, "statuses of guesses")
        finally:
            close_all(guesses)
        counts = s.counts()
        expect(counts["busy"] >= 20, "guesses waited in line:", counts)


# ---- TLS -------------------------------------------------------------------------

def openssl(*args, cwd):
    done = world.run(["openssl", *args], cwd=cwd)
    expect_equal(done.status, 0, done.said())


def certificates():
    """A folder with a CA, another CA, a server's and clients' certificates of them."""
    cwd = folder(server_ext="subjectAltName=DNS:localhost,IP:127.0.0.1\n",
                 client_ext="subjectAltName=DNS:prometheus.example,URI:spiffe://x/y,IP:10.1.2.3\n"
                            "extendedKeyUsage=clientAuth\n",
                 wrong_ext="subjectAltName=DNS:prometheus.example\nextendedKeyUsage=serverAuth\n")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for ca in "ca", "other":
        openssl("req", "-x509", *new, "-days", "2", "-subj", f"/CN={ca}", "-keyout", f"{ca}.key",
                "-out", f"{ca}.crt", cwd=cwd)
    for name, ca in ("server", "ca"), ("server2", "ca"), ("client", "ca"), ("wrong", "ca"), \
            ("stranger", "other"):
        openssl("req", *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                "-out", f"{name}.csr", cwd=cwd)
        ext = {"server2": "server", "stranger": "client"}.get(name, name)
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key",
                "-CAcreateserial", "-days", "2", "-extfile", f"{ext}.ext", "-out", f"{name}.crt",
                cwd=cwd)
        os.chmod(os.path.join(cwd, f"{name}.key"), 0o600)
    return cwd


BASE = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"


def context(cwd, client=None, **how):
    c = ssl.create_default_context(cafile=os.path.join(cwd, "ca.crt"))
    for key, value in how.items():
        setattr(c, key, value)
    if client:
        c.load_cert_chain(os.path.join(cwd, f"{client}.crt"), os.path.join(cwd, f"{client}.key"))
    return c


def secure_get(port, c, path="/metrics"):
    """The status, or the name of what went wrong."""
    connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=c)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (ssl.SSLError, OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def server_of(cwd, *lines):
    write(os.path.join(cwd, "web.yml"), BASE + "".join(f"  {line}\n" for line in lines))
    return Server("-c", os.path.join(cwd, "web.yml"), "127.0.0.1:0")


def test_tls(cwd):
    """TLS: the certificate, the versions, no plain HTTP, and curl"""
    with server_of(cwd) as s:
        expect_equal(secure_get(s.port, context(cwd)), 200, "status")
        expect_equal(secure_get(s.port, ssl.create_default_context()), "SSLCertVerificationError",
                     "without the CA")
        done = world.run(["curl", "-sS", "--cacert", "ca.crt", "--compressed",
                          f"https://localhost:{s.port}/big?n=3000000"], cwd=cwd)
        expect(len(done.out) >= 3000000, done.said()[:300])
        plain = s.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        expect(not plain.startswith(b"HTTP"), "plain HTTP is answered:", plain)
        with s.connect() as plain:
            tls = context(cwd).wrap_socket(plain, server_hostname="localhost")
            expect_equal(tls.version(), "TLSv1.3", "version")
        old = context(cwd, maximum_version=ssl.TLSVersion.TLSv1_2)
        expect_equal(secure_get(s.port, old), 200, "TLS 1.2")
        world.wait_until(lambda: s.counts()["open"] == 0, "all places free", 20)
    with server_of(cwd, "min_version: TLS13") as s:
        expect_equal(secure_get(s.port, old) == 200, False, "TLS 1.2 below the least version")
        expect_equal(secure_get(s.port, context(cwd)), 200, "TLS 1.3")
    with server_of(cwd, "max_version: TLS12",
                   "cipher_suites: [TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256]",
                   "curve_preferences: [CurveP384]") as s:
        said = world.run(["openssl", "s_client", "-connect", f"localhost:{s.port}",
                          "-CAfile", "ca.crt"], cwd=cwd).out.decode()
        world.mentions(said, "Cipher is ECDHE-ECDSA-CHACHA20-POLY1305", "TLSv1.2",
                       "P-384|secp384r1", "Verify return code: 0")


def test_client_certificates(cwd):
    """client certificates: all ways of asking, with none, a good, a foreign and a wrong one"""
    none, good, foreign, wrong = (context(cwd, client)
                                  for client in (None, "client", "stranger", "wrong"))
    ca = "client_ca_file: ca.crt"
    for lines, passes in (
            (["client_auth_type: RequestClientCert"], (none, good, foreign, wrong)),
            (["client_auth_type: RequireAnyClientCert"], (good, foreign, wrong)),
            (["client_auth_type: VerifyClientCertIfGiven", ca], (none, good)),
            (["client_auth_type: RequireAndVerifyClientCert", ca], (good,)),
            (["client_auth_type: RequireAndVerifyClientCert", ca,
              "client_allowed_sans: [x, prometheus.example]"], (good,)),
            (["client_auth_type: RequireAndVerifyClientCert", ca,
              "client_allowed_sans: ['spiffe://x/y']"], (good,)),
            (["client_auth_type: RequireAndVerifyClientCert", ca,
              "client_allowed_sans: [10.1.2.3]"], (good,)),
            (["client_auth_type: RequireAndVerifyClientCert", ca,
              "client_allowed_sans: [example]"], ()),
            (["client_auth_type: RequireAnyClientCert",
              "client_allowed_sans: [prometheus.example]"], (good, foreign, wrong))):
        with server_of(cwd, *lines) as s:
            for name, c in ("none", none), ("good", good), ("foreign", foreign), ("wrong", wrong):
                got = secure_get(s.port, c)
                expect_equal(got == 200, c in passes, f"{lines}: {name}, {got}")


def test_reload(cwd):
    """a changed configuration or certificate is in force from the next connection on"""
    path = os.path.join(cwd, "web.yml")
    with server_of(cwd) as s:
        kept = http.client.HTTPSConnection("localhost", s.port, timeout=30, context=context(cwd))
        kept.request("GET", "/metrics")
        kept.getresponse().read()

        def certificate():
            with s.connect() as plain:
                tls = context(cwd).wrap_socket(plain, server_hostname="localhost")
                return tls.getpeercert(True)

        first = certificate()
        for name in "crt", "key":                       # one after the other, and by itself
            with open(os.path.join(cwd, f"server2.{name}"), encoding="ascii") as f:
                write(os.path.join(cwd, f"server.{name}"), f.read())
        world.wait_until(lambda: certificate() != first, "the new certificate", 10)
        s.note("read the web configuration .* anew")

        write(path, BASE + "rate_limit: {}\n")          # wrong: the one before stays
        s.process.send_signal(signal.SIGHUP)
        s.note(r"web.yml:4: rate_limit is not supported; the web configuration from before stays")
        expect_equal(secure_get(s.port, context(cwd)), 200, "after a wrong one")
        time.sleep(1.2)
        for _ in range(3):
            expect_equal(secure_get(s.port, context(cwd)), 200, "after a wrong one")
        expect_equal(len([n for n in s.notes if "rate_limit" in n]), 1, "told so often")

        os.unlink(path)
        s.process.send_signal(signal.SIGHUP)
        s.note("cannot read .*web.yml: No such file")
        expect_equal(secure_get(s.port, context(cwd)), 200, "without a file")

        write(path, f"basic_auth_users: {{a: {bcrypt('b')}}}\n")    # no TLS, but a password
        s.process.send_signal(signal.SIGHUP)
        world.wait_until(lambda: s.counts()["reloads"] >= 2, "a plain one", 10)
        expect_equal(s.get()[0], 401, "plain, without a password")
        expect_equal(s.get(headers=basic("a", "b"))[0], 200, "plain, with a password")
        kept.request("GET", "/metrics")                 # is what it was, and needs it, too
        expect_equal(kept.getresponse().status, 401, "the connection from before")
        kept.close()
        write(path, f"basic_auth_users: {{a: {bcrypt('c')}}}\n")
        s.process.send_signal(signal.SIGHUP)
        world.wait_until(lambda: s.get(headers=basic("a", "b"))[0] == 401,
                         "the old one is wrong", 10)
        expect_equal(s.get(headers=basic("a", "c"))[0], 200, "the new password")
        counts = s.counts()
        expect_equal(counts["reload_fails"] >= 2, True, f"counted: {counts}")


def test_wrong_configurations(cwd):
    """a wrong configuration at the start is told with its file and line"""
    for text, why in ((BASE + "  cert_fil: x\n",
                       "web.yml:4: unknown key 'cert_fil' in tls_server_config"),
                      (BASE.replace("server.key", "client.key"),
                       "no certificate in PEM with its key"),
                      (BASE.replace("server.key", "missing.key"),
                       "missing.key: No such file or directory"),
                      (BASE + "  client_auth_type: RequireAndVerifyClientCert\n"
                       "  client_ca_file: ca.key\n", "ca.key: no CA certificates in PEM"),
                      (BASE + "  curve_preferences: [X448]\n", "curve_preferences: X448 is not"),
                      ("basic_auth_users: {a: secret}", "web.yml:1: user 'a' has no bcrypt hash")):
        write(os.path.join(cwd, "web.yml"), text)
        said = refused("-c", os.path.join(cwd, "web.yml"), "127.0.0.1:0")
        expect(why in said, f"{why} was expected, not", said)
    expect("No such file" in refused("-c", "/nonexistent.yml", "127.0.0.1:0"), "no file")
    key = os.path.join(cwd, "server.key")
    os.chmod(key, 0o644)
    with server_of(cwd) as s:
        expect("server.key: chmod o-r it" in s.note("everybody on this machine can read"), s.notes)
    os.chmod(key, 0o600)


# ---- the rest --------------------------------------------------------------------

def test_threads():
    """the threads have no capability and get no signals; the end waits for an answer"""
    users = f"basic_auth_users:\n  alice: {bcrypt('right', 8)}\n"
    with Server("-c", os.path.join(folder(web_yml=users), "web.yml"), "127.0.0.1:0") as s:
        expect_equal(s.get(headers=basic("alice", "right"))[0], 200, "status")
        tasks = {}
        for task in os.listdir(f"/proc/{s.process.pid}/task"):
            with open(f"/proc/{s.process.pid}/task/{task}/status", encoding="ascii") as f:
                fields = dict(line.split(":", 1) for line in f)
            tasks[fields["Name"].strip()] = [int(fields[k], 16)
                                             for k in ("CapPrm", "CapEff", "SigBlk")]
        expect_equal(sorted(tasks), ["aclguard-auth", "aclguard-web", "web_server"], "threads")
        for name in "aclguard-auth", "aclguard-web":
            expect_equal(tasks[name][:2], [0, 0], f"capabilities of {name}")
            for sig in signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE:
                expect(tasks[name][2] & 1 << (sig - 1), f"{name} gets {sig}")
    with Server("127.0.0.1:0") as s, s.connect() as c:
        c.sendall(b"GET /big?n=8000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        world.wait_until(lambda: s.counts()["ok"] == 1, "the request is taken", 10)
        s.process.terminate()
        start = time.monotonic()
        expect(len(read_all(c)) >= 8000000, "the end cut an answer off")
        s.process.wait(10)
        expect(time.monotonic() - start < 5, "the end took long")


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2048:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    def with_certificates(test):
        def run():
            test(certificates())
        run.__doc__ = test.__doc__
        return run

    world.run_tests(world.titled(
        test_pages, test_refusals, test_gzip, test_connections, test_garbage, test_addresses,
        test_wrong_addresses, test_unix_socket, test_slow_clients, test_parallel, test_burst,
        test_memory, test_passwords, test_password_costs,
        *map(with_certificates, (test_tls, test_client_certificates, test_reload,
                                 test_wrong_configurations)), test_threads), 180, probes=False)


if __name__ == "__main__":
    sys.exit(main())
