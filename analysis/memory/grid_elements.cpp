#include "analysis/memory/grid_elements.h"

#include <algorithm>
#include <bit>

#include "analysis/values/definitions.h"
#include "ir/parameters.h"

namespace ptx2cpu::analysis {
namespace {

using ir::Opcode;
using ir::ValueId;

constexpr int kMaxDepth = 8;

// A sum of 32 bits: `begins` * %ctaid.x * %ntid.x + `blocks` * %ctaid.x + `threads` * %tid.x + a number.
struct Index {
  uint32_t begins = 0, blocks = 0, threads = 0, number = 0;
};
constexpr uint32_t kMaxTimes = 256;

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
    const Opcode op = inst->op;
    if (op == Opcode::kConst) {
      Sum sum;
      sum.element.offset = static_cast<int64_t>(inst->attrs.bits);
      return sum;
    }
    if (op == Opcode::kLoad) return Pointer(*inst);
    if (op == Opcode::kSext || op == Opcode::kZext) return Widened(*inst);
    if (op == Opcode::kAdd && (inst->attrs.flags & ir::kSat) == 0)
      return Added(Read(inst->operands[0], depth - 1), Read(inst->operands[1], depth - 1));
    if (op == Opcode::kMul || op == Opcode::kShl) return Scaled(*inst, depth);
    return std::nullopt;
  }

 private:
  const ir::Inst* DefOf(ValueId value) const { return analysis::DefinitionOf(f_, value); }
  std::optional<uint64_t> NumberOf(ValueId value) const { return analysis::NumberOf(f_, value); }
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
    if (!index || !std::has_single_bit(index->threads) || index->threads > kMaxTimes) return std::nullopt;
    const uint32_t times = index->threads;
    if (index->blocks == 0 && index->begins != times) return std::nullopt;
    if (index->blocks != 0) {
      const uint64_t block = launch_ ? launch_->x : 0;
      if (block == 0 || index->begins * block + index->blocks != times * block) return std::nullopt;
    }
    Sum sum;
    sum.element.stride = times;
    sum.element.is_signed = widen.op == Opcode::kSext;
    // A number below `times` changes low bits only, whether the sum wraps or not.
    if (times == 1) {
      sum.element.first = index->number;
    } else {
      if (index->number >= times) return std::nullopt;
      sum.element.offset = index->number;
    }
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
    const int64_t offset = sum->element.offset;
    if (offset >= int64_t{1} << 31 || offset < -(int64_t{1} << 31)) return std::nullopt;
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
    if (IsSpecial(value, ir::Special::kCtaidX)) return Index{.blocks = 1};
    if (inst->op == Opcode::kMul || inst->op == Opcode::kShl) return Times(*inst, depth);
    if (inst->op != Opcode::kAdd || (inst->attrs.flags & ir::kSat) != 0) return std::nullopt;
    const auto a = IndexOf(inst->operands[0], depth - 1), b = IndexOf(inst->operands[1], depth - 1);
    if (!a || !b) return std::nullopt;
    return Index{a->begins + b->begins, a->blocks + b->blocks, a->threads + b->threads,
                 a->number + b->number};
  }

  std::optional<Index> Times(const ir::Inst& product, int depth) const {
    const bool shifts = product.op == Opcode::kShl;
    for (const size_t n : {0, 1}) {
      const ValueId factor = product.operands[n], other = product.operands[1 - n];
      if (!shifts && IsSpecial(factor, ir::Special::kNtidX) && IsSpecial(other, ir::Special::kCtaidX))
        return Index{.begins = 1};
      const auto number = NumberOf(factor);
      if (!number || (shifts && (n == 0 || *number > 16)) || *number > 65536) continue;
      const auto index = IndexOf(other, depth - 1);
      if (!index) return std::nullopt;
      const uint32_t times = shifts ? 1u << *number : static_cast<uint32_t>(*number);
      if (std::max({index->begins, index->blocks, index->threads}) > 65536 / std::max(times, 1u))
        return std::nullopt;
      return Index{index->begins * times, index->blocks * times, index->threads * times,
                   index->number * times};
    }
    return std::nullopt;
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

bool AreApart(const GridElement& a, uint64_t a_bytes, const GridElement& b, uint64_t b_bytes) {
  const bool same =
      a.parameter == b.parameter && a.stride == b.stride && a.first == b.first && a.is_signed == b.is_signed;
  return same && a.offset + static_cast<int64_t>(a_bytes) <= b.offset + b.stride &&
         b.offset + static_cast<int64_t>(b_bytes) <= a.offset + a.stride;
}

}  // namespace ptx2cpu::analysis
