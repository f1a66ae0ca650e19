#include "runtime/cuda/libraries/nccl/exchange.h"

#include <algorithm>
#include <cstring>

namespace ptx2cpu::nccl {

Shape ShapeOf(const Operation& operation) {
  return {static_cast<uint32_t>(operation.kind), static_cast<uint32_t>(operation.type),
          static_cast<uint32_t>(operation.reduction), static_cast<uint32_t>(operation.root), operation.count};
}

uint64_t FactorOf(const Operation& operation) {
  uint64_t factor = operation.factor;
  if (operation.factor_at != nullptr) std::memcpy(&factor, operation.factor_at, SizeOf(operation.type));
  return factor;
}

const Movement* MovementOf(Kind kind) {
  static constexpr Movement kMovements[] = {
      {Kind::kAllGather, false, false, false}, {Kind::kBroadcast, true, false, false},
      {Kind::kAllToAll, false, true, false},   {Kind::kGather, false, false, true},
      {Kind::kScatter, true, true, false},
  };
  const auto* const row = std::ranges::find(kMovements, kind, &Movement::kind);
  return row == std::end(kMovements) ? nullptr : row;
}

Segment::Segment(size_t all, int rank, int ranks) {
  const auto part = static_cast<unsigned __int128>(all);
  begin = static_cast<size_t>(part * static_cast<unsigned>(rank) / static_cast<unsigned>(ranks));
  count =
      static_cast<size_t>(part * (static_cast<unsigned>(rank) + 1) / static_cast<unsigned>(ranks)) - begin;
}

}  // namespace ptx2cpu::nccl
