/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program, built without frame pointers, that frees a buffer too early in a place
 * named by its first argument, for test_unwind.py.
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>

#include "../scenarios/scenario.h"

static struct buffer buf;
static aclrtStream stream;

static void prepare(void)
{
	start_copy(&buf, stream, 1);
	poll_event(buf.event);
}

/* Far from the end of the stack; not a tail call, not a loop. */
SITE int deep(int n, size_t room)
{
	volatile char frame[room];

	frame[0] = (char)n;
	if (n)
		return deep(n - 1, room) + frame[0];
	return release_buffer(&buf) + frame[0];
}

SITE void recursion(void)
{
	deep(100, 2048);
}

SITE void many_frames(void)
{
	deep(100, 16);
}

/* Its last instruction is a call: the return address is in the next function. */
SITE __attribute__((noreturn)) void free_and_exit(void)
{
	release_buffer(&buf);
	_exit(0);
}

SITE void never_back(void)
{
	free_and_exit();
}

static void free_in_handler(int sig)
{
	(void)sig;
	release_buffer(&buf);
}

SITE void interrupted(void)
{
	raise(SIGUSR1);
	destroy_event(&buf);
}

SITE void handler(void)
{
	signal(SIGUSR1, free_in_handler);
	interrupted();
}

/* The handler runs on a stack of its own, which says how the other one went on. */
SITE void other_stack(void)
{
	static char other[65536];
	const stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	const struct sigaction act = { .sa_handler = free_in_handler, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &act, NULL))
		DIE("no signal stack");
	interrupted();
}

SITE void *free_in_thread(void *arg)
{
	release_buffer(&buf);
	return arg;
}

/* As small as it may be: the copy would go far beyond its end. */
SITE void small_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	OK(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	OK(pthread_create(&thread, &attr, free_in_thread, NULL));
	OK(pthread_join(thread, NULL));
}

/* Called as an exception passes. */
SITE void free_in_cleanup(int *ignored)
{
	(void)ignored;
	release_buffer(&buf);
}

SITE void leave(void)
{
	pthread_exit(NULL);
}

SITE void *cleaned_up(void *arg)
{
	__attribute__((cleanup(free_in_cleanup))) int guard = 0;

	(void)arg;
	leave();
	return &guard == arg ? arg : NULL;
}

SITE void cleanup(void)
{
	pthread_t thread;

	OK(pthread_create(&thread, NULL, cleaned_up, NULL));
	OK(pthread_join(thread, NULL));
}

static const struct {
	const char *name;
	void (*run)(void);
} places[] = {
	{ "recursion", recursion },	{ "many_frames", many_frames },
	{ "never_back", never_back },	{ "handler", handler },
	{ "other_stack", other_stack }, { "small_thread", small_thread },
	{ "cleanup", cleanup },
};

int main(int argc, char **argv)
{
	sc_begin("unwind", 0, NULL, 1);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	prepare();
	sc_sleep_us(300000); /* it is known by then what is mapped, also if it ends at once */
	printf("{\"place\": \"%s\", \"pid\": %d}\n", argc > 1 ? argv[1] : "", (int)getpid());
	fflush(stdout);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (argc > 1 && !strcmp(argv[1], places[i].name))
			places[i].run();
	return 0;
}
