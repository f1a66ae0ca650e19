// How the elements of an array are divided among devices.
#pragma once

#include <vector>

#include "runtime/cuda/libraries/fft/plan.h"

namespace ptx2cpu::cufft {

// The array as outer x divided x inner elements: each device has a range of the middle index, and its part is
// an array of the same order.
struct Division {
  int64_t outer, divided, inner;
  size_t element;  // its bytes

  struct Range {
    int64_t begin, end;
  };
  // Where the devices do not divide the size, the first ones have one more.
  Range Of(int64_t device, int64_t devices) const;
  size_t Bytes(int64_t device, int64_t devices) const;
  size_t AllBytes() const { return static_cast<size_t>(outer * divided * inner) * element; }
};

enum class Side : uint8_t { kInput, kOutput };

// A single transform: its input is divided along the first dimension, or is one line; its output along the
// second dimension, where a line counts as a matrix with the factors of its size. A batch is divided into
// whole transforms.
bool IsShuffled(cufftXtSubFormat format);
Division DivisionOf(const Shape& shape, cufftXtSubFormat format, Side side);

// The factors of a line: close to each other.
struct Factors {
  int64_t first, second;
};
Factors FactorsOf(int64_t size);

// Parts to the whole array and back.
void Gather(const Division& division, const std::vector<void*>& parts, void* whole);
void Scatter(const Division& division, const void* whole, const std::vector<void*>& parts);

}  // namespace ptx2cpu::cufft
