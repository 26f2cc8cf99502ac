/* SPDX-License-Identifier: MIT */
/*
 * A raw name is a chain of parts, each with the separator before it ('.' or '+') and its generic
 * arguments behind it, and at the end the parameters:
 *
 *	App . Io + <Lines>d__7 <int> . MoveNext ( )
 *
 * A part that a compiler made begins with '<': `<of>rest`, where `of` is the name of the method it
 * was made for, which may be such a name itself: `<<Find>b__0>d` is the state machine of a lambda
 * in Find.
 */
#include "base/pretty.h"

#include <limits.h>
#include <stdio.h>

#include "base/clean.h"

enum { MAX_PARTS = 32, MAX_NESTING = 8, MIN_FILE_DIGITS = 32 };

struct part {
	char separator; /* 0 for the first */
	struct dnp_str name;
	struct dnp_str generics; /* with its brackets; may be empty */
};

struct name {
	struct part parts[MAX_PARTS];
	size_t n;
	struct dnp_str params; /* with its parentheses; may be empty */
};

static struct dnp_str slice(struct dnp_str s, size_t from, size_t to)
{
	return (struct dnp_str){s.p + from, to - from};
}

static bool starts_with(struct dnp_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

static bool equals(struct dnp_str s, const char *text)
{
	return s.n == strlen(text) && starts_with(s, text);
}

/* Where `needle` begins, or s.n. */
static size_t find(struct dnp_str s, const char *needle)
{
	const char *at = memmem(s.p, s.n, needle, strlen(needle));

	return at ? (size_t)(at - s.p) : s.n;
}

/* The index behind the bracket that closes the one at `open`, or 0. */
static size_t closing(struct dnp_str s, size_t open)
{
	int depth = 0;

	for (size_t i = open; i < s.n; i++) {
		depth += (s.p[i] == '<') - (s.p[i] == '>');
		if (!depth)
			return i + 1;
	}
	return 0;
}

static bool ends_name(char c)
{
	return c == '.' || c == '+' || c == '<' || c == '(';
}

/* The index behind the name that begins at `i`, or 0 if its brackets do not match. */
static size_t skip_name(struct dnp_str s, size_t i)
{
	if (i < s.n && s.p[i] == '<') {
		i = closing(s, i);
		if (!i)
			return 0;
	} else if (i < s.n && s.p[i] == '.') { /* .ctor, .cctor */
		i++;
	}
	while (i < s.n && !ends_name(s.p[i]))
		i++;
	return i;
}

/* Reads the part at *i and moves *i behind it. */
static bool parse_part(struct dnp_str raw, size_t *i, struct part *part)
{
	size_t start = *i;
	size_t end = skip_name(raw, start);

	if (end <= start)
		return false;
	part->name = slice(raw, start, end);
	start = end;
	if (end < raw.n && raw.p[end] == '<') {
		end = closing(raw, end);
		if (!end)
			return false;
	}
	part->generics = slice(raw, start, end);
	*i = end;
	return true;
}

static bool parse(struct dnp_str raw, struct name *name)
{
	size_t i = 0;
	char separator = '\0';

	for (name->n = 0; name->n < MAX_PARTS;) {
		struct part *part = &name->parts[name->n++];

		part->separator = separator;
		if (!parse_part(raw, &i, part))
			return false;
		if (i == raw.n || raw.p[i] == '(') {
			name->params = slice(raw, i, raw.n);
			return true;
		}
		separator = raw.p[i++];
		if (separator != '.' && separator != '+')
			return false;
	}
	return false;
}

/* Splits `<of>rest`; false for a name no compiler made. */
static bool split(struct dnp_str name, struct dnp_str *of, struct dnp_str *rest)
{
	size_t end = name.n && name.p[0] == '<' ? closing(name, 0) : 0;

	if (!end)
		return false;
	*of = slice(name, 1, end - 1);
	*rest = slice(name, end, name.n);
	return true;
}

/* Display class of lambdas: `<>c`, `<>c__5`, `<>c__DisplayClass5_0`. */
static bool is_closure(struct dnp_str name)
{
	return equals(name, "<>c") || starts_with(name, "<>c__");
}

/* Type of a state machine: `<Method>d__3`, or `<<Lambda>b__0>d`. */
static bool is_machine(struct dnp_str name)
{
	struct dnp_str of, rest;

	return split(name, &of, &rest) && of.n && (equals(rest, "d") || starts_with(rest, "d__"));
}

/* A method's name inside of a type's: explicit interface methods have '-' for '.' there. */
static void put_dotted(struct dnp_str name, struct dnp_text *out)
{
	for (size_t dash; (dash = find(name, "-")) < name.n; name = slice(name, dash + 1, name.n)) {
		dnp_text_put(out, slice(name, 0, dash));
		dnp_text_puts(out, ".");
	}
	dnp_text_put(out, name);
}

/* Its number among the lambdas and local functions of its method: of `b__5_2`, or of `b__2`. */
static unsigned lambda_number(struct dnp_str rest)
{
	unsigned number = 0;

	for (size_t i = strlen("b__"); i < rest.n; i++) {
		if (rest.p[i] == '_')
			number = 0;
		else if (rest.p[i] >= '0' && rest.p[i] <= '9' && number < UINT_MAX / 10)
			number = number * 10 + (unsigned)(rest.p[i] - '0');
		else
			break;
	}
	return number;
}

/* `.<lambda>`, and of others in the same method `.<lambda 1>`, `.<lambda 2>` … */
static void put_lambda(struct dnp_str rest, struct dnp_text *out)
{
	unsigned number = lambda_number(rest);
	char digits[16];

	dnp_text_puts(out, ".<lambda");
	if (number) {
		snprintf(digits, sizeof(digits), " %u", number);
		dnp_text_puts(out, digits);
	}
	dnp_text_puts(out, ">");
}

/* A method, or what a method's name was made into. */
static void put_method(struct dnp_str name, int nesting, struct dnp_text *out)
{
	struct dnp_str of, rest;

	if (nesting > MAX_NESTING || !split(name, &of, &rest) || !of.n) {
		if (nesting)
			put_dotted(name, out);
		else
			dnp_text_put(out, name);
	} else if (starts_with(rest, "b__")) {
		put_method(of, nesting + 1, out);
		put_lambda(rest, out);
	} else if (starts_with(rest, "g__")) {
		put_method(of, nesting + 1, out);
		dnp_text_puts(out, ".");
		dnp_text_put(out, slice(rest, 3, find(rest, "|")));
	} else if (!rest.n || equals(rest, "$")) {
		put_method(of, nesting + 1, out);
	} else {
		dnp_text_put(out, name);
	}
}

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

/* `<File>F0123…__Type`: a type that only its file sees. */
static bool put_file_type(struct dnp_str name, struct dnp_text *out)
{
	struct dnp_str of, rest;
	size_t i = 1;

	if (!split(name, &of, &rest) || !of.n || !starts_with(rest, "F"))
		return false;
	while (i < rest.n && is_digit(rest.p[i]))
		i++;
	if (i < 1 + MIN_FILE_DIGITS || !starts_with(slice(rest, i, rest.n), "__"))
		return false;
	dnp_text_put(out, slice(rest, i + 2, rest.n));
	return true;
}

static void put_type(struct dnp_str name, struct dnp_text *out)
{
	struct dnp_str of, rest;

	if (starts_with(name, "<>f__AnonymousType"))
		dnp_text_puts(out, "<anonymous type>");
	else if (split(name, &of, &rest) && of.n && equals(rest, "j__TPar"))
		dnp_text_put(out, of);
	else if (!put_file_type(name, out))
		dnp_text_put(out, name);
}

static const char *machine_name(enum dnp_machine machine)
{
	switch (machine) {
	case DNP_MACHINE_ASYNC: return " [async]";
	case DNP_MACHINE_ITERATOR: return " [iterator]";
	default: return " [state machine]";
	}
}

static void put_separator(char separator, bool of_method, struct dnp_text *out)
{
	if (separator)
		dnp_text_puts(out, separator == '.' || of_method ? "." : "+");
}

static void put_item(struct dnp_str item, int nesting, struct dnp_text *out);
static void put_parts(
	const struct name *name, size_t n, size_t machine, int nesting, struct dnp_text *out);

/* Where the list item that begins at `i` ends: a comma or the end of the list. */
static size_t item_end(struct dnp_str list, size_t i)
{
	int depth = 0;

	for (; i < list.n; i++) {
		char c = list.p[i];

		if (c == ',' && !depth)
			break;
		depth += (c == '<' || c == '[') - (c == '>' || c == ']');
	}
	return i;
}

/* `ref App.Io+<>c__DisplayClass4_0`: what a local function gets for the variables it shares. */
static bool is_closure_param(struct dnp_str param)
{
	struct name name;

	return starts_with(param, "ref ") && parse(slice(param, 4, param.n), &name) &&
		starts_with(name.parts[name.n - 1].name, "<>c__DisplayClass");
}

/* A list in brackets, of type arguments or parameters. */
static void put_list(struct dnp_str list, bool without_closures, int nesting, struct dnp_text *out)
{
	struct dnp_str items;
	bool first = true;

	if (list.n < 2) {
		dnp_text_put(out, list);
		return;
	}
	items = slice(list, 1, list.n - 1);
	dnp_text_put(out, slice(list, 0, 1));
	for (size_t i = 0, end; i < items.n; i = end + 1) {
		i += i && items.p[i] == ' ';
		end = item_end(items, i);
		if (without_closures && is_closure_param(slice(items, i, end)))
			continue;
		if (!first)
			dnp_text_puts(out, ", ");
		put_item(slice(items, i, end), nesting, out);
		first = false;
	}
	dnp_text_put(out, slice(list, list.n - 1, list.n));
}

/* A type in a list. */
static void put_item(struct dnp_str item, int nesting, struct dnp_text *out)
{
	struct name name;

	size_t end = item.n;

	if (starts_with(item, "ref ")) {
		dnp_text_puts(out, "ref ");
		item = slice(item, 4, item.n);
		end -= 4;
	}
	while (end && strchr("*[],", item.p[end - 1]))
		end--;
	if (nesting < MAX_NESTING && parse(slice(item, 0, end), &name) && !name.params.n)
		put_parts(&name, name.n, name.n, nesting + 1, out);
	else
		dnp_text_put(out, slice(item, 0, end));
	dnp_text_put(out, slice(item, end, item.n));
}

/*
 * The first n parts, which are types. Closures vanish before a name made from a method; that of
 * the state machine at index `machine` or later becomes its method's.
 */
static void put_parts(
	const struct name *name, size_t n, size_t machine, int nesting, struct dnp_text *out)
{
	size_t start = out->n;

	for (size_t i = 0; i < n; i++) {
		const struct part *part = &name->parts[i];
		bool is_method = is_machine(part->name) && i + 1 >= machine;
		struct dnp_str of, rest;

		if (is_closure(part->name) && i + 1 < name->n &&
			split(name->parts[i + 1].name, &of, &rest) && of.n)
			continue;
		put_separator(out->n > start ? part->separator : '\0', is_method, out);
		if (is_method && split(part->name, &of, &rest))
			put_method(of, 1, out);
		else
			put_type(part->name, out);
		put_list(part->generics, false, nesting, out);
	}
}

void dnp_pretty_name(struct dnp_str raw, enum dnp_machine machine, struct dnp_text *out)
{
	const struct part *method;
	struct name name;

	if (find(raw, "<") == raw.n || !parse(raw, &name)) {
		dnp_text_put(out, raw);
		return;
	}
	method = &name.parts[name.n - 1];
	if (name.n > 1 && is_machine(name.parts[name.n - 2].name) &&
		equals(method->name, "MoveNext")) {
		put_parts(&name, name.n - 1, name.n - 1, 0, out);
		dnp_text_puts(out, machine_name(machine));
		return;
	}
	put_parts(&name, name.n - 1, name.n, 0, out);
	put_separator(name.n > 1 ? '.' : '\0', true, out);
	put_method(method->name, 0, out);
	put_list(method->generics, false, 0, out);
	put_list(name.params, find(method->name, ">g__") < method->name.n, 0, out);
}
