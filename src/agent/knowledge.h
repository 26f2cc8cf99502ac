/* SPDX-License-Identifier: MIT */
/*
 * What is known of the program's managed code and threads. The runtime tells of what is new, and is
 * asked for what was there before: so it is for as long as somebody needs it, a recording or a
 * dump, and in between nothing is known, nothing told, and nothing costs. All but the notifications
 * is the recorder's, or comes before it runs.
 */
#ifndef DNP_AGENT_KNOWLEDGE_H
#define DNP_AGENT_KNOWLEDGE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"
#include "clr/com.h"
#include "clr/prf.h"

/*
 * From now on code is known, what was there before as well; but for `at_startup`, when there is
 * none. The runtime has to tell of code already (dnp_events_set). 0 or -errno.
 */
int dnp_knowledge_begin(bool at_startup, struct dnp_err *err);

/* From now on threads are known to the engines, which have to run. */
void dnp_knowledge_threads(bool at_startup);

/* Nobody needs it any more: no engine runs. The runtime is to tell nothing. */
void dnp_knowledge_end(void);

enum dnp_knowledge_of {
	DNP_KNOWLEDGE_NONE,   /* the runtime cannot be asked, or not now */
	DNP_KNOWLEDGE_STUB,   /* generated code that is of no method */
	DNP_KNOWLEDGE_METHOD, /* and it is known now */
};

/*
 * Asks whose code is at an address that is not known: methods that were compiled before are not all
 * in the runtime's list, dynamic ones are missing; and one thread may run what another has compiled
 * before that one has told of it.
 */
enum dnp_knowledge_of dnp_knowledge_ask(uintptr_t pc);

/*
 * The label of a type that is loaded now, see struct dnp_engine_setting. Any thread, outside of
 * handlers.
 */
uint32_t dnp_knowledge_type_label(ClassID class_id, struct dnp_str name);

/* The same without a name, see there. In a callback of the runtime. */
uint32_t dnp_knowledge_class_label(ClassID class_id);

/* What a label says; asks for the names of types, if they can still be asked for. */
void dnp_knowledge_label(uint32_t number, struct dnp_text *text);

/* The runtime has loaded a module. */
void dnp_knowledge_loaded(ModuleID module);

/* The runtime is about to unload a module, and has. Returns when nobody asks for its methods. */
void dnp_knowledge_unloading(ModuleID module);
void dnp_knowledge_unloaded(void);

/* A managed thread ends; before anything else is done about that, on that thread. */
void dnp_knowledge_thread_ends(ThreadID thread);

#endif
