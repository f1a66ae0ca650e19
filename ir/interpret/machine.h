// The state of the interpreter and what its parts share: one handler per opcode (a file per family), the
// thread scheduler of the Simt and Split phases (schedule.cpp), and the loops of the Collapsed
// phase (collapsed.cpp).
//
// Every thread has its own frames with a value for every ValueId, in all phases. In the Collapsed phase a
// block of warp or block level is executed instruction by instruction for all its live threads in lock step:
// that is what "one value for 32 lanes" means here.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/interpret/exact.h"
#include "ir/interpret/interpret.h"
#include "ir/verify/verify.h"

namespace ptx2cpu::ir::interpret {

inline constexpr uint32_t kCallDepthLimit = 512;
inline constexpr uint32_t kLocalStackBytes = 64 * 1024;  // per thread, beside the kernel's own locals
// Function addresses are tags that no data pointer can be equal to: not canonical on any 64-bit host.
inline constexpr uint64_t kFunctionAddressBase = 0x4655000000000000;
inline uint64_t AddressOfFunction(std::string_view name) {
  return kFunctionAddressBase + (FunctionIdentity(name) & UINT32_MAX) * 16;
}

// What the interpreter derives from a function once per launch.
struct FunctionFacts {
  bool has_wide_values = false;  // some value has 128 bits
  std::vector<uint32_t> order;   // position of each block in reverse post-order
};

struct Frame {
  const Function* function = nullptr;
  const FunctionFacts* facts = nullptr;
  std::vector<uint64_t> low, high;  // value bits by ValueId; high only with has_wide_values
  BlockId block;
  uint32_t next = 0;           // the next instruction's position in the block
  uint32_t local_base = 0;     // this frame's locals begin here in the thread's local window
  const Inst* call = nullptr;  // the caller's instruction that receives the results
};

enum class ThreadState : uint8_t {
  kReady,
  kWaiting,
  kYielded,
  kExited,
  kRegionEnd
};  // kYielded: suspended, waits for nothing

struct Thread {
  uint32_t index = 0, warp = 0, lane = 0;
  uint32_t tid[3] = {0, 0, 0};
  ThreadState state = ThreadState::kReady;
  bool parked = false;           // Collapsed: waits while other lanes run their arm of a divergent branch
  bool barrier_arrived = false;  // its warp has been counted at the barrier it waits for
  const Inst* waiting_at = nullptr;
  std::vector<std::unique_ptr<Frame>> frames;  // beyond `depth` they are kept for reuse
  uint32_t depth = 0;
  uint64_t budget = 0;           // instructions left in this slice
  std::vector<BlockId> entered;  // Collapsed: lane-level blocks of this region
  uint32_t point = 0;            // resumable: where it continues, and the words it shares with the scheduler
  std::array<uint32_t, 4> words{};
  uint32_t cluster_arrival =
      0;  // 1 + the phase of the cluster's barrier at which it has arrived last; 0: never
  const Inst *warps_loop = nullptr, *lanes_loop = nullptr;  // View::kThreads, Collapsed: where it is in

  Frame& frame() { return *frames[depth - 1]; }
  const Frame& frame() const { return *frames[depth - 1]; }
  bool live() const { return state != ThreadState::kExited && !parked; }
};

// How the kernel's form is executed.
enum class View : uint8_t {
  kThreads,  // Simt, Split; Collapsed with divergent branches: each thread for itself, loops are jumps
  kWarps,    // Collapsed, resumes warps, before it has resume points: each warp for itself, until a barrier
  kSteps,    // resumable: lanes of a warp until each suspends
  kLoops,    // Collapsed: the block to its end
};
View ViewOf(const Function& kernel);

struct Warp {
  uint32_t first = 0, count = 0;     // threads
  uint32_t slices_without_stop = 0;  // how long lanes that wait to converge have waited for running siblings
  bool unsettled = true;             // since groups were looked for, a lane has come to wait, parked or ended
  BlockId block = {};                // View::kWarps: where it continues
  uint32_t next = 0;
  const Inst* loop = nullptr;  // the for_warps whose body it runs
};

struct Barrier {
  uint32_t expected = 0;  // threads, whole warps; 0: all live threads of the block
  uint32_t arrived = 0;   // threads, whole warps
  bool in_use = false;
  std::vector<bool> warp_arrived;
};

struct Machine;

// One instruction about to be executed by one thread.
struct Step {
  Machine& machine;
  Thread& thread;
  Frame& frame;
  const Inst& inst;

  Bits128 Operand(size_t number) const;
  uint64_t Operand64(size_t number) const { return static_cast<uint64_t>(Operand(number)); }
  uint32_t Operand32(size_t number) const { return static_cast<uint32_t>(Operand(number)); }
  bool Predicate(size_t number) const { return Operand(number) != 0; }
  void Return(Bits128 bits, size_t number = 0);  // keeps the low bits of the result's type
  bool Has(Flag flag) const { return (inst.attrs.flags & flag) != 0; }
  int Width() const { return Bits(inst.type); }
  std::unexpected<Error> Fault(std::string message) const;
};

using Handler = Status (*)(Step& step);

// The handlers; a row of the table without one is a link error. Collectives have none: their lanes wait, and
// when the members have come, Complete<Name> (collective.cpp) sets their results.
#define OP(name, ...) Status Execute##name(Step& step);
#include "ir/opcodes.def"
#undef OP
Status ExecuteCollective(Step& step);

inline Bits128 MaskOf(int bits) { return bits >= 128 ? ~Bits128{0} : (Bits128{1} << bits) - 1; }
inline Signed128 AsSigned(Bits128 bits, int width) {
  int unused = 128 - width;
  return static_cast<Signed128>(bits << unused) >> unused;
}

// The blocks of a cluster take turns. A launch without clusters has clusters of one block.
struct Cluster {
  Dim3 shape;
  bool is_explicit = false;  // the launch or the kernel requests it
  uint32_t phase = 0;        // of its barrier
  std::span<std::byte> grid_workspace =
      {};  // cooperative: the words that grid barriers count in, at %envreg1:%envreg2
  std::vector<std::unique_ptr<Machine>> blocks;  // by rank, x first
};

// The state of one block.
struct Machine {
  Machine(const Module& module, const Function& kernel, ModuleStorage& storage,
          std::span<const std::byte> params, const InterpretOptions& options, Cluster& cluster);

  const Module& module;
  const Function& kernel;
  const View view = ViewOf(kernel);
  const bool lanes_diverge = HasDivergentBranches(kernel);
  ModuleStorage& storage;
  const InterpretOptions& options;

  uint32_t thread_count, warp_count;
  uint32_t shared_bytes, local_stride;
  Cluster& cluster;
  uint32_t cluster_rank = 0, cluster_ctaid[3] = {0, 0, 0};
  uint32_t ctaid[3] = {0, 0, 0};
  uint64_t executed = 0;          // instructions of this launch; also the clock
  std::vector<std::byte> memory;  // the memory of the spans below
  std::span<std::byte> params, shared, local;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::array<Barrier, kNamedBarriers> barriers;
  // Collapsed: by slot, then by thread, warp or 0. View::kThreads: each thread has its own of every shape.
  std::vector<std::vector<Bits128>> slots;
  uint32_t dispatch_edge = 0;  // resumable: what the scheduler requests

  void StartBlock();  // threads start anew
  // Every thread that can run does so for a while; in the Collapsed phase, if not resumable, to the block's
  // end.
  struct Turn {
    bool live = false, ran = false;
  };
  Result<Turn> TakeTurn();
  Result<bool> CompleteShortBarriers();  // when no thread of the cluster can run
  std::unexpected<Error> Deadlock();     // some thread waits
  Result<bool> RunCollapsed();           // true: the block has suspended
  void PrepareSlots();                   // Collapsed
  // Resumable: one step of `lanes` of a warp, entered over an edge of dispatch.
  Status RunStep(Warp& warp, uint32_t lanes, uint32_t dispatch_edge);
  Status RunWarp(Warp& warp);  // View::kWarps: until it waits at a barrier or has ended
  // Runs a ready thread until it stops, its budget is spent, or it is back at `depth` frames.
  Status RunThread(Thread& thread, uint32_t depth);
  // One instruction, counted against the limit. The thread's position is already after it.
  Status Execute(Thread& thread, const Inst& inst);
  Status Count(const Thread& thread, const Inst& inst);

  const FunctionFacts& FactsOf(const Function& function);
  Status PushFrame(Step& step, const Function& callee);
  void StartThread(Thread& thread);
  uint32_t LiveLanes(const Warp& warp) const;
  Bits128& SlotOf(const Thread& thread, uint32_t slot);
  Thread& ThreadAt(const Warp& warp, uint32_t lane) { return threads[warp.first + lane]; }

  std::unexpected<Error> Fault(const Thread& thread, const Inst& inst, std::string message) const;
  std::unexpected<Error> FaultOfBlock(const Inst* inst, std::string message, std::string hint = {}) const;
  std::string Describe(const Inst& inst) const;  // "shuffle at PTX line 12"

 private:
  std::unordered_map<const Function*, std::unique_ptr<FunctionFacts>> facts_;
  bool ended_ = false;  // View::kLoops: it has run
  std::span<std::byte> Carve(size_t& offset, size_t bytes);
};

// -- values --
Bits128 Read(const Frame& frame, ValueId value);
void Write(Frame& frame, ValueId value, Bits128 bits);  // keeps the low bits of its type

// -- control flow --
void Enter(Frame& frame, const Edge& edge);  // copies the arguments and moves to the block
Result<uint32_t> ChooseEdge(Step& step);     // of Br, CondBr, Switch

// -- floats, for atomics and reductions --
Bits128 MinMax(const Format& format, uint64_t a, uint64_t b, bool maximum, uint32_t flags);
uint64_t AddFloats(const Format& format, uint64_t a, uint64_t b, Rounding mode, bool flush);
// NaN to the canonical one, then .ftz, .sat, .relu on a rounded result.
uint64_t FinishFloat(const Format& format, uint64_t bits, uint32_t flags);

// -- memory --
enum class Access : uint8_t { kRead, kWrite, kReadWrite };
Result<std::byte*> Locate(Step& step, Space space, uint64_t address, uint32_t size, uint32_t align,
                          Access access);
Result<std::string> ReadText(Step& step, uint64_t address);
Bits128 Fetch(const std::byte* at, Type type);
void Put(std::byte* at, Type type, Bits128 bits);
uint64_t SymbolOffset(const Module& module, const Variable& variable);  // of a shared variable

// -- clusters --
// The clusters take turns until all have ended; the blocks' ctaid is set.
Status RunTogether(std::span<const std::unique_ptr<Cluster>> clusters);
// One after the other, as `next` gives them; null: there are no more. It is given one that has ended, or
// null. While clusters run for long, which those do that wait for a later one, the next one takes turns with
// them.
Status RunInOrder(const std::function<std::unique_ptr<Cluster>(std::unique_ptr<Cluster>)>& next);
// The block of the cluster in whose shared window a real address lies; null: none.
Machine* BlockOfShared(const Machine& machine, uint64_t address);
Status ArriveAtCluster(Step& step);
Result<bool> MustWaitForCluster(Step& step);  // has the phase that the thread arrived in not ended yet?

// -- atomics, also the arithmetic of redux --
Bits128 Combine(AtomicOp op, Type type, Bits128 old, Bits128 operand, uint32_t flags);

// -- collectives --
void Wait(Step& step);                         // the thread stops at this collective or barrier
bool IsConvergenceWait(const Thread& thread);  // activemask and forms without a membermask
Level AgreeLevel(const Thread& thread);        // of the agree it waits at
std::vector<Thread*> LiveThreads(Machine& machine, const Warp& warp);
// Completes the groups of waiting lanes whose members have all arrived; true if any lane continued.
Result<bool> CompleteGroups(Machine& machine, Warp& warp);
// Completes `members`, which wait at the same kind of collective.
Status CompleteGroup(Machine& machine, Warp& warp, uint32_t members);
void Release(Thread& thread);
// All of them wait at the same agree: checks that they share the value, returns it to each and resumes them.
Status CompleteAgreement(Machine& machine, std::span<Thread* const> threads);
// All of them wait at a block barrier that is complete: returns the result of reductions and resumes
// the threads.
Status CompleteBarrier(Machine& machine, std::span<Thread* const> threads);

// -- what a waiting thread waits for: an instruction, or the resume point of a suspend --
const ResumePoint* PointOf(const Thread& thread);  // null when it waits at an instruction
Opcode WaitsFor(const Thread& thread);
uint32_t MemberMask(const Thread& thread);
uint32_t BarrierWord(const Thread& thread, size_t number);  // 0: id, 1: count or 0, 2: predicate
void ReturnFromBarrier(Thread& thread, uint32_t result);
bool SameKind(const Thread& a, const Thread& b);  // SameOperation of the collectives that they wait at

// -- calls --
// Functions of the CUDA device runtime that PTX declares and does not define: vprintf, malloc, free,
// __assertfail.
Status CallExternal(Step& step, const Function& callee, size_t first_operand);
Result<std::string> FormatPrintf(Step& step, uint64_t format, uint64_t arguments, int* count);

}  // namespace ptx2cpu::ir::interpret
