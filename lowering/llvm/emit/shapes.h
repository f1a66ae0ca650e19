// Types and constants in the shape of other values.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>

namespace ptx2cpu::lowering {

// `element` in the shape of `like`.
llvm::Type* ShapedLike(llvm::Value* like, llvm::Type* element);
// An integer or float constant of `like`'s own type.
inline llvm::Constant* Literal(llvm::Value* like, uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}
llvm::Value* Broadcast(llvm::IRBuilder<>& b, llvm::Value* value, unsigned width);
// `first`, `first` + 1, ...
llvm::Value* Consecutive(llvm::IRBuilder<>& b, llvm::Value* first, unsigned width);

}  // namespace ptx2cpu::lowering
