#include "analysis/memory/grid_elements.h"

#include "ir/parameters.h"

namespace ptx2cpu::analysis {
namespace {

using ir::Opcode;
using ir::ValueId;

constexpr int kMaxDepth = 16;

// %ctaid.x * %ntid.x `blocks` times, %tid.x `threads` times, and a number.
struct Index {
  uint32_t blocks = 0, threads = 0, number = 0;
};

class Reader {
 public:
  Reader(const ir::Function& f, const std::optional<LaunchShape>& launch) : f_(f), launch_(launch) {}

  // An address of 64 bits; `element.parameter` is set where *has_pointer.
  struct Sum {
    GridElement element;
    bool has_pointer = false;
  };
  std::optional<Sum> Read(ValueId value, int depth = kMaxDepth) const {
    const ir::Inst* inst = DefOf(value);
    if (inst == nullptr || depth == 0) return std::nullopt;
    Sum sum;
    switch (inst->op) {
      case Opcode::kConst:
        sum.element.offset = static_cast<int64_t>(inst->attrs.bits);
        return sum;
      case Opcode::kLoad:
        return Pointer(*inst);
      case Opcode::kSext:
      case Opcode::kZext:
        return Widened(*inst);
      case Opcode::kAdd:
        return Added(Read(inst->operands[0], depth - 1), Read(inst->operands[1], depth - 1));
      case Opcode::kMul:
      case Opcode::kShl:
        return Scaled(*inst, depth);
      default:
        return std::nullopt;
    }
  }

 private:
  const ir::Inst* DefOf(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }
  std::optional<uint64_t> NumberOf(ValueId value) const {
    const ir::Inst* inst = DefOf(value);
    return inst != nullptr && inst->op == Opcode::kConst ? std::optional(inst->attrs.bits) : std::nullopt;
  }
  bool IsSpecial(ValueId value, ir::Special special) const {
    const ir::Inst* inst = DefOf(value);
    return inst != nullptr && inst->op == Opcode::kSpecialRegister && inst->attrs.special == special;
  }

  std::optional<Sum> Pointer(const ir::Inst& load) const {
    if (load.attrs.space != ir::Space::kParam || load.results.size() != 1) return std::nullopt;
    const std::optional<uint64_t> at = ir::DistanceInParameters(f_, load.operands[0]);
    if (!at || ir::Bits(load.type) != 64) return std::nullopt;
    Sum sum;
    sum.element.parameter = *at;
    sum.has_pointer = true;
    return sum;
  }

  std::optional<Sum> Widened(const ir::Inst& widen) const {
    if (f_.type_of(widen.operands[0]) != ir::Type::kI32) return std::nullopt;
    const std::optional<Index> index = IndexOf(widen.operands[0], kMaxDepth);
    if (!index || index->blocks != 1 || index->threads != 1) return std::nullopt;
    Sum sum;
    sum.element.stride = 1;
    sum.element.first = index->number;
    sum.element.is_signed = widen.op == Opcode::kSext;
    return sum;
  }

  static std::optional<Sum> Added(const std::optional<Sum>& a, const std::optional<Sum>& b) {
    if (!a || !b || (a->has_pointer && b->has_pointer)) return std::nullopt;
    if (a->element.stride != 0 && b->element.stride != 0) return std::nullopt;
    const GridElement& index = a->element.stride != 0 ? a->element : b->element;
    const Sum& pointer = a->has_pointer ? *a : *b;
    Sum sum;
    sum.element = index;
    sum.element.offset = a->element.offset + b->element.offset;
    sum.element.parameter = pointer.element.parameter;
    sum.has_pointer = pointer.has_pointer;
    return sum;
  }

  std::optional<Sum> Scaled(const ir::Inst& inst, int depth) const {
    auto number = NumberOf(inst.operands[1]);
    auto sum = Read(inst.operands[0], depth - 1);
    if (!number && inst.op == Opcode::kMul) {
      number = NumberOf(inst.operands[0]);
      sum = Read(inst.operands[1], depth - 1);
    }
    constexpr uint64_t kMaxScale = uint64_t{1} << 24;
    if (!number || !sum || sum->has_pointer) return std::nullopt;
    if (inst.op == Opcode::kShl) number = *number < 24 ? uint64_t{1} << *number : kMaxScale;
    if (*number >= kMaxScale || sum->element.stride >= static_cast<int64_t>(kMaxScale)) return std::nullopt;
    const auto scale = static_cast<int64_t>(*number);
    sum->element.stride *= scale;
    sum->element.offset *= scale;
    return sum;
  }

  std::optional<Index> IndexOf(ValueId value, int depth) const {
    const ir::Inst* inst = DefOf(value);
    if (inst == nullptr || depth == 0) return std::nullopt;
    if (inst->op == Opcode::kConst) return Index{.number = static_cast<uint32_t>(inst->attrs.bits)};
    if (IsSpecial(value, ir::Special::kTidX)) return Index{.threads = 1};
    if (inst->op == Opcode::kMul || inst->op == Opcode::kShl)
      return IsBegin(*inst) ? std::optional(Index{.blocks = 1}) : std::nullopt;
    if (inst->op != Opcode::kAdd) return std::nullopt;
    const auto a = IndexOf(inst->operands[0], depth - 1), b = IndexOf(inst->operands[1], depth - 1);
    if (!a || !b) return std::nullopt;
    return Index{a->blocks + b->blocks, a->threads + b->threads, a->number + b->number};
  }

  // The first thread of the block, counted in the grid.
  bool IsBegin(const ir::Inst& product) const {
    for (const size_t block : {0, 1}) {
      const ValueId extent = product.operands[1 - block];
      if (!IsSpecial(product.operands[block], ir::Special::kCtaidX)) continue;
      if (product.op == Opcode::kMul && IsSpecial(extent, ir::Special::kNtidX)) return true;
      const auto number = NumberOf(extent);
      if (!number || !launch_) return false;
      if (product.op == Opcode::kMul) return *number == launch_->x;
      return block == 0 && *number < 32 && uint64_t{1} << *number == launch_->x;
    }
    return false;
  }

  const ir::Function& f_;
  const std::optional<LaunchShape>& launch_;
};

}  // namespace

std::optional<GridElement> GridElementAt(const ir::Function& f, ValueId address,
                                         const std::optional<LaunchShape>& launch) {
  const auto sum = Reader(f, launch).Read(address);
  if (!sum || !sum->has_pointer || sum->element.stride <= 0) return std::nullopt;
  return sum->element;
}

}  // namespace ptx2cpu::analysis
