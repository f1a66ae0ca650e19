// Kernels of three parameters: numbers from 0 on, as many words that they write, and a number.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "tests/llvm/jit_run.h"

namespace ptx2cpu::llvm_test {

// What the kernel has written to its `count` words, which begin as 0.
inline std::vector<uint32_t> RunOverNumbers(JitKernel& kernel, Dim3 grid, Dim3 block, uint32_t count,
                                            uint32_t number) {
  harness::KernelCall call{grid, block, 0, {}, {}, {}};
  for (const std::string& spec : {"in:u32:gen(iota," + std::to_string(count) + ",0)",
                                  "out:u32:" + std::to_string(count), "u32:" + std::to_string(number)}) {
    auto argument = rt::ParseSpec(spec);
    REQUIRE(argument);
    call.arguments.push_back(std::move(*argument));
  }
  RunOrFail(kernel, call);
  std::vector<uint32_t> out(count);
  std::memcpy(out.data(), call.arguments[1].data.data(), 4 * out.size());
  return out;
}
inline std::vector<uint32_t> RunOverNumbers(const BuiltKernel& module, const lowering::JitOptions& options,
                                            Dim3 grid, Dim3 block, uint32_t count, uint32_t number) {
  auto kernel = JitKernel::Create(module, options);
  if (!kernel) FAIL(kernel.error().Render());
  return RunOverNumbers(**kernel, grid, block, count, number);
}

}  // namespace ptx2cpu::llvm_test
