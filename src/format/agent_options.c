/* SPDX-License-Identifier: MIT */
#include "format/agent_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNWRAP(...) __VA_ARGS__

enum key_type { KEY_NUMBER, KEY_CHOICE, KEY_STRING };

struct key {
	const char *name;
	enum key_type type;
	size_t offset; /* of the field in struct dnp_agent_options */
	size_t size;   /* of the field, bytes */
	int64_t min;   /* only int32_t fields have one below 0 */
	uint64_t max;
	uint64_t initial;
	const char *const *words; /* of a choice, NULL-terminated */
};

#define FIELD(field)                                                                               \
	.name = #field, .offset = offsetof(struct dnp_agent_options, field),                       \
	.size = sizeof(((struct dnp_agent_options *)0)->field)

static const struct key keys[] = {
#define DNP_NUMBER(field, t, lo, hi, start, doc)                                                   \
	{FIELD(field), .type = KEY_NUMBER, .min = (lo), .max = (hi), .initial = (uint64_t)(start)},
#define DNP_CHOICE(field, t, list, start, doc)                                                     \
	{FIELD(field), .type = KEY_CHOICE, .initial = (start),                                     \
		.words = (const char *const[]){UNWRAP list, NULL}},
#define DNP_STRING(field, bytes, doc) {FIELD(field), .type = KEY_STRING},
#include "format/agent_options.def"
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

_Static_assert(KEY_COUNT <= 32, "the parser notes the keys it has seen in 32 bits");

static void store(struct dnp_agent_options *options, const struct key *key, uint64_t value)
{
	char *field = (char *)options + key->offset;

	if (key->size == sizeof(uint32_t))
		memcpy(field, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
	else
		memcpy(field, &value, sizeof(value));
}

/* Sign-extends 32-bit fields, so that the default -1 compares equal. */
static uint64_t load(const struct dnp_agent_options *options, const struct key *key)
{
	const char *field = (const char *)options + key->offset;
	uint64_t value = 0;

	if (key->size == sizeof(uint32_t)) {
		int32_t narrow;

		memcpy(&narrow, field, sizeof(narrow));
		value = key->min < 0 ? (uint64_t)(int64_t)narrow : (uint32_t)narrow;
	} else {
		memcpy(&value, field, sizeof(value));
	}
	return value;
}

void dnp_agent_options_init(struct dnp_agent_options *options)
{
	memset(options, 0, sizeof(*options));
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (keys[i].type != KEY_STRING)
			store(options, &keys[i], keys[i].initial);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Decodes value[n] into out[capacity], zero-terminated. */
static int decode(const char *value, size_t n, char *out, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		int byte = (unsigned char)value[i];

		if (byte == '%') {
			int high = n - i > 2 ? hex_digit(value[i + 1]) : -1;
			int low = n - i > 2 ? hex_digit(value[i + 2]) : -1;

			if (high < 0 || low < 0 || (high | low) == 0)
				return -EINVAL;
			byte = high << 4 | low;
			i += 2;
		}
		if (used + 1 >= capacity)
			return -E2BIG;
		out[used++] = (char)byte;
	}
	out[used] = '\0';
	return 0;
}

static int parse_number(const struct key *key, const char *value, size_t n, uint64_t *number)
{
	bool negative = n > 0 && value[0] == '-';
	uint64_t sum = 0;

	if (n == (size_t)negative)
		return -EINVAL;
	for (size_t i = negative; i < n; i++) {
		unsigned digit = (unsigned)(unsigned char)value[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
			__builtin_add_overflow(sum, (uint64_t)digit, &sum))
			return -EINVAL;
	}
	if (negative) {
		if (key->min >= 0 || sum > (uint64_t)-key->min)
			return -EINVAL;
		sum = -sum;
	} else if (sum > key->max || (key->min > 0 && sum < (uint64_t)key->min)) {
		return -EINVAL;
	}
	*number = sum;
	return 0;
}

static int parse_choice(const struct key *key, const char *value, size_t n, uint64_t *number)
{
	for (size_t i = 0; key->words[i]; i++) {
		if (strlen(key->words[i]) == n && !memcmp(key->words[i], value, n)) {
			*number = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_value(
	struct dnp_agent_options *options, const struct key *key, const char *value, size_t n)
{
	uint64_t number = 0;
	int ret;

	if (key->type == KEY_STRING)
		return decode(value, n, (char *)options + key->offset, key->size);
	ret = key->type == KEY_NUMBER ? parse_number(key, value, n, &number)
				      : parse_choice(key, value, n, &number);
	if (!ret)
		store(options, key, number);
	return ret;
}

static const struct key *find_key(const char *name, size_t n)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strlen(keys[i].name) == n && !memcmp(keys[i].name, name, n))
			return &keys[i];
	}
	return NULL;
}

/* A text that is being read. */
struct reading {
	struct dnp_agent_options *options;
	const char *what; /* as errors call it */
	uint32_t seen;    /* keys, a bit each */
	struct dnp_err *err;
};

static int parse_pair(struct reading *reading, struct dnp_str pair)
{
	const char *equals = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
	size_t name = equals ? (size_t)(equals - pair.p) : pair.n;
	const struct key *key = equals ? find_key(pair.p, name) : NULL;
	int shown = pair.n > 100 ? 100 : (int)pair.n;
	int ret;

	if (!key)
		return dnp_err(reading->err, -EINVAL, "%s: not understood: '%.*s'", reading->what,
			shown, pair.p);
	if (reading->seen & UINT32_C(1) << (key - keys))
		return dnp_err(
			reading->err, -EINVAL, "%s: '%s' is given twice", reading->what, key->name);
	reading->seen |= UINT32_C(1) << (key - keys);
	ret = parse_value(reading->options, key, equals + 1, pair.n - name - 1);
	if (ret == -E2BIG)
		return dnp_err(reading->err, ret, "%s: '%s' is too long", reading->what, key->name);
	if (ret)
		return dnp_err(
			reading->err, ret, "%s: wrong value: '%.*s'", reading->what, shown, pair.p);
	return 0;
}

static int parse_all(struct reading *reading, struct dnp_str text)
{
	struct dnp_str pair;

	dnp_agent_options_init(reading->options);
	if (text.n > DNP_OPTIONS_MAX)
		return dnp_err(reading->err, -E2BIG, "%s: too long", reading->what);
	while (dnp_str_cut(&text, ';', &pair)) {
		int ret = parse_pair(reading, pair);

		if (ret)
			return ret;
	}
	return 0;
}

int dnp_agent_options_parse(
	struct dnp_agent_options *options, const char *text, struct dnp_err *err)
{
	struct reading reading = {.options = options, .what = DNP_OPTIONS_ENV, .err = err};
	int ret = parse_all(&reading, (struct dnp_str){text, strnlen(text, DNP_OPTIONS_MAX + 1)});

	if (!ret && (options->fd >= 0) == (options->dir[0] != '\0'))
		return dnp_err(err, -EINVAL, "%s: needs one of 'fd' and 'dir'", reading.what);
	return ret;
}

int dnp_agent_options_parse_request(
	struct dnp_agent_options *options, struct dnp_str text, struct dnp_err *err)
{
	struct reading reading = {.options = options, .what = "the request", .err = err};
	int ret = parse_all(&reading, text);

	if (!ret && (options->fd >= 0 || options->dir[0] || options->session[0]))
		return dnp_err(err, -EINVAL,
			"%s: says where the recording goes, which its descriptor does",
			reading.what);
	return ret;
}

int dnp_agent_options_parse_client(
	struct dnp_agent_options *options, struct dnp_str text, struct dnp_err *err)
{
	struct reading reading = {.options = options, .what = "the client data", .err = err};
	int ret = parse_all(&reading, text);

	if (!ret && text.n && (options->fd >= 0 || !(options->dir[0] || options->leave_ms)))
		return dnp_err(err, -EINVAL, "%s: needs 'dir' and not 'fd'", reading.what);
	return ret;
}

struct out {
	char *text;
	size_t used, capacity; /* used > capacity: it did not fit */
};

static void put(struct out *out, char c)
{
	if (out->used < out->capacity)
		out->text[out->used] = c;
	out->used++;
}

static void put_text(struct out *out, const char *text)
{
	while (*text)
		put(out, *text++);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("/._-+:,@", c));
}

static void put_encoded(struct out *out, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *text; text++) {
		unsigned byte = (unsigned char)*text;

		if (is_plain(*text)) {
			put(out, *text);
		} else {
			put(out, '%');
			put(out, hex[byte >> 4]);
			put(out, hex[byte & 15]);
		}
	}
}

static void put_number(struct out *out, uint64_t number, bool is_signed)
{
	char digits[24];

	if (is_signed)
		snprintf(digits, sizeof(digits), "%lld", (long long)number);
	else
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	put_text(out, digits);
}

static void put_value(struct out *out, const struct key *key, uint64_t number)
{
	if (key->type == KEY_CHOICE)
		put_encoded(out, key->words[number]);
	else
		put_number(out, number, key->min < 0);
}

int dnp_agent_options_write(const struct dnp_agent_options *options, char *text, size_t capacity)
{
	struct out out = {text, 0, capacity};

	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *key = &keys[i];
		bool is_string = key->type == KEY_STRING;
		const char *string = (const char *)options + key->offset;
		uint64_t number = is_string ? 0 : load(options, key);

		if (is_string ? !*string : number == key->initial)
			continue;
		if (out.used)
			put(&out, ';');
		put_text(&out, key->name);
		put(&out, '=');
		if (is_string)
			put_encoded(&out, string);
		else
			put_value(&out, key, number);
	}
	if (out.used >= capacity || out.used > DNP_OPTIONS_MAX)
		return -E2BIG;
	text[out.used] = '\0';
	return (int)out.used;
}
