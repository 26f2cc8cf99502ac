/* SPDX-License-Identifier: MIT */
/*
 * A profiler that is not ours. It writes down, in the folder MARK_FOLDER, in which processes it was
 * initialised, as a file named by the process id: with the variable MARK_TEXT at a start, with its
 * client data when it was attached. Client data can also say what it does then:
 *
 *   hr=HEX     returns that
 *   sleep=MS   takes so long
 *   hold=PATH  takes as long as that file is there
 *   exit       ends the process
 *   detach=MS  has itself detached after that time
 *
 * At a start, OTHER_LISTENS=KEYWORDS (hexadecimal) has the runtime deliver its events of these.
 *
 * It has two classes; that of the last byte C6 is only notified.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 160

/* Indexes of ICorProfilerCallback3 and 11. */
enum {
	QUERY_INTERFACE = 0,
	INITIALIZE = 3,
	INITIALIZE_FOR_ATTACH = 80,
	LOAD_AS_NOTIFICATION_ONLY = 97,
};

/* Index of ICorProfilerInfo3, and of 12. */
#define REQUEST_PROFILER_DETACH  58
#define EVENT_PIPE_START_SESSION 101

#define VERBOSE 5

/* The least that a runtime waits before it unloads. */
#define DETACH_MS 300

typedef void (*slot)(void);

static slot callback_slots[SLOTS], factory_slots[8];
static slot *callback = callback_slots, *factory = factory_slots;
static int notified_only;

static int nothing(void)
{
	return 0;
}

static int query(void *self, const void *iid, void **object)
{
	(void)iid;
	*object = self;
	return 0;
}

static void mark(const void *text, size_t n)
{
	const char *folder = getenv("MARK_FOLDER");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", folder ? folder : "/nowhere", (int)getpid());
	file = fopen(path, "w");
	if (file) {
		fwrite(text, 1, n, file);
		fclose(file);
	}
}

struct provider {
	const unsigned short *name;
	unsigned long long keywords;
	unsigned level;
	const unsigned short *arguments;
};

/* To a session of its own, as agents of monitoring have. */
static int listen_to(slot **info, unsigned long long keywords)
{
	static const unsigned char iid[] = {0xcd, 0x4c, 0xb2, 0x27, 0xb1, 0x1c, 0xc5, 0x47, 0x96,
		0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59};
	static const char name[] = "Microsoft-Windows-DotNETRuntime";
	static unsigned short wide[sizeof(name)];
	struct provider provider = {wide, keywords, VERBOSE, NULL};
	unsigned long long session;
	slot **info12;

	for (size_t i = 0; i < sizeof(name); i++)
		wide[i] = (unsigned char)name[i];
	if (((int (*)(void *, const void *, void *))(*info)[QUERY_INTERFACE])(info, iid, &info12))
		return (int)0x80004005;
	return ((int (*)(void *, unsigned, struct provider *, int, unsigned long long *))(
		*info12)[EVENT_PIPE_START_SESSION])(info12, 1, &provider, 0, &session);
}

static int initialize(void *self, void *info)
{
	const char *text = getenv("MARK_TEXT"), *listens = getenv("OTHER_LISTENS");
	const char *waits = getenv("OTHER_WAITS");

	(void)self;
	mark(text ? text : "", text ? strlen(text) : 0);
	/* A pipe: the runtime's start goes on when somebody opens its other end. */
	if (waits)
		close(open(waits, O_RDONLY | O_CLOEXEC));
	return listens ? listen_to(info, strtoull(listens, NULL, 16)) : 0;
}

static slot **info3;

/* Is gone long before the library is. */
static void *detach(void *ms)
{
	usleep((useconds_t)(size_t)ms * 1000);
	((int (*)(void *, unsigned))(*info3)[REQUEST_PROFILER_DETACH])(info3, DETACH_MS);
	return NULL;
}

static int detach_later(slot **info, size_t ms)
{
	static const unsigned char iid[] = {0x4f, 0xed, 0x55, 0xb5, 0x2a, 0x45, 0x54, 0x4e, 0x8b,
		0x39, 0xb5, 0x36, 0x0b, 0xad, 0x32, 0xa0};
	pthread_t thread;

	if (((int (*)(void *, const void *, void *))(*info)[QUERY_INTERFACE])(info, iid, &info3) ||
		pthread_create(&thread, NULL, detach, (void *)ms))
		return (int)0x80004005;
	pthread_detach(thread);
	return 0;
}

static int initialize_for_attach(void *self, void *info, const char *data, unsigned n)
{
	char text[256];

	(void)self, (void)info;
	mark(data, n);
	snprintf(text, sizeof(text), "%.*s", (int)n, n ? data : "");
	if (!strncmp(text, "sleep=", 6))
		usleep((useconds_t)atoi(text + 6) * 1000);
	while (!strncmp(text, "hold=", 5) && !access(text + 5, F_OK))
		usleep(10000);
	if (!strcmp(text, "exit"))
		_exit(3);
	if (!strncmp(text, "detach=", 7))
		return detach_later(info, (size_t)atoi(text + 7));
	return strncmp(text, "hr=", 3) ? 0 : (int)strtoul(text + 3, NULL, 16);
}

static int load_as_notification_only(void *self, int *answer)
{
	(void)self;
	*answer = notified_only;
	return 0;
}

static int create(void *self, void *outer, const void *iid, void **object)
{
	(void)self, (void)outer, (void)iid;
	*object = &callback;
	return 0;
}

__attribute__((visibility("default"))) int DllGetClassObject(
	const void *clsid, const void *iid, void **object)
{
	static const unsigned char own[] = {0x4b, 0xdc, 0x9e, 0xdf, 0xc1, 0x25, 0x25, 0x49};

	(void)iid;
	if (memcmp(clsid, own, sizeof(own)) != 0)
		return (int)0x80040111;
	notified_only = ((const unsigned char *)clsid)[15] == 0xc6;
	for (int i = 0; i < SLOTS; i++)
		callback_slots[i] = (slot)nothing;
	callback_slots[QUERY_INTERFACE] = factory_slots[0] = (slot)query;
	callback_slots[INITIALIZE] = (slot)initialize;
	callback_slots[INITIALIZE_FOR_ATTACH] = (slot)initialize_for_attach;
	callback_slots[LOAD_AS_NOTIFICATION_ONLY] = (slot)load_as_notification_only;
	factory_slots[1] = factory_slots[2] = factory_slots[4] = (slot)nothing;
	factory_slots[3] = (slot)create;
	*object = &factory;
	return 0;
}
