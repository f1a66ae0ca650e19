// Types of IR values and the enumerations that instructions carry as attributes.
//
// A PTX register is a bag of bits; an IR value has one of these types and `bitcast` moves between equal
// widths. Packed PTX types (f16x2, bf16x2, u16x2, e4m3x2 ...) are `pack`/`unpack` around the scalar
// operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ptx2cpu::ir {

enum class Type : uint8_t { kVoid, kI1, kI8, kI16, kI32, kI64, kI128, kF16, kBF16, kF32, kF64 };
inline constexpr int kTypeCount = 11;

inline constexpr uint8_t kTypeBits[kTypeCount] = {0, 1, 8, 16, 32, 64, 128, 16, 16, 32, 64};
inline int Bits(Type type) { return kTypeBits[static_cast<size_t>(type)]; }  // 1 for i1
inline int Bytes(Type type) { return (Bits(type) + 7) / 8; }                 // size in memory
inline bool IsFloat(Type type) { return type >= Type::kF16; }
inline bool IsInteger(Type type) { return type >= Type::kI1 && type <= Type::kI128; }
Type IntegerOfBits(int bits);      // 1, 8, 16, 32, 64, 128
std::string_view Name(Type type);  // "i32", "bf16"
std::optional<Type> ParseType(std::string_view name);

// The attributes that are one word of a list: attributes.def has the words and their meaning.
enum class Space : uint8_t {
#define SPACE(name, word) name,
#include "ir/attributes.def"
};
enum class Compare : uint8_t {
#define COMPARE(name, word, of, holds) name,
#include "ir/attributes.def"
};
enum class Rounding : uint8_t {
#define ROUNDING(name, word) name,
#include "ir/attributes.def"
};
enum class AtomicOp : uint8_t {
#define ATOMIC(name, word, memory, order) name,
#include "ir/attributes.def"
};
enum class MemoryOrder : uint8_t {
#define ORDER(name, word) name,
#include "ir/attributes.def"
};
enum class Scope : uint8_t {
#define SCOPE(name, word) name,
#include "ir/attributes.def"
};
enum class ShuffleMode : uint8_t {
#define SHUFFLE(name, word) name,
#include "ir/attributes.def"
};
enum class NarrowFormat : uint8_t {
#define NARROW(name, word) name,
#include "ir/attributes.def"
};
enum class PermuteMode : uint8_t {
#define PERMUTE(name, word) name,
#include "ir/attributes.def"
};
enum class FloatTest : uint8_t {
#define FLOAT_TEST(name, word) name,
#include "ir/attributes.def"
};
enum class ImageQuery : uint8_t {
#define IMAGE_QUERY(name, word) name,
#include "ir/attributes.def"
};

// The columns of COMPARE.
struct CompareInfo {
  enum Of : uint8_t { kNothing, kBits, kSigned, kUnsigned, kFloats } of = kNothing;
  enum Outcome : uint8_t { kNever = 0, kEqual = 1, kGreater = 2, kLess = 4, kUnordered = 8 };
  uint8_t holds = kNever;  // for which outcomes it is true
};
const CompareInfo& Info(Compare compare);
Compare Negated(Compare compare);  // the one that is true wherever this one is not

// The columns of ATOMIC.
enum class AtomicMemory : uint8_t { kNoAtomic, kIntegers, kFloats, kWord, kDoubleWord, kAny };
enum class AtomicOrder : uint8_t { kOrdered, kCommutes };
bool ActsOn(AtomicOp op, Type type);  // whether memory of the type can have the operation
bool Commutes(AtomicOp op);

inline constexpr uint32_t kClusterRankShift = 24;  // of an address of shared memory of the cluster

// The words of each, by its value.
template <typename Enum>
inline constexpr int kWordsOf = 0;
template <>
inline constexpr auto kWordsOf<Space> = std::to_array<std::string_view>({
#define SPACE(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<Compare> = std::to_array<std::string_view>({
#define COMPARE(name, word, of, holds) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<Rounding> = std::to_array<std::string_view>({
#define ROUNDING(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<AtomicOp> = std::to_array<std::string_view>({
#define ATOMIC(name, word, memory, order) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<MemoryOrder> = std::to_array<std::string_view>({
#define ORDER(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<Scope> = std::to_array<std::string_view>({
#define SCOPE(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<ShuffleMode> = std::to_array<std::string_view>({
#define SHUFFLE(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<NarrowFormat> = std::to_array<std::string_view>({
#define NARROW(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<PermuteMode> = std::to_array<std::string_view>({
#define PERMUTE(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<FloatTest> = std::to_array<std::string_view>({
#define FLOAT_TEST(name, word) word,
#include "ir/attributes.def"
});
template <>
inline constexpr auto kWordsOf<ImageQuery> = std::to_array<std::string_view>({
#define IMAGE_QUERY(name, word) word,
#include "ir/attributes.def"
});
template <typename Enum>
inline constexpr int kCountOf = static_cast<int>(kWordsOf<Enum>.size());

template <typename Enum>
  requires requires { kWordsOf<Enum>.size(); }
constexpr std::string_view Name(Enum value) {
  return kWordsOf<Enum>[static_cast<size_t>(value)];
}
// nullopt: no value has this word. Special registers (special_register.h) are parsed in the same way.
template <typename Enum>
constexpr std::optional<Enum> ParseName(std::string_view word) {
  for (int i = 0; i < kCountOf<Enum>; ++i) {
    if (Name(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::ir
