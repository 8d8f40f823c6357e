# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Histories of threads that run freely, and the search for an order that explains what was said.

What the threads are to do is planned beforehand, with names for what calls will have filled in.
They do it at full speed; of every call it is known between which times it was entered and
returned.  Calls that overlap may have come in either order, so what aclguard said is right if the
model says the same for one order that those times allow.
"""

import collections
import random
import time

import check
import reports
from generate import CREATES, DESTROYS, FAILURES
from history import ROLES, Step
from live import CONTROL, REAL_WEIGHTS, Entry, Live, RealScripts, Thread, has_output, wire
from model import Model

HANDLE = 1 << 62        # HANDLE + (slot << SHIFT) + offset stands for what a slot holds
SHIFT = 40
BEGIN_NS = 3 * 10 ** 6  # between the last order and the first call
ORDERS = 1000           # tried before a disagreement is believed
KEPT_BACK = {"many_streams", "finalize"}
WEIGHTS = {name: weight for name, weight in REAL_WEIGHTS.items() if name not in KEPT_BACK}


class Wish:
    """A call that a thread is to make."""

    def __init__(self, name, args, fail, slot, pause):
        self.name, self.args, self.fail, self.slot, self.pause = name, args, fail, slot, pause


def word(value):
    """An argument as actor.c takes it."""
    if value < HANDLE:
        return str(value)
    slot, offset = divmod(value - HANDLE, 1 << SHIFT)
    return f"s{slot}+{offset}"


class Free(Live):
    """One history of threads that run freely."""

    def __init__(self, host, seed):
        super().__init__(host, seed, mishaps=False)
        self.calls = self.rng.choice((10, 14, 20, 26))
        self.names, self.weights = zip(*WEIGHTS.items())
        if self.rng.random() < 0.3:
            self.names = self.rng.choices(self.names, self.weights, k=2)
            self.weights = 1, 1
        # The n-th calls of all threads begin together, or each goes on as it can.
        self.tick = self.rng.choice((0, 20000, 50000, 100000))
        self.hurry = self.rng.choice((0, 2000, 20000))
        self.slots = 0
        self.steps = []         # [lo, hi, step], in the order of each thread

    # --- planning -------------------------------------------------------------------------

    def plan(self):
        """What each thread is to do: thread -> wishes."""
        threads = self.threads()
        world = self.processes[0].world
        world.sharing = self.rng.choice((0.5, 0.8, 0.95))
        wishes = {thread: [] for thread in threads}
        for thread in threads:
            thread.script = RealScripts(world, self.rng).device()
        while sum(map(len, wishes.values())) < self.calls:
            thread = self.rng.choice(threads)
            for _ in range(self.rng.choice((1, 1, 2, 4))):
                wishes[thread].append(self.wish(thread, world))
        return wishes

    def wish(self, thread, world):
        rng = self.rng
        name, args = self.next_call(thread)
        role = ROLES[name]
        fail = rng.choice(FAILURES) if rng.random() < world.failing else 0
        slot, out = 0, None
        if role in CREATES or role in ("ST_DEFAULT", "CTX_GET"):
            self.slots += 1
            slot, out = self.slots, HANDLE + (self.slots << SHIFT)
            if role in CREATES:
                world.made(CREATES[role], out)
        elif has_output(role):
            out = rng.randrange(2)
        elif role in DESTROYS:
            argument, kind = DESTROYS[role]
            world.give(kind, args[argument])
        thread.result = 0, out
        pause = rng.randrange(self.hurry + 1)
        if "QUERY" in role:
            pause += rng.choice((0, 50000, 200000))
        return Wish(name, self.real(thread.process, args), fail, slot, pause)

    # --- doing ------------------------------------------------------------------------------

    def run(self, calls=None):
        wishes = self.plan()
        for thread, some in wishes.items():
            thread.line.say(f"plan {len(some)}")
            for wish in some:
                step = Step(0, 0, 0, "enter", name=wish.name, args=wish.args)
                words = [wish.name, wish.fail, 0, 64, wish.pause, wish.slot]
                thread.line.say(" ".join(list(map(str, words)) + list(map(word, wire(step)))))
            thread.line.hear()
        begin = time.monotonic_ns() + BEGIN_NS
        for thread in wishes:
            thread.line.say(f"{begin} {self.tick}")
        for thread, some in wishes.items():
            self.collect(thread, some)
        self.steps.sort(key=lambda item: item[0])
        self.history += [step for _, _, step in self.steps]

    def collect(self, thread, wishes):
        process = thread.process
        for wish in wishes:
            answer = thread.line.hear()
            if answer is None:
                self.blocked += 1
                return
            before, begin, end, after, ret, out, *values = map(int, answer.split()[1:])
            step = Step(before, process.number, thread.number, "enter", name=wish.name,
                        args=self.filled_in(wish, values))
            entry = Entry(process, thread, step, before, begin)
            entry.returned = after
            self.entries.append(entry)
            self.made += 1
            self.steps.append([before, begin, step])
            self.steps.append([end, after, Step(
                after, process.number, thread.number, "leave", ret=ret,
                out=out if not ret and has_output(ROLES[wish.name]) else None)])

    @staticmethod
    def filled_in(wish, values):
        """The arguments of the call with the values that it was really given."""
        names = {value: real for value, real in
                 zip(wire(Step(0, 0, 0, "enter", name=wish.name, args=wish.args)), values)}
        return {name: [tuple(names[v] for v in item) for item in value] if name == "items" else
                names.get(value, value) for name, value in wish.args.items()}

    # --- judging ------------------------------------------------------------------------------

    def prologue(self):
        return [step for step in self.history if step.tid == CONTROL]

    def epilogue(self):
        return [step for step in self.history if step.kind == "exit"]


def concerns(step, objects):
    """Whether a call touches one of these objects."""
    values = []
    for value in step.args.values():
        values += [v for item in value for v in item] if isinstance(value, list) else [value]
    return any(low <= value < high for value in values for low, high in objects)


class Item:
    """A step of the history: its effect comes between lo and hi.

    The position of an entry is a time that the probe reads before its effect.  Where a report
    tells it, that is `exact`.
    """

    def __init__(self, lo, hi, step):
        self.lo, self.hi, self.step = lo, hi, step
        self.exact = None


class Search:
    """The orders of one history."""

    def __init__(self, live, said, window):
        self.live = live
        self.said = said
        self.window = window
        self.rng = random.Random(live.seed)
        self.tried = 0
        self.items = [Item(*item) for item in live.steps]
        exact = {}
        for one in said:
            exact[one.entry.step] = one.time
            if one.copy_entry:
                exact[one.copy_entry.step] = one.moment(one.report["copy"])
            if one.poll_entry:
                exact[one.poll_entry.step] = one.moment(one.report["poll"])
        for item in self.items:
            if item.step in exact:
                item.lo = item.exact = exact[item.step]
        self.movable = [i for i in range(len(self.items)) if len(self.overlapping(i)) > 1]

    def try_order(self, times, leaks, overflows):
        """What disagrees in this order (None: the history cannot have been so), and the model."""
        live = self.live
        self.tried += 1
        steps, taken = [], set()
        for i in sorted(range(len(times)), key=lambda i: times[i][0]):
            effect, position = times[i]
            position = position or effect
            while position in taken:
                position += 1
            taken.add(position)
            self.items[i].step.position = position
            steps.append(self.items[i].step)
        for one in self.said:
            one.renumber()
        model = Model(self.window).run(live.prologue() + steps + live.epilogue())
        if model.void:
            return None, model
        answer = (list(self.said), reports.ends_of(live, model, leaks), overflows)
        return self.raced(check.compare(model, answer)), model

    def measured(self):
        """The order that is most likely: probes lie next to the body."""
        return [(item.exact or item.hi if item.step.kind == "enter" else item.lo, item.exact)
                for item in self.items]

    def draw(self, i):
        """A time for the effect of a step, and perhaps an earlier one for its position."""
        item, roll = self.items[i], self.rng.random()
        effect = item.lo if roll < 0.3 else item.hi if roll < 0.6 else \
            self.rng.randint(item.lo, item.hi)
        if item.exact or item.step.kind != "enter" or self.rng.random() < 0.7:
            return effect, item.exact
        return effect, self.rng.randint(item.lo, effect)

    def overlapping(self, i):
        """The steps that may change places with this one."""
        item = self.items[i]
        return [k for k, other in enumerate(self.items)
                if other.lo <= item.hi and item.lo <= other.hi]

    def suspects(self, wrong):
        """Steps to move, because a disagreement is about their objects; else any."""
        text = " ".join(wrong)
        places = {int(what.split(":")[0]) for what in wrong if what.split(":")[0].isdigit()}
        objects = []
        for item in self.items:
            if item.step.position in places:
                objects += [(value & ~0xffff, (value | 0xffff) + 1)
                            for value in item.step.args.values()
                            if isinstance(value, int) and value > 4096]
        chosen = [i for i in self.movable if self.items[i].step.position in places or
                  concerns(self.items[i].step, objects) or
                  "buffers alive" in text and self.is_about(i, ("FREE", "MALLOC", "REGISTER")) or
                  "events alive" in text and self.is_about(i, ("EV_",))]
        return chosen or self.movable

    def is_about(self, i, words):
        """Whether the call that this is a step of has such a role."""
        item = self.items[i]
        while item.step.kind == "leave":
            i -= 1
            if self.items[i].step.tid == item.step.tid:
                item = self.items[i]
        return any(part in ROLES[item.step.name] for part in words)

    def run(self, leaks, overflows):
        """(what disagrees in the best order, the model of it)"""
        best_times = self.measured()
        best, model = self.try_order(best_times, leaks, overflows)
        found = model if best is not None else None
        while (best is None or best) and self.movable and \
                self.tried < (ORDERS if best else ORDERS // 10):
            times = list(best_times)
            moved = self.movable
            if best and self.tried % 4:
                near = self.rng.choice(self.suspects(best))
                moved = [i for i in self.overlapping(near) if i in self.movable]
            for i in moved:
                times[i] = self.draw(i)
            wrong, model = self.try_order(times, leaks, overflows)
            if wrong is not None and (best is None or len(wrong) <= len(best)):
                best, best_times, found = wrong, times, model
        if best:
            # The positions are to be those of the best order again.
            best, found = self.try_order(best_times, leaks, overflows)
        return best, found or model

    def raced(self, wrong):
        """Without what carries the cause "raced", where calls on its object did overlap."""
        left = []
        for what in wrong:
            place = what.split(":")[0]
            said = [one for one in self.said if str(one.position) == place and
                    "raced" in one.causes]
            if not any(self.contended(one) for one in said):
                left.append(what)
        return left

    def contended(self, said):
        base = said.base or said.pointer
        objects = [(base, base + 0x10000), (said.handle, said.handle + 1)]
        touching = [i for i, item in enumerate(self.items) if concerns(item.step, objects)]
        return any(self.items[k].step.tid != self.items[i].step.tid
                   for i in touching for k in self.overlapping(i))


def judge(live, said, window):
    """(what disagrees in every order, the model, orders tried)"""
    search = Search(live, said.said[live], window)
    wrong, model = search.run(said.leaks, said.summary.get("lost", {}).get("bound-exceeded", 0))
    if wrong is None:
        return live.mismatches, model, search.tried
    return live.mismatches + wrong, model, search.tried


def overlaps(histories):
    """How many steps might have changed places with one of another thread."""
    counts = collections.Counter()
    for live in histories:
        latest = {}
        for lo, hi, step in live.steps:
            counts["steps"] += 1
            counts["overlapping"] += any(lo <= other for tid, other in latest.items()
                                         if tid != step.tid)
            latest[step.tid] = max(hi, latest.get(step.tid, 0))
    return counts


__all__ = ["Free", "Thread", "judge", "overlaps"]
