#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What `make install` puts below DESTDIR, and that `make uninstall` leaves nothing.

echo 1..5

: "${BUILD:=$PWD/build}"
dest=$(mktemp -d) || exit 1
trap 'rm -rf "$dest"' EXIT

n=0
check() {	# NAME COMMAND...
	name=$1
	shift
	n=$((n + 1))
	if said=$("$@" 2>&1); then
		echo "ok $n - $name"
	else
		echo "$said" | sed 's/^/# /'
		echo "not ok $n - $name"
	fi
}

empty() {
	find "$1" ! -type d | { ! grep .; }
}

check 'make install' make BUILD="$BUILD" DESTDIR="$dest" PREFIX=/usr install
check 'the program is the one that was built' cmp "${ACLGUARD:-$BUILD/aclguard}" "$dest/usr/bin/aclguard"
check 'it starts' "$dest/usr/bin/aclguard" --help
check 'make uninstall' make BUILD="$BUILD" DESTDIR="$dest" PREFIX=/usr uninstall
check 'nothing is left' empty "$dest"
