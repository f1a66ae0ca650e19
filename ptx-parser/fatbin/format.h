// The bytes of a fat binary container and its wrapper, and checked little-endian loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptx2cpu::ptx::fatbin {

using Bytes = std::span<const std::byte>;

// Container header: u32 magic, u16 version, u16 header size, u64 size of the entries that follow.
inline constexpr uint32_t kContainerMagic = 0xBA55ED50;
inline constexpr uint16_t kContainerVersion = 1;
inline constexpr uint64_t kContainerHeader = 16;

// Entry header: offsets of its fields.
inline constexpr uint16_t kEntryVersion = 0x0101;
inline constexpr uint64_t kEntryHeader = 64;
inline constexpr uint64_t kAtKind = 0;             // u16
inline constexpr uint64_t kAtEntryVersion = 2;     // u16
inline constexpr uint64_t kAtHeaderSize = 4;       // u32, with the tail
inline constexpr uint64_t kAtPayloadSize = 8;      // u64, padded
inline constexpr uint64_t kAtCompressedSize = 16;  // u32
inline constexpr uint64_t kAtOptions = 20;         // u32, offset of {u32 offset, u32 length}
inline constexpr uint64_t kAtMinor = 24;           // u16
inline constexpr uint64_t kAtMajor = 26;           // u16
inline constexpr uint64_t kAtSm = 28;              // u32
inline constexpr uint64_t kAtIdentifier = 32;      // u32 offset, u32 length
inline constexpr uint64_t kAtFlags = 40;           // u64
inline constexpr uint64_t kAtDecodedSize = 56;     // u64

inline constexpr uint16_t kKindPtx = 1, kKindCubin = 2, kKindLtoIr = 8;

inline constexpr uint64_t kFlagLegacy = 0x1000, kFlagLz4 = 0x2000, kFlagZstd = 0x8000,
                          kFlagObfuscated = 0x10000, kFlagArchSpecific = 0x100000,
                          kFlagFamilySpecific = 0x200000;

// Wrapper: i32 magic, i32 version, pointer to the container, pointer.
inline constexpr uint32_t kWrapperMagic = 0x466243B1;
inline constexpr uint64_t kWrapperSize = 24;
inline constexpr std::string_view kWrapperSection = ".nvFatBinSegment";
inline constexpr std::string_view kFatbinSection = ".nv_fatbin";
inline constexpr std::string_view kRelocatableSection = "__nv_relfatbin";

// A range of a file, in bytes.
struct Range {
  uint64_t begin = 0, end = 0;
};

// True where [at, at + size) lies within `total` bytes; never overflows.
constexpr bool Fits(uint64_t at, uint64_t size, uint64_t total) { return at <= total && size <= total - at; }

// The caller has checked that the bytes exist.
template <typename T>
T LoadAt(Bytes bytes, uint64_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(std::to_integer<uint8_t>(bytes[at + i])) << (8 * i));
  }
  return value;
}

template <typename T>
std::optional<T> Load(Bytes bytes, uint64_t at) {
  if (!Fits(at, sizeof(T), bytes.size())) return std::nullopt;
  return LoadAt<T>(bytes, at);
}

inline std::string_view Text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ptx2cpu::ptx::fatbin
