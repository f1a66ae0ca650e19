// Loads of less than 32 bits at each lane's own address: machines gather words.
#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

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

}  // namespace ptx2cpu::lowering
