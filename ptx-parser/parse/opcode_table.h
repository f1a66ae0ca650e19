// Finds or adds a module's opcode by its text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class OpcodeTable : public TreePart {
 public:
  explicit OpcodeTable(TreeState& state) : TreePart(state) { Rehash(); }
  // Index in Module::opcodes. `spelled`: the text is not one of the module's and is copied.
  uint32_t Intern(std::string_view text, bool spelled);

 private:
  void Rehash();

  std::vector<uint32_t> slots_;  // hash table of Module::opcodes, kNone is free
};

}  // namespace ptx2cpu::ptx
