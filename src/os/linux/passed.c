/* SPDX-License-Identifier: MIT */
#include "os/passed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int dnp_send_with_fd(int socket, void *bytes, size_t n, int passed, int flags)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {bytes, n};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *rights;

	if (passed >= 0) {
		header.msg_control = space;
		header.msg_controllen = sizeof(space);
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &passed, sizeof(int));
	}
	return sendmsg(socket, &header, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
