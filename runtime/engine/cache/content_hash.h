// A strong hash of content: BLAKE2b with digests of 32 bytes (RFC 7693).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ptx2cpu::rt {

using Digest = std::array<uint8_t, 32>;
std::string Hex(const Digest& digest);

class ContentHash {
 public:
  ContentHash();
  // Parts are distinguished: ("ab", "c") and ("a", "bc") have different digests.
  ContentHash& Add(std::string_view part);
  ContentHash& Add(uint64_t number);
  ContentHash& Add(const Digest& digest);
  // The bytes alone, as RFC 7693 hashes them.
  ContentHash& AddBytes(std::string_view bytes);
  Digest Finish();

 private:
  static constexpr size_t kBlock = 128;
  void Compress(const uint8_t* block, bool is_last);

  std::array<uint64_t, 8> state_;
  std::array<uint8_t, kBlock> waiting_ = {};  // bytes that are not compressed yet: the last block is special
  size_t waiting_bytes_ = 0;
  uint64_t compressed_bytes_ = 0;  // 2^64 bytes are never reached: the upper half of the counter stays 0
};

Digest HashOf(std::string_view bytes);

}  // namespace ptx2cpu::rt
