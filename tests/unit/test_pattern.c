/* SPDX-License-Identifier: MIT */
/* Patterns on names, lists of them, and what is part of .NET. */
#include "base/framework.h"
#include "base/pattern.h"

#include "test.h"

static bool match(const char *pattern, const char *name)
{
	return dnp_pattern_match(dnp_str(pattern), dnp_str(name));
}

static bool listed(const char *list, const char *name)
{
	return dnp_pattern_list(dnp_str(list), dnp_str(name));
}

TEST(patterns)
{
	CHECK(match("A.B.C", "A.B.C(int, string)"));
	CHECK(match("A.*", "A.B.C()"));
	CHECK(match("*B*C", "A.B.C()"));
	CHECK(match("*(string)", "A.B.C(string)"));
	CHECK(match("A.B.C(int,string, A.D<int,*>)", "A.B.C(int, string, A.D<int, long>)"));
	CHECK(match("*(*,string)", "A.B.C(int, string)"));
	CHECK(!match("A.B.C(int,string)", "A.B.C(int, long, string)"));
	CHECK(!match("A.B.C(int, string)", "A.B.C(int,string)"));
	/* Brackets of the name itself are no arguments. */
	CHECK(match("T.parses (full) twice", "T.parses (full) twice(int)"));
	CHECK(match("*twice", "T.parses (full) twice(int)"));
	CHECK(match("T.parses (full) twice(int)", "T.parses (full) twice(int)"));
	CHECK(!match("T.parses", "T.parses (full) twice(int)"));
	CHECK(match("*.f", "T+sub (mod).f(System.Func<(int, string)>)"));
	CHECK(match("f", "f(void (*)(int)) const"));
	CHECK(match("*::f", "(anonymous namespace)::f(int)"));
	CHECK(!match("f", "f)"));
	CHECK(match("gen 0 (allocation)", "gen 0 (allocation)") &&
		!match("gen 0", "gen 0 (allocation)"));
	CHECK(match("*", ""));
	CHECK(match("(unknown)", "(unknown)"));
	CHECK(!match("A.B", "A.B.C()"));
	CHECK(!match("B.C", "A.B.C()"));
	CHECK(!match("", "A"));
	CHECK(!match("*aaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST(lists_of_patterns)
{
	CHECK(listed("A.*,B.*", "B.C()"));
	CHECK(listed("A.*, B.*", "B.C()"));
	CHECK(listed("A.F(int, string),C", "A.F(int, string)"));
	CHECK(!listed("A.F(int, string),C", "A.F(int)"));
	CHECK(listed("M<K,V>.Get,C", "C()"));
	CHECK(!listed("A.*,B.*", "C.D()"));
	CHECK(!listed("", "A"));
}

TEST(lists_are_cut)
{
	struct dnp_str list = dnp_str("a,b<c,d> ,"), pattern;

	CHECK(dnp_pattern_cut(&list, &pattern) && dnp_str_eq(pattern, dnp_str("a")));
	CHECK(dnp_pattern_cut(&list, &pattern) && dnp_str_eq(pattern, dnp_str("b<c,d>")));
	CHECK(dnp_pattern_cut(&list, &pattern) && !pattern.n);
	CHECK(!dnp_pattern_cut(&list, &pattern));
}

static const char *wrong(const char *list)
{
	struct dnp_str pattern;

	return dnp_pattern_wrong(dnp_str(list), true, &pattern);
}

TEST(patterns_that_match_nothing)
{
	struct dnp_str pattern;

	CHECK(!wrong("A.*,*Foo(int, string)"));
	CHECK(!wrong("System.Collections.Generic.List<*"));
	CHECK(!wrong("App.Program.<Main>$,*.<lambda>"));
	CHECK(!wrong("*>.Add,*(string*"));
	CHECK_STR(wrong(""), "a pattern is empty");
	CHECK_STR(wrong("A.*,"), "a pattern is empty");
	CHECK_STR(wrong(" , A.*"), "a pattern is empty");
	CHECK_STR(wrong("A.F(int"), "a bracket is not closed");
	CHECK_STR(wrong("A<*,B.*"), "a bracket is not closed");
	CHECK_STR(wrong("A.F int)"), "a bracket is closed that was not opened");
	CHECK_STR(wrong("libc.so.6!malloc"),
		"calls of native functions (library!symbol) are not recorded");
	CHECK_STR(wrong("A::B"), "the parts of Namespace.Type.Method are joined by a dot");
	CHECK_STR(wrong("A\tB"), "it has a character that no name has");
	CHECK(dnp_pattern_wrong(dnp_str("A.*,B::C,D"), true, &pattern));
	CHECK(dnp_str_eq(pattern, dnp_str("B::C")));
	CHECK(!dnp_pattern_wrong(dnp_str("libfoo.so!ns::f"), false, &pattern));
}

static bool framework(const char *name, const char *path)
{
	return dnp_framework_has(dnp_str(name), dnp_str(path));
}

TEST(what_is_part_of_dotnet)
{
	CHECK(framework("System.Linq", ""));
	CHECK(framework("mscorlib", ""));
	CHECK(framework("", "/app/System.Private.CoreLib.dll"));
	CHECK(framework("", "/app/netstandard.dll"));
	CHECK(framework(
		"WhatEver", "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.1/WhatEver.dll"));
	CHECK(framework("PresentationCore",
		"C:\\Program Files\\dotnet\\shared\\Microsoft.WindowsDesktop.App\\10.0.1\\"
		"PresentationCore.dll"));
	CHECK(framework("", "C:\\app\\System.Private.CoreLib.dll"));
	CHECK(!framework("Shop", "C:\\shared\\Microsoft\\Shop.dll"));
	CHECK(!framework("Systematic", "/app/Systematic.dll"));
	CHECK(!framework("", "/app/Shop.dll"));
	CHECK(!framework("", ""));
}
