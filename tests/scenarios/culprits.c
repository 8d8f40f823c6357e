/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order on several threads at once, each on a stream of its own, in a
 * program that may do something about a signal:
 *
 *	culprits ROUNDS THREADS [handle|block|ignore|default SIGNAL [MILLISECONDS]]
 *
 * ROUNDS is for each thread.  At the end it lives on for that time.  The line of JSON says how often the handler ran.
 *
 * Expected: free-before-destroy, level error, once a round and thread.
 */
#include <signal.h>

#include "scenario.h"

#define THREADS_MAX 64

static volatile sig_atomic_t handled;

static void handle(int sig)
{
	(void)sig;
	handled++;
}

static void prepare(const char *how, int sig)
{
	struct sigaction act = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (!strcmp(how, "block")) {
		sigprocmask(SIG_BLOCK, &set, NULL);
		return;
	}
	if (!strcmp(how, "default"))
		return;
	act.sa_handler = !strcmp(how, "handle") ? handle : SIG_IGN;
	act.sa_flags = SA_RESTART;
	sigaction(sig, &act, NULL);
}

static void *culprit(void *arg)
{
	aclrtStream stream;

	OK(aclrtSetDevice(0));
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++) {
		struct buffer b = { 0 };

		start_copy(&b, stream, (unsigned char)i);
		poll_event(b.event);
		release_buffer(&b);
		destroy_event(&b);
	}
	OK(aclrtDestroyStream(stream));
	return arg;
}

int main(int argc, char **argv)
{
	long n = sc_arg(argc, argv, 2, 1);
	pthread_t threads[THREADS_MAX];

	sc_begin("culprits", argc, argv, 1);
	if (argc > 4)
		prepare(argv[3], atoi(argv[4]));
	sc_open_device();
	if (n == 1)
		culprit(NULL);
	for (long i = 0; n > 1 && i < n && i < THREADS_MAX; i++)
		if (pthread_create(&threads[i], NULL, culprit, NULL))
			DIE("no thread");
	for (long i = 0; n > 1 && i < n && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	sc_sleep_us(1000 * sc_arg(argc, argv, 5, 0));
	sc_report("\"handled\": %d", (int)handled);
	sc_close_device();
	return 0;
}
