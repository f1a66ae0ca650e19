#include "runtime/recording/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/recording/difference.h"
#include "runtime/recording/replay.h"

namespace ptx2cpu::rt::recording {

namespace {

using Pair = std::pair<const Area*, const Area*>;
using Contents = std::vector<std::byte>;

// Allocations correspond by their order, variables by their name. Images differ between processes: their
// contents are in areas.
class Matching {
 public:
  // An area that has no partner is an error's text.
  static std::optional<std::string> Make(const LaunchRecord& a, const LaunchRecord& b, Matching& matching);
  const std::vector<Pair>& pairs() const { return pairs_; }

  // Words of `b` that hold the address of the same byte as those of `a` become equal to these.
  void Translate(std::span<const std::byte> a, std::span<std::byte> b) const {
    for (size_t at = 0; at + sizeof(uint64_t) <= a.size(); at += sizeof(uint64_t)) {
      uint64_t first, second;
      std::memcpy(&first, &a[at], sizeof first);
      std::memcpy(&second, &b[at], sizeof second);
      if (first != second && (Address(first) == second || SameKindOfImage(first, second)))
        std::memcpy(&b[at], &first, sizeof first);
    }
  }

 private:
  // Where b has the byte that a has at this address; 0: nowhere. The end of an area counts as its own.
  uint64_t Address(uint64_t address) const {
    auto next = by_address_.upper_bound(address);
    if (next == by_address_.begin()) return 0;
    const auto& [a, b] = std::prev(next)->second;
    return address - a->address <= a->bytes ? b->address + (address - a->address) : 0;
  }
  // Handles are addresses of descriptions. Which one of its kind is not followed.
  bool SameKindOfImage(uint64_t first, uint64_t second) const {
    const auto a = images_.find(first), b = other_images_.find(second);
    return a != images_.end() && b != other_images_.end() && a->second == b->second;
  }
  std::vector<Pair> pairs_;
  std::map<uint64_t, Pair> by_address_;                    // of a
  std::map<uint64_t, std::string> images_, other_images_;  // what is at an address, of a and of b
};

std::map<std::pair<uint64_t, std::string>, const Area*> AreasOf(const LaunchRecord& launch) {
  std::map<uint64_t, const Area*> allocations;
  std::map<std::pair<uint64_t, std::string>, const Area*> areas;
  for (const Area& area : launch.areas) {
    if (area.order != 0)
      allocations.emplace(area.order, &area);
    else if (area.what.starts_with("variable "))
      areas.emplace(std::pair(uint64_t{0}, area.what), &area);
  }
  uint64_t rank = 1;
  for (const auto& [order, area] : allocations) areas.emplace(std::pair(rank++, area->what), area);
  return areas;
}

std::map<uint64_t, std::string> ImagesOf(const LaunchRecord& launch) {
  std::map<uint64_t, std::string> images;
  for (const Area& area : launch.areas) {
    if (area.what.starts_with("texture") || area.what.starts_with("surface"))
      images.emplace(area.address, area.what);
  }
  return images;
}

std::optional<std::string> Matching::Make(const LaunchRecord& a, const LaunchRecord& b, Matching& matching) {
  const auto first = AreasOf(a), second = AreasOf(b);
  for (const auto& [key, area] : first) {
    const auto found = second.find(key);
    if (found == second.end() || found->second->bytes != area->bytes)
      return "  " + Describe(*area, 0) + " has no partner\n";
    matching.pairs_.emplace_back(area, found->second);
    matching.by_address_.emplace(area->address, matching.pairs_.back());
  }
  matching.images_ = ImagesOf(a), matching.other_images_ = ImagesOf(b);
  if (second.size() != first.size()) return fmt::format("  {} areas, and {}\n", first.size(), second.size());
  return std::nullopt;
}

struct Side {
  const Reader& reader;
  const std::vector<uint32_t> Area::* blocks;
};

// What differs of one area; nothing: no byte does.
Result<std::optional<std::string>> DifferenceOf(const Matching& matching, const Pair& pair, const Side& a,
                                                const Side& b) {
  const std::vector<uint32_t>&first = pair.first->*a.blocks, &second = pair.second->*b.blocks;
  if (first.size() != second.size()) return Fail(ErrorCode::kContainer, "a recording is damaged");
  uint64_t words = 0;
  std::string text;
  for (size_t i = 0; i < first.size(); ++i) {
    if (TRY(a.reader.blocks().HashOf(first[i])) == TRY(b.reader.blocks().HashOf(second[i]))) continue;
    if (!a.reader.blocks().HasContents(first[i]) || !b.reader.blocks().HasContents(second[i])) {
      if (text.empty())
        text = fmt::format(
            "  {}: among the {} bytes from there, of which only hashes are recorded (--record-outputs)\n",
            Describe(*pair.first, i * kBlockBytes),
            std::min(kBlockBytes, pair.first->bytes - i * kBlockBytes));
      continue;
    }
    const Contents expected = TRY(a.reader.blocks().Contents(first[i]));
    Contents actual = TRY(b.reader.blocks().Contents(second[i]));
    if (expected.size() != actual.size()) return Fail(ErrorCode::kContainer, "a recording is damaged");
    matching.Translate(expected, actual);
    const auto difference = Compare(expected, actual);
    if (!difference) continue;
    words += difference->words;
    if (text.empty()) {
      const uint64_t offset = i * kBlockBytes + difference->offset;
      text =
          fmt::format("  {}, in the other {:#x}:\n{}", Describe(*pair.first, offset),
                      pair.second->address + offset, DescribeElement(expected, actual, difference->offset));
    }
  }
  if (text.empty()) return std::nullopt;
  if (words > 1) text += fmt::format("    and {} more words of this memory\n", words - 1);
  return text;
}

Result<std::string> DifferencesOf(const Matching& matching, const Side& a, const Side& b) {
  std::string text;
  for (const Pair& pair : matching.pairs()) text += TRY(DifferenceOf(matching, pair, a, b)).value_or("");
  return text;
}

std::string ShapeOf(const LaunchRecord& launch) {
  const Dim3 &g = launch.shape.grid, &b = launch.shape.block;
  return fmt::format("{} of {}x{}x{} blocks of {}x{}x{} threads", launch.kernel, g.x, g.y, g.z, b.x, b.y,
                     b.z);
}

// What differs of one launch; empty: nothing.
Result<std::string> DifferenceOf(const Reader& a, const LaunchRecord& first, const Reader& b,
                                 const LaunchRecord& second) {
  const std::string shape = ShapeOf(first), other = ShapeOf(second);
  if (shape != other || first.shape.dynamic_shared_bytes != second.shape.dynamic_shared_bytes)
    return fmt::format("is {}, in the other {}\n", shape, other);
  Matching matching;
  if (const auto missing = Matching::Make(first, second, matching))
    return shape + ": allocations differ\n" + *missing;
  std::vector<std::byte> parameters = second.parameters;
  if (parameters.size() != first.parameters.size()) return shape + ": parameters differ in their size\n";
  matching.Translate(first.parameters, parameters);
  if (const auto difference = Compare(first.parameters, parameters)) {
    return fmt::format("{}: parameters differ at byte {}\n{}", shape, difference->offset,
                       DescribeElement(first.parameters, parameters, difference->offset));
  }
  const std::string before = TRY(DifferencesOf(matching, {a, &Area::before}, {b, &Area::before}));
  if (!before.empty()) return shape + ": memory before it differs: the program or a copy wrote it\n" + before;
  const std::string after = TRY(DifferencesOf(matching, {a, &Area::after}, {b, &Area::after}));
  if (!after.empty()) return shape + ": its outputs differ\n" + after;
  if (first.error.empty() != second.error.empty())
    return fmt::format("{}: {}, in the other {}\n", shape, first.error.empty() ? "ran" : first.error,
                       second.error.empty() ? "ran" : second.error);
  return std::string();
}

}  // namespace

Result<std::optional<std::string>> FirstDifference(const Reader& a, const Reader& b) {
  const auto &first = a.records().launches, &second = b.records().launches;
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    const std::string text = TRY(DifferenceOf(a, first[i], b, second[i]));
    if (!text.empty()) return fmt::format("launch {}: {}", first[i].number, text);
  }
  if (first.size() != second.size())
    return fmt::format("{} launches, in the other {}\n", first.size(), second.size());
  return std::nullopt;
}

}  // namespace ptx2cpu::rt::recording
