#include "runtime/engine/cache/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptx2cpu::rt {

namespace {

constexpr uint64_t kStart[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// Which words of the block a round takes, in order; rounds 10 and 11 are 0 and 1 again.
constexpr uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

// The four words of each half of a round: columns, then diagonals.
constexpr uint8_t kMixed[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14}, {3, 7, 11, 15},
                                  {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13},  {3, 4, 9, 14}};

static_assert(std::endian::native == std::endian::little);

void Mix(uint64_t* v, const uint8_t (&at)[4], uint64_t x, uint64_t y) {
  uint64_t &a = v[at[0]], &b = v[at[1]], &c = v[at[2]], &d = v[at[3]];
  a += b + x;
  d = std::rotr(d ^ a, 32);
  c += d;
  b = std::rotr(b ^ c, 24);
  a += b + y;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 63);
}

}  // namespace

ContentHash::ContentHash() {
  std::ranges::copy(kStart, state_.begin());
  state_[0] ^= 0x01010000 ^ sizeof(Digest);  // no key, no tree
}

void ContentHash::Compress(const uint8_t* block, bool is_last) {
  uint64_t m[16], v[16];
  std::memcpy(m, block, kBlock);
  for (size_t i = 0; i < 8; ++i) {
    v[i] = state_[i];
    v[i + 8] = kStart[i];
  }
  v[12] ^= compressed_bytes_;
  if (is_last) v[14] = ~v[14];
#pragma GCC unroll 12
  for (size_t round = 0; round < 12; ++round) {
    const auto& order = kOrder[round % 10];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) Mix(v, kMixed[i], m[order[2 * i]], m[order[2 * i + 1]]);
  }
  for (size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
}

ContentHash& ContentHash::AddBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    if (waiting_bytes_ == kBlock) {
      compressed_bytes_ += kBlock;
      Compress(waiting_.data(), false);
      waiting_bytes_ = 0;
    }
    const size_t taken = std::min(bytes.size(), kBlock - waiting_bytes_);
    std::memcpy(waiting_.data() + waiting_bytes_, bytes.data(), taken);
    waiting_bytes_ += taken;
    bytes.remove_prefix(taken);
  }
  return *this;
}

ContentHash& ContentHash::Add(uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  return AddBytes({bytes, sizeof bytes});
}

ContentHash& ContentHash::Add(std::string_view part) { return Add(uint64_t{part.size()}).AddBytes(part); }

ContentHash& ContentHash::Add(const Digest& digest) {
  return Add(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

Digest ContentHash::Finish() {
  compressed_bytes_ += waiting_bytes_;
  std::fill(waiting_.begin() + static_cast<ptrdiff_t>(waiting_bytes_), waiting_.end(), uint8_t{0});
  Compress(waiting_.data(), true);
  Digest digest;
  std::memcpy(digest.data(), state_.data(), digest.size());
  return digest;
}

Digest HashOf(std::string_view bytes) { return ContentHash().Add(bytes).Finish(); }

std::string Hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace ptx2cpu::rt
