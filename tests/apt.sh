# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
#
# An apt of one's own, to be sourced: packages of other releases and other machines,
# while the sources and lists of this system stay as they are.

# apt_sources SUITE...: lines for a sources.list, with the mirror that this machine
# uses for its own release; without security and updates where it uses none of those.
# Fails where it has no mirror.
apt_sources() {
	# shellcheck disable=SC2016	# apt expands these, not the shell
	apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
	awk -v suites="$*" -v keyring=/usr/share/keyrings/debian-archive-keyring.gpg '
	# the sources of others have other names
	$2 ~ /^(bullseye|bookworm|trixie|forky|sid)(-backports)?$/ && !main { main = $1 }
	$2 ~ /-updates$/ && !updates { updates = $1 }
	$2 ~ /-security$/ && !security { security = $1 }
	END {
		if (!main)
			exit 1
		if ((getline line < keyring) >= 0)
			signed = "[signed-by=" keyring "] "
		n = split(suites, suite, " ")
		for (i = 1; i <= n; i++) {
			uri = suite[i] ~ /-security$/ ? security : suite[i] ~ /-updates$/ ? updates : main
			if (uri)
				print "deb " signed uri, suite[i], "main"
		}
	}'
}

# apt_state DIR: makes an apt state in DIR, which has the file sources.list already;
# the rest of apt's settings is on standard input.  Then: APT_CONFIG=DIR/apt.conf apt-get ...
apt_state() {
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/preferences.d" &&
	chmod -R a+rX "$1" &&		# apt fetches as a user of its own
	{
		cat <<-END
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State::lists "$1/lists";
		Dir::Cache "$1/cache";
		END
		cat
	} >"$1/apt.conf"
}

# apt_state_foreign DIR ARCH: the same, as if nothing were installed, on the Debian
# architecture ARCH.  For downloads; needs no root.
apt_state_foreign() {
	apt_state "$1" <<-END
	Dir::Etc::preferences "-";
	Dir::Etc::preferencesparts "$1/preferences.d";
	Dir::State "$1";
	Dir::State::status "$1/status";
	APT::Architecture "$2";
	APT::Architectures "$2";
	APT::Install-Recommends "false";
	Acquire::Languages "none";
	Acquire::Retries "3";
	END
	[ -e "$1/status" ] || : >"$1/status"
}
