// Programs from PTX text through the C++ interface: compiled code.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/ptx2cpu.h"

namespace ptx2cpu::api_test {

inline std::string Ptx(std::string_view body) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + std::string(body);
}

// The texts are modules named part0.ptx, part1.ptx ... of one program.
inline Program Linked(const std::vector<std::string>& bodies, const LoadOptions& options = {}) {
  std::vector<PtxText> texts;
  for (size_t i = 0; i < bodies.size(); ++i)
    texts.push_back({Ptx(bodies[i]), "part" + std::to_string(i) + ".ptx"});
  auto program = Program::Link(std::move(texts), options);
  if (!program) FAIL(program.error().Render());
  return *program;
}

inline Kernel Get(const Program& program, std::string_view name) {
  auto kernel = program.Get(name);
  if (!kernel) FAIL(kernel.error().Render());
  return *kernel;
}

// Runs a kernel of one pointer parameter on `count` zeros.
inline std::vector<uint32_t> Words(const Program& program, std::string_view name, size_t count,
                                   Shape shape = {}) {
  std::vector<uint32_t> words(count);
  const Status status = Get(program, name).Launch(shape, words.data());
  if (!status) FAIL(status.error().Render());
  return words;
}

}  // namespace ptx2cpu::api_test
