// Elements of arrays in scripts, by a letter: S D C Z (32 and 64 bits, complex), H B (f16, bf16), K L (pairs
// of these), I J (s32, s64), Y U (s8, u8), W X (u32, u64), E F (8-bit floats e4m3, e5m2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::calls {

struct ElementType {
  char component;  // one of S D H B I J Y U W X E F
  int components;  // 2 for complex types
  size_t bytes;    // of a component
  bool is_float;   // compared within a bound; 8-bit floats are compared as words
  double epsilon;  // distance from 1 to the next number
};
// Null: no such type.
const ElementType* FindElementType(const std::string& letter);

double ReadComponent(const ElementType& type, const std::byte* from);
void WriteComponent(const ElementType& type, double value, std::byte* to);
uint64_t ComponentBits(const ElementType& type, const std::byte* from);

// A component in a record: integers as they are; bits of floats in hexadecimal without the zeros at their
// end.
std::string ComponentText(const ElementType& type, const std::byte* from);
void ReadComponentText(const ElementType& type, const std::string& text, std::byte* to);

// Random components, the same on every machine: integers in -limit..limit, or fractions of 24 bits in (-1,
// 1).
enum class Fill { kIntegers, kFractions };
void FillComponents(const ElementType& type, Fill fill, uint64_t seed, int limit, std::vector<std::byte>& to);

}  // namespace ptx2cpu::calls
