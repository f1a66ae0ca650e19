// A random kernel before it is PTX: a tree of statements, each with a few random words. Whatever is cut out
// of a tree, what Write makes of the rest is a legal kernel; so it can be reduced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptx2cpu::random_kernels {

enum class Kind : uint8_t {
#define KIND(name, feature, whole, parted, arms, lanes_part) k##name,
#include "tests/random/generator/kinds.def"
#undef KIND
};

using Features = uint64_t;
enum class Feature : uint8_t {
#define FEATURE(name) k_##name,
#include "tests/random/generator/features.def"
#undef FEATURE
};
constexpr Features Bit(Feature feature) { return Features{1} << static_cast<unsigned>(feature); }
inline constexpr Features kAllFeatures = 0
#define FEATURE(name) | Bit(Feature::k_##name)
#include "tests/random/generator/features.def"
#undef FEATURE
    ;

std::string NamesOf(Features features);
// Names separated by commas, `all`, and `-name` to take one away: "all,-lock". Nothing when a name is
// unknown.
std::optional<Features> ParseFeatures(const std::string& text);

struct Node;
using Body = std::vector<Node>;

struct Node {
  Kind kind = Kind::kAlu;
  uint32_t word[4] = {};
  std::vector<Body> arms = {};
};

struct Function {
  Body body;
  uint32_t word = 0;
  bool with_barriers = false;
};

struct Tree {
  uint64_t seed = 0;
  Features features = kAllFeatures;
  uint32_t block = 32, grid = 1;
  bool states_block = false;  // .reqntid
  Body body;
  std::vector<Function> functions;
};

// Deterministic: the same on every machine.
Tree Grow(uint64_t seed, Features features = kAllFeatures);

// One statement after the other is dropped, or replaced by one of its arms, while `keep` holds for the tree.
Tree Reduce(Tree tree, bool (*keep)(const Tree&, void*), void* context);

size_t CountNodes(const Tree& tree);

}  // namespace ptx2cpu::random_kernels
