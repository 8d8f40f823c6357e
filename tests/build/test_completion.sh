#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What bash offers for a command line that is being typed.

# shellcheck disable=SC2046,SC2086	# lists of words are split on purpose

: "${BUILD:=$PWD/build}" "${ACLGUARD:=$BUILD/aclguard}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
touch "$scratch/a recording" "$scratch/a report"
mkfifo "$scratch/other"

compopt() { :; }	# works only while bash itself completes
set -u			# some have it in their shells
# shellcheck source=/dev/null
source deploy/bash-completion/aclguard || exit 1

# Sets OFFERED for a command line whose last word is being typed; "=" is a word of
# its own, as it is for bash.
offer() {	# WORD...
	local word
	COMP_WORDS=(aclguard)
	for word; do
		if [[ $word == --*=* ]]; then
			COMP_WORDS+=("${word%%=*}" "=")
			[[ $word == *= ]] || COMP_WORDS+=("${word#*=}")
		else
			COMP_WORDS+=("$word")
		fi
	done
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_aclguard "$ACLGUARD" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	OFFERED=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
}

n=0
result() {	# NAME, with the status of the command before
	local status=$? line
	n=$((n + 1))
	if ((status)); then
		while IFS= read -r line; do
			echo "# offered: $line"
		done <<<"$OFFERED"
		echo "not ok $n - $1"
	else
		echo "ok $n - $1"
	fi
}

exactly() {	# WORD...
	[[ $OFFERED == "$(printf '%s\n' "$@" | LC_ALL=C sort)" ]]
}

among() {
	grep -qxF -e "$1" <<<"$OFFERED"
}

all_rules=$("$ACLGUARD" --help | sed -n '/^Rules:/,$s/^  \([a-z-]*\)  .*/\1/p')

offer ''
among run && among watch && among record && among replay && among export && among doctor && among --version
result 'the commands'
offer re
exactly record replay
result 'commands that begin so'

for command in run watch record replay export doctor control; do
	offer $command --
	exactly $("$ACLGUARD" $command --help | sed -n 's/^ .\{5\}\(--[a-z.-]*=\{0,1\}\).*/\1/p')
	result "$command: all options of its help"
done

offer run --rule=
exactly $all_rules
result 'the rules'
offer run --rule=event-d
exactly event-double-destroy
result 'a rule that begins so'
offer run --rule event-d
exactly event-double-destroy
result 'the same, without ='
offer run --rule=-host
exactly -host-leak
result 'all but a rule'
offer run --rule=-host-leak,-event-l
exactly -host-leak,-event-leak
result 'the second of a list'
offer replay --rule=double-free,
! grep -qx 'double-free,double-free' <<<"$OFFERED" && among double-free,free-failed
result 'none twice'

offer run --stacks=
exactly $("$ACLGUARD" run --help | tr -s '\n ' ' ' | grep -o -- '--stacks=HOW.*(default)' |
	sed 's/(default).*//' | grep -o '[a-z]*:' | tr -d :)
result 'what --stacks takes by its help'
offer run --output="$scratch/a"
exactly "$scratch/a recording" "$scratch/a report"
result 'files, with blanks in their names'
offer record -o "$scratch/a rec"
exactly "$scratch/a recording"
result 'a file after -o'
offer replay "$scratch/a rec"
exactly "$scratch/a recording"
result 'a file to replay'

offer watch -p ''
among $$
result 'process ids'
offer watch --pid=$$,1
among $$,1
result 'a second process id'

offer watch --all --uid=
among "$(id -u)"
result 'users'
offer watch --all --comm=bas
among bash
result 'names of processes'
offer watch --all --container ''
exactly ''
result 'nothing where nothing is known'

offer export --textfile "$scratch/../"
among "$scratch/../${scratch##*/}"
result 'folders'

offer run ech
among echo
result 'programs'
offer run --stacks fp --json -- ech
among echo
result 'programs after options and --'
offer run --rule=double-free echo --js
! among --json
result "none of ours among the program's options"
offer record -o x echo "$scratch/oth"
exactly "$scratch/other"
result "the program's arguments"
offer run --output "$scratch/a"
exactly "$scratch/a recording" "$scratch/a report"
result "a value is no program"
echo "1..$n"
