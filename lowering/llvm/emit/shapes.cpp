#include "lowering/llvm/emit/shapes.h"

#include <numeric>

namespace ptx2cpu::lowering {

llvm::Type* ShapedLike(llvm::Value* like, llvm::Type* element) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType())) {
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  }
  return element;
}

llvm::Value* Broadcast(llvm::IRBuilder<>& b, llvm::Value* value, unsigned width) {
  if (width == 1 || value->getType()->isVectorTy()) return value;
  return b.CreateVectorSplat(width, value);
}

llvm::Value* Consecutive(llvm::IRBuilder<>& b, llvm::Value* first, unsigned width) {
  if (width == 1) return first;
  llvm::SmallVector<uint32_t, 32> numbers(width);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return b.CreateAdd(b.CreateVectorSplat(width, first),
                     llvm::ConstantDataVector::get(b.getContext(), numbers), "", true, true);
}

}  // namespace ptx2cpu::lowering
