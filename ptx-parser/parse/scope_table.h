// A hash table of (name, scope) for one function at a time. Register ranges %r<100> are one entry, found by
// prefix and number, so that a kernel of 80,000 registers costs no more than one of three.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

class ScopeTable {
 public:
  struct Entry {
    std::string_view name;  // of a range: the prefix
    uint32_t scope = 0;
    uint32_t count = 0;  // of a range; 0: a single name
    ast::SymbolKind kind = ast::SymbolKind::kNone;
    uint32_t symbol = 0;  // of a range: its first register
    uint32_t variable = ast::kNone;
  };
  struct Found {
    const Entry* entry = nullptr;  // null: undefined
    uint32_t offset = 0;           // within a range
  };

  ScopeTable();
  // Forgets all names; scope 0 is open.
  void Clear();
  // Opens a scope inside the current one.
  uint32_t Open();
  void Close() { current_ = parents_[current_]; }
  // Back to scope 0, to walk through the same scopes a second time.
  void Rewind() { current_ = 0, next_ = 1; }
  uint32_t current() const { return current_; }

  // Declares a name in `entry.scope`. The earlier entry if there is one already.
  const Entry* Declare(const Entry& entry);
  // Looks from the current scope outwards.
  Found Find(std::string_view name) const;

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  const Entry* FindIn(std::string_view name, uint64_t hash, uint32_t scope, bool is_range) const;
  Found FindRange(std::string_view name, uint32_t scope) const;
  void Grow();

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // indices into entries_, kNone is free
  std::vector<uint32_t> parents_;
  uint32_t current_ = 0;
  uint32_t next_ = 1;  // the scope that Open opens
  bool has_ranges_ = false;
  bool has_digit_prefix_ = false;  // some prefix ends in a digit: `a1<5>` declares a10 .. a14
};

}  // namespace ptx2cpu::ptx
