#include "lowering/llvm/lanes/lane_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "analysis/lanes/repeated_lanes.h"
#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/lanes/joined_rows.h"
#include "lowering/llvm/lanes/lane_cost.h"
#include "lowering/llvm/lanes/lane_width.h"
#include "lowering/llvm/lanes/loop_report.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

LaneShape ShapeIn(const FunctionEmitter& e, const LaneRegion& region, ValueId value) {
  ir::BlockId made = e.f.at_value(value).block;
  if (made.valid() && region.level_of[made.index] != LaneRegion::kNone) return region.shapes[value.index];
  return e.values.IsVarying(value) ? analysis::kVaryingShape : analysis::Uniform(analysis::Uniformity::kWarp);
}

namespace {

// LLVM's time grows with the code. Loops repay it, those within the loop over lanes and those around it.
constexpr double kMargin = 1.2;  // the estimate is rough, and vectors take longer to compile
constexpr size_t kMaxCodeOutside = 3000, kMaxCodeInLoops = 16000;

size_t Count(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

bool NumbersLanes(ir::Special special) {
  using enum ir::Special;
  return special == kLaneId || special == kWarpId || special == kLaneMaskEq || special == kLaneMaskLt ||
         special == kLaneMaskLe || special == kLaneMaskGt || special == kLaneMaskGe;
}

// Whether the value, or what it was computed from here, was loaded.
constexpr int kDepth = 10;
bool ComesFromMemory(const ir::Function& f, ValueId value, int depth) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kLoad && inst.attrs.space != Space::kParam) return true;
  if (ir::Info(inst.op).effect != ir::Effect::kPure)
    return inst.op != Opcode::kLoad && inst.op != Opcode::kSlotLoad;
  return std::ranges::any_of(inst.operands,
                             [&](ValueId operand) { return ComesFromMemory(f, operand, depth - 1); });
}

bool IsTerminatorOfLanes(Opcode op) {
  return op == Opcode::kBr || op == Opcode::kCondBr || op == Opcode::kSwitch || op == Opcode::kEndLane ||
         op == Opcode::kExitLane || op == Opcode::kTrap || op == Opcode::kUnreachable;
}

// A run of memory with gaps costs an access and a shuffle for each of its vectors: up to as many as a gather
// would take accesses. Masks of words in registers are made from those of lanes: one gap at most.
constexpr int64_t kMaxElementsApart = 4, kMaxApartOfWords = 2;
bool IsShortStride(const FunctionEmitter& e, const LaneShape& address, const ir::Inst& inst) {
  if (!address.affine() || address.stride % ir::Bytes(inst.type) != 0) return false;
  const int64_t apart = ElementsApart(address, inst), most = std::abs(apart);
  if (most > kMaxElementsApart || static_cast<size_t>(most) < Count(inst)) return false;
  const bool words = e.m.traits.has_masked_words && ir::Bits(inst.type) >= 32;
  return e.m.traits.has_avx512 || (words && most <= kMaxApartOfWords);
}

// What is between the elements that lanes store stays as it is: under masks, or where no other thread of the
// host sees that it is stored again.
bool IsInGroups(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst) {
  const std::optional<analysis::LaneGroups> groups = GroupsOfAccess(region, inst);
  if (!groups || inst.op == Opcode::kLoad) return groups.has_value();
  const bool is_private = e.private_shared && inst.attrs.space == Space::kShared;
  return ir::Bits(inst.type) >= 32 && (is_private || e.m.traits.has_masked_words);
}

LaneForm FormOfAccess(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst) {
  const LaneShape address = ShapeIn(e, region, inst.operands[0]);
  // Lanes at one address may follow each other at once: each reads the same, of the stores the last remains.
  if (analysis::IsStrong(inst, e.private_shared))
    return address.uniform() && inst.attrs.space != Space::kLocal ? LaneForm::kUniform : LaneForm::kEachLane;
  if (inst.attrs.space == Space::kLocal) {
    if (e.memory.local_granule() == 0) return LaneForm::kEachLane;
    return address.uniform() ? LaneForm::kVector : LaneForm::kGather;
  }
  if (address.uniform()) return LaneForm::kUniform;
  const auto bits = static_cast<unsigned>(ir::Bits(inst.type));
  const size_t count = Count(inst);
  const bool is_divided = count <= 4 || (count == 8 && bits == 32);
  if (inst.attrs.space == Space::kParam || bits < 8 || bits > 64 || !is_divided) return LaneForm::kEachLane;
  if (address.affine() && address.stride == static_cast<int64_t>(bits / 8 * count)) return LaneForm::kVector;
  if (address.affine() && address.stride == 0 && inst.op == Opcode::kLoad) return LaneForm::kUniformIfSeen;
  if (IsShortStride(e, address, inst)) return LaneForm::kStrided;
  if (IsInGroups(e, region, inst)) return LaneForm::kInGroups;
  const bool is_gathered = bits >= 32 || (inst.op == Opcode::kLoad && IsGathered(inst));
  if (count > 1 && !is_gathered) return LaneForm::kEachLane;
  // Sequences that parted lanes have brought together mostly are one still (where every lane took as many
  // trips).
  const bool is_loaded = region.from_memory[inst.operands[0].index];
  if (address.varying() && std::has_single_bit(count) && !is_loaded &&
      !ComesFromMemory(e.f, inst.operands[0], kDepth))
    return LaneForm::kVectorIfSeen;
  return is_gathered ? LaneForm::kGather : LaneForm::kEachLane;
}

bool IsUsed(const ir::Function& f, ValueId value) {
  return std::ranges::any_of(f.insts, [&](const ir::Inst& inst) {
    if (!inst.block.valid()) return false;
    return std::ranges::find(inst.operands, value) != inst.operands.end() ||
           std::ranges::any_of(inst.edges, [&](const ir::Edge& edge) {
             return std::ranges::find(edge.args, value) != edge.args.end();
           });
  });
}

// Whether one atomic does what those of all lanes do: at one address, and where each lane's result follows
// from the one.
bool Combines(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& atomic) {
  using enum ir::AtomicOp;
  const bool is_integer = ir::IsInteger(atomic.type) && ir::Bits(atomic.type) <= 64;
  if (!is_integer || atomic.attrs.space == Space::kLocal || !ShapeIn(e, region, atomic.operands[0]).uniform())
    return false;
  if (atomic.operands[0] == atomic.operands[1]) return false;  // the address is no sum
  const ir::AtomicOp op = atomic.attrs.atomic;
  if (op == kAdd) return true;
  const bool any_order =
      op == kAnd || op == kOr || op == kXor || op == kMinS || op == kMinU || op == kMaxS || op == kMaxU;
  return any_order && !IsUsed(e.f, atomic.results[0]);
}

}  // namespace

bool IsShortTurn(const FunctionEmitter& e, const ir::Inst& inst) {
  if (inst.op == Opcode::kStore) return !analysis::IsStrong(inst, e.private_shared);
  return inst.op == Opcode::kAtomic && inst.attrs.space == Space::kShared && e.private_shared;
}

unsigned BitsOfGatheredWord(const ir::Inst& load) {
  const auto bytes = static_cast<unsigned>(ir::Bytes(load.type)) * static_cast<unsigned>(load.results.size());
  const bool is_aligned = load.attrs.align == 0 || load.attrs.align >= bytes || load.results.size() == 1;
  return std::has_single_bit(bytes) && bytes <= 8 && is_aligned ? std::max(32u, 8 * bytes) : 0;
}

bool IsGathered(const ir::Inst& load) { return ir::Bits(load.type) >= 32 || BitsOfGatheredWord(load) != 0; }

bool IsWholeRows(const ir::Inst& store) {
  const int bits = ir::Bits(store.type);
  return (bits == 32 || bits == 64) && static_cast<size_t>(bits) * Count(store) % 128 == 0;
}

std::optional<analysis::LaneGroups> GroupsOfAccess(const LaneRegion& region, const ir::Inst& access) {
  const auto pattern = region.patterns.find(access.operands[0].index);
  if (pattern == region.patterns.end() || !region.shapes[access.operands[0].index].varying())
    return std::nullopt;
  const std::vector<int64_t>& distances = pattern->second.distances;
  const int64_t bytes = ir::Bytes(access.type);
  const auto count = static_cast<int64_t>(Count(access));
  if (access.op == Opcode::kStore && !analysis::IsInjective(distances, bytes * count)) return std::nullopt;
  return analysis::GroupsOf(distances, bytes, count, access.op == Opcode::kLoad);
}

int64_t ElementsApart(const LaneShape& address, const ir::Inst& access) {
  return address.stride / ir::Bytes(access.type);
}

LaneForm FormOf(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst) {
  auto is_uniform = [&](ValueId value) { return ShapeIn(e, region, value).uniform(); };
  if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore || inst.op == Opcode::kResumeWord) {
    return LaneForm::kVector;
  }
  if (IsOnceForAll(inst.op)) return LaneForm::kUniform;
  if (inst.op == Opcode::kCheckAccess)
    return is_uniform(inst.operands[1]) ? LaneForm::kVector : LaneForm::kEachLane;
  if (inst.op == Opcode::kCheckSync)
    return is_uniform(inst.operands[0]) && is_uniform(inst.operands[1]) ? LaneForm::kVector
                                                                        : LaneForm::kEachLane;
  if (inst.op == Opcode::kTexture) {
    return LaneForm::kVector;
  }
  if (inst.op == Opcode::kSurfaceAddress) {
    return is_uniform(inst.operands[0]) ? LaneForm::kVector : LaneForm::kEachLane;
  }
  if (inst.op == Opcode::kIsSpace || inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
    bool window = inst.op != Opcode::kIsSpace && inst.attrs.space != Space::kLocal &&
                  inst.attrs.space != Space::kSharedCluster;
    return window || is_uniform(inst.results[0]) ? LaneForm::kVector : LaneForm::kEachLane;
  }
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
    return FormOfAccess(e, region, inst);
  }
  if (inst.op == Opcode::kAtomic && Combines(e, region, inst)) return LaneForm::kVector;
  return ir::Info(inst.op).effect == ir::Effect::kPure ? LaneForm::kVector : LaneForm::kEachLane;
}

namespace {

using MaybeObstacle = std::optional<Obstacle>;

// What has no vector form.
MaybeObstacle ScalarOnly(const FunctionEmitter& e, const LaneRegion& region) {
  const ir::Function& f = e.f;
  if (!f.at_block(region.blocks[0]).params.empty())
    return Obstacle{"the loop's first block is a loop's head"};
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      const uint32_t line = inst.at.ptx_line;
      if (ir::IsTerminator(inst.op)) {
        if (!IsTerminatorOfLanes(inst.op)) return Obstacle{"a branch without a vector form", line};
        continue;
      }
      const bool narrow = inst.attrs.space == Space::kLocal && e.memory.local_granule() < 4;
      if (narrow && FormOf(e, region, inst) == LaneForm::kGather)
        return Obstacle{"parts of words of local memory at addresses of each thread's own", line};
      // There a lane that fails in a callee ends alone, with its own code.
      if (inst.op == Opcode::kCall && NobodyWaits(e.f)) return Obstacle{"a call", line};
      for (ValueId result : inst.results) {
        if (ir::Bits(f.type_of(result)) > 64 && !region.shapes[result.index].uniform())
          return Obstacle{"a value of more than 64 bits", line};
      }
    }
  }
  return std::nullopt;
}

// A width that is asked for is not judged.
MaybeObstacle AgainstVectors(const FunctionEmitter& e, const LaneRegion& region, unsigned width) {
  if (MaybeObstacle obstacle = ScalarOnly(e, region)) return obstacle;
  const LaneCost cost = CostOf(e, region, width);
  if (e.m.lane_width == 0 && cost.together * kMargin >= cost.one_by_one) {
    const auto rounded = [](double operations) { return std::to_string(std::lround(operations)); };
    return Obstacle{"vectors of " + std::to_string(width) + " would cost about " + rounded(cost.together) +
                    " operations, one by one " + rounded(cost.one_by_one)};
  }
  const size_t code = cost.code_outside + cost.code_in_loops;
  const bool is_much = cost.code_in_loops > kMaxCodeInLoops ||
                       (cost.code_outside > kMaxCodeOutside &&
                        (code > kMaxCodeInLoops || !analysis::AreRepeated(e.f, region.blocks[0])));
  if (is_much)
    return Obstacle{"vectors would be too much code: about " + std::to_string(code) + " operations"};
  return std::nullopt;
}

MaybeObstacle AgainstRows(const FunctionEmitter& e, const LaneRegion& region, unsigned width) {
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : e.f.at_block(block).insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      if (inst.op == Opcode::kSpecialRegister && NumbersLanes(inst.attrs.special))
        return Obstacle{"threads ask for their number in the warp", inst.at.ptx_line};
      if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) {
        if (e.f.slots[inst.attrs.index].shape == ir::Level::kWarp)
          return Obstacle{"a value of the warp crosses a barrier", inst.at.ptx_line};
      }
    }
  }
  return AgainstVectors(e, region, width);
}

using Threads = LaneRegionOptions::Threads;

LaneRegionOptions OptionsOf(const FunctionEmitter& e, Threads threads, unsigned width) {
  return {.private_shared = e.private_shared,
          .threads = threads,
          .width = width,
          .varies_outside = [&e](ValueId id) { return e.values.IsVarying(id); }};
}

std::optional<LaneRegion> FindRegion(const FunctionEmitter& e, ir::BlockId entry, Threads threads,
                                     unsigned width) {
  return analysis::FindLaneRegion(e.f, entry, OptionsOf(e, threads, width));
}

MaybeObstacle AgainstAnyVectors(const FunctionEmitter& e) {
  if (e.m.lane_width == 1) return Obstacle{"a width of 1 is asked for"};
  // Locals on the stack are one lane's at a time, or words of all lanes.
  if (e.memory.stack_locals() != nullptr && e.memory.local_granule() == 0)
    return Obstacle{"local memory is one thread's at a time"};
  return std::nullopt;
}

// Code that exists twice: in steps within rows of the data, and as elsewhere.
constexpr size_t kMaxInstructionsOfRows = 600;
size_t InstructionsOf(const ir::Function& f, const LaneRegion& region) {
  size_t count = 0;
  for (ir::BlockId block : region.blocks) count += f.at_block(block).insts.size();
  return count;
}

using Against = MaybeObstacle (*)(const FunctionEmitter&, const LaneRegion&, unsigned);

// The options and the region of a warp's lanes -> those of the first width at which vectors pay. Else: what
// is against the first.
MaybeObstacle ChooseWidth(const FunctionEmitter& e, ir::BlockId entry, unsigned row, Against against,
                          LaneRegionOptions& options, LaneRegion& region) {
  const unsigned own = WidthOf(e, region, row), shared = WidthOf(e, region, row, Rows::kShared);
  auto is_against = [&](unsigned width) {
    if (width != options.width) {
      options.width = width;
      region = *analysis::FindLaneRegion(e.f, entry, options);
    }
    return against(e, region, width);
  };
  const MaybeObstacle obstacle = is_against(own);
  return !obstacle || shared == own || is_against(shared) ? obstacle : std::nullopt;
}

// Of threads in rows of `row`; 0 where that is known at run time only.
std::optional<LanePlan> Plan(const FunctionEmitter& e, ir::BlockId entry, Threads threads, unsigned row,
                             Against against) {
  const auto stay = [&](const Obstacle& why) {
    ReportScalar(e, entry, why);
    return std::nullopt;
  };
  if (const MaybeObstacle obstacle = AgainstAnyVectors(e)) return stay(*obstacle);
  auto region = FindRegion(e, entry, threads, kWarpSize);
  if (!region) return stay({"a loop has two entries"});
  LaneRegionOptions options = OptionsOf(e, threads, kWarpSize);
  if (const MaybeObstacle obstacle = ChooseWidth(e, entry, row, against, options, *region))
    return stay(*obstacle);
  LanePlan plan{std::move(*region), options.width, e.m.traits.has_avx512};
  ReportVectors(e, plan);
  return plan;
}

}  // namespace

std::optional<LanePlan> PlanLanes(const FunctionEmitter& e, ir::BlockId entry) {
  const Threads threads = e.one_dimensional ? Threads::kOneDimensional : Threads::kAnyShape;
  return Plan(e, entry, threads, kWarpSize, AgainstVectors);
}

std::optional<LanePlan> PlanRows(const FunctionEmitter& e, ir::BlockId entry) {
  // Where blocks run as one: steps that divide the row of each need no masks, which counts where no loop
  // repeats what a step begins with.
  const uint32_t own = e.f.required_threads[0], longest = LongestRow(e);
  const auto region = own < kWarpSize || own == longest ? std::nullopt : RegionOfRow(e, entry);
  const bool is_straight = region && region->levels.size() == 1;
  return Plan(e, entry, Threads::kRow, is_straight ? own : longest, AgainstRows);
}

std::optional<LaneRegion> RegionOfRow(const FunctionEmitter& e, ir::BlockId entry) {
  return FindRegion(e, entry, Threads::kRow, kMaxBlockXY);
}

std::optional<LanePlan> PlanQuotientRows(const FunctionEmitter& e, ir::BlockId entry) {
  if (AgainstAnyVectors(e) || !e.m.options.Keeps(kRowsOfData)) return std::nullopt;
  const std::optional<LaneRegion> row = RegionOfRow(e, entry);
  if (!row || InstructionsOf(e.f, *row) > kMaxInstructionsOfRows) return std::nullopt;
  LaneRegionOptions options = OptionsOf(e, Threads::kRow, kWarpSize);
  auto quotients = analysis::FindRowQuotients(e.f, *row, options.varies_outside);
  if (!quotients) return std::nullopt;
  options.begins_anywhere = true;
  options.in_one_row = quotients->results;
  auto region = analysis::FindLaneRegion(e.f, entry, options);
  if (ChooseWidth(e, entry, LongestRow(e), AgainstRows, options, *region)) return std::nullopt;
  LanePlan plan{.region = std::move(*region),
                .width = options.width,
                .masks_steps = e.m.traits.has_avx512,
                .quotients = std::move(quotients)};
  ReportVectors(e, plan);
  e.m.options.NoteChange(kRowsOfData);
  return plan;
}

std::optional<LanePlan> PlanWideRows(const FunctionEmitter& e, ir::BlockId entry) {
  if (AgainstAnyVectors(e)) return std::nullopt;
  auto region = FindRegion(e, entry, Threads::kRow, kWarpSize);
  if (!region) return std::nullopt;
  const unsigned width = WideWidthOf(e, *region, LongestRow(e));
  if (width == 0) return std::nullopt;
  region = FindRegion(e, entry, Threads::kRow, width);
  if (AgainstRows(e, *region, width)) return std::nullopt;
  return LanePlan{std::move(*region), width, e.m.traits.has_avx512, true};
}

size_t ElementCount(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

llvm::Align AlignOf(const ir::Inst& access, size_t element) {
  const auto bytes = static_cast<uint64_t>(ir::Bytes(access.type));
  llvm::Align whole(access.attrs.align != 0 ? access.attrs.align : bytes * ElementCount(access));
  return llvm::commonAlignment(whole, element * bytes);
}

}  // namespace ptx2cpu::lowering
