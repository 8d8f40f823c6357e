/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The program's own memory, registered with the runtime, in the order of
 * pcd_order: unregistered after a mere poll, before the event is destroyed.
 *
 * Expected: free-before-destroy, level error, once a round, judged at
 * aclrtHostUnregister; the memory itself lives on.
 */
#include "scenario.h"

SITE int unregister_buffer(struct buffer *b)
{
	uint64_t ns = sc_now();
	int ret = aclrtHostUnregister(b->base);

	sc_fact(b, ns, ret);
	return ret;
}

SITE void unregister_early(aclrtStream stream, unsigned char seed)
{
	long page = sysconf(_SC_PAGESIZE);
	struct buffer b = { .stream = stream, .length = SC_SIZE, .seed = seed };
	void *dev;

	b.size = (size_t)page * 2;
	b.base = aligned_alloc((size_t)page, b.size);
	b.host = b.base + SC_ALIGN;
	OK(aclrtMalloc(&dev, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	b.dev = dev;
	OK(aclrtHostRegister(b.base, b.size, ACL_HOST_REGISTER_MAPPED, &dev));
	OK(aclrtCreateEvent(&b.event));
	copy_to_device(&b, stream);
	record_event(&b);
	poll_event(b.event);
	if (unregister_buffer(&b)) {
		destroy_event(&b);
		OK(aclrtHostUnregister(b.base));
	} else {
		destroy_event(&b);
	}
	check_device(&b);
	free(b.base);
}

int main(int argc, char **argv)
{
	aclrtStream stream;

	sc_begin("host_register", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	for (long i = 0; i < sc.rounds; i++)
		unregister_early(stream, (unsigned char)i);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	return 0;
}
