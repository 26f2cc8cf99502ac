/* SPDX-License-Identifier: MIT */
/*
 * What letters the bytes stand for that are written to the console. All its programs have that in
 * common, and some write by it to files and pipes, too: it is UTF-8 as long as this program alone
 * writes.
 */
#ifndef DNP_OS_WINDOWS_CONSOLE_H
#define DNP_OS_WINDOWS_CONSOLE_H

void dnp_console_speak_utf8(void);

/* Where somebody else has chosen since then, as he has. */
void dnp_console_speak_as_before(void);

#endif
