/* SPDX-License-Identifier: MIT */
#include "format/values.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/varint.h"

/* --- writing --- */

SIGSAFE void dnp_values_init(struct dnp_values *values, uint8_t *buffer, size_t cap)
{
	*values = (struct dnp_values){.p = buffer, .cap = cap};
}

/* Whether `n` bytes fit and one for MORE behind them; else ends the values. */
SIGSAFE static bool has_room(struct dnp_values *values, size_t n)
{
	if (values->full)
		return false;
	if (n < values->cap - values->n)
		return true;
	values->p[values->n++] = DNP_VALUE_MORE;
	values->full = true;
	return false;
}

SIGSAFE void dnp_values_put(struct dnp_values *values, enum dnp_value_tag tag)
{
	if (has_room(values, 1))
		values->p[values->n++] = (uint8_t)tag;
}

SIGSAFE static void add_number(struct dnp_values *values, uint64_t number)
{
	values->n = (size_t)(dnp_varint_put(values->p + values->n, number) - values->p);
}

SIGSAFE void dnp_values_put_number(
	struct dnp_values *values, enum dnp_value_tag tag, uint64_t number)
{
	if (!has_room(values, 1 + dnp_varint_size(number)))
		return;
	values->p[values->n++] = (uint8_t)tag;
	add_number(values, number);
}

SIGSAFE void dnp_values_put_bytes(
	struct dnp_values *values, enum dnp_value_tag tag, const void *bytes, size_t n)
{
	if (!has_room(values, 1 + n))
		return;
	values->p[values->n++] = (uint8_t)tag;
	memcpy(values->p + values->n, bytes, n);
	values->n += n;
}

SIGSAFE void dnp_values_put_struct(struct dnp_values *values, uint32_t type, uint32_t n_fields)
{
	if (!has_room(values, 1 + dnp_varint_size(type) + dnp_varint_size(n_fields)))
		return;
	values->p[values->n++] = DNP_VALUE_STRUCT;
	add_number(values, type);
	add_number(values, n_fields);
}

/* The code point at units[*i]; a lone half of a pair is U+FFFD. */
SIGSAFE static uint32_t next_unit(const uint16_t *units, size_t n, size_t *i)
{
	uint32_t first = units[(*i)++];

	if (first < 0xd800 || first > 0xdfff)
		return first;
	if (first > 0xdbff || *i >= n || units[*i] < 0xdc00 || units[*i] > 0xdfff)
		return DNP_UTF8_BAD;
	return 0x10000 + ((first & 0x3ff) << 10) + (units[(*i)++] & 0x3ffu);
}

SIGSAFE static size_t utf8_bytes(const uint16_t *units, size_t n)
{
	char bytes[4];
	size_t sum = 0;

	for (size_t i = 0; i < n;)
		sum += dnp_utf8_put(bytes, next_unit(units, n, &i));
	return sum;
}

SIGSAFE void dnp_values_put_string(
	struct dnp_values *values, const uint16_t *units, size_t n, bool cut)
{
	size_t bytes = utf8_bytes(units, n);
	uint64_t head = (uint64_t)bytes << 1 | cut;

	if (!has_room(values, 1 + dnp_varint_size(head) + bytes))
		return;
	values->p[values->n++] = DNP_VALUE_STRING;
	add_number(values, head);
	for (size_t i = 0; i < n;) {
		char code[4];
		size_t length = dnp_utf8_put(code, next_unit(units, n, &i));

		memcpy(values->p + values->n, code, length);
		values->n += length;
	}
}

/* --- text --- */

struct reader {
	const uint8_t *p, *end;
	dnp_value_type_name name;
	void *context;
	struct dnp_text *out;
	unsigned depth;
	bool bad;  /* damaged: nothing more is read */
	bool more; /* MORE was read */
};

static void put_value(struct reader *reader);

__attribute__((format(__printf__, 2, 3))) static void put_f(
	struct dnp_text *out, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dnp_text_puts(out, text);
}

static uint64_t get_number(struct reader *reader)
{
	uint64_t number = 0;
	const uint8_t *next = dnp_varint_get(reader->p, reader->end, &number);

	if (!next) {
		reader->bad = true;
		return 0;
	}
	reader->p = next;
	return number;
}

/* Copies the next n bytes; zeros where there are fewer. */
static void get_bytes(struct reader *reader, void *to, size_t n)
{
	memset(to, 0, n);
	if ((size_t)(reader->end - reader->p) < n) {
		reader->bad = true;
		return;
	}
	memcpy(to, reader->p, n);
	reader->p += n;
}

/* One character between quotes. */
static void put_code(struct dnp_text *out, uint32_t code, char quote)
{
	static const char escapes[] = "0\0a\7b\10t\11n\12v\13f\14r\15\\\\";
	char bytes[4];

	for (size_t i = 0; i + 1 < sizeof(escapes); i += 2)
		if (code == (uint8_t)escapes[i + 1]) {
			put_f(out, "\\%c", escapes[i]);
			return;
		}
	if (code == (uint8_t)quote)
		put_f(out, "\\%c", quote);
	else if ((code >= 0xd800 && code <= 0xdfff) || (code <= 0xffff && dnp_utf8_unsafe(code)))
		put_f(out, "\\u%04x", code);
	else if (code > 0x10ffff || dnp_utf8_unsafe(code))
		put_f(out, "\\U%08x", code);
	else
		dnp_text_put(out, (struct dnp_str){bytes, dnp_utf8_put(bytes, code)});
}

static void put_string(struct reader *reader)
{
	uint64_t head = get_number(reader);
	struct dnp_str text = {(const char *)reader->p, (size_t)(head >> 1)};

	if (reader->bad || text.n > (size_t)(reader->end - reader->p)) {
		reader->bad = true;
		return;
	}
	reader->p += text.n;
	dnp_text_puts(reader->out, "\"");
	for (size_t at = 0; at < text.n && !reader->out->cut;)
		put_code(reader->out, dnp_utf8_next(text, &at), '"');
	dnp_text_puts(reader->out, head & 1 ? "\"…" : "\"");
}

static void put_char(struct reader *reader)
{
	uint64_t code = get_number(reader);

	dnp_text_puts(reader->out, "'");
	put_code(reader->out, code <= UINT16_MAX ? (uint32_t)code : DNP_UTF8_BAD, '\'');
	dnp_text_puts(reader->out, "'");
}

#define DOUBLE_DIGITS 17 /* bring each number back; longer whole ones have an exponent */
#define FLOAT_DIGITS  9

/* The digits of a number, without those that are not needed to bring it back: 120 is 12, point 3.
 */
struct digits {
	char text[40]; /* as printf made it; digits are moved to its front */
	int n, point;
	bool negative;
};

static void find_digits(struct digits *digits, double value, bool is_double)
{
	int most = is_double ? DOUBLE_DIGITS : FLOAT_DIGITS;
	char *p = digits->text, *from;

	for (int n = 1; n <= most; n++) {
		snprintf(digits->text, sizeof(digits->text), "%.*e", n - 1, value);
		if (is_double ? strtod(p, NULL) == value : strtof(p, NULL) == (float)value)
			break;
	}
	digits->negative = *p == '-';
	digits->n = 0;
	for (from = p + digits->negative; *from != 'e'; from++)
		if (*from != '.')
			p[digits->n++] = *from;
	digits->point = (int)strtol(from + 1, NULL, 10) + 1;
}

/* n of them, zeros behind the last one. */
static void put_digits(struct dnp_text *out, const struct digits *digits, int from, int n)
{
	for (int i = from; i < from + n; i++)
		dnp_text_put(
			out, (struct dnp_str){i >= 0 && i < digits->n ? digits->text + i : "0", 1});
}

static void put_exponent(struct dnp_text *out, int exponent)
{
	char text[16];

	snprintf(text, sizeof(text), "E%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	dnp_text_puts(out, text);
}

/* As C# does: 120, 0.0001, 1E-05, 1.5E+20; its words for what is no number. */
static void put_floating(struct dnp_text *out, double value, bool is_double)
{
	int most = is_double ? DOUBLE_DIGITS : FLOAT_DIGITS, whole;
	struct digits digits;
	bool scaled;

	if (isnan(value) || isinf(value)) {
		dnp_text_puts(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
		return;
	}
	find_digits(&digits, value, is_double);
	scaled = digits.point > most || digits.point < -3;
	whole = scaled ? 1 : digits.point;
	if (digits.negative)
		dnp_text_puts(out, "-");
	if (whole > 0)
		put_digits(out, &digits, 0, whole);
	else
		dnp_text_puts(out, "0");
	if (digits.n > whole) {
		dnp_text_puts(out, ".");
		put_digits(out, &digits, whole, digits.n - whole);
	}
	if (scaled)
		put_exponent(out, digits.point - 1);
}

static void put_float(struct reader *reader)
{
	float value;

	get_bytes(reader, &value, sizeof(value));
	put_floating(reader->out, (double)value, false);
}

static void put_double(struct reader *reader)
{
	double value;

	get_bytes(reader, &value, sizeof(value));
	put_floating(reader->out, value, true);
}

/* System.Decimal: flags (scale in the third byte, sign on top), high, low 64 bits. */
static void put_decimal(struct reader *reader)
{
	struct {
		uint32_t flags, high;
		uint64_t low;
	} value;
	unsigned __int128 number;
	char digits[40], *p = digits + sizeof(digits);
	unsigned scale, n = 0;

	get_bytes(reader, &value, sizeof(value));
	scale = value.flags >> 16 & 0xff;
	number = (unsigned __int128)value.high << 64 | value.low;
	if (scale > 28) { /* no decimal at all */
		dnp_text_puts(reader->out, "?");
		return;
	}
	*--p = '\0';
	while (number || n <= scale) {
		*--p = (char)('0' + (int)(number % 10));
		number /= 10;
		if (++n == scale)
			*--p = '.';
	}
	if (value.flags >> 31)
		*--p = '-';
	dnp_text_puts(reader->out, p);
}

static void put_guid(struct reader *reader)
{
	struct {
		uint32_t a;
		uint16_t b, c;
		uint8_t d[8];
	} value;
	const uint8_t *d = value.d;

	get_bytes(reader, &value, sizeof(value));
	put_f(reader->out, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", value.a, value.b,
		value.c, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
}

#define TICKS_A_SECOND UINT64_C(10000000)
#define TICKS_A_DAY    (UINT64_C(86400) * TICKS_A_SECOND)

/* A time of day, with as much of the second as there is. */
static void put_clock(struct dnp_text *out, uint64_t ticks)
{
	uint64_t seconds = ticks / TICKS_A_SECOND, rest = ticks % TICKS_A_SECOND;

	put_f(out, "%02u:%02u:%02u", (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60),
		(unsigned)(seconds % 60));
	if (rest)
		put_f(out, ".%07u", (unsigned)rest);
}

/* The civil calendar from days since 0001-01-01; eras of 400 years begin on the first of March. */
static void put_day(struct dnp_text *out, uint64_t days)
{
	uint64_t from_march = days + 306, era = from_march / 146097, day = from_march % 146097;
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t of_year = day - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153; /* 0: March */
	uint64_t of_month = of_year - (153 * month + 2) / 5 + 1;

	year += era * 400 + (month >= 10);
	put_f(out, "%04u-%02u-%02u", (unsigned)year, (unsigned)(month < 10 ? month + 3 : month - 9),
		(unsigned)of_month);
}

/* System.DateTime: ticks since 0001-01-01, the kind in the top two bits (1: UTC). */
static void put_date(struct reader *reader)
{
	uint64_t value, ticks;

	get_bytes(reader, &value, sizeof(value));
	ticks = value & (UINT64_MAX >> 2);
	put_day(reader->out, ticks / TICKS_A_DAY);
	dnp_text_puts(reader->out, "T");
	put_clock(reader->out, ticks % TICKS_A_DAY);
	if (value >> 62 == 1)
		dnp_text_puts(reader->out, "Z");
}

/* As TimeSpan.ToString: days only where there are any. */
static void put_span(struct reader *reader)
{
	uint64_t ticks;
	int64_t value;

	get_bytes(reader, &value, sizeof(value));
	ticks = value < 0 ? -(uint64_t)value : (uint64_t)value;
	if (value < 0)
		dnp_text_puts(reader->out, "-");
	if (ticks >= TICKS_A_DAY)
		put_f(reader->out, "%u.", (unsigned)(ticks / TICKS_A_DAY));
	put_clock(reader->out, ticks % TICKS_A_DAY);
}

static struct dnp_str get_type(struct reader *reader)
{
	uint64_t type = get_number(reader);

	if (!type || type > UINT32_MAX)
		return (struct dnp_str){"", 0};
	return reader->name(reader->context, (uint32_t)type);
}

static void put_object(struct reader *reader)
{
	struct dnp_str name = get_type(reader);

	dnp_text_puts(reader->out, "<");
	dnp_text_put(reader->out, name.n ? name : dnp_str("object"));
	dnp_text_puts(reader->out, ">");
}

static void put_enum(struct reader *reader)
{
	struct dnp_str name = get_type(reader);

	if (name.n) {
		dnp_text_puts(reader->out, "(");
		dnp_text_put(reader->out, name);
		dnp_text_puts(reader->out, ")");
	}
	put_value(reader);
}

static void put_struct(struct reader *reader)
{
	struct dnp_str name = get_type(reader);
	uint64_t n = get_number(reader);

	dnp_text_put(reader->out, name);
	dnp_text_puts(reader->out, "{");
	for (uint64_t i = 0; i < n && !reader->bad && !reader->more; i++) {
		if (i)
			dnp_text_puts(reader->out, ", ");
		put_value(reader);
	}
	dnp_text_puts(reader->out, "}");
}

static void put_tagged(struct reader *reader, uint8_t tag)
{
	struct dnp_text *out = reader->out;

	switch ((enum dnp_value_tag)tag) {
	case DNP_VALUE_NULL: dnp_text_puts(out, "null"); break;
	case DNP_VALUE_TRUE: dnp_text_puts(out, "true"); break;
	case DNP_VALUE_FALSE: dnp_text_puts(out, "false"); break;
	case DNP_VALUE_VOID: dnp_text_puts(out, "void"); break;
	case DNP_VALUE_OUT: dnp_text_puts(out, "out"); break;
	case DNP_VALUE_UNKNOWN: dnp_text_puts(out, "?"); break;
	case DNP_VALUE_MORE:
		dnp_text_puts(out, "…");
		reader->more = true;
		break;
	case DNP_VALUE_CHAR: put_char(reader); break;
	case DNP_VALUE_INT: put_f(out, "%lld", (long long)dnp_unzigzag(get_number(reader))); break;
	case DNP_VALUE_UINT: put_f(out, "%llu", (unsigned long long)get_number(reader)); break;
	case DNP_VALUE_POINTER: put_f(out, "0x%llx", (unsigned long long)get_number(reader)); break;
	case DNP_VALUE_FLOAT: put_float(reader); break;
	case DNP_VALUE_DOUBLE: put_double(reader); break;
	case DNP_VALUE_DECIMAL: put_decimal(reader); break;
	case DNP_VALUE_GUID: put_guid(reader); break;
	case DNP_VALUE_DATE: put_date(reader); break;
	case DNP_VALUE_SPAN: put_span(reader); break;
	case DNP_VALUE_STRING: put_string(reader); break;
	case DNP_VALUE_OBJECT: put_object(reader); break;
	case DNP_VALUE_ENUM: put_enum(reader); break;
	case DNP_VALUE_STRUCT: put_struct(reader); break;
	case DNP_VALUE_REF:
		dnp_text_puts(out, "ref ");
		put_value(reader);
		break;
	default: reader->bad = true; break;
	}
}

static void put_value(struct reader *reader)
{
	if (reader->p == reader->end || reader->depth > DNP_VALUES_MAX_DEPTH)
		reader->bad = true;
	if (reader->bad)
		return;
	reader->depth++;
	put_tagged(reader, *reader->p++);
	reader->depth--;
}

int dnp_values_text(const uint8_t *values, size_t n, dnp_value_type_name name, void *context,
	struct dnp_text *out)
{
	struct reader reader = {
		.p = values, .end = values + n, .name = name, .context = context, .out = out};

	for (bool first = true; reader.p < reader.end && !reader.bad && !reader.more;
		first = false) {
		if (!first)
			dnp_text_puts(out, ", ");
		put_value(&reader);
	}
	if (reader.bad)
		dnp_text_puts(out, "?");
	return reader.bad ? -EBADMSG : 0;
}
