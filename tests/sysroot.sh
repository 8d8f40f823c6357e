#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makes a sysroot: the C library and our libraries, headers and archives of one
# architecture, unpacked from Debian's packages.  For builds for another machine,
# and for static ones: the archives of the installed elfutils may be incomplete.
#
#	tests/sysroot.sh amd64|arm64 DIR CACHE
#
# Needs no root and installs nothing.  What is downloaded stays in CACHE.  Fails
# with 75 where packages cannot be had: that may be the network's fault.

set -u

# shellcheck source=tests/apt.sh
. "$(dirname "$0")/apt.sh"

say() {
	echo "sysroot: $*" >&2
}

die() {	# STATUS TEXT
	status=$1
	shift
	say "$*"
	exit "$status"
}

[ $# = 3 ] || die 2 "usage: $0 amd64|arm64 DIR CACHE"
arch=$1
dir=$2
mkdir -p "$3" && cache=$(cd "$3" && pwd) || exit 1
exec 9>"$cache/apt-$arch.lock" && flock 9 || exit 1	# others wait

ID=unknown
# shellcheck disable=SC1091
[ -r /etc/os-release ] && . /etc/os-release
[ "$ID" = debian ] ||
	die 1 "made on Debian only; elsewhere name one of your own: make SYSROOT=DIR (or none: SYSROOT=)"

# The same everywhere, and old: what is built runs with newer libraries, too.  libbpf as
# in deps.sh; the rest is what libdw.a and libgnutls.a need.  elfutils stays that of the release: the
# archives of 0.192, in the backports and in Debian 13, lack eu_search_tree_init().
suites="bookworm bookworm-updates bookworm-security bookworm-backports"
packages="$(sh "$(dirname "$0")/deps.sh" --libraries | sed 's,^libbpf-dev$,&/bookworm-backports,')
	libbz2-dev liblzma-dev libunistring-dev libgmp-dev"

state=$cache/apt-$arch
mkdir -p "$state" || exit 1
# shellcheck disable=SC2086	# the names are split on purpose
apt_sources $suites >"$state/sources.list" ||
	die 75 "apt knows no mirror of Debian: run 'apt-get update', or add one to its sources"
apt_state_foreign "$state" "$arch" || exit 1

mkdir -p "$state/none/partial" || exit 1
export APT_CONFIG="$state/apt.conf"

# Gets the lists of packages if they are older than a day.  Old ones may do.
update() {
	[ "$(find "$state/updated" -mmin -1440 2>/dev/null)" ] && return
	apt-get -qq -o APT::Update::Error-Mode=any update && : >"$state/updated"
}

# What to unpack (as if none of it were in the cache), and what of it is not there yet.
# shellcheck disable=SC2086	# the names are split on purpose
fetch() {
	update
	apt-get -qq -y -o Dir::Cache::archives="$state/none" --print-uris install $packages |
		cut -d' ' -f2 >"$state/wanted" && [ -s "$state/wanted" ] &&
	apt-get -qq -y --download-only install $packages >/dev/null
}

for pause in 2 10 0; do
	fetch </dev/null && break
	# shellcheck disable=SC2086
	[ "$pause" = 0 ] && die 75 "cannot fetch:" $packages
	say 'failed, trying again'
	rm -f "$state/updated"
	sleep "$pause"
done

rm -rf "$dir.new"
mkdir -p "$dir.new" || exit 1
while read -r deb; do
	dpkg-deb -x "$state/cache/archives/$deb" "$dir.new" || die 1 "cannot unpack $deb"
done <"$state/wanted"

# Links to absolute names lead out of it.
find "$dir.new" -type l -lname '/*' | while read -r link; do
	target=$(realpath -m --relative-to="$(dirname "$link")" "$dir.new$(readlink "$link")") &&
	ln -snf "$target" "$link" || exit 1
done || exit 1

rm -rf "$dir"
mv "$dir.new" "$dir"
