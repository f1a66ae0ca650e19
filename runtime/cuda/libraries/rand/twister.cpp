#include "runtime/cuda/libraries/rand/twister.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/rand/one_word.h"
#include "runtime/cuda/libraries/rand/twister_jump.h"

namespace ptx2cpu::libraries {

namespace {

constexpr int64_t kSequences = 8192, kInTurn = 8, kRowNumbers = kSequences * kInTurn;
constexpr int kRows = kTwisterWords / kInTurn;  // turns that use up a block

// Which words of a block a turn draws, as recorded numbers show: the first turn those of kFirstTurn; of the
// 56 words that come next and are not among those, each of seven turns draws every seventh, from its own on.
using Order = std::array<std::array<uint16_t, kInTurn>, kRows>;
constexpr Order MakeOrder() {
  constexpr int kTogether = 7;
  constexpr std::array<uint16_t, kInTurn> kFirstTurn = {0, 113, 170, 283, 340, 397, 510, 567};
  Order order{};
  order[0] = kFirstTurn;
  uint16_t begin = 1;
  for (int row = 1; row < kRows; row += kTogether) {
    if (std::ranges::find(kFirstTurn, begin) != kFirstTurn.end()) ++begin;
    for (int turn = 0; turn < kTogether; ++turn) {
      for (int i = 0; i < kInTurn; ++i)
        order[row + turn][i] = static_cast<uint16_t>(begin + kTogether * i + turn);
    }
    begin += kTogether * kInTurn;
  }
  return order;
}
constexpr Order kOrder = MakeOrder();

uint32_t Tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

class Twister final : public OneWordNumbers<Twister> {
 public:
  explicit Twister(uint32_t seed) : states_{{FirstBlock(seed), 0}} {}

  static float Single(uint32_t word) { return static_cast<float>(Middle(word)); }
  static double Double(uint32_t word) { return Middle(word); }

  template <typename T, typename Of>
  void Fill(T* to, int64_t count, const Of& of) {
    const int64_t end = place_ + count;
    MakeStates(std::min(kSequences, (end + kInTurn - 1) / kInTurn));
    ForRanges(std::ssize(states_), 64, [&](int64_t first, int64_t last) {
      for (int64_t sequence = first; sequence < last; ++sequence) {
        for (int64_t row = place_ / kRowNumbers; row * kRowNumbers < end; ++row)
          FillTurn(to, end, row, sequence, of);
      }
    });
    place_ = end;
  }

 private:
  struct State {
    TwisterBlock block;
    int64_t blocks_before;
  };

  // Makes the states of the first `count` sequences. Existing states are all at one place of the order, or
  // none has advanced, since all are made before a number of a second turn is drawn.
  void MakeStates(int64_t count) {
    while (std::ssize(states_) < count) {
      const auto known = std::ssize(states_);
      const auto apart = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(known)));
      const auto& jump = TwisterJump(std::countr_zero(static_cast<uint64_t>(apart)));
      states_.resize(std::min(count, 2 * apart));
      ForRanges(std::ssize(states_) - known, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = known + begin; i < known + end; ++i)
          states_[i] = {Jumped(states_[i - apart].block, jump), 0};
      });
    }
  }

  template <typename T, typename Of>
  void FillTurn(T* to, int64_t end, int64_t row, int64_t sequence, const Of& of) {
    State& state = states_[sequence];
    const int64_t at = row * kRowNumbers + sequence * kInTurn;
    if (at >= end || at + kInTurn <= place_) return;
    for (; state.blocks_before < row / kRows; ++state.blocks_before) Advance(state.block);
    const auto& words = kOrder[row % kRows];
    for (int64_t i = std::max(at, place_); i < std::min(at + kInTurn, end); ++i)
      to[i - place_] = of(Tempered(state.block[words[i - at]]));
  }

  std::vector<State> states_;
  int64_t place_ = 0;
};

}  // namespace

std::unique_ptr<RandomSequences> MakeTwister(uint32_t seed) { return std::make_unique<Twister>(seed); }

}  // namespace ptx2cpu::libraries
