// A strong hash of content, and the name of the compiler that this build is. No LLVM type appears here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

using Digest = std::array<uint8_t, 32>;
std::string Hex(const Digest& digest);

// Parts are distinguished: ("ab", "c") and ("a", "bc") have different digests.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash& Add(std::string_view part);
  ContentHash& Add(uint64_t number);
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest HashOf(std::string_view bytes);

// Sources of the translator, version of LLVM, processor and its features: what else decides on the code of a
// kernel.
std::string CompilerIdentity(const Target& target);

}  // namespace ptx2cpu::lowering
