// How the elements of an array are divided among devices.
#pragma once

#include <vector>

#include "runtime/cuda/libraries/fft/plan.h"

namespace ptx2cpu::cufft {

// The array as outer x divided x inner elements: each device has a range of the middle index, and its part is
// an array of the same order. The output of a line on many devices is divided further: a part is chunks of
// the range one after the other.
struct Division {
  int64_t outer, divided, inner;
  size_t element;  // its bytes
  bool of_line = false;

  struct Range {
    int64_t begin, end;
  };
  // Where the devices do not divide the size, the first ones have one more.
  Range Of(int64_t device, int64_t devices) const;
  // How much of a device's range is together in its part.
  int64_t ChunkOf(Range range, int64_t devices) const;
  size_t Bytes(int64_t device, int64_t devices) const;
  size_t AllBytes() const { return static_cast<size_t>(outer * divided * inner) * element; }
};

enum class Side : uint8_t { kInput, kOutput };

// A single transform: its input is divided along the first dimension, or is one line; its output along the
// second dimension, where a line of first x second elements counts as a matrix of second x first. A batch is
// divided into whole transforms.
bool IsShuffled(cufftXtSubFormat format);
Division DivisionOf(const Shape& shape, cufftXtSubFormat format, Side side);

// The factors of a line of 2^6 to 2^26 elements, as an H200 reports them.
struct Factors {
  int64_t first, second;
};
Factors FactorsOf(int64_t size);
// Whether a line can be divided among so many devices: INVALID_SIZE elsewhere, as recorded.
bool IsDividedLine(int64_t size, int64_t devices);

// Parts to the whole array and back.
void Gather(const Division& division, const std::vector<void*>& parts, void* whole);
void Scatter(const Division& division, const void* whole, const std::vector<void*>& parts);

}  // namespace ptx2cpu::cufft
