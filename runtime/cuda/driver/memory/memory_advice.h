// The advice of programs about managed memory: by address, in pieces with one advice each. It moves
// nothing here; programs may query it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::driver {

struct Advice {
  bool read_mostly = false;
  cuda::CUmemLocation preferred = {cuda::CU_MEM_LOCATION_TYPE_INVALID, 0};
  cuda::CUmemLocation prefetched = {cuda::CU_MEM_LOCATION_TYPE_INVALID, 0};
  std::set<int> accessed_by;  // device ordinals, CU_DEVICE_CPU
};

class AdviceMap {
 public:
  static AdviceMap& Get();

  void Change(uintptr_t begin, uintptr_t end, const std::function<void(Advice&)>& change);
  // Calls `look` for each piece; bytes without advice are a piece with the default one.
  void Look(uintptr_t begin, uintptr_t end, const std::function<void(const Advice&)>& look) const;
  // The memory is gone.
  void Forget(uintptr_t begin, uintptr_t end);

 private:
  struct Piece {
    uintptr_t end;
    Advice advice;
  };
  void SplitAt(uintptr_t address);

  mutable std::mutex mutex_;
  std::map<uintptr_t, Piece> pieces_;  // by begin, not overlapping
};

}  // namespace ptx2cpu::driver
