// A table of the blocks or values of a region, by their number in the function. A function may have as many
// regions as it has collectives, so the table of a region takes memory in proportion to the region's own
// code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx2cpu::analysis {

template <typename T>
class RegionTable {
 public:
  RegionTable() = default;
  RegionTable(size_t size, T other) : page_of_(size / kPage + 1, kNone), other_(std::move(other)) {}

  // `other` where nothing was set.
  const T& operator[](size_t index) const {
    const uint32_t page = page_of_[index / kPage];
    return page == kNone ? other_ : pages_[page][index % kPage];
  }
  // Valid until the next call.
  T& Set(size_t index) {
    uint32_t& page = page_of_[index / kPage];
    if (page == kNone) {
      page = static_cast<uint32_t>(pages_.size());
      pages_.emplace_back().fill(other_);
    }
    return pages_[page][index % kPage];
  }

 private:
  static constexpr size_t kPage = 32;
  static constexpr uint32_t kNone = ~0u;
  std::vector<uint32_t> page_of_;
  std::vector<std::array<T, kPage>> pages_;
  T other_{};
};

}  // namespace ptx2cpu::analysis
