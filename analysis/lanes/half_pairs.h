// Both halves of words, computed alike: f16x2 and bf16x2, which translation takes apart.
//
//   a0, a1 = unpack a ; b0, b1 = unpack b
//   c0 = fadd f16 a0, b0 ; c1 = fadd f16 a1, b1      ->    c = a + b, of twice as many lanes
//   c = pack c0, c1
//
// A vector of words is a vector of twice as many halves, in which those of a lane lie side by side: where an
// operation is the same for both, no word has to be taken apart or put together.
#pragma once

#include <functional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Instructions of a block that do the same with low and with high halves, or with what is computed of them.
struct HalfPair {
  ir::InstId low, high;
};

struct HalfPairOptions {
  bool converts = true;  // f16 to f32 and back is an instruction of the machine
  std::function<bool(const ir::Inst&)> is_one_for_all = {};  // computed once, not for each lane
};

// In the order of the block: each comes before those that read its results. All operands of both are known
// where the first of the two is. `elsewhere`: by value, whether other blocks read it.
std::vector<HalfPair> FindHalfPairs(const ir::Function& f, ir::BlockId block,
                                    const std::vector<bool>& elsewhere, const HalfPairOptions& options);

// The word that a half is a part of, and which: 0 is the low one. Invalid: it was not taken out of a word.
struct HalfOfWord {
  ir::ValueId word;
  uint32_t number = 0;
};
HalfOfWord WordOf(const ir::Function& f, ir::ValueId half);

// The word whose halves these are, if the block has it: the block makes it, or it is kept for other blocks.
// Where the word is of a loop that lanes have left, or of code that was skipped, only the halves may be kept.
ir::ValueId WholeWord(const ir::Function& f, ir::BlockId block, const std::vector<bool>& elsewhere,
                      ir::ValueId low, ir::ValueId high);

// Without changes of the type only.
ir::ValueId WithoutBitcasts(const ir::Function& f, ir::ValueId value);

}  // namespace ptx2cpu::analysis
