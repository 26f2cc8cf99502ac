/* SPDX-License-Identifier: MIT */
/*
 * Types and constants of the profiling interface, with the CLR's names. Values: Microsoft Learn,
 * "Profiling Enumerations" and "Profiling Structures", and corprof.idl of dotnet/runtime.
 */
#ifndef DNP_CLR_PRF_H
#define DNP_CLR_PRF_H

#include "clr/com.h"

/*
 * Ids are opaque addresses inside the runtime; they may be reused after the unload callback of
 * what they name.
 */
typedef uintptr_t ProcessID;
typedef uintptr_t AppDomainID;
typedef uintptr_t AssemblyID;
typedef uintptr_t ModuleID;
typedef uintptr_t ClassID;
typedef uintptr_t FunctionID;
typedef uintptr_t ReJITID;
typedef uintptr_t ThreadID;
typedef uintptr_t ContextID;
typedef uintptr_t ObjectID;
typedef uintptr_t GCHandleID;
typedef void **ObjectHandleID;
typedef uintptr_t COR_PRF_ELT_INFO;   /* valid inside the hook it was passed to */
typedef uintptr_t COR_PRF_FRAME_INFO; /* valid inside the callback it was passed to */
typedef uintptr_t EVENTPIPE_PROVIDER;
typedef uintptr_t EVENTPIPE_EVENT;
typedef uint64_t EVENTPIPE_SESSION;

typedef union FunctionIDOrClientID {
	FunctionID functionID;
	uintptr_t clientID; /* what the mapper returned */
} FunctionIDOrClientID;

/* Metadata tokens: table number in the top byte, row number below it; row 0 means none. */
typedef uint32_t mdToken;
typedef mdToken mdModule, mdTypeRef, mdTypeDef, mdFieldDef, mdMethodDef, mdParamDef;
typedef mdToken mdInterfaceImpl, mdMemberRef, mdCustomAttribute, mdPermission, mdSignature;
typedef mdToken mdEvent, mdProperty, mdModuleRef, mdTypeSpec, mdString, mdGenericParam;
typedef mdToken mdMethodSpec, mdGenericParamConstraint;
typedef mdToken mdAssembly, mdAssemblyRef, mdFile, mdExportedType, mdManifestResource;

#define TypeFromToken(token) ((mdToken)(token)&0xff000000u)
#define RidFromToken(token)  ((mdToken)(token)&0x00ffffffu)
#define IsNilToken(token)    (RidFromToken(token) == 0)

enum {
	mdtModule = 0x00000000,
	mdtTypeRef = 0x01000000,
	mdtTypeDef = 0x02000000,
	mdtFieldDef = 0x04000000,
	mdtMethodDef = 0x06000000,
	mdtParamDef = 0x08000000,
	mdtInterfaceImpl = 0x09000000,
	mdtMemberRef = 0x0a000000,
	mdtCustomAttribute = 0x0c000000,
	mdtSignature = 0x11000000,
	mdtEvent = 0x14000000,
	mdtProperty = 0x17000000,
	mdtModuleRef = 0x1a000000,
	mdtTypeSpec = 0x1b000000,
	mdtAssembly = 0x20000000,
	mdtAssemblyRef = 0x23000000,
	mdtFile = 0x26000000,
	mdtExportedType = 0x27000000,
	mdtManifestResource = 0x28000000,
	mdtGenericParam = 0x2a000000,
	mdtMethodSpec = 0x2b000000,
	mdtGenericParamConstraint = 0x2c000000,
};

/* How GetModuleMetaData opens a module's metadata (the part of CorOpenFlags that is used). */
enum { ofRead = 0x0, ofWrite = 0x1 };

/* CorTypeAttr, the part that is used. */
enum {
	tdVisibilityMask = 0x00000007,
	tdNestedPublic = 0x00000002, /* this and higher: nested in another type */
};

/* CorMethodAttr, the part that is used. */
enum { mdStatic = 0x0010, mdPinvokeImpl = 0x2000 };

/* Event mask, low word (SetEventMask, SetEventMask2). */
#define COR_PRF_MONITOR_NONE                                 0x00000000u
#define COR_PRF_MONITOR_FUNCTION_UNLOADS                     0x00000001u
#define COR_PRF_MONITOR_CLASS_LOADS                          0x00000002u
#define COR_PRF_MONITOR_MODULE_LOADS                         0x00000004u
#define COR_PRF_MONITOR_ASSEMBLY_LOADS                       0x00000008u
#define COR_PRF_MONITOR_APPDOMAIN_LOADS                      0x00000010u
#define COR_PRF_MONITOR_JIT_COMPILATION                      0x00000020u
#define COR_PRF_MONITOR_EXCEPTIONS                           0x00000040u
#define COR_PRF_MONITOR_GC                                   0x00000080u
#define COR_PRF_MONITOR_OBJECT_ALLOCATED                     0x00000100u
#define COR_PRF_MONITOR_THREADS                              0x00000200u
#define COR_PRF_MONITOR_REMOTING                             0x00000400u
#define COR_PRF_MONITOR_CODE_TRANSITIONS                     0x00000800u
#define COR_PRF_MONITOR_ENTERLEAVE                           0x00001000u
#define COR_PRF_MONITOR_CCW                                  0x00002000u
#define COR_PRF_MONITOR_REMOTING_COOKIE                      0x00004400u
#define COR_PRF_MONITOR_REMOTING_ASYNC                       0x00008400u
#define COR_PRF_MONITOR_SUSPENDS                             0x00010000u
#define COR_PRF_MONITOR_CACHE_SEARCHES                       0x00020000u
#define COR_PRF_ENABLE_REJIT                                 0x00040000u
#define COR_PRF_ENABLE_INPROC_DEBUGGING                      0x00080000u
#define COR_PRF_ENABLE_JIT_MAPS                              0x00100000u
#define COR_PRF_DISABLE_INLINING                             0x00200000u
#define COR_PRF_DISABLE_OPTIMIZATIONS                        0x00400000u
#define COR_PRF_ENABLE_OBJECT_ALLOCATED                      0x00800000u
#define COR_PRF_MONITOR_CLR_EXCEPTIONS                       0x01000000u
#define COR_PRF_ENABLE_FUNCTION_ARGS                         0x02000000u
#define COR_PRF_ENABLE_FUNCTION_RETVAL                       0x04000000u
#define COR_PRF_ENABLE_FRAME_INFO                            0x08000000u
#define COR_PRF_ENABLE_STACK_SNAPSHOT                        0x10000000u
#define COR_PRF_USE_PROFILE_IMAGES                           0x20000000u
#define COR_PRF_DISABLE_TRANSPARENCY_CHECKS_UNDER_FULL_TRUST 0x40000000u
#define COR_PRF_DISABLE_ALL_NGEN_IMAGES                      0x80000000u

/*
 * What an attaching profiler may ask for, as documented. .NET 10 also takes DISABLE_INLINING and
 * DISABLE_OPTIMIZATIONS then.
 */
#define COR_PRF_ALLOWABLE_AFTER_ATTACH                                                             \
	(COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_MODULE_LOADS | COR_PRF_MONITOR_ASSEMBLY_LOADS | \
		COR_PRF_MONITOR_APPDOMAIN_LOADS | COR_PRF_ENABLE_STACK_SNAPSHOT |                  \
		COR_PRF_MONITOR_GC | COR_PRF_MONITOR_SUSPENDS | COR_PRF_MONITOR_CLASS_LOADS |      \
		COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_MONITOR_JIT_COMPILATION |                     \
		COR_PRF_ENABLE_REJIT)

/* What can be set in Initialize only. */
#define COR_PRF_MONITOR_IMMUTABLE                                                                  \
	(COR_PRF_MONITOR_CODE_TRANSITIONS | COR_PRF_MONITOR_REMOTING |                             \
		COR_PRF_MONITOR_REMOTING_COOKIE | COR_PRF_MONITOR_REMOTING_ASYNC |                 \
		COR_PRF_ENABLE_INPROC_DEBUGGING | COR_PRF_ENABLE_JIT_MAPS |                        \
		COR_PRF_DISABLE_OPTIMIZATIONS | COR_PRF_DISABLE_INLINING |                         \
		COR_PRF_ENABLE_OBJECT_ALLOCATED | COR_PRF_ENABLE_FUNCTION_ARGS |                   \
		COR_PRF_ENABLE_FUNCTION_RETVAL | COR_PRF_ENABLE_FRAME_INFO |                       \
		COR_PRF_USE_PROFILE_IMAGES |                                                       \
		COR_PRF_DISABLE_TRANSPARENCY_CHECKS_UNDER_FULL_TRUST |                             \
		COR_PRF_DISABLE_ALL_NGEN_IMAGES)

/* Event mask, high word (SetEventMask2). */
#define COR_PRF_HIGH_MONITOR_NONE                     0x00000000u
#define COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES          0x00000001u
#define COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED        0x00000002u
#define COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS 0x00000004u
#define COR_PRF_HIGH_DISABLE_TIERED_COMPILATION       0x00000008u
#define COR_PRF_HIGH_BASIC_GC                         0x00000010u
#define COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS         0x00000020u
#define COR_PRF_HIGH_MONITOR_LARGEOBJECT_ALLOCATED    0x00000040u
#define COR_PRF_HIGH_MONITOR_EVENT_PIPE               0x00000080u
#define COR_PRF_HIGH_MONITOR_PINNEDOBJECT_ALLOCATED   0x00000100u

#define COR_PRF_HIGH_ALLOWABLE_AFTER_ATTACH                                                        \
	(COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED | COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS |  \
		COR_PRF_HIGH_BASIC_GC | COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS |                    \
		COR_PRF_HIGH_MONITOR_LARGEOBJECT_ALLOCATED | COR_PRF_HIGH_MONITOR_EVENT_PIPE)

#define COR_PRF_HIGH_MONITOR_IMMUTABLE COR_PRF_HIGH_DISABLE_TIERED_COMPILATION

/* DoStackSnapshot: what the callback is given (info_flags). */
enum {
	COR_PRF_SNAPSHOT_DEFAULT = 0x0,
	COR_PRF_SNAPSHOT_REGISTER_CONTEXT = 0x1, /* a CONTEXT of the frame */
	COR_PRF_SNAPSHOT_X86_OPTIMIZED = 0x2,    /* x86 only */
};

/* Ids that mean something else than an object of the runtime. */
#define PROFILER_PARENT_UNKNOWN 0xfffffffdu
#define PROFILER_GLOBAL_CLASS   0xfffffffeu
#define PROFILER_GLOBAL_MODULE  0xffffffffu

typedef enum COR_PRF_JIT_CACHE {
	COR_PRF_CACHED_FUNCTION_FOUND = 0, /* found is 0 */
	COR_PRF_CACHED_FUNCTION_NOT_FOUND = 1,
} COR_PRF_JIT_CACHE;

typedef enum COR_PRF_TRANSITION_REASON {
	COR_PRF_TRANSITION_CALL = 0,
	COR_PRF_TRANSITION_RETURN = 1,
} COR_PRF_TRANSITION_REASON;

typedef enum COR_PRF_SUSPEND_REASON {
	COR_PRF_SUSPEND_OTHER = 0,
	COR_PRF_SUSPEND_FOR_GC = 1,
	COR_PRF_SUSPEND_FOR_APPDOMAIN_SHUTDOWN = 2,
	COR_PRF_SUSPEND_FOR_CODE_PITCHING = 3,
	COR_PRF_SUSPEND_FOR_SHUTDOWN = 4,
	COR_PRF_SUSPEND_FOR_INPROC_DEBUGGER = 6,
	COR_PRF_SUSPEND_FOR_GC_PREP = 7,
	COR_PRF_SUSPEND_FOR_REJIT = 8,
	COR_PRF_SUSPEND_FOR_PROFILER = 9,
} COR_PRF_SUSPEND_REASON;

typedef enum COR_PRF_RUNTIME_TYPE {
	COR_PRF_DESKTOP_CLR = 0x1,
	COR_PRF_CORE_CLR = 0x2,
} COR_PRF_RUNTIME_TYPE;

/* RequestReJITWithInliners (rejit_flags). */
enum {
	COR_PRF_REJIT_BLOCK_INLINING = 0x1,
	COR_PRF_REJIT_INLINING_CALLBACKS = 0x2,
};

/* ICorProfilerFunctionControl::SetCodegenFlags. */
enum {
	COR_PRF_CODEGEN_DISABLE_INLINING = 0x1,
	COR_PRF_CODEGEN_DISABLE_ALL_OPTIMIZATIONS = 0x2,
	COR_PRF_CODEGEN_DEBUG_INFO = 0x3,
};

typedef enum COR_PRF_STATIC_TYPE {
	COR_PRF_FIELD_NOT_A_STATIC = 0x0,
	COR_PRF_FIELD_APP_DOMAIN_STATIC = 0x1,
	COR_PRF_FIELD_THREAD_STATIC = 0x2,
	COR_PRF_FIELD_CONTEXT_STATIC = 0x4,
	COR_PRF_FIELD_RVA_STATIC = 0x8,
} COR_PRF_STATIC_TYPE;

typedef enum COR_PRF_GC_REASON {
	COR_PRF_GC_OTHER = 0,
	COR_PRF_GC_INDUCED = 1, /* GC.Collect */
} COR_PRF_GC_REASON;

typedef enum COR_PRF_GC_GENERATION {
	COR_PRF_GC_GEN_0 = 0,
	COR_PRF_GC_GEN_1 = 1,
	COR_PRF_GC_GEN_2 = 2,
	COR_PRF_GC_LARGE_OBJECT_HEAP = 3,
	COR_PRF_GC_PINNED_OBJECT_HEAP = 4,
} COR_PRF_GC_GENERATION;

typedef enum COR_PRF_GC_ROOT_KIND {
	COR_PRF_GC_ROOT_OTHER = 0,
	COR_PRF_GC_ROOT_STACK = 1,
	COR_PRF_GC_ROOT_FINALIZER = 2,
	COR_PRF_GC_ROOT_HANDLE = 3,
} COR_PRF_GC_ROOT_KIND;

typedef enum COR_PRF_GC_ROOT_FLAGS {
	COR_PRF_GC_ROOT_PINNING = 0x1,
	COR_PRF_GC_ROOT_WEAKREF = 0x2,
	COR_PRF_GC_ROOT_INTERIOR = 0x4,
	COR_PRF_GC_ROOT_REFCOUNTED = 0x8,
} COR_PRF_GC_ROOT_FLAGS;

/* FinalizeableObjectQueued (finalizer_flags). */
enum { COR_PRF_FINALIZER_CRITICAL = 0x1 };

typedef enum COR_PRF_HANDLE_TYPE {
	COR_PRF_HANDLE_TYPE_WEAK = 0x1,
	COR_PRF_HANDLE_TYPE_STRONG = 0x2,
	COR_PRF_HANDLE_TYPE_PINNED = 0x3,
} COR_PRF_HANDLE_TYPE;

typedef enum COR_PRF_CLAUSE_TYPE {
	COR_PRF_CLAUSE_NONE = 0,
	COR_PRF_CLAUSE_FILTER = 1,
	COR_PRF_CLAUSE_CATCH = 2,
	COR_PRF_CLAUSE_FINALLY = 3,
} COR_PRF_CLAUSE_TYPE;

/* GetModuleInfo2 (module_flags). */
enum {
	COR_PRF_MODULE_DISK = 0x1,
	COR_PRF_MODULE_NGEN = 0x2,
	COR_PRF_MODULE_DYNAMIC = 0x4, /* Reflection.Emit */
	COR_PRF_MODULE_COLLECTIBLE = 0x8,
	COR_PRF_MODULE_RESOURCE = 0x10,
	COR_PRF_MODULE_FLAT_LAYOUT = 0x20, /* base address is a flat file, not a mapped image */
	COR_PRF_MODULE_WINDOWS_RUNTIME = 0x40,
};

/* EventPipe: levels and parameter types. */
enum {
	COR_PRF_EVENTPIPE_LOGALWAYS = 0,
	COR_PRF_EVENTPIPE_CRITICAL = 1,
	COR_PRF_EVENTPIPE_ERROR = 2,
	COR_PRF_EVENTPIPE_WARNING = 3,
	COR_PRF_EVENTPIPE_INFORMATIONAL = 4,
	COR_PRF_EVENTPIPE_VERBOSE = 5,
};

enum {
	COR_PRF_EVENTPIPE_OBJECT = 1,
	COR_PRF_EVENTPIPE_BOOLEAN = 3,
	COR_PRF_EVENTPIPE_CHAR = 4,
	COR_PRF_EVENTPIPE_SBYTE = 5,
	COR_PRF_EVENTPIPE_BYTE = 6,
	COR_PRF_EVENTPIPE_INT16 = 7,
	COR_PRF_EVENTPIPE_UINT16 = 8,
	COR_PRF_EVENTPIPE_INT32 = 9,
	COR_PRF_EVENTPIPE_UINT32 = 10,
	COR_PRF_EVENTPIPE_INT64 = 11,
	COR_PRF_EVENTPIPE_UINT64 = 12,
	COR_PRF_EVENTPIPE_SINGLE = 13,
	COR_PRF_EVENTPIPE_DOUBLE = 14,
	COR_PRF_EVENTPIPE_DECIMAL = 15,
	COR_PRF_EVENTPIPE_DATETIME = 16,
	COR_PRF_EVENTPIPE_GUID = 17,
	COR_PRF_EVENTPIPE_STRING = 18,
	COR_PRF_EVENTPIPE_ARRAY = 19,
};

/* ilOffset values of COR_DEBUG_IL_TO_NATIVE_MAP that are no offsets. */
#define COR_PRF_IL_NO_MAPPING 0xffffffffu
#define COR_PRF_IL_PROLOG     0xfffffffeu
#define COR_PRF_IL_EPILOG     0xfffffffdu

typedef struct COR_DEBUG_IL_TO_NATIVE_MAP {
	uint32_t ilOffset;
	uint32_t nativeStartOffset;
	uint32_t nativeEndOffset;
} COR_DEBUG_IL_TO_NATIVE_MAP;

typedef struct COR_IL_MAP {
	uint32_t oldOffset;
	uint32_t newOffset;
	BOOL fAccurate;
} COR_IL_MAP;

typedef struct COR_FIELD_OFFSET {
	mdFieldDef ridOfField;
	uint32_t ulOffset; /* from the ObjectID */
} COR_FIELD_OFFSET;

typedef struct COR_PRF_CODE_INFO {
	uintptr_t startAddress;
	size_t size;
} COR_PRF_CODE_INFO;

typedef struct COR_PRF_FUNCTION {
	FunctionID functionId;
	ReJITID reJitId;
} COR_PRF_FUNCTION;

typedef struct COR_PRF_METHOD {
	ModuleID moduleId;
	mdMethodDef methodId;
} COR_PRF_METHOD;

typedef struct COR_PRF_FUNCTION_ARGUMENT_RANGE {
	uintptr_t startAddress;
	uint32_t length;
} COR_PRF_FUNCTION_ARGUMENT_RANGE;

typedef struct COR_PRF_FUNCTION_ARGUMENT_INFO {
	uint32_t numRanges;
	uint32_t totalArgumentSize;
	COR_PRF_FUNCTION_ARGUMENT_RANGE ranges[1]; /* numRanges of them */
} COR_PRF_FUNCTION_ARGUMENT_INFO;

typedef struct COR_PRF_GC_GENERATION_RANGE {
	COR_PRF_GC_GENERATION generation;
	ObjectID rangeStart;
	uintptr_t rangeLength;
	uintptr_t rangeLengthReserved;
} COR_PRF_GC_GENERATION_RANGE;

typedef struct COR_PRF_NONGC_HEAP_RANGE {
	ObjectID rangeStart;
	uintptr_t rangeLength;
	uintptr_t rangeLengthReserved;
} COR_PRF_NONGC_HEAP_RANGE;

typedef struct COR_PRF_EX_CLAUSE_INFO {
	COR_PRF_CLAUSE_TYPE clauseType;
	uintptr_t programCounter; /* entry of the handler */
	uintptr_t framePointer;
	uintptr_t shadowStackPointer;
} COR_PRF_EX_CLAUSE_INFO;

typedef struct COR_PRF_EVENTPIPE_PROVIDER_CONFIG {
	const WCHAR *providerName;
	uint64_t keywords;
	uint32_t loggingLevel;
	const WCHAR *filterData;
} COR_PRF_EVENTPIPE_PROVIDER_CONFIG;

typedef struct COR_PRF_EVENTPIPE_PARAM_DESC {
	uint32_t type;
	uint32_t elementType;
	const WCHAR *name;
} COR_PRF_EVENTPIPE_PARAM_DESC;

typedef struct COR_PRF_EVENT_DATA {
	uint64_t ptr;
	uint32_t size;
	uint32_t reserved;
} COR_PRF_EVENT_DATA;

typedef struct COR_PRF_FILTER_DATA {
	uint64_t Ptr;
	uint32_t Size;
	uint32_t Type;
} COR_PRF_FILTER_DATA;

typedef struct OSINFO {
	uint32_t dwOSPlatformId;
	uint32_t dwOSMajorVersion;
	uint32_t dwOSMinorVersion;
} OSINFO;

typedef struct ASSEMBLYMETADATA {
	uint16_t usMajorVersion;
	uint16_t usMinorVersion;
	uint16_t usBuildNumber;
	uint16_t usRevisionNumber;
	WCHAR *szLocale;
	uint32_t cbLocale; /* WCHARs */
	uint32_t *rProcessor;
	uint32_t ulProcessor;
	OSINFO *rOS;
	uint32_t ulOS;
} ASSEMBLYMETADATA;

typedef struct COR_PRF_ASSEMBLY_REFERENCE_INFO {
	void *pbPublicKeyOrToken;
	uint32_t cbPublicKeyOrToken;
	const WCHAR *szName;
	ASSEMBLYMETADATA *pMetaData;
	void *pbHashValue;
	uint32_t cbHashValue;
	uint32_t dwAssemblyRefFlags;
} COR_PRF_ASSEMBLY_REFERENCE_INFO;

/*
 * Functions the runtime calls. The enter, leave and tailcall hooks without "WithInfo" are not
 * called by this convention: they are assembly, and get their argument where the JIT leaves it.
 */
typedef uintptr_t DNP_COM FunctionIDMapper(FunctionID function_id, BOOL *hook);
typedef uintptr_t DNP_COM FunctionIDMapper2(FunctionID function_id, void *client_data, BOOL *hook);
typedef void DNP_COM FunctionEnter(FunctionID function_id);
typedef void DNP_COM FunctionLeave(FunctionID function_id);
typedef void DNP_COM FunctionTailcall(FunctionID function_id);
typedef void DNP_COM FunctionEnter2(FunctionID function_id, uintptr_t client_data,
	COR_PRF_FRAME_INFO frame, COR_PRF_FUNCTION_ARGUMENT_INFO *arguments);
typedef void DNP_COM FunctionLeave2(FunctionID function_id, uintptr_t client_data,
	COR_PRF_FRAME_INFO frame, COR_PRF_FUNCTION_ARGUMENT_RANGE *retval);
typedef void DNP_COM FunctionTailcall2(
	FunctionID function_id, uintptr_t client_data, COR_PRF_FRAME_INFO frame);
typedef void DNP_COM FunctionEnter3(FunctionIDOrClientID id);
typedef void DNP_COM FunctionLeave3(FunctionIDOrClientID id);
typedef void DNP_COM FunctionTailcall3(FunctionIDOrClientID id);
typedef void DNP_COM FunctionEnter3WithInfo(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt_info);
typedef void DNP_COM FunctionLeave3WithInfo(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt_info);
typedef void DNP_COM FunctionTailcall3WithInfo(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt_info);
typedef HRESULT DNP_COM StackSnapshotCallback(FunctionID function_id, uintptr_t ip,
	COR_PRF_FRAME_INFO frame, uint32_t context_size, uint8_t *context, void *client_data);
typedef BOOL(DNP_COM *ObjectReferenceCallback)(ObjectID root, ObjectID *reference, void *data);
typedef BOOL(DNP_COM *ObjectCallback)(ObjectID object, void *state);
typedef void DNP_COM EventPipeProviderCallback(const uint8_t *source_id, uint32_t is_enabled,
	uint8_t level, uint64_t match_any_keywords, uint64_t match_all_keywords,
	COR_PRF_FILTER_DATA *filter_data, void *callback_data);

#endif
