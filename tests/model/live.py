# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Histories executed for real: the generator's scripts, driven by what the runtime answers.

Processes and threads are those of actor.c, on the simulated runtime.  A Live is one history: its
scheduler picks the thread whose next step comes next, lets it make that step, and writes down what
came of it.  A call stops at the end of its body until its return is the next step, so calls of
several threads overlap, in an order that is known.
"""

import random
import select
import socket
import time

from generate import CREATES, DESTROYS, DEVICE_BASE, FAILURES, PAGEABLE, TIMEOUTS, WEIGHTS, \
    Scripts, World
from history import ROLES, Step

PATIENCE = 60               # seconds for what takes a millisecond
BLOCKED = 5                 # seconds after which a call is said to block
CONTROL = 9                 # number of the thread that prepares a process
ACTOR_PAGEABLE = 0x580000000000         # actor.c
NEVER_ALLOCATED = ACTOR_PAGEABLE + 0x200000
DESCRIPTORS = 0xd0000000    # generate.py
TIMEOUT_MS = 20000


class Gone(Exception):
    """The other side has ended or does not answer."""


class Line:
    """The connection of one thread of an actor."""

    def __init__(self, connection):
        self.connection = connection
        self.pending = b""
        self.role, pid, tid = self.hear().split()
        self.pid, self.tid = int(pid), int(tid)

    def say(self, text):
        try:
            self.connection.sendall(text.encode() + b"\n")
        except OSError as error:
            raise Gone(f"the process has ended: {error}") from None

    def hear(self, seconds=PATIENCE):
        """The next line; None if there is none within that time."""
        while b"\n" not in self.pending:
            if not select.select([self.connection], [], [], seconds)[0]:
                return None
            try:
                data = self.connection.recv(65536)
            except OSError:
                data = b""
            if not data:
                raise Gone("the process has ended")
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode()

    def ask(self, text):
        self.say(text)
        return self.hear()

    def close(self):
        self.connection.close()


class Host:
    """Where actors connect to."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(64)
        self.start = None       # the actor that starts processes

    def accept(self):
        if not select.select([self.socket], [], [], PATIENCE)[0]:
            raise Gone("nobody has connected")
        return Line(self.socket.accept()[0])

    def close(self):
        if self.start:
            self.start.close()
        self.socket.close()


class RealWorld(World):
    """What one process knows of its handles."""

    def __init__(self, rng, like=None):
        super().__init__(rng)
        if like:
            # What a forked child or a new program remembers are stale handles.
            self.free = {kind: like.free[kind] + like.used[kind] for kind in like.free}
        self.device_memory = 0

    def made(self, kind, handle):
        for list_ in (self.used[kind], self.free[kind]):
            if handle in list_:
                list_.remove(handle)
        self.used[kind].append(handle)

    def any(self, kind):
        used, free = self.used[kind], self.free[kind]
        roll = self.rng.random()
        if used and roll < 0.75:
            return self.rng.choice(used)
        if free and roll < 0.95:
            return self.rng.choice(free[-4:])
        # It must be memory all the same: copies are really made.
        if kind == "buffer":
            return NEVER_ALLOCATED + 0x10000 * self.rng.randrange(2)
        return self.next[kind]


class RealScripts(Scripts):
    """The generator's, where the real runtime asks for more."""

    def address(self, buffer):
        # 0xfff: the copy ends outside, and the runtime refuses it
        return buffer + self.rng.choice((0, 64, 64, 0x40, 0x80, 0x400, 0x800, 0x800, 0xfff))

    def create_event(self, flags=0):
        ret, out = yield from super().call(
            self.rng.choice(("aclrtCreateEvent", "aclrtCreateEventWithFlag",
                             "aclrtCreateEventExWithFlag")) if not flags else
            "aclrtCreateEventWithFlag", **({"flags": flags} if flags else {}))
        return self.world.any("event") if ret else out

    def poll(self, event):
        for _ in range(self.rng.choice((1, 2, 3, 4))):
            ret, out = yield from self.call("aclrtQueryEventStatus", event=event)
            if ret or out == 1:
                return

    def unfollowed(self):
        if self.rng.random() < 0.3:
            event = yield from self.event()
            yield from self.call("aclrtIpcGetEventHandle", event=event)
        yield from super().unfollowed()

    def opened(self):
        """An event of another process; here always one of this one."""
        event = yield from self.create_event(0x40)
        yield from self.call("aclrtIpcGetEventHandle", event=event)
        ret, twin = yield from self.call("aclrtIpcOpenEventHandle")
        if ret:
            return
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.copy(buffer, stream)
        yield from self.record(self.rng.choice((event, twin)), stream)
        yield from self.poll(self.rng.choice((event, twin)))
        yield from self.release(buffer)
        yield from self.destroy(twin)

    def finalize(self):
        yield from self.call(["aclFinalize", "aclFinalizeReference"])


REAL_WEIGHTS = dict(WEIGHTS, opened=1, finalize=1, double_free=4, use_after_free=5,
                    many_streams=5)


class Thread:
    """A thread of the history: what it does, and the call that it is in."""

    def __init__(self, line, process, number):
        self.line = line
        self.process = process
        self.number = number
        self.script = None
        self.result = None      # of the last call, for the script
        self.call = None        # [step, gone]: entered, not returned
        self.claimed = False    # again.py: it stands for a thread of the other history
        self.shallow = False    # it has jumped: further down would look like a call inside
        self.blocked = False


class Process:
    def __init__(self, number, control, world):
        self.number = number
        self.control = control
        self.pid = control.pid
        self.world = world
        self.threads = []
        self.started = 0        # threads so far


class Entry:
    """A call of the history as it was made: when it was entered, and what it was."""

    def __init__(self, process, thread, step, before, begin, index=None, fail=0):
        self.fail = fail
        self.pid, self.tid = process.pid, thread.line.tid
        self.step = step
        self.before, self.begin = before, begin
        self.index = index      # of the step in the history
        self.returned = None    # position of the return


def wire(step, timeout=TIMEOUT_MS):
    """The arguments of a call in the order in which actor.c takes them."""
    a, role = step.args, ROLES[step.name]
    if role == "COPY":
        return [a["dst"], a["src"], a["count"], a["kind"], a["stream"]]
    if role == "COPY_2D":
        return [a["dst"], a["dpitch"], a["src"], a["spitch"], a["width"], a["height"], a["kind"],
                a["stream"]]
    if role == "COPY_BATCH":
        return [a["stream"]] + [value for item in a["items"] for value in item]
    if role == "COPY_DESC_SET":
        return [a["desc"], a["kind"], a["src"], a["dst"], a["count"]]
    if role == "COPY_DESC":
        return [a["desc"], a["kind"], a["stream"]]
    if role == "EV_WAIT":
        return [a["stream"], a["event"]]
    order = ("ptr", "size", "event", "stream", "context", "device", "flags", "flag")
    values = [a[name] for name in order if name in a]
    if role == "EV_RECORD" and "flag" not in a:
        values.append(0)
    if "WithTimeout" in step.name:
        values.append(timeout)
    return values


def has_output(role):
    return role in CREATES or role in ("EV_QUERY_STATUS", "EV_QUERY", "ST_QUERY", "ST_DEFAULT",
                                       "CTX_GET")


SETTINGS = {
    "ACLSIM_RACE": ("certain", "random", "random", "impossible"),
    "ACLSIM_DEVICE_US": (5, 5, 50, 300),
    "ACLSIM_TIMELINE_RECLAIM": (0, 0, 1),
    "ACLSIM_EVENTSYNC_RECLAIM": (0, 0, 1),
    "ACLSIM_DESTROY_RECLAIM": (1, 1, 1, 0),
}


class Live:
    """One history, being made."""

    def __init__(self, host, seed, mishaps=True, slow=0):
        self.host = host
        self.seed = seed
        self.rng = rng = random.Random(seed)
        self.slow = slow                # seconds that a step takes now and then
        self.calls = rng.choice((8, 12, 18, 24, 30, 40))
        self.names, self.weights = zip(*REAL_WEIGHTS.items())
        if rng.random() < 0.15:
            self.names = rng.choices(self.names, self.weights, k=2)
            self.weights = 1, 1
        self.history = []
        self.entries = []
        self.made = 0
        self.blocked = 0
        self.overlap = rng.choice((0.1, 0.3, 0.7))
        self.mishaps = mishaps and rng.random() < 0.2
        self.current = None
        self.processes = []
        self.settings = []
        self.attached = None            # index of the first step after the attachment
        self.mismatches = []            # reports.py: what fits no call

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def pid_of(self, number):
        return next(process.pid for process in self.processes if process.number == number)

    # --- processes and threads ----------------------------------------------------------

    def begin(self):
        """Starts the process, with its first threads."""
        rng = self.rng
        self.settings = [f"{name}={rng.choice(values)}" for name, values in SETTINGS.items()]
        self.settings.append(f"ACLSIM_SEED={rng.randrange(1, 10 ** 6)}")
        self.start()
        for _ in range(rng.choice((1, 1, 2, 2, 3, 4)) - 1):
            self.add_thread(self.processes[0])

    def start(self):
        self.host.start.ask(f"spawn {self.host.path} {' '.join(self.settings)}")
        self.add_process(None, 1)

    def add_process(self, like, number):
        """The one that connects now.  It gets device memory, which takes a device."""
        lines = [self.host.accept(), self.host.accept()]
        lines.sort(key=lambda line: line.role)
        control, worker = lines
        process = Process(number, control, RealWorld(self.rng, like))
        self.processes.append(process)
        self.prepare(process)
        self.add_thread(process, worker)
        return process

    def prepare(self, process):
        helper = Thread(process.control, process, CONTROL)
        self.perform(helper, "aclrtSetDevice", {"device": 0})
        word, err, memory = process.control.ask("memory").split()
        if word != "memory" or err != "0":
            raise Gone(f"no device memory: {err}")
        process.world.device_memory = int(memory)
        self.perform(helper, "aclrtResetDevice", {"device": 0})

    def add_thread(self, process, line=None):
        if not line:
            process.control.say("thread")
            line = self.host.accept()
        process.started += 1
        number = process.started + (process.started >= CONTROL)
        thread = Thread(line, process, number)
        process.threads.append(thread)
        if self.rng.random() < 0.85:
            thread.script = RealScripts(process.world, self.rng).device()
        return thread

    def threads(self):
        return [thread for process in self.processes for thread in process.threads]

    # --- steps ------------------------------------------------------------------------------

    def add(self, process, thread, kind, position=None, **rest):
        step = Step(position or time.monotonic_ns(), process.number,
                    thread.number if thread else None, kind, **rest)
        self.history.append(step)
        return step

    def real(self, process, args):
        """Addresses of the generator as they are in the process."""
        memory = process.world.device_memory

        def real(value):
            if DEVICE_BASE <= value < DEVICE_BASE + 0x10000:
                return memory + value - DEVICE_BASE
            if PAGEABLE <= value < PAGEABLE + 0x100000:
                return ACTOR_PAGEABLE + value - PAGEABLE
            return value

        args = {name: [tuple(map(real, item)) for item in value] if name == "items" else
                real(value) for name, value in args.items()}
        if "desc" in args:
            args["desc"] += memory + 0x10000 - DESCRIPTORS
        for pitch in ("dpitch", "spitch"):
            if pitch in args:
                args[pitch] = max(args[pitch], args["width"])
        return args

    def enter(self, thread, name, args, fail=0):
        """Makes a call, up to the end of its body."""
        process = thread.process
        # After a jump from further out than where it left the call (D20).
        pad = 0 if thread.shallow else 64 * self.rng.randrange(1, 8)
        thread.shallow = False
        step = Step(0, process.number, thread.number, "enter", name=name,
                    args=self.real(process, args))
        timeout = 0 if self.rng.random() < 0.1 else TIMEOUT_MS
        words = [name, fail, 1, pad, 0, 0] + wire(step, timeout)
        thread.line.say("call " + " ".join(map(str, words)))
        begun = time.monotonic_ns()
        answer = thread.line.hear(BLOCKED)
        before, begin = begun, float("inf")
        if answer is None:
            thread.blocked = True
            self.blocked += 1
        else:
            before, begin, _ = map(int, answer.split()[1:])
        step.position = before
        self.entries.append(Entry(process, thread, step, before, begin, len(self.history),
                                  fail))
        self.history.append(step)
        thread.call = [self.entries[-1], False]
        self.made += 1

    def leave(self, thread):
        """Lets the call return."""
        entry = thread.call[0]
        role = ROLES[entry.step.name]
        _, ret, out, _, after = thread.line.ask("go").split()
        ret = int(ret)
        out = int(out) if not ret and has_output(role) else None
        self.add(thread.process, thread, "leave", int(after), ret=ret, out=out)
        entry.returned = int(after)
        thread.call = None
        thread.result = ret, out
        world = thread.process.world
        if not ret and role in CREATES:
            world.made(CREATES[role], out)

    def perform(self, thread, name, args):
        self.enter(thread, name, args)
        self.leave(thread)

    # --- what threads do ----------------------------------------------------------------------

    def script(self, world):
        name = self.rng.choices(self.names, self.weights)[0]
        if name == "many_streams" and self.calls < 60:
            self.calls += 45                # or it would never reach the bounds
        return getattr(RealScripts(world, self.rng), name)()

    def next_call(self, thread):
        """Name and arguments of the call that the thread's script makes next."""
        world, rng = thread.process.world, self.rng
        while True:
            if thread.script is None:
                thread.script = self.script(world)
                thread.result = None
            try:
                name, args = thread.script.send(thread.result)
            except StopIteration:
                thread.script = None
                continue
            thread.result = 0, 0
            # A line of the program that was forgotten.
            if ROLES[name] in CREATES or rng.random() >= world.mutating:
                break
        if args.get("stream") and rng.random() < world.mutating / 3:
            args["stream"] = world.any("stream")
        if "event" in args and rng.random() < world.mutating / 3:
            args["event"] = world.any("event")
        return name, args

    def enter_next(self, thread):
        rng = self.rng
        world = thread.process.world
        name, args = self.next_call(thread)
        role = ROLES[name]
        fail = 0
        if rng.random() < world.failing:
            fail = rng.choice(TIMEOUTS if "SYNC" in role and rng.random() < 0.5 else FAILURES)
        if "QUERY" in role and rng.random() < 0.4:
            time.sleep(0.0005)
        if self.slow and rng.random() < 0.1:
            time.sleep(self.slow)
        self.enter(thread, name, args, fail)
        if role in DESTROYS and not fail:
            argument, kind = DESTROYS[role]
            world.give(kind, args[argument])

    def mishap(self, thread):
        """Something that happens to a process rather than by a call."""
        roll = self.rng.random()
        if roll < 0.3:
            self.die(thread)
        elif roll < 0.6:
            if thread.shallow:
                return              # there is nothing further out
            self.enter_next(thread)
            if not thread.blocked:
                self.jump(thread)
                thread.script = RealScripts(thread.process.world, self.rng).noise()
        elif roll < 0.8:
            if len(self.processes) < 3:
                self.fork(thread, len(self.processes) + 1)
        else:
            self.exec(thread.process)

    def jump(self, thread):
        """Out of the call that it is in."""
        thread.line.ask("jump")
        self.add(thread.process, thread, "lost")
        thread.call = thread.result = None
        thread.shallow = True

    def die(self, thread):
        """Inside the call that it is about to make, or outside any."""
        process = thread.process
        if self.rng.random() < 0.5:
            self.enter_next(thread)
            if thread.blocked:
                return
        self.end(thread)
        self.add_thread(process)

    def end(self, thread):
        thread.line.say("die")
        self.await_death(thread.process.pid, thread.line.tid)
        self.add(thread.process, thread, "thread-exit")
        thread.process.threads.remove(thread)

    @staticmethod
    def await_death(pid, tid):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                with open(f"/proc/{pid}/task/{tid}/stat", "rb") as file:
                    if file.read().rpartition(b")")[2].split()[0] in b"ZX":
                        return
            except OSError:
                return
            time.sleep(0.0002)
        raise Gone(f"thread {tid} does not end")

    def fork(self, thread, number):
        thread.line.say("fork")
        self.add(thread.process, thread, "fork", args={"child": number})
        self.add_process(thread.process.world, number)
        thread.line.hear()

    def exec(self, process):
        if any(thread.blocked for thread in process.threads):
            return
        self.add(process, None, "exec")
        process.control.say("exec")
        lines = [self.host.accept(), self.host.accept()]
        lines.sort(key=lambda line: line.role)
        for thread in process.threads:
            thread.line.close()
        process.control.close()
        process.control = lines[0]
        process.world = RealWorld(self.rng, process.world)
        process.world.free["buffer"].clear()        # nothing is mapped there any more
        process.threads.clear()
        self.prepare(process)
        self.add_thread(process, lines[1])

    # --- the scheduler ------------------------------------------------------------------------

    def step(self):
        """One step of one thread.  False: nobody can make one."""
        rng = self.rng
        able = [thread for thread in self.threads() if not thread.blocked]
        if not able or self.blocked:
            return False
        if self.current not in able or rng.random() < self.overlap:
            self.current = rng.choice(able)
        thread = self.current
        if thread.call:
            self.leave(thread)
        elif self.mishaps and rng.random() < 0.06:
            self.mishap(thread)
        else:
            self.enter_next(thread)
        return True

    def run(self, calls=None):
        while self.made < (calls or self.calls) and self.step():
            pass

    def abandon(self, why):
        """Something went wrong: the processes end with their connections."""
        self.mismatches.append(str(why))
        for process in self.processes:
            for line in [process.control] + [thread.line for thread in process.threads]:
                line.close()

    def finish(self):
        """Lets most calls return, and ends the processes."""
        for process in self.processes:
            if self.rng.random() < 0.8 and not self.blocked:
                for thread in process.threads:
                    if thread.call:
                        self.leave(thread)
            self.add(process, None, "exit")
            try:
                process.control.say("exit")
                while process.control.hear() is not None:
                    pass
            except Gone:
                pass
            process.control.close()
            for thread in process.threads:
                thread.line.close()

    # --- attached late ------------------------------------------------------------------------

    def run_first_part(self):
        """What nobody sees."""
        self.run(self.made + self.rng.randrange(2, max(3, self.calls // 2)))

    def attach(self):
        """From here on the process is watched."""
        self.attached = len(self.history)
        self.calls += self.made
        self.mishaps = self.rng.random() < 0.15
        self.add(self.processes[0], None, "attach")

    def seen(self):
        """The history as whoever attached late has seen it."""
        if self.attached is None:
            return self.history
        kept, begun = [], set()
        for step in self.history[self.attached:]:
            who = step.pid, step.tid
            if step.kind == "enter":
                begun.add(who)
            elif step.kind in ("leave", "lost") and who not in begun:
                continue
            elif step.kind == "thread-exit":
                begun.discard(who)
            kept.append(step)
        return kept
