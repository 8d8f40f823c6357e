# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Run by gdb on a program that waits for a line: gives it one, stops it in aclrtFreeHost
and prints the stack there, as "@ FILE OFFSET" a frame, the offset being that in the file.

While somebody watches all processes, the kernel takes gdb's traps for those of uprobes
that are at the same places: in the dynamic loader, wherefore gdb is attached when the
library is there, and at the function, wherefore its breakpoint is one of the hardware.
"""

import gdb  # pylint: disable=import-error


def mappings(pid):
    """[(start, end, offset, path)]"""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        rows = [line.split(maxsplit=5) for line in file]
    return [(*(int(word, 16) for word in (*row[0].split("-"), row[2])), row[5].strip())
            for row in rows if len(row) == 6]


def main():
    pid = gdb.selected_inferior().pid
    for setting in "confirm off", "backtrace past-main on", "backtrace past-entry on":
        gdb.execute("set " + setting)
    try:
        gdb.execute("hbreak aclrtFreeHost")
    except gdb.error:  # the machine has none
        gdb.execute("break aclrtFreeHost")
    with open(f"/proc/{pid}/fd/0", "w", encoding="ascii") as stdin:
        stdin.write("go on\n")
    gdb.execute("continue")
    rows = mappings(pid)
    frame = gdb.newest_frame()
    while frame:
        if frame.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):  # not on the stack
            frame = frame.older()
            continue
        for start, end, offset, path in rows:
            if start <= frame.pc() < end:
                print("@", path, frame.pc() - start + offset)
        frame = frame.older()
    gdb.execute("kill")


main()
