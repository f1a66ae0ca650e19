// Code for ptx2cpu_surface_address, for one lane or, with vectors of coordinates, for all lanes of a step;
// all have one handle.
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

class SurfaceAddress {
 public:
  SurfaceAddress(FunctionEmitter& e, llvm::Value* handle, uint32_t access);
  // 0: out of range, 1: misaligned.
  llvm::Value* Of(llvm::Value* x, llvm::Value* y, llvm::Value* z);

 private:
  llvm::Value* Field(size_t offset, llvm::Type* type);
  llvm::Value* Image(size_t offset);
  llvm::Value* Level32(size_t offset);
  llvm::Value* Level64(size_t offset);
  llvm::Value* Like(llvm::Value* shape, llvm::Value* scalar);
  llvm::Value* Wide(llvm::Value* x, bool is_signed);
  llvm::Value* InRange(llvm::Value* number, llvm::Value* size);
  llvm::Value* Both(llvm::Value* a, llvm::Value* b);
  llvm::Value* Step(llvm::Value* address, llvm::Value* number, llvm::Value* size, size_t stride);

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  llvm::Value *is_unbound_, *surface_;
  llvm::Value* inside_ = nullptr;  // null: whatever it is
  uint32_t access_;
};

}  // namespace ptx2cpu::lowering
