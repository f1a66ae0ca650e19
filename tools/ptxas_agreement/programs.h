// Small PTX programs from the instruction table, legal and not: one kernel of one instruction each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::agreement {

struct Program {
  std::string row;          // of the table, from which the instruction came
  std::string instruction;  // "add.u32 %r0, %r1, 3;"
};

// What precedes every kernel of a file for a target ("sm_90"): variables and functions that operands name.
std::string HeadFor(const std::string& target);
// The kernel `name` of one line, around the instruction.
std::string KernelOf(const Program& program, const std::string& name);

// The same programs for the same seed. Half are such as the table accepts; the others differ from one of
// those in an operand, a modifier or the number of operands.
std::vector<Program> MakePrograms(uint64_t seed, size_t count);

// Whether this project accepts the program: it parses, and its kernel is translated.
struct Verdict {
  bool accepted = false;
  bool unsupported = false;  // refused as legal PTX that is not translated
  std::string message;       // the first line of the refusal
};
Verdict Ask(const Program& program);

}  // namespace ptx2cpu::agreement
