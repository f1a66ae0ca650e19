#include "runtime/cuda/libraries/rand/quasi.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <vector>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/rand/poisson.h"
#include "runtime/cuda/libraries/rand/quantile.h"

namespace ptx2cpu::libraries {

namespace {

// S. Joe and F. Kuo, Constructing Sobol Sequences with Better Two-Dimensional Projections (2008): a primitive
// polynomial for each dimension after the first, by its degree and the coefficients between the first and
// the last, and the numbers that its recurrence begins with.
constexpr int kMaxDegree = 7;
struct Polynomial {
  int degree;
  uint32_t coefficients;
  uint32_t initial[kMaxDegree];
};
constexpr Polynomial kPolynomials[kSobolDimensions - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

template <typename Word>
inline constexpr int kBits = 8 * sizeof(Word);
template <typename Word>
using Directions = std::vector<Word>;

template <typename Word>
Directions<Word> DirectionsOf(uint32_t dimension) {
  Directions<Word> numbers(kBits<Word>);
  auto place = [](Word number, int bit) { return static_cast<Word>(number << (kBits<Word> - 1 - bit)); };
  if (dimension == 0) {
    for (int i = 0; i < kBits<Word>; ++i) numbers[i] = place(1, i);
    return numbers;
  }
  const Polynomial& polynomial = kPolynomials[dimension - 1];
  const int degree = polynomial.degree;
  for (int i = 0; i < degree; ++i) numbers[i] = place(polynomial.initial[i], i);
  for (int i = degree; i < kBits<Word>; ++i) {
    numbers[i] = numbers[i - degree] ^ numbers[i - degree] >> degree;
    for (int k = 1; k < degree; ++k) {
      if ((polynomial.coefficients >> (degree - 1 - k) & 1) != 0) numbers[i] ^= numbers[i - k];
    }
  }
  return numbers;
}

// The middle of the interval of a word, for the quantile; uniform doubles of 32 bits are its upper end.
template <typename Word>
double Probability(Word word) {
  if constexpr (kBits<Word> == 32) return static_cast<double>(word) * 0x1p-32 + 0x1p-33;
  return static_cast<double>(word >> (kBits<Word> - 53)) * 0x1p-53 + 0x1p-54;
}
template <typename Word>
double UniformDouble(Word word) {
  if constexpr (kBits<Word> == 32) return static_cast<double>(word) * 0x1p-32 + 0x1p-32;
  return Probability(word);
}
template <typename Word>
uint32_t HighWord(Word word) {
  return static_cast<uint32_t>(word >> (kBits<Word> - 32));
}
template <typename Word>
float UniformSingle(Word word) {
  return static_cast<float>(HighWord(word)) * 0x1p-32f + 0x1p-33f;
}

template <typename Word>
class Sobol final : public RandomSequences {
 public:
  Sobol(uint32_t dimensions, uint64_t offset) : place_(offset) {
    for (uint32_t n = 0; n < dimensions; ++n) directions_.push_back(DirectionsOf<Word>(n));
  }

  void Bits(uint32_t* to, int64_t count) override {
    Fill(to, count, [](Word word) { return static_cast<uint32_t>(word); });
  }
  bool LongBits(uint64_t* to, int64_t count) override {
    if (kBits<Word> < 64) return false;
    Fill(to, count, [](Word word) { return static_cast<uint64_t>(word); });
    return true;
  }
  void Uniform(float* to, int64_t count) override { Fill(to, count, UniformSingle<Word>); }
  void Uniform(double* to, int64_t count) override { Fill(to, count, UniformDouble<Word>); }
  void Normal(float* to, int64_t count) override {
    Fill(to, count, [](Word word) { return static_cast<float>(NormalQuantile(Probability(word))); });
  }
  void Normal(double* to, int64_t count) override {
    Fill(to, count, [](Word word) { return NormalQuantile(Probability(word)); });
  }

  void Counts(uint32_t* to, int64_t count, const Poisson& poisson) override {
    const bool narrow = kBits<Word> == 32;
    constexpr double kMinCumulativeMean = 10, kMaxCumulativeMean = 8000;
    if (narrow && poisson.mean() < kMinCumulativeMean)
      return Fill(to, count, [&](Word word) { return poisson.FromTable(UniformDouble(word)); });
    if (narrow ? poisson.mean() <= kMaxCumulativeMean : poisson.has_table())
      return Fill(to, count, [&](Word word) { return poisson.FromCumulative(UniformDouble(word)); });
    Fill(to, count,
         [&](Word word) { return poisson.FromNormal(NormalQuantile(Probability(HighWord(word)))); });
  }

 private:
  // What the numbers of a place are before the direction of its lowest zero bit is added.
  static Word At(const Directions<Word>& directions, uint64_t place) {
    Word word = 0;
    for (uint64_t gray = place ^ place >> 1; gray != 0; gray &= gray - 1) {
      const int bit = std::countr_zero(gray);
      if (bit < kBits<Word>) word ^= directions[bit];
    }
    return word;
  }

  template <typename T, typename Of>
  void Fill(T* to, int64_t count, const Of& of) {
    const int64_t each = count / static_cast<int64_t>(directions_.size());
    constexpr int64_t kGrain = 8192;
    for (size_t n = 0; n < directions_.size(); ++n) {
      const Directions<Word>& directions = directions_[n];
      T* const row = to + static_cast<int64_t>(n) * each;
      ForRanges(each, kGrain, [&](int64_t begin, int64_t end) {
        Word word = At(directions, place_ + static_cast<uint64_t>(begin));
        for (int64_t i = begin; i < end; ++i) {
          row[i] = of(word);
          const int bit = std::countr_one(place_ + static_cast<uint64_t>(i));
          if (bit < kBits<Word>) word ^= directions[bit];
        }
      });
    }
    place_ += static_cast<uint64_t>(each);
  }

  std::vector<Directions<Word>> directions_;  // by dimension
  uint64_t place_;
};

}  // namespace

std::unique_ptr<RandomSequences> MakeSobol(int bits, uint32_t dimensions, uint64_t offset) {
  if (bits == 32) return std::make_unique<Sobol<uint32_t>>(dimensions, offset);
  return std::make_unique<Sobol<uint64_t>>(dimensions, offset);
}

void FillDirections(uint32_t dimension, uint32_t* to) {
  std::ranges::copy(DirectionsOf<uint32_t>(dimension), to);
}
void FillDirections(uint32_t dimension, uint64_t* to) {
  std::ranges::copy(DirectionsOf<uint64_t>(dimension), to);
}

}  // namespace ptx2cpu::libraries
