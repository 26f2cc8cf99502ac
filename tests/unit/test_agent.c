/* SPDX-License-Identifier: MIT */
/* What the agent's callbacks wait for, with a walk that goes on meanwhile. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "activation.h"
#include "agent/callbacks.h"
#include "agent/control.h"
#include "agent/agent.h"
#include "agent/engines.h"
#include "agent/knowledge.h"
#include "agent/methods.h"
#include "agent/pipe.h"
#include "agent/recorder.h"
#include "clr/codemap.h"
#include "clr/hresult.h"
#include "clr/lifetime.h"
#include "clr/metadata.h"
#include "format/control.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/labels.h"
#include "unwind/managed.h"
#include "unwind/target.h"

#define FRAMES_MAX 64
#define MANAGED    ((ThreadID)0x1000)
#define MODULE     ((ModuleID)0x2000)

static uint64_t walk_ns; /* that a walk lasts */
static _Atomic int tid;
static _Atomic bool may_end, walked_after_end, walked_after_unload;

static bool walk_goes_on(void)
{
	return dnp_target_since() != UINT64_MAX;
}

/* Cannot be stopped, so that a walk of it lasts; the runtime says that it ends meanwhile. */
static void *run_thread(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	atomic_store(&tid, dnp_thread_id());
	while (!atomic_load(&may_end))
		usleep(100);
	dnp_com(dnp_agent_callback(), ThreadDestroyed, MANAGED);
	atomic_store(&walked_after_end, walk_goes_on());
	return arg;
}

static void *run_walk(void *arg)
{
	static dnp_frame_word frames[FRAMES_MAX];
	struct dnp_target_stack stack = {
		.frames = frames, .max = FRAMES_MAX, .patience_ns = walk_ns};

	dnp_target_walk(atomic_load(&tid), NULL, DNP_TARGET_STOP, &stack);
	return arg;
}

static void *run_unload(void *arg)
{
	dnp_com(dnp_agent_callback(), ModuleUnloadStarted, MODULE);
	atomic_store(&walked_after_unload, walk_goes_on());
	return arg;
}

/* Whether the walk was seen to go on; false: it was over before anybody could look. */
static bool hold_up(void)
{
	pthread_t thread, walker, unloader;
	uint64_t since_ns;
	bool goes_on;

	atomic_store(&tid, 0);
	atomic_store(&may_end, false);
	CHECK_EQ(pthread_create(&thread, NULL, run_thread, NULL), 0);
	while (!atomic_load(&tid))
		usleep(100);
	CHECK_EQ(pthread_create(&walker, NULL, run_walk, NULL), 0);
	while ((since_ns = dnp_target_since()) == UINT64_MAX)
		usleep(100);

	dnp_com(dnp_agent_callback(), ThreadDestroyed, MANAGED); /* this thread, that is */
	goes_on = walk_goes_on();
	CHECK(goes_on || dnp_now_ns() - since_ns >= walk_ns);

	CHECK_EQ(pthread_create(&unloader, NULL, run_unload, NULL), 0);
	atomic_store(&may_end, true);
	pthread_join(thread, NULL);
	pthread_join(unloader, NULL);
	CHECK(!walked_after_end);
	CHECK(!walked_after_unload);
	pthread_join(walker, NULL);
	return goes_on;
}

TEST(agent_holds_up_who_ends_for_its_own_walk_and_who_unloads_for_any)
{
	act_as_the_runtime();
	walk_ns = UINT64_C(1000000000);
	while (!hold_up())
		walk_ns *= 2;
}

static int choose(const char *events, struct dnp_err *err)
{
	struct dnp_agent_options options;

	dnp_agent_options_init(&options);
	strcpy(options.event, events);
	return dnp_engines_choose(&options, false, err);
}

TEST(agent_says_that_there_is_no_room_for_an_event_or_its_companion)
{
	char events[128] = "cpu";
	struct dnp_err err;

	for (int i = 2; i < DNP_EVENTS_MAX; i++)
		strcat(events, ",cpu");
	CHECK_EQ(choose(events, &err), 0);
	strcat(events, ",lock"); /* which takes two */
	CHECK_EQ(choose(events, &err), -EINVAL);
	CHECK(strstr(err.text, "'lock' cannot be recorded: a recording holds"));
	dnp_engines_forget();
}

/* Its launcher sees that folder, not TMPDIR: a name from where the program is, or a link, says
 * nothing there. */
TEST(agent_tells_where_its_socket_is)
{
	char folder[] = "/tmp/dnprof-test-XXXXXX", path[64] = "", name[64];

	snprintf(name, sizeof(name), DNP_CONTROL_NAME, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	CHECK(mkdtemp(folder) && !chdir(folder));
	CHECK(!mkdir("session", 0700));
	CHECK(!symlink(folder, "link") && !setenv("TMPDIR", "./link", 1));
	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_control_open(), 0);
	dnp_control_tell("session");
	CHECK(!chdir("session") && readlink(name, path, sizeof(path) - 1) > 0);
	CHECK_STR(path, folder);
	CHECK(!unlink(name) && !chdir(folder));
	dnp_control_close();
	dnp_control_tell("session"); /* which has no socket any more */
	dnp_watch_close();
	CHECK(!unlink("link") && !rmdir("session") && !rmdir(folder));
}

/* ---- A runtime with List<Item[]>.Add, where Item is a type of a module that can go away */

enum { CORE = 0x3000, PLUGIN = 0x3100, SECOND = 0x3200 };
enum { LIST = 0x4000, ITEMS = 0x4100, ITEM = 0x4200, PAIR = 0x4500, OF_SECOND = 0x4600 };
enum { ADD = 0x5000, CODE = 0x600000 };

static bool classes_are_told = true;

static HRESULT DNP_COM function_info(ICorProfilerInfo *self, FunctionID function,
	COR_PRF_FRAME_INFO frame, ClassID *class, ModuleID *module, mdToken *token, uint32_t max,
	uint32_t *n, ClassID *args)
{
	(void)self;
	(void)frame;
	(void)max;
	(void)args;
	CHECK_EQ(function, ADD);
	*class = LIST;
	*module = CORE;
	*token = 0x06000000; /* its name is told as that of a dynamic one, without metadata */
	*n = 0;
	return S_OK;
}

static HRESULT DNP_COM dynamic_info(ICorProfilerInfo *self, FunctionID function, ModuleID *module,
	const uint8_t **sig, uint32_t *sig_bytes, uint32_t max, uint32_t *length, WCHAR *name)
{
	(void)self;
	(void)function;
	(void)max;
	*module = CORE;
	*sig = NULL;
	*sig_bytes = 0;
	name[0] = 'A';
	name[1] = 0;
	*length = 2;
	return S_OK;
}

static HRESULT DNP_COM array_class(
	ICorProfilerInfo *self, ClassID class, uint32_t *type, ClassID *element, uint32_t *rank)
{
	(void)self;
	(void)type;
	(void)rank;
	*element = class == ITEMS ? ITEM : 0;
	return class == ITEMS ? S_OK : S_FALSE;
}

static HRESULT DNP_COM class_info(ICorProfilerInfo *self, ClassID class, ModuleID *module,
	mdTypeDef *token, ClassID *parent, uint32_t max, uint32_t *n, ClassID *args)
{
	(void)self;
	CHECK(max > 0);
	if (!classes_are_told)
		return CORPROF_E_DATAINCOMPLETE;
	*module = class == ITEM ? PLUGIN : class == OF_SECOND ? SECOND : CORE;
	*token = 0x02000001;
	if (parent)
		*parent = 0;
	*n = class == PAIR ? 2 : class == LIST;
	if (*n)
		args[0] = ITEMS;
	if (class == PAIR)
		args[1] = OF_SECOND;
	return S_OK;
}

static HRESULT DNP_COM module_info(ICorProfilerInfo *self, ModuleID module, const uint8_t **base,
	uint32_t max, uint32_t *length, WCHAR *name, AssemblyID *assembly, uint32_t *flags)
{
	(void)self;
	*base = NULL;
	*length = 1;
	if (max)
		name[0] = 0;
	*assembly = 0;
	*flags = module == PLUGIN || module == SECOND ? COR_PRF_MODULE_COLLECTIBLE : 0;
	return S_OK;
}

static HRESULT DNP_COM no_metadata(ICorProfilerInfo *self, ModuleID module, uint32_t flags,
	const struct dnp_guid *iid, IUnknown **object)
{
	(void)self;
	(void)module;
	(void)flags;
	(void)iid;
	*object = NULL;
	return E_FAIL;
}

static HRESULT DNP_COM no_assembly(ICorProfilerInfo *self, AssemblyID assembly, uint32_t max,
	uint32_t *length, WCHAR *name, AppDomainID *domain, ModuleID *module)
{
	(void)self;
	(void)assembly;
	(void)max;
	(void)length;
	(void)name;
	(void)domain;
	(void)module;
	return E_FAIL;
}

static void act_as_a_runtime_with_a_plugin(void)
{
	static struct ICorProfilerInfoVtbl table = {
		.GetFunctionInfo2 = function_info,
		.GetDynamicFunctionInfo = dynamic_info,
		.IsArrayClass = array_class,
		.GetClassIDInfo2 = class_info,
		.GetModuleInfo2 = module_info,
		.GetModuleMetaData = no_metadata,
		.GetAssemblyInfo = no_assembly,
	};
	static ICorProfilerInfo runtime = {.vtbl = &table};

	dnp_agent.info = (struct dnp_info){.com = &runtime, .version = 14};
}

TEST(agent_forgets_code_of_a_generic_with_the_types_it_was_made_over)
{
	struct dnp_code code = {.begin = CODE, .bytes = 16};

	act_as_a_runtime_with_a_plugin();
	dnp_methods_module_loaded(CORE);
	dnp_methods_module_loaded(PLUGIN);
	code.method = dnp_methods_traced(ADD);
	CHECK(code.method);
	CHECK_EQ(dnp_codemap_add(dnp_walk_codemap(), &code, 1), 0);
	dnp_methods_module_unloading(CORE + 1);
	CHECK(dnp_codemap_find(dnp_walk_codemap(), CODE));
	dnp_methods_module_unloading(PLUGIN);
	CHECK(!dnp_codemap_find(dnp_walk_codemap(), CODE));
}

TEST(method_lasts_as_long_as_the_runtime_says_so)
{
	ModuleID with = 1;

	act_as_a_runtime_with_a_plugin();
	CHECK(!dnp_module_ends(&dnp_agent.info, CORE));
	CHECK(!dnp_method_ends(&dnp_agent.info, ADD, &with));
	CHECK_EQ(with, 0);
	CHECK(dnp_module_ends(&dnp_agent.info, PLUGIN));
	CHECK(dnp_method_ends(&dnp_agent.info, ADD, &with));
	CHECK_EQ(with, PLUGIN);
	classes_are_told = false;
	CHECK(dnp_method_ends(&dnp_agent.info, ADD, &with));
	CHECK_EQ(with, 0);
	dnp_lifetime_forget();
	CHECK(!dnp_method_ends(&dnp_agent.info, ADD, &with));
}

/* ---- The same, where each type is called Item and is within another one */

enum { TYPE = 0x02000001, ENCLOSING = 0x02000002 };
enum { LATE = 0x4300, LASTING = 0x4400 };

static const char *enclosing_name;

static uint32_t DNP_COM release_metadata(IMetaDataImport *self)
{
	(void)self;
	return 1;
}

static HRESULT DNP_COM type_name(IMetaDataImport *self, mdTypeDef type, WCHAR *name, uint32_t max,
	uint32_t *length, uint32_t *flags, mdToken *extends)
{
	const char *given = type == TYPE ? "Item" : enclosing_name;

	(void)self;
	(void)max;
	(void)flags;
	(void)extends;
	*length = 0;
	while ((name[*length] = (WCHAR)(unsigned char)given[*length]))
		++*length;
	++*length;
	return S_OK;
}

static HRESULT DNP_COM type_around(IMetaDataImport *self, mdTypeDef type, mdTypeDef *enclosing)
{
	(void)self;
	*enclosing = ENCLOSING;
	return type == TYPE ? S_OK : E_FAIL;
}

static HRESULT DNP_COM metadata_of_types(ICorProfilerInfo *self, ModuleID module, uint32_t flags,
	const struct dnp_guid *iid, IUnknown **object)
{
	static const struct IMetaDataImportVtbl table = {
		.Release = release_metadata,
		.GetTypeDefProps = type_name,
		.GetNestedClassProps = type_around,
	};
	static IMetaDataImport metadata = {&table};

	(void)self;
	(void)module;
	(void)flags;
	(void)iid;
	*object = (IUnknown *)(void *)&metadata;
	return S_OK;
}

static uint32_t label_of(ClassID class)
{
	return dnp_knowledge_type_label(class, dnp_str("Item"));
}

static void check_label(uint32_t number, const char *name)
{
	char buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_knowledge_label(number, &text);
	CHECK(dnp_str_eq(dnp_text_since(&text, 0), dnp_str(name)));
}

/* The runtime tells what came with the event alone: of a nested type, the last of its names. */
TEST(type_that_comes_in_the_place_of_another_has_its_own_name)
{
	static struct ICorProfilerInfoVtbl table = {
		.IsArrayClass = array_class,
		.GetClassIDInfo2 = class_info,
		.GetModuleInfo2 = module_info,
		.GetModuleMetaData = metadata_of_types,
	};
	static ICorProfilerInfo runtime = {.vtbl = &table};
	uint32_t item, late, lasting;
	ModuleID with;

	dnp_agent.info = (struct dnp_info){.com = &runtime, .version = 14};
	dnp_methods_module_loaded(PLUGIN);
	enclosing_name = "A.Outer";
	item = label_of(ITEM);
	late = label_of(LATE);
	lasting = label_of(LASTING);
	check_label(item, "A.Outer+Item");
	check_label(lasting, "A.Outer+Item");
	CHECK_EQ(label_of(ITEM), item);
	CHECK(dnp_class_ends_with(&dnp_agent.info, LIST, &with));
	CHECK_EQ(with, PLUGIN);
	CHECK(dnp_class_ends_with(&dnp_agent.info, PAIR, &with));
	CHECK_EQ(with, 0);
	CHECK(!dnp_class_ends_with(&dnp_agent.info, LASTING, &with));
	/* That another module is unloaded is nothing to it. */
	dnp_knowledge_unloading(CORE + 1);
	dnp_knowledge_unloaded();
	CHECK_EQ(label_of(ITEM), item);
	dnp_knowledge_unloading(PLUGIN);
	dnp_knowledge_unloaded();
	enclosing_name = "B.Other";
	CHECK(label_of(ITEM) != item);
	check_label(label_of(ITEM), "B.Other+Item");
	/* One that does not go away is what it was; of one that was not asked for, nobody knows. */
	CHECK_EQ(label_of(LASTING), lasting);
	CHECK_EQ(label_of(LATE), late);
	check_label(late, "Item");
	dnp_labels_forget();
}

/* ---- A runtime with methods of two modules, whose paths are a letter */

static unsigned modules_asked;
static bool functions_are_told = true;

/* Modules are 0x10 apart, as their methods are. */
static HRESULT DNP_COM function_of_two(ICorProfilerInfo *self, FunctionID function,
	COR_PRF_FRAME_INFO frame, ClassID *class, ModuleID *module, mdToken *token, uint32_t max,
	uint32_t *n, ClassID *args)
{
	(void)self;
	(void)frame;
	(void)max;
	(void)args;
	*class = 0;
	*module = function - ADD + CORE;
	*token = 0x06000000;
	*n = 0;
	return functions_are_told ? S_OK : E_FAIL;
}

static HRESULT DNP_COM dynamic_of_two(ICorProfilerInfo *self, FunctionID function, ModuleID *module,
	const uint8_t **sig, uint32_t *sig_bytes, uint32_t max, uint32_t *length, WCHAR *name)
{
	HRESULT hr = dynamic_info(self, function, module, sig, sig_bytes, max, length, name);

	*module = function - ADD + CORE;
	return functions_are_told ? hr : E_FAIL;
}

static HRESULT DNP_COM module_of_two(ICorProfilerInfo *self, ModuleID module, const uint8_t **base,
	uint32_t max, uint32_t *length, WCHAR *name, AssemblyID *assembly, uint32_t *flags)
{
	HRESULT hr = module_info(self, module, base, max, length, name, assembly, flags);

	CHECK(max > 1);
	name[0] = (WCHAR)('a' + (module - CORE) / 0x10);
	name[1] = 0;
	*length = 2;
	modules_asked++;
	return hr;
}

static void check_module(uint32_t number, const char *path)
{
	struct dnp_method_text text;

	CHECK(dnp_methods_text(number, &text));
	CHECK_STR(text.module.p, path);
	CHECK_EQ(text.module.n, strlen(path));
}

TEST(methods_have_their_own_modules_and_these_are_asked_for_once_in_a_row)
{
	static struct ICorProfilerInfoVtbl table = {
		.GetFunctionInfo2 = function_of_two,
		.GetDynamicFunctionInfo = dynamic_of_two,
		.GetModuleInfo2 = module_of_two,
		.GetModuleMetaData = no_metadata,
		.GetAssemblyInfo = no_assembly,
	};
	static ICorProfilerInfo runtime = {.vtbl = &table};
	uint32_t a = dnp_methods_number(ADD), b = dnp_methods_number(ADD + 0x10);
	struct dnp_method_text text;

	dnp_agent.info = (struct dnp_info){.com = &runtime, .version = 14};
	check_module(a, "a");
	check_module(a, "a");
	CHECK_EQ(modules_asked, 1);
	check_module(b, "b");
	check_module(a, "a");
	CHECK_EQ(modules_asked, 3);
	/* Of another module, but not told: nothing of it stays. */
	functions_are_told = false;
	CHECK(!dnp_methods_text(b, &text));
	functions_are_told = true;
	check_module(a, "a");
	check_module(b, "b");
	CHECK_EQ(modules_asked, 4);
}

/* ---- Unloadings */

static _Atomic bool unloaded;

static HRESULT DNP_COM list_modules(ICorProfilerInfo *self, ICorProfilerModuleEnum **list)
{
	(void)self;
	CHECK(atomic_load(&unloaded));
	*list = NULL;
	return E_FAIL;
}

static HRESULT DNP_COM list_functions(ICorProfilerInfo *self, ICorProfilerFunctionEnum **list)
{
	(void)self;
	*list = NULL;
	return E_FAIL;
}

static void *end_unloading(void *unused)
{
	usleep(50000);
	atomic_store(&unloaded, true);
	dnp_knowledge_unloaded();
	return unused;
}

/* An unloading that had begun before we listened ends: the next one is waited for all the same. */
TEST(unloading_is_waited_for_before_the_runtime_is_asked)
{
	static struct ICorProfilerInfoVtbl table = {
		.EnumModules = list_modules,
		.EnumJITedFunctions2 = list_functions,
	};
	static ICorProfilerInfo runtime = {.vtbl = &table};
	struct dnp_err err;
	pthread_t thread;

	dnp_agent.info = (struct dnp_info){.com = &runtime, .version = 14};
	dnp_knowledge_unloaded();
	dnp_knowledge_unloading(MODULE);
	CHECK_EQ(pthread_create(&thread, NULL, end_unloading, NULL), 0);
	CHECK_EQ(dnp_knowledge_begin(false, &err), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static unsigned n_lists;
static bool listed;

static HRESULT DNP_COM next_module(
	ICorProfilerModuleEnum *self, uint32_t max, ModuleID *modules, uint32_t *n)
{
	(void)self;
	(void)max;
	modules[0] = MODULE;
	*n = 1;
	return S_OK;
}

static uint32_t DNP_COM release_list(ICorProfilerModuleEnum *self)
{
	(void)self;
	listed = false;
	return 0;
}

/* Another unloading begins while modules are listed, and lasts. */
static HRESULT DNP_COM list_and_unload(ICorProfilerInfo *self, ICorProfilerModuleEnum **list)
{
	static struct ICorProfilerModuleEnumVtbl table = {
		.Release = release_list, .Next = next_module};
	static ICorProfilerModuleEnum modules = {.vtbl = &table};

	(void)self;
	dnp_knowledge_unloading(MODULE);
	listed = true;
	n_lists++;
	*list = &modules;
	return S_OK;
}

/* Each is waited for, for a second: what is void again after three is not asked for any more. */
TEST(lists_that_stay_void_are_given_up)
{
	static struct ICorProfilerInfoVtbl table = {
		.EnumModules = list_and_unload,
		.EnumJITedFunctions2 = list_functions,
	};
	static ICorProfilerInfo runtime = {.vtbl = &table};
	struct dnp_err err;

	dnp_agent.info = (struct dnp_info){.com = &runtime, .version = 14};
	CHECK_EQ(dnp_knowledge_begin(false, &err), 0);
	CHECK(n_lists >= 1 && n_lists <= 4);
	CHECK(!listed);
}

/* ---- The recorder */

static bool has_begun;

static void note_begin(void)
{
	has_begun = true;
}

TEST(recorder_that_is_stopped_before_it_may_begin_does_not)
{
	char folder[] = "/tmp/dnprof-test-XXXXXX";
	struct dnp_err err;

	CHECK(mkdtemp(folder) && !setenv("TMPDIR", folder, 1));
	CHECK_EQ(dnp_recorder_open(note_begin), 0);
	CHECK_EQ(dnp_recorder_start(&err), 0);
	CHECK(dnp_recorder_stop(DNP_END_EXIT));
	CHECK(!has_begun);
	dnp_watch_close();
	CHECK(!rmdir(folder));
}

/* ---- A session of events */

static int n_sessions;

static HRESULT DNP_COM start_session(ICorProfilerInfo *self, uint32_t n,
	COR_PRF_EVENTPIPE_PROVIDER_CONFIG *configs, BOOL rundown, EVENTPIPE_SESSION *session)
{
	(void)self;
	(void)rundown;
	CHECK(n == 1 && configs->keywords == 1);
	*session = 77;
	n_sessions++;
	return S_OK;
}

static HRESULT DNP_COM stop_session(ICorProfilerInfo *self, EVENTPIPE_SESSION session)
{
	(void)self;
	CHECK_EQ(session, 77);
	n_sessions--;
	return S_OK;
}

/* As the recorder. */
static void *lack_memory_for_threads(void *unused)
{
	struct dnp_provider_wish wishes[DNP_PROVIDERS] = {
		[DNP_PROVIDER_RUNTIME] = {.keywords = 1, .level = COR_PRF_EVENTPIPE_INFORMATIONAL}};
	struct rlimit all, none;
	struct dnp_err err;

	CHECK_EQ(dnp_pipe_start(wishes, "gc", NULL, &err), 0);
	CHECK_EQ(n_sessions, 1);
	CHECK_EQ(getrlimit(RLIMIT_AS, &all), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
	CHECK(!dnp_pipe_stop());
	CHECK(dnp_pipe_start(wishes, "gc", NULL, &err) < 0 && strstr(err.text, "no memory"));
	CHECK_EQ(setrlimit(RLIMIT_AS, &all), 0);
	CHECK_EQ(n_sessions, 1);
	CHECK_EQ(dnp_pipe_start(wishes, "gc", NULL, &err), 0);
	CHECK_EQ(n_sessions, 1);
	CHECK(dnp_pipe_stop() && dnp_pipe_stop());
	CHECK_EQ(n_sessions, 0);
	return unused;
}

/* The runtime would make events for a library that has gone. */
TEST(session_that_could_not_be_ended_is_ended_later)
{
	static struct ICorProfilerInfoVtbl table = {
		.EventPipeStartSession = start_session,
		.EventPipeStopSession = stop_session,
	};
	static ICorProfilerInfo runtime = {.vtbl = &table};
	struct dnp_own_thread thread;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	SKIP("sanitizers need memory");
#endif
	dnp_agent.info = (struct dnp_info){.com = &runtime, .version = 14};
	atomic_store(&dnp_agent.presence, DNP_HERE);
	CHECK_EQ(dnp_own_thread_start(&thread, lack_memory_for_threads, NULL), 0);
	dnp_own_thread_join(&thread);
}
