#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Random histories: programs as they are written, mixed with noise, and everything overlapping.

    generate.py [--seed N] [--count N] [--show]

A history is made by a few threads, each running one script after the other (a release as
PaddleCustomDevice does it, a pool as torch_npu does it, a remedy, a misuse ...).  A scheduler
picks the thread whose next step - the entry or the return of a call - comes next, so that calls
overlap.  Scripts share streams, events and buffers at random, any call may fail, and handles and
addresses are handed out again as soon as they are free: those released last first.

Run as a program it prints the coverage: how many histories fired each rule, with each level and
evidence.  The exit status is 1 if one of them is zero.
"""

import argparse
import collections
import random
import sys

from history import ROLES, Step, dump
from model import Model, D2H, DEFAULT, H2D, H2H, NULL, WINDOW

MALLOC = ["aclrtMallocHost"] * 4 + ["aclrtMallocHostWithCfg"]
CREATE_EVENT = ["aclrtCreateEvent", "aclrtCreateEventWithFlag", "aclrtCreateEventExWithFlag"]
RECORD = ["aclrtRecordEvent"] * 5 + ["aclrtRecordEventWithFlag"]
WAIT = ["aclrtStreamWaitEvent"] * 3 + ["aclrtStreamWaitEventWithTimeout",
                                       "aclrtStreamWaitEventWithFlag"]
CREATE_STREAM = ["aclrtCreateStream", "aclrtCreateStreamV2", "aclrtCreateStreamWithConfig"]
SYNC_STREAM = ["aclrtSynchronizeStream"] * 2 + ["aclrtSynchronizeStreamWithTimeout"]
SYNC_EVENT = ["aclrtSynchronizeEvent"] * 2 + ["aclrtSynchronizeEventWithTimeout"]
SYNC_DEVICE = ["aclrtSynchronizeDevice"] * 2 + ["aclrtSynchronizeDeviceWithTimeout"]
COPY = ["aclrtMemcpyAsync"] * 8 + ["aclrtMemcpyAsyncWithCondition"]
WAYS = ["aclrtRecordNotify", "aclrtCntNotifyRecord", "aclrtLaunchCallback",
        "aclrtLaunchHostFunc", "aclrtValueWrite"]
CAPTURE_BEGIN = ["aclmdlRICaptureBegin"] * 2 + ["aclmdlRICaptureToModelRIBegin"]
CREATES = {"MALLOC": "buffer", "EV_CREATE": "event", "EV_IPC_OPEN": "event",
           "ST_CREATE": "stream", "CTX_CREATE": "context"}
DESTROYS = {"FREE": ("ptr", "buffer"), "FREE_SYNC": ("ptr", "buffer"),
            "EV_DESTROY": ("event", "event"), "ST_DESTROY": ("stream", "stream"),
            "ST_DESTROY_FORCE": ("stream", "stream"), "CTX_DESTROY": ("context", "context")}
FAILURES = [507899, 507899, 507899, 107000, 107002, 507011, 207001]
TIMEOUTS = [507046, 507047, 107020]
DEVICE_BASE = 0x7f0000000000
PAGEABLE = 0x550000000000
REGISTERED = 0x600000000000
BASES = {"buffer": 0x120043200000, "event": 0xe0001000, "stream": 0x50001000,
         "context": 0xc0001000}
STRIDE = {"buffer": 0x100000, "event": 0x40, "stream": 0x80, "context": 0x100}


class World:
    """What the runtime of the random program knows: handles in use and free ones."""

    def __init__(self, rng):
        self.rng = rng
        self.free = {kind: [] for kind in BASES}
        self.used = {kind: [] for kind in BASES}
        self.next = dict(BASES)
        self.sizes = {}
        self.registered = []
        self.default_names = {}     # context of a thread -> name of its default stream
        self.sharing = rng.choice((0.2, 0.5, 0.8))
        self.failing = rng.choice((0, 0, 0.02, 0.08))
        self.mutating = rng.choice((0, 0.05, 0.15))
        self.devices = rng.choice((1, 2))
        self.streams = rng.choice((2, 3))

    def take(self, kind):
        free = self.free[kind]
        # Reuse at once is what hurts; now and then an address never seen.
        if free and self.rng.random() < 0.85:
            handle = free.pop()
        else:
            handle = self.next[kind]
            self.next[kind] += STRIDE[kind]
        self.used[kind].append(handle)
        return handle

    def give(self, kind, handle):
        if handle in self.used[kind]:
            self.used[kind].remove(handle)
            self.free[kind].append(handle)

    def some(self, kind):
        """A handle in use; None if there is none, or now and then."""
        used = self.used[kind]
        if used and self.rng.random() < self.sharing:
            return self.rng.choice(used)
        return None

    def any(self, kind):
        """A handle in use, or one that is not."""
        used, free = self.used[kind], self.free[kind]
        roll = self.rng.random()
        if used and roll < 0.75:
            return self.rng.choice(used)
        if free and roll < 0.95:
            return self.rng.choice(free)
        return self.next[kind] + STRIDE[kind] * self.rng.randrange(2)


class Scripts:
    """What threads do.  Each script yields calls and is sent what they returned."""

    def __init__(self, world, rng):
        self.world = world
        self.rng = rng

    # --- parts ---

    def call(self, names, **args):
        ret, out = yield (self.rng.choice(names) if isinstance(names, list) else names), args
        return ret, out

    def malloc(self):
        size = self.rng.choice((0x1000, 0x4000, 0x10000))
        ret, out = yield from self.call(MALLOC, size=size)
        return 0 if ret else out

    def buffer(self):
        shared = self.world.some("buffer")
        if shared:
            return shared
        return (yield from self.malloc()) or self.world.any("buffer")

    def create_event(self, flags=0):
        name = self.rng.choice(CREATE_EVENT)
        args = {} if name == "aclrtCreateEvent" else {"flags": flags}
        ret, out = yield from self.call(name, **args)
        return self.world.any("event") if ret else out

    def event(self):
        shared = self.world.some("event")
        if shared and self.rng.random() < 0.6:
            return shared
        return (yield from self.create_event())

    def stream(self):
        if self.rng.random() < 0.15:
            return NULL
        used = self.world.used["stream"]
        if len(used) >= self.world.streams or (used and self.rng.random() < 0.5):
            return self.rng.choice(used)
        ret, out = yield from self.call(CREATE_STREAM)
        return NULL if ret else out

    def address(self, buffer):
        # Interior pointers are the rule.
        return buffer + self.rng.choice((0, 64, 64, 0x40, 0x800, 0xfff))

    def copy(self, buffer, stream, kind=None, success=None):
        rng = self.rng
        address, device = self.address(buffer), DEVICE_BASE + 64 * rng.randrange(64)
        kind = rng.choice((H2D, H2D, H2D, D2H, D2H, DEFAULT, H2H, 5)) if kind is None else kind
        dst, src = (address, device) if kind == D2H else (device, address)
        if kind == H2H:
            other = rng.choice((PAGEABLE, self.address(self.world.any("buffer"))))
            dst, src = rng.choice(((dst, other), (other, src), (address, other)))
        elif kind == DEFAULT and rng.random() < 0.5:
            dst, src = src, dst
        count = 0 if rng.random() < 0.02 else rng.choice((1, 64, 0x400))
        form = rng.random()
        if form < 0.80 or success:
            name = rng.choice(COPY)
            args = {"dst": dst, "src": src, "count": count, "kind": kind, "stream": stream}
        elif form < 0.87:
            name = "aclrtMemcpy2dAsync"
            args = {"dst": dst, "dpitch": 0x100, "src": src, "spitch": 0x100, "width": count,
                    "height": rng.choice((1, 4)), "kind": kind, "stream": stream}
        elif form < 0.94:
            name = rng.choice(("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsyncV2"))
            items = [(dst, src, count)]
            while rng.random() < 0.5 and len(items) < 8:
                other = self.address(self.world.any("buffer"))
                items.append(rng.choice(((other, device, 64), (device, other, 64))))
            args = {"items": items, "stream": stream}
        else:
            desc = 0xd0000000 + 0x40 * rng.randrange(3)
            if rng.random() < 0.85:
                yield from self.call("aclrtSetMemcpyDesc", desc=desc, kind=kind, src=src,
                                     dst=dst, count=count)
            name, args = "aclrtMemcpyAsyncWithDesc", {"desc": desc, "kind": kind,
                                                      "stream": stream}
        return (yield from self.call(name, **args))

    def record(self, event, stream, flag=0):
        name = self.rng.choice(RECORD)
        args = {"flag": flag} if name.endswith("Flag") else {}
        return (yield from self.call(name, event=event, stream=stream, **args))

    def wait(self, stream, event):
        return (yield from self.call(WAIT, stream=stream, event=event))

    def poll(self, event):
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            ret, out = yield from self.call("aclrtQueryEventStatus", event=event)
            if ret == 0 and out == 1:
                return

    def release(self, buffer):
        roll = self.rng.random()
        name = "aclrtFreeHost"
        if buffer >= REGISTERED and buffer < REGISTERED + 0x1000000:
            name = "aclrtHostUnregister"
        elif roll < 0.04:
            name = "aclrtFreeHostWithDevSync"
        elif roll < 0.06:
            name = "aclrtHostUnregister"
        yield from self.call(name, ptr=buffer)

    def destroy(self, event):
        yield from self.call("aclrtDestroyEvent", event=event)

    # --- scripts: releases of a buffer ---

    def pcd(self):
        """PaddleCustomDevice before its fix: free, then destroy."""
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        event = yield from self.create_event()
        yield from self.copy(buffer, stream)
        yield from self.record(event, stream)
        yield from self.poll(event)
        yield from self.release(buffer)
        yield from self.destroy(event)

    def pcd_fixed(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        event = yield from self.create_event()
        yield from self.copy(buffer, stream)
        yield from self.record(event, stream)
        yield from self.poll(event)
        yield from self.destroy(event)
        yield from self.release(buffer)

    def pool(self):
        """torch_npu: events are recorded again and again, the block is released at last."""
        buffer = yield from self.buffer()
        event = yield from self.event()
        for _ in range(self.rng.choice((1, 2, 3))):
            stream = yield from self.stream()
            yield from self.copy(buffer, stream)
            yield from self.record(event, stream)
            yield from self.poll(event)
        if self.rng.random() < 0.3:
            yield from self.call(SYNC_STREAM, stream=stream)
        yield from self.release(buffer)

    def remedy(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        event = yield from self.event()
        yield from self.copy(buffer, stream)
        if self.rng.random() < 0.6:
            yield from self.record(event, stream)
        roll = self.rng.randrange(8)
        if roll < 2:
            yield from self.call(SYNC_STREAM, stream=stream)
        elif roll == 2:
            yield from self.call(SYNC_EVENT, event=event)
        elif roll == 3:
            yield from self.call("aclrtQueryEvent", event=event)
        elif roll == 4:
            yield from self.call("aclrtStreamQuery", stream=stream)
        elif roll == 5:
            yield from self.call(SYNC_DEVICE)
        elif roll == 6:
            yield from self.poll(event)
            yield from self.destroy(event)
        elif stream:
            yield from self.call("aclrtDestroyStream", stream=stream)
        yield from self.release(buffer)
        if self.rng.random() < 0.5:
            yield from self.destroy(event)

    def event_sync(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        event = yield from self.event()
        yield from self.copy(buffer, stream)
        yield from self.record(event, stream)
        yield from self.call(SYNC_EVENT, event=event)
        yield from self.release(buffer)
        yield from self.destroy(event)

    def stream_query(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.copy(buffer, stream)
        yield from self.call("aclrtStreamQuery", stream=stream)
        yield from self.release(buffer)

    def in_flight(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.copy(buffer, stream)
        if self.rng.random() < 0.4:
            event = yield from self.event()
            yield from self.record(event, stream)
        yield from self.release(buffer)

    def unfollowed(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.copy(buffer, stream)
        roll = self.rng.random()
        if roll < 0.5:
            yield from self.call(WAYS, stream=stream)
        else:
            if roll < 0.6:
                _, event = yield from self.call("aclrtIpcOpenEventHandle")
            elif roll < 0.7:
                event = yield from self.create_event(self.rng.choice((0x20, 0x40)))
            else:
                event = yield from self.event()
            event = event or self.world.any("event")
            if roll > 0.85:
                yield from self.call("aclrtIpcGetEventHandle", event=event)
            yield from self.record(event, stream, flag=self.rng.randrange(2))
            if roll > 0.75:
                yield from self.call("aclrtIpcGetEventHandle", event=event)
            if self.rng.random() < 0.3:
                yield from self.poll(event)
        yield from self.release(buffer)

    def cross(self):
        """Streams wait for each other; the last one's event stands for all."""
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.copy(buffer, stream)
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            event = yield from self.event()
            yield from self.record(event, stream)
            stream = yield from self.stream()
            yield from self.wait(stream, event)
            if self.rng.random() < 0.3:
                yield from self.copy(buffer, stream)
            if self.rng.random() < 0.2:
                yield from self.destroy(event)
        roll = self.rng.random()
        if roll < 0.25:
            yield from self.call(SYNC_STREAM, stream=stream)
        elif roll < 0.4:
            yield from self.call("aclrtStreamQuery", stream=stream)
        elif roll < 0.5 and stream:
            yield from self.call("aclrtDestroyStream", stream=stream)
        else:
            event = yield from self.event()
            yield from self.record(event, stream)
            if roll < 0.8:
                yield from self.poll(event)
            else:
                yield from self.call(self.rng.choice(("aclrtQueryEvent",) + tuple(SYNC_EVENT)),
                                     event=event)
            if self.rng.random() < 0.4:
                yield from self.destroy(event)
        yield from self.release(buffer)

    def many_streams(self):
        buffer = yield from self.buffer()
        streams = []
        for _ in range(self.rng.choice((3, 8, 9, 10, 11))):
            ret, out = yield from self.call(CREATE_STREAM)
            if not ret:
                streams.append(out)
                yield from self.copy(buffer, out)
            if streams and self.rng.random() < 0.3:
                yield from self.call(SYNC_STREAM, stream=self.rng.choice(streams))
        if streams and self.rng.random() < 0.5:
            target = self.rng.choice(streams)
            for stream in streams:
                event = yield from self.event()
                yield from self.record(event, stream)
                yield from self.wait(target, event)
            yield from self.record(event, target)
            yield from self.poll(event)
        yield from self.release(buffer)

    def capture(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        event = yield from self.event()
        if self.rng.random() < 0.5:
            yield from self.copy(buffer, stream)
            yield from self.record(event, stream)
        yield from self.call(CAPTURE_BEGIN, stream=stream)
        yield from self.copy(buffer, stream)
        if self.rng.random() < 0.7:
            yield from self.record(event, stream)
            if self.rng.random() < 0.6:
                joined = yield from self.stream()
                yield from self.wait(joined, event)
                yield from self.copy(buffer, joined)
                if self.rng.random() < 0.5:
                    yield from self.record((yield from self.event()), joined)
        yield from self.call("aclmdlRICaptureEnd", stream=stream)
        if self.rng.random() < 0.4:
            yield from self.copy(buffer, stream)
            yield from self.record(event, stream)
        yield from self.poll(event)
        yield from self.release(buffer)

    def registered(self):
        base = self.rng.choice((REGISTERED, REGISTERED + 0x100000))
        if self.rng.random() < 0.2:
            inside = self.world.some("buffer")
            base = self.address(inside) if inside else base
        name = self.rng.choice(("aclrtHostRegister", "aclrtHostRegisterV2"))
        yield from self.call(name, ptr=base, size=0x4000)
        stream = yield from self.stream()
        yield from self.copy(base, stream)
        roll = self.rng.random()
        if roll < 0.4:
            yield from self.call(SYNC_STREAM, stream=stream)
        elif roll < 0.8:
            event = yield from self.event()
            yield from self.record(event, stream)
            yield from self.poll(event)
        yield from self.call("aclrtHostUnregister", ptr=base)
        if self.rng.random() < 0.3:
            yield from self.copy(base, stream)

    # --- scripts: misuse ---

    def double_free(self):
        buffer = yield from self.buffer()
        yield from self.call("aclrtFreeHost", ptr=buffer)
        if self.rng.random() < 0.3:
            yield from self.malloc()
        yield from self.call("aclrtFreeHost", ptr=buffer)

    def use_after_free(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.call("aclrtFreeHost", ptr=buffer)
        if self.rng.random() < 0.2:
            yield from self.malloc()
        yield from self.copy(buffer, stream)

    def misuse_event(self):
        event = yield from self.event()
        stream = yield from self.stream()
        if self.rng.random() < 0.5:
            yield from self.record(event, stream)
        yield from self.destroy(event)
        if self.rng.random() < 0.2:
            yield from self.create_event()
        roll = self.rng.randrange(5)
        if roll < 2:
            yield from self.destroy(event)
        elif roll == 2:
            yield from self.record(event, stream)
        elif roll == 3:
            yield from self.poll(event)
        else:
            yield from self.wait(stream, event)

    def copy_pageable(self):
        stream = yield from self.stream()
        yield from self.copy(PAGEABLE + 64 * self.rng.randrange(8), stream)
        if self.rng.random() < 0.3:
            yield from self.call("aclrtMemcpyAsyncWithOffset", stream=stream)

    def late_free(self):
        """Of a buffer that was there before anyone watched."""
        event = yield from self.event()
        yield from self.poll(event)
        yield from self.call("aclrtFreeHost", ptr=self.world.any("buffer"))

    # --- scripts: surroundings ---

    def device(self):
        yield from self.call("aclrtSetDevice", device=self.rng.randrange(self.world.devices))

    def context(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.4:
            yield from self.call("aclrtCreateContext", device=rng.randrange(self.world.devices))
        elif roll < 0.7:
            yield from self.call("aclrtSetCurrentContext", context=self.world.any("context"))
        elif roll < 0.8:
            yield from self.call("aclrtDestroyContext", context=self.world.any("context"))
        if roll < 0.8:
            buffer = yield from self.buffer()
            yield from self.copy(buffer, NULL)
            if rng.random() < 0.5:
                yield from self.call(SYNC_STREAM, stream=NULL)
        if roll > 0.75:
            ret, out = yield from self.call("aclrtCtxGetCurrentDefaultStream")
            if not ret:
                buffer = yield from self.buffer()
                yield from self.copy(buffer, rng.choice((out, NULL)))
                yield from self.call(SYNC_STREAM, stream=rng.choice((out, NULL)))
                yield from self.release(buffer)

    def reset_device(self):
        buffer = yield from self.buffer()
        stream = yield from self.stream()
        yield from self.copy(buffer, stream)
        name = self.rng.choice(("aclrtResetDevice", "aclrtResetDevice", "aclrtResetDeviceForce"))
        yield from self.call(name, device=self.rng.randrange(self.world.devices))
        yield from self.release(buffer)

    def noise(self):
        rng, world = self.rng, self.world
        stream = world.any("stream")
        event = world.any("event")
        choices = (
            ("aclrtFreeHost", {"ptr": world.any("buffer")}),
            ("aclrtFreeHostWithDevSync", {"ptr": world.any("buffer")}),
            ("aclrtHostUnregister", {"ptr": world.any("buffer")}),
            ("aclrtDestroyEvent", {"event": event}),
            ("aclrtRecordEvent", {"event": event, "stream": stream}),
            ("aclrtRecordEvent", {"event": event, "stream": stream}),
            ("aclrtResetEvent", {"event": event, "stream": stream}),
            ("aclrtQueryEventStatus", {"event": event}),
            ("aclrtQueryEventStatus", {"event": event}),
            ("aclrtQueryEvent", {"event": event}),
            ("aclrtSynchronizeEvent", {"event": event}),
            ("aclrtStreamWaitEvent", {"stream": stream, "event": event}),
            ("aclrtStreamWaitEvent", {"stream": stream, "event": event}),
            ("aclrtCreateStream", {}),
            ("aclrtDestroyStream", {"stream": stream}),
            ("aclrtDestroyStreamForce", {"stream": stream}),
            ("aclrtSynchronizeStream", {"stream": stream}),
            ("aclrtStreamQuery", {"stream": stream}),
            ("aclrtStreamAbort", {"stream": stream}),
            ("aclrtSynchronizeDevice", {}),
            ("aclrtGetCurrentContext", {}),
            ("aclFinalize", {}),
            (rng.choice(WAYS), {"stream": stream}),
            ("aclrtMemcpyAsync", {"dst": DEVICE_BASE, "src": self.address(world.any("buffer")),
                                  "count": 64, "kind": H2D, "stream": stream}),
            ("aclrtMemcpyAsync", {"dst": DEVICE_BASE, "src": self.address(world.any("buffer")),
                                  "count": 64, "kind": 3, "stream": stream}),
        )
        for _ in range(rng.choice((1, 2, 4))):
            name, args = rng.choice(choices)
            yield from self.call(name, **args)


WEIGHTS = {
    "pcd": 8, "pcd_fixed": 5, "pool": 6, "remedy": 10, "event_sync": 3, "stream_query": 3,
    "in_flight": 4, "unfollowed": 4, "cross": 8, "many_streams": 2, "capture": 4,
    "registered": 3, "double_free": 3, "use_after_free": 3, "misuse_event": 5,
    "copy_pageable": 2, "late_free": 1, "device": 2, "context": 4, "reset_device": 2, "noise": 8,
}


class Generator:
    def __init__(self, seed, calls=None):
        self.rng = random.Random(seed)
        self.calls = calls or self.rng.choice((6, 10, 14, 18, 24, 30))
        self.position = 1000
        self.history = []
        self.names, self.weights = zip(*WEIGHTS.items())
        if self.rng.random() < 0.15:            # all of the same kind: deep, not broad
            self.names = self.rng.choices(self.names, self.weights, k=2)
            self.weights = 1, 1

    def script(self, world):
        name = self.rng.choices(self.names, self.weights)[0]
        if name == "many_streams" and self.calls < 40:
            self.calls += 25                    # or it would never reach the bounds
        return getattr(Scripts(world, self.rng), name)()

    def tick(self):
        roll = self.rng.random()
        if roll < 0.03:
            pass                                # equal positions
        elif roll < 0.04:
            self.position += WINDOW + self.rng.randrange(WINDOW)
        else:
            self.position += self.rng.randrange(1, 50)
        return self.position

    def add(self, pid, tid, kind, **rest):
        self.history.append(Step(self.tick(), pid, tid, kind, **rest))

    def generate(self):
        rng = self.rng
        world = World(rng)
        count = rng.choice((1, 1, 2, 2, 3, 4))
        threads = [[1, tid] for tid in range(1, count + 1)]
        running = {}                            # (pid, tid) -> [script, pending]
        overlap = rng.choice((0.1, 0.3, 0.7))
        mishaps = rng.random() < 0.12
        current = None
        made = 0
        for thread in threads:
            if rng.random() < 0.75:
                running[tuple(thread)] = [Scripts(world, rng).device(), None]
        while made < self.calls:
            if current is None or rng.random() < overlap or current not in map(tuple, threads):
                current = tuple(rng.choice(threads))
            pid, tid = current
            script = running.setdefault(current, [None, None])
            if script[1]:
                self.leave(world, pid, tid, script)
                continue
            if script[0] is None:
                script[0] = self.script(world)
                script.append(None)
            if mishaps and rng.random() < 0.06 and self.mishap(threads, running, current, world):
                continue
            self.enter(world, pid, tid, script)
            made += 1
        for pid in sorted({pid for pid, _ in threads}):
            if rng.random() < 0.8:
                for (other, tid), script in sorted(running.items()):
                    if other == pid and script[1]:
                        self.leave(world, pid, tid, script)
            self.add(pid, None, "exit")
        if rng.random() < 0.12:
            self.cut()
        return self.history

    def enter(self, world, pid, tid, script):
        rng = self.rng
        while True:
            try:
                sent = script[2] if len(script) > 2 else None
                name, args = script[0].send(sent) if sent else next(script[0])
            except StopIteration:
                script[0] = self.script(world)
                del script[2:]
                continue
            del script[2:]
            # A line of the program that was forgotten.
            if rng.random() < world.mutating and ROLES[name] not in CREATES:
                script.append((0, 0))
                continue
            break
        if "stream" in args and args["stream"] and rng.random() < world.mutating / 3:
            args["stream"] = world.any("stream")
        if "event" in args and rng.random() < world.mutating / 3:
            args["event"] = world.any("event")
        self.add(pid, tid, "enter", name=name, args=args)
        role = ROLES[name]
        failing = world.failing
        if role in DESTROYS:
            argument, kind = DESTROYS[role]
            if args[argument] not in world.used[kind]:
                failing = 0.8
            elif role == "FREE":
                failing = max(failing, 0.04)
        elif "event" in args and args["event"] not in world.used["event"]:
            failing = 0.8
        ret = 0
        if rng.random() < failing:
            ret = rng.choice(TIMEOUTS if "SYNC" in role and rng.random() < 0.5 else FAILURES)
        elif role in DESTROYS:
            world.give(kind, args[argument])
        script[1] = (name, args, ret)

    def leave(self, world, pid, tid, script):
        name, _, ret = script[1]
        role = ROLES[name]
        rng = self.rng
        out = None
        if not ret:
            if role in CREATES:
                out = world.take(CREATES[role])
            elif role == "EV_QUERY_STATUS":
                out = 1 if rng.random() < 0.75 else 0
            elif role in ("EV_QUERY", "ST_QUERY"):
                out = 0 if rng.random() < 0.75 else 1
            elif role == "ST_DEFAULT":
                context = self.current_context(pid, tid)
                names = world.default_names
                out = names.setdefault(context, 0x5d000000 + 0x80 * len(names))
            elif role == "CTX_GET":
                out = self.current_handle(pid, tid)
        script[1] = None
        self.add(pid, tid, "leave", ret=ret, out=out)
        script.append((ret, out))

    def current_context(self, pid, tid):
        """What the thread made current last, as far as the history says."""
        call = None
        context = (pid, "unknown")
        for number, step in enumerate(self.history):
            if step.pid != pid:
                continue
            if step.kind == "exec":
                call, context = None, (pid, "unknown", number)
            elif step.tid == tid and step.kind == "enter":
                call = step
            elif step.tid == tid and step.kind == "leave" and call and not step.ret:
                role = ROLES[call.name]
                if role == "DEV_SET":
                    context = (pid, "device", call.args["device"])
                elif role == "CTX_SET":
                    context = (pid, "context", call.args["context"],
                               self.generation(call.args["context"], number))
                elif role == "CTX_CREATE":
                    context = (pid, "context", step.out, self.generation(step.out, number + 1))
        return context

    def generation(self, handle, number):
        return sum(1 for step in self.history[:number] if step.kind == "leave" and
                   step.out == handle)

    def current_handle(self, pid, tid):
        context = self.current_context(pid, tid)
        if context[1] == "context":
            return context[2]
        if context[1] == "device":
            return 0xc0f00000 + 0x100 * context[2]
        return 0xc0f00000

    def mishap(self, threads, running, current, world):
        """Something that happens to a process rather than by a call."""
        rng = self.rng
        pid, tid = current
        roll = rng.random()
        if roll < 0.3:
            # The thread dies inside the call that it is about to make, or outside any.
            if rng.random() < 0.5:
                self.enter(world, pid, tid, running[current])
            self.add(pid, tid, "thread-exit")
            del running[current]
            threads.remove([pid, tid])
            threads.append([pid, tid + 10])
        elif roll < 0.6:
            self.enter(world, pid, tid, running[current])
            self.add(pid, tid, "lost")
            ret = running[current][1][2]
            running[current][1] = None
            running[current].append((ret, None))
            running[current][0] = Scripts(world, rng).noise()
            del running[current][2:]
        elif roll < 0.8:
            child = pid + 1
            if any(other == child for other, _ in threads) or child > 3:
                return False
            self.add(pid, tid, "fork", args={"child": child})
            threads.append([child, 1])
        else:
            self.add(pid, tid, "exec")
            for thread in [t for t in threads if t[0] == pid]:
                running.pop(tuple(thread), None)
                threads.remove(thread)
            threads.append([pid, 1])
        return True

    def cut(self):
        """Attach late: the first part was seen by nobody, a second one while attaching."""
        rng = self.rng
        first = [i for i, step in enumerate(self.history) if step.pid == 1]
        number = rng.choice(first[:max(1, len(first) // 2)])
        kept = []
        begun = set()
        unseen = self.history[:number]
        # Only process 1: others began under watch or are not there yet.
        if any(step.kind in ("fork", "exec", "exit") for step in unseen):
            return
        for step in self.history[number:]:
            if step.kind == "enter":
                begun.add((step.pid, step.tid))
            elif step.kind in ("leave", "lost") and (step.pid, step.tid) not in begun:
                continue
            kept.append(step)
        where = rng.choice((0, 0, rng.randrange(1 + min(10, len(kept)))))
        ends = [i for i, step in enumerate(kept) if step.kind in ("exec", "exit", "fork")]
        where = min([where] + ends)
        position = kept[where].position if where < len(kept) else self.position
        kept.insert(where, Step(position, 1, None, "attach"))
        self.history = kept


def coverage(models):
    """Lines of the table, and whether each rule, level and evidence was seen."""
    rules = collections.Counter()
    evidence = collections.Counter()
    for model in models:
        fired = set()
        for verdict in model.verdicts:
            fired.add((verdict.rule, verdict.level))
            evidence_of = ("confirmed" if verdict.confirmed else
                           "suspected" if verdict.must else "certain")
            fired.add(evidence_of)
            fired |= {f"suspected: {cause}" for cause in verdict.must}
            if verdict.loose:
                fired.add("a bound exceeded")
        for _, kind, *_ in model.leaks:
            fired.add((f"{kind}-leak", "note"))
        for item in fired:
            (rules if isinstance(item, tuple) else evidence)[item] += 1
        rules["silent"] += not model.verdicts
    return rules, evidence


EXPECTED = [
    ("free-before-destroy", "error"), ("free-before-destroy", "warning"),
    ("free-in-flight", "error"), ("free-in-flight", "warning"),
    ("free-after-stream-query", "warning"), ("free-after-event-sync", "note"),
    ("free-failed", "error"), ("double-free", "error"), ("event-double-destroy", "error"),
    ("event-use-after-destroy", "error"), ("copy-after-free", "error"),
    ("event-leak", "note"), ("host-leak", "note"), "silent",
    "confirmed", "certain", "suspected", "suspected: late-attach", "suspected: lost",
    "suspected: context-unknown", "suspected: unfollowed-way", "a bound exceeded",
]


def show(rules, evidence, count):
    """The table as lines; the second value says whether nothing is zero."""
    lines = [f"{count} histories, of which"]
    complete = True
    for key in EXPECTED:
        number = rules.get(key, evidence.get(key, 0))
        complete = complete and number > 0
        lines.append(f"{number:8} {' '.join(key) if isinstance(key, tuple) else key}")
    return lines, complete


def main():
    parser = argparse.ArgumentParser(description="Generate random histories.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--show", action="store_true", help="print the histories")
    args = parser.parse_args()
    rules, evidence = collections.Counter(), collections.Counter()
    for seed in range(args.seed, args.seed + args.count):
        history = Generator(seed).generate()
        model = Model().run(history)
        more = coverage([model])
        rules.update(more[0])
        evidence.update(more[1])
        if args.show:
            print(f"# seed {seed}\n{dump(history)}")
            for verdict in model.verdicts:
                print(f"# {verdict}")
            print()
    lines, complete = show(rules, evidence, args.count)
    print("\n".join(lines))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
