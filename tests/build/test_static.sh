#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The static program, alone: in a root folder with nothing else in it but the kernel's
# filesystems, it starts, watches a program (whose own libraries are there), and replays.

echo '# tap-timeout: 600'
echo 1..6

: "${BUILD:=$PWD/build}"
root=$(mktemp -d) || exit 1
# Never through a mount: there is none outside the namespaces of inside().
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 1' HUP INT TERM

n=0
result() {	# STATUS NAME WHAT-WAS-SAID
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "$3" | sed 's/^/# /'
		echo "not ok $n - $2"
	fi
}

check() {	# NAME COMMAND...
	name=$1
	shift
	said=$("$@" 2>&1)
	result $? "$name" "$said"
}

skip_rest() {	# WHY
	while [ $n -lt 6 ]; do
		n=$((n + 1))
		echo "ok $n - the static program # SKIP $1"
	done
	exit 0
}

# Runs aclguard in the folder, where /proc and /sys are for as long as it takes.
inside() {
	# shellcheck disable=SC2016	# that shell expands these, not this one
	unshare -m sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" &&
		exec env LD_LIBRARY_PATH=/lib ACLSIM_RACE=certain chroot "$0" /aclguard "$@"' "$root" "$@"
}

wants_nothing() {
	readelf -lWd "$BUILD/static/aclguard" | { ! grep -E 'INTERP|NEEDED'; }
}

says() {	# PATTERN OPTION...
	pattern=$1
	shift
	said=$(inside "$@" 2>&1)
	echo "$said"
	echo "$said" | grep -q "$pattern"
}

said=$(make -j"$(nproc)" BUILD="$BUILD" static 2>&1)
status=$?
case $status$said in
[!0]*'Error 75'*) skip_rest 'its libraries cannot be fetched' ;;
esac
result $status 'make static' "$said"
check 'it wants no loader and no library' wants_nothing

if [ "${SKIP_BPF-}" = 1 ]; then
	skip_rest 'probes need root and BPF (SKIP_BPF=1)'
fi
mkdir "$root/proc" "$root/sys"
cp "$BUILD/static/aclguard" "$root"
check 'it starts where there is nothing else' says '^aclguard .* (static, left out: ' --version

# What the watched program needs, and nothing of it is for aclguard.
mkdir "$root/lib"
cp "$BUILD/scenarios/ascendcl/pcd_order" "$root"
export LD_LIBRARY_PATH="$BUILD/sim/mono"
ldd "$root/pcd_order" | grep -o '/[^ ]*' | while read -r lib; do
	case $lib in
	*/ld-linux-*)	mkdir -p "$root${lib%/*}" && cp "$lib" "$root$lib" ;;
	*)		cp "$lib" "$root/lib" ;;
	esac
done
unset LD_LIBRARY_PATH

report='ERROR #1 free-before-destroy: .* by pcd_order'
check 'it reports what a program does' says "$report" run -- /pcd_order 1
check 'it records' says 'nothing was lost' record -o /recording -- /pcd_order 1
check 'it replays' says "$report" replay /recording
