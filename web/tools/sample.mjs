// SPDX-License-Identifier: MIT
// Recordings for tests and for work on the page: a small one that looks like a real program, and large
// ones of any size. The same seed gives the same recording.

const UNIT_NS = 1000;
const INTERVAL_NS = 1_000_000;

/** Small, fast, repeatable (xorshift32). */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** As the page numbers them. */
export const CODE = { user: 0, framework: 1, native: 2, kernel: 3, gc: 4, jit: 5, other: 6 };

const FRAMEWORK = /^(System|Microsoft|Interop)\./;

function kindOf(name) {
  if (name.startsWith('[k] ')) return CODE.kernel;
  if (/!(WKS|SVR)::/.test(name)) return CODE.gc;
  if (name.startsWith('libclrjit.so!')) return CODE.jit;
  if (/^\[/.test(name)) return CODE.other;
  if (name.includes('!')) return CODE.native;
  return FRAMEWORK.test(name) ? CODE.framework : CODE.user;
}

const MODULES = [
  [/^System\.Linq/, 'System.Linq.dll'],
  [/^System\.Text\.Json/, 'System.Text.Json.dll'],
  [/^System\.Text\.RegularExpressions/, 'System.Text.RegularExpressions.dll'],
  [/^System\.Collections\.Concurrent/, 'System.Collections.Concurrent.dll'],
  [/^System\./, 'System.Private.CoreLib.dll'],
  [/^Newtonsoft\./, 'Newtonsoft.Json.dll'],
  [/^Synthetic\.(\w+)/, (m) => `Synthetic.${m[1]}.dll`],
  [/^\[k\] /, 'kernel'],
  [/^\[/, ''],
  [/^([^!]+)!/, (m) => m[1]],
];

function moduleOf(name) {
  for (const [pattern, module] of MODULES) {
    const match = pattern.exec(name);
    if (match) return typeof module === 'function' ? module(match) : module;
  }
  return 'Shop.dll';
}

export class Builder {
  strings = [''];
  stringIds = new Map([['', 0]]);
  frames = [];
  frameIds = new Map();
  parents = [0];
  nodeFrames = [0];
  children = [new Map()];
  rows = [];

  constructor() {
    this.frame('all', '', CODE.other);
  }

  string(text) {
    let id = this.stringIds.get(text);
    if (id === undefined) {
      this.stringIds.set(text, (id = this.strings.length));
      this.strings.push(text);
    }
    return id;
  }

  frame(name, module = moduleOf(name), kind = kindOf(name)) {
    let id = this.frameIds.get(name);
    if (id === undefined) {
      this.frameIds.set(name, (id = this.frames.length));
      this.frames.push({ name: this.string(name), module: this.string(module), kind });
    }
    return id;
  }

  child(node, frame) {
    const children = (this.children[node] ??= new Map());
    let id = children.get(frame);
    if (id === undefined) {
      children.set(frame, (id = this.parents.length));
      this.parents.push(node);
      this.nodeFrames.push(frame);
    }
    return id;
  }

  /** The node of a stack of names, root first. */
  stack(names) {
    return names.reduce((node, name) => this.child(node, this.frame(name)), 0);
  }

  sample(time, thread, node, weight = 1, waiting = 0, event = 0) {
    (this.rows[event] ??= []).push([time, thread, node, weight, waiting]);
  }

  event(rows, threads, info) {
    rows.sort((a, b) => a[0] - b[0]);
    const column = (i) => Uint32Array.from(rows, (r) => r[i]);
    const waits = rows.some((r) => r[4]);
    const sum = (of) => rows.reduce((n, r) => n + (of(r) ? r[3] : 0), 0);
    const made = {
      name: 'cpu', unit: 'samples', source: 'perf cpu-clock', interval_ns: INTERVAL_NS, samples: sum(() => true), lost: 0,
      lost_by: {}, truncated: 0, unresolved: 0, failed: 0, failures: {}, rows: rows.length, note: '', ...info,
    };
    if (waits) made.waiting = sum((r) => r[4]);
    for (const [, thread, , weight] of rows) threads[thread].samples += weight;
    const columns = { time: column(0), thread: column(1), node: column(2), weight: column(3) };
    return { info: made, ...columns, ...(waits && { waiting: Uint8Array.from(rows, (r) => r[4]) }) };
  }

  finish(meta, ...infos) {
    const threads = meta.threads.map((t) => ({ cpu_ns: 0, ...t, samples: 0 }));
    if (this.rows.length === 0) this.rows.push([]);
    for (const [, thread, , weight] of this.rows[0]) threads[thread].cpu_ns += weight * INTERVAL_NS;
    const events = this.rows.map((rows, e) => this.event(rows, threads, infos[e] ?? {}));
    return {
      meta: {
        version: 1, tool: 'dnprof 0.1.0', title: 'Shop.dll', start_unix_ns: '1763726400000000000',
        duration_ns: 0, time_unit_ns: UNIT_NS, processes: [], problems: [], ...meta, threads,
        events: events.map((e) => e.info),
      },
      strings: this.strings,
      frameName: Uint32Array.from(this.frames, (f) => f.name),
      frameModule: Uint32Array.from(this.frames, (f) => f.module),
      frameKind: Uint8Array.from(this.frames, (f) => f.kind),
      nodeParent: Uint32Array.from(this.parents),
      nodeFrame: Uint32Array.from(this.nodeFrames),
      events,
    };
  }
}

const START = ['[k] ret_from_fork', 'libc.so.6!clone3', 'libc.so.6!start_thread', 'libcoreclr.so!CorUnix::CPalThread::ThreadEntry(void*)'];
const MAIN = ['dotnet!main', 'libhostfxr.so!hostfxr_main_startupinfo', 'libhostpolicy.so!corehost_main', 'libcoreclr.so!coreclr_execute_assembly', 'libcoreclr.so!CallDescrWorkerInternal', 'Shop.Program.Main(String[])'];
const POOL = [...START, 'libcoreclr.so!ThreadNative::KickOffThread(void*)', 'libcoreclr.so!CallDescrWorkerInternal', 'System.Threading.Thread.StartCallback()', 'System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart()', 'System.Threading.ThreadPoolWorkQueue.Dispatch()'];
const GC = [...START, 'libcoreclr.so!WKS::gc_heap::bgc_thread_function()'];
const TIER = [...START, 'libcoreclr.so!TieredCompilation::BackgroundWorkerStart()', 'libcoreclr.so!MethodDesc::JitCompileCode(PrepareCodeConfig*)', 'libclrjit.so!CILJit::compileMethod(ICorJitInfo*, CORINFO_METHOD_INFO*, unsigned int, unsigned char**, unsigned int*)'];

const ALLOCATE = ['libcoreclr.so!JIT_New(CORINFO_CLASS_STRUCT_*)', 'libcoreclr.so!WKS::GCHeap::Alloc(gc_alloc_context*, unsigned long, unsigned int)', 'libcoreclr.so!WKS::gc_heap::try_allocate_more_space(alloc_context*, unsigned long, unsigned int, int)'];
const COLLECT = [...ALLOCATE, 'libcoreclr.so!WKS::GCHeap::GarbageCollectGeneration(unsigned int, gc_reason)', 'libcoreclr.so!WKS::gc_heap::gc1()'];
const FAULT = ['[k] asm_exc_page_fault', '[k] exc_page_fault', '[k] handle_mm_fault', '[k] clear_page_erms'];

/** [share, what ran on top of the base], leaf last. */
const WORK = {
  jit: [
    [5, [...TIER.slice(-2), 'libclrjit.so!Compiler::fgMorphBlocks()']],
    [4, [...TIER.slice(-2), 'libclrjit.so!LinearScan::doLinearScan()']],
    [3, ['System.Runtime.CompilerServices.RuntimeHelpers.RunClassConstructor(RuntimeTypeHandle)', 'libcoreclr.so!MethodTable::DoRunClassInitThrowing()']],
    [2, ['[stub] prestub', 'libcoreclr.so!PreStubWorker']],
  ],
  parse: [
    [18, ['Shop.Import.OrderReader.ReadAll(System.IO.Stream)', 'Newtonsoft.Json.JsonSerializer.Deserialize<System.Collections.Generic.List<Shop.Model.Order>>(Newtonsoft.Json.JsonReader)', 'Newtonsoft.Json.Serialization.JsonSerializerInternalReader.CreateList(Newtonsoft.Json.JsonReader, System.Type)', 'Newtonsoft.Json.Serialization.JsonSerializerInternalReader.PopulateObject(System.Object, Newtonsoft.Json.JsonReader)', 'Newtonsoft.Json.JsonTextReader.Read()', 'Newtonsoft.Json.JsonTextReader.ParseValue()', 'Newtonsoft.Json.JsonTextReader.ReadStringIntoBuffer(System.Char)']],
    [8, ['Shop.Import.OrderReader.ReadAll(System.IO.Stream)', 'Newtonsoft.Json.JsonSerializer.Deserialize<System.Collections.Generic.List<Shop.Model.Order>>(Newtonsoft.Json.JsonReader)', 'Newtonsoft.Json.Serialization.JsonSerializerInternalReader.CreateList(Newtonsoft.Json.JsonReader, System.Type)', 'Newtonsoft.Json.Serialization.JsonSerializerInternalReader.PopulateObject(System.Object, Newtonsoft.Json.JsonReader)', 'System.Globalization.DateTimeFormatInfo.TryParse(System.ReadOnlySpan<System.Char>, System.DateTime&)', 'System.Number.TryParseUInt32(System.ReadOnlySpan<System.Char>, System.UInt32&)']],
    [6, ['Shop.Import.OrderReader.ReadAll(System.IO.Stream)', 'Newtonsoft.Json.JsonSerializer.Deserialize<System.Collections.Generic.List<Shop.Model.Order>>(Newtonsoft.Json.JsonReader)', 'Newtonsoft.Json.Serialization.JsonSerializerInternalReader.CreateList(Newtonsoft.Json.JsonReader, System.Type)', 'System.Collections.Generic.List<Shop.Model.Order>.Add(Shop.Model.Order)', ...COLLECT, 'libcoreclr.so!WKS::gc_heap::mark_object_simple(unsigned char**)']],
    [4, ['Shop.Import.OrderReader.ReadAll(System.IO.Stream)', 'System.IO.FileStream.Read(System.Span<System.Byte>)', 'System.IO.RandomAccess.ReadAtOffset(Microsoft.Win32.SafeHandles.SafeFileHandle, System.Span<System.Byte>, System.Int64)', 'libSystem.Native.so!SystemNative_PRead', 'libc.so.6!pread64', '[k] entry_SYSCALL_64_after_hwframe', '[k] do_syscall_64', '[k] __x64_sys_pread64', '[k] vfs_read', '[k] copy_page_to_iter']],
    [3, ['Shop.Import.OrderReader.ReadAll(System.IO.Stream)', 'Shop.Model.Order..ctor(System.Int32, System.String)', ...ALLOCATE, ...FAULT]],
  ],
  sort: [
    [20, ['Shop.Reports.Ranking.SortOrders(System.Collections.Generic.List<Shop.Model.Order>)', 'System.Collections.Generic.List<Shop.Model.Order>.Sort(System.Comparison<Shop.Model.Order>)', 'System.Collections.Generic.ArraySortHelper<Shop.Model.Order>.IntrospectiveSort(System.Span<Shop.Model.Order>, System.Comparison<Shop.Model.Order>)', ...Array(6).fill('System.Collections.Generic.ArraySortHelper<Shop.Model.Order>.IntroSort(System.Span<Shop.Model.Order>, System.Int32, System.Comparison<Shop.Model.Order>)'), 'System.Collections.Generic.ArraySortHelper<Shop.Model.Order>.PickPivotAndPartition(System.Span<Shop.Model.Order>, System.Comparison<Shop.Model.Order>)', 'Shop.Reports.Ranking.CompareByTotal(Shop.Model.Order, Shop.Model.Order)']],
    [9, ['Shop.Reports.Ranking.SortOrders(System.Collections.Generic.List<Shop.Model.Order>)', 'System.Collections.Generic.List<Shop.Model.Order>.Sort(System.Comparison<Shop.Model.Order>)', 'System.Collections.Generic.ArraySortHelper<Shop.Model.Order>.IntrospectiveSort(System.Span<Shop.Model.Order>, System.Comparison<Shop.Model.Order>)', ...Array(4).fill('System.Collections.Generic.ArraySortHelper<Shop.Model.Order>.IntroSort(System.Span<Shop.Model.Order>, System.Int32, System.Comparison<Shop.Model.Order>)'), 'System.Collections.Generic.ArraySortHelper<Shop.Model.Order>.InsertionSort(System.Span<Shop.Model.Order>, System.Comparison<Shop.Model.Order>)', 'Shop.Reports.Ranking.CompareByName(Shop.Model.Order, Shop.Model.Order)', 'System.String.CompareOrdinal(System.String, System.String)', 'System.SpanHelpers.SequenceCompareTo(System.Char&, System.Int32, System.Char&, System.Int32)']],
  ],
  linq: [
    [9, ['Shop.Reports.Summary.ByCustomer(System.Collections.Generic.IEnumerable<Shop.Model.Order>)', 'System.Linq.Enumerable.ToDictionary<Shop.Model.Order, System.String, System.Decimal>(System.Collections.Generic.IEnumerable<Shop.Model.Order>, System.Func<Shop.Model.Order, System.String>, System.Func<Shop.Model.Order, System.Decimal>)', 'System.Linq.Enumerable+GroupedResultEnumerable<Shop.Model.Order, System.String>.MoveNext()', 'System.Collections.Generic.Dictionary<System.String, System.Decimal>.TryInsert(System.String, System.Decimal, System.Collections.Generic.InsertionBehavior)', 'System.Marvin.ComputeHash32(System.Byte&, System.UInt32, System.UInt32, System.UInt32)']],
    [6, ['Shop.Reports.Summary.ByCustomer(System.Collections.Generic.IEnumerable<Shop.Model.Order>)', 'System.Linq.Enumerable.Sum<Shop.Model.Order>(System.Collections.Generic.IEnumerable<Shop.Model.Order>, System.Func<Shop.Model.Order, System.Decimal>)', 'Shop.Reports.Summary.ByCustomer lambda(Shop.Model.Order)', 'System.Decimal+DecCalc.DecAddSub(System.Decimal+DecCalc&, System.Decimal+DecCalc&, System.Boolean)']],
    [3, ['Shop.Reports.Summary.ByCustomer(System.Collections.Generic.IEnumerable<Shop.Model.Order>)', 'System.Linq.Enumerable+SelectManySingleSelectorIterator<Shop.Model.Order, Shop.Model.Line>.ToArray()', ...COLLECT, 'libcoreclr.so!WKS::gc_heap::plan_phase(int)']],
  ],
  regex: [
    [14, ['Shop.Search.Index.Build(System.String[])', 'System.Text.RegularExpressions.Regex.Replace(System.String, System.String)', 'System.Text.RegularExpressions.Regex.RunAllMatchesWithCallback<System.Int32>(System.String, System.Int32&)', 'System.Text.RegularExpressions.RegexInterpreter.Scan(System.ReadOnlySpan<System.Char>)', 'System.Text.RegularExpressions.RegexInterpreter.TryMatchAtCurrentPosition(System.ReadOnlySpan<System.Char>)']],
    [4, ['Shop.Search.Index.Build(System.String[])', 'Shop.Search.Tokenizer.<Split>d__3.MoveNext()', 'System.String.Substring(System.Int32, System.Int32)', 'System.Buffer.Memmove(System.Byte&, System.Byte&, System.UIntPtr)']],
    [3, ['Shop.Search.Index.Build(System.String[])', 'Shop.Search.Index.Compress(System.Byte[])', 'libSystem.IO.Compression.Native.so!CompressionNative_Deflate', 'libz.so.1!deflate', 'libz.so.1!longest_match']],
  ],
  tasks: [
    [8, ['System.Threading.Tasks.Task.ExecuteWithThreadLocal(System.Threading.Tasks.Task&, System.Threading.Thread)', 'Shop.Pricing.Simulation.Run lambda()', 'Shop.Pricing.Simulation.Step(System.Double[], System.Int32)', 'System.Math.Sin(System.Double)', 'libm.so.6!__sin_fma']],
    [9, ['System.Threading.Tasks.Task.ExecuteWithThreadLocal(System.Threading.Tasks.Task&, System.Threading.Thread)', 'Shop.Pricing.Simulation.Run lambda()', 'Shop.Pricing.Simulation.Step(System.Double[], System.Int32)']],
    [3, ['System.Threading.Tasks.Task.ExecuteWithThreadLocal(System.Threading.Tasks.Task&, System.Threading.Thread)', 'Shop.Pricing.Simulation.Run lambda()', 'System.Collections.Concurrent.ConcurrentQueue<System.Double>.Enqueue(System.Double)']],
    [2, ['System.Threading.PortableThreadPool+WorkerThread.SpinWait()', 'System.Threading.LowLevelLifoSemaphore.Wait(System.Int32, System.Boolean)', 'libc.so.6!sched_yield', '[k] entry_SYSCALL_64_after_hwframe', '[k] __schedule']],
  ],
  mark: [
    [5, ['libcoreclr.so!WKS::gc_heap::background_mark_phase()', 'libcoreclr.so!WKS::gc_heap::background_mark_simple1(unsigned char*)']],
    [3, ['libcoreclr.so!WKS::gc_heap::background_sweep()']],
  ],
};

const WORK_BASES = { jit: MAIN, parse: MAIN, sort: MAIN, linq: MAIN, regex: MAIN, tasks: POOL, mark: GC };

/** [thread, work, from ms, to ms, part of a CPU] */
const PLAN = [
  [0, 'jit', 0, 700, 0.9], [0, 'parse', 500, 4200, 1], [0, 'sort', 4200, 6100, 1],
  [0, 'linq', 6100, 8000, 0.97], [0, 'regex', 8000, 10300, 1],
  [1, 'tasks', 3000, 7600, 0.9], [2, 'tasks', 3200, 7700, 0.85], [3, 'tasks', 3100, 9000, 0.6], [4, 'tasks', 5200, 7000, 0.5],
  [5, 'mark', 1400, 1900, 0.8], [5, 'mark', 3300, 3900, 0.9], [5, 'mark', 7400, 7800, 0.7],
  [6, 'tier', 100, 2600, 0.35], [6, 'tier', 4300, 5200, 0.2],
];

const THREADS = ['Main', '.NET TP Worker', '.NET TP Worker', '.NET TP Worker', '.NET TP Worker', '.NET BGC', '.NET Tiered Compilation Worker'];

function pick(choices, next) {
  let left = next() * choices.reduce((sum, [share]) => sum + share, 0);
  for (const [share, value] of choices) if ((left -= share) < 0) return value;
  return choices[0][1];
}

const TIERED = [
  [5, [...TIER, 'libclrjit.so!Compiler::compCompile(void**, unsigned int*, JitFlags*)', 'libclrjit.so!Compiler::optOptimizeCSEs()']],
  [4, [...TIER, 'libclrjit.so!Compiler::compCompile(void**, unsigned int*, JitFlags*)', 'libclrjit.so!LinearScan::allocateRegisters()']],
  [3, [...TIER, 'libclrjit.so!Compiler::compCompile(void**, unsigned int*, JitFlags*)', 'libclrjit.so!Compiler::fgInline()', 'libclrjit.so!Compiler::impImport()']],
];

/** A program that reads, sorts, sums up and indexes orders, as one would see it at 1,000 Hz. */
export function shop({ seed = 7, meta = {}, info = {} } = {}) {
  const next = random(seed);
  const builder = new Builder();
  for (const [thread, work, from, to, busy] of PLAN) {
    for (let ms = from; ms < to; ms++) {
      if (next() > busy) continue;
      const names = work === 'tier' ? pick(TIERED, next) : [...WORK_BASES[work], ...pick(WORK[work], next)];
      // Some samples find a caller at work, not its callee.
      const cut = next() < 0.12 ? 1 + Math.floor(next() * 2) : 0;
      const stack = names.slice(0, Math.max(6, names.length - cut));
      builder.sample(Math.floor((ms + next()) * 1000), thread, builder.stack(stack));
    }
  }
  return builder.finish(
    {
      duration_ns: 10_400_000_000,
      processes: [{ pid: 48213, name: 'dotnet Shop.dll', command: ['dotnet', 'Shop.dll', '--orders', 'data/orders 2026.json', '--report', 'out'], runtime: '10.0.12', start_ns: 0, duration_ns: 10_400_000_000 }],
      threads: THREADS.map((name, i) => ({ process: 0, tid: 48213 + i * 3, name })),
      ...meta,
    },
    info,
  );
}

const WAIT = ['libcoreclr.so!CorUnix::InternalWait(void*)', 'libc.so.6!pthread_cond_timedwait', '[k] futex_wait_queue'];
const IDLE = [...POOL.slice(0, -1), 'System.Threading.LowLevelLifoSemaphore.WaitForSignal(Int32)', ...WAIT];
const REQUEST = [...POOL, 'Web.Server.Handle(Request)'];
const BIASED = 'safepoint-biased: threads are seen only where the runtime can stop them';

/** A server with a pool of threads that mostly sleep: what its CPUs do, and what its threads do. */
export function server({ seed = 5, workers = 24 } = {}) {
  const next = random(seed);
  const builder = new Builder();
  const work = [
    [5, [...REQUEST, 'Web.Pages.Render(Model)', 'System.Text.StringBuilder.Append(String)']],
    [3, [...REQUEST, 'Web.Pages.Render(Model)', 'libcoreclr.so!JIT_New(CORINFO_CLASS_STRUCT_*)', 'Web.Model.Init()', 'System.Buffer.Memmove(Byte&, Byte&, UIntPtr)']],
    [2, [...REQUEST, 'Web.Sql.Query(String)', 'Web.Sql.Parse(String)']],
  ];
  const waits = [
    [6, [...REQUEST, 'Web.Sql.Query(String)', 'System.Net.Sockets.Socket.Receive(Byte[])', 'libSystem.Native.so!SystemNative_Receive', 'libc.so.6!recv', '[k] tcp_recvmsg']],
    [1, [...REQUEST, 'Web.Cache.Get(String)', 'System.Threading.Monitor.Enter(Object)', ...WAIT]],
  ];
  const accept = [...MAIN.slice(0, -1), 'Web.Program.Main(String[])', 'Web.Server.Run()', 'System.Net.Sockets.Socket.Accept()', 'libSystem.Native.so!SystemNative_Accept', 'libc.so.6!accept'];
  const gc = [...GC, 'libc.so.6!pthread_cond_wait', '[k] futex_wait_queue'];
  const wall = (ms, thread, stack, waiting) => builder.sample(ms * 1000, thread, builder.stack(stack), 1, waiting, 1);
  for (let ms = 0; ms < 4000; ms += 10) {
    wall(ms, 0, accept, 1);
    wall(ms, 1, gc, 1);
    for (let w = 0; w < workers; w++) {
      const share = w < 3 ? 0.45 : 0.01;
      const [chance, stack] = [next(), pick(work, next)];
      if (chance < share) {
        wall(ms, 2 + w, stack, 0);
        for (let k = 0; k < 10; k++) builder.sample((ms + k) * 1000, 2 + w, builder.stack(stack));
      } else wall(ms, 2 + w, chance < share * 1.6 ? pick(waits, next) : IDLE, 1);
    }
  }
  const threads = [{ name: 'Main' }, { name: '.NET BGC' }, ...Array.from({ length: workers }, () => ({ name: '.NET TP Worker' }))];
  return builder.finish(
    {
      title: 'Web.dll', duration_ns: 4e9,
      processes: [{ pid: 5120, name: 'dotnet Web.dll', command: ['dotnet', 'Web.dll'], runtime: '10.0.12', start_ns: 0, duration_ns: 4e9 }],
      threads: threads.map((t, i) => ({ process: 0, tid: 5120 + i, ...t })),
    },
    { clock_ns: 9e9 },
    { name: 'wall', source: 'clock', interval_ns: 10 * INTERVAL_NS, note: BIASED, looks: 1200, equal_looks: 400, failed: 5, failures: { moved: 3, norule: 2 }, lost: 2, lost_by: { 'buffer full': 2 } },
  );
}

const SYLLABLES = ['Order', 'Cache', 'Token', 'Graph', 'Batch', 'Route', 'Query', 'Price', 'Stream', 'Index', 'Parser', 'Writer', 'Policy', 'Event'];
const VERBS = ['Get', 'Read', 'Apply', 'Visit', 'Merge', 'Resolve', 'Compute', 'Write', 'Try', 'Move'];

function methodName(i, next) {
  const word = () => SYLLABLES[Math.floor(next() * SYLLABLES.length)];
  const verb = VERBS[Math.floor(next() * VERBS.length)];
  const roots = ['Synthetic.Core', 'Synthetic.Web', 'System.Collections.Generic', 'System.Text.Json', 'System.Linq'];
  const root = roots[i % roots.length];
  if (i % 11 === 0) return `libnative${i % 7}.so!${word().toLowerCase()}_${verb.toLowerCase()}_${i}`;
  if (i % 23 === 0) return `libcoreclr.so!WKS::gc_heap::${verb.toLowerCase()}_${i}(unsigned char*)`;
  return `${root}.${word()}${word()}<System.${word()}>.${verb}${word()}${i}(System.String, ${root}.${word()}&)`;
}

/** A recording of `rows` samples in about `stacks` distinct stacks, on `threads` threads; a part of them waits. */
export function large({ stacks = 200_000, rows = 1_000_000, threads = 64, methods = 20_000, waits = 0, seed = 11 } = {}) {
  const next = random(seed);
  const builder = new Builder();
  const frames = Array.from({ length: methods }, (_, i) => builder.frame(methodName(i, next)));
  const callees = frames.map(() => Array.from({ length: 5 }, () => frames[Math.floor(next() ** 1.6 * methods)]));
  const first = frames.slice(0, 12);
  const leaves = Array.from({ length: stacks }, (_, s) => {
    let frame = first[Math.floor(next() ** 2 * first.length)];
    let node = builder.child(0, frame);
    const depth = 14 + Math.floor(next() * 22);
    for (let d = 1; d < depth; d++) {
      // As in real programs: a long common way in, then ever more branches.
      frame = callees[frame - 1][Math.floor(next() ** (d < 10 ? 14 : 4) * 5)];
      node = builder.child(node, frame);
    }
    return node;
  });
  const step = 60e6 / rows;
  for (let i = 0; i < rows; i++) {
    const leaf = i < stacks ? leaves[i] : leaves[Math.floor(next() ** 2 * stacks)];
    const thread = Math.floor(next() ** 2 * threads);
    builder.sample(Math.floor(i * step), thread, leaf, 1, waits > 0 && next() < waits ? 1 : 0);
  }
  return builder.finish({
    title: 'large', duration_ns: 60e9,
    processes: [{ pid: 1, name: 'dotnet large.dll', command: ['dotnet', 'large.dll'], runtime: '10.0.12', start_ns: 0, duration_ns: 60e9 }],
    threads: Array.from({ length: threads }, (_, t) => ({ process: 0, tid: 1000 + t, name: `Worker ${t}` })),
  });
}

/** Names that would break out of a page that is careless with them. */
export const HOSTILE = [
  '</script><img src=x onerror="window.hacked=1">', '<svg/onload=window.hacked=1>', '--><script>window.hacked=1</script>',
  '@DNPROF_META@', '@DNPROF_DATA@', '"\' onmouseover=window.hacked=1 x="', 'evil\u202egnp.exe', '\u2028\u2029&lt;&amp;', 'a\nb\tc', '${window.hacked=1}',
  'x'.repeat(5000), '名前空間.型.メソッド(引数)',
];

export function hostile() {
  const builder = new Builder();
  HOSTILE.forEach((name, i) => {
    const frame = builder.frame(name, name, i % 7);
    const node = builder.child(builder.child(0, builder.frame('Root.Of.Evil()')), frame);
    for (let s = 0; s < 60 - i * 3; s++) builder.sample(1000 * (i * 100 + s), i % 2, node);
  });
  return builder.finish({
    title: HOSTILE[0], duration_ns: 2e9, problems: [HOSTILE[0], HOSTILE[1]],
    processes: [{ pid: 1, name: HOSTILE[0], command: ['dotnet', ...HOSTILE], runtime: HOSTILE[1], start_ns: 0, duration_ns: 1 }],
    threads: [{ process: 0, tid: 1, name: HOSTILE[0] }, { process: 0, tid: 2, name: HOSTILE[2] }],
  }, { lost: 12, lost_by: { [HOSTILE[1]]: 12 }, note: HOSTILE[0], source: HOSTILE[2], failures: { [HOSTILE[0]]: 3 } });
}
