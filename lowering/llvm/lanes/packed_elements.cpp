// Several narrow elements of each lane, side by side: a word of each lane, which shifts divide.
//
//   lane i: r, g, b, a = bytes x[4 * i ..]   ->   words w = x[4 * i ..] ; r = w, g = w >> 8, ... (low bytes)
//
// Most code widens what it reads, so that the low bytes are a mask of bits, and of lanes there is one bit for
// each word. Shuffles of bytes would need a permutation for each element, which is then widened in parts. The
// machine's order of bytes is little-endian.
#include <llvm/IR/Constants.h>

#include <bit>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {
constexpr size_t kBytesOfWord = 4;
}

bool LaneRecords::IsPacked(const ir::Inst& access) const {
  const size_t count = ElementCount(access), bytes = count * static_cast<size_t>(ir::Bytes(access.type));
  return count > 1 && bytes <= kBytesOfWord && std::has_single_bit(bytes);
}

llvm::Type* LaneRecords::PackedType(const ir::Inst& access) {
  return VectorOf(b.getIntNTy(static_cast<unsigned>(ElementCount(access)) * ir::Bits(access.type)));
}

void LaneRecords::Unpack(const ir::Inst& load, Value words) {
  const auto bits = static_cast<unsigned>(ir::Bits(load.type));
  for (size_t k = 0; k < load.results.size(); ++k) {
    Value part = k == 0 ? words : b.CreateLShr(words, k * bits);
    part = b.CreateTrunc(part, VectorOf(b.getIntNTy(bits)));
    e.values.Set(load.results[k], b.CreateBitCast(part, VectorOf(e.m.MemoryTypeOf(load.type))));
  }
}

Value LaneRecords::Pack(const ir::Inst& store) {
  const auto bits = static_cast<unsigned>(ir::Bits(store.type));
  llvm::Type* type = PackedType(store);
  Value words = nullptr;
  for (size_t k = 0; k + 1 < store.operands.size(); ++k) {
    Value part = b.CreateBitCast(Vector(e.values.Get(store.operands[k + 1])), VectorOf(b.getIntNTy(bits)));
    part = b.CreateZExt(part, type);
    words = k == 0 ? part : b.CreateOr(words, b.CreateShl(part, k * bits));
  }
  return words;
}

}  // namespace ptx2cpu::lowering
