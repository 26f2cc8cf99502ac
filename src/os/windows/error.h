/* SPDX-License-Identifier: MIT */
#ifndef DNP_OS_WINDOWS_ERROR_H
#define DNP_OS_WINDOWS_ERROR_H

/* What GetLastError() says, as -errno. */
int dnp_windows_error(void);

#endif
