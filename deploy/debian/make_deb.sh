#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makes a Debian package of a tree into which `make install' has installed:
#
#	make_deb.sh TREE VERSION ARCHITECTURE PACKAGE
#
# Adds to the tree what Debian wants in it.  Needs dpkg-deb alone as long as the
# program is linked statically; otherwise dpkg-shlibdeps tells what it depends on.

set -eu
umask 022

here=$(dirname "$0")
tree=$1 version=$2 arch=$3 package=$4
doc=$tree/usr/share/doc/aclguard

depends() {
	readelf -d "$tree/usr/bin/aclguard" | grep -q NEEDED || return 0
	work=$(mktemp -d)
	mkdir "$work/debian"
	printf 'Source: aclguard\n\nPackage: aclguard\nArchitecture: any\n' >"$work/debian/control"
	program=$(realpath "$tree/usr/bin/aclguard")
	(cd "$work" && dpkg-shlibdeps -O "$program") | sed -n 's/^shlibs:Depends=//p'
	rm -r "$work"
}

install -D -m 644 -t "$doc" "$here/copyright" "$here"/../../README*.md
gzip -9n <"$here/changelog" >"$doc/changelog.Debian.gz"
install -D -m 644 "$here/lintian-overrides" "$tree/usr/share/lintian/overrides/aclguard"
gzip -9n "$tree"/usr/share/man/man1/*.1 "$doc"/README*.md

mkdir -p "$tree/DEBIAN" "$(dirname "$package")"
(cd "$tree" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
maintainer=$(sed -n '/^ -- /{s/^ -- \(.*>\)  .*/\1/p;q}' "$here/changelog")
size=$(du -k --apparent-size -s "$tree/usr" | cut -f1)
# An empty field is no field.
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@MAINTAINER@/$maintainer/" \
	-e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$(depends)/" -e '/^Depends: $/d' \
	"$here/control" >"$tree/DEBIAN/control"

# xz: the dpkg of Debian 11 and 10 cannot unpack what Ubuntu's makes by default.
dpkg-deb --root-owner-group -Zxz --build "$tree" "$package" >/dev/null
