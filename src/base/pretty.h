/* SPDX-License-Identifier: MIT */
/*
 * Names of methods as the programmer wrote them, from the names the C# compiler made.
 *
 *	App.Program.<Main>$(string[])                     App.Program.Main(string[])
 *	App.Io+<ReadAsync>d__3<int>.MoveNext()            App.Io.ReadAsync<int> [async]
 *	App.Io+<Lines>d__7.MoveNext()                     App.Io.Lines [iterator]
 *	App.Io+<>c__DisplayClass1_0.<Find>b__0(string)    App.Io.Find.<lambda>(string)
 *	App.Io+<>c.<Find>b__1_2(string)                   App.Io.Find.<lambda 2>(string)
 *	App.Io.<Find>g__Match|4_1(ref <closure>, int)     App.Io.Find.Match(int)
 *
 * Recordings keep the raw names; whoever shows them calls this. Sources: the public behaviour of
 * Roslyn (GeneratedNames) and names seen in running programs.
 */
#ifndef DNP_BASE_PRETTY_H
#define DNP_BASE_PRETTY_H

#include "base/text.h"

/* What the raw name alone does not tell of a `MoveNext`. */
enum dnp_machine {
	DNP_MACHINE_UNKNOWN = 0, /* shown as [state machine] */
	DNP_MACHINE_ASYNC = 1,
	DNP_MACHINE_ITERATOR = 2,
};

/*
 * Writes the pretty form of a full method name `Namespace.Type+Nested<T>.Method<U>(args)`. A name
 * that no compiler made, or that is not understood, is written as it is. Allocates nothing; any
 * thread.
 */
void dnp_pretty_name(struct dnp_str raw, enum dnp_machine machine, struct dnp_text *out);

#endif
