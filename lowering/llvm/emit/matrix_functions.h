// The function of runtime/warp/matrix.def that computes a product.
#pragma once

#include <string>

#include "ir/matrix.h"
#include "lowering/llvm/module/services.h"

namespace ptx2cpu::lowering {

inline constexpr uint32_t kRegisterWords = 32;

std::string FunctionOf(const ir::matrix::Product& product);

// Whether the fragment B is prepared for it, and accumulators may be at any distance.
inline bool IsPrepared(const std::string& function) { return FindService(function + "_b") != nullptr; }

}  // namespace ptx2cpu::lowering
