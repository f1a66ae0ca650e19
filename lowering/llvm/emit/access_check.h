// Checks of accesses: a test in the code itself, and a call where the test does not suffice.
#pragma once

#include <cstdint>

#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {

// The check of one access (CheckAccess), for any number of lanes.
class AccessCheck {
 public:
  explicit AccessCheck(Site& site);

  // Whether the test alone can show that an access is right: that it is in the window, or in the allocation
  // that the site found last.
  bool IsTested() const { return positions_ != nullptr; }
  // i1, or a vector of it: the address is known to be right. Only where IsTested.
  llvm::Value* IsInside(llvm::Value* address) const;
  uint64_t align() const { return uint64_t{1} << shift_; }

  // The calls. `lanes`: i64, a bit for each thread from `thread` on.
  void Call(llvm::Value* thread, llvm::Value* addresses, llvm::Value* lanes) const;
  void CallRow(llvm::Value* thread, llvm::Value* first, int64_t stride, llvm::Value* lanes) const;

 private:
  void Test(uint64_t bytes);
  llvm::Constant* Variable();
  llvm::Value* PositionsIn(llvm::Value* window, uint64_t bytes) const;

  Site& s_;
  llvm::IRBuilder<>& b_;
  const uint32_t form_;
  unsigned shift_ = 0;                       // log2 of the alignment
  llvm::Value* base_ = nullptr;              // null: 0
  llvm::Value* positions_ = nullptr;         // that the access may have
  uint32_t range_ = PTX2CPU_NO_CHECK_RANGE;  // entry of check_ranges
  llvm::Constant* variable_;                 // ptx2cpu_check_variable, or null
  uint64_t variable_bytes_ = 0;              // 0: no variable
};

// The call of a CheckSync. `lanes`: i64, a bit for each thread from `thread` on.
void CallCheckSync(Site& site, llvm::Value* thread, llvm::Value* lanes);

}  // namespace ptx2cpu::lowering
