/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Own figures, from /proc/self and the clocks. */
#define _GNU_SOURCE
#include "selfstat.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Fields 22 to 24 of stat, behind a name that may hold anything: start, size, pages. */
static void read_stat(struct selfstat *s)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), start, pages, age;
	FILE *f = fopen("/proc/self/stat", "re");
	char buf[1024];
	const char *at;
	size_t n;

	if (!f)
		return;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	at = strrchr(buf, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			  "%*s %*s %" SCNu64 " %" SCNu64 " %" SCNu64,
			  &start, &s->vsize, &pages) != 3)
		return;
	s->rss = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	age = clock_ns(CLOCK_BOOTTIME) - start * (1000000000 / ticks);
	s->start_ns = clock_ns(CLOCK_REALTIME) - age;
}

static uint64_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	uint64_t n = 0;

	if (!dir)
		return 0;
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n - 1; /* that of the folder */
}

void selfstat__read(struct selfstat *s)
{
	struct rlimit lim;

	memset(s, 0, sizeof(*s));
	s->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	read_stat(s);
	s->open_fds = count_fds();
	if (!getrlimit(RLIMIT_NOFILE, &lim))
		s->max_fds = lim.rlim_cur;
}
