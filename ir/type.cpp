#include "ir/type.h"

#include <array>
#include <span>

namespace ptx2cpu::ir {

namespace {
constexpr std::array<std::string_view, kTypeCount> kTypeNames = {"void", "i1",  "i8",   "i16", "i32", "i64",
                                                                 "i128", "f16", "bf16", "f32", "f64"};
constexpr std::array<int, kTypeCount> kTypeBits = {0, 1, 8, 16, 32, 64, 128, 16, 16, 32, 64};

constexpr std::string_view kSpaceWords[] = {
#define SPACE(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kCompareWords[] = {
#define COMPARE(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kRoundingWords[] = {
#define ROUNDING(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kAtomicOpWords[] = {
#define ATOMIC(name, word, memory, order) word,
#include "ir/attributes.def"
};
constexpr std::string_view kMemoryOrderWords[] = {
#define ORDER(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kScopeWords[] = {
#define SCOPE(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kShuffleModeWords[] = {
#define SHUFFLE(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kNarrowFormatWords[] = {
#define NARROW(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kPermuteModeWords[] = {
#define PERMUTE(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kFloatTestWords[] = {
#define FLOAT_TEST(name, word) word,
#include "ir/attributes.def"
};
constexpr std::string_view kImageQueryWords[] = {
#define IMAGE_QUERY(name, word) word,
#include "ir/attributes.def"
};

struct AtomicRow {
  AtomicMemory memory;
  AtomicOrder order;
};
constexpr AtomicRow kAtomicRows[] = {
#define ATOMIC(name, word, memory, order) {AtomicMemory::memory, AtomicOrder::order},
#include "ir/attributes.def"
};

template <typename Enum>
std::optional<Enum> Find(std::span<const std::string_view> names, std::string_view word) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}
}  // namespace

bool ActsOn(AtomicOp op, Type type) {
  switch (kAtomicRows[static_cast<size_t>(op)].memory) {
    case AtomicMemory::kNoAtomic:
      return false;
    case AtomicMemory::kIntegers:
      return IsInteger(type) && type != Type::kI1;
    case AtomicMemory::kFloats:
      return IsFloat(type);
    case AtomicMemory::kWord:
      return type == Type::kI32;
    case AtomicMemory::kDoubleWord:
      return type == Type::kI64;
    case AtomicMemory::kAny:
      return type != Type::kI1;
  }
  return false;
}

bool Commutes(AtomicOp op) { return kAtomicRows[static_cast<size_t>(op)].order == AtomicOrder::kCommutes; }

int Bits(Type type) { return kTypeBits[static_cast<size_t>(type)]; }

Type IntegerOfBits(int bits) {
  switch (bits) {
    case 1:
      return Type::kI1;
    case 8:
      return Type::kI8;
    case 16:
      return Type::kI16;
    case 32:
      return Type::kI32;
    case 64:
      return Type::kI64;
    case 128:
      return Type::kI128;
    default:
      return Type::kVoid;
  }
}

std::string_view Name(Type type) { return kTypeNames[static_cast<size_t>(type)]; }
std::optional<Type> ParseType(std::string_view name) { return Find<Type>(kTypeNames, name); }

std::string_view Name(Space value) { return kSpaceWords[static_cast<size_t>(value)]; }
template <>
std::optional<Space> ParseName<Space>(std::string_view word) {
  return Find<Space>(kSpaceWords, word);
}

std::string_view Name(Compare value) { return kCompareWords[static_cast<size_t>(value)]; }
template <>
std::optional<Compare> ParseName<Compare>(std::string_view word) {
  return Find<Compare>(kCompareWords, word);
}

std::string_view Name(Rounding value) { return kRoundingWords[static_cast<size_t>(value)]; }
template <>
std::optional<Rounding> ParseName<Rounding>(std::string_view word) {
  return Find<Rounding>(kRoundingWords, word);
}

std::string_view Name(AtomicOp value) { return kAtomicOpWords[static_cast<size_t>(value)]; }
template <>
std::optional<AtomicOp> ParseName<AtomicOp>(std::string_view word) {
  return Find<AtomicOp>(kAtomicOpWords, word);
}

std::string_view Name(MemoryOrder value) { return kMemoryOrderWords[static_cast<size_t>(value)]; }
template <>
std::optional<MemoryOrder> ParseName<MemoryOrder>(std::string_view word) {
  return Find<MemoryOrder>(kMemoryOrderWords, word);
}

std::string_view Name(Scope value) { return kScopeWords[static_cast<size_t>(value)]; }
template <>
std::optional<Scope> ParseName<Scope>(std::string_view word) {
  return Find<Scope>(kScopeWords, word);
}

std::string_view Name(ShuffleMode value) { return kShuffleModeWords[static_cast<size_t>(value)]; }
template <>
std::optional<ShuffleMode> ParseName<ShuffleMode>(std::string_view word) {
  return Find<ShuffleMode>(kShuffleModeWords, word);
}

std::string_view Name(NarrowFormat value) { return kNarrowFormatWords[static_cast<size_t>(value)]; }
template <>
std::optional<NarrowFormat> ParseName<NarrowFormat>(std::string_view word) {
  return Find<NarrowFormat>(kNarrowFormatWords, word);
}

std::string_view Name(PermuteMode value) { return kPermuteModeWords[static_cast<size_t>(value)]; }
template <>
std::optional<PermuteMode> ParseName<PermuteMode>(std::string_view word) {
  return Find<PermuteMode>(kPermuteModeWords, word);
}

std::string_view Name(FloatTest value) { return kFloatTestWords[static_cast<size_t>(value)]; }
template <>
std::optional<FloatTest> ParseName<FloatTest>(std::string_view word) {
  return Find<FloatTest>(kFloatTestWords, word);
}

std::string_view Name(ImageQuery value) { return kImageQueryWords[static_cast<size_t>(value)]; }
template <>
std::optional<ImageQuery> ParseName<ImageQuery>(std::string_view word) {
  return Find<ImageQuery>(kImageQueryWords, word);
}

}  // namespace ptx2cpu::ir
