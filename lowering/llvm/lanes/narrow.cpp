// Less than 32 bits of each lane: machines gather words, and work on several lanes' elements in a register.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {
constexpr unsigned kWordBits = 64;
}

// An aligned word is on one page: what it holds besides the elements may be read.
void LaneVectors::GatherFromWords(const ir::Inst& inst, Value pointers, const Mask& mask, Memory memory) {
  const unsigned bits = BitsOfGatheredWord(inst), bytes = bits / 8,
                 part = static_cast<unsigned>(ir::Bits(inst.type));
  Value address = b.CreatePtrToInt(pointers, VectorOf(b.getInt64Ty()));
  Value from =
      b.CreateIntToPtr(b.CreateAnd(address, Literal(address, ~uint64_t{bytes - 1})), pointers->getType());
  llvm::Type* type = VectorOf(e.I(bits));
  auto* words =
      b.CreateMaskedGather(type, from, llvm::Align(bytes), mask.lanes, llvm::Constant::getNullValue(type));
  e.m.Annotate(words, memory);
  Value before = b.CreateShl(b.CreateAnd(address, Literal(address, bytes - 1)), Literal(address, 3));
  Value whole = b.CreateLShr(words, b.CreateTrunc(before, type));
  for (size_t k = 0; k < inst.results.size(); ++k) {
    Value element = b.CreateTrunc(b.CreateLShr(whole, Literal(whole, k * part)), VectorOf(e.I(part)));
    e.values.Set(inst.results[k], b.CreateBitCast(element, VectorOf(e.m.MemoryTypeOf(inst.type))));
  }
}

// A load for each byte, one for the word that it chooses, and a store are all accesses that a processor
// begins in a cycle; where other code accesses memory, too, that is what the loop waits for.
Status LaneVectors::AllLanesFrom(std::span<const Stored> operands, const OfLane& body) {
  const auto narrow = std::ranges::find_if(operands, [&](const Stored& operand) {
    const ir::Type type = f.type_of(operand.id);
    return type != ir::Type::kI1 && static_cast<unsigned>(ir::Bits(type)) <= kWordBits / 4 &&
           e.m.MemoryTypeOf(type)->isIntegerTy();
  });
  const auto bits =
      narrow == operands.end() ? kWordBits : static_cast<unsigned>(ir::Bits(f.type_of(narrow->id)));
  const unsigned lanes = kWordBits / bits;
  if (lanes == 1 || width_ % lanes != 0) return AllLanes([&](Value lane) { return body(lane, operands); });
  return e.body.Loop(b.getInt32(width_ / lanes), "word", [&](Value number) -> Status {
    Value first = b.CreateMul(number, Literal(number, lanes), "", true, true);
    Value word = b.CreateAlignedLoad(b.getInt64Ty(), ElementOf(*narrow, first), llvm::Align(bits / 8));
    std::vector<Stored> here(operands.begin(), operands.end());
    for (unsigned n = 0; n < lanes; ++n) {
      here[static_cast<size_t>(narrow - operands.begin())].element =
          b.CreateTrunc(b.CreateLShr(word, Literal(word, uint64_t{n} * bits)), b.getIntNTy(bits));
      TRY_STATUS(body(b.CreateAdd(first, Literal(first, n), "lane", true, true), here));
    }
    return {};
  });
}

}  // namespace ptx2cpu::lowering
