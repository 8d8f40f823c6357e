# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Shrinks a history to the smallest one that still shows something.

Delta debugging over calls (an entry goes with its return), then over threads, then over the
overlap: what need not overlap is told one after the other.
"""


def units(history):
    """The indices of the steps that belong together: a call, or a single event."""
    result = []
    open_calls = {}
    for index, step in enumerate(history):
        who = step.pid, step.tid
        if step.kind == "enter":
            open_calls[who] = len(result)
            result.append([index])
        elif step.kind in ("leave", "lost") and who in open_calls:
            result[open_calls.pop(who)].append(index)
        else:
            result.append([index])
    return result


def without(history, parts):
    gone = {index for part in parts for index in part}
    return [step for index, step in enumerate(history) if index not in gone]


def fewer_calls(history, shows):
    size = max(1, len(units(history)) // 2)
    while True:
        parts = units(history)
        start, changed = 0, False
        while start < len(parts):
            trial = without(history, parts[start:start + size])
            if shows(trial):
                history, parts, changed = trial, units(trial), True
            else:
                start += size
        if size == 1 and not changed:
            return history
        size = max(1, size // 2)


def fewer_threads(history, shows):
    for who in sorted({(step.pid, step.tid) for step in history if step.tid is not None}):
        trial = [step for step in history if (step.pid, step.tid) != who]
        if len(trial) < len(history) and shows(trial):
            history = trial
    return history


def less_overlap(history, shows):
    """Brings each return forward to its entry where that makes no difference."""
    changed = True
    while changed:
        changed = False
        for part in units(history):
            if len(part) != 2 or part[1] == part[0] + 1:
                continue
            trial = list(history)
            leave = trial.pop(part[1])
            trial.insert(part[0] + 1, leave)
            trial = renumber(trial)
            if shows(trial):
                history, changed = trial, True
                break
    return history


def renumber(history):
    """Positions that do not decrease, the steps in the order that they stand in."""
    result = []
    position = 0
    for step in history:
        position = max(position, step.position)
        copy = type(step)(position, step.pid, step.tid, step.kind, step.name, step.args,
                          step.ret, step.out)
        result.append(copy)
    return result


def shrink(history, shows):
    """The smallest history found for which `shows` still is true."""
    while True:
        before = len(history)
        history = fewer_calls(history, shows)
        history = fewer_threads(history, shows)
        history = less_overlap(history, shows)
        if len(history) == before:
            return history
