// 9.7.17: the stack of a function that has alloca, stacksave or stackrestore. It is a local variable of
// kStackBytes; the stack pointer, which goes down, is an address in the local window.
#pragma once

#include <cstdint>
#include <span>

#include "ptx-parser/translate/ssa_builder.h"

namespace ptx2cpu::ptx {

bool UsesStack(std::span<const Match> matches);

class Stack {
 public:
  explicit Stack(SsaBuilder& builder) : b_(builder) {}
  void Begin();  // in the function's entry
  ir::ValueId Base();
  ir::ValueId ReadPointer() { return b_.ReadVariable(pointer_); }
  void WritePointer(ir::ValueId address) { b_.WriteVariable(pointer_, address); }

 private:
  SsaBuilder& b_;
  Ssa::Variable pointer_ = 0;
  uint32_t local_ = 0;  // index in Function::locals
};

}  // namespace ptx2cpu::ptx
