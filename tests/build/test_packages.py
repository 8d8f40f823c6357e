#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Builds both packages and looks at what they hold, then installs each into an empty
folder with the tools of its distribution, starts the program there, where there is
nothing else, and removes the package again.

tests/build/check_packages.sh does the same in a whole system.
"""
import gzip
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))

PAGES = {f"usr/share/man/man1/aclguard{command}.1.gz"
         for command in ("", "-run", "-watch", "-record", "-replay", "-doctor", "-control",
                         "-export")}
FLEET = {"usr/share/aclguard/" + path for path in (
    "default", "grafana/aclguard.json", "kubernetes/prometheusrule.yaml",
    *(f"{folder}/{name}" for folder in ("prometheus", "kubernetes")
      for name in os.listdir(os.path.join(ROOT, "deploy", folder))))}
COMMON = PAGES | FLEET | {"usr/bin/aclguard", "usr/share/bash-completion/completions/aclguard",
                          "usr/lib/systemd/system/aclguard.service"}
DEB = COMMON | {
    "usr/share/doc/aclguard/README.md.gz", "usr/share/doc/aclguard/changelog.Debian.gz",
    "usr/share/doc/aclguard/copyright", "usr/share/lintian/overrides/aclguard"}
RPM = COMMON | {
    "usr/share/doc/aclguard/README.md", "usr/share/licenses/aclguard/LICENSE",
    "usr/share/licenses/aclguard/copyright"}
CHINESE = "README.zh-CN.md"     # packed where there is one

MACHINES = {62: ("amd64", "x86_64"), 183: ("arm64", "aarch64")}
PT_INTERP = 3
SHT_SYMTAB = 2


class Unavailable(Exception):
    """What is to be fetched cannot be fetched: not a failure of ours."""


def run(*command):
    """The output of a command; one that fails is a RuntimeError with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode and "Error 75" in done.stderr:
        raise Unavailable
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n"
                           + done.stdout + done.stderr)
    return done.stdout


def make(target):
    return [os.path.join(ROOT, line)
            for line in run("make", f"BUILD={BUILD}", target).split("\n")
            if line.endswith((".deb", ".rpm", ".gz"))]


def files(top):
    return {os.path.relpath(os.path.join(folder, name), top)
            for folder, _, names in os.walk(top) for name in names}


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def check(condition, what):
    if not condition:
        raise RuntimeError(what)


def check_program(path):
    """Needs no loader, has no symbols left; returns the architecture's names."""
    with open(path, "rb") as f:
        data = f.read()
    machine, = struct.unpack_from("<H", data, 18)
    programs, sections = struct.unpack_from("<QQ", data, 32)
    size, count, section_size, section_count = struct.unpack_from("<4H", data, 54)
    types = [struct.unpack_from("<I", data, programs + i * size)[0] for i in range(count)]
    check(PT_INTERP not in types, "the program wants a dynamic loader")
    types = [struct.unpack_from("<I", data, sections + i * section_size + 4)[0]
             for i in range(section_count)]
    check(types and SHT_SYMTAB not in types, "the program is not stripped")
    return MACHINES[machine]


def check_tree(top, expected):
    """The files that a package unpacks to."""
    if os.path.exists(os.path.join(ROOT, CHINESE)):
        expected = expected | {path.replace("README.md", CHINESE) for path in expected
                               if "README.md" in path}
    found = files(top)
    check(found == expected, f"too much: {sorted(found - expected)}, "
                             f"missing: {sorted(expected - found)}")
    for path in found:
        mode = os.stat(os.path.join(top, path)).st_mode & 0o7777
        check(mode == (0o755 if path == "usr/bin/aclguard" else 0o644), f"{path}: {mode:o}")
    for path in PAGES:
        with gzip.open(os.path.join(top, path)) as page, \
             open(os.path.join(BUILD, "man", os.path.basename(path)[:-3]), "rb") as made:
            check(page.read() == made.read(), f"{path} is not what was built")
    enabled = [path for path in found if "/systemd/" in path and ".wants/" in path]
    check(not enabled, f"a service is enabled: {enabled}")
    return check_program(os.path.join(top, "usr/bin/aclguard"))


def starts_alone(root, version):
    """Where there is no library and no /proc."""
    said = run("chroot", root, "/usr/bin/aclguard", "--version").strip()
    check(said.startswith(f"aclguard {version} (static"), f"--version says {said!r}")


def source_version():
    """Of the package: what Makefile and deploy.mk say when they are not overridden."""
    found = []
    for path, name in ("Makefile", "VERSION"), ("deploy/deploy.mk", "RELEASE"):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            found.append(re.search(rf"^{name}\s*\?= (\S+)$", f.read(), re.M)[1])
    return tuple(found)


def check_versions():
    version, release = source_version()
    for path, pattern in (
            ("deploy/aclguard.spec", r"^Version:\s*(\S+)$"),
            ("deploy/aclguard.spec", r"^%changelog\n\* .* - (\S+)-\d+$"),
            ("deploy/debian/changelog", r"\Aaclguard \((\S+)-\d+\)")):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            found = re.search(pattern, f.read(), re.M)[1]
        check(found == version, f"{path} is of version {found}, the Makefile of {version}")
    return version, release


class Deb:
    def __init__(self, scratch):
        self.scratch = scratch
        self.version, self.release = source_version()
        self.path = None

    def build(self):
        self.path = None
        self.path, = make("deb")

    def again(self):
        before = digest(self.path)
        shutil.rmtree(os.path.join(BUILD, "stripped"))
        self.build()
        check(digest(self.path) == before, "the second package differs from the first")

    def content(self):
        tree = os.path.join(self.scratch, "deb")
        run("dpkg-deb", "--raw-extract", self.path, tree)
        control = dict(line.split(": ", 1) for line in
                       run("dpkg-deb", "--field", self.path).splitlines() if line[0] != " ")
        with open(os.path.join(tree, "DEBIAN", "md5sums"), encoding="utf-8") as f:
            sums = {path: md5 for md5, path in (line.split() for line in f)}
        check(set(os.listdir(os.path.join(tree, "DEBIAN"))) == {"control", "md5sums"},
              "scripts in the package")
        shutil.rmtree(os.path.join(tree, "DEBIAN"))
        arch, _ = check_tree(tree, DEB)
        for path in files(tree):
            with open(os.path.join(tree, path), "rb") as f:
                check(hashlib.md5(f.read()).hexdigest() == sums.pop(path, None),
                      f"md5sums: {path}")
        check(not sums, f"md5sums: {sums}")
        check(control["Architecture"] == arch, f"Architecture: {control['Architecture']}")
        check(control["Version"] == f"{self.version}-{self.release}",
              f"Version: {control['Version']}")
        check("Depends" not in control, f"Depends: {control.get('Depends')}")
        for line in run("dpkg-deb", "--contents", self.path).splitlines():
            check(" root/root " in line, line)

    def install(self):
        root = os.path.join(self.scratch, "deb-root")
        os.makedirs(os.path.join(root, "var/lib/dpkg/info"))
        os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
        open(os.path.join(root, "var/lib/dpkg/status"), "w", encoding="ascii").close()
        dpkg = ["dpkg", f"--root={root}", f"--log={self.scratch}/log",
                "--force-architecture", "--force-bad-path"]
        run(*dpkg, "--install", self.path)
        starts_alone(root, self.version)
        check(not run(*dpkg, "--verify", "aclguard"), "what is installed is not as packed")
        run(*dpkg, "--purge", "aclguard")
        left = {path for path in files(root) if not path.startswith("var/lib/dpkg/")}
        check(not left, f"left behind: {sorted(left)}")
        check(not os.path.exists(os.path.join(root, "usr")), "left behind: folders")


class Rpm:
    def __init__(self, scratch):
        self.scratch = scratch
        self.version, self.release = source_version()
        self.path = self.source = None

    def build(self):
        self.source = self.path = None
        self.source, self.path = sorted(path for path in make("rpm") if path.endswith(".rpm"))

    def again(self):
        before = digest(self.path), digest(self.source)
        shutil.rmtree(os.path.join(BUILD, "stripped"))
        self.build()
        check((digest(self.path), digest(self.source)) == before,
              "the second package differs from the first")

    def query(self, what, path=None):
        return run("rpm", f"--dbpath={self.scratch}/no-rpms", "-qp", "--qf", what,
                   path or self.path)

    def content(self):
        tree = os.path.join(self.scratch, "rpm")
        os.mkdir(tree)
        run("sh", "-c", "rpm2archive - <\"$1\" | tar -C \"$2\" -xzp", "sh", self.path, tree)
        _, arch = check_tree(tree, RPM)
        check(self.query("%{ARCH}") == arch, "ARCH: " + self.query("%{ARCH}"))
        check(self.query("%{VERSION}-%{RELEASE}") == f"{self.version}-{self.release}",
              "VERSION-RELEASE: " + self.query("%{VERSION}-%{RELEASE}"))
        needs = {need for need in self.query("[%{REQUIRENAME}\n]").split()
                 if not need.startswith("rpmlib(")}
        check(not needs, f"REQUIRES: {needs}")
        owners = set(self.query("[%{FILEUSERNAME}/%{FILEGROUPNAME}\n]").split())
        check(owners == {"root/root"}, f"owners: {owners}")
        check(self.query("%{PAYLOADCOMPRESSOR}") == "gzip", "not compressed by gzip")

    def sources(self):
        """The source package asks for what the build asks for, and holds the tarball."""
        names = set(self.query("[%{FILENAMES}\n]", self.source).split())
        check(names == {"aclguard.spec", f"aclguard-{self.version}.tar.gz"}, f"files: {names}")
        needs = self.query("[%{REQUIRENAME}\n]", self.source).split()
        check("clang" in needs and "pkgconfig(libbpf)" in needs, f"REQUIRES: {needs}")

    def install(self):
        root = os.path.join(self.scratch, "rpm-root")
        os.mkdir(root)
        rpm = ["rpm", f"--root={root}", "--dbpath=/var/lib/rpm"]
        run(*rpm, "--initdb")
        before = files(root)
        # Debian's rpm wants to be told that it is meant.
        force = ["--force-debian"] if os.path.exists("/etc/debian_version") else []
        run(*rpm, *force, "-i", self.path)
        starts_alone(root, self.version)
        run(*rpm, "-V", "aclguard")
        run(*rpm, "-e", "aclguard")
        left = {path for path in files(root) - before if not path.startswith("var/lib/rpm/")}
        check(not left, f"left behind: {sorted(left)}")
        left = [name for name in ("aclguard", "licenses/aclguard", "doc/aclguard")
                if os.path.exists(os.path.join(root, "usr/share", name))]
        check(not left, f"left behind: {left}")


def built(package, action):
    """The action, which needs the package."""
    def checked():
        check(package.path, "there is no package")
        action()
    return checked


class Tap:
    def __init__(self):
        self.n = 0
        self.unavailable = None

    def result(self, name, action, skip=None):
        self.n += 1
        skip = skip or self.unavailable
        if skip:
            print(f"ok {self.n} - {name} # SKIP {skip}", flush=True)
            return
        try:
            action()
            print(f"ok {self.n} - {name}", flush=True)
        except Unavailable:
            self.unavailable = "the static program's libraries cannot be fetched"
            print(f"ok {self.n} - {name} # SKIP {self.unavailable}", flush=True)
        except Exception as error:      # pylint: disable=broad-exception-caught
            what = str(error) if isinstance(error, RuntimeError) else repr(error)
            print("#", what.replace("\n", "\n# "))
            print(f"not ok {self.n} - {name}", flush=True)


def main():
    print("# tap-timeout: 900", flush=True)     # the static program may have to be built
    tap = Tap()
    no_root = "needs root" if os.geteuid() else None
    tap.result("one version everywhere", check_versions)
    with tempfile.TemporaryDirectory() as scratch:
        deb, rpm = Deb(scratch), Rpm(scratch)
        missing = None if shutil.which("dpkg-deb") else "no dpkg-deb"
        tap.result("make deb", deb.build, missing)
        tap.result("the deb holds what it should", built(deb, deb.content), missing)
        tap.result("the deb is the same when it is made again", built(deb, deb.again), missing)
        tap.result("the deb is installed, starts alone, and is removed", built(deb, deb.install),
                   missing or no_root)
        missing = None if shutil.which("rpmbuild") else "no rpmbuild"
        tap.result("make rpm", rpm.build, missing)
        tap.result("the rpm holds what it should", built(rpm, rpm.content), missing)
        tap.result("the source rpm holds what it should", built(rpm, rpm.sources), missing)
        tap.result("the rpm is the same when it is made again", built(rpm, rpm.again), missing)
        tap.result("the rpm is installed, starts alone, and is removed", built(rpm, rpm.install),
                   missing or no_root)
    print(f"1..{tap.n}")


if __name__ == "__main__":
    sys.exit(main())
