// The file of one cache entry: written completely under another name, then renamed; read only if it is
// certainly ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/engine/cache/content_hash.h"

namespace ptx2cpu::rt {

// The outcome of reading.
enum class EntryState : uint8_t {
  kGood,
  kAbsent,   // no such file
  kForeign,  // another user's, or writable by others, or no plain file: not touched
  kDamaged,  // not what was written; removed
};

// `directory`: an open descriptor. The entry's content when good; also marks it as used now.
EntryState ReadEntry(int directory, const std::string& name, const Digest& key, std::string& content);

// False if the file system does not accept it; nothing is left then.
bool WriteEntry(int directory, const std::string& name, const Digest& key, const std::string& content);

// The name of a key's entry below the cache's directory: two digits, a slash, the rest of the key.
std::string EntryName(const Digest& key);

// The kind of file that WriteEntry could have written under a name.
enum class EntryNameKind : uint8_t {
  kForeign,     // nothing of ours
  kEntry,       // an entry
  kUnfinished,  // a file that WriteEntry has not renamed yet
};
// `folder` and `file` as a directory lists them.
EntryNameKind KindOfEntryName(std::string_view folder, std::string_view file);

// Removes the entry if it is one: a plain file of this user that begins as WriteEntry begins it, with the key
// that its name states. False: it was left alone.
bool RemoveEntry(int directory, const std::string& name);

// Bytes of the file for content of this size.
uint64_t EntryFileBytes(uint64_t content);

}  // namespace ptx2cpu::rt
