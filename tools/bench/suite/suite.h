// The table of kernels (suite.def).
#pragma once

#include <array>
#include <span>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

// Processors whose vectors both sides are held to.
enum class Held : uint8_t { kNative, kV3 };  // this machine; x86-64-v3, whose vectors are AVX2's
inline constexpr size_t kHelds = 2;

struct OpenMpBuilds {
  OpenMpFunction plain = nullptr, fast = nullptr;  // without and with -ffast-math
};

struct Row {
  std::string_view name, family, finds, shows;
  bool opencl = false;
  Problem (*problem)(Size size) = nullptr;
  std::array<OpenMpBuilds, kHelds> openmp = {};  // by Held; v3 is null where the machine is no x86-64
};
std::span<const Row> Rows();

}  // namespace ptx2cpu::suite
