// One launch as the tool, the vectors and the corpus describe it, run by any engine: arguments in, buffers out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "ir/interpret.h"
#include "tools/record/spec.h"

namespace ptx2cpu::harness {

struct KernelCall {
  ir::Dim3 grid, block;
  uint32_t shared_bytes = 0;                  // dynamic
  std::vector<rt::Argument> arguments;        // buffers hold their contents before the launch, and after it
  std::vector<std::pair<std::string, std::vector<std::byte>>> variables = {};  // module variables set before
  std::string printed = {};                   // device printf
  bool cooperative = false;                   // all blocks resident at once: they may meet at grid barriers
  ir::Dim3 cluster = {0, 0, 0};               // blocks that run as a cluster; 0: what the kernel requires, or one
};

// The parameter buffer for a kernel: scalars by value, buffers as addresses of the call's own storage.
// kUsage errors: wrong number of arguments, wrong size; they name the parameter.
Result<std::vector<std::byte>> PackParameters(const std::vector<ir::Param>& params, uint32_t param_bytes, KernelCall& call);

// Runs functions[0] of the module in the interpreter, whatever phase it is in.
struct Turns {  // as ir::InterpretOptions
  uint64_t slice = 10000;
  bool backwards = false;
};
Status RunInterpreter(const ir::Module& module, KernelCall& call, Turns turns = {});

}  // namespace ptx2cpu::harness
