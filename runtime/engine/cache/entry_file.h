// The file of one cache entry: written whole under another name and renamed; read only where it is sure to be
// ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lowering/llvm/output/content_hash.h"

namespace ptx2cpu::rt {

// What reading came to.
enum class EntryState : uint8_t {
  kGood,
  kAbsent,   // no such file
  kForeign,  // another user's, or writable by others, or no plain file: not touched
  kDamaged,  // not what was written; removed
};

// `directory`: an open descriptor. The entry's content when good; also marks it as used now.
EntryState ReadEntry(int directory, const std::string& name, const lowering::Digest& key,
                     std::string& content);

// False where the file system does not take it; nothing is left behind then.
bool WriteEntry(int directory, const std::string& name, const lowering::Digest& key,
                const std::string& content);

// Files that WriteEntry has not renamed yet begin so.
inline constexpr const char* kUnfinishedPrefix = ".unfinished-";
// Bytes of the file for content of this size.
uint64_t EntryFileBytes(uint64_t content);

}  // namespace ptx2cpu::rt
