# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Builds an initramfs: a cpio archive with programs and the libraries they need."""

import os
import re
import stat
import subprocess

FIELDS = "{magic}{ino:08x}{mode:08x}{zero}{zero}{nlink:08x}{zero}{size:08x}" \
         "{zero}{zero}{zero}{zero}{name:08x}{zero}"


class Image:
    """Files by their path in the guest."""

    def __init__(self):
        self.files = {}         # path: (mode, contents)

    def add(self, path, contents, mode=0o755):
        if isinstance(contents, str):
            contents = contents.encode()
        self.files[path.lstrip("/")] = (stat.S_IFREG | mode, contents)

    def copy(self, path, source):
        with open(source, "rb") as file:
            self.add(path, file.read())

    def folder(self, path):
        self.files[path.lstrip("/")] = (stat.S_IFDIR | 0o755, b"")

    def write(self, path):
        for name in list(self.files):
            while name := os.path.dirname(name):
                if name not in self.files:
                    self.folder(name)
        with open(path, "wb") as out:
            for ino, name in enumerate(sorted(self.files), 1):
                entry(out, ino, name, *self.files[name])
            entry(out, 0, "TRAILER!!!", 0, b"")


def entry(out, ino, name, mode, contents):
    """As the kernel's Documentation/driver-api/early-userspace/buffer-format has it."""
    head = FIELDS.format(magic="070701", ino=ino, mode=mode, zero="0" * 8, nlink=1,
                         size=len(contents), name=len(name) + 1)
    pad(out, head.encode() + name.encode() + b"\0")
    pad(out, contents)


def pad(out, text):
    out.write(text + b"\0" * (-len(text) % 4))


class Libraries:
    """The shared libraries of one compiler's programs."""

    def __init__(self, cc, readelf="readelf"):
        self.cc, self.readelf = cc, readelf
        self.seen = set()

    def add_of(self, image, program, folder="lib"):
        """What the program needs, and what that needs; the loader goes where it is sought."""
        said = subprocess.run([self.readelf, "-Wld", program], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        if match := re.search(r"program interpreter: (\S+)\]", said):
            self.add(image, os.path.basename(match[1]), match[1])
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", said):
            self.add(image, name, os.path.join(folder, name))

    def add(self, image, name, path):
        if name in self.seen:
            return
        # What the compiler does not know is of the simulated runtime, which is there already.
        found = subprocess.run([*self.cc, f"-print-file-name={name}"], stdout=subprocess.PIPE,
                               check=True, text=True).stdout.strip()
        if os.path.isabs(found):
            self.seen.add(name)
            image.copy(path, found)
            self.add_of(image, found)
