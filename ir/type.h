// Types of IR values and the enumerations that instructions carry as attributes.
//
// A PTX register is a bag of bits; an IR value has one of these types and `bitcast` moves between equal
// widths. Packed PTX types (f16x2, bf16x2, u16x2, e4m3x2 ...) are `pack`/`unpack` around the scalar
// operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptx2cpu::ir {

enum class Type : uint8_t { kVoid, kI1, kI8, kI16, kI32, kI64, kI128, kF16, kBF16, kF32, kF64 };
inline constexpr int kTypeCount = 11;

int Bits(Type type);                                          // 1 for i1
inline int Bytes(Type type) { return (Bits(type) + 7) / 8; }  // size in memory
inline bool IsFloat(Type type) { return type >= Type::kF16; }
inline bool IsInteger(Type type) { return type >= Type::kI1 && type <= Type::kI128; }
Type IntegerOfBits(int bits);      // 1, 8, 16, 32, 64, 128
std::string_view Name(Type type);  // "i32", "bf16"
std::optional<Type> ParseType(std::string_view name);

// The words of attributes: attributes.def has them, and what they mean.
enum class Space : uint8_t {
#define SPACE(name, word) name,
#include "ir/attributes.def"
};
enum class Compare : uint8_t {
#define COMPARE(name, word) name,
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

// The columns of ATOMIC.
enum class AtomicMemory : uint8_t { kNoAtomic, kIntegers, kFloats, kWord, kDoubleWord, kAny };
enum class AtomicOrder : uint8_t { kOrdered, kCommutes };
bool ActsOn(AtomicOp op, Type type);  // whether memory of the type can have the operation
bool Commutes(AtomicOp op);

inline constexpr uint32_t kClusterRankShift = 24;  // of an address of shared memory of the cluster

std::string_view Name(Space value);
std::string_view Name(Compare value);
std::string_view Name(Rounding value);
std::string_view Name(AtomicOp value);
std::string_view Name(MemoryOrder value);
std::string_view Name(Scope value);
std::string_view Name(ShuffleMode value);
std::string_view Name(NarrowFormat value);
std::string_view Name(PermuteMode value);
std::string_view Name(FloatTest value);
std::string_view Name(ImageQuery value);
// Parses any of the names above, or a special register's word; nullopt when the word is not one of them.
template <typename Enum>
std::optional<Enum> ParseName(std::string_view word);

// How many values an enumeration of attributes.def has.
template <typename Enum>
inline constexpr int kCountOf = 0;
template <>
inline constexpr int kCountOf<Space> = 0
#define SPACE(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<Compare> = 0
#define COMPARE(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<Rounding> = 0
#define ROUNDING(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<AtomicOp> = 0
#define ATOMIC(name, word, memory, order) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<MemoryOrder> = 0
#define ORDER(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<Scope> = 0
#define SCOPE(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<ShuffleMode> = 0
#define SHUFFLE(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<NarrowFormat> = 0
#define NARROW(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<PermuteMode> = 0
#define PERMUTE(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<FloatTest> = 0
#define FLOAT_TEST(name, word) +1
#include "ir/attributes.def"
    ;
template <>
inline constexpr int kCountOf<ImageQuery> = 0
#define IMAGE_QUERY(name, word) +1
#include "ir/attributes.def"
    ;

}  // namespace ptx2cpu::ir
