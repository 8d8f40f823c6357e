#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Installs what building and testing aclguard needs, where that is missing.
#
#	tests/deps.sh [build] [test] [lint] [packages]	(default: all four)
#	tests/deps.sh fleet		what make check-fleet needs besides
#	tests/deps.sh cross-arm64 | cross-amd64		what builds for a machine of the other kind
#	tests/deps.sh --libraries	only names the libraries' Debian packages
#
# Silent, and without a look at the network, when nothing is missing.  Installs
# on Debian 12 and later, as root; elsewhere it says what is needed and fails.
# What is missing is found by looking for the thing itself, not for the package
# it usually comes in, so a compiler from another source is as good.

set -u

# shellcheck source=tests/apt.sh
. "$(dirname "$0")/apt.sh"

# group  kind  what (for libraries: pkg-config name and least version)  Debian package  openEuler, Fedora packages
needs() {
	cat <<-'END'
	build  cmd   make                make              make
	build  cmd   gcc                 gcc               gcc
	build  file  stdio.h             libc6-dev         glibc-devel
	build  file  linux/bpf.h         linux-libc-dev    kernel-headers
	build  cmd   clang               clang             clang
	build  cmd   llvm-strip          llvm              llvm
	build  cmd   bpftool             bpftool           bpftool
	build  cmd   pkg-config          pkg-config        pkgconf-pkg-config
	build  lib   libbpf>=1.3         libbpf-dev        libbpf-devel,libbpf-static
	build  lib   libelf>=0.180       libelf-dev        elfutils-libelf-devel
	build  lib   libdw>=0.180        libdw-dev         elfutils-devel
	build  lib   zlib                zlib1g-dev        zlib-devel
	build  lib   json-c>=0.13        libjson-c-dev     json-c-devel
	build  file  uthash.h            uthash-dev        uthash-devel
	build  lib   libcap-ng           libcap-ng-dev     libcap-ng-devel
	build  lib   libseccomp          libseccomp-dev    libseccomp-devel
	build  lib   libmicrohttpd>=0.9.73 libmicrohttpd-dev libmicrohttpd-devel
	build  lib   gnutls>=3.6.4       libgnutls28-dev   gnutls-devel
	build  lib   yaml-0.1            libyaml-dev       libyaml-devel
	build  lib   libcrypt>=4.3       libcrypt-dev      libxcrypt-devel
	test   lib   cmocka>=1.1.5       libcmocka-dev     libcmocka-devel
	test   rt    fuzzer              libclang-rt-dev   compiler-rt
	test   cmd   python3             python3           python3
	test   cmd   gdb                 gdb               gdb
	test   cmd   dwz                 dwz               dwz
	test   cmd   objcopy             binutils          binutils
	test   so    libdebuginfod.so.1  libdebuginfod1    elfutils-debuginfod-client
	test   cmd   qemu-system-x86_64  qemu-system-x86   qemu-system-x86
	test   cmd   qemu-system-aarch64 qemu-system-arm   qemu-system-aarch64
	test   py    yaml                python3-yaml      python3-pyyaml
	test   py    kubernetes          python3-kubernetes python3-kubernetes
	test   cmd   promtool            prometheus        golang-github-prometheus
	test   cmd   systemd-analyze     systemd           systemd
	lint   cmd   yamllint            yamllint          yamllint
	lint   cmd   clang-format        clang-format      clang-tools-extra
	lint   cmd   clang-tidy          clang-tidy        clang-tools-extra
	lint   cmd   cppcheck            cppcheck          cppcheck
	packages cmd dpkg-deb            dpkg              dpkg
	packages cmd rpmbuild            rpm               rpm-build
	packages cmd groff               groff-base        groff
	packages cmd mandoc              mandoc            mandoc
	packages cmd debootstrap         debootstrap       debootstrap
	fleet  cmd   prometheus          prometheus        golang-github-prometheus
	fleet  cmd   prometheus-alertmanager prometheus-alertmanager golang-github-prometheus-alertmanager
	cross-arm64 cmd aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu
	cross-amd64 cmd x86_64-linux-gnu-gcc gcc-x86-64-linux-gnu gcc-x86_64-linux-gnu
	END
}

have() {
	case $1 in
	cmd)	# bpftool is in sbin, which an ordinary user's PATH lacks
		PATH=$PATH:/usr/sbin:/sbin command -v "$2" >/dev/null ;;
	file)	[ -e "/usr/include/$2" ] ;;
	so)	# what a program opens when it wants it
		for lib in /usr/lib*/"$2" /usr/lib/*/"$2"; do [ -e "$lib" ] && return; done
		return 1 ;;
	py)	# a module of Python's; Debian's serve another Python, too (tests/checks.py)
		python3 -c "import sys; sys.path.append('/usr/lib/python3/dist-packages'); import $2" 2>/dev/null ;;
	rt)	# clang's own libraries: sanitizers, the fuzzer
		[ -e "$(dirname "$(clang --print-libgcc-file-name --rtlib=compiler-rt 2>/dev/null)")/libclang_rt.$2-$(uname -m).a" ] ;;
	lib)	pkg-config --exists "$(echo "$2" | sed 's/>=/ >= /')" 2>/dev/null || return 1
		# libbpf is linked statically, and its static half may be a package of its own
		case $2 in
		libbpf*) [ -e "$(pkg-config --variable=libdir libbpf)/libbpf.a" ] ;;
		esac ;;
	esac
}

# Prints the rows of the wanted groups that are not there.
missing() {
	needs | while read -r group kind what deb rpm; do
		case " $groups " in
		*" $group "*) have "$kind" "$what" || echo "$what $deb $rpm" ;;
		esac
	done
}

column() {	# NUMBER: that column of the rows in $rows, each name once, on one line
	echo "$rows" | cut -d' ' -f"$1" | tr , '\n' | awk '!seen[$0]++' | paste -sd' ' -
}

say() {
	echo "deps: $*" >&2
}

# Runs a command, a few times if need be (mirrors fail now and then), or only prints it.
run() {
	if [ "$dry" ]; then
		echo "    $*"
		return 0
	fi
	for pause in 2 10 0; do
		"$@" </dev/null && return 0
		[ "$pause" = 0 ] && break
		say "failed, trying again: $*"
		sleep "$pause"
	done
	say "failed: $*"
	return 1
}

apt() {
	run env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 \
		-o DPkg::Lock::Timeout=300 "$@"
}

apt_install() {
	apt -y --no-install-recommends install "$@"
}

# Debian 12's own libbpf is too old, and its own qemu breaks kernels that patch their
# code on two CPUs; its backports have some that do not.  They are
# read by an apt state of its own, so that the machine's sources stay as they are.
# libelf-dev and libdw-dev come along: libbpf-dev from there brings a newer libelf,
# beside which the release's own libdw-dev can no longer be installed.
install_backports() {
	state=$(mktemp -d) || return 1
	# shellcheck disable=SC2064	# now: it is this folder
	trap "rm -rf '$state'" EXIT
	trap 'exit 1' HUP INT TERM
	apt_sources bookworm-backports bookworm bookworm-updates bookworm-security \
		>"$state/sources.list"
	if ! [ -s "$state/sources.list" ]; then
		say "apt knows no mirror of bookworm: run 'apt-get update', or add one to its sources"
		return 1
	fi

	if [ "$dry" ]; then
		echo "  and, with this line among apt's sources for as long as it takes:"
		echo "    $(head -n 1 "$state/sources.list")"
		apt update
		apt_install -t bookworm-backports "$@"
		return
	fi
	apt_state "$state" </dev/null || return 1
	(
		export APT_CONFIG="$state/apt.conf"
		apt update && apt_install -t bookworm-backports "$@"
	)
}

# shellcheck disable=SC2086	# the lists of names are split on purpose
install_debian() {
	packages=$(column 2)
	backports=
	if [ "${version%%.*}" = 12 ]; then
		backports=$(echo "$packages" | tr ' ' '\n' |
			    grep -xE 'libbpf-dev|qemu-system-(x86|arm)' | paste -sd' ' -)
		case " $backports " in
		*' libbpf-dev '*) backports="$backports libelf-dev libdw-dev" ;;
		esac
		packages=$(echo "$packages" | tr ' ' '\n' |
			   grep -vxF "$(echo "$backports" | tr ' ' '\n')" | paste -sd' ' -)
	fi
	[ "$dry" ] || say "installing: $packages $backports"
	apt update || return 1
	if [ "$packages" ]; then
		apt_install $packages || return 1
	fi
	if [ "$backports" ]; then
		install_backports $backports || return 1
	fi
}

if [ "$*" = --libraries ]; then
	needs | awk '($1 == "build" || $1 == "test") && $2 ~ /^(lib|file)$/ { print $4 }'
	exit
fi

groups=${*:-build test lint packages}
rows=$(missing)
[ "$rows" ] || exit 0

ID=unknown VERSION_ID=
# shellcheck disable=SC1091
[ -r /etc/os-release ] && . /etc/os-release
version=${VERSION_ID:-99}	# Debian testing and unstable have none

say "missing: $(column 1)"
dry=
if [ "$ID" = debian ] && [ "${version%%.*}" -ge 12 ]; then
	if [ "$(id -u)" != 0 ]; then
		dry=1
		say "not root: run 'make deps' as root, which does this:"
		install_debian
		exit 1
	fi
	install_debian || exit 1
	rows=$(missing)
	[ "$rows" ] || exit 0
	say "still missing after the installation: $(column 1)"
	exit 1
fi

say "this script installs on Debian 12 and later only, this is '${PRETTY_NAME:-$ID}'."
if command -v dnf >/dev/null; then
	say "as root: dnf install $(column 3)"
else
	say "the names on openEuler and Fedora: $(column 3)"
	say "the names on Debian: $(column 2)"
fi
say "least versions: clang 12, bpftool 6, libbpf 1.3 with libbpf.a, elfutils 0.180, json-c 0.13, libmicrohttpd 0.9.73, gnutls 3.6.4, cmocka 1.1.5"
exit 1
