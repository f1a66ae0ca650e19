#include "runtime/cuda/libraries/rand/sequences.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/rand/engines.h"
#include "runtime/cuda/libraries/rand/mtgp.h"
#include "runtime/cuda/libraries/rand/poisson.h"
#include "runtime/cuda/libraries/rand/twister.h"

namespace ptx2cpu::libraries {

namespace {

constexpr float kWord = 0x1p-32f;
constexpr double kTwoWords = 0x1p-53;

float UniformOf(uint32_t x) { return static_cast<float>(x) * kWord + kWord / 2; }
double UniformOf(uint32_t x, uint32_t y) {
  return static_cast<double>(uint64_t{x} ^ uint64_t{y} << 21) * kTwoWords + kTwoWords / 2;
}

std::array<float, 2> Pair(float u, float angle) {
  const float size = std::sqrt(-2 * std::log(u));
  return {std::sin(angle) * size, std::cos(angle) * size};
}
std::array<double, 2> Pair(double u, double turns) {
  const double size = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * turns;
  return {std::sin(angle) * size, std::cos(angle) * size};
}

// The result of one draw of a generator, for each kind of number.
struct XorwowDraws {
  using State = Xorwow;
  static std::array<uint32_t, 1> Bits(State& s) { return {s.Next()}; }
  static std::array<float, 1> Single(State& s) { return {UniformOf(s.Next())}; }
  static std::array<double, 1> Double(State& s) {
    const uint32_t x = s.Next();
    return {UniformOf(x, s.Next())};
  }
  static std::array<float, 2> NormalSingle(State& s) {
    constexpr float kTurn = kWord * 6.2831855f;
    const float u = UniformOf(s.Next());
    return Pair(u, static_cast<float>(s.Next()) * kTurn + kTurn / 2);
  }
  static std::array<double, 2> NormalDouble(State& s) {
    const double u = Double(s)[0];
    return Pair(u, Double(s)[0]);
  }
};

struct MrgDraws {
  using State = Mrg32k3a;
  static constexpr double kScale = 2.3283065498378288e-10, kBitScale = 1.000000048662;
  static std::array<uint32_t, 1> Bits(State& s) {
    return {static_cast<uint32_t>(static_cast<double>(s.Next()) * kBitScale)};
  }
  static std::array<double, 1> Double(State& s) { return {static_cast<double>(s.Next()) * kScale}; }
  static std::array<float, 1> Single(State& s) { return {static_cast<float>(Double(s)[0])}; }
  static std::array<float, 2> NormalSingle(State& s) {
    const float u = Single(s)[0];
    return Pair(u, Single(s)[0] * 6.2831855f);
  }
  static std::array<double, 2> NormalDouble(State& s) {
    const double u = Double(s)[0];
    return Pair(u, Double(s)[0]);
  }
};

struct PhiloxDraws {
  using State = Philox;
  static std::array<uint32_t, 4> Bits(State& s) { return s.Next(); }
  static std::array<float, 4> Single(State& s) {
    const auto w = s.Next();
    return {UniformOf(w[0]), UniformOf(w[1]), UniformOf(w[2]), UniformOf(w[3])};
  }
  static std::array<double, 4> Double(State& s) {
    const auto x = s.Next(), y = s.Next();
    return {UniformOf(x[0], x[1]), UniformOf(x[2], x[3]), UniformOf(y[0], y[1]), UniformOf(y[2], y[3])};
  }
  static std::array<float, 4> NormalSingle(State& s) {
    constexpr float kTurn = kWord * 6.2831855f;
    const auto w = s.Next();
    const auto x = Pair(UniformOf(w[0]), static_cast<float>(w[1]) * kTurn + kTurn / 2),
               y = Pair(UniformOf(w[2]), static_cast<float>(w[3]) * kTurn + kTurn / 2);
    return {x[0], x[1], y[0], y[1]};
  }
  static std::array<double, 4> NormalDouble(State& s) {
    const auto u = Double(s);
    const auto x = Pair(u[0], u[1]), y = Pair(u[2], u[3]);
    return {x[0], x[1], y[0], y[1]};
  }
};

template <typename T, size_t kCount, typename Of>
auto Mapped(const std::array<T, kCount>& values, const Of& of) {
  std::array<decltype(of(values[0])), kCount> results;
  std::ranges::transform(values, results.begin(), of);
  return results;
}

template <typename Draws>
class Sequences final : public RandomSequences {
 public:
  using State = typename Draws::State;
  static constexpr int64_t kSingles =
      std::tuple_size_v<decltype(Draws::NormalSingle(std::declval<State&>()))>;
  Sequences(std::vector<State> states, int64_t first, int64_t used)
      : states_(std::move(states)), first_(first), used_(used) {}

  void Bits(uint32_t* to, int64_t count) override { FillNumbers(to, count, Draws::Bits); }
  void Uniform(float* to, int64_t count) override { FillNumbers(to, count, Draws::Single); }
  void Uniform(double* to, int64_t count) override { FillNumbers(to, count, Draws::Double); }
  void Normal(float* to, int64_t count) override { FillNumbers(to, count, Draws::NormalSingle); }
  void Normal(double* to, int64_t count) override { FillNumbers(to, count, Draws::NormalDouble); }
  void Counts(uint32_t* to, int64_t count, const Poisson& poisson) override {
    if (poisson.has_table()) {
      return FillNumbers(to, count, [&](State& s) {
        return Mapped(Draws::Bits(s), [&](uint32_t x) { return poisson.FromTable((x + 1.0) * kWord); });
      });
    }
    const auto of_normal = [&](float z) { return poisson.FromNormal(z); };
    if constexpr (kSingles > 2) {
      FillNumbers(to, count, [&](State& s) { return Mapped(Draws::NormalSingle(s), of_normal); });
    } else {
      seconds_.resize(states_.size());
      FillNumbers(to, count, [&](State& s) { return std::array{of_normal(NormalOfPair(s))}; });
    }
  }

 private:
  // Continues within a block of which a call before used the first numbers, whatever their kind: each counts
  // as one.
  template <typename T, typename Draw>
  void FillNumbers(T* to, int64_t count, Draw draw) {
    constexpr int64_t kBlock = std::tuple_size_v<decltype(draw(std::declval<State&>()))>;
    if (used_ != 0) {
      State peek = states_[first_];
      const auto block = draw(peek);
      const int64_t part = std::min(count, kBlock - used_);
      std::copy_n(block.begin() + used_, part, to);
      used_ += part, to += part, count -= part;
      if (used_ == kBlock) Leave(draw);
    }
    if (count == 0) return;
    const int64_t rest = count % kBlock;
    Fill(to, count - rest, draw);
    if (rest == 0) return;
    State peek = states_[first_];
    const auto block = draw(peek);
    std::copy_n(block.begin(), rest, to + count - rest);
    used_ = rest;
  }
  template <typename Draw>
  void Leave(Draw draw) {
    draw(states_[first_]);
    used_ = 0;
    first_ = (first_ + 1) % static_cast<int64_t>(states_.size());
  }

  template <typename T, typename Draw>
  void Fill(T* to, int64_t count, Draw draw) {
    constexpr int64_t kBlock = std::tuple_size_v<decltype(draw(std::declval<State&>()))>;
    const auto sequences = static_cast<int64_t>(states_.size());
    const int64_t items = (count + kBlock - 1) / kBlock;
    constexpr int64_t kAtOnce = 128;  // sequences that one piece goes through together: adjacent results
    const int64_t taking = std::min(items, sequences);
    ForRanges((taking + kAtOnce - 1) / kAtOnce, 1, [&](int64_t first_group, int64_t last_group) {
      for (int64_t begin = first_group * kAtOnce; begin < std::min(taking, last_group * kAtOnce);
           begin += kAtOnce) {
        for (int64_t row = 0; begin + row < items; row += sequences) {
          const int64_t end = std::min({begin + kAtOnce, taking, items - row});
          for (int64_t i = begin; i < end; ++i) {
            const auto block = draw(states_[(first_ + i) % sequences]);
            const int64_t at = (row + i) * kBlock;
            std::copy_n(block.begin(), std::min(kBlock, count - at), to + at);
          }
        }
      }
    });
    first_ = (first_ + items) % sequences;
  }

  // The next number of the pairs of a sequence.
  float NormalOfPair(State& state) {
    std::optional<float>& second = seconds_[&state - states_.data()];
    if (second) return *std::exchange(second, std::nullopt);
    const auto pair = Draws::NormalSingle(state);
    second = pair[1];
    return pair[0];
  }

  std::vector<State> states_;
  std::vector<std::optional<float>> seconds_;  // of pairs of which one number was drawn, by sequence
  int64_t first_, used_;  // the sequence that draws next; numbers of its next block that were used
};

}  // namespace

std::unique_ptr<RandomSequences> MakeSequences(RandomEngine engine, uint64_t seed, uint64_t offset) {
  const auto split = [offset](int64_t count, uint64_t words) {
    struct Place {
      uint64_t skip;
      int64_t first;
    };
    return Place{offset / words / static_cast<uint64_t>(count),
                 static_cast<int64_t>(offset / words % static_cast<uint64_t>(count))};
  };
  if (engine == RandomEngine::kPhilox) {
    const auto [skip, first] = split(Philox::kSequences, 4);
    return std::make_unique<Sequences<PhiloxDraws>>(PhiloxSequences(seed, Philox::kSequences, skip, first),
                                                    first, static_cast<int64_t>(offset % 4));
  }
  if (engine == RandomEngine::kTwister) return MakeTwister(static_cast<uint32_t>(seed));
  if (engine == RandomEngine::kMtgp) return MakeMtgp(*KnownMtgpParameters(), kMtgpSequences, seed);
  if (engine == RandomEngine::kMtgpLegacy)
    return MakeMtgp(*KnownMtgpParameters(), kLegacyMtgpSequences, seed);
  if (engine == RandomEngine::kXorwow || engine == RandomEngine::kXorwowSeeded) {
    const auto [skip, first] = split(Xorwow::kSequences, 1);
    const auto make = engine == RandomEngine::kXorwow ? XorwowSequences : SeededXorwowSequences;
    return std::make_unique<Sequences<XorwowDraws>>(make(seed, Xorwow::kSequences, skip, first), first, 0);
  }
  const int64_t count = engine == RandomEngine::kMrg32k3a ? Mrg32k3a::kSequences : Mrg32k3a::kLegacySequences;
  const auto [skip, first] = split(count, 1);
  return std::make_unique<Sequences<MrgDraws>>(MrgSequences(seed, count, skip, first), first, 0);
}

}  // namespace ptx2cpu::libraries
