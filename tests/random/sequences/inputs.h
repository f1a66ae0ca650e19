// The table of inputs of a kernel: for each width sections of kinds of values. Thread t of a sequence that
// reads element e reads e + t.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx-parser/match/types.h"
#include "tests/random/generator/random_words.h"

namespace ptx2cpu::random_sequences {

// Bytes of the table at which elements of a width begin.
uint32_t TableOffset(uint8_t bits);

// As 32-bit words.
std::vector<uint32_t> MakeTable(uint64_t seed);

// A first element for an operand of the type in a register of `bits`; so many threads may follow as
// kMaxThreads.
uint32_t DrawElement(random_kernels::RandomWords& random, ptx::PtxType type, uint8_t bits);

// A value of the type as an instruction's constant.
uint64_t DrawConstant(random_kernels::RandomWords& random, ptx::PtxType type);

inline constexpr uint32_t kMaxThreads = 64;

}  // namespace ptx2cpu::random_sequences
