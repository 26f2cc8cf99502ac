/* SPDX-License-Identifier: MIT */
#include "os/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Some sandboxes refuse process_vm_readv altogether. One's own memory file needs no permission; it
 * is opened for each read, so that no descriptor has to be kept (and inherited).
 */
SIGSAFE static int read_by_file(uintptr_t address, void *to, size_t n)
{
	ssize_t got;
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -EFAULT;
	got = pread(fd, to, n, (off_t)address);
	close(fd);
	return got == (ssize_t)n ? 0 : -EFAULT;
}

SIGSAFE int dnp_mem_read(uintptr_t address, void *to, size_t n)
{
	struct iovec local = {to, n};
	struct iovec remote = {(void *)address, n}; /* NOLINT(performance-no-int-to-ptr) */
	int saved = errno, result = -EFAULT;
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (got == (ssize_t)n)
		result = 0;
	else if (got < 0 && (errno == EPERM || errno == ENOSYS))
		result = read_by_file(address, to, n);
	errno = saved;
	return result;
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
