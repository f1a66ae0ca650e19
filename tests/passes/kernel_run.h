// Runs a textual kernel on the interpreter at any stage of the pipeline. Convention of the kernels under
// kernels/: parameters (data: i64, n: i32), data is an array of kDataWords words.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "ir/interpret/interpret.h"
#include "ir/text/text.h"
#include "lowering/pipeline.h"

namespace ptx2cpu::test {

inline constexpr uint32_t kDataWords = 2048;
inline constexpr uint32_t kGrid = 2;

std::string ReadFile(const std::string& path);

ir::Module ParseModule(const std::string& text);

// As many threads as the kernel can have, at least `threads`: operations on matrices name all lanes of a
// warp.
uint32_t Threads(const ir::Function& kernel, uint32_t threads);

ir::Function& Kernel(ir::Module& module);

struct Outcome {
  Status status;
  std::vector<uint32_t> data;
};

// `fill`: what each byte of shared and local memory is at the start of a block.
Outcome RunKernel(const ir::Module& module, const ir::Function& kernel, std::array<uint32_t, 3> block,
                  uint32_t n, uint32_t grid = kGrid, uint8_t fill = 0);

Outcome RunKernel(const ir::Module& module, const ir::Function& kernel, uint32_t threads, uint32_t n,
                  uint32_t grid = kGrid, uint8_t fill = 0);

// The kernel after the pipeline of tiers T0 and T1 up to and including `pass`.
Result<ir::Module> After(const ir::Module& module, std::string_view pass,
                         lowering::CollapseForm form = lowering::CollapseForm::kAuto);

// The kernel after the pipeline for one tier, up to and including `pass` (empty: all of it).
Result<ir::Module> AfterTier(const ir::Module& module, lowering::Tier tier, std::string_view pass = "");

// The passes for one tier that change something of the module: after the others it is what it was before
// them.
Result<std::set<std::string>> PassesThatChange(const ir::Module& module, lowering::Tier tier);

}  // namespace ptx2cpu::test
