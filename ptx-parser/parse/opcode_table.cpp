#include "ptx-parser/parse/opcode_table.h"

#include <string>

namespace ptx2cpu::ptx {
namespace {

uint64_t Hash(std::string_view text) {
  uint64_t hash = text.size();
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

// Linear probing; the table stays at most half full.
uint32_t OpcodeTable::Intern(std::string_view text, bool spelled) {
  const size_t mask = slots_.size() - 1;
  size_t slot = Hash(text) & mask;
  while (slots_[slot] != ast::kNone) {
    if (module_.opcodes[slots_[slot]].text == text) return slots_[slot];
    slot = (slot + 1) & mask;
  }
  ast::Opcode opcode;
  opcode.text = spelled ? Spell(std::string(text)) : text;
  opcode.modifiers.first = static_cast<uint32_t>(module_.words.size());
  size_t dot = opcode.text.find('.');
  opcode.base = opcode.text.substr(0, dot);
  while (dot != std::string_view::npos) {
    const size_t next = opcode.text.find('.', dot + 1);
    module_.words.push_back(opcode.text.substr(dot + 1, next - dot - 1));
    dot = next;
  }
  opcode.modifiers.count = static_cast<uint32_t>(module_.words.size()) - opcode.modifiers.first;
  const uint32_t index = static_cast<uint32_t>(module_.opcodes.size());
  module_.opcodes.push_back(opcode);
  slots_[slot] = index;
  if (module_.opcodes.size() * 2 > slots_.size()) Rehash();
  return index;
}

void OpcodeTable::Rehash() {
  const size_t size = slots_.empty() ? 1024 : slots_.size() * 2;
  slots_.assign(size, ast::kNone);
  for (uint32_t i = 0; i < module_.opcodes.size(); ++i) {
    size_t slot = Hash(module_.opcodes[i].text) & (size - 1);
    while (slots_[slot] != ast::kNone) slot = (slot + 1) & (size - 1);
    slots_[slot] = i;
  }
}

}  // namespace ptx2cpu::ptx
