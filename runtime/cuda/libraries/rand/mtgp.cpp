#include "runtime/cuda/libraries/rand/mtgp.h"

#include <algorithm>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/rand/one_word.h"

namespace ptx2cpu::libraries {

namespace {

// The period is 2^11213 - 1: of the first word of a state, the high 13 bits count.
constexpr int kStateWords = 351;
constexpr uint32_t kFirstWordBits = 0xfff80000;
// A sequence draws so many words in its turn.
constexpr int kInTurn = 256;

class Sequence {
 public:
  Sequence(const MtgpParameters& parameters, uint32_t seed) : by_(&parameters) {
    const uint32_t hidden = by_->recursion[4] ^ by_->recursion[8] << 16;
    uint32_t byte = hidden + (hidden >> 16);
    byte += byte >> 8;
    state_.fill((byte & 0xff) * 0x01010101);
    state_[0] = seed, state_[1] = hidden;
    for (uint32_t i = 1; i < kStateWords; ++i)
      state_[i] ^= 1812433253 * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
  }

  uint32_t Next() {
    uint32_t word = (state_[place_] & kFirstWordBits) ^ state_[After(1)];
    word ^= word << by_->left;
    word ^= state_[After(by_->picked)] >> by_->right;
    word ^= by_->recursion[word & 15];
    uint32_t other = state_[After(by_->picked - 1)];
    other ^= other >> 16;
    other ^= other >> 8;
    state_[place_] = word;
    place_ = After(1);
    return word ^ by_->tempering[other & 15];
  }

 private:
  int After(int count) const {
    const int place = place_ + count;
    return place < kStateWords ? place : place - kStateWords;
  }

  const MtgpParameters* by_;
  std::array<uint32_t, kStateWords> state_;
  int place_ = 0;  // of the oldest word
};

// Turns go around the sequences; a call continues within a turn.
class Mtgp final : public OneWordNumbers<Mtgp> {
 public:
  Mtgp(const std::vector<MtgpParameters>& parameters, int sequences, uint64_t seed) {
    for (int i = 0; i < sequences; ++i) {
      sequences_.emplace_back(parameters[static_cast<size_t>(i)],
                              static_cast<uint32_t>(seed ^ seed >> 32) + static_cast<uint32_t>(i) + 1);
    }
  }

  static float Single(uint32_t word) { return static_cast<float>(word) * 0x1p-32f + 0x1p-33f; }
  static double Double(uint32_t word) { return (word + 1.0) * 0x1p-32; }

  void Counts(uint32_t* to, int64_t count, const Poisson& poisson) override {
    constexpr double kMinCumulativeMean = 32, kMaxCumulativeMean = 8000;
    if (poisson.mean() < kMinCumulativeMean)
      return Fill(to, count, [&](uint32_t word) { return poisson.FromTable(Double(word)); });
    if (poisson.mean() <= kMaxCumulativeMean)
      return Fill(to, count, [&](uint32_t word) { return poisson.FromCumulative(Double(word)); });
    Fill(to, count, [&](uint32_t word) { return poisson.FromNormal(NormalQuantile(Middle(word))); });
  }

  template <typename T, typename Of>
  void Fill(T* to, int64_t count, const Of& of) {
    const int64_t end = place_ + count, row = std::ssize(sequences_) * kInTurn;
    ForRanges(std::ssize(sequences_), 1, [&](int64_t first, int64_t last) {
      for (int64_t number = first; number < last; ++number) {
        Sequence& sequence = sequences_[static_cast<size_t>(number)];
        for (int64_t turn = place_ / row * row + number * kInTurn; turn < end; turn += row) {
          for (int64_t i = std::max(turn, place_); i < std::min(turn + kInTurn, end); ++i)
            to[i - place_] = of(sequence.Next());
        }
      }
    });
    place_ = end;
  }

 private:
  std::vector<Sequence> sequences_;
  int64_t place_ = 0;
};

}  // namespace

std::unique_ptr<RandomSequences> MakeMtgp(const std::vector<MtgpParameters>& parameters, int sequences,
                                          uint64_t seed) {
  return std::make_unique<Mtgp>(parameters, sequences, seed);
}

}  // namespace ptx2cpu::libraries
