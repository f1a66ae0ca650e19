// Prefetches in the text of LLVM's IR.
#pragma once

#include <string_view>

namespace ptx2cpu::llvm_test {

// Whether one of them is for writing, or for reading.
inline bool HasPrefetch(std::string_view text, bool for_writing) {
  static constexpr std::string_view kCall = "call void @llvm.prefetch";
  const std::string_view arguments = for_writing ? ", i32 1, i32 3, i32 1)" : ", i32 0, i32 3, i32 1)";
  for (size_t at = text.find(kCall); at != text.npos; at = text.find(kCall, at + 1)) {
    if (text.substr(at, text.find('\n', at) - at).contains(arguments)) return true;
  }
  return false;
}

}  // namespace ptx2cpu::llvm_test
