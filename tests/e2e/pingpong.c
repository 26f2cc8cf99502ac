/* SPDX-License-Identifier: MIT */
/* pingpong ROUNDS: two threads that wake each other by turns, "ping" and "pong". */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t to[2];
static int rounds;

static void *play(void *argument)
{
	int self = argument != NULL;

	pthread_setname_np(pthread_self(), self ? "pong" : "ping");
	for (int i = 0; i < rounds; i++) {
		sem_wait(&to[self]);
		sem_post(&to[!self]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t players[2];

	rounds = argc > 1 ? atoi(argv[1]) : 1000;
	sem_init(&to[0], 0, 1);
	sem_init(&to[1], 0, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&players[i], NULL, play, i ? &to : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(players[i], NULL);
	return 0;
}
