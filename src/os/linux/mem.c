/* SPDX-License-Identifier: MIT */
#include "os/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Some sandboxes refuse process_vm_readv altogether. One's own memory file needs no permission; it
 * is opened for each read, so that no descriptor has to be kept (and inherited).
 */
SIGSAFE static ssize_t read_by_file(uintptr_t address, void *to, size_t n)
{
	ssize_t got;
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	got = pread(fd, to, n, (off_t)address);
	close(fd);
	return got;
}

SIGSAFE static size_t read_pieces(
	uintptr_t address, void *to, size_t n, const struct iovec *pieces, size_t n_pieces)
{
	struct iovec local = {to, n};
	int saved = errno;
	ssize_t got = process_vm_readv(getpid(), &local, 1, pieces, n_pieces, 0);

	if (got < 0 && (errno == EPERM || errno == ENOSYS))
		got = read_by_file(address, to, n);
	errno = saved;
	return got > 0 ? (size_t)got : 0;
}

SIGSAFE int dnp_mem_read(uintptr_t address, void *to, size_t n)
{
	struct iovec all = {(void *)address, n}; /* NOLINT(performance-no-int-to-ptr) */

	return read_pieces(address, to, n, &all, 1) == n ? 0 : -EFAULT;
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define HUGE_BYTES ((uintptr_t)2 << 20)
#define PAGE_BYTES 4096u
#define PIECES_MAX 32

/* The kernel promises to take each piece as a whole or not at all: one for each page. */
SIGSAFE size_t dnp_mem_read_some(uintptr_t address, void *to, size_t n)
{
	struct iovec pieces[PIECES_MAX];
	size_t done = 0, n_pieces = 0;

	while (done < n && n_pieces < PIECES_MAX) {
		uintptr_t at = address + done;
		size_t bytes = PAGE_BYTES - at % PAGE_BYTES;

		if (bytes > n - done)
			bytes = n - done;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		pieces[n_pieces++] = (struct iovec){(void *)at, bytes};
		done += bytes;
	}
	return read_pieces(address, to, done, pieces, n_pieces);
}

SIGSAFE int dnp_mem_is_readable(uintptr_t low, uintptr_t high)
{
	char bytes[PIECES_MAX];
	struct iovec pieces[PIECES_MAX], local = {bytes, sizeof(bytes)};
	int saved = errno, readable = 1;

	while (low < high && readable) {
		size_t n = 0;

		for (; low < high && n < PIECES_MAX; low = (low | (PAGE_BYTES - 1)) + 1)
			/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
			pieces[n++] = (struct iovec){(void *)low, 1};
		readable = process_vm_readv(getpid(), &local, 1, pieces, n, 0) == (ssize_t)n;
	}
	errno = saved;
	return readable;
}

/* Unlike a memory file process_vm_readv keeps to what the pages allow. */
SIGSAFE bool dnp_mem_may_touch(uintptr_t address)
{
	return dnp_mem_is_readable(address, address + 1);
}

void *dnp_mem_map(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void dnp_mem_unmap(void *pages, size_t bytes)
{
	if (pages)
		munmap(pages, bytes);
}

void dnp_mem_clear(void *pages, size_t bytes)
{
	/* Memory that the program has locked is not given back so, but it can be replaced. */
	if (madvise(pages, bytes, MADV_DONTNEED) &&
		mmap(pages, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			0) == MAP_FAILED)
		memset(pages, 0, bytes);
}

/* Pages are memory once they are touched, and not before. */
void *dnp_mem_reserve(size_t bytes)
{
	return dnp_mem_map(bytes);
}

int dnp_mem_commit(void *from, size_t bytes)
{
	(void)from;
	(void)bytes;
	return 0;
}

void dnp_mem_decommit(void *pages, size_t bytes)
{
	dnp_mem_clear(pages, bytes);
}

void *dnp_mem_share(const char *path, size_t bytes)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *shared;

	if (size < 0)
		return NULL;
	if ((size_t)size < bytes) {
		errno = EINVAL;
		return NULL;
	}
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return shared == MAP_FAILED ? NULL : shared;
}

void dnp_mem_unshare(void *shared, size_t bytes)
{
	munmap(shared, bytes);
}

void dnp_mem_want_small_pages(void *pages, size_t bytes)
{
	madvise(pages, bytes, MADV_NOHUGEPAGE);
}

void dnp_mem_make_pages_large(void *from, const void *end)
{
	uintptr_t low = (uintptr_t)from & ~(HUGE_BYTES - 1);
	uintptr_t last = ((uintptr_t)end + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);

	madvise((void *)low, last - low, MADV_COLLAPSE); /* NOLINT(performance-no-int-to-ptr) */
}

void dnp_mem_want_large_pages(void *memory, size_t bytes)
{
	uintptr_t from = ((uintptr_t)memory + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	uintptr_t to = ((uintptr_t)memory + bytes) / PAGE_BYTES * PAGE_BYTES;

	if (to > from && to - from >= (uintptr_t)4 << 20)
		madvise((void *)from, to - from,
			MADV_HUGEPAGE); /* NOLINT(performance-no-int-to-ptr) */
}
