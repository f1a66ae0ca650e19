// Host references: what each corpus kernel must compute, in plain serial C++, written from the kernel's
// description. Float results are defined to the bit by explicit std::fma and single operations; the build
// forbids contraction.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/record/manifest.h"

namespace corpus {

using Dimensions = std::array<uint32_t, 3>;

// One launch as the reference sees it: typed views of the arguments, results written in place.
struct Call {
  Dimensions grid, block, cluster;
  std::vector<ptx2cpu::rt::Argument>& arguments;
  std::map<std::string, std::vector<std::byte>> constants;
  std::string printed;

  template <typename T>
  std::span<const T> In(size_t index) const {
    return {reinterpret_cast<const T*>(arguments[index].data.data()),
            arguments[index].data.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> Out(size_t index) {
    return {reinterpret_cast<T*>(arguments[index].data.data()), arguments[index].data.size() / sizeof(T)};
  }
  template <typename T>
  T Value(size_t index) const {
    return In<T>(index)[0];
  }
  uint32_t Threads() const { return grid[0] * block[0]; }  // of a one-dimensional launch
  uint32_t WarpsPerBlock() const { return (block[0] + 31) / 32; }
};

// For every warp of a one-dimensional launch: its number, the first element and how many lanes exist.
template <typename Body>
void ForEachWarp(const Call& call, Body body) {
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    for (uint32_t w = 0; w < call.WarpsPerBlock(); ++w) {
      const uint32_t lanes = std::min(32u, call.block[0] - 32 * w);
      body(b * call.WarpsPerBlock() + w, b * call.block[0] + 32 * w, lanes);
    }
  }
}

using Reference = std::function<void(Call&)>;
using References = std::map<std::string, Reference>;

void AddLinearReferences(References& references);
void AddMatrixReferences(References& references);
void AddReductionReferences(References& references);
void AddSortingReferences(References& references);
void AddGraphReferences(References& references);
void AddSimulationReferences(References& references);
void AddImageReferences(References& references);
void AddWarpReferences(References& references);
void AddIntegerReferences(References& references);
void AddLanguageReferences(References& references);
void AddFloatReferences(References& references);
void AddPrintReferences(References& references);
void AddGroupReferences(References& references);       // cooperative groups, scans and tables of COX Table 1
void AddGridReferences(References& references);        // grid barriers, two devices
void AddBarrierReferences(References& references);     // named barriers, exits before barriers, mbarrier
void AddProgressReferences(References& references);    // locks, handshakes, look-back
void AddDivergenceReferences(References& references);  // collectives of lanes that go different ways
void AddClusterReferences(References& references);

}  // namespace corpus
