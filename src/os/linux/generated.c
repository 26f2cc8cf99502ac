/* SPDX-License-Identifier: MIT */
#include "os/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"

#define KNOWN_MAX 16u
#define KNOWN_NS  UINT64_C(1000000000)

/* Memory of one kind: a mapping, or what is between two. */
struct range {
	uintptr_t low, high;
	bool generated;
	uint64_t until_ns; /* known until then */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range known[KNOWN_MAX]; /* with the lock, as the next one */
static unsigned next;

/* The runtime maps its code twice, to write it in one place and to run it in the other. */
static const char twice[] = "doublemapper";

/*
 * A line "low-high perms offset device inode path", read byte by byte. The path, where there is
 * one, is compared as it comes: it may be long.
 */
struct parser {
	struct range now;
	unsigned field, at; /* which, and how many bytes of it there were */
	bool executable, file, mapped_twice;
	size_t same; /* bytes of `twice` that the last ones are */
};

enum field { LOW, HIGH, PERMISSIONS, PATH = 6 };

static uintptr_t with_digit(uintptr_t number, char c)
{
	return number << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void feed_path(struct parser *p, char c)
{
	if (c == '/')
		p->file = true;
	p->same = c == twice[p->same] ? p->same + 1 : c == twice[0];
	if (!twice[p->same]) {
		p->mapped_twice = true;
		p->same = 0;
	}
}

static void feed_field(struct parser *p, char c)
{
	switch (p->field) {
	case LOW: p->now.low = with_digit(p->now.low, c); break;
	case HIGH: p->now.high = with_digit(p->now.high, c); break;
	case PERMISSIONS: p->executable |= p->at == 2 && c == 'x'; break;
	case PATH: feed_path(p, c); break;
	default: break;
	}
	p->at++;
}

/* True: a line is over. */
static bool feed(struct parser *p, char c)
{
	if (c == '\n') {
		p->now.generated = p->executable && (!p->file || p->mapped_twice);
		return true;
	}
	if (p->field < PATH && (c == ' ' || (p->field == LOW && c == '-'))) {
		p->field++;
		p->at = 0;
	} else {
		feed_field(p, c);
	}
	return false;
}

/* True: `found` is what the address lies in. `behind`: where the mapping before it ends. */
static bool is_it(
	const struct range *line, uintptr_t behind, uintptr_t address, struct range *found)
{
	if (address >= line->high)
		return false;
	*found = address >= line->low ? *line : (struct range){.low = behind, .high = line->low};
	return true;
}

static struct range look_up(uintptr_t address)
{
	struct range found = {.low = address, .high = address + 1};
	struct parser parser = {0};
	uintptr_t behind = 0;
	bool over = false;
	char buffer[4096];
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return found;
	while (!over && (n = read(fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < n && !over; i++) {
			if (!feed(&parser, buffer[i]))
				continue;
			over = is_it(&parser.now, behind, address, &found);
			behind = parser.now.high;
			parser = (struct parser){0};
		}
	}
	close(fd);
	return found;
}

bool dnp_mem_is_generated_code(uintptr_t address)
{
	uint64_t now_ns = dnp_now_ns();
	struct range *range = NULL;
	bool generated;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < KNOWN_MAX && !range; i++)
		if (address >= known[i].low && address < known[i].high &&
			now_ns < known[i].until_ns)
			range = &known[i];
	if (!range) {
		range = &known[next++ % KNOWN_MAX];
		*range = look_up(address);
		range->until_ns = now_ns + KNOWN_NS;
	}
	generated = range->generated;
	pthread_mutex_unlock(&lock);
	return generated;
}
