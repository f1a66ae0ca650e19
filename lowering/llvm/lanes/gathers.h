// Accesses at each lane's own address.
#pragma once

#include <functional>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneGathers : LanePart {
 public:
  using LanePart::LanePart;
  void Gather(const ir::Inst& inst, const Mask& mask);
  void Scatter(const ir::Inst& inst, const Mask& mask);
  void ScatterRows(const ir::Inst& inst);  // own_rows.cpp
  // windows.cpp: all lanes' elements within two registers' length of memory, else `apart`.
  Status InWindow(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& apart);

 private:
  llvm::Value* PointersForAll(const Mask& mask, llvm::Value* pointers);
  Mask ReadableByAll(const Mask& mask, llvm::Value*& pointers);
  void GatherElement(const ir::Inst& inst, size_t k, llvm::Value* pointers, const Mask& mask, Memory memory);
  void GatherFromWords(const ir::Inst& inst, llvm::Value* pointers, const Mask& mask, Memory memory);
  // own_rows.cpp
  std::vector<llvm::Value*> LoadParts(llvm::Type* element, llvm::Value* pointers, uint64_t offset,
                                      llvm::Align align, Memory memory);
  void GatherPairs(const ir::Inst& inst, size_t k, llvm::Value* pointers, const Mask& mask, Memory memory);
  void GatherRows(const ir::Inst& inst, llvm::Value* pointers, const Mask& mask, Memory memory);
};

}  // namespace ptx2cpu::lowering
