#include "ptx-parser/parse/scope_table.h"

#include <algorithm>

namespace ptx2cpu::ptx {
namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
constexpr size_t kMaxDigits = 8;  // of a register number; there are at most 2^24 registers

uint64_t HashName(std::string_view name) {
  uint64_t hash = 0;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * kMultiplier;
  return hash;
}
uint64_t HashWith(uint64_t name_hash, uint32_t scope, bool is_range) {
  uint64_t hash = (name_hash ^ (uint64_t{scope} << 1 | (is_range ? 1u : 0u))) * kMultiplier;
  return hash ^ (hash >> 32);
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

ScopeTable::ScopeTable() : slots_(256, ast::kNone) { Clear(); }

void ScopeTable::Clear() {
  if (slots_.size() > 256 && entries_.size() * 64 < slots_.size()) slots_.resize(256);
  std::fill(slots_.begin(), slots_.end(), ast::kNone);
  entries_.clear();
  parents_.assign(1, 0);
  Rewind();
  has_ranges_ = false;
  has_digit_prefix_ = false;
}

uint32_t ScopeTable::Open() {
  if (next_ == parents_.size()) parents_.push_back(current_);
  return current_ = next_++;
}

void ScopeTable::Grow() {
  slots_.assign(slots_.size() * 2, ast::kNone);
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    size_t slot = HashWith(HashName(e.name), e.scope, e.count != 0) & mask;
    while (slots_[slot] != ast::kNone) slot = (slot + 1) & mask;
    slots_[slot] = i;
  }
}

const ScopeTable::Entry* ScopeTable::FindIn(std::string_view name, uint64_t hash, uint32_t scope,
                                            bool is_range) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = HashWith(hash, scope, is_range) & mask; slots_[slot] != ast::kNone;
       slot = (slot + 1) & mask) {
    const Entry& e = entries_[slots_[slot]];
    if (e.scope == scope && (e.count != 0) == is_range && e.name == name) return &e;
  }
  return nullptr;
}

ScopeTable::Found ScopeTable::FindRange(std::string_view name, uint32_t scope) const {
  size_t prefix = name.size();
  while (prefix > 0 && IsDigit(name[prefix - 1]) && name.size() - prefix < kMaxDigits) --prefix;
  for (; prefix < name.size(); ++prefix) {
    const std::string_view digits = name.substr(prefix);
    if (digits.size() == 1 || digits[0] != '0') {  // %r07 is not %r7
      uint32_t number = 0;
      for (char c : digits) number = number * 10 + static_cast<uint32_t>(c - '0');
      const std::string_view stem = name.substr(0, prefix);
      const Entry* e = FindIn(stem, HashName(stem), scope, true);
      if (e && number < e->count) return {e, number};
    }
    if (!has_digit_prefix_) break;
  }
  return {};
}

ScopeTable::Found ScopeTable::Find(std::string_view name) const {
  const bool may_be_range = has_ranges_ && IsDigit(name.back());
  const uint64_t hash = HashName(name);
  for (uint32_t scope = current_;; scope = parents_[scope]) {
    if (may_be_range) {
      const Found found = FindRange(name, scope);
      if (found.entry) return found;
    }
    if (const Entry* e = FindIn(name, hash, scope, false)) return {e, 0};
    if (scope == 0) return {};
  }
}

const ScopeTable::Entry* ScopeTable::Declare(const Entry& entry) {
  const bool is_range = entry.count != 0;
  const uint64_t hash = HashName(entry.name);
  if (const Entry* earlier = FindIn(entry.name, hash, entry.scope, is_range)) return earlier;
  if (!is_range && has_ranges_ && !entry.name.empty() && IsDigit(entry.name.back())) {
    if (const Entry* earlier = FindRange(entry.name, entry.scope).entry) return earlier;
  }
  if (entries_.size() * 2 >= slots_.size()) Grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = HashWith(hash, entry.scope, is_range) & mask;
  while (slots_[slot] != ast::kNone) slot = (slot + 1) & mask;
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  entries_.push_back(entry);
  if (is_range) {
    has_ranges_ = true;
    has_digit_prefix_ = has_digit_prefix_ || IsDigit(entry.name.back());
  }
  return nullptr;
}

}  // namespace ptx2cpu::ptx
