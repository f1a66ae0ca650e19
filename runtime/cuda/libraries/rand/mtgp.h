// MTGP32 in cuRAND's order: M. Saito and M. Matsumoto, Variants of Mersenne Twister Suitable for Graphic
// Processors (2013). Each sequence is a generator with parameters of its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/libraries/rand/sequences.h"

namespace ptx2cpu::libraries {

// The small matrices are tables: of the last four bits of a word, what is added.
struct MtgpParameters {
  int picked, left, right;  // a word of the state, shifts
  std::array<uint32_t, 16> recursion, tempering;
};

inline constexpr int kMtgpSequences = 192, kLegacyMtgpSequences = 64;

// Reads a table as C text: initialisers of structures of 74 numbers. Empty: the text is no such table.
std::vector<MtgpParameters> ReadMtgpParameters(const std::string& text);

// The authors published the parameters as a table, which this project does not contain. The file that
// PTX2CPU_MTGP32 names, or the CUDA toolkit's, is read once; null: there is none with enough sequences.
const std::vector<MtgpParameters>* KnownMtgpParameters();

// Makes generators from the first `sequences` parameters.
std::unique_ptr<RandomSequences> MakeMtgp(const std::vector<MtgpParameters>& parameters, int sequences,
                                          uint64_t seed);

}  // namespace ptx2cpu::libraries
