/* SPDX-License-Identifier: MIT */
/* A library in which threads wait or call, with a frame of ROOM bytes; see test_walker.c. */
#include <unistd.h>

char dnp_test_wait(int pipe);
int dnp_test_call(int (*function)(void *), void *context);

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

/* In one place, whatever ROOM is. */
__attribute__((noipa, visibility("default"), aligned(256))) int dnp_test_call(
	int (*function)(void *), void *context)
{
	volatile char room[ROOM] = {0};

	room[0] = function(context) != 0;
	return room[0];
}
