// The memory of this process for a run that must not change it: pages are copied when they are first
// accessed, and the run uses the copies. Other threads may change the memory meanwhile.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace ptx2cpu::ir::interpret {

class PrivateMemory {
 public:
  PrivateMemory();
  ~PrivateMemory();
  PrivateMemory(const PrivateMemory&) = delete;
  PrivateMemory& operator=(const PrivateMemory&) = delete;

  // The copies of [address, address + bytes), one after the other. Pages that cannot be read are zeros.
  // Null: the range crosses a multiple of 1 MiB, or too much is kept already.
  std::byte* At(uint64_t address, uint64_t bytes);
  // Whether the byte can be read. False too where the system lets no memory be read this way.
  bool CanRead(uint64_t address) const;

 private:
  static constexpr size_t kPageBytes = 4096, kRegionBytes = size_t{1} << 20, kMaxRegions = 2048;
  struct Region {
    std::byte* copies = nullptr;
    std::bitset<kRegionBytes / kPageBytes> copied;
  };
  bool CopyPage(uint64_t page, std::byte* to) const;

  std::unordered_map<uint64_t, Region> regions_;  // by address / kRegionBytes
  int pipe_[2] = {-1, -1};                        // the system reads memory on our behalf without a fault
};

}  // namespace ptx2cpu::ir::interpret
