// The archive member and ELF section of a byte of a file. They are only names in a listing, so a false header
// costs its names and a warning, never an image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx-parser/fatbin/format.h"
#include "ptx-parser/fatbin/warnings.h"

namespace ptx2cpu::ptx::fatbin {

struct Section {
  std::string name;
  uint64_t begin = 0, end = 0;  // in the file
};

// A 24-byte wrapper and where its container pointer leads, in the file.
struct WrapperRecord {
  uint64_t offset = 0;
  uint32_t version = 0;
  std::optional<uint64_t> target;
};

// What the headers of one ELF file state; offsets count from the start of the enclosing file.
struct ElfView {
  bool is_cubin = false;
  uint32_t cubin_sm = 0;
  std::vector<Section> sections;  // those with bytes in the file, by begin
  std::vector<WrapperRecord> wrappers;
};

// `elf` starts with the ELF magic, at offset `base` of the file.
ElfView ReadElf(Bytes elf, uint64_t base, WarningList& warnings);

struct Member {
  std::string name;  // "a.o", nested "inner.a/a.o"
  uint64_t begin = 0, end = 0;
};

// The members of an archive, nested archives replaced by theirs. `archive` starts with the ar magic.
std::vector<Member> ReadArchive(Bytes archive, uint64_t base, WarningList& warnings);

inline constexpr std::string_view kArchiveMagic = "!<arch>\n";
inline constexpr std::string_view kThinArchiveMagic = "!<thin>\n";
inline constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";

}  // namespace ptx2cpu::ptx::fatbin
