#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Installs each package into a fresh Debian, uses what it brought, removes it, and
# looks for what is left; `make check-packages', root.
#
# SUITES names the releases, this machine's own by default.  On another one the
# scenario, which is not static, may find its libc too old and is then skipped.
# The systems are kept in CACHE, so only the first run needs a mirror.  SKIP_BPF=1
# leaves out what needs BPF.

# In a mount namespace of its own, so that no mount outlives this script.
if [ -z "$CHECK_PACKAGES_UNSHARED" ]; then
	CHECK_PACKAGES_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi

echo '# tap-timeout: 1800'

: "${BUILD:=$PWD/build}" "${CACHE:=$BUILD/cache}" "${SKIP_BPF:=}"
# shellcheck source=/dev/null
: "${SUITES:=$(. /etc/os-release && echo "$VERSION_CODENAME")}"
# shellcheck source=tests/apt.sh
. tests/apt.sh

arch=$(dpkg --print-architecture)
work=$(mktemp -d "$BUILD/check-packages.XXXXXX") || exit 1
root=$work/root
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

newest() {	# NAME..., of which there may be several versions
	# shellcheck disable=SC2012	# no such characters in them
	ls -t "$@" | head -n 1
}
deb=$(newest "$BUILD"/packages/aclguard_*_"$arch".deb)
rpm=$(newest "$BUILD"/packages/aclguard-*."$(uname -m)".rpm)
tarball=$(newest "$BUILD"/packages/aclguard-*.tar.gz)

unmount() {
	umount -l "$root/proc" "$root/sys" 2>/dev/null
}

cleanup() {
	unmount
	rm -rf --one-file-system "$work"
}

n=0
result() {	# NAME COMMAND...
	local name=$1 said
	shift
	n=$((n + 1))
	if said=$("$@" 2>&1); then
		echo "ok $n - $name"
	else
		echo "exit status $?" | sed 's/^/# /'
		tail -n 40 <<<"$said" | sed 's/^/# /'
		echo "not ok $n - $name"
	fi
}

skip() {	# NAME WHY
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# Runs a command in the system, as a login there would.
inside() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# ---- the system -------------------------------------------------------------

bootstrap() {	# SUITE TARBALL
	local mirror
	mirror=$(apt_sources "$1" | grep -o '[a-z]*://[^ ]*') || {
		echo "apt knows no mirror of Debian"
		return 1
	}
	debootstrap --variant=minbase --include=man-db,bash-completion "$1" "$root" "$mirror" &&
		tar -C "$root" --numeric-owner -c . | gzip -1 >"$2.part" && mv "$2.part" "$2"
}

fresh_system() {	# SUITE
	local tarball=$CACHE/chroot-$1-$arch.tar.gz
	unmount
	rm -rf --one-file-system "$root"
	mkdir -p "$root" "$CACHE"
	if [ -e "$tarball" ]; then
		tar -C "$root" --numeric-owner -xpf "$tarball" || return 1
	else
		bootstrap "$1" "$tarball" || return 1
	fi
	mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" || return 1
	mkdir -p "$root/opt/sim"
	cp "$BUILD/sim/mono/libascendcl.so" "$BUILD/scenarios/ascendcl/pcd_order" \
		tests/fuzz/seeds/recording/in_flight "$root/opt/sim"
}

# All that is there, but for what package managers and man keep of their own.
inventory() {
	find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/lib/rpm" \
		-o -path "$root/var/lib/apt" -o -path "$root/var/log" -o -path "$root/var/cache" \
		-o -path "$root/tmp" \) -prune -o -printf '%P %y %m %U:%G %l\n' | LC_ALL=C sort
}

# ---- what a package brings --------------------------------------------------

starts() {
	inside aclguard --version | grep -q '^aclguard [0-9]'
}

replays() {	# as nobody: that needs no rights
	inside chroot --userspec=nobody:nogroup / /usr/bin/aclguard replay /opt/sim/in_flight |
		grep 'ERROR #1 free-in-flight'
}

has_manual() {
	local page
	for page in aclguard aclguard-run aclguard-watch aclguard-export aclguard-record \
		aclguard-replay aclguard-doctor aclguard-control; do
		inside man -w "$page" && inside man -P cat "$page" | grep -q 'EXIT STATUS' || return 1
	done
	inside man -P cat aclguard-run | grep -e '--error-exitcode=N'
}

# What a node and a fleet need is there, and nothing of it is started at the next boot.
has_fleet() {
	inside test -e /usr/lib/systemd/system/aclguard.service &&
		inside grep -q '^ExecStart=/usr/bin/aclguard export ' \
			/usr/lib/systemd/system/aclguard.service &&
		! inside find /etc/systemd /lib/systemd/system -name aclguard.service -path '*.wants/*' |
			grep . &&
		inside test -e /usr/share/aclguard/prometheus/alerts.yml \
			-a -e /usr/share/aclguard/kubernetes/prometheusrule.yaml \
			-a -e /usr/share/aclguard/grafana/aclguard.json
}

# As bash-completion does when the command is first completed.
completes() {
	# shellcheck disable=SC2016	# for the shell inside
	inside bash -c '
		. /usr/share/bash-completion/bash_completion
		if declare -F _comp_load; then _comp_load aclguard; else _completion_loader aclguard; fi
		complete -p aclguard
		COMP_WORDS=(aclguard run --err) COMP_CWORD=2 COMP_LINE="aclguard run --err"
		_aclguard aclguard --err run
		[ "${COMPREPLY[*]}" = --error-exitcode= ]'
}

catches() {
	local status
	inside env LD_LIBRARY_PATH=/opt/sim ACLSIM_RACE=certain \
		aclguard run --error-exitcode=9 -- /opt/sim/pcd_order 1 2>"$work/said"
	status=$?
	cat "$work/said"
	[ $status = 9 ] && grep -q 'ERROR #1 free-before-destroy' "$work/said"
}

same_inventory() {
	inventory | diff "$work/before" -
}

use() {	# WHICH
	result "$1: the program starts" starts
	result "$1: it replays a recording, as nobody" replays
	result "$1: the manual is there" has_manual
	result "$1: bash completes" completes
	result "$1: unit, rules, dashboard and manifests are there" has_fleet
	if [ -n "$SKIP_BPF" ]; then
		skip "$1: it catches a violation" 'SKIP_BPF'
	elif ! inside env LD_LIBRARY_PATH=/opt/sim /opt/sim/pcd_order 1 >/dev/null 2>&1; then
		skip "$1: it catches a violation" 'the scenario does not run on this release'
	else
		result "$1: it catches a violation" catches
	fi
}

# ---- the packages -----------------------------------------------------------

check_deb() {	# SUITE
	result "deb, $1: a fresh system" fresh_system "$1"
	inventory >"$work/before"
	cp "$deb" "$root/tmp/aclguard.deb"
	# Not even a list of packages is there, so apt could fetch nothing.
	result "deb, $1: apt installs it" inside apt-get install -y /tmp/aclguard.deb
	result "deb, $1: dpkg finds nothing changed" inside dpkg --verify aclguard
	use "deb, $1"
	result "deb, $1: apt purges it" inside apt-get purge -y aclguard
	result "deb, $1: nothing is left" same_inventory
}

in_root() {
	rpm --root="$root" --dbpath=/var/lib/rpm "$@"
}

check_rpm() {	# SUITE
	local force=
	# Debian's rpm wants to be told that it is meant.
	[ -e /etc/debian_version ] && force=--force-debian
	result "rpm, $1: a fresh system" fresh_system "$1"
	mkdir "$root/usr/share/licenses"	# openEuler has it, Debian does not
	result "rpm, $1: a database" in_root --initdb
	inventory >"$work/before"
	result "rpm, $1: rpm installs it" in_root $force -i "$rpm"
	result "rpm, $1: rpm finds nothing changed" in_root -V aclguard
	use "rpm, $1"
	result "rpm, $1: rpm erases it" in_root -e aclguard
	result "rpm, $1: nothing is left" same_inventory
}

# What a user of openEuler does with the tarball, here with Debian's libraries.
builds_from_source() {
	rpmbuild -ta --nodeps --define "_topdir $work/rpmbuild" \
		--define '_build_name_fmt %{NAME}.%{ARCH}.rpm' "$tarball" || return 1
	rpm -qlp "$work/rpmbuild/RPMS/aclguard.$(uname -m).rpm" | grep -x /usr/bin/aclguard &&
	rpm -qp --requires "$work/rpmbuild/RPMS/aclguard.$(uname -m).rpm" | grep libdw
}

for suite in $SUITES; do
	check_deb "$suite"
	check_rpm "$suite"
done
result 'rpmbuild makes one from the tarball' builds_from_source
echo "1..$n"
