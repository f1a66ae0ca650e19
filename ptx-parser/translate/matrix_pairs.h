// Matrices of elements with 4 to 8 bits as pairs of f16, which hold all of them exactly.
//
// A register has four elements in bytes, or eight of 4 bits. Pair p of each register makes a register of f16,
// and the registers of one p are the fragments of a product: where A and B agree in which elements of k these
// are, the sum over all p is the whole product.
#pragma once

#include "ptx-parser/translate/matrix.h"

namespace ptx2cpu::ptx {

enum class Packing : uint8_t { kBytes, kFourBits };

// Pair `number` of a register, as f16x2. In bytes, 6 bits are the low ones and 4 bits those in the middle.
ir::ValueId PairOf(Emitter& e, ir::ValueId word, PtxType type, Packing packing, size_t number);

// The fragments for the even and the odd pairs of bytes. Dense: a product of f16 of half the depth.
struct PairOperands {
  std::vector<ir::ValueId> a[2], b[2];
  std::optional<ir::ValueId> metadata[2];
};
PairOperands DensePairs(Emitter& e, const std::vector<ir::ValueId>& a, const std::vector<ir::ValueId>& b);
// m16n8k64 with a sparse A becomes two products m16n8k32: of the even and of the odd chunks of four elements.
PairOperands SparsePairs(Emitter& e, const std::vector<ir::ValueId>& a, const std::vector<ir::ValueId>& b,
                         ir::ValueId metadata);

// The sum of both products; `form` is that of one, its accumulators begin at zero.
std::vector<ir::ValueId> SumOfPairs(Emitter& e, const ir::matrix::Product& form, const PairOperands& pairs);

// The value of 32 bits that another lane has.
ir::ValueId FromLane(Emitter& e, ir::ValueId value, ir::ValueId lane);

}  // namespace ptx2cpu::ptx
