// Level 1 on vectors in memory, without an engine: sizes of 64 bits, any stride.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/cuda/libraries/blas/call.h"
#include "runtime/cuda/libraries/core/parallel.h"

namespace ptx2cpu::cublas {

constexpr int64_t kVectorGrain = 16384;  // elements: some microseconds

// A vector's elements by index; a negative stride begins at its end, as in BLAS.
template <typename T>
struct Vector {
  Vector(T* x, int64_t n, int64_t inc) : first(x + (inc < 0 ? (1 - n) * inc : 0)), stride(inc) {}
  T& operator[](int64_t i) const { return first[i * stride]; }
  T* first;
  int64_t stride;
};

// body(x, y, i) for each i; the loop over adjacent elements is one of its own, which becomes vector code.
template <typename X, typename Y, typename Body>
void ForElements(int64_t n, Vector<X> x, Vector<Y> y, const Body& body) {
  libraries::ForRanges(n, kVectorGrain, [&](int64_t begin, int64_t end) {
    if (x.stride == 1 && y.stride == 1) {
      X* const xs = x.first;
      Y* const ys = y.first;
      for (int64_t i = begin; i < end; ++i) body(xs[i], ys[i]);
    } else {
      for (int64_t i = begin; i < end; ++i) body(x[i], y[i]);
    }
  });
}

// Sums term(i) over 0 ... n - 1, in the same order whatever the number of threads: in 16 interleaved sums per
// part, then over the parts.
template <typename Sum, typename Term>
Sum SumOver(int64_t n, const Term& term) {
  constexpr int64_t kPart = kVectorGrain, kSums = 16;
  const auto sum_part = [&](int64_t begin, int64_t end) {
    Sum sums[kSums] = {};
    int64_t i = begin;
    for (; i + kSums <= end; i += kSums) {
      for (int64_t j = 0; j < kSums; ++j) sums[j] += term(i + j);
    }
    for (; i < end; ++i) sums[0] += term(i);
    for (int64_t width = kSums / 2; width > 0; width /= 2) {
      for (int64_t j = 0; j < width; ++j) sums[j] += sums[j + width];
    }
    return sums[0];
  };
  const int64_t parts = (n + kPart - 1) / kPart;
  if (parts <= 1) return sum_part(0, n);
  std::vector<Sum> sums(parts);
  libraries::ForEach(parts, [&](int64_t p) { sums[p] = sum_part(p * kPart, std::min(n, (p + 1) * kPart)); });
  Sum sum{};
  for (const Sum& part : sums) sum += part;
  return sum;
}

template <bool kConjugate, typename Sum, typename T>
Sum Dot(int64_t n, Vector<const T> x, Vector<const T> y) {
  const auto product = [](const T& a, const T& b) {
    if constexpr (kConjugate) {
      return Sum(Conjugate(a)) * Sum(b);
    } else {
      return Sum(a) * Sum(b);
    }
  };
  if (x.stride == 1 && y.stride == 1) {
    return SumOver<Sum>(n,
                        [xs = x.first, ys = y.first, product](int64_t i) { return product(xs[i], ys[i]); });
  }
  return SumOver<Sum>(n, [&](int64_t i) { return product(x[i], y[i]); });
}

// |re| + |im|, which BLAS compares and adds complex numbers by.
template <typename T>
Real<T> Size(const T& value) {
  if constexpr (kIsComplex<T>) {
    return std::abs(value.real()) + std::abs(value.imag());
  } else {
    return std::abs(value);
  }
}
template <typename T>
double Square(const T& value) {
  if constexpr (kIsComplex<T>) {
    const auto re = static_cast<double>(value.real()), im = static_cast<double>(value.imag());
    return re * re + im * im;
  } else {
    return static_cast<double>(value) * static_cast<double>(value);
  }
}

// The Euclidean norm. Squares of doubles that overflow or vanish are taken again of scaled values.
template <typename T>
Real<T> Norm(int64_t n, Vector<const T> x) {
  const double sum = SumOver<double>(n, [&](int64_t i) { return Square(x[i]); });
  if constexpr (sizeof(Real<T>) == sizeof(float)) {
    // An infinity outweighs what is not a number, in single precision alone.
    for (int64_t i = 0; std::isnan(sum) && i < n; ++i)
      if (std::isinf(Size(x[i]))) return std::numeric_limits<Real<T>>::infinity();
  }
  if ((sum > 1e-280 && sum < 1e300) || sizeof(Real<T>) == sizeof(float))
    return static_cast<Real<T>>(std::sqrt(sum));
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = Size(x[i]);
    if (std::isnan(size)) return static_cast<Real<T>>(size);
    largest = std::max(largest, size);
  }
  if (largest == 0 || std::isinf(largest)) return static_cast<Real<T>>(largest);
  const int exponent = std::ilogb(largest);
  const double scale = std::ldexp(1.0, -exponent / 2), rest = std::ldexp(1.0, -(exponent - exponent / 2));
  const double scaled = SumOver<double>(
      n, [&](int64_t i) { return Square(x[i] * static_cast<Real<T>>(scale) * static_cast<Real<T>>(rest)); });
  return static_cast<Real<T>>(std::sqrt(scaled) / scale / rest);
}

// The first index, from 1, of the greatest (or least) size; 0 for an empty vector.
template <bool kLeast, typename T>
int64_t Extreme(int64_t n, int64_t inc, const T* x) {
  if (n <= 0 || inc <= 0) return 0;
  struct Found {
    Real<T> size;
    int64_t index;
  };
  const int64_t parts = (n + kVectorGrain - 1) / kVectorGrain;
  std::vector<Found> found(parts);
  libraries::ForEach(parts, [&](int64_t part) {
    const int64_t begin = part * kVectorGrain, end = std::min(n, begin + kVectorGrain);
    Found best{Size(x[begin * inc]), begin};
    for (int64_t i = begin + 1; i < end; ++i) {
      const Real<T> size = Size(x[i * inc]);
      if (kLeast ? size < best.size : size > best.size) best = {size, i};
    }
    found[part] = best;
  });
  Found best = found[0];
  for (const Found& other : found) {
    if (kLeast ? other.size < best.size : other.size > best.size) best = other;
  }
  return best.index + 1;
}

}  // namespace ptx2cpu::cublas
