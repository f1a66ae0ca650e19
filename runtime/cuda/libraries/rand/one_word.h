// Numbers of the generators that draw one word for each number, whatever its kind.
#pragma once

#include <cstdint>

#include "runtime/cuda/libraries/rand/poisson.h"
#include "runtime/cuda/libraries/rand/quantile.h"
#include "runtime/cuda/libraries/rand/sequences.h"

namespace ptx2cpu::libraries {

// Words has Fill(T* to, int64_t count, T of(uint32_t)), and Single and Double, which make a uniform number.
template <typename Words>
class OneWordNumbers : public RandomSequences {
 public:
  void Bits(uint32_t* to, int64_t count) override {
    words().Fill(to, count, [](uint32_t word) { return word; });
  }
  void Uniform(float* to, int64_t count) override { words().Fill(to, count, Words::Single); }
  void Uniform(double* to, int64_t count) override { words().Fill(to, count, Words::Double); }
  void Normal(float* to, int64_t count) override { words().Fill(to, count, NormalSingle); }
  void Normal(double* to, int64_t count) override {
    words().Fill(to, count, [](uint32_t word) { return NormalQuantile(Middle(word)); });
  }
  void Counts(uint32_t* to, int64_t count, const Poisson& poisson) override {
    if (poisson.has_table()) {
      return words().Fill(to, count,
                          [&](uint32_t word) { return poisson.FromTable((word + 1.0) * 0x1p-32); });
    }
    words().Fill(to, count, [&](uint32_t word) { return poisson.FromNormalSingle(NormalSingle(word)); });
  }

 protected:
  static double Middle(uint32_t word) { return (word + 0.5) * 0x1p-32; }

 private:
  friend Words;
  OneWordNumbers() = default;

  static float NormalSingle(uint32_t word) { return static_cast<float>(NormalQuantile(Middle(word))); }
  Words& words() { return static_cast<Words&>(*this); }
};

}  // namespace ptx2cpu::libraries
