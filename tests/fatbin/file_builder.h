// Makes files for the container reader in memory, damaged where a test needs that: containers and their
// images, ELF files, archives. It is the tests' own writer, independent of the reader's constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2cpu::fatbin_test {

inline constexpr uint16_t kPtx = 1, kCubin = 2, kLtoIr = 8;
inline constexpr uint64_t kLegacy = 0x1000, kLz4 = 0x2000, kZstd = 0x8000, kObfuscated = 0x10000,
                          kArchSpecific = 0x100000, kFamilySpecific = 0x200000;

std::string U16(uint16_t value);
std::string U32(uint32_t value);
std::string U64(uint64_t value);
void Patch(std::string& bytes, size_t at, std::string_view with);

struct ImageSpec {
  uint16_t kind = kPtx;
  uint32_t sm = 80;
  uint64_t flags = 0;  // added to 0x11; kLz4 and kZstd also compress the data
  std::string data;    // PTX gets the NUL that nvcc counts
  std::string options = {};
  std::string identifier = {};
  uint16_t major = 9, minor = 0;
};
std::string BuildImage(const ImageSpec& spec);
std::string BuildContainer(const std::vector<ImageSpec>& images);
std::string ContainerOf(std::string_view entries);  // of raw entries

// A small module with kernels of the given names.
std::string SamplePtx(const std::vector<std::string>& kernels, std::string_view target = "sm_80",
                      std::string_view version = "9.0");
ImageSpec PtxSpec(const std::vector<std::string>& kernels, uint32_t sm = 80, uint64_t flags = 0);
ImageSpec CubinSpec(uint32_t sm = 80);

struct SectionSpec {
  std::string name;
  std::string data;
  uint32_t type = 1;  // PROGBITS
  uint64_t address = 0;
  uint64_t flags = 2;           // ALLOC
  uint32_t link = 0, info = 0;  // section numbers; the first of the list is 1
};
inline constexpr uint16_t kObject = 1, kExecutable = 2, kShared = 3;
// Sections are in the file in this order from offset 64, each on 16 bytes.
std::string BuildElf(const std::vector<SectionSpec>& sections, uint16_t type = kShared,
                     uint16_t machine = 62);
std::string Wrapper(uint64_t pointer, uint32_t version = 1);
std::string Rela(uint64_t place, uint32_t type, uint32_t symbol, uint64_t addend);
std::string Symbol(uint16_t section, uint64_t value);

struct MemberSpec {
  std::string name;
  std::string data;
};
std::string BuildArchive(const std::vector<MemberSpec>& members);     // GNU, long names in "//"
std::string BuildBsdArchive(const std::vector<MemberSpec>& members);  // names before the data

enum class StreamKind : uint8_t { kGzip, kZlib };
std::string Deflated(std::string_view data, StreamKind kind);
// What linking at run time makes of named parts.
std::string LinkedImage(const std::vector<MemberSpec>& parts);

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// One file of every form the reader takes; name and bytes. For the corruption tests and as seeds of the
// fuzzer.
std::vector<MemberSpec> OneOfEach();

}  // namespace ptx2cpu::fatbin_test
