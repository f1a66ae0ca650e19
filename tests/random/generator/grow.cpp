// Random trees.
#include <array>
#include <sstream>

#include "tests/random/generator/random_words.h"
#include "tests/random/generator/reduce_body.h"
#include "tests/random/generator/tree.h"

namespace ptx2cpu::random_kernels {

namespace {

struct KindFacts {
  Feature feature;
  uint32_t weight[2];  // together, parted
  uint32_t arms;
  bool lanes_part;
  const char* name;
};
constexpr KindFacts kKinds[] = {
#define KIND(name, feature, whole, parted, arms, lanes_part) \
  {Feature::k_##feature, {whole, parted}, arms, lanes_part != 0, #name},
#include "tests/random/generator/kinds.def"
#undef KIND
};
constexpr const char* kFeatureNames[] = {
#define FEATURE(name) #name,
#include "tests/random/generator/features.def"
#undef FEATURE
};

class Grower {
 public:
  Grower(uint64_t seed, Features features) : random_(seed), features_(features | Bit(Feature::k_alu)) {}

  Tree Run(uint64_t seed) {
    Tree tree;
    tree.seed = seed;
    tree.features = features_;
    tree.block = BlockSize();
    tree.grid = random_.Chance(4) ? 2 : 1;
    tree.states_block = random_.Chance(3);
    budget_ = 4 + random_.Below(14);
    tree.body = List(2 + random_.Below(4), false, 0);
    for (const bool with_barriers : {false, false, true}) {
      budget_ = 2 + random_.Below(4);
      tree.functions.push_back(
          {List(1 + random_.Below(3), !with_barriers, 1), random_.Word(), with_barriers});
    }
    return tree;
  }

 private:
  uint32_t BlockSize() {
    constexpr std::array<uint32_t, 14> kSizes{32, 64, 128, 256, 96, 160, 33, 65, 31, 1, 48, 100, 255, 64};
    return random_.Chance(3) ? 1 + random_.Below(256) : kSizes[random_.Below(kSizes.size())];
  }

  // `parted`: the lanes of a warp may have diverged.
  Body List(uint32_t length, bool parted, uint32_t depth) {
    Body body;
    while (body.size() < length && budget_ > 0) body.push_back(Statement(parted, depth));
    return body;
  }

  Kind Choose(bool parted, uint32_t depth) {
    uint32_t total = 0;
    std::array<uint32_t, std::size(kKinds)> weights{};
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      const KindFacts& facts = kKinds[i];
      if ((features_ & Bit(facts.feature)) == 0 || (depth >= 4 && facts.arms != 0)) continue;
      total += weights[i] = facts.weight[parted];
    }
    uint32_t at = random_.Below(total);
    for (size_t i = 0;; ++i) {
      if (at < weights[i]) return static_cast<Kind>(i);
      at -= weights[i];
    }
  }

  Node Statement(bool parted, uint32_t depth) {
    --budget_;
    Node node{.kind = Choose(parted, depth)};
    for (uint32_t& word : node.word) word = random_.Word();
    const KindFacts& facts = kKinds[static_cast<size_t>(node.kind)];
    for (uint32_t i = 0; i < facts.arms; ++i) {
      node.arms.push_back(List(1 + random_.Below(3), parted || facts.lanes_part, depth + 1));
    }
    return node;
  }

  RandomWords random_;
  Features features_;
  uint32_t budget_ = 0;
};

}  // namespace

Tree Grow(uint64_t seed, Features features) { return Grower(seed, features).Run(seed); }

size_t CountNodes(const Tree& tree) {
  size_t count = CountStatements(tree.body);
  for (const Function& function : tree.functions) count += CountStatements(function.body);
  return count;
}

std::string NamesOf(Features features) {
  std::string names;
  for (size_t i = 0; i < std::size(kFeatureNames); ++i) {
    if ((features >> i & 1) != 0) names += (names.empty() ? "" : " ") + std::string(kFeatureNames[i]);
  }
  return names;
}

std::optional<Features> ParseFeatures(const std::string& text) {
  Features features = 0;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const bool take_away = word.starts_with('-');
    if (take_away) word.erase(0, 1);
    Features bits = word == "all" ? kAllFeatures : 0;
    for (size_t i = 0; i < std::size(kFeatureNames); ++i) {
      if (word == kFeatureNames[i]) bits = Features{1} << i;
    }
    if (bits == 0) return std::nullopt;
    features = take_away ? features & ~bits : features | bits;
  }
  return features;
}

}  // namespace ptx2cpu::random_kernels
