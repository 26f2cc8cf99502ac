/* SPDX-License-Identifier: MIT */
#include "base/pretty.h"

#include "test.h"

static const char *pretty(const char *raw, enum dnp_machine machine)
{
	static char buffer[512];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_pretty_name(dnp_str(raw), machine, &text);
	return buffer;
}

#define CHECK_PRETTY(raw, want) CHECK_STR(pretty(raw, DNP_MACHINE_UNKNOWN), want)
#define CHECK_ASYNC(raw, want)  CHECK_STR(pretty(raw, DNP_MACHINE_ASYNC), want)

TEST(names_of_programmers_stay)
{
	static const char *const names[] = {
		"System.String.Join(string, object[])",
		"App.Outer<int>+Inner<string>.Find<T>(System.Collections.Generic.List<T>, ref int)",
		"App.Type..ctor(int)",
		"App.Type<System.Func<int, string>>..cctor()",
		"App.Type.System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator()",
		"Program.Call(delegate*<int, void>)",
		"[dynamic] lambda_method",
		"Odd.Na-me(int)",
		"",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_PRETTY(names[i], names[i]);
}

TEST(top_level_statements)
{
	CHECK_PRETTY("Program.<Main>$(string[])", "Program.Main(string[])");
	CHECK_PRETTY("App.Program.<Main>(string[])", "App.Program.Main(string[])");
	CHECK_ASYNC("Program+<<Main>$>d__0.MoveNext()", "Program.Main [async]");
	CHECK_PRETTY("Program.<<Main>$>g__Work|0_2(int)", "Program.Main.Work(int)");
	CHECK_PRETTY("Program+<>c.<<Main>$>b__0_1(int)", "Program.Main.<lambda 1>(int)");
}

TEST(state_machines)
{
	CHECK_ASYNC("App.Io+<ReadAsync>d__3.MoveNext()", "App.Io.ReadAsync [async]");
	CHECK_ASYNC("App.Io<int>+<ReadAsync>d__3<string, T>.MoveNext()",
		"App.Io<int>.ReadAsync<string, T> [async]");
	CHECK_STR(pretty("App.Io+<Lines>d__7.MoveNext()", DNP_MACHINE_ITERATOR),
		"App.Io.Lines [iterator]");
	CHECK_PRETTY("App.Io+<Lines>d__7.MoveNext()", "App.Io.Lines [state machine]");
	CHECK_PRETTY("App.Io+<Lines>d__7.System.IDisposable.Dispose()",
		"App.Io+<Lines>d__7.System.IDisposable.Dispose()");
	CHECK_PRETTY("App.Io+<Lines>d__7..ctor(int)", "App.Io+<Lines>d__7..ctor(int)");
	CHECK_STR(pretty("App.Io+<System-Collections-IEnumerable-GetEnumerator>d__4.MoveNext()",
			  DNP_MACHINE_ITERATOR),
		"App.Io.System.Collections.IEnumerable.GetEnumerator [iterator]");
}

TEST(lambdas_and_local_functions)
{
	CHECK_PRETTY("App.Io+<>c.<Find>b__5_0(string)", "App.Io.Find.<lambda>(string)");
	CHECK_PRETTY(
		"App.Io+<>c__DisplayClass1_0.<Find>b__0(string)", "App.Io.Find.<lambda>(string)");
	CHECK_PRETTY("App.Io<int>+<>c__5<string>.<Find>b__5_0(string)",
		"App.Io<int>.Find.<lambda>(string)");
	CHECK_PRETTY("App.Io.<Find>b__5_0()", "App.Io.Find.<lambda>()");
	CHECK_PRETTY("App.Io+<>c.<Find>b__5_1()", "App.Io.Find.<lambda 1>()");
	CHECK_PRETTY("App.Io+<>c__DisplayClass5_3.<Find>b__11()", "App.Io.Find.<lambda 11>()");
	CHECK_PRETTY("App.Io+<>c.<Find>b__5_9#1()", "App.Io.Find.<lambda 9>()");
	CHECK_PRETTY("App.Io.<<Find>b__5_0>b__5_1()", "App.Io.Find.<lambda>.<lambda 1>()");
	CHECK_PRETTY("App.Io.<Find>b__()", "App.Io.Find.<lambda>()");
	CHECK_PRETTY("App.Io.<Find>b__99999999999999999999()", "App.Io.Find.<lambda 999999999>()");
	CHECK_PRETTY("App.Io+<>c.<.ctor>b__5_0()", "App.Io..ctor.<lambda>()");
	CHECK_PRETTY("App.Io.<Find>g__Match|4_1<int>(int)", "App.Io.Find.Match<int>(int)");
	CHECK_PRETTY("App.Io+<>c__DisplayClass1_0.<Find>g__Match|0(int)", "App.Io.Find.Match(int)");
	CHECK_PRETTY("App.Io.<Find>g__Match|4_1(int, ref App.Io+<>c__DisplayClass4_0)",
		"App.Io.Find.Match(int)");
	CHECK_PRETTY("App.Io.<Find>g__Match|4_1(ref App.Io+<>c__DisplayClass4_0<int, T>, "
		     "ref App.Io+<>c__DisplayClass4_1, System.Func<int, int>, int[,])",
		"App.Io.Find.Match(System.Func<int, int>, int[,])");
	CHECK_PRETTY("App.Io.<Find>g__Match|4_1(ref App.Io+<>c__DisplayClass4_0)",
		"App.Io.Find.Match()");
	CHECK_ASYNC("App.Io+<>c+<<Find>b__5_0>d.MoveNext()", "App.Io.Find.<lambda> [async]");
	CHECK_ASYNC("App.Io+<>c__DisplayClass5_0+<<Find>g__Match|0>d<T>.MoveNext()",
		"App.Io.Find.Match<T> [async]");
}

TEST(closures_of_their_own_stay)
{
	CHECK_PRETTY("App.Io+<>c..ctor()", "App.Io+<>c..ctor()");
	CHECK_PRETTY("App.Io+<>c__DisplayClass1_0..ctor()", "App.Io+<>c__DisplayClass1_0..ctor()");
	CHECK_PRETTY("App.Io.Take(ref App.Io+<>c__DisplayClass1_0)",
		"App.Io.Take(ref App.Io+<>c__DisplayClass1_0)");
}

TEST(names_in_lists)
{
	CHECK_PRETTY("System.Builder<T>.Start<Work+<RunAsync>d__0<T>>(ref Work+<RunAsync>d__0<T>)",
		"System.Builder<T>.Start<Work.RunAsync<T>>(ref Work.RunAsync<T>)");
	CHECK_PRETTY("B<int>.Start<P+<>c__DisplayClass0_0+<<<Main>$>b__4>d>"
		     "(ref P+<>c__DisplayClass0_0+<<<Main>$>b__4>d, int[,])",
		"B<int>.Start<P.Main.<lambda 4>>(ref P.Main.<lambda 4>, int[,])");
	CHECK_PRETTY("<>f__AnonymousType0<int, <B>j__TPar>..ctor(int, <B>j__TPar)",
		"<anonymous type><int, B>..ctor(int, B)");
	CHECK_PRETTY("A.F(delegate*<int, B+<X>d__1*, void>)", "A.F(delegate*<int, B.X*, void>)");
	CHECK_PRETTY("A.F(B+<X>d__1[], C+<>c[])", "A.F(B.X[], C+<>c[])");
}

TEST(other_names_of_the_compiler)
{
	CHECK_PRETTY("<>f__AnonymousType0<int, string>.get_Name()",
		"<anonymous type><int, string>.get_Name()");
	CHECK_PRETTY("App.Point.<Clone>$()", "App.Point.Clone()");
	CHECK_PRETTY("Gen.<RegexGenerator_g>"
		     "F52D654BDA048862235925214B0048E3C6E5EE2A0F1B4A9__Word_0+Runner.Scan(int)",
		"Gen.Word_0+Runner.Scan(int)");
	CHECK_PRETTY("<PrivateImplementationDetails>.ComputeStringHash(string)",
		"<PrivateImplementationDetails>.ComputeStringHash(string)");
	CHECK_PRETTY("App.Io.<>n__0(int)", "App.Io.<>n__0(int)");
}

TEST(nonsense_stays)
{
	static const char *const names[] = {"<", "<<>", "a.<b", "a<b", "<>", "+", ".", "a..", "a.(",
		"<a>d__1", "a<b>c(d)", "a.<x>b__(<)", ">", "<a>>b", "a+(", "(", "a.b(…"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(pretty(names[i], DNP_MACHINE_UNKNOWN) != NULL);
	CHECK_PRETTY("App.Io+<Find>d__1<System.Collections.Gen…",
		"App.Io+<Find>d__1<System.Collections.Gen…");
}
