// launch_saxpy FILE: runs the kernel saxpy of a CUDA program. Exit code 0 when every element is right.
#include <cstdio>

#include "runtime/engine/ptx2cpu.h"

int main(int, char** words) {
  auto program = ptx2cpu::Program::Load(words[1]);
  if (!program) return std::fputs(program.error().Render().c_str(), stderr), 1;
  auto kernel = program->Get("saxpy");
  if (!kernel) return std::fputs(kernel.error().Render().c_str(), stderr), 1;

  const uint32_t n = 1000;
  std::vector<float> x(n, 1), y(n, 2);
  auto done = kernel->Launch({.grid = {4}, .block = {256}}, 3.0f, x.data(), y.data(), n);
  if (!done) return std::fputs(done.error().Render().c_str(), stderr), 1;
  for (float value : y) {
    if (value != 5) return std::fputs("saxpy is wrong\n", stderr), 1;
  }

  auto refused = kernel->Launch({.grid = {4}, .block = {2048}}, 3.0f, x.data(), y.data(), n);
  return !refused && refused.error().code == ptx2cpu::ErrorCode::kLaunch ? 0 : 1;
}
