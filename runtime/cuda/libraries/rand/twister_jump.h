// Places far ahead in the sequence of MT19937: H. Haramoto, M. Matsumoto, T. Nishimura, F. Panneton and
// P. L'Ecuyer, Efficient Jump Ahead for F2-Linear Random Number Generators (2008).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ptx2cpu::libraries {

inline constexpr int kTwisterWords = 624;
// Consecutive words of the sequence, before tempering: those that one step of all words makes at once.
using TwisterBlock = std::array<uint32_t, kTwisterWords>;

// The block of a seed, and the block after one.
TwisterBlock FirstBlock(uint32_t seed);
void Advance(TwisterBlock& block);

// Which words of a sequence add up to the word 2^2048 * 2^doublings places after the first; ascending.
// 0 <= doublings < 13.
const std::vector<uint32_t>& TwisterJump(int doublings);

// The block that lies as far after `block` as `jump`.
TwisterBlock Jumped(const TwisterBlock& block, const std::vector<uint32_t>& jump);

}  // namespace ptx2cpu::libraries
