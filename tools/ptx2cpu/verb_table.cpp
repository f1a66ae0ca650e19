// The table of verbs. Help, manual page and completion are rendered from it.
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {

constexpr Option kSm = {"--sm", "NN",
                        "choose the images for a device of compute capability NN (90 for sm_90); default: "
                        "the highest portable target"};
constexpr Option kKernel = {
    "--kernel,-k", "NAME",
    "the kernel's name in PTX, or the plain name of a C++ function if only one kernel has it"};
constexpr Option kJson = {"--json", "", "print JSON"};
constexpr Option kOutput = {"--output,-o", "PATH", "where to write; on failure, no partial file is left"};
constexpr Option kCollapse = {"--collapse", "auto|flat|hierarchical",
                              "how the threads of a block become loops: one loop (flat, only without warp "
                              "operations), or warps and lanes; default auto"};
constexpr Option kExec = {"--exec", "auto|flat|warp|resumable|lanes",
                          "execution tier: T0 (flat), T1 (warp), T2 (resumable warps), T3 (lanes); default "
                          "auto, chosen by analysis"};
constexpr Option kForBlock = {"--for-block", "X[,Y,Z]",
                              "code for blocks of this shape only, for which a cheaper tier may suffice"};
constexpr Option kStopAfter = {"--stop-after", "STAGE",
                               "stop after a stage (ast, ir, a pass, llvm) and print its result"};
constexpr Option kDumpAfter = {"--dump-after", "STAGE|all", "print the IR after a pass to standard error",
                               true};
constexpr Option kVerify = {"--verify-each", "",
                            "run the verifier after every pass (always on in debug builds)"};
constexpr Option kTime = {"--time-passes", "", "print the time of each stage to standard error"};
constexpr Option kOptimize = {"--opt", "0..3", "LLVM optimisation level; default 3"};
constexpr Option kGrid = {"--grid", "X[,Y,Z]", "blocks in the grid; default 1"};
constexpr Option kBlock = {"--block", "X[,Y,Z]", "threads in a block; default 1"};
constexpr Option kShared = {"--shared", "BYTES", "dynamic shared memory; default 0"};
constexpr Option kArg = {"--arg", "SPEC",
                         "one kernel argument, in order. TYPE:VALUE passes a scalar (u8 s8 u16 s16 u32 s32 "
                         "u64 s64 f16 bf16 f32 f64 b8 b16 b32 b64; a hexadecimal float "
                         "is its bits). in:TYPE:[v,v,...] or in:TYPE:@FILE passes a buffer to read, "
                         "out:TYPE:COUNT one to write (zero-filled), "
                         "inout:TYPE:[...] or inout:TYPE:@FILE both; bytes:@FILE passes a struct by value",
                         true};
constexpr Option kBits = {"--bits", "", "print buffers as hex bits"};
constexpr Option kSave = {"--save", "INDEX=FILE",
                          "write the buffer of argument INDEX raw to FILE instead of printing it", true};
constexpr Option kTimeRun = {"--time", "", "print the times of translation and execution to standard error"};

constexpr Option kWidth = {"--width", "1|4|8|16|32|64",
                           "threads that a vector holds; default: chosen per loop (PTX2CPU_WIDTH)"};
constexpr Option kMatrixSums = {"--matrix-sums", "recorded|chained",
                                "sums of products of f16, bf16 and tf32: with an H100's bits (default), or "
                                "chains of multiply-adds, which are "
                                "faster (PTX2CPU_MATRIX_SUMS)"};
constexpr Option kCheckAlignment = {
    "--check-alignment", "",
    "check the alignment of each access, slowly: a fault then names the thread, and no later access "
    "runs (PTX2CPU_CHECK_ALIGNMENT=1; 0: omit most checks)"};

constexpr Option kCheck = {
    "--check", "LIST",
    "check the kernels as they run, slowly: memory (bounds, alignment, freed memory), race, sync (barriers "
    "that "
    "threads miss), init (reads of memory that nothing has written), leak (allocations that are not freed); "
    "findings go to standard error (PTX2CPU_CHECK)"};
constexpr Option kCheckReport = {
    "--check-report", "FILE",
    "also write the findings to FILE: SARIF if its name ends in .sarif, else JSON (PTX2CPU_CHECK_REPORT)"};
constexpr Option kCheckSuppress = {
    "--check-suppress", "FILE",
    "findings to leave out: lines 'ERROR KERNEL [PTX LINE]', with * for any (PTX2CPU_CHECK_SUPPRESS)"};
constexpr Option kErrorExitCode = {
    "--error-exitcode", "N",
    "the exit code if there are findings (PTX2CPU_CHECK_EXITCODE); default: the program's; with --order of "
    "exec: if a launch depends on the order"};

constexpr Option kOrder = {
    "--order", "random:SEED",
    "run each launch again in other orders that CUDA allows (of blocks, of warps and lanes, which stop "
    "before "
    "each access), from the same memory, and report the first element that differs in another order; "
    "orders are those of SEED and the next numbers, the same in every run. exec records the launches and "
    "tries "
    "orders when the program has ended"};
constexpr Option kOrders = {"--orders", "N", "how many other orders --order tries; default 4"};

constexpr Option kAtomics = {
    "--atomics", "any|ordered",
    "ordered: the same bits for any number of workers and in every run; kernels whose results depend on the "
    "order of blocks (sums of floats by atomics, results of atomics that are used) then run block by block "
    "(PTX2CPU_ATOMICS)"};

constexpr Option kExtractOptions[] = {kOutput, kJson, {"--kernels", "", "name all kernels of each image"}};
constexpr Option kParseOptions[] = {
    kSm,
    kKernel,
    {"--check", "", "only check: also match every instruction with the instruction table; print counts"}};
constexpr Option kIrOptions[] = {kSm,        kKernel,    kCollapse, kExec, kForBlock,
                                 kStopAfter, kDumpAfter, kVerify,   kTime, kMatrixSums};
constexpr Option kCfgOptions[] = {
    kSm,
    kKernel,
    kCollapse,
    kExec,
    kForBlock,
    {"--at", "STAGE",
     "the stage to draw: ir or the name of a pass; default "
     "insert-extra-barriers, which shows regions and the reasons for them"},
    {"--format", "dot|svg|text", "output format, default text; svg needs Graphviz"},
    kOutput,
    {"--dominators", "", "also draw the dominator tree"}};
constexpr Option kCompileOptions[] = {
    kSm,
    kKernel,
    kOutput,
    {"--target", "TRIPLE|CPU",
     "x86-64-v3, x86-64-v4, native (default), aarch64-linux-gnu, riscv64-linux-gnu"},
    kCollapse,
    kExec,
    kForBlock,
    kCheckAlignment,
    kWidth,
    kMatrixSums,
    kOptimize,
    kStopAfter,
    kDumpAfter,
    kVerify,
    kTime};
constexpr Option kRunOptions[] = {kSm,
                                  kKernel,
                                  kGrid,
                                  kBlock,
                                  kShared,
                                  kArg,
                                  {"--threads", "N", "worker threads; default: all processors"},
                                  {"--jit", "", "compile and run (the default)"},
                                  {"--interpret", "", "run the interpreter instead of compiled code"},
                                  kCheck,
                                  kCheckReport,
                                  kCheckSuppress,
                                  kErrorExitCode,
                                  kCheckAlignment,
                                  kAtomics,
                                  kOrder,
                                  kOrders,
                                  kWidth,
                                  kBits,
                                  kSave,
                                  kCollapse,
                                  kExec,
                                  kOptimize,
                                  kDumpAfter,
                                  kVerify,
                                  kTime,
                                  kTimeRun};
constexpr Option kInterpretOptions[] = {
    kSm,
    kKernel,
    kGrid,
    kBlock,
    kShared,
    kArg,
    kBits,
    kSave,
    kCollapse,
    kExec,
    kMatrixSums,
    {"--at", "STAGE",
     "interpret the IR as it is after a stage: ir or a pass (default: keep-statements-in-step)"},
    kVerify,
    kTimeRun};
constexpr Option kExplainOptions[] = {kSm,
                                      kKernel,
                                      kCollapse,
                                      kExec,
                                      kForBlock,
                                      kWidth,
                                      {"--target", "TRIPLE|CPU", "as in compile"},
                                      {"--list", "", "list all rows of the instruction table"}};

constexpr Option kExecOptions[] = {
    {"--devices", "N", "devices that the program sees; default 1 (PTX2CPU_DEVICES)"},
    {"--threads", "N", "worker threads; default: all processors (PTX2CPU_THREADS)"},
    {"--sm", "NN",
     "compute capability that the devices report (90 for 9.0); default: one that loads the highest PTX "
     "(PTX2CPU_COMPUTE_CAPABILITY)"},
    {"--trace", "", "print each CUDA call with arguments, result and time to standard error (PTX2CPU_TRACE)"},
    kCheck,
    kCheckReport,
    kCheckSuppress,
    kErrorExitCode,
    kCheckAlignment,
    kAtomics,
    kOrder,
    kOrders,
    {"--timeline", "FILE",
     "write a Chrome trace (Perfetto) of calls, kernels and copies per stream and worker (PTX2CPU_TIMELINE)"},
    {"--profile", "FILE",
     "write a report to FILE however the program ends: one HTML page with time by kernel, "
     "line and block of code, bytes and operations beside the machine's limits, a timeline, and the reasons "
     "why kernels are slow"},
    {"--json", "",
     "with --profile: also write its figures, as FILE with the extension .json; with --check: the findings "
     "are one "
     "JSON document on standard error, in place of their text (PTX2CPU_CHECK_JSON=1)"},
    {"--perf-map", "", "add compiled kernels to /tmp/perf-PID.map, for Linux perf (PTX2CPU_PERF_MAP=1)"},
    {"--perf-dump", "DIR",
     "write compiled kernels with their lines to DIR/jit-PID.dump: perf record -k 1, then perf inject --jit "
     "(PTX2CPU_JITDUMP)"},
    {"--save-ptx", "DIR",
     "write the PTX of every image that the program registers, loads or links to a file in DIR, and a line "
     "with file, call, process and name to DIR/index.tsv (PTX2CPU_SAVE_PTX)"},
    {"--gdb", "",
     "start the program under gdb, in which device code has PTX and source lines: break FILE.cu:LINE, "
     "backtrace, $ptx2cpu_block(); gdb's new command ptx2cpu prints block and grid (PTX2CPU_GDB=1); with "
     "--exec=lanes --opt 0 `info locals` in a frame of PTX shows the thread's registers, %r12"},
    {"--exec", "auto|lanes", "lanes: the threads of a block run one by one (PTX2CPU_EXEC)"},
    {"--opt", "0..3", "LLVM optimisation level; default 3 (PTX2CPU_OPT)"},
    {"--record", "DIR",
     "write each launch to DIR: kernel, shape, arguments, memory before it and a hash of it afterwards, for "
     "replay and compare; launches and copies then run one at a time (PTX2CPU_RECORD)"},
    {"--record-launches", "FIRST[-LAST]",
     "record only these launches of each process, numbered from 0 (PTX2CPU_RECORD_LAUNCHES)"},
    {"--record-outputs", "",
     "record the contents of memory after each launch, not only a hash: differences in the last launch are "
     "then "
     "shown by element "
     "(PTX2CPU_RECORD_OUTPUTS=1)"},
    {"--print-environment", "",
     "print the environment that the program would run in, as shell assignments, and do not run it"}};
constexpr Option kReplayOptions[] = {
    {"--launch", "N", "replay this launch alone; default: all, each from its recorded memory"},
    {"--interpret", "",
     "run the interpreter instead of compiled code: the IR as it was translated, or after all passes with "
     "--exec or --collapse"},
    {"--bench", "", "measure the launches instead of comparing memory: the least time and the median"},
    {"--repeat", "N", "runs of each launch that --bench measures; default 10"},
    {"--threads", "N", "worker threads; default: all processors"},
    kExec,
    kCollapse,
    kOptimize,
    kWidth,
    kCheck,
    kCheckReport,
    kCheckSuppress,
    kErrorExitCode,
    kCheckAlignment,
    kAtomics,
    kOrder,
    kOrders};
constexpr std::span<const Option> kNoOptions;
constexpr Option kProfileOptions[] = {
    kOutput,
    {"--json", "", "print the figures as JSON; with --output: to the same name with the extension .json"},
    {"--command", "TEXT", "the program's command line, for the title"},
    {"--ended", "TEXT", "how the program ended, for the title"}};
constexpr Option kWarmOptions[] = {
    {"--sm", "NN",
     "compute capability of the device that programs will see (90 for 9.0); default 90, or "
     "PTX2CPU_COMPUTE_CAPABILITY"},
    {"--threads", "N", "kernels compiled at the same time; default: all processors"},
    kJson};
constexpr Option kCheckOptions[] = {kSm, kJson};
constexpr Option kDevicesOptions[] = {kJson};

constexpr Verb kVerbs[] = {
    {"exec", "[--trace] [--timeline FILE] [--] PROGRAM [ARGUMENT ...]",
     "run an unmodified CUDA program on the CPU",
     "Runs the program with CUDA libraries that need no GPU. Programs that are linked to the shared runtime "
     "(CUDA 11, 12, 13) or the driver API run as they are; in programs with the static runtime, exec "
     "redirects its functions, which needs their symbols. Code that programs compile with NVRTC or link with "
     "nvJitLink at run time becomes PTX. Kernels are compiled for this machine at their first launch and "
     "kept in a cache. "
     "The exit code is the program's.",
     kExecOptions, RunExec, Arguments::Words::kCommandFollows},
    {"devices", "[--json]", "list the devices that CUDA programs see here",
     "Prints the name, workers, memory, compute capability and versions that a CUDA program finds when exec "
     "runs it.",
     kDevicesOptions, RunDevices},
    {"extract", "FILE [-o DIR] [--json]", "list the CUDA images of a file, or write their PTX",
     "Reads executables, shared objects, object files, archives, fat binaries and PTX; finds every container "
     "in the file, compressed or not, and PTX outside containers: texts, gzip and zlib streams, parts of "
     "images linked at run time. Lists container, offset, kind, target, PTX version, sizes, compression, "
     "options and kernels of each image. With -o "
     "DIR every PTX image is written as a file.",
     kExtractOptions, RunExtract},
    {"check", "FILE... [--json]", "report which kernels of a program will run, and which libraries it lacks",
     "Builds the IR of every kernel, up to code generation. A kernel is exact, approximate (it has "
     "instructions whose results PTX only bounds; they are named), functional (it has "
     "instructions that follow the manual and have not been compared with a GPU: tcgen05) or refused, with "
     "the PTX lines and reasons. For an executable or shared object it also lists the libraries that it "
     "needs: "
     "ptx2cpu's "
     "own, found, NVIDIA's (whose calls fail) or missing. The exit code is 7 if a kernel is refused, else 8 "
     "if "
     "a library is missing or NVIDIA's, else 0.",
     kCheckOptions, nullptr},
    {"parse", "FILE... [--check]", "parse PTX and print it back from the syntax tree",
     "Parses the PTX and prints it from the syntax tree. All errors of a run are reported with file, line, "
     "column, "
     "the line itself and what was expected. --check also matches "
     "every instruction with the instruction table.",
     kParseOptions, nullptr},
    {"ir", "FILE... --kernel NAME [--stop-after PASS]",
     "print the SSA IR of a kernel at any point of the pipeline",
     "Translates one kernel to the IR and runs the passes up to --stop-after (default: the last one). "
     "--dump-after shows the IR after single passes.",
     kIrOptions, nullptr},
    {"cfg", "FILE... --kernel NAME [--at STAGE] --format dot|svg|text", "draw the control flow graph",
     "Shows basic blocks with their PTX, edges with predicates, barriers by level, parallel regions as "
     "coloured clusters, divergent branches, and the reasons why loops were split.",
     kCfgOptions, nullptr},
    {"compile", "FILE... -o OUT.o|OUT.so|OUT.s|OUT.ll [--target=...]", "compile kernels ahead of time",
     "Compiles one kernel (--kernel) or all kernels of a file to an object, shared object, assembly or LLVM "
     "IR. Next to an .o or .so it writes OUT.h, which declares "
     "each kernel with a typed launch function; link it with libptx2cpu_rt.a.",
     kCompileOptions, nullptr},
    {"run",
     "FILE... --kernel NAME --grid X[,Y,Z] --block X[,Y,Z] [--shared BYTES] [--threads N] "
     "[--jit|--interpret] --arg SPEC ...",
     "run a kernel on the CPU",
     "Makes the buffers, launches the kernel and prints each out and inout buffer as one line of JSON: "
     "{\"arg\": INDEX, \"type\": \"f32\", \"values\": [...]}.",
     kRunOptions, RunRun},
    {"interpret", "FILE... --kernel NAME --grid X[,Y,Z] --block X[,Y,Z] [--at STAGE] --arg SPEC ...",
     "run a kernel in the interpreter, at any point of the pipeline",
     "The interpreter is slow and exact; it runs the IR of any stage and checks every shared and local "
     "access.",
     kInterpretOptions, nullptr},
    {"explain", "'INSTRUCTION' | ROW | --kernel NAME FILE...",
     "show how an instruction or a kernel is translated",
     "For an instruction (in quotes): its row of the instruction table, its IR, LLVM IR and assembly. For a "
     "kernel: its execution tier and the reasons, and each loop over its threads: the width of its vectors, "
     "slow accesses, or the reason why it has no vectors; with PTX lines. PTX2CPU_REMARKS=1 "
     "prints the same for each kernel that a program compiles.",
     kExplainOptions, nullptr},
    {"replay", "DIR [--launch N] [--interpret|--bench|--exec=TIER|--check=LIST]",
     "run the launches of a recording without their program",
     "Restores memory at its recorded addresses (exec --record), runs each launch and compares memory "
     "with the recording bit for bit. Reports where they differ (address, allocation, offset) and the first "
     "element that differs as i32, f32 and f64. DIR is a recording, whose first process is replayed, or the "
     "folder of one process. The exit code is 1 if a launch differs, or with --order, depends on it.",
     kReplayOptions, RunReplay},
    {"profile", "DIR -o FILE | DIR --json", "render the profile that processes left in a folder",
     "A program that runs with PTX2CPU_PROFILE=DIR (an absolute path) writes its profile to DIR; exec "
     "--profile does both. The page needs no other file and no server.",
     kProfileOptions, nullptr},
    {"compare", "DIR DIR", "find the first launch in which two recordings of a program differ",
     "Compares launch by launch: kernel and shape, parameters, memory before it, which the program "
     "wrote, and after it. Allocations are matched by their order; words that are addresses are equal if "
     "they point to "
     "the same place. Reports the first element that differs, its address and the difference. The exit code "
     "is 1 if they "
     "differ.",
     kNoOptions, RunCompare},
    {"warm", "FILE|DIR... [--json]", "compile the kernels of programs and libraries before they run",
     "Compiles every kernel of the files, and of all files below the directories, into the cache that "
     "programs read, several kernels at a time. Reports how many were already in the cache, how many were "
     "compiled, and which kernels are refused and why; refused kernels do not fail the command. The cache is "
     "CUDA_CACHE_PATH/ptx2cpu, else XDG_CACHE_HOME/ptx2cpu, else ~/.cache/ptx2cpu, of at most "
     "CUDA_CACHE_MAXSIZE bytes (default 1 GiB; the least recently used kernels are removed first); "
     "CUDA_CACHE_DISABLE=1 disables it.",
     kWarmOptions, RunWarm},
};

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

}  // namespace ptx2cpu::tool
