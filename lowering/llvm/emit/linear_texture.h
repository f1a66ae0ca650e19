// Integer reads of linear memory with channels of 32 bits (tex1Dfetch) in generated code: a check of the
// texture, and loads. For one lane or, with a vector of texel numbers, for all lanes of a step; all have one
// handle.
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

class LinearTexture {
 public:
  // Whether an instruction with this `fetch` word (runtime/abi/texture.h) may read linear memory.
  static bool MayRead(uint32_t fetch);

  LinearTexture(FunctionEmitter& e, llvm::Value* handle);
  // i1: the texture is such memory. The functions below are for code where that holds.
  llvm::Value* Holds();
  llvm::Value* HasOneChannel();
  llvm::Value* HasChannel(uint32_t number);
  llvm::Value* IsInside(llvm::Value* texel);
  llvm::Value* Address(llvm::Value* texel);  // of its first channel: a pointer, or a vector of them
  // Zeros, as large as a channel, that are read in place of texels outside of the memory.
  llvm::Value* Zero() const { return none_; }

 private:
  llvm::Value* Field(size_t offset, llvm::Type* type);

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  llvm::GlobalVariable* none_;
  llvm::Value* texture_;
};

}  // namespace ptx2cpu::lowering
