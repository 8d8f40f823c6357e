#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Names in stacks: inlined functions, separate debug files and servers of them, generated
code, programs that are gone."""

import functools
import glob
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import world
from world import expect, expect_equal

SOURCE = os.path.join(world.HERE, "symbols.c")
FLAGS = ["-O2", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
         "-pthread", "-I", os.path.join(world.ROOT, "tests/sim/include"),
         "-I", os.path.join(world.ROOT, "include"),
         "-L", world.runtime("mono"), "-lascendcl"]


def build(name, *args):
    """Compiles to a program of this name, and a build id of its own, in a folder of its own."""
    folder = world.scratch("built")
    os.mkdir(folder)
    path = os.path.join(folder, name)
    world.compile_c(SOURCE, *FLAGS, "-Wl,--build-id=0x" + hashlib.sha1(name.encode()).hexdigest(),
                    *args, "-o", path)
    return path


@functools.lru_cache(None)
def line_with(words):
    """Where the source says so."""
    with open(SOURCE, encoding="ascii") as f:
        lines = [n for n, line in enumerate(f, 1) if f"/* {words} */" in line]
    expect_equal(len(lines), 1, f"lines with {words!r}")
    return lines[0]


def tool(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=world.PATIENCE, check=False)
    expect(done.returncode == 0, *words, done.stdout.decode(errors="replace"))


def copy_to(path, *folders):
    """Gives where the copy is."""
    folder = os.path.join(*folders)
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(path, folder)


def build_id(path):
    out = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, check=True).stdout
    return re.search(rb"Build ID: ([0-9a-f]+)", out)[1].decode()


def split(path, *more):
    """Puts the debug information into a file of its own beside it; gives its path."""
    debug = path + ".debug"
    tool("objcopy", "--only-keep-debug", *more, path, debug)
    tool("objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, path)
    return debug


def by_id(path, *folders):
    """Where a debug file of that program is to be, by its build id."""
    name = build_id(path)
    folder = os.path.join(*folders, ".build-id", name[:2])
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name[2:] + ".debug")


def stacks(programs, options=(), args=(), **how):
    """Runs them one after the other; gives their stacks."""
    ended = world.guarded(world.sh(*([p, *args] for p in programs)), ["--no-fold", *options], **how)
    expect_equal(ended.err, b"", "what was said")
    found = {}
    for v in ended.of("violation"):
        found.setdefault(v["program"], v["stack"])
    expect_equal(sorted(found), sorted(os.path.basename(p) for p in programs), "programs")
    return found


def names(stack):
    return [frame["function"] for frame in stack]


WHOLE = [("drop", "in drop", True), ("drop_all", "in drop_all", True),
         ("free_inlined", "in free_inlined", False)]


def expect_whole(stack, what):
    """The chain of what was inlined, with its lines."""
    expect_equal([(f["function"], f["line"], f["inlined"]) for f in stack[1:4]],
                 [(name, line_with(words), inlined) for name, words, inlined in WHOLE], what)
    for frame in stack[1:4]:
        expect(frame["file"].endswith("symbols.c"), what, frame)
        expect_equal(frame["address"], stack[1]["address"], what)
    expect([f["function_offset"] is None for f in stack[1:4]] == [True, True, False], what, stack)
    expect("main" in names(stack), what, names(stack))


def expect_bare(stack, what):
    """Not a name, nor a line; where it is, and in which build."""
    frame = stack[1]
    expect_equal((frame["function"], frame["file"], frame["line"], frame["inlined"]),
                 (None, None, None, False), what)
    expect(frame["module_offset"] > 0 and len(frame["build_id"] or "") in (0, 40), what, frame)


# ---- debug information of all kinds -------------------------------------------------

def inlined():
    """Inlined functions are frames of their own, with the lines of their calls"""
    programs = [build("dwarf4", "-gdwarf-4"), build("dwarf5", "-gdwarf-5"),
                build("packed", "-gz=zlib")]
    if shutil.which("clang"):
        path = os.path.join(os.path.dirname(programs[0]), "byclang")
        tool("clang", "-g", SOURCE, *FLAGS, "-o", path)
        programs.append(path)
    for program, stack in stacks(programs).items():
        expect_whole(stack, program)


def inlined_text():
    """In the text, too, each has a line and a number"""
    program = build("text")
    ended = world.run(world.guarded_command([program]))
    world.mentions(ended.err, rf"#0 0x\w+ aclrtFreeHost\+0x0 .*"
                   rf"#1 (0x\w+) drop symbols\.c:{line_with('in drop')} \(inlined\)\n *"
                   rf"#2 \1 drop_all symbols\.c:{line_with('in drop_all')} \(inlined\)\n *"
                   rf"#3 \1 free_inlined\+0x\w+ \(text\+0x\w+\) "
                   rf"symbols\.c:{line_with('in free_inlined')}\n *#4 ")
    tool("strip", program)
    ended = world.run(world.guarded_command([program]))
    world.mentions(ended.err, rf"#1 0x\w+ \(text\+0x\w+, build-id {build_id(program)[:12]}\)\n")


def debug_files():
    """Debug files are found by build id and by link, and only the right ones"""
    folder = world.scratch("debug")
    no_id = "-Wl,--build-id=none"
    programs = {name: build(name, *args) for name, *args in (
        ("id",), ("link", no_id), ("path", no_id), ("wrongsum", no_id),
        ("wrongid",), ("dwarfonly",), ("escape", no_id), ("nowhere",))}
    debug = {name: split(path, *(["-N", "free_inlined"] if name == "dwarfonly" else []))
             for name, path in programs.items()}
    for name in "id", "dwarfonly":
        shutil.copy(debug[name], by_id(programs[name], folder))
    copy_to(debug["link"], folder)
    copy_to(debug["path"], folder + os.path.dirname(programs["path"]))
    with open(copy_to(debug["wrongsum"], folder), "ab") as f:
        f.write(b"\0")
    shutil.copy(debug["id"], by_id(programs["wrongid"], folder))
    # A link with a path in it leads nowhere, also if the right file is there.
    link = world.scratch("link")
    with open(link, "wb") as f:
        f.write(b"../escape.debug\0" + read_section(programs["escape"], ".gnu_debuglink")[-4:])
    tool("objcopy", "--remove-section=.gnu_debuglink", f"--add-section=.gnu_debuglink={link}",
         programs["escape"])
    os.mkdir(os.path.join(folder, "sub"))
    copy_to(debug["escape"], folder)
    found = stacks(programs.values(), ["--debug-dir", os.path.join(folder, "sub"),
                                       f"--debug-dir={folder}"])
    for name in "id", "link", "path", "dwarfonly":
        expect_whole(found[name], name)
    for name in "wrongsum", "wrongid", "escape", "nowhere":
        expect_bare(found[name], name)


def read_section(path, name):
    out = world.scratch("section")
    tool("objcopy", "-O", "binary", f"--only-section={name}", "--set-section-flags",
         f"{name}=alloc", path, out)
    return read_all(out)


def shared_debug():
    """What debug files share (dwz) is found, by name and by build id, or there are no lines"""
    expect(shutil.which("dwz"), "dwz is missing: make deps")
    programs = [build(name, "-g") for name in ("one", "two", "lost")]
    debug = [split(path) for path in programs]
    folder = world.scratch("debug")
    os.makedirs(os.path.join(folder, ".dwz"))
    shared = os.path.join(folder, ".dwz", "shared")
    tool("dwz", "-m", shared, "-M", "/usr/lib/debug/.dwz/shared", *debug)
    for program, file in zip(programs, debug):
        shutil.copy(file, by_id(program, folder))
    found = stacks(programs, ["--debug-dir", folder])
    for name, stack in found.items():
        expect_whole(stack, name)
    moved = by_id(shared, folder)
    os.rename(shared, moved)
    expect_whole(stacks(programs[:1], ["--debug-dir", folder])["one"], "by build id")
    os.unlink(moved)
    stack = stacks(programs[2:], ["--debug-dir", folder])["lost"]
    expect_equal((stack[1]["function"], stack[1]["line"]), ("free_inlined", None),
                 "without what is shared")


def read_all(path):
    with open(path, "rb") as f:
        return f.read()


# ---- servers -----------------------------------------------------------------------

class Server(http.server.ThreadingHTTPServer):
    """What debuginfod offers of one folder: files by build id."""

    daemon_threads = True

    def __init__(self, delay=0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.delay = {}, [], delay
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Who does not wait for the answer is right."""

    def environment(self):
        return {"DEBUGINFOD_URLS": f"http://127.0.0.1:{self.server_port}/",
                "DEBUGINFOD_CACHE_PATH": world.scratch("cache")}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):   # noqa: N802  (the name is given)
        self.server.asked.append(self.path)
        time.sleep(self.server.delay)
        match = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
        data = self.server.files.get(match[1]) if match else None
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def has_client():
    """Whether the library of clients is here."""
    return any(glob.glob(f"/usr/{lib}/libdebuginfod.so.1") for lib in ("lib*", "lib/*"))


def servers():
    """With --debuginfod, and only then, servers are asked for what is not there"""
    expect(has_client(), "libdebuginfod is missing: make deps")
    server = Server()
    right, wrong = build("right", "-g"), build("wrong", "-g")
    server.files[build_id(right)] = read_all(split(right))
    split(wrong)
    server.files[build_id(wrong)] = server.files[build_id(right)]
    env = server.environment()
    expect_bare(stacks([right], env=env)["right"], "without the option")
    expect_equal(server.asked, [], "what was asked without the option")
    found = stacks([right, wrong], ["--debuginfod"], env=env)
    expect_whole(found["right"], "with the option")
    expect_bare(found["wrong"], "another file than the one asked for")
    expect(f"/buildid/{build_id(right)}/debuginfo" in server.asked, server.asked)
    del server.asked[:]
    expect_whole(stacks([right], ["--debuginfod"], env=env)["right"], "from the cache")
    expect(not any(build_id(right) in path for path in server.asked), server.asked)


def slow_servers():
    """A server that does not answer holds up reports for two seconds, and no end"""
    expect(has_client(), "libdebuginfod is missing: make deps")
    program = build("slow", "-g")
    split(program)
    began = time.monotonic()
    ended = world.guarded([program], ["--debuginfod"], env=Server(60).environment())
    took = time.monotonic() - began
    v, = ended.of("violation")
    expect_bare(v["stack"], "while it is fetched")
    expect(v["latency_us"] < 10e6 and took < 50, "took", v["latency_us"], took)


def server_refusals():
    """--debuginfod without servers, and --debug-dir without a directory, say so"""
    ended = world.run(world.guarded_command(["true"], ["--debuginfod"]))
    expect_equal(ended.status, world.FAILED, "status")
    world.mentions(ended.err, "DEBUGINFOD_URLS")
    ended = world.run(world.guarded_command(["true"], ["--debug-dir=/nonexistent"]))
    expect_equal(ended.status, world.USAGE, "status")
    world.mentions(ended.err, "--debug-dir=/nonexistent: no such file")


# ---- generated code -----------------------------------------------------------------

def perf_map(pid):
    return f"/tmp/perf-{pid}.map"


def generated():
    """Generated code has the names of the process' own map, also in a container"""
    program = build("jit")
    for how in "jit", "memfd":
        ended = world.guarded([program, how])
        v, = ended.of("violation")
        os.unlink(perf_map(v["pid"]))
        expect_equal(names(v["stack"])[:4],
                     ["aclrtFreeHost", "free_plainly", "jit::release with blanks",
                      "free_generated"],
                     how)
        # Unknown where the program was gone before its mappings were looked at again.
        where = v["stack"][2]["module"]
        expect(where in (None, {"jit": "[anon]", "memfd": "/memfd:jit"}[how]), v["stack"][2])
    # Its own /tmp, and its own number of itself.
    inside = "/var/tmp"
    libraries = " ".join(glob.glob(os.path.join(world.runtime("mono"), "*.so")))
    ended = world.guarded(["unshare", "--mount", "--pid", "--fork", "sh", "-ec",
                           f"mount -t tmpfs none {inside}; cp {libraries} {program} {inside};"
                           f"mount -t tmpfs none /tmp;"
                           f"export LD_LIBRARY_PATH={inside}; {inside}/jit jit; true"])
    expect(ended.status == 0, ended.said())
    v, = ended.of("violation")
    expect(v["ns_pid"] != v["pid"] and not os.path.exists(perf_map(v["ns_pid"])), v)
    expect_equal(names(v["stack"])[2], "jit::release with blanks", "in a container")


def pythons():
    """Versions that can tell what they run, the newest first."""
    found = [shutil.which(f"python3.{n}") for n in range(20, 11, -1)]
    found += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9]*/bin/python3")),
                    reverse=True)
    for path in filter(None, found):
        if subprocess.run([path, "-X", "perf", "-c", "import ctypes"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            return path
    raise world.Skipped("no Python 3.12 or later with ctypes and -X perf")


def python():
    """Python 3.12 and later tell the names of Python functions"""
    python3 = pythons()
    library = build("libsymbols.so", "-DLIBRARY", "-shared", "-fPIC")
    script = world.scratch("job.py")
    with open(script, "w", encoding="ascii") as f:
        f.write("import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
                "def training_step():\n    library.early_release()\n"
                "training_step()\n")
    ended = world.guarded([python3, "-X", "perf", script, library], ["--stacks=dwarf"])
    v, = ended.of("violation")
    os.unlink(perf_map(v["pid"]))
    expect(f"py::training_step:{script}" in names(v["stack"]), names(v["stack"]), ended.said())


# ---- programs that are gone -----------------------------------------------------------

def gone():
    """A program that ends at once, or whose file is gone, still has its names"""
    for end in "exit", "delete":
        for _ in range(5):
            program = build(end, "-g")
            ended = world.guarded([program, "inlined", end])
            v, = ended.of("violation")
            expect_whole(v["stack"], end)


TESTS = world.titled(inlined, inlined_text, debug_files, shared_debug, servers, slow_servers,
                     server_refusals, generated, python, gone)

if __name__ == "__main__":
    world.run_tests(TESTS)
