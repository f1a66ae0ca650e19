// Matrix fragments: exchange between the lanes of a warp, as shuffles of one vector.
#include "lowering/llvm/emit/lane_bits.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

// An 8x8 matrix of 16-bit elements: lane l has columns 2 * (l % 4) and the next of row l / 4. So row c of the
// matrix, column r is in lane 4 * c + r / 2, in the high half where r is odd.
Status EmitMatrixTranspose(Site& s) {
  const Value taking = TRY(LanesTaking(s, 1));
  const Value is_member = s.b.CreateBitCast(taking, llvm::FixedVectorType::get(s.b.getInt1Ty(), kWarpSize));
  const Value own = Broadcast(s.b, s.Raw(0), kWarpSize);
  const Value pairs = s.b.CreateSelect(is_member, own, llvm::Constant::getNullValue(own->getType()));
  std::vector<int> low_lane, high_lane;
  std::vector<llvm::Constant*> shift;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t row = lane / 4, column = lane % 4 * 2;
    low_lane.push_back(static_cast<int>(column * 4 + row / 2));
    high_lane.push_back(static_cast<int>((column + 1) * 4 + row / 2));
    shift.push_back(s.b.getInt32(row % 2 * 16));
  }
  const Value by = llvm::ConstantVector::get(shift);
  const Value low = s.b.CreateLShr(s.b.CreateShuffleVector(pairs, low_lane), by);
  const Value high = s.b.CreateLShr(s.b.CreateShuffleVector(pairs, high_lane), by);
  s.Return(s.b.CreateOr(s.b.CreateAnd(low, Literal(low, 0xffff)), s.b.CreateShl(high, Literal(high, 16))));
  return {};
}

}  // namespace ptx2cpu::lowering
