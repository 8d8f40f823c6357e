#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A million times the same violation, as fast as it can be made: told once, counted right.

REPEATS (1,000,000) of them.  Part of `make soak`.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
sys.dont_write_bytecode = True

import repeats                                      # noqa: E402
import world                                        # noqa: E402

ROUNDS = int(os.environ.get("REPEATS", "1000000"))
PATIENCE = 60 + ROUNDS // 500       # seconds


def a_million():
    """A million repeats of one violation: bounded memory, one report, the right count"""
    text, kib, made = repeats.repeated(ROUNDS, PATIENCE)
    reported, lost = repeats.check(ROUNDS, text, kib)
    print(f"# {ROUNDS} made in {made['seconds']} s: {reported} reported, {lost} lost, "
          f"{kib} KiB resident at most")


if __name__ == "__main__":
    world.run_tests(world.titled(a_million), PATIENCE + 60)
