// Functions that are all control flow: one instruction-less block per letter, described by their edges.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/text/text.h"

namespace ptx2cpu::test {

struct Graph {
  ir::Module module;
  std::map<char, uint32_t> node;
  const ir::Function& f() const { return module.functions[0]; }
  uint32_t operator[](char name) const { return node.at(name); }
};

// "ab ac bd cd": edges; the first letter is the entry, blocks without edges return. Two edges branch on the
// parameter `n` (uniform), or on %tid.x when the source is listed in `divergent`.
Graph MakeGraph(const std::string& edges, const std::string& divergent = "");

ir::Module ParseText(const std::string& body);

}  // namespace ptx2cpu::test
