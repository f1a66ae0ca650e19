// An instruction of the PTX table with chosen modifiers, whose operands are still open.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ptx-parser/match/table.h"
#include "tests/random/generator/random_words.h"

namespace ptx2cpu::random_sequences {

using random_kernels::RandomWords;

// The place of an operand. Its text is `before`, the operand and `after`.
struct Slot {
  ptx::PtxType type = ptx::PtxType::kNone;
  uint8_t bits = 0;  // of the register: 1 is a predicate, else 16, 32, 64
  bool written = false;
  bool wider = false;         // a register of more bits fits too
  bool negatable = false;     // {!}p
  bool part = false;          // a byte or half of the register can be named
  bool states_part = false;   // and must be
  bool constant = false;      // must be a constant
  bool members = false;       // the mask of the warp's lanes
  bool takes_number = false;  // may be a constant
  const ptx::ConstantRule* rule = nullptr;
  const char* before = ", ";
  const char* after = "";
};

struct Template {
  std::string opcode;
  std::vector<Slot> slots;
  bool moves = false;  // results are bits of operands: a NaN keeps its own
  bool reads_carry = false, writes_carry = false;
  bool approximate = false;  // a GPU gives other numbers
  bool bounded = false;      // and machine code others than the interpreter
  bool loses_guard = false;  // as ptxas translates it
  bool of_warp = false;      // lanes exchange values
  bool newer = false;        // needs sm_100a
};

struct Limits {
  bool newer = false;  // sm_100a, not sm_90
  // Without a rounding word, a compiler may fuse operations.
  bool for_gpu = false;
};

Template DrawTemplate(RandomWords& random, const Limits& limits);

// Every opcode once for each form that it fits. `visit` gets the row's name.
void VisitTemplates(const std::function<void(std::string_view row, const Template&)>& visit);

}  // namespace ptx2cpu::random_sequences
