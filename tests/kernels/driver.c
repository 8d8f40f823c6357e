/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Starts the programs of a plan one after the other, for `aclguard record` to
 * follow: lines of RACE PROGRAM ARGUMENT... on stdin.  PROGRAM is a file in the
 * folder that is the first argument; a program has as many seconds as the second
 * one says.  What does not end well is told on stderr.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 16

static int split(char *line, char **words)
{
	int n = 0;

	for (char *word = strtok(line, " \n"); word && n < WORDS_MAX; word = strtok(NULL, " \n"))
		words[n++] = word;
	words[n] = NULL;
	return n;
}

static int run(char **words, const char *folder, unsigned int seconds)
{
	char path[512];
	int status = 0;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", folder, words[1]);
	pid = fork();
	if (!pid) {
		setenv("ACLSIM_RACE", words[0], 1);
		alarm(seconds);
		words[1] = path;
		execv(path, words + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

int main(int argc, char **argv)
{
	char line[512], *words[WORDS_MAX + 1];

	if (argc != 3)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		int status;

		if (split(line, words) < 2)
			continue;
		status = run(words, argv[1], (unsigned int)atoi(argv[2]));
		if (status)
			fprintf(stderr, "%s: wait status %#x\n", words[1], (unsigned int)status);
	}
	return 0;
}
