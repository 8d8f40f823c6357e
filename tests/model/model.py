# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The reference model of the verdicts: what is right and what is wrong, told a second time.

It is written from the text of the law (the sentences stand as comments beside the lines that
hold them) and from nothing else, and shares no line with the state machine that it checks.
It keeps everything it ever saw in plain lists and searches them from end to end.  Where the
text is silent, DECISIONS says what was decided; "D7" in a comment is decision 7 there.

A history is a list of Step; see history.py for its readable form.
"""

from history import ROLES

NULL = 0
COMPLETE_STATUS = 1         # aclrtQueryEventStatus
COMPLETE_QUERY = 0          # aclrtQueryEvent, aclrtStreamQuery
WINDOW = 10 ** 9
STREAMS_PER_BUFFER = 8
INHERITS = 8

H2H, H2D, D2H, D2D, DEFAULT, H2B2D = range(6)

FLAG_EXTERNAL, FLAG_IPC = 0x20, 0x40
RECORD_EXTERNAL = 1

# What is known of a copy, least known first (D12).
NOTHING, NOTHING_WAY, POLLED, QUERIED, WAITED, SETTLED = range(6)

RULE_OF = {
    NOTHING: ("free-in-flight", "error"),
    NOTHING_WAY: ("free-in-flight", "warning"),
    POLLED: ("free-before-destroy", "error"),
    QUERIED: ("free-after-stream-query", "warning"),
    WAITED: ("free-after-event-sync", "note"),
}


# What a destroy did: all, not yet returned, or its return was lost.
DEAD, ENDING, UNCERTAIN = "dead", "ending", "uncertain"


class Stream:
    """One generation of a stream; for NULL, the default stream of one context."""

    def __init__(self, handle, device):
        self.handle = handle
        self.device = device        # None: unknown
        # "What the host knows is prefix-closed per stream, so it is a position per stream
        # and kind, and only ever grows."
        self.polled = self.queried = self.waited = self.settled = -1
        self.poll = self.query = None       # the last poll that advanced the position
        self.waits = []             # what it inherits
        self.recorded = -1          # position of the newest record on it
        self.ways = []              # positions of ways to the host that are not followed
        self.capture = None

    def capturing(self):
        return self.capture is not None and self.capture.active

    def known_complete(self, position):
        return position <= max(self.polled, self.queried, self.waited, self.settled)


class Capture:
    def __init__(self, origin):
        self.origin = origin
        self.active = True


class Record:
    """One record of an event, or its reset (which covers nothing)."""

    def __init__(self, stream, position, previous, capture=None):
        self.stream = stream
        self.position = position
        self.previous = previous
        self.capture = capture
        self.waits = list(stream.waits) if stream else []
        self.failed = False


class Wait:
    def __init__(self, record):
        self.record = record
        self.failed = False


class Event:
    def __init__(self, handle, seen_create):
        self.handle = handle
        self.seen_create = seen_create
        self.newest = None          # Record
        self.records = 0
        self.seen = {}              # stream -> furthest position seen COMPLETE
        self.changing = []          # frames of records and resets in progress
        self.changes = 0            # records and resets entered so far
        self.shared = False         # IPC or external
        self.raced = False


class Copy:
    def __init__(self, stream, position, causes):
        self.stream = stream
        self.position = position
        self.causes = causes


class Buffer:
    def __init__(self, base, size, position, registered):
        self.base = base
        self.size = size
        self.position = position
        self.registered = registered
        self.copies = []
        self.phantoms = []          # that failed after another one had taken their place
        self.state = "live"         # live, freeing, freed, gone
        self.must = set()
        self.may = set()
        self.unregistering = False
        self.freed_at = float("inf")    # position of the release
        self.handed_out = False     # its address was, while it was being freed
        self.most = 0               # streams with unsettled copies at one time, at most

    def holds(self, address):
        return self.base <= address < self.base + self.size


class Context:
    def __init__(self, handle, device, known=True):
        self.handle = handle
        self.device = device
        self.known = known
        self.unseen = False         # made current without having been seen created
        self.since = -1
        self.destroyed = False
        self.default = Stream(NULL, device)


class Verdict:
    def __init__(self, frame, rule, level):
        self.position = frame.position
        self.pid = frame.pid
        self.tid = frame.tid
        self.call = frame.name
        self.rule = rule
        self.level = level
        self.must = set()           # causes that make it suspected
        self.may = set()            # causes that may be given besides
        self.loose = False          # a bound was exceeded: rule and level may differ
        self.optional = False       # calls overlapped: none is right, too
        self.instead = None         # a rule that is right, too
        self.leaked = False         # another verdict is right, too, if it is "raced"
        self.several = False        # one report a part of the call is right, too
        self.object = None          # base of the buffer or handle of the event
        self.copy_stream = self.copy_position = None
        self.poll_position = self.poll_event = None
        self.ret = None
        self.confirmed = False

    def __repr__(self):
        text = f"{self.pid}/{self.tid} at {self.position} {self.call}: {self.rule} {self.level}"
        text += f" of {self.object:#x}"
        if self.copy_position is not None:
            text += f", copy on {self.copy_stream:#x} at {self.copy_position}"
        if self.poll_position is not None:
            text += f", poll at {self.poll_position}"
            if self.poll_event is not None:
                text += f" of {self.poll_event:#x}"
        if self.must:
            text += f", suspected: {' '.join(sorted(self.must))}"
        if self.may:
            text += f" (perhaps {' '.join(sorted(self.may))})"
        if self.ret is not None:
            text += f", returned {self.ret}"
        if self.confirmed:
            text += ", confirmed"
        return text + (" [loose]" if self.loose else "")


class Frame:
    def __init__(self, step):
        self.position = step.position
        self.pid = step.pid
        self.tid = step.tid
        self.name = step.name
        self.role = ROLES[step.name]
        self.args = step.args
        self.verdict = None
        self.lost = False           # its return will not be seen


class Thread:
    def __init__(self):
        self.frame = None
        self.context = None         # None: never seen
        self.quiet_poll = False     # the last event call was a poll that said nothing
        self.last_event_call = None     # (position, event) if a COMPLETE poll, else None


class Process:
    """One incarnation."""

    def __init__(self, pid, attached):
        self.pid = pid
        self.attached = attached    # position of the attach marker; None: born under watch
        self.threads = {}
        self.buffers = []           # in all states, oldest first
        self.events = []            # live
        self.dead_events = {}       # handle -> DEAD, ENDING or UNCERTAIN
        self.ends = set()           # (handle or base, position of the call that ended it)
        self.enders = {}            # handle -> frame of its destroy in progress
        self.used = set()           # handles of events that were used without being known
        self.doubtful = set()       # handles of events of which that is so
        self.doubted = 0            # events of which it is not known whether they live
        self.freed_bases = set()    # of buffers whose allocation was not seen
        self.all_streams = []
        self.streams = {}           # handle -> live Stream
        self.primary = {}           # device -> Context
        self.contexts = {}          # handle -> live Context
        self.unknown = Context(NULL, None, known=False)
        self.all_streams.append(self.unknown.default)
        self.references = {}        # device -> aclrtSetDevice calls seen
        self.descriptors = {}
        self.lost = -1              # position at which a missing return was noticed
        self.losing = False         # a return is missing, which nobody noticed yet
        self.raced = False
        self.leaked = False         # what failed and was taken back had been made use of
        self.unseen = False
        self.unseen_contexts = False    # one was made current that was not seen created
        self.overflow = False

    def thread(self, tid):
        return self.threads.setdefault(tid, Thread())


def effective(record):
    """A record that failed was none: what was there before it stands."""
    while record is not None and record.failed:
        record = record.previous
    return record


def cover(records):
    """What records cover: stream -> position, with all that their streams inherited."""
    covered = {}
    done = set()
    todo = list(records)
    while todo:
        record = effective(todo.pop())
        if record is None or id(record) in done:
            continue
        done.add(id(record))
        # "Between Begin and End a stream's copies and records are no executions and create
        # nothing."  A reset has no stream.
        if record.stream is None or record.capture is not None:
            continue
        covered[record.stream] = max(record.position, covered.get(record.stream, -1))
        # "A later record on T covers the copies on S up to E's position as well."
        todo += [wait.record for wait in record.waits if not wait.failed]
    return covered


def inherited(waits):
    return cover([wait.record for wait in waits if not wait.failed])


class Model:
    def __init__(self, window=WINDOW):
        self.window = window
        self.verdicts = []
        self.void = False           # the history cannot be: nothing is right or wrong
        self.orphaned = False       # the call names the stream of a destroyed context
        self.leaks = []             # (pid, "event" or "host", handle or base, seen)
        self.alive = {}             # (pid, position) -> [ranges of buffers and events alive]
        self.allowed = set()        # verdicts that may be given all the same
        self.if_raced = set()       # (pid, position) where any may, with the cause "raced"
        self.processes = {}
        self.uncertain = []         # [pid, since, until, base, size] of such buffers
        self.doubts = set()         # (pid, handle) of events of which it is not known
                                    # whether they live
        self.attach = {}

    def run(self, history):
        # Attached late: what was there before the marker is known by the marker only.
        for step in history:
            if step.kind == "attach":
                self.attach[step.pid] = step.position
        for step in history:
            self.step(step)
        return self

    def step(self, step):
        kind = step.kind
        if kind == "enter":
            self.enter(step)
        elif kind == "leave":
            self.leave(step)
        elif kind in ("exec", "exit"):
            self.end(step)
        elif kind == "fork":
            # "A forked child begins empty; what it inherited is unknown to us."
            self.processes[step.args["child"]] = Process(step.args["child"], None)
        elif kind == "thread-exit":
            process = self.process(step.pid)
            frame = process.thread(step.tid).frame
            if frame:
                self.drop(process, frame, step.position)
            process.threads.pop(step.tid, None)
        elif kind == "lost":
            process = self.process(step.pid)
            thread = process.thread(step.tid)
            # Noticed when the thread enters its next call (D20).
            thread.frame.lost = process.losing = True
        elif kind == "attach":
            self.process(step.pid)

    def allows(self, verdict):
        """Whether a verdict that the model does not give may be given all the same."""
        if (verdict.pid, verdict.position, verdict.rule) in self.allowed or \
           "raced" in verdict.causes and (verdict.pid, verdict.position) in self.if_raced:
            return True
        return verdict.rule.startswith("event-") and \
            (verdict.pid, verdict.pointer) in self.doubts

    def is_uncertain(self, verdict, address):
        return any(verdict.pid == pid and since < verdict.position and
                   (until is None or verdict.position < until) and base <= address < base + size
                   for pid, since, until, base, size in self.uncertain)

    def settle_doubts(self, pid, position, base=None):
        """The buffer's address is handed out again, or the process ends."""
        for entry in self.uncertain:
            if entry[0] == pid and entry[2] is None and \
               (base is None or entry[3] <= base < entry[3] + entry[4]):
                entry[2] = position

    def doubt(self, process, handle):
        process.doubtful.add(handle)
        self.doubts.add((process.pid, handle))

    def process(self, pid):
        # "All state belongs to one incarnation of one process: it begins when the tool
        # first sees the tgid."
        if pid not in self.processes:
            self.processes[pid] = Process(pid, self.attach.get(pid))
        return self.processes[pid]

    def end(self, step):
        # "... and ends with exec or with the exit of the whole thread group."
        process = self.processes.pop(step.pid, None)
        self.attach.pop(step.pid, None)
        self.settle_doubts(step.pid, step.position)
        if not process:
            return
        # "event-leak, host-leak: still alive when the process ends."
        buffers = [sum(1 for b in process.buffers if b.state == "live")] * 2
        buffers[1] += sum(1 for b in process.buffers if b.state == "freeing")
        events = [sum(1 for e in process.events if e.seen_create), len(process.events)]
        events[1] += process.doubted
        events[1] += sum(1 for how in process.dead_events.values() if how != DEAD)
        events[1] += sum(1 for thread in process.threads.values()
                         if thread.frame and thread.frame.role.startswith("EV_"))
        # Two ends at one position are not told apart.
        for one in self.alive.get((step.pid, step.position), ()):
            for mine, (least, most) in zip((buffers, events), one):
                mine[:] = min(mine[0], least), max(mine[1], most)
        self.alive[step.pid, step.position] = [(tuple(buffers), tuple(events))]
        for event in process.events:
            self.leaks.append((step.pid, "event", event.handle, event.seen_create))
        for buffer in process.buffers:
            if buffer.state == "live":
                self.leaks.append((step.pid, "host", buffer.base, True))

    def drop(self, process, frame, position):
        """A call whose return will never be seen: its effect stands (D20)."""
        process.lost = position
        event = getattr(frame, "event", None)
        buffer = getattr(frame, "buffer", None)
        if buffer and not buffer.handed_out:
            # Whether it was released is not known: all that is said of it from now on may be
            # right, as long as it is not called certain.
            self.uncertain.append([process.pid, frame.position, None, buffer.base, buffer.size])
        if frame.role == "EV_DESTROY" and event:
            if process.enders.get(event.handle) is frame and event.handle in process.dead_events:
                process.dead_events[event.handle] = UNCERTAIN
        if getattr(frame, "dead", False):
            process.doubted += 1
            if event is not None or frame.role.startswith("EV_"):
                self.doubt(process, frame.args.get("event"))
        if event is not None and frame in event.changing:
            event.changing.remove(frame)

    # --- looking things up ----------------------------------------------------------

    def context(self, process, thread):
        if thread.context and thread.context.destroyed:
            self.orphaned = True
        return thread.context or process.unknown

    def stream(self, process, thread, handle):
        # "NULL is the default stream of the calling thread's current context."
        if handle == NULL:
            return self.context(process, thread).default
        if handle not in process.streams:
            # Its creation was not seen; nor was its device.
            self.new_stream(process, handle, Stream(handle, None))
        return process.streams[handle]

    @staticmethod
    def new_stream(process, handle, stream):
        # "Each creation starts a new generation, and nothing of the old one may leak."
        process.streams[handle] = stream
        process.all_streams.append(stream)

    def event(self, process, handle):
        for event in process.events:
            if event.handle == handle:
                return event
        return None

    def live_buffer(self, process, address):
        for buffer in process.buffers:
            if buffer.state == "live" and buffer.holds(address):
                return buffer
        return None

    def freed_buffer(self, process, address):
        """The newest that held the address and was freed, or is being freed."""
        for buffer in reversed(process.buffers):
            if buffer.holds(address):
                # What was unregistered or forgotten lives on.
                return buffer if buffer.state in ("freeing", "freed") else None
        return None

    def primary(self, process, device):
        # "aclrtSetDevice selects the device's primary context."
        if device not in process.primary:
            context = process.primary[device] = Context(NULL, device)
            process.all_streams.append(context.default)
        return process.primary[device]

    # --- knowledge --------------------------------------------------------------------

    @staticmethod
    def settle(stream, position):
        stream.settled = max(stream.settled, position)

    def settle_device(self, process, device, position):
        # "aclrtSynchronizeDevice, for all of the device."  A device that is not known, of
        # the thread or of the stream, matches any (D13).
        for stream in process.all_streams:
            if device is None or stream.device is None or stream.device == device:
                self.settle(stream, position)

    # --- entry and return -------------------------------------------------------------

    def enter(self, step):
        process = self.process(step.pid)
        thread = process.thread(step.tid)
        if thread.frame:
            self.drop(process, thread.frame, step.position)  # left by a jump over its return
        frame = Frame(step)
        self.orphaned = False
        handler = getattr(self, "enter_" + frame.role, None)
        if handler:
            handler(process, thread, frame)
        frame.orphaned = self.orphaned
        if frame.role.startswith("EV_"):
            # "... the thread's latest event call before it was a COMPLETE poll": until it
            # returns, this one is none.
            thread.last_event_call = None
            thread.quiet_poll = False
        thread.frame = frame

    def leave(self, step):
        process = self.process(step.pid)
        thread = process.thread(step.tid)
        frame, thread.frame = thread.frame, None
        if frame and frame.lost:
            self.drop(process, frame, step.position)
            return
        if not frame:
            return
        frame.ret, frame.out = step.ret, step.out
        frame.returned = step.position
        self.orphaned = frame.orphaned
        handler = getattr(self, "leave_" + frame.role, None)
        if handler:
            handler(process, thread, frame)
        if self.orphaned and not frame.ret:
            self.void = True        # D26: the runtime refuses such calls

    # --- host memory --------------------------------------------------------------------

    def leave_MALLOC(self, process, thread, frame):
        if frame.ret:
            return
        # D17: its release was missed.
        old = self.live_buffer(process, frame.out)
        if old:
            old.state = "gone"
        self.hand_out(process, frame.out)
        self.check_overlap(process, frame.returned, frame.out, frame.args["size"])
        process.freed_bases.discard(frame.out)
        process.buffers.append(Buffer(frame.out, frame.args["size"], frame.position, False))

    @staticmethod
    def hand_out(process, address):
        for other in process.buffers:
            if other.state == "freeing" and other.holds(address):
                other.handed_out = True     # so its release did happen

    def check_overlap(self, process, position, base, size):
        """No two live buffers overlap; where it seems so the history says nothing (D17)."""
        self.settle_doubts(process.pid, position, base)
        if any(other.state in ("live", "freeing") and base < other.base < base + size or
               other.state == "freeing" and other.base < base < other.base + other.size
               for other in process.buffers):
            self.void = True

    def leave_REGISTER(self, process, thread, frame):
        if frame.ret:
            return
        # "Registering inside a tracked buffer creates no second buffer."
        if self.live_buffer(process, frame.args["ptr"]):
            return
        self.hand_out(process, frame.args["ptr"])
        self.check_overlap(process, frame.returned, frame.args["ptr"], frame.args["size"])
        process.freed_bases.discard(frame.args["ptr"])
        process.buffers.append(Buffer(frame.args["ptr"], frame.args["size"],
                                      frame.position, True))

    def enter_FREE(self, process, thread, frame, device_sync=False):
        address = frame.args["ptr"]
        frame.buffer = None
        frame.dead = False
        frame.known = len(process.buffers)
        for buffer in process.buffers:
            if buffer.state == "live" and buffer.base == address:
                frame.buffer = buffer
        if frame.buffer and frame.role == "UNREGISTER" and not frame.buffer.registered:
            # D16: of allocated memory it undoes what was nothing to us.
            frame.buffer = None
            return
        if frame.buffer:
            # "The verdict is given when aclrtFreeHost is entered."
            self.judge(process, thread, frame, device_sync)
            # "Free and destroy remove at entry, and put back at return when the call failed."
            frame.buffer.state = "freeing"
            frame.buffer.unregistering = frame.role == "UNREGISTER"
            frame.buffer.freed_at = frame.position
            process.ends.add((address, frame.position))
            return
        newest = [buffer for buffer in process.buffers if buffer.base == address][-1:]
        frame.dead = address in process.freed_bases or any(
            buffer.state in ("freeing", "freed") and not buffer.unregistering
            for buffer in newest)
        frame.unsure = any(buffer.state == "freeing" for buffer in newest)
        # "On late attach, a free of an unknown buffer is reported only when the thread's
        # latest event call before it was a COMPLETE poll within the window."
        last = thread.last_event_call
        if thread.quiet_poll:
            # Whether its event was recorded by now is all that may be seen (D27).
            self.allowed.add((frame.pid, frame.position, "free-before-destroy"))
        if not frame.dead and not device_sync and frame.role == "FREE" and last and \
           process.attached is not None and frame.position - last[0] <= self.window:
            verdict = self.verdict(process, frame, "free-before-destroy", "warning")
            verdict.must.add("late-attach")
            verdict.may |= {"lost", "unseen-copy", "raced"}
            verdict.object = address
            verdict.poll_position = last[0]
            verdict.poll_event = last[1]
            # By another thread, and perhaps in the right order (D23).
            event = self.event(process, last[1])
            verdict.optional = last[1] in process.dead_events or \
                (event is not None and event.seen_create and not cover([event.newest]))
            if verdict.optional:
                verdict.instead = "free-failed"

    def enter_FREE_SYNC(self, process, thread, frame):
        # "aclrtFreeHostWithDevSync settles first."
        self.enter_FREE(process, thread, frame, device_sync=True)

    def enter_UNREGISTER(self, process, thread, frame):
        # "aclrtHostUnregister is judged the same way."
        self.enter_FREE(process, thread, frame)

    def leave_FREE(self, process, thread, frame):
        buffer = frame.buffer
        if frame.verdict:
            # "The report is completed with what the free returned."
            frame.verdict.ret = frame.ret
            frame.verdict.confirmed = frame.ret != 0
        if not frame.ret:
            # "... if it succeeded, a creation was missed, which is counted and no report."
            if buffer:
                buffer.state = "freed"
            else:
                process.freed_bases.add(frame.args["ptr"])
                process.ends.add((frame.args["ptr"], frame.position))
            return
        if buffer:
            # "A free or a destroy that failed did not happen: the object lives on."
            other = self.live_buffer(process, buffer.base)
            if other or buffer.handed_out:
                # "Only if its own effect still stands; otherwise the object is suspected."
                buffer.state = "gone"
                if other:
                    other.may.add("raced")
            else:
                buffer.state = "live"
            # "free-failed: the free of a tracked buffer returned non-zero, ...; joined to the
            # verdict of the same call."
            if not frame.verdict:
                self.failed(process, frame)
                frame.verdict.optional = buffer.handed_out
        elif frame.dead and not self.live_buffer(process, frame.args["ptr"]):
            # "double-free: free of what was freed in this incarnation and not created since,
            # decided at return: error if the call failed."
            verdict = self.verdict(process, frame, "double-free", "error")
            verdict.object = frame.args["ptr"]
            verdict.ret, verdict.confirmed = frame.ret, True
            # The first release is not over, so either may have come first (D23).
            newest = [buffer.state for buffer in process.buffers
                      if buffer.base == frame.args["ptr"]][-1:]
            verdict.optional = newest == ["freeing"] or (frame.unsure and newest != ["freed"])
            # "Equal positions: take the order that stays silent."
            if any(ended == frame.args["ptr"] and position >= frame.position
                   for ended, position in process.ends):
                verdict.optional = True
            # Handed out again while this call was in progress (D23).
            if any(buffer.base == frame.args["ptr"] for buffer in process.buffers[frame.known:]):
                verdict.optional = True
            if verdict.optional and 507000 <= frame.ret <= 507999:
                verdict.instead = "free-failed"
        elif frame.args["ptr"] in process.freed_bases and not frame.dead:
            # Freed while this call was in progress: either came first (D23).
            self.allowed.add((frame.pid, frame.position, "double-free"))
            self.allowed.add((frame.pid, frame.position, "free-failed"))
        elif frame.dead and not 507000 <= frame.ret <= 507999:
            # Handed out again while this call was in progress, and alive: either came first (D23).
            self.allowed.add((frame.pid, frame.position, "double-free"))
        elif 507000 <= frame.ret <= 507999 and not frame.verdict:
            # "... or any free returned 507xxx."
            self.failed(process, frame)
            # Freed at the entry, created again before the return: a race (D23).
            frame.verdict.optional = frame.dead
            if frame.dead:
                frame.verdict.instead = "double-free"
            elif (frame.pid, frame.position, "free-before-destroy") in self.allowed:
                frame.verdict.instead = "free-before-destroy"

    def failed(self, process, frame):
        verdict = self.verdict(process, frame, "free-failed", "error")
        verdict.object = frame.args["ptr"]
        verdict.ret, verdict.confirmed = frame.ret, True

    def leave_FREE_SYNC(self, process, thread, frame):
        if not frame.ret:
            self.settle_device(process, self.context(process, thread).device, frame.position)
        self.leave_FREE(process, thread, frame)

    def leave_UNREGISTER(self, process, thread, frame):
        # "... but is no free: the memory lives on."  So there is neither a double free nor a
        # failed free, and no copy after it (D16).
        buffer = frame.buffer
        if frame.verdict:
            frame.verdict.ret = frame.ret
            frame.verdict.confirmed = frame.ret != 0
        if buffer and not frame.ret:
            buffer.state = "gone"
        elif buffer:
            again = buffer.handed_out or self.live_buffer(process, buffer.base)
            buffer.state = "gone" if again else "live"
            if not frame.verdict:
                self.failed(process, frame)
                frame.verdict.optional = True

    # --- the verdict --------------------------------------------------------------------

    def verdict(self, process, frame, rule, level):
        verdict = frame.verdict = Verdict(frame, rule, level)
        self.verdicts.append(verdict)
        return verdict

    def knowledge(self, process, thread, frame, copy, device_sync):
        stream, position = copy.stream, copy.position
        if device_sync:
            device = self.context(process, thread).device
            if device is None or stream.device is None or stream.device == device:
                return SETTLED
        # "Equal positions: take the order that stays silent."
        if position <= stream.settled:
            return SETTLED
        if position <= stream.waited:
            return WAITED
        if position <= stream.polled:
            return POLLED
        if position <= stream.queried:
            return QUERIED
        # "... a suspected warning where the copy's stream carried, after it, a way to the
        # host that we do not follow."
        return NOTHING_WAY if any(way >= position for way in stream.ways) else NOTHING

    def judge(self, process, thread, frame, device_sync):
        # "... over all copies of that buffer that are not settled; the least known one
        # decides."  D12: of several, the newest.
        buffer = frame.buffer
        worst = None
        # "A buffer keeps its newest copy per stream."
        newest = {copy.stream: copy for copy in sorted(buffer.copies,
                                                       key=lambda copy: copy.position)}
        for copy in newest.values():
            known = self.knowledge(process, thread, frame, copy, device_sync)
            if known == SETTLED:
                continue
            rank = (known, -copy.position)
            if worst is None or rank < worst[0]:
                worst = rank, copy
        overflow = buffer.most > STREAMS_PER_BUFFER or process.overflow
        # If the other one failed, too, this one may be taken to stand, as suspected (D30).
        phantom = any(self.knowledge(process, thread, frame, copy, device_sync) != SETTLED
                      for copy in buffer.phantoms)
        if phantom:
            self.if_raced.add((frame.pid, frame.position))
        if worst is None:
            return
        (known, _), copy = worst
        rule, level = RULE_OF[known]
        verdict = self.verdict(process, frame, rule, level)
        verdict.object = buffer.base
        verdict.copy_stream = copy.stream.handle
        verdict.copy_position = copy.position
        if known == POLLED:
            # "... named are the last poll that advanced the stream, its event and its age."
            verdict.poll_position, event = copy.stream.poll
            verdict.poll_event = event.handle
            # "... warning where the event is pooled (recorded more than once in its life) or
            # the poll is older than --window."
            if event.records > 1 or frame.position - verdict.poll_position > self.window:
                verdict.level = "warning"
            if event.raced:
                verdict.may.add("raced")
        elif known == QUERIED:
            verdict.poll_position = copy.stream.query
        elif known == NOTHING_WAY:
            verdict.must.add("unfollowed-way")
        self.evidence(process, verdict, buffer)
        verdict.must |= copy.causes
        if copy.stream.handle == NULL and process.unseen_contexts:
            verdict.may.add("context-unknown")
        for other in buffer.copies:
            verdict.may |= other.causes
        # "What overflows is counted and makes the object suspected."
        verdict.loose = overflow

    def evidence(self, process, verdict, buffer):
        # "certain: the allocation and everything after it was seen by an attachment complete
        # beforehand."
        if process.attached is not None and buffer.position < process.attached:
            verdict.must.add("late-attach")
        if process.lost >= buffer.position:
            verdict.must.add("lost")
        elif process.lost >= 0 or process.losing:
            verdict.may.add("lost")
        if process.raced or process.leaked:
            verdict.may.add("raced")
        verdict.leaked = process.leaked or (verdict.pid, verdict.position) in self.if_raced
        if process.unseen:
            verdict.may.add("unseen-copy")
        if process.overflow or buffer.most > STREAMS_PER_BUFFER:
            verdict.may.add("overflow")
        verdict.must |= buffer.must
        verdict.may |= buffer.may

    # --- events -------------------------------------------------------------------------

    def create_event(self, process, handle, seen):
        old = self.event(process, handle)
        if old:
            process.events.remove(old)
            if not old.seen_create and old.changing:
                self.void = True    # created while it is used already: that cannot be
        event = Event(handle, seen)
        process.events.append(event)
        process.dead_events.pop(handle, None)
        if seen:
            process.doubtful.discard(handle)
        return event

    def use_event(self, process, frame):
        """The event that a call names; marks one that was destroyed."""
        handle = frame.args["event"]
        if process.dead_events.get(handle) == UNCERTAIN:
            # D20: its destroy was lost; since it is used, it is taken to live.
            del process.dead_events[handle]
            process.events.append(process.enders[handle].event)
        frame.event = self.event(process, handle)
        frame.dead = frame.event is None and handle in process.dead_events
        if frame.event is None and not frame.dead and handle not in process.used:
            # Whether one that only uses tell of counts as alive is open.
            process.used.add(handle)
            process.doubted += 1
        # The destroy is in progress: what succeeds came before it, and missed no creation.
        frame.dying = frame.dead and process.dead_events[handle] != DEAD
        # Another record of the destroyed event is in progress, so perhaps it lives (D23).
        frame.doubted = any(thread.frame is not None and
                            thread.frame.args.get("event") == handle and
                            getattr(thread.frame, "dead", False)
                            for thread in process.threads.values())
        if frame.doubted:
            process.doubted += 1
            self.doubt(process, handle)
        return frame.event

    def used_dead(self, process, frame, rule):
        """Whether the call named a destroyed event; gives the verdict if it failed."""
        handle = frame.args["event"]
        if not frame.dead:
            if frame.event is None and handle in process.dead_events:
                # Destroyed while the call was in progress: either came first (D23).
                if frame.ret:
                    self.allowed.add((frame.pid, frame.position, rule))
                else:
                    self.doubt(process, handle)
            return False
        if frame.ret:
            # "decided at return: error if the call failed", and if it was not created since.
            if not self.event(process, handle):
                verdict = self.verdict(process, frame, rule, "error")
                verdict.object = handle
                verdict.ret, verdict.confirmed = frame.ret, True
                # The destroy is not over, so either may have come first (D23).
                verdict.optional = handle in process.doubtful or \
                    process.dead_events.get(handle) != DEAD or \
                    any(ended == handle and position >= frame.position
                        for ended, position in process.ends)
            elif not self.event(process, handle).seen_create:
                self.doubt(process, handle)
                self.allowed.add((frame.pid, frame.position, rule))
        elif frame.dying or (handle, frame.position) in process.ends:
            self.doubt(process, handle)
        return True

    def leave_EV_CREATE(self, process, thread, frame):
        if frame.ret:
            return
        event = self.create_event(process, frame.out, True)
        event.shared = bool(frame.args.get("flags", 0) & (FLAG_EXTERNAL | FLAG_IPC))

    def leave_EV_IPC_OPEN(self, process, thread, frame):
        # "aclrtIpcOpenEventHandle creates an event of a new generation."
        if not frame.ret:
            self.create_event(process, frame.out, True).shared = True

    def enter_EV_IPC_EXPORT(self, process, thread, frame):
        self.use_event(process, frame)

    def leave_EV_IPC_EXPORT(self, process, thread, frame):
        event = frame.event
        if event is not self.event(process, frame.args["event"]):
            self.void = True            # created or destroyed meanwhile: that cannot be
        if event and not frame.ret:
            event.shared = True
            if event.changing:
                self.void = True        # which record others are told of is open
            # D18: what it was recorded for already is told to others from now on.
            record = effective(event.newest)
            if record and record.stream and not record.capture:
                record.stream.ways.append(record.position)

    def enter_EV_DESTROY(self, process, thread, frame):
        event = self.use_event(process, frame)
        if not event:
            return
        process.events.remove(event)
        process.dead_events[event.handle] = ENDING
        process.enders[event.handle] = frame
        process.ends.add((event.handle, frame.position))
        # "up to the furthest position that event was seen COMPLETE at, and up to its current
        # record if that is known complete by any means."  D10: what was true at entry.
        frame.settles = dict(event.seen)
        record = effective(event.newest)
        if record and record.stream and not record.capture and \
           record.stream.known_complete(record.position):
            for stream, position in cover([record]).items():
                frame.settles[stream] = max(position, frame.settles.get(stream, -1))

    def leave_EV_DESTROY(self, process, thread, frame):
        if self.used_dead(process, frame, "event-double-destroy"):
            return
        event = frame.event
        if not event:
            if not frame.ret:
                other = self.event(process, frame.args["event"])
                if other and not other.seen_create:
                    process.events.remove(other)    # it was this one, perhaps
                    process.doubted += 1
                    self.doubt(process, frame.args["event"])
                process.dead_events[frame.args["event"]] = DEAD
                process.ends.add((frame.args["event"], frame.position))
            return
        if not frame.ret:
            if process.enders.get(event.handle) is frame and event.handle in process.dead_events:
                process.dead_events[event.handle] = DEAD
            for stream, position in frame.settles.items():
                self.settle(stream, position)
        elif not self.event(process, event.handle):
            process.events.append(event)
            process.dead_events.pop(event.handle, None)

    def enter_change(self, process, frame, event, stream, capture=None):
        record = Record(stream, frame.position, event.newest, capture)
        event.newest = frame.record = record
        event.changing.append(frame)
        event.changes += 1

    def enter_EV_RECORD(self, process, thread, frame):
        event = self.use_event(process, frame)
        stream = frame.stream = self.stream(process, thread, frame.args["stream"])
        self.race_destroy(process, frame)
        frame.record = frame.way = None
        frame.implicit = False
        if frame.dead:
            if frame.args.get("flag", 0) & RECORD_EXTERNAL and not stream.capturing():
                frame.way = frame.position
                stream.ways.append(frame.way)
            return
        if not event:
            event = frame.event = self.create_event(process, frame.args["event"], False)
            frame.implicit = True
        self.apply_record(process, frame, event, stream)

    @staticmethod
    def race_destroy(process, frame):
        """Recorded while it is being destroyed: that matters if the destroy fails."""
        if frame.dying and frame.args["event"] in process.enders:
            process.enders[frame.args["event"]].event.raced = True

    def apply_record(self, process, frame, event, stream):
        # "Record of event E on stream S binds E to (S, position), a new generation."
        capture = stream.capture if stream.capturing() else None
        self.enter_change(process, frame, event, stream, capture)
        if capture:
            return
        event.records += 1
        stream.recorded = frame.position
        if len(cover([frame.record])) > INHERITS + 1:
            process.overflow = True
        if event.shared or frame.args.get("flag", 0) & RECORD_EXTERNAL:
            # "a way to the host that we do not follow (... IPC or external event)"
            frame.way = frame.position
            stream.ways.append(frame.way)

    def leave_EV_RECORD(self, process, thread, frame):
        if self.used_dead(process, frame, "event-use-after-destroy"):
            if frame.way is not None:
                frame.stream.ways.remove(frame.way)
            if not frame.ret and not frame.dying and \
               not self.event(process, frame.args["event"]):
                # "if it succeeded, a creation was missed"
                event = frame.event = self.create_event(process, frame.args["event"], False)
                self.apply_record(process, frame, event, frame.stream)
                event.changing.remove(frame)
            return
        self.leave_change(process, frame)
        if frame.ret:
            if not frame.record.capture:
                frame.event.records -= 1
            if frame.way is not None:
                frame.stream.ways.remove(frame.way)

    def leave_change(self, process, frame):
        event = frame.event
        event.changing.remove(frame)
        if frame.ret:
            # "A call that returns non-zero takes its effect back (only if its own effect still
            # stands; otherwise the object is suspected from then on)."
            frame.record.failed = True
            if frame.implicit and event in process.events and not effective(event.newest):
                process.events.remove(event)    # only a failing call told of it
            if event.newest is not frame.record:
                event.raced = process.raced = True

    def enter_EV_RESET(self, process, thread, frame):
        event = self.use_event(process, frame)
        frame.implicit = False
        if not event and not frame.dead:
            event = frame.event = self.create_event(process, frame.args["event"], False)
            frame.implicit = True
        # "Re-record and aclrtResetEvent end the old record."
        self.race_destroy(process, frame)
        if event:
            self.enter_change(process, frame, event, None)

    def leave_EV_RESET(self, process, thread, frame):
        if self.used_dead(process, frame, "event-use-after-destroy"):
            self.missed(process, frame)
        elif frame.event:
            self.leave_change(process, frame)

    def missed(self, process, frame):
        """A call on a destroyed event succeeded: a creation was missed."""
        if not frame.ret and not frame.dying and not frame.doubted and \
           not self.event(process, frame.args["event"]):
            self.create_event(process, frame.args["event"], False)

    def enter_EV_QUERY_STATUS(self, process, thread, frame):
        event = self.use_event(process, frame)
        # "A query counts for the record that was current at its entry, and only if no record
        # or reset of that event was in progress then ..."
        frame.record = event and effective(event.newest)
        frame.clean = event is not None and not event.changing
        frame.changes = event and event.changes

    def counts(self, frame, status):
        """Whether the query says something of the record: then what that record covers."""
        # "... or entered before the query returned."
        if frame.ret or frame.out != status or not frame.clean or \
           frame.event.changes != frame.changes:
            return {}
        # "COMPLETE on an event never recorded says nothing."
        return cover([frame.record])

    def leave_EV_QUERY_STATUS(self, process, thread, frame):
        if self.used_dead(process, frame, "event-use-after-destroy"):
            self.missed(process, frame)
        # "COMPLETE on an event never recorded says nothing."
        event = frame.event
        if not frame.ret and frame.out == COMPLETE_STATUS and \
           not (event and event.seen_create and not cover([event.newest])):
            thread.last_event_call = (frame.position, frame.args["event"])
        elif not frame.ret:
            thread.quiet_poll = True
        # "polled: aclrtQueryEventStatus = COMPLETE on a record covering it"
        for stream, position in self.counts(frame, COMPLETE_STATUS).items():
            # "... an event keeps, per stream, the furthest position at which it was ever seen
            # COMPLETE."
            frame.event.seen[stream] = max(position, frame.event.seen.get(stream, -1))
            # D3: a poll advances only streams whose polled position is below it.
            if stream.polled < position:
                stream.polled = position
                stream.poll = (frame.position, frame.event)

    enter_EV_QUERY = enter_EV_QUERY_STATUS

    def leave_EV_QUERY(self, process, thread, frame):
        if self.used_dead(process, frame, "event-use-after-destroy"):
            self.missed(process, frame)
        # "settled: aclrtQueryEvent = COMPLETE (the old call, it reclaims)"
        for stream, position in self.counts(frame, COMPLETE_QUERY).items():
            frame.event.seen[stream] = max(position, frame.event.seen.get(stream, -1))
            self.settle(stream, position)

    def enter_EV_SYNC(self, process, thread, frame):
        event = self.use_event(process, frame)
        frame.record = event and event.newest       # D5: current at its entry

    def leave_EV_SYNC(self, process, thread, frame):
        if self.used_dead(process, frame, "event-use-after-destroy"):
            self.missed(process, frame)
        if frame.ret or not frame.event:
            return
        if frame.record is not effective(frame.record):
            self.void = True        # D5: which record it waited for is open
        # "event-waited: aclrtSynchronizeEvent returned 0 on a covering record"
        for stream, position in cover([frame.record]).items():
            stream.waited = max(stream.waited, position)
            # D4: for a later destroy, that is seen COMPLETE.
            frame.event.seen[stream] = max(position, frame.event.seen.get(stream, -1))

    def enter_EV_WAIT(self, process, thread, frame):
        event = self.use_event(process, frame)
        stream = frame.stream = self.stream(process, thread, frame.args["stream"])
        frame.wait = frame.joined = None
        if event:
            self.apply_wait(process, frame, event, stream)

    def apply_wait(self, process, frame, event, stream):
        record = effective(event.newest)
        if record and record.capture:
            # "a stream that waits on an event recorded in a capture joins it until the
            # origin's End."
            if record.capture.active and stream.capturing() and \
               stream.capture is not record.capture:
                self.void = True        # the runtime refuses that
            if record.capture.active and not stream.capturing():
                frame.joined = stream.capture = record.capture
            return
        if stream.capturing():
            return          # D19
        # "A wait of stream T on E makes T inherit what E covers."
        frame.wait = Wait(event.newest)
        stream.waits.append(frame.wait)
        if len(set(inherited(stream.waits)) - {stream}) > INHERITS:
            process.overflow = True

    def leave_EV_WAIT(self, process, thread, frame):
        if self.used_dead(process, frame, "event-use-after-destroy"):
            self.missed(process, frame)
            return
        if frame.ret:
            if frame.wait:
                frame.wait.failed = True
                # "... only if its own effect still stands; otherwise the object is suspected."
                if frame.stream.waits[-1] is not frame.wait:
                    process.raced = True
                if frame.stream.recorded > frame.position:
                    process.leaked = True       # records on it inherited from it meanwhile
            if frame.joined and frame.stream.capture is frame.joined:
                frame.stream.capture = None

    # --- streams ------------------------------------------------------------------------

    def leave_ST_CREATE(self, process, thread, frame):
        if not frame.ret:
            self.new_stream(process, frame.out,
                            Stream(frame.out, self.context(process, thread).device))

    def enter_ST_DESTROY(self, process, thread, frame):
        self.enter_ST_SYNC(process, thread, frame)
        if frame.args["stream"] != NULL:
            del process.streams[frame.args["stream"]]
        # D21: a capture ends with its origin.
        frame.ended = frame.stream.capture
        if frame.ended and frame.ended.origin is frame.stream and frame.ended.active:
            frame.ended.active = False
        else:
            frame.ended = None

    def put_back_stream(self, process, frame):
        if not frame.ret:
            if frame.ended:
                self.void = True        # the runtime refuses that
            return
        if frame.args["stream"] != NULL and frame.args["stream"] not in process.streams:
            process.streams[frame.args["stream"]] = frame.stream
        if frame.ended:
            frame.ended.active = True

    def leave_ST_DESTROY(self, process, thread, frame):
        # "settled: aclrtSynchronizeStream and aclrtDestroyStream (not Force), for that
        # stream's own copies"; D11: up to the entry of the destroy.
        self.leave_ST_SYNC(process, thread, frame)
        self.put_back_stream(process, frame)

    enter_ST_DESTROY_FORCE = enter_ST_DESTROY

    def leave_ST_DESTROY_FORCE(self, process, thread, frame):
        self.put_back_stream(process, frame)

    def enter_ST_SYNC(self, process, thread, frame):
        frame.stream = self.stream(process, thread, frame.args["stream"])
        # "A barrier covers what was submitted before it was entered, and counts when it
        # returned 0 (a timeout settles nothing)."
        frame.waits = list(frame.stream.waits)

    def leave_ST_SYNC(self, process, thread, frame):
        if frame.ret:
            return
        if frame.role == "ST_SYNC":
            thread.last_event_call = None       # D27: that is the remedy
        self.settle(frame.stream, frame.position)
        # "event-waited: a stream barrier, for what that stream only inherited from others"
        for stream, position in inherited(frame.waits).items():
            stream.waited = max(stream.waited, position)

    enter_ST_QUERY = enter_ST_SYNC

    def leave_ST_QUERY(self, process, thread, frame):
        if frame.ret or frame.out != COMPLETE_QUERY:
            return
        # "polled: aclrtStreamQuery = COMPLETE"; D9: also what the stream inherited.
        queried = inherited(frame.waits)
        queried[frame.stream] = frame.position
        for stream, position in queried.items():
            if stream.queried < position:
                stream.queried = position
                stream.query = frame.position

    def leave_ST_DEFAULT(self, process, thread, frame):
        # "what aclrtCtxGetCurrentDefaultStream returns is another name for it."
        if not frame.ret:
            process.streams[frame.out] = self.context(process, thread).default

    def enter_WAY(self, process, thread, frame):
        stream = frame.stream = self.stream(process, thread, frame.args["stream"])
        frame.way = not stream.capturing()
        if frame.way:
            stream.ways.append(frame.position)

    def leave_WAY(self, process, thread, frame):
        if frame.ret and frame.way:
            frame.stream.ways.remove(frame.position)

    # --- devices and contexts -------------------------------------------------------------

    def leave_DEV_SET(self, process, thread, frame):
        if not frame.ret:
            device = frame.args["device"]
            thread.context = self.primary(process, device)
            process.references[device] = process.references.get(device, 0) + 1

    def leave_DEV_RESET(self, process, thread, frame):
        if frame.ret:
            return
        # "aclrtResetDevice when it drops the last aclrtSetDevice reference seen (references
        # unknown: it settles, evidence suspected)."  D15.
        device = frame.args["device"]
        seen = process.references.get(device, 0)
        if seen <= 1:
            self.settle_device(process, device, frame.position)
        if seen == 0:
            for buffer in process.buffers:
                buffer.may |= {"late-attach", "context-unknown", "lost"}
        process.references[device] = max(seen - 1, 0)

    def leave_DEV_RESET_FORCE(self, process, thread, frame):
        if not frame.ret:
            self.settle_device(process, frame.args["device"], frame.position)
            process.references[frame.args["device"]] = 0

    def enter_DEV_SYNC(self, process, thread, frame):
        # "A thread whose context was never seen: ... its device synchronisation settles all
        # devices."
        frame.device = self.context(process, thread).device

    def leave_DEV_SYNC(self, process, thread, frame):
        if not frame.ret:
            thread.last_event_call = None       # D27
            self.settle_device(process, frame.device, frame.position)

    def new_context(self, process, handle, device):
        context = process.contexts[handle] = Context(handle, device)
        process.all_streams.append(context.default)
        return context

    def unseen_context(self, process, handle, position):
        # It may be the primary one of a device, whose NULL is known by another name (D22).
        process.unseen_contexts = True
        context = self.new_context(process, handle, None)
        context.unseen, context.since = True, position
        return context

    def leave_CTX_CREATE(self, process, thread, frame):
        if not frame.ret:
            # D14: it becomes current.
            context = process.contexts.get(frame.out)
            if context and context.unseen and context.since > frame.position:
                self.void = True        # made current before it was there: that cannot be
            else:
                context = self.new_context(process, frame.out, frame.args["device"])
            # D26: who had the old one of that handle has the new one.
            for other in process.threads.values():
                if other.context and other.context.handle == frame.out:
                    other.context = context
            thread.context = context

    def enter_CTX_DESTROY(self, process, thread, frame):
        frame.context = process.contexts.pop(frame.args["context"], None)
        if frame.context:
            frame.context.destroyed = True

    def leave_CTX_DESTROY(self, process, thread, frame):
        if frame.ret and frame.context:
            frame.context.destroyed = False
        if frame.ret and frame.context and frame.args["context"] not in process.contexts:
            process.contexts[frame.args["context"]] = frame.context

    def leave_CTX_SET(self, process, thread, frame):
        if frame.ret:
            return
        # "aclrtSetCurrentContext [selects] another."
        handle = frame.args["context"]
        thread.context = process.contexts.get(handle) or \
            self.unseen_context(process, handle, frame.position)

    def leave_CTX_GET(self, process, thread, frame):
        # D22: a name for the thread's current context.
        if frame.ret or not frame.out:
            return
        if frame.out not in process.contexts:
            if thread.context:
                process.contexts[frame.out] = thread.context
            else:
                self.unseen_context(process, frame.out, frame.position)
        if not thread.context:
            thread.context = process.contexts[frame.out]

    # --- copies ---------------------------------------------------------------------------

    @staticmethod
    def host_sides(kind, dst, src):
        if kind in (H2D, H2B2D):
            return [src]
        if kind == D2H:
            return [dst]
        if kind in (H2H, DEFAULT):
            return [dst, src]       # decided by address
        return []

    def submit(self, process, thread, frame, addresses):
        stream = self.stream(process, thread, frame.args["stream"])
        frame.copies = []           # (buffer, copy)
        frame.after_free = []
        frame.known = len(process.buffers)      # what is allocated from now on races with it
        # "Between Begin and End a stream's copies ... create nothing."
        if stream.capturing():
            return
        causes = set()
        # "A thread whose context was never seen: its NULL copies are suspected."
        if frame.args["stream"] == NULL and not thread.context:
            causes.add("context-unknown")
        for address in addresses:
            # "belongs to the host buffer that contains its host address; range match"
            buffer = self.live_buffer(process, address)
            if not buffer:
                # "A copy whose host side lies in no tracked buffer is pageable memory and
                # creates no state."
                freed = self.freed_buffer(process, address)
                if not freed and any(b.state == "freed" and b.holds(address)
                                     for b in process.buffers):
                    # Freed once, registered and unregistered since (D16).
                    self.allowed.add((frame.pid, frame.position, "copy-after-free"))
                if freed:
                    frame.after_free.append((freed, freed.state == "freeing"))
                if not freed or freed.state != "freeing":
                    continue
                buffer = freed      # its free may fail yet
                buffer.may.add("raced")
            copy = Copy(stream, frame.position, causes)
            if stream is process.unknown.default:
                buffer.may.add("context-unknown")
            buffer.copies.append(copy)
            frame.copies.append((buffer, copy))
            streams = {c.stream for c in buffer.copies if c.position > c.stream.settled}
            buffer.most = max(buffer.most, len(streams))

    def leave_COPY(self, process, thread, frame):
        if frame.ret:
            for buffer, copy in frame.copies:
                later = buffer.copies[buffer.copies.index(copy) + 1:]
                if any(other.stream is copy.stream and other.position < copy.position
                       for other in later):
                    self.void = True    # D24: a batch came in between
                buffer.copies.remove(copy)
                # "... only if its own effect still stands; otherwise the object is suspected."
                if later:
                    buffer.may.add("raced")
                    buffer.phantoms.append(copy)
            return
        # "copy-after-free: an async copy that succeeded, host range in no live buffer but in
        # one freed recently."
        dead = [item for item in frame.after_free if item[0].state != "live"]
        if dead:
            freed, ending = min(dead, key=lambda item: item[1])
            verdict = self.verdict(process, frame, "copy-after-free", "error")
            verdict.object = freed.base
            verdict.ret = 0
            verdict.several = len(dead) > 1
            # The release was not over, so either may have come first (D23).
            verdict.optional = ending or freed.freed_at == frame.position or any(
                buffer.holds(freed.base)
                for buffer in process.buffers[frame.known:] if buffer is not freed)
            self.evidence(process, verdict, freed)
            for other, _ in dead:
                # Which one is named is open.
                must, verdict.must = verdict.must, set()
                self.evidence(process, verdict, other)
                verdict.may |= must | verdict.must
                verdict.must &= must

    def enter_COPY(self, process, thread, frame):
        args = frame.args
        # "Copy (aclrtMemcpyAsync and relatives, count > 0)"
        sides = self.host_sides(args["kind"], args["dst"], args["src"]) if args["count"] else []
        self.submit(process, thread, frame, sides)

    def enter_COPY_2D(self, process, thread, frame):
        args = frame.args
        sides = []
        if args["width"] and args["height"]:
            sides = self.host_sides(args["kind"], args["dst"], args["src"])
        self.submit(process, thread, frame, sides)

    leave_COPY_2D = leave_COPY

    def enter_COPY_BATCH(self, process, thread, frame):
        frame.stream = self.stream(process, thread, frame.args["stream"])

    def leave_COPY_BATCH(self, process, thread, frame):
        # D24: the copies of a batch count from its return, at the position of its entry.
        if frame.ret:
            return
        sides = []
        for dst, src, count in frame.args["items"]:
            if count:
                sides += self.host_sides(DEFAULT, dst, src)
        self.submit(process, thread, frame, sides)
        if any(buffer.state != "live" and buffer.freed_at <= frame.position
               for dst, src, _ in frame.args["items"] for buffer in process.buffers
               if buffer.holds(dst) or buffer.holds(src)):
            # What held the address when the batch was entered was freed before (D24).
            self.allowed.add((frame.pid, frame.position, "copy-after-free"))
        if self.stream(process, thread, frame.args["stream"]) is not frame.stream:
            self.void = True        # destroyed inside a call on it
        meanwhile = any(item[0].freed_at > frame.position for item in frame.after_free)
        frame.after_free = [item for item in frame.after_free
                            if item[0].freed_at < frame.position]
        self.leave_COPY(process, thread, frame)
        if meanwhile and frame.verdict:
            # The other end was freed during the call: which end is looked at is open (D24).
            frame.verdict.optional = True

    def leave_COPY_DESC_SET(self, process, thread, frame):
        if not frame.ret:
            process.descriptors[frame.args["desc"]] = frame.args

    def enter_COPY_DESC(self, process, thread, frame):
        args = process.descriptors.get(frame.args["desc"])
        sides = []
        if args is None:
            process.unseen = True
        elif args["count"]:
            sides = self.host_sides(args["kind"], args["dst"], args["src"])
        self.submit(process, thread, frame, sides)

    leave_COPY_DESC = leave_COPY

    def enter_COPY_OFFSET(self, process, thread, frame):
        process.unseen = True

    # --- graph capture --------------------------------------------------------------------

    def leave_CAPTURE_BEGIN(self, process, thread, frame):
        # D8: from the return of a successful Begin ...
        if not frame.ret:
            stream = self.stream(process, thread, frame.args["stream"])
            if stream.capturing():
                self.void = True        # the runtime refuses that
            stream.capture = Capture(stream)

    def enter_CAPTURE_END(self, process, thread, frame):
        # ... to the entry of End, put back if End fails.
        stream = self.stream(process, thread, frame.args["stream"])
        frame.capture = None
        if stream.capturing() and stream.capture.origin is stream:
            frame.capture = stream.capture
            frame.capture.active = False

    def leave_CAPTURE_END(self, process, thread, frame):
        if frame.ret and frame.capture:
            frame.capture.active = True
