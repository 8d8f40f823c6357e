#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The steps of `make lint` as TAP.  LINT_STEPS names the wanted ones; clang-tidy is not
# among the default ones, for it takes minutes where it has not looked before.

echo '# tap-timeout: 1200'

: "${BUILD:=$PWD/build}" "${LINT_STEPS:=format cppcheck}"
# shellcheck disable=SC2086	# a list
set -- $LINT_STEPS
echo "1..$#"
n=0
for step; do
	n=$((n + 1))
	case $step in
	format)	tool=clang-format ;;
	tidy)	tool=clang-tidy ;;
	*)	tool=$step ;;
	esac
	if ! command -v "$tool" >/dev/null; then
		echo "ok $n - lint: $step # SKIP no $tool"
	elif [ "$step" = format ] && ! clang-format --version | grep -q 'version 14\.'; then
		# Versions disagree about details; .clang-format is written for one.
		echo "ok $n - lint: $step # SKIP not clang-format 14"
	elif said=$(make -k -j"$(nproc)" BUILD="$BUILD" "lint-$step" 2>&1); then
		echo "ok $n - lint: $step"
	else
		echo "$said" | sed 's/^/# /'
		echo "not ok $n - lint: $step"
	fi
done
