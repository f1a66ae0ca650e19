// A product of matrices of one warp, whose registers are arrays in memory.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

namespace ptx2cpu::llvm_test {

inline constexpr uint32_t kLanes = 32;

struct Form {
  const char *shape, *factor, *sum;
  uint32_t a, b, c;  // registers
  uint32_t depth;
};
inline constexpr Form kForms[] = {
    {"m16n8k8", "f16", "f32", 2, 1, 4, 8},  {"m16n8k16", "f16", "f32", 4, 2, 4, 16},
    {"m16n8k8", "f16", "f16", 2, 1, 2, 8},  {"m16n8k16", "f16", "f16", 4, 2, 2, 16},
    {"m16n8k8", "bf16", "f32", 2, 1, 4, 8}, {"m16n8k16", "bf16", "f32", 4, 2, 4, 16},
    {"m16n8k4", "tf32", "f32", 2, 1, 4, 4}, {"m16n8k8", "tf32", "f32", 4, 2, 4, 8},
};

// Lane l has words 32 n + l of each array, in register n.
std::string Kernel(const Form& form);

struct Data {
  std::vector<uint32_t> a, b, c;
};

template <typename Kernel>
std::vector<uint32_t> Results(Kernel run, const Data& data) {
  harness::KernelCall call{{1, 1, 1}, {kLanes, 1, 1}, 0, {}, {}, {}};
  for (const auto* words : {&data.a, &data.b, &data.c}) {
    auto argument = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(argument);
    argument->data.resize(words->size() * 4);
    std::memcpy(argument->data.data(), words->data(), argument->data.size());
    call.arguments.push_back(std::move(*argument));
  }
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  std::vector<uint32_t> results(data.c.size());
  std::memcpy(results.data(), call.arguments[2].data.data(), results.size() * 4);
  return results;
}

inline auto Compiled(const BuiltKernel& module, const char* target) {
  lowering::JitOptions options;
  options.target = *lowering::ResolveTarget(target);
  auto kernel = JitKernel::Create(module, std::move(options));
  if (!kernel) FAIL(kernel.error().Render());
  return [kernel](harness::KernelCall& call) { return (*kernel)->Run(call); };
}

}  // namespace ptx2cpu::llvm_test
