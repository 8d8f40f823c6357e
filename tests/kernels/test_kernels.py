#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The oldest kernel of each architecture, in a machine of its own; `make check-kernels` tries all.

Needs neither root nor BPF here.  What cannot be fetched is skipped.
"""

import sys

import kernels
from judge import world


def report(number, result):
    """Prints a kernel's tests; gives how many tests there are by now."""
    if result.missing:
        print(f"ok {number + 1} - {result.name} # SKIP not to be had: {result.missing}")
        return number + 1
    for name, why in result.tests:
        number += 1
        for line in why.splitlines():
            print("#   " + line.encode("ascii", "backslashreplace").decode())
        print(f"{'not ' if why else ''}ok {number} - {result.name}: {name}", flush=True)
    print(f"# {kernels.line_of(result.row())}")
    if result.failed:
        print(f"# its console: {result.sent.console.path}")
    return number


def main():
    print(f"# tap-timeout: 1500\n# {kernels.line_of(kernels.COLUMNS)}", flush=True)
    number = failed = 0
    try:
        # loading takes half of the time, so only once in each of two ways
        for result in kernels.try_all(kernels.OLDEST, ("brief",), 2):
            number = report(number, result)
            failed += result.failed
    except world.Failure as failure:
        print("".join(f"# {line}\n" for line in str(failure).splitlines()), end="")
        number += 1
        failed += 1
        print(f"not ok {number} - builds for the machines")
    print(f"1..{number}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
