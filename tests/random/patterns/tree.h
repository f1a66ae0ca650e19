// A random kernel of memory and number patterns before it is PTX: what the choice of vector forms decides on.
// As in generator/tree.h, whatever is cut out of a tree, the rest is a legal kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::random_patterns {

enum class Kind : uint8_t {
#define KIND(name, together, parted, arms) k##name,
#include "tests/random/patterns/kinds.def"
#undef KIND
};

struct Node;
using Body = std::vector<Node>;

struct Node {
  Kind kind = Kind::kInteger;
  uint32_t word[3] = {};
  std::vector<Body> arms = {};
};

struct Tree {
  uint64_t seed = 0;
  std::array<uint32_t, 3> block{32, 1, 1}, grid{1, 1, 1};
  bool states_block = false;  // .reqntid
  Body body;

  uint32_t BlockThreads() const { return block[0] * block[1] * block[2]; }
  uint32_t Threads() const { return BlockThreads() * grid[0] * grid[1] * grid[2]; }
};

// Deterministic: the same on every machine.
Tree Grow(uint64_t seed);

// One statement after the other is dropped, or replaced by one of its arms, while `keep` holds for the tree.
Tree Reduce(Tree tree, bool (*keep)(const Tree&, void*), void* context);

size_t CountNodes(const Tree& tree);

// A module with one kernel and its `// run:` line.
//
// Each thread folds what it computes and loads into a hash, which it stores at its end: first argument. The
// second takes the stores of statements, each into an area of its own and at a cell that no other thread has;
// the third (kSums words) takes atomics whose final value does not depend on the order. The fourth is
// kInputBytes of random bytes, then three numbers that are the same for all threads.
std::string WriteModule(const Tree& tree, const std::string& name = "random_pattern");

inline constexpr uint32_t kSums = 16, kInputBytes = 4096;

}  // namespace ptx2cpu::random_patterns
