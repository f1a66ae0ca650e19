// A kernel of straight sequences of instructions from the PTX table before it is PTX. Each thread computes
// each sequence from inputs of its own: edge values and random bits of all types, which results then mix.
//
// Everything that a step reads is defined: the bits of a NaN are made the same after each instruction that
// computes a float, and lanes exchange values only where whole warps are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/sequences/template.h"

namespace ptx2cpu::random_sequences {

struct Operand {
  enum class From : uint8_t { kInput, kResult, kConstant };
  From from = From::kInput;
  uint32_t step = 0, slot = 0;  // kResult: of an earlier step of the sequence
  uint8_t bits = 0;             // of the register
  uint32_t element = 0;         // kInput: of the table of that width
  uint64_t value = 0;           // kConstant
  bool negated = false;
  uint8_t part = 0;  // 0: all; 1 to 4: .b0 to .b3; 5, 6: .h0, .h1
};

struct Step {
  Template instruction;
  std::vector<Operand> operands;  // one a slot; of a written one only bits and part matter
  bool guarded = false;           // results stay `otherwise` where the guard does not hold
  Operand guard;
  std::vector<Operand> otherwise;  // one a slot
  bool shown = false;              // in the hash although a later step reads it
};

using Sequence = std::vector<Step>;

// What a kernel stores.
enum class Output : uint8_t {
  kHashes,  // 32 bits of each sequence and thread
  kTrace,   // 8 bits of each step and thread: for records of a GPU, which then name the step
  kValues,  // 64 bits of each written operand of each step and thread
};

struct Tree {
  uint64_t seed = 0;
  uint32_t threads = 32;
  bool newer = false;     // .target sm_100a
  bool of_warps = false;  // lanes exchange values: then warps are whole
  Output output = Output::kHashes;
  std::vector<Sequence> sequences;
};

inline constexpr uint32_t kSequences = 256;  // of a kernel for a GPU

// Deterministic: the same on every machine. With kTrace also defined on a GPU: of approximate functions
// remains which results are no finite numbers, and roundings are written out.
Tree Grow(uint64_t seed, Output output, uint32_t sequences);

// Each of the opcodes in a sequence of its own.
Tree GrowEach(uint64_t seed, const std::vector<Template>& opcodes);

// Halves of the sequences, then sequences, then steps are dropped while `keep` holds for the tree.
Tree Reduce(Tree tree, bool (*keep)(const Tree&, void*), void* context);

size_t CountNodes(const Tree& tree);  // steps

// A module with one kernel and its `// run:` line. Arguments: the output and the tables of inputs.
std::string WriteModule(const Tree& tree, const std::string& name = "random_sequences");

}  // namespace ptx2cpu::random_sequences
