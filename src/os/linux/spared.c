/* SPDX-License-Identifier: MIT */
#include "os/linux/spared.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/sampler.h"

static struct {
	pthread_mutex_t lock;
	bool begun, refused;
	unsigned n;
	int timers[DNP_SAMPLER_SPARED];
} spared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void give_back(void)
{
	while (spared.n)
		syscall(SYS_timer_delete, spared.timers[--spared.n]);
}

static void refuse(void)
{
	spared.refused = true;
	give_back();
}

static void hold(void)
{
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};

	spared.begun = true;
	while (spared.n < DNP_SAMPLER_SPARED) {
		if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &nothing, &spared.timers[spared.n]))
			return refuse();
		spared.n++;
	}
}

bool dnp_spared_has_more(void)
{
	bool more;

	pthread_mutex_lock(&spared.lock);
	if (!spared.begun)
		hold();
	more = !spared.refused;
	pthread_mutex_unlock(&spared.lock);
	return more;
}

void dnp_spared_give_back(void)
{
	pthread_mutex_lock(&spared.lock);
	refuse();
	pthread_mutex_unlock(&spared.lock);
}

void dnp_spared_end(void)
{
	pthread_mutex_lock(&spared.lock);
	give_back();
	spared.begun = false;
	spared.refused = false;
	pthread_mutex_unlock(&spared.lock);
}
