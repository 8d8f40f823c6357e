/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A perf ring a CPU, and decoding PERF_RECORD_MMAP2. */
#define _GNU_SOURCE
#include "mmaps.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (256UL << 10) /* a power of two of any page size */
#define RECORD_MAX (1UL << 16)	 /* the size in a record's head has 16 bits */

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct mmaps {
	int epoll;
	long page_size;
	struct ring *rings;
	size_t n;
	_Alignas(8) unsigned char record[RECORD_MAX]; /* one that wraps around */
};

struct mmap2 {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char name[]; /* padded with zeroes to 8 bytes, and then the time */
};

struct lost {
	struct perf_event_header h;
	uint64_t id, lost;
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* bytes: a number of events counts samples only, of which there are none */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_ring(struct mmaps *mm, int cpu)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct ring *r = &mm->rings[mm->n];
	void *page;

	r->fd = open_event(cpu);
	if (r->fd == -ENODEV || r->fd == -ENXIO) /* the CPU is offline */
		return 0;
	if (r->fd < 0)
		return r->fd;
	page = mmap(NULL, (size_t)mm->page_size + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		    r->fd, 0);
	if (page == MAP_FAILED || epoll_ctl(mm->epoll, EPOLL_CTL_ADD, r->fd, &ev)) {
		int err = -errno;

		if (page != MAP_FAILED)
			munmap(page, (size_t)mm->page_size + RING_BYTES);
		close(r->fd);
		return err;
	}
	r->page = page;
	mm->n++;
	return 0;
}

int mmaps__open(struct mmaps **out)
{
	int cpus = libbpf_num_possible_cpus(), err = 0;
	struct mmaps *mm;

	if (cpus < 0)
		return cpus;
	mm = calloc(1, sizeof(*mm));
	if (!mm)
		return -ENOMEM;
	mm->page_size = sysconf(_SC_PAGESIZE);
	mm->epoll = epoll_create1(EPOLL_CLOEXEC);
	mm->rings = calloc((size_t)cpus, sizeof(*mm->rings));
	if (mm->epoll < 0 || !mm->rings)
		err = -ENOMEM;
	for (int cpu = 0; !err && cpu < cpus; cpu++)
		err = open_ring(mm, cpu);
	if (err)
		mmaps__close(mm);
	else
		*out = mm;
	return err;
}

void mmaps__close(struct mmaps *mm)
{
	if (!mm)
		return;
	for (size_t i = 0; i < mm->n; i++) {
		munmap(mm->rings[i].page, (size_t)mm->page_size + RING_BYTES);
		close(mm->rings[i].fd);
	}
	if (mm->epoll >= 0)
		close(mm->epoll);
	free(mm->rings);
	free(mm);
}

int mmaps__fd(const struct mmaps *mm)
{
	return mm->epoll;
}

/* ---- reading ------------------------------------------------------------- */

/* Returns whether it is one; the name ends within the record. */
static bool decode(const unsigned char *rec, size_t size, struct mmaps_event *ev)
{
	const struct mmap2 *m = (const struct mmap2 *)rec;

	if (size < sizeof(*m) + 16 || m->h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		return false;
	if (!memchr(m->name, 0, size - sizeof(*m) - 8) || !m->inode)
		return false;
	*ev = (struct mmaps_event){
		.pid = (pid_t)m->pid,
		.start = m->addr,
		.end = m->addr + m->len,
		.offset = m->pgoff,
		.file = {
			.dev_major = m->dev_major,
			.dev_minor = m->dev_minor,
			.inode = m->inode,
			.generation = m->generation,
		},
		.name = m->name,
	};
	memcpy(&ev->time, rec + size - 8, sizeof(ev->time));
	return true;
}

static uint64_t read_ring(struct mmaps *mm, struct ring *r,
			  void (*fn)(void *arg, const struct mmaps_event *ev), void *arg)
{
	const unsigned char *data = (unsigned char *)r->page + mm->page_size;
	uint64_t tail = r->page->data_tail, lost = 0;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);

	while (tail < head) {
		size_t at = tail & (RING_BYTES - 1);
		const unsigned char *rec = data + at;
		struct perf_event_header h;
		struct mmaps_event ev;

		memcpy(&h, rec, sizeof(h)); /* 8 bytes, and so is every record aligned */
		if (h.size < sizeof(h))
			break; /* it never is */
		if (at + h.size > RING_BYTES) {
			size_t first = RING_BYTES - at;

			memcpy(mm->record, rec, first);
			memcpy(mm->record + first, data, h.size - first);
			rec = mm->record;
		}
		if (h.type == PERF_RECORD_MMAP2 && decode(rec, h.size, &ev))
			fn(arg, &ev);
		else if (h.type == PERF_RECORD_LOST && h.size >= sizeof(struct lost))
			lost += ((const struct lost *)rec)->lost;
		tail += h.size;
		__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return lost;
}

uint64_t mmaps__read(struct mmaps *mm, void (*fn)(void *arg, const struct mmaps_event *ev),
		     void *arg)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < mm->n; i++)
		lost += read_ring(mm, &mm->rings[i], fn, arg);
	return lost;
}
