/* SPDX-License-Identifier: MIT */
/* A library in which threads wait, with a frame of ROOM bytes; see test_walker.c. */
#include <unistd.h>

char dnp_test_wait(int pipe);

__attribute__((noipa, visibility("default"))) char dnp_test_wait(int pipe)
{
	volatile char room[ROOM] = {0};
	char byte;

	room[0] = 1;
	if (read(pipe, &byte, 1) != 1)
		return 0;
	room[1] = byte;
	return room[1];
}
