# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Gets Debian's kernels, and a busybox for the machine they run on, into a cache.

Packages of suites that this machine does not use are looked up and checked by apt, with a
state of its own, so that the machine's sources stay as they are.  The mirror is the one that
apt is configured for.  Nothing is installed: vmlinuz is taken out of the package.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

CACHE = os.path.join(os.path.abspath(os.environ.get("CACHE") or os.path.join(
    os.environ.get("BUILD") or "build", "cache")), "kernels")

APT_CONF = """\
Dir::Etc::sourcelist "{state}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::Lists "{state}/lists";
Dir::Cache "{state}/cache";
Dir::Cache::pkgcache "{state}/cache/pkgcache.bin";
Dir::Cache::srcpkgcache "{state}/cache/srcpkgcache.bin";
APT::Architectures "amd64,arm64";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::Check-Valid-Until "false";
"""


class Unavailable(Exception):
    """A package cannot be had."""


def run(*command, **how):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600, check=False, **how)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{command[0]}: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(f"{' '.join(command[:3])}: {said[-1] if said else done.returncode}")
    return done.stdout


def mirrors():
    """Where this machine gets its packages from, and its security updates."""
    ordinary = security = None
    for line in run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)",
                    "Created-By: Packages").splitlines():
        uri, _, release = line.partition(" ")
        if "security" in release:
            security = security or uri
        elif "-" not in release:
            ordinary = ordinary or uri
    if not ordinary:
        raise Unavailable("apt knows no mirror of Debian")
    return ordinary, security


class Apt:
    """An apt that knows other suites than the machine's."""

    def __init__(self, state, suites):
        ordinary, security = mirrors()
        self.state = state
        for folder in "lists/partial", "cache/archives/partial":
            os.makedirs(os.path.join(state, folder))
        with open(os.path.join(state, "sources.list"), "w", encoding="ascii") as file:
            for suite in suites:
                uri = security if suite.endswith("-security") else ordinary
                if uri:
                    file.write(f"deb {uri} {suite} main\n")
        conf = os.path.join(state, "apt.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(APT_CONF.format(state=state))
        self.env = {**os.environ, "APT_CONFIG": conf, "LC_ALL": "C"}
        run("apt-get", "-q", "update", env=self.env)

    def versions(self, package, suites):
        """Those in the suites, the newest first."""
        rows = [[cell.strip() for cell in line.split("|")] for line in
                run("apt-cache", "madison", package, env=self.env).splitlines()]
        return [row[1] for row in rows if re.search(r" (\S+)/main ", row[2])[1] in suites]

    def depends(self, package, version, pattern):
        """The dependency that matches, and its version."""
        said = run("apt-cache", "show", f"{package}={version}", env=self.env)
        depends = re.search(r"^Depends: (.*)$", said, re.M)
        for one in depends[1].split(",") if depends else ():
            if match := re.match(rf"\s*({pattern})(?: \(= (\S+)\))?", one):
                return match[1], match[2] or version
        return None

    def download(self, package, version=None):
        """The path of the package."""
        folder = tempfile.mkdtemp(dir=self.state)
        run("apt-get", "-q", "download", f"{package}={version}" if version else package,
            env=self.env, cwd=folder)
        name, = os.listdir(folder)
        return os.path.join(folder, name)


def extract(package, pattern, out):
    """The file of that name out of a package; False if there is none."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
            for member in tar:
                if member.isfile() and re.fullmatch(pattern, member.name):
                    with open(out + ".new", "wb") as file:
                        shutil.copyfileobj(tar.extractfile(member), file)
                        os.fchmod(file.fileno(), 0o755)
                    os.rename(out + ".new", out)
                    process.kill()
                    return True
    return False


def fetch_kernel(apt, meta, arch, suites, out):
    """The newest version that can be had: some are listed and gone."""
    why = f"no {meta} in {' '.join(suites)}"
    for version in apt.versions(f"{meta}:{arch}", suites):
        image = apt.depends(f"{meta}:{arch}", version, r"linux-image-\d\S*")
        try:
            while image:
                package = f"{image[0]}:{arch}"
                if extract(apt.download(package, image[1]),
                           r"\./(boot/vmlinuz-.*|usr/lib/modules/[^/]*/vmlinuz)", out):
                    return image[0]
                # newer ones keep it in a package of its own
                image = apt.depends(package, image[1], r"linux-binary-\d\S*")
        except Unavailable as reason:
            why = str(reason)
    raise Unavailable(why)


def fetch_busybox(apt, arch, suites):
    why = "no busybox-static"
    for version in apt.versions(f"busybox-static:{arch}", suites):
        try:
            extract(apt.download(f"busybox-static:{arch}", version), r"\./(usr/)?bin/busybox",
                    busybox(arch))
            return
        except Unavailable as reason:
            why = str(reason)
    raise Unavailable(why)


def busybox(arch):
    return os.path.join(CACHE, f"busybox-{arch}")


def vmlinuz(name):
    return os.path.join(CACHE, f"vmlinuz-{name}")


def fetch(kernels, log):
    """Gets what of {name: kernel}, with its package, arch and suites, is not there.

    Gives {name: reason} of those that cannot be had.
    """
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = {name: what for name, what in kernels.items()
                   if not os.path.exists(vmlinuz(name)) or not os.path.exists(busybox(what.arch))}
        if not missing:
            return {}
        log(f"fetching {' '.join(missing)}")
        state = tempfile.mkdtemp(prefix="apt-", dir=CACHE)
        try:
            return fetch_missing(state, missing)
        finally:
            shutil.rmtree(state, ignore_errors=True)


def fetch_missing(state, missing):
    failed = {}
    suites = dict.fromkeys(suite for what in missing.values() for suite in what.suites)
    try:
        apt = Apt(state, suites)
    except Unavailable as reason:
        return dict.fromkeys(missing, str(reason))
    for name, what in missing.items():
        arch = what.arch
        try:
            if not os.path.exists(busybox(arch)):
                fetch_busybox(apt, arch, suites)
            if not os.path.exists(vmlinuz(name)):
                package = fetch_kernel(apt, what.package, arch, what.suites, vmlinuz(name))
                with open(vmlinuz(name) + ".package", "w", encoding="ascii") as file:
                    file.write(package + "\n")
        except Unavailable as reason:
            failed[name] = str(reason)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(vmlinuz(name) + ".new")
    return failed
