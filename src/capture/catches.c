/* SPDX-License-Identifier: MIT */
#include "capture/catches.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/u64map.h"
#include "base/vec.h"
#include "capture/happened.h"
#include "capture/self.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/message.h"
#include "os/clock.h"
#include "os/mem.h"
#include "store/labels.h"
#include "unwind/code.h"

enum {
	CODES_MAX = 64,      /* of one method */
	OPEN_MAX = 16,       /* of one thread; of more, the outermost are not told */
	MESSAGES_MAX = 1000, /* different ones that are kept, of a recording */
	MESSAGE_UNITS = 200, /* UTF-16 units that are kept of one */
	MESSAGE_BYTES = 1 + 3 * MESSAGE_UNITS + 3,
	ENDED_MAX = 65536, /* that are waiting for the recorder */
	ROOTS_MAX = 32,    /* methods that threads begin with */
};

#define NO_MESSAGE UINT32_MAX /* label */

/* FunctionIDs of those that threw, 0: none; and how many exceptions are at_root. */
static _Atomic uintptr_t roots[ROOTS_MAX];
static _Atomic uint32_t n_at_root;

/* Thrown and not caught yet. */
struct open {
	uint64_t number;
	uintptr_t sp; /* of the callback that told of it */
	uintptr_t class_id;
	uint64_t thrown_ns, found_ns; /* found_ns 0: nobody yet */
	uint32_t message;             /* label */
	uint32_t filters;             /* that the thread was in */
	uint32_t roots;               /* frames of its thread's root that the search has left */
	bool at_root;                 /* the runtime looks there for who catches it */
};

struct of_thread {
	dnp_frame_word root_frame; /* of the method that it began with */
	uintptr_t root;            /* its FunctionID, 0: not known */
	uint32_t n, filters;
	struct open open[OPEN_MAX];
};

struct ended {
	uint64_t number, time_ns;
	dnp_frame_word catcher; /* 0: none */
	enum dnp_exception_end end;
	uint32_t message;
	uint64_t search_ns, unwind_ns;
};

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	/* Owned: by the threads' places. Pages of those that throw nothing are never touched. */
	struct of_thread *threads;
} catches;

static _Atomic uint64_t numbers, lost;

/* A leaf lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ended_list dnp_vec_of(struct ended) ended;
static struct dnp_u64map messages; /* hash → label */
static enum { NOT_ASKED, TOLD, NOT_TOLD } asked;
static struct dnp_message_place place;

#define THREADS_BYTES (DNP_THREADS_MAX * sizeof(struct of_thread))

void dnp_catches_forget(void)
{
	if (catches.threads)
		dnp_mem_unmap(catches.threads, THREADS_BYTES);
	catches.threads = NULL;
	dnp_vec_done(&ended);
	dnp_u64map_done(&messages);
	asked = NOT_ASKED;
	for (unsigned i = 0; i < ROOTS_MAX; i++)
		atomic_store(&roots[i], 0);
	atomic_store(&n_at_root, 0);
}

int dnp_catches_open(const struct dnp_engine_setting *setting, unsigned event)
{
	catches.setting = setting;
	catches.event = event;
	catches.threads = dnp_mem_map(THREADS_BYTES);
	atomic_store(&numbers, 0);
	atomic_store(&lost, 0);
	return catches.threads ? 0 : -ENOMEM;
}

/* NULL: the thread cannot be recorded, so that it has no samples either. */
static struct of_thread *of(const struct dnp_thread *thread)
{
	return thread ? &catches.threads[thread->place] : NULL;
}

static struct of_thread *own(void)
{
	return of(dnp_happened_on(catches.setting));
}

/* ---- What they say */

/*
 * Meanwhile there may be a collection, and the object be somewhere else: a handle finds it again.
 * *object 0: it is not known where it is.
 */
static bool ask_for_place(uintptr_t class_id, uintptr_t *object, struct dnp_message_place *at)
{
	const struct dnp_info *info = catches.setting->info;
	ObjectHandleID handle;
	bool told,
		held = dnp_info_has(info, CreateHandle) &&
		SUCCEEDED(dnp_com(
			info->com, CreateHandle, *object, COR_PRF_HANDLE_TYPE_STRONG, &handle));

	told = dnp_message_find(info, class_id, at);
	if (!held || FAILED(dnp_com(info->com, GetObjectIDFromHandle, handle, object)))
		*object = 0;
	if (held)
		dnp_com(info->com, DestroyHandle, handle);
	return told;
}

/*
 * The runtime is asked without the lock, so threads that throw at the same time may all ask. Each
 * gets a copy that was made under the lock, for another of them may just then store its own answer.
 */
static bool find_place(uintptr_t class_id, uintptr_t *object, struct dnp_message_place *at)
{
	bool told, known;

	pthread_mutex_lock(&lock);
	known = asked != NOT_ASKED;
	told = asked == TOLD;
	if (told)
		*at = place;
	pthread_mutex_unlock(&lock);
	if (known)
		return told;
	told = ask_for_place(class_id, object, at);
	pthread_mutex_lock(&lock);
	if (told)
		place = *at;
	asked = told ? TOLD : NOT_TOLD;
	pthread_mutex_unlock(&lock);
	return told && *object;
}

static uint64_t hash_of(struct dnp_str text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < text.n; i++)
		hash = (hash ^ (uint8_t)text.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Messages may be all different: they are not to take the room that names of types need. */
static uint32_t label_of(struct dnp_str text)
{
	uint64_t hash = hash_of(text);
	uint32_t label = DNP_LABEL_OTHER;
	const uint32_t *known;

	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&messages, hash);
	if (known)
		label = *known;
	else if (messages.used < MESSAGES_MAX) {
		label = dnp_label(text);
		dnp_u64map_put(&messages, hash, label);
	}
	pthread_mutex_unlock(&lock);
	return label;
}

static uint32_t message_of(uintptr_t object, uintptr_t class_id)
{
	char buffer[MESSAGE_BYTES];
	struct dnp_message_place at;
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	if (catches.setting->options->no_messages || !class_id ||
		!find_place(class_id, &object, &at) ||
		!dnp_message_read(&at, object, MESSAGE_UNITS, &text) || !text.n)
		return NO_MESSAGE;
	return label_of(dnp_text_since(&text, 0));
}

/* ---- On their way */

static void tell_end(const struct ended *one)
{
	pthread_mutex_lock(&lock);
	if (ended.n == ENDED_MAX || dnp_vec_push(&ended, *one))
		atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

static void set_at_root(struct open *open, bool now)
{
	if (open->at_root == now)
		return;
	open->at_root = now;
	atomic_fetch_add_explicit(&n_at_root, now ? 1 : UINT32_MAX, memory_order_relaxed);
}

static void end(struct open *open, enum dnp_exception_end how, dnp_frame_word catcher)
{
	uint64_t now_ns = dnp_now_ns();
	uint64_t found_ns = open->found_ns ? open->found_ns : how ? now_ns : 0;

	set_at_root(open, false);
	tell_end(&(struct ended){
		.number = open->number,
		.time_ns = now_ns,
		.catcher = catcher,
		.end = how,
		.message = open->message,
		.search_ns = found_ns ? found_ns - open->thrown_ns : 0,
		.unwind_ns = found_ns ? now_ns - found_ns : 0,
	});
}

/* The innermost ones, until there are only so many left. */
static void end_to(struct of_thread *thread, uint32_t n, enum dnp_exception_end how)
{
	while (thread->n > n)
		end(&thread->open[--thread->n], how, 0);
}

/*
 * The frames of one that is still on its way are below those of all that is thrown meanwhile. So
 * what was thrown here, or further up, is not on its way any more, though nobody said so.
 */
static void end_gone(struct of_thread *thread, uintptr_t sp)
{
	uint32_t n = thread->n;

	while (n && thread->open[n - 1].sp <= sp)
		n--;
	end_to(thread, n, DNP_EXCEPTION_NOT_CAUGHT);
}

static void push(struct of_thread *thread, struct open open)
{
	if (thread->n == OPEN_MAX) {
		atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
		set_at_root(&thread->open[0], false);
		thread->n--;
		for (uint32_t i = 0; i < thread->n; i++)
			thread->open[i] = thread->open[i + 1];
	}
	thread->open[thread->n++] = open;
}

uint64_t dnp_catches_thrown(uintptr_t object, uintptr_t class_id)
{
	struct of_thread *thread = own();
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	uint64_t number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;

	if (!thread)
		return number;
	end_gone(thread, sp);
	push(thread,
		(struct open){
			.number = number,
			.sp = sp,
			.class_id = class_id,
			.message = message_of(object, class_id),
			.filters = thread->filters,
		});
	return number;
}

void dnp_catches_search(void)
{
	struct of_thread *thread = own();

	if (thread && thread->n)
		thread->open[thread->n - 1].thrown_ns = dnp_now_ns();
}

/* Looks code up outside of a walk: one at a time, so that what is freed can wait for it. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t looking_since = UINT64_MAX;

uint64_t dnp_catches_looking_since(void)
{
	return atomic_load(&looking_since);
}

/* The first that is known, else the last. 0: there are none. */
static dnp_frame_word first_known(const uintptr_t *starts, uint32_t n)
{
	dnp_frame_word word = 0;

	pthread_mutex_lock(&looking);
	atomic_store(&looking_since, dnp_now_ns());
	for (uint32_t i = 0; i < n && !dnp_frame_is_managed(word); i++)
		word = dnp_walk_frame(starts[i], true);
	atomic_store(&looking_since, UINT64_MAX);
	pthread_mutex_unlock(&looking);
	return word;
}

/*
 * Some code of the method that catches, whichever: its name is the same. There may be such that the
 * runtime is about to tell of. 0: none is there.
 */
static dnp_frame_word frame_of(uintptr_t function)
{
	uintptr_t starts[CODES_MAX];
	uint32_t n = 0;

	if (FAILED(dnp_com(catches.setting->info->com, GetNativeCodeStartAddresses, function, 0,
		    CODES_MAX, &n, starts)))
		return 0;
	return first_known(starts, n < CODES_MAX ? n : CODES_MAX);
}

/* The innermost one of that class: those above it are gone. */
static void caught(struct of_thread *thread, uintptr_t function, uintptr_t class_id)
{
	uint32_t n = thread->n;

	while (n && class_id && thread->open[n - 1].class_id != class_id)
		n--;
	if (!n) /* it was thrown before there was anybody to see it */
		return;
	end_to(thread, n, DNP_EXCEPTION_NOT_CAUGHT);
	end(&thread->open[--thread->n], DNP_EXCEPTION_CAUGHT, frame_of(function));
}

static void found(struct of_thread *thread)
{
	if (thread->n && !thread->open[thread->n - 1].found_ns)
		thread->open[thread->n - 1].found_ns = dnp_now_ns();
}

static void answered(struct of_thread *thread)
{
	uint32_t n = thread->n;

	while (n && thread->filters && thread->open[n - 1].filters >= thread->filters)
		n--;
	end_to(thread, n, DNP_EXCEPTION_IN_FILTER);
	thread->filters -= thread->filters > 0;
}

/* ---- That nobody catches */

bool dnp_catches_is_root(uintptr_t function)
{
	if (!function)
		return atomic_load_explicit(&n_at_root, memory_order_relaxed);
	for (unsigned i = 0; i < ROOTS_MAX; i++) {
		uintptr_t root = atomic_load_explicit(&roots[i], memory_order_relaxed);

		if (!root || root == function)
			return root;
	}
	return false;
}

static void add_root(uintptr_t function)
{
	for (unsigned i = 0; i < ROOTS_MAX; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&roots[i], &none, function) || none == function)
			return;
	}
}

/* 0: it is not known. */
static uintptr_t function_of(dnp_frame_word frame)
{
	uintptr_t function = 0;

	return dnp_code_frame_may_be_asked_for(frame) &&
			SUCCEEDED(dnp_com(catches.setting->info->com, GetFunctionFromIP,
				(const uint8_t *)dnp_code_of_frame(frame), &function))
		? function
		: 0;
}

void dnp_catches_root(const struct dnp_thread *thread, dnp_frame_word root)
{
	struct of_thread *own = of(thread);

	if (own->root_frame == root)
		return;
	own->root_frame = root;
	own->root = function_of(root);
	if (own->root)
		add_root(own->root);
}

/* Nobody catches the innermost one. */
static void say_last_word(struct of_thread *thread)
{
	end_to(thread, 0, DNP_EXCEPTION_NOT_CAUGHT);
	catches.setting->save();
}

/* How many frames of a method the calling thread has; 0: it is not known. */
static uint32_t count_frames(struct dnp_thread *thread, uintptr_t function)
{
	enum dnp_walk_stop stop = DNP_STOP_UNKNOWN;
	uint32_t n, of = 0;

	dnp_self_begin(thread);
	n = dnp_self_walk(thread, dnp_label_frame(DNP_LABEL_OTHER), NULL, &stop, NULL);
	for (uint32_t i = 1; i < n; i++)
		of += dnp_frame_is_managed(thread->own.frames[i]) &&
			function_of(thread->own.frames[i]) == function;
	dnp_self_end_walked(thread, n, stop);
	return n && stop == DNP_STOP_END ? of : 0;
}

/*
 * The one that the runtime looks for a catcher for; NULL: it has one, or there is none, or it was
 * thrown in a filter, which it does not get out of.
 */
static struct open *awaiting(struct of_thread *thread)
{
	struct open *open = thread->n ? &thread->open[thread->n - 1] : NULL;

	return open && !open->found_ns && !open->filters ? open : NULL;
}

static void at_root(struct of_thread *thread, uintptr_t function)
{
	struct open *open = awaiting(thread);

	if (open)
		set_at_root(open, function == thread->root);
}

/* It may be the root of what another frame of the same method has called. */
static void root_done(struct of_thread *thread, struct dnp_thread *self)
{
	struct open *open = awaiting(thread);

	if (!open || !open->at_root)
		return;
	set_at_root(open, false);
	if (++open->roots == count_frames(self, thread->root))
		say_last_word(thread);
}

static void unwind_root(struct of_thread *thread, uintptr_t function)
{
	if (function == thread->root && awaiting(thread))
		say_last_word(thread);
}

void dnp_catches_handling(enum dnp_handling what, uintptr_t function, uintptr_t class_id)
{
	struct dnp_thread *self = dnp_happened_on(catches.setting);
	struct of_thread *thread = of(self);

	if (!thread)
		return;
	switch (what) {
	case DNP_HANDLING_FOUND: found(thread); break;
	case DNP_HANDLING_CATCH: caught(thread, function, class_id); break;
	case DNP_HANDLING_FILTER: thread->filters++; break;
	case DNP_HANDLING_ANSWER: answered(thread); break;
	case DNP_HANDLING_ROOT: at_root(thread, function); break;
	case DNP_HANDLING_ROOT_DONE: root_done(thread, self); break;
	case DNP_HANDLING_ROOT_UNWIND: unwind_root(thread, function); break;
	}
}

void dnp_catches_thread_end(const struct dnp_thread *thread)
{
	struct of_thread *gone;

	if (!catches.threads) /* all was told */
		return;
	gone = &catches.threads[thread->place];
	if (!gone->root_frame && !gone->n && !gone->filters)
		return;
	gone->root_frame = gone->root = 0;
	end_to(gone, 0, DNP_EXCEPTION_NOT_CAUGHT);
	gone->filters = 0;
}

/* ---- Into the recording */

static void write_one(struct dnp_writer *writer, const struct ended *one)
{
	const struct dnp_engine_setting *setting = catches.setting;

	dnp_write_exception(writer,
		&(struct dnp_rec_exception){
			.event = catches.event,
			.number = one->number,
			.message = one->message == NO_MESSAGE
				? 0
				: setting->frame(dnp_label_frame(one->message), one->time_ns),
			.end = one->end,
			.catcher = one->catcher ? setting->frame(one->catcher, one->time_ns) : 0,
			.search_ns = one->search_ns,
			.unwind_ns = one->unwind_ns,
		});
}

static void end_all(struct dnp_thread *thread, void *context)
{
	(void)context;
	dnp_catches_thread_end(thread);
}

void dnp_catches_write(struct dnp_writer *writer, int last)
{
	struct ended_list taken;

	if (last)
		dnp_threads_each(end_all, NULL);
	pthread_mutex_lock(&lock);
	taken = ended;
	ended = (struct ended_list){0};
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < taken.n; i++)
		write_one(writer, &taken.p[i]);
	dnp_vec_done(&taken);
}

uint64_t dnp_catches_lost(void)
{
	return atomic_load_explicit(&lost, memory_order_relaxed);
}
