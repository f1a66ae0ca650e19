// Accesses to arrays that are larger than the caches.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class OrderOfMemory : LanePart {
 public:
  using LanePart::LanePart;
  bool MayOrder() const;
  void LoadInOrder(const ir::Inst& inst, llvm::Value* first, Memory memory);
  llvm::Value* IsLarge(const ir::Inst& store);
  llvm::Value* Streams(const ir::Inst& store, const Mask& mask);
  void StorePastCaches(llvm::StoreInst& store) const;

 private:
  llvm::Value* TripsAround(const ir::Inst& access);
};

}  // namespace ptx2cpu::lowering
