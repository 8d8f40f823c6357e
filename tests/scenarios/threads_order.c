/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The order of pcd_order with each step on a thread of its own: the main thread
 * copies, another records, another polls, another frees and then destroys.
 * torch_npu's task queue and its event managers divide the work like this.
 *
 * Expected: free-before-destroy, level error, once a round.
 */
#include "scenario.h"

enum stage {
	STAGE_RECORD,
	STAGE_POLL,
	STAGE_RELEASE,
	STAGE_DONE,
};

static struct buffer buf;
static enum stage stage = STAGE_DONE;
static bool over;
static aclrtContext context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;

static void hand_over(enum stage next)
{
	pthread_mutex_lock(&lock);
	stage = next;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
}

/* False: there is nothing more to do. */
static bool wait_for(enum stage mine)
{
	bool go;

	pthread_mutex_lock(&lock);
	while (stage != mine && !over)
		pthread_cond_wait(&turn, &lock);
	go = stage == mine;
	pthread_mutex_unlock(&lock);
	return go;
}

static void *recorder(void *arg)
{
	OK(aclrtSetCurrentContext(context));
	while (wait_for(STAGE_RECORD)) {
		record_event(&buf);
		hand_over(STAGE_POLL);
	}
	return arg;
}

static void *poller(void *arg)
{
	OK(aclrtSetCurrentContext(context));
	while (wait_for(STAGE_POLL)) {
		poll_event(buf.event);
		hand_over(STAGE_RELEASE);
	}
	return arg;
}

static void *releaser(void *arg)
{
	OK(aclrtSetCurrentContext(context));
	while (wait_for(STAGE_RELEASE)) {
		release_buffer(&buf);
		destroy_event(&buf);
		hand_over(STAGE_DONE);
	}
	return arg;
}

static void run_round(aclrtStream stream, unsigned char seed)
{
	memset(&buf, 0, sizeof(buf));
	allocate_buffer(&buf, SC_SIZE, seed);
	OK(aclrtCreateEvent(&buf.event));
	copy_to_device(&buf, stream);
	hand_over(STAGE_RECORD);
	wait_for(STAGE_DONE);
	check_device(&buf);
}

int main(int argc, char **argv)
{
	void *(*const mains[])(void *) = { recorder, poller, releaser };
	pthread_t threads[3];
	aclrtStream stream;

	sc_begin("threads_order", argc, argv, 3);
	sc_open_device();
	OK(aclrtGetCurrentContext(&context));
	OK(aclrtCreateStream(&stream));
	for (int i = 0; i < 3; i++)
		OK(pthread_create(&threads[i], NULL, mains[i], NULL));
	for (long i = 0; i < sc.rounds; i++)
		run_round(stream, (unsigned char)i);
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
