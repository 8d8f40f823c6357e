#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The systemd unit is one that systemd takes, is as confined as it can be, and asks
aclguard for what it offers."""
import json
import os
import re
import shutil
import sys
import tempfile

import unit                             # first: it finds the others
from checks import ACLGUARD, Tap, complaints, options_of_help, output, text_of, usage

EXPOSURE = 3.5      # of 10, as systemd-analyze counts
SANDBOX = re.compile(
    r"(Protect|Private|Restrict(?!Prevent)|Lock|Memory(?!Max)|SystemCall|NoNew)\w+")


def installed(folder):
    """The unit, with the program that was built instead of the one that is installed."""
    path = os.path.join(folder, "aclguard.service")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of(unit.UNIT).replace("/usr/bin/aclguard", ACLGUARD))
    return path


def too_exposed(path):
    said = output("systemd-analyze", "security", "--offline=yes", "--no-pager", path)
    level = re.search(r"exposure level for \S+: ([\d.]+) (\w+)", said)
    print(f"# systemd-analyze security: {level[1]} of 10, {level[2]}")
    for row in json.loads(output("systemd-analyze", "security", "--offline=yes", "--json=short",
                                 path)):
        if row["set"] is False and float(row["exposure"] or 0) >= 0.3:
            print(f"#   {row['exposure']} {row['name']}: {row['description']}")
    return [] if float(level[1]) <= EXPOSURE else [f"above {EXPOSURE}"]


def wrong_options():
    there = options_of_help(usage("export"))
    wrong = []
    for path in unit.UNIT, "deploy/systemd/default":
        text = text_of(path).replace("kill -HUP", "")
        for name in re.findall(r"(?<![\w-])--\w[\w.-]*\w", text):
            if name not in there and name != "--now":
                wrong.append(f"{path}: aclguard export has no {name}")
    return wrong


def wrong_capabilities():
    """Those that the program keeps when it gives up the others."""
    needed = text_of("src", "privileges.c").partition("needed[] = {")[2].partition("}")[0]
    needed, allowed = set(re.findall(r"CAP_\w+", needed)), set(unit.capabilities())
    return [f"src/privileges.c and the unit differ: {sorted(needed ^ allowed)}"] \
        if needed != allowed else []


def wrong_statuses():
    there = set(re.findall(r"ACL_EXIT_\w+ = (\d+)", text_of("src", "exits.h")))
    return [f"there is no exit status {status}"
            for status in unit.setting("RestartPreventExitStatus").split() if status not in there]


def not_imitated():
    """Settings that tests/deploy/test_service.py would pass by."""
    known = set(unit.MOUNTS) | unit.FILTERS | unit.REFUSED
    return [f"{name}: what does it do to aclguard?" for name in unit.settings()
            if SANDBOX.fullmatch(name) and name not in known]


def main():
    tap = Tap()
    if shutil.which("systemd-analyze"):
        with tempfile.TemporaryDirectory() as folder:
            path = installed(folder)
            tap.result("systemd takes the unit",
                       complaints("systemd-analyze", "verify", "--man=no", path))
            tap.result("it is as confined as it can be", too_exposed(path))
    else:
        tap.skip("systemd takes the unit", "no systemd-analyze")
    tap.result("the options it gives exist", wrong_options())
    tap.result("it allows the capabilities that aclguard needs", wrong_capabilities())
    tap.result("the exit statuses it knows exist", wrong_statuses())
    tap.result("what it forbids is forbidden in the test, too", not_imitated())
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
