#include "analysis/values/thread_transfer.h"

#include <algorithm>
#include <bit>

#include "analysis/values/linear_rules.h"

namespace ptx2cpu::analysis {

using ir::Opcode;

namespace {

Uniformity Worst(std::span<const ThreadShape> operands) {
  Uniformity worst = Uniformity::kGrid;
  for (const ThreadShape& operand : operands) worst = std::max(worst, operand.kind);
  return worst;
}

// The shape of a value that code of a level computes once: all threads that the code is for get one value.
ThreadShape OfLevel(ir::Level level) {
  return Uniform(level == ir::Level::kBlock ? Uniformity::kBlock : Uniformity::kWarp);
}

}  // namespace

bool IsStrong(const ir::Inst& access, bool private_shared) {
  using ir::MemoryOrder;
  const MemoryOrder order = access.attrs.order;
  if (order == MemoryOrder::kWeak && (access.attrs.flags & ir::kVolatile) == 0) return false;
  const bool ordered =
      order != MemoryOrder::kWeak && order != MemoryOrder::kVolatile && order != MemoryOrder::kRelaxed;
  return ordered || !private_shared || access.attrs.space != ir::Space::kShared;
}

bool HasPrivateShared(const ir::Function& f) {
  if (!f.is_kernel || f.resumes > ir::Resumes::kBlocks) return false;
  return std::ranges::none_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.attrs.space == ir::Space::kSharedCluster;
  });
}

ThreadShape ThreadTransfer::Result(const ir::Inst& inst, size_t number, ir::Level level,
                                   std::span<const ThreadShape> operands) const {
  const bool unknown = std::ranges::any_of(
      operands, [](const ThreadShape& operand) { return operand.kind == Uniformity::kUnknown; });
  switch (ir::Info(inst.op).lanes) {
    case ir::Lanes::kAlone:
      break;
    case ir::Lanes::kMeet:
    case ir::Lanes::kExchange:
      return kVaryingShape;
    case ir::Lanes::kVote:
      return unknown ? ThreadShape{} : Vote(inst, operands);
    case ir::Lanes::kElect:
      if (number != 0) return kVaryingShape;
      return unknown ? ThreadShape{} : Vote(inst, operands);
    case ir::Lanes::kPresence:  // only who executes at once is sure to be counted together
      return group_.at_once ? OfLevel(level) : kVaryingShape;
    case ir::Lanes::kAgree:
      return OfLevel(level);
  }
  if (unknown) return {};
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
      return Pure(inst, level, operands);
    case ir::Effect::kReads:
      return Read(inst, operands);
    case ir::Effect::kWrites:
    case ir::Effect::kMemory:
    case ir::Effect::kCollective:
    case ir::Effect::kBarrier:
    case ir::Effect::kOpaque:
    case ir::Effect::kTerminator:
      return kVaryingShape;
  }
  return kVaryingShape;
}

// One result for all members; which lanes are members differs where the mask does.
ThreadShape ThreadTransfer::Vote(const ir::Inst& inst, std::span<const ThreadShape> operands) const {
  if (ir::IsBarrier(inst.op)) return Uniform(Uniformity::kBlock);
  const bool converged = group_.at_once && (inst.attrs.flags & ir::kLegacy) != 0;
  return converged || operands.back().uniform() ? Uniform(Uniformity::kWarp) : kVaryingShape;
}

// Where the block's shape is promised, a warp begins at a multiple of 32 in the grid as well.
uint8_t ThreadTransfer::AlignOfExtent(ir::Special special) const {
  const LaunchShape shape = f_.is_kernel ? PromisedShape(f_) : LaunchShape{};
  const uint32_t extent = special == ir::Special::kNtidX   ? shape.x
                          : special == ir::Special::kNtidY ? shape.y
                          : special == ir::Special::kNtidZ ? shape.z
                                                           : 0;
  if (extent == 0) return 0;
  return static_cast<uint8_t>(std::min<int>(std::countr_zero(extent), ThreadShape::kMaxAlign));
}

ThreadShape ThreadTransfer::Register(const ir::Inst& inst, ir::Level level) const {
  const ir::Special special = inst.attrs.special;
  ThreadShape shape = Uniform(Uniformity::kGrid);
  auto along = [&](Axis axis) {
    shape.axes[axis] = 1;
    if (group_.along[axis] == ThreadGroup::Along::kConsecutive && !group_.begins_anywhere)
      shape.align = group_.low_bits;
    return Seen(shape, group_);
  };
  switch (ir::Info(special).varies) {
    case ir::Varies::kUniformInGrid:
      shape.align = AlignOfExtent(special);
      return shape;
    case ir::Varies::kUniformInBlock:
      return Uniform(Uniformity::kBlock);
    case ir::Varies::kUniformInWarp:
      return group_.is_warp ? Uniform(Uniformity::kWarp) : kVaryingShape;
    case ir::Varies::kAffineInTid:
      return along(special == ir::Special::kTidX ? kAxisX : special == ir::Special::kTidY ? kAxisY : kAxisZ);
    case ir::Varies::kAffineInLane:
      return along(kAxisLane);
    case ir::Varies::kVarying:
      return kVaryingShape;
    case ir::Varies::kTime:
      return group_.at_once ? OfLevel(level) : kVaryingShape;
  }
  return kVaryingShape;
}

ThreadShape ThreadTransfer::Pure(const ir::Inst& inst, ir::Level level,
                                 std::span<const ThreadShape> operands) const {
  if (inst.op == Opcode::kSpecialRegister) return Register(inst, level);
  if (inst.op == Opcode::kConst) {
    return Uniform(Uniformity::kGrid, static_cast<uint8_t>(std::min<int>(std::countr_zero(inst.attrs.bits),
                                                                         ThreadShape::kMaxAlign)));
  }
  const bool window = inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric;
  if (window && inst.attrs.space == ir::Space::kLocal) return kVaryingShape;  // every thread has its own
  const Uniformity worst = Worst(operands);
  // Lanes may choose among sequences by a condition of any form.
  const std::span<const ThreadShape> numbers = inst.op == Opcode::kSelect ? operands.subspan(1) : operands;
  const bool has_form = std::ranges::none_of(
      numbers, [](const ThreadShape& operand) { return operand.base == Uniformity::kVarying; });
  const ir::Type type = inst.op == Opcode::kIcmp ? inst.from : inst.type;
  const bool integer = ir::IsInteger(type) && ir::Bits(type) >= 32 && ir::Bits(type) <= 64;
  const LinearRule rule = has_form && (window || integer) ? LinearRuleOf(inst.op) : nullptr;
  ThreadShape shape = kVaryingShape;
  const bool in_address = in_address_ != nullptr && (*in_address_)[inst.results[0].index];
  if (rule != nullptr) shape = Seen(rule({f_, group_, inst, operands, in_address}), group_);
  if (worst <= Uniformity::kWarp) {
    if (shape.uniform()) return shape;
    ThreadShape window_of_block = Uniform(worst);
    if (window) window_of_block.base = window_of_block.kind = std::max(worst, Uniformity::kBlock);
    return window_of_block;
  }
  // The form of a varying value is kept, but a uniform difference of two such values is not available as one
  // value.
  return Worst(numbers) > Uniformity::kAffine && !shape.varying() ? kVaryingShape : shape;
}

ThreadShape ThreadTransfer::Read(const ir::Inst& inst, std::span<const ThreadShape> operands) const {
  if (inst.op == Opcode::kSlotLoad) {
    const ir::Level shape = f_.slots[inst.attrs.index].shape;
    if (shape == ir::Level::kLane) return kVaryingShape;
    return Uniform(shape == ir::Level::kBlock ? Uniformity::kBlock : Uniformity::kWarp);
  }
  if (inst.op != Opcode::kLoad || !operands[0].uniform()) return kVaryingShape;
  // Memory that no thread writes while the kernel runs has the same value for every thread. What lanes read
  // at one time is the same too: by weak loads, since between two barriers no other thread may write there,
  // and by strong ones, since the memory model lets the lanes' loads follow each other at once. Lanes at
  // other times may read another value.
  const bool frozen = inst.attrs.space == ir::Space::kConst || (inst.attrs.flags & ir::kNonCoherent) != 0 ||
                      (inst.attrs.space == ir::Space::kParam && f_.is_kernel);
  const bool together = group_.at_once && inst.attrs.space != ir::Space::kLocal;
  if (together && !frozen && IsStrong(inst, group_.private_shared))
    return Uniform(std::max(operands[0].kind, Uniformity::kWarp));
  return frozen || together ? Uniform(operands[0].kind) : kVaryingShape;
}

}  // namespace ptx2cpu::analysis
