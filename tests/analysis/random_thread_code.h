// Straight code of integers in one block, and its values for each thread of a block.
#pragma once

#include <random>
#include <vector>

#include "analysis/values/thread_shape.h"
#include "ir/build.h"

namespace ptx2cpu::random_thread_code {

using analysis::LaunchShape;
using ir::Opcode;
using ir::Type;

struct Thread {
  uint32_t x, y, z, number;
};

// Straight code of integers in one block, computed for each thread of a block.
class RandomCode {
 public:
  explicit RandomCode(uint32_t seed) : random_(seed) {
    f.is_kernel = true;
    f.entry = ir::AddBlock(f);
    ir::Builder b{f, f.entry};
    for (ir::Special special : {ir::Special::kTidX, ir::Special::kTidY, ir::Special::kTidZ,
                                ir::Special::kLaneId, ir::Special::kCtaidX, ir::Special::kNtidX}) {
      words_.push_back(b.SpecialRegister(special));
    }
    for (uint64_t bits : {0u, 1u, 4u, 5u, 31u, 32u, 48u, 0xffffffe0u, 0xfffffffcu, 0x40000000u}) {
      words_.push_back(b.Const(Type::kI32, bits));
    }
    for (int n = 0; n < 40; ++n) Add(b);
    b.Ret();
  }

  // Of one thread, by value.
  std::vector<uint64_t> Run(const Thread& thread, const LaunchShape& shape, uint32_t block) const {
    std::vector<uint64_t> values(f.values.size());
    for (ir::InstId id : f.at_block(f.entry).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.results.empty()) continue;
      const uint64_t bits = ir::Bits(inst.type) == 32 ? 0xffffffffu : ~uint64_t{0};
      values[inst.results[0].index] = Compute(inst, values, thread, shape, block) & bits;
    }
    return values;
  }

  ir::Function f;

 private:
  size_t Below(size_t count) { return random_() % count; }
  ir::ValueId Word() { return words_[Below(words_.size())]; }
  ir::ValueId Long() { return longs_[Below(longs_.size())]; }

  void Add(ir::Builder& b) {
    constexpr Opcode kBinary[] = {Opcode::kAdd, Opcode::kAdd, Opcode::kSub,  Opcode::kMul, Opcode::kMul,
                                  Opcode::kAnd, Opcode::kShl, Opcode::kShrU, Opcode::kShrS};
    const Opcode op = kBinary[Below(std::size(kBinary))];
    switch (longs_.empty() ? Below(5) : Below(9)) {
      case 0:
        longs_.push_back(b.Convert(Below(2) != 0 ? Opcode::kZext : Opcode::kSext, Type::kI64, Word()));
        return;
      case 1:
        words_.push_back(b.Unary(Opcode::kNeg, Type::kI32, Word()));
        return;
      case 4: {  // a field, or what a mask leaves, in place of low bits that are zero
        const auto place = static_cast<uint32_t>(Below(6));
        const ir::ValueId masked =
            b.Binary(Opcode::kAnd, Type::kI32, Word(), b.Const(Type::kI32, (1u << place) - 1));
        const ir::ValueId above = b.Binary(Opcode::kShl, Type::kI32, Word(), b.Const(Type::kI32, place));
        const ir::ValueId field = b.Inst1(Opcode::kBfi, Type::kI32,
                                          {Word(), Word(), b.Const(Type::kI32, place),
                                           b.Const(Type::kI32, Below(4) == 0 ? 256 : 32 - place)});
        words_.push_back(Below(2) == 0 ? b.Binary(Opcode::kOr, Type::kI32, above, masked) : field);
        return;
      }
      case 8:
        words_.push_back(b.Convert(Opcode::kTrunc, Type::kI32, Long()));
        return;
      case 5:
        if (op == Opcode::kAnd || op == Opcode::kMul || op == Opcode::kAdd || op == Opcode::kSub) {
          longs_.push_back(b.Binary(op, Type::kI64, Long(), Long()));
          return;
        }
        longs_.push_back(b.Binary(op, Type::kI64, Long(), Word()));
        return;
      case 3:
        b.Icmp(kCompares[Below(std::size(kCompares))], Word(), Word());
        return;
      case 7:
        words_.push_back(b.Select(b.Icmp(ir::Compare::kUlt, Word(), Word()), Word(), Word()));
        return;
      default:
        words_.push_back(b.Binary(op, Type::kI32, Word(), Word()));
        return;
    }
  }

  uint64_t Compute(const ir::Inst& inst, const std::vector<uint64_t>& values, const Thread& thread,
                   const LaunchShape& shape, uint32_t block) const {
    auto in = [&](size_t n) { return values[inst.operands[n].index]; };
    const auto width = static_cast<uint64_t>(ir::Bits(inst.type));
    if (inst.op == Opcode::kConst) return inst.attrs.bits;
    if (inst.op == Opcode::kAdd) return in(0) + in(1);
    if (inst.op == Opcode::kSub) return in(0) - in(1);
    if (inst.op == Opcode::kMul) return in(0) * in(1);
    if (inst.op == Opcode::kAnd) return in(0) & in(1);
    if (inst.op == Opcode::kOr) return in(0) | in(1);
    if (inst.op == Opcode::kBfi) {
      const uint64_t end = std::min(in(2) + in(3) % 256, width);
      const uint64_t mask = ((uint64_t{1} << end) - 1) & ~((uint64_t{1} << std::min(in(2), end)) - 1);
      return (in(1) & ~mask) | (in(0) << in(2) & mask);
    }
    if (inst.op == Opcode::kNeg) return 0 - in(0);
    if (inst.op == Opcode::kShl) return in(1) >= width ? 0 : in(0) << in(1);
    if (inst.op == Opcode::kShrU) return in(1) >= width ? 0 : in(0) >> in(1);
    if (inst.op == Opcode::kShrS) {
      const auto value = width == 32 ? int64_t{static_cast<int32_t>(in(0))} : static_cast<int64_t>(in(0));
      return static_cast<uint64_t>(value >> std::min<uint64_t>(in(1), width - 1));
    }
    if (inst.op == Opcode::kZext || inst.op == Opcode::kTrunc) return in(0);
    if (inst.op == Opcode::kSext) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(in(0))});
    if (inst.op == Opcode::kSelect) return in(0) != 0 ? in(1) : in(2);
    if (inst.op == Opcode::kIcmp) return Holds(inst.attrs.compare, in(0), in(1)) ? 1 : 0;
    if (inst.op != Opcode::kSpecialRegister) FAIL("no rule");
    if (inst.attrs.special == ir::Special::kTidX) return thread.x;
    if (inst.attrs.special == ir::Special::kTidY) return thread.y;
    if (inst.attrs.special == ir::Special::kTidZ) return thread.z;
    if (inst.attrs.special == ir::Special::kLaneId) return thread.number % 32;
    return inst.attrs.special == ir::Special::kNtidX ? shape.x : block;
  }

  static constexpr ir::Compare kCompares[] = {ir::Compare::kUlt, ir::Compare::kUle, ir::Compare::kUgt,
                                              ir::Compare::kUge, ir::Compare::kSlt, ir::Compare::kSle,
                                              ir::Compare::kSgt, ir::Compare::kSge};
  static bool Holds(ir::Compare compare, uint64_t a, uint64_t b) {
    const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
    if (compare == ir::Compare::kUlt) return a < b;
    if (compare == ir::Compare::kUle) return a <= b;
    if (compare == ir::Compare::kUgt) return a > b;
    if (compare == ir::Compare::kUge) return a >= b;
    if (compare == ir::Compare::kSlt) return x < y;
    if (compare == ir::Compare::kSle) return x <= y;
    if (compare == ir::Compare::kSgt) return x > y;
    return x >= y;
  }

  std::mt19937 random_;
  std::vector<ir::ValueId> words_, longs_;
};

}  // namespace ptx2cpu::random_thread_code
