#include "ir/interpret/interpret.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/interpret/machine.h"
#include "runtime/abi/launch_shape.h"
#include "runtime/abi/tensor_core.h"

namespace ptx2cpu::ir {

namespace interpret {

namespace {

constexpr Handler kHandlers[] = {
#define OP(name, mnemonic, signature, types, from, attributes, effects, ...) \
  []<Effect effect>() {                                                      \
    if constexpr (effect == Effect::kCollective)                             \
      return Handler(ExecuteCollective);                                     \
    else                                                                     \
      return Handler(Execute##name);                                         \
  }.template operator()<Effect::effects>(),
#include "ir/opcodes.def"
#undef OP
};
static_assert(std::size(kHandlers) == static_cast<size_t>(Opcode::kCount));

constexpr size_t kWindowAlign = 256;

size_t RoundUp(size_t value, size_t align) { return (value + align - 1) / align * align; }

// Calls that need a frame: not those of vprintf and the like.
bool HasCalls(const Module& module, const Function& f) {
  for (const Inst& inst : f.insts) {
    if (inst.op == Opcode::kCallIndirect) return true;
    if (inst.op == Opcode::kCall && !module.functions[inst.attrs.index].is_declaration) return true;
  }
  return false;
}

// Dynamic shared variables may be aligned more strictly than the end of the static ones.
uint32_t DynamicSharedOffset(const Module& module) {
  uint64_t offset = module.static_shared_bytes;
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::kShared && variable.size == 0)
      offset = std::max(offset, SymbolOffset(module, variable));
  }
  return static_cast<uint32_t>(offset);
}

// With tensor memory, where some function uses it.
uint32_t WindowBytes(const Module& module, uint32_t shared_bytes) {
  for (const Function& f : module.functions) {
    for (const Inst& inst : f.insts) {
      if (inst.op == Opcode::kTensorMemory)
        return tensor_core::OffsetInWindow(shared_bytes) + tensor_core::kWindowBytes;
    }
  }
  return shared_bytes;
}

}  // namespace

// -- values --

Bits128 Read(const Frame& frame, ValueId value) {
  Bits128 bits = frame.low[value.index];
  if (frame.facts->has_wide_values) bits |= Bits128{frame.high[value.index]} << 64;
  return bits;
}

void Write(Frame& frame, ValueId value, Bits128 bits) {
  bits &= MaskOf(Bits(frame.function->type_of(value)));
  frame.low[value.index] = static_cast<uint64_t>(bits);
  if (frame.facts->has_wide_values) frame.high[value.index] = static_cast<uint64_t>(bits >> 64);
}

Bits128 Step::Operand(size_t number) const { return Read(frame, inst.operands[number]); }

void Step::Return(Bits128 bits, size_t number) { Write(frame, inst.results[number], bits); }

std::unexpected<Error> Step::Fault(std::string message) const {
  return machine.Fault(thread, inst, std::move(message));
}

// -- machine --

Machine::Machine(const Module& module, const Function& kernel, ModuleStorage& storage,
                 std::span<const std::byte> parameter_bytes, const InterpretOptions& options,
                 Cluster& cluster)
    : module(module), kernel(kernel), storage(storage), options(options), cluster(cluster) {
  thread_count = options.block.x * options.block.y * options.block.z;
  warp_count = (thread_count + kWarpSize - 1) / kWarpSize;
  shared_bytes = DynamicSharedOffset(module) + options.dynamic_shared_bytes;
  const uint32_t window_bytes = WindowBytes(module, shared_bytes);
  uint32_t stack_bytes = HasCalls(module, kernel) ? kLocalStackBytes : 0;
  local_stride = static_cast<uint32_t>(RoundUp(kernel.local_bytes + stack_bytes, kWindowAlign));
  size_t param_bytes = std::max<size_t>(parameter_bytes.size(), kernel.param_bytes);
  memory.resize(kWindowAlign * 4 + param_bytes + window_bytes + size_t{local_stride} * thread_count,
                std::byte{options.fill});
  size_t offset = kWindowAlign - reinterpret_cast<uintptr_t>(memory.data()) % kWindowAlign;
  params = Carve(offset, param_bytes);
  shared = Carve(offset, window_bytes);
  local = Carve(offset, size_t{local_stride} * thread_count);
  if (!parameter_bytes.empty()) std::memcpy(params.data(), parameter_bytes.data(), parameter_bytes.size());

  threads.resize(thread_count);
  for (uint32_t t = 0; t < thread_count; ++t) {
    Thread& thread = threads[t];
    thread.index = t;
    thread.warp = t / kWarpSize;
    thread.lane = t % kWarpSize;
    thread.tid[0] = t % options.block.x;
    thread.tid[1] = t / options.block.x % options.block.y;
    thread.tid[2] = t / options.block.x / options.block.y;
  }
  for (uint32_t w = 0; w < warp_count; ++w) {
    warps.push_back({.first = w * kWarpSize, .count = std::min(kWarpSize, thread_count - w * kWarpSize)});
  }
}

std::span<std::byte> Machine::Carve(size_t& offset, size_t bytes) {
  std::span<std::byte> part(memory.data() + offset, bytes);
  offset += RoundUp(bytes, kWindowAlign);
  return part;
}

const FunctionFacts& Machine::FactsOf(const Function& function) {
  std::unique_ptr<FunctionFacts>& facts = facts_[&function];
  if (facts == nullptr) {
    facts = std::make_unique<FunctionFacts>();
    for (const Value& value : function.values) facts->has_wide_values |= Bits(value.type) > 64;
    facts->order.assign(function.blocks.size(), ~0u);
    uint32_t position = 0;
    for (BlockId block : ReversePostOrder(function)) facts->order[block.index] = position++;
  }
  return *facts;
}

namespace {
void PrepareFrame(Machine& machine, Thread& thread, const Function& function) {
  if (thread.frames.size() <= thread.depth) thread.frames.push_back(std::make_unique<Frame>());
  Frame& frame = *thread.frames[thread.depth++];
  frame.function = &function;
  frame.facts = &machine.FactsOf(function);
  frame.low.assign(function.values.size(), 0);
  frame.high.assign(frame.facts->has_wide_values ? function.values.size() : 0, 0);
  frame.block = function.entry;
  frame.next = 0;
  frame.local_base = 0;
  frame.call = nullptr;
}
}  // namespace

void Machine::StartThread(Thread& thread) {
  thread.state = ThreadState::kReady;
  thread.parked = false;
  thread.barrier_arrived = false;
  thread.waiting_at = nullptr;
  thread.point = 0;
  thread.cluster_arrival = 0;
  thread.depth = 0;
  PrepareFrame(*this, thread, kernel);
}

Status Machine::PushFrame(Step& step, const Function& callee) {
  Thread& thread = step.thread;
  if (thread.depth >= kCallDepthLimit) {
    return step.Fault(fmt::format("call of {} nests deeper than {} calls", callee.name, kCallDepthLimit));
  }
  uint32_t base =
      static_cast<uint32_t>(RoundUp(step.frame.local_base + step.frame.function->local_bytes, 16));
  if (base + uint64_t{callee.local_bytes} > local_stride) {
    return step.Fault(fmt::format("stack overflow: {} needs {} bytes of local memory, {} of {} are in use",
                                  callee.name, callee.local_bytes, base, local_stride));
  }
  PrepareFrame(*this, thread, callee);
  thread.frame().local_base = base;
  thread.frame().call = &step.inst;
  std::memset(local.data() + size_t{thread.index} * local_stride + base, options.fill, callee.local_bytes);
  return {};
}

uint32_t Machine::LiveLanes(const Warp& warp) const {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    if (threads[warp.first + lane].live()) lanes |= 1u << lane;
  }
  return lanes;
}

Status Machine::Count(const Thread& thread, const Inst& inst) {
  if (options.instruction_limit != 0 && executed >= options.instruction_limit) {
    return Fault(thread, inst,
                 fmt::format("more than {} instructions were executed", options.instruction_limit));
  }
  ++executed;
  return {};
}

Status Machine::Execute(Thread& thread, const Inst& inst) {
  TRY_STATUS(Count(thread, inst));
  Step step{*this, thread, thread.frame(), inst};
  return kHandlers[static_cast<size_t>(inst.op)](step);
}

Status Machine::RunThread(Thread& thread, uint32_t depth) {
  while (thread.state == ThreadState::kReady && thread.budget > 0 && thread.depth > depth) {
    --thread.budget;
    Frame& frame = thread.frame();
    const Inst& inst = frame.function->at_inst(frame.function->at_block(frame.block).insts[frame.next++]);
    TRY_STATUS(Execute(thread, inst));
  }
  return {};
}

void Machine::StartBlock() {
  std::memset(shared.data(), options.fill, shared.size());
  if (shared.size() > shared_bytes)
    Put(shared.data() + tensor_core::OffsetInWindow(shared_bytes) + tensor_core::kAllocatorAt, Type::kI32, 0);
  for (Thread& thread : threads) {
    StartThread(thread);
    std::memset(local.data() + size_t{thread.index} * local_stride, options.fill, kernel.local_bytes);
  }
  for (Warp& warp : warps)
    warp = {.first = warp.first, .count = warp.count, .slices_without_stop = 0, .block = kernel.entry};
  barriers.fill(Barrier{});
  ended_ = false;
  if (kernel.phase == Phase::kCollapsed) PrepareSlots();
}

// -- faults --

std::string Machine::Describe(const Inst& inst) const {
  const Opcode op = inst.op == Opcode::kSuspend ? kernel.resume_points[inst.attrs.index].op : inst.op;
  std::string_view name = Info(op).mnemonic;
  if (inst.at.ptx_line == 0) return std::string(name);
  return fmt::format("{} at PTX line {}", name, inst.at.ptx_line);
}

std::unexpected<Error> Machine::Fault(const Thread& thread, const Inst& inst, std::string message) const {
  std::string inside;
  if (thread.depth > 1) inside = fmt::format(", in {}", thread.frame().function->name);
  return FaultOfBlock(&inst, fmt::format("thread ({},{},{}){}: {}", thread.tid[0], thread.tid[1],
                                         thread.tid[2], inside, message));
}

std::unexpected<Error> Machine::FaultOfBlock(const Inst* inst, std::string message, std::string hint) const {
  Error error;
  error.code = ErrorCode::kFault;
  error.hint = std::move(hint);
  error.message =
      fmt::format("kernel {}, block ({},{},{}), {}", kernel.name, ctaid[0], ctaid[1], ctaid[2], message);
  if (inst != nullptr) {
    error.at = module.Place(inst->at.ptx_line);
    error.excerpt = module.Line(inst->at.ptx_line);
    if (inst->at.ptx_line == 0) error.message += fmt::format(" ({}, no PTX line)", Info(inst->op).mnemonic);
  }
  return std::unexpected(std::move(error));
}

}  // namespace interpret

namespace {

constexpr uint64_t kMaxResidentThreads = 132 * 2048;  // multiprocessors of an H200, threads of one
constexpr size_t kGridWorkspaceBytes = 64;

Dim3 ClusterOf(const Function& kernel, const InterpretOptions& options) {
  if (options.cluster.x != 0) return options.cluster;
  const uint32_t* required = kernel.required_cluster;
  return {std::max(required[0], 1u), std::max(required[1], 1u), std::max(required[2], 1u)};
}

Status CheckCluster(const Function& kernel, const InterpretOptions& options) {
  constexpr uint32_t kMaxBlocks = 16;
  const Dim3 cluster = ClusterOf(kernel, options), &grid = options.grid;
  const uint64_t blocks = uint64_t{cluster.x} * cluster.y * cluster.z;
  const bool divides =
      blocks != 0 && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  if (blocks <= kMaxBlocks && divides) return {};
  return Fail(
      ErrorCode::kLaunch,
      fmt::format(
          "kernel {}: clusters of ({},{},{}) blocks are not within 1..{} blocks, or do not divide the "
          "grid ({},{},{})",
          kernel.name, cluster.x, cluster.y, cluster.z, kMaxBlocks, grid.x, grid.y, grid.z));
}

Status CheckLaunch(const Function& kernel, std::span<const std::byte> params,
                   const InterpretOptions& options) {
  auto fail = [&](std::string message) {
    return Fail(ErrorCode::kLaunch, fmt::format("kernel {}: {}", kernel.name, message));
  };
  if (kernel.is_declaration || !kernel.entry.valid()) return fail("has no body");
  const Dim3 &block = options.block, &grid = options.grid;
  if (!IsLegalBlock(block)) {
    return fail(fmt::format("block ({},{},{}) is not within 1..{} threads, z up to {}", block.x, block.y,
                            block.z, kMaxThreads, kMaxBlockZ));
  }
  if (!IsLegalGrid(grid)) {
    return fail(fmt::format("grid ({},{},{}) is not within 1..{}, {}, {}", grid.x, grid.y, grid.z, kMaxGridX,
                            kMaxGridYZ, kMaxGridYZ));
  }
  if (params.size() < kernel.param_bytes) {
    return fail(fmt::format("needs {} bytes of parameters, got {}", kernel.param_bytes, params.size()));
  }
  const uint64_t threads = Volume(block);
  const uint32_t* required = kernel.required_threads;
  if (required[0] != 0 && (required[0] != block.x || std::max(required[1], 1u) != block.y ||
                           std::max(required[2], 1u) != block.z)) {
    return fail(fmt::format("requires blocks of ({},{},{}) threads", required[0], required[1], required[2]));
  }
  const uint32_t* most = kernel.max_threads;
  if (most[0] != 0 && threads > uint64_t{most[0]} * std::max(most[1], 1u) * std::max(most[2], 1u)) {
    return fail(fmt::format("allows blocks of ({},{},{}) threads at most", most[0], most[1], most[2]));
  }
  if (options.cooperative && Volume(grid) * threads > kMaxResidentThreads) {
    return fail(fmt::format(
        "a cooperative launch of ({},{},{}) blocks of {} threads is too large: at most {} threads "
        "are resident at once",
        grid.x, grid.y, grid.z, threads, kMaxResidentThreads));
  }
  return CheckCluster(kernel, options);
}

std::unique_ptr<interpret::Cluster> MakeCluster(const Module& module, const Function& kernel,
                                                ModuleStorage& storage, std::span<const std::byte> params,
                                                const InterpretOptions& options) {
  auto cluster = std::make_unique<interpret::Cluster>();
  const Dim3 shape = cluster->shape = ClusterOf(kernel, options);
  cluster->is_explicit = options.cluster.x != 0 || kernel.required_cluster[0] != 0;
  for (uint32_t rank = 0; rank < shape.x * shape.y * shape.z; ++rank) {
    cluster->blocks.push_back(
        std::make_unique<interpret::Machine>(module, kernel, storage, params, options, *cluster));
    interpret::Machine& block = *cluster->blocks.back();
    block.cluster_rank = rank;
    block.cluster_ctaid[0] = rank % shape.x;
    block.cluster_ctaid[1] = rank / shape.x % shape.y;
    block.cluster_ctaid[2] = rank / shape.x / shape.y;
  }
  return cluster;
}

// Whether the blocks of a cluster run: all do, or one of them is the only one that is wanted.
bool Wanted(const InterpretOptions& options, const Dim3& first, const Dim3& shape) {
  if (!options.only_block) return true;
  const Dim3& only = *options.only_block;
  return only.x - first.x < shape.x && only.y - first.y < shape.y && only.z - first.z < shape.z;
}

}  // namespace

Status Interpret(const Module& module, const Function& kernel, ModuleStorage& storage,
                 std::span<const std::byte> params, const InterpretOptions& options) {
  TRY_STATUS(CheckLaunch(kernel, params, options));
  const Dim3 &grid = options.grid, shape = ClusterOf(kernel, options);
  alignas(16) std::array<std::byte, kGridWorkspaceBytes> workspace{};
  Dim3 at = {0, 0, 0};  // the next cluster's first block
  const auto next = [&](std::unique_ptr<interpret::Cluster> cluster) {
    while (at.z < grid.z) {
      const Dim3 first = at;
      at.x += shape.x;
      if (at.x >= grid.x) at = {0, at.y + shape.y, at.z};
      if (at.y >= grid.y) at = {0, 0, at.z + shape.z};
      if (!Wanted(options, first, shape)) continue;
      if (cluster == nullptr) cluster = MakeCluster(module, kernel, storage, params, options);
      if (options.cooperative) cluster->grid_workspace = workspace;
      for (auto& block : cluster->blocks) {
        block->ctaid[0] = first.x + block->cluster_ctaid[0];
        block->ctaid[1] = first.y + block->cluster_ctaid[1];
        block->ctaid[2] = first.z + block->cluster_ctaid[2];
      }
      return cluster;
    }
    return std::unique_ptr<interpret::Cluster>();
  };
  if (!options.cooperative) return interpret::RunInOrder(next);
  std::vector<std::unique_ptr<interpret::Cluster>> together;
  while (auto cluster = next(nullptr)) together.push_back(std::move(cluster));
  return interpret::RunTogether(together);
}

}  // namespace ptx2cpu::ir
