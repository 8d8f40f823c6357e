/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probing one process alone, and waiting for what becomes of it. */
#include "canary.h"

#include <errno.h>
#include <poll.h>

#include "attach.h"
#include "exits.h"
#include "maps.h"
#include "privileges.h"
#include "probes.h"

struct canary {
	struct probes *probes;
	pid_t task; /* of the process, to be asked for its mappings */
	struct attached links;
};

static int probe(const struct map_entry *m, void *arg)
{
	struct canary *c = arg;
	char path[PROBES_PATH_MAX];
	struct probes_place at;

	if (!m->exec || !map_entry__is_file(m) ||
	    probes_place__open(&at, c->task, m, path, sizeof(path)) ||
	    !(probes__look(c->probes, &at) & PROBES_RUNTIME))
		return 0;
	return probes__try(c->probes, &at, &c->links);
}

/* Waits for the end of the process or of the time, or for the caller's signal. */
static int await(pid_t pid, int pidfd, unsigned int seconds, int interrupt)
{
	struct pollfd fds[2] = { { .fd = pidfd, .events = POLLIN },
				 { .fd = interrupt, .events = POLLIN } };

	say("process %d is probed alone, for %u s", pid, seconds);
	if (poll(fds, 2, (int)seconds * 1000) < 0)
		return -errno;
	if (fds[0].revents) {
		say("process %d ended while it was probed alone: no other is probed.\n"
		    "If it was to end by then, take one that lives longer; otherwise look "
		    "what became of it.",
		    pid);
		return -ECANCELED;
	}
	return fds[1].revents ? -EINTR : 0;
}

int canary__watch(struct probes *probes, pid_t pid, int pidfd, unsigned int seconds, int interrupt)
{
	struct canary c = { .probes = probes };
	int err;

	privileges__raise();
	c.task = maps__task(pid);
	err = maps__walk(c.task, probe, &c, NULL);
	privileges__lower();
	if (!err)
		err = await(pid, pidfd, seconds, interrupt);
	attach__detach(&c.links);
	return err;
}
