/* SPDX-License-Identifier: MIT */
#include "base/pattern.h"

#include <stdint.h>

/* Names have one behind each comma between types; a pattern need not. */
static bool is_blank_left_out(struct dnp_str pattern, size_t p, struct dnp_str name, size_t n)
{
	return n && name.p[n - 1] == ',' && name.p[n] == ' ' && p && pattern.p[p - 1] == ',' &&
		p < pattern.n && pattern.p[p] != ' ';
}

/* Only the last * has to be tried again at later places, so this is at worst n times m. */
static bool glob(struct dnp_str pattern, struct dnp_str name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = n;
		} else if (is_blank_left_out(pattern, p, name, n)) {
			n++;
		} else if (p < pattern.n && pattern.p[p] == name.p[n]) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

/* Of the bracket that the last one closes; 0: none. */
static size_t opening(struct dnp_str name)
{
	int depth = 0;

	for (size_t i = name.n; i-- > 0;) {
		depth += (name.p[i] == ')') - (name.p[i] == '(');
		if (!depth)
			return i;
	}
	return 0;
}

struct dnp_str dnp_name_arguments(struct dnp_str name)
{
	size_t at = name.n && name.p[name.n - 1] == ')' ? opening(name) : 0;
	const char *first;

	if (!at && name.n) {
		first = memchr(name.p, '(', name.n);
		at = first ? (size_t)(first - name.p) : 0;
	}
	if (!at || name.p[at - 1] == ' ')
		at = name.n;
	return (struct dnp_str){name.p + at, name.n - at};
}

bool dnp_pattern_match(struct dnp_str pattern, struct dnp_str name)
{
	return glob(pattern, dnp_name_bare(name)) ||
		(pattern.n && memchr(pattern.p, '(', pattern.n) && glob(pattern, name));
}

bool dnp_pattern_any(const char *const *patterns, size_t n, struct dnp_str name)
{
	for (size_t i = 0; i < n; i++)
		if (dnp_pattern_match(dnp_str(patterns[i]), name))
			return true;
	return false;
}

static struct dnp_str trim(struct dnp_str str)
{
	while (str.n && *str.p == ' ')
		str = (struct dnp_str){str.p + 1, str.n - 1};
	while (str.n && str.p[str.n - 1] == ' ')
		str.n--;
	return str;
}

static int nesting(char c)
{
	return (c == '(' || c == '<' || c == '[') - (c == ')' || c == '>' || c == ']');
}

bool dnp_pattern_cut(struct dnp_str *list, struct dnp_str *pattern)
{
	size_t n = 0;
	int depth = 0;

	if (!list->p)
		return false;
	for (; n < list->n && (list->p[n] != ',' || depth > 0); n++)
		depth += nesting(list->p[n]);
	*pattern = trim((struct dnp_str){list->p, n});
	*list = n < list->n ? (struct dnp_str){list->p + n + 1, list->n - n - 1}
			    : (struct dnp_str){NULL, 0};
	return true;
}

bool dnp_pattern_list(struct dnp_str list, struct dnp_str name)
{
	struct dnp_str pattern;

	if (!list.n)
		return false;
	while (dnp_pattern_cut(&list, &pattern))
		if (dnp_pattern_match(pattern, name))
			return true;
	return false;
}

static bool holds(struct dnp_str str, const char *text)
{
	return str.n && memmem(str.p, str.n, text, strlen(text));
}

/* Names close what they open, so that only a * can stand for the other bracket. */
static const char *unbalanced(struct dnp_str pattern)
{
	static const char pairs[] = "()<>[]";

	for (const char *pair = pairs; *pair; pair += 2) {
		int depth = 0;

		for (size_t i = 0; i < pattern.n && depth >= 0; i++)
			depth += (pattern.p[i] == pair[0]) - (pattern.p[i] == pair[1]);
		if (depth > 0 && (!holds(pattern, "*") || holds(pattern, ",")))
			return "a bracket is not closed";
		if (depth < 0 && !holds(pattern, "*"))
			return "a bracket is closed that was not opened";
	}
	return NULL;
}

static const char *wrong(struct dnp_str pattern, bool managed)
{
	if (!pattern.n)
		return "a pattern is empty";
	for (size_t i = 0; i < pattern.n; i++)
		if ((unsigned char)pattern.p[i] < ' ')
			return "it has a character that no name has";
	if (managed && holds(pattern, "!"))
		return "calls of native functions (library!symbol) are not recorded";
	if (managed && holds(pattern, "::"))
		return "the parts of Namespace.Type.Method are joined by a dot";
	return unbalanced(pattern);
}

const char *dnp_pattern_wrong(struct dnp_str list, bool managed, struct dnp_str *pattern)
{
	const char *why = NULL;

	*pattern = list;
	if (!list.n)
		return "a pattern is empty";
	while (!why && dnp_pattern_cut(&list, pattern))
		why = wrong(*pattern, managed);
	return why;
}
