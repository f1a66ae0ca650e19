#include "ir/type.h"

#include <algorithm>
#include <array>

namespace ptx2cpu::ir {

namespace {
constexpr std::array<std::string_view, kTypeCount> kTypeNames = {"void", "i1",  "i8",   "i16", "i32", "i64",
                                                                 "i128", "f16", "bf16", "f32", "f64"};

constexpr auto kCompareRows = [] {
  using enum CompareInfo::Outcome;
  return std::to_array<CompareInfo>({
#define COMPARE(name, word, of, holds) {CompareInfo::of, holds},
#include "ir/attributes.def"
  });
}();

struct AtomicRow {
  AtomicMemory memory;
  AtomicOrder order;
};
constexpr AtomicRow kAtomicRows[] = {
#define ATOMIC(name, word, memory, order) {AtomicMemory::memory, AtomicOrder::order},
#include "ir/attributes.def"
};

}  // namespace

const CompareInfo& Info(Compare compare) { return kCompareRows[static_cast<size_t>(compare)]; }

Compare Negated(Compare compare) {
  using enum CompareInfo::Outcome;
  const CompareInfo& info = Info(compare);
  const int all = kLess | kEqual | kGreater | (info.of == CompareInfo::kFloats ? kUnordered : kNever);
  const auto opposite = std::ranges::find_if(kCompareRows, [&](const CompareInfo& row) {
    return row.of == info.of && row.holds == (all & ~info.holds);
  });
  return opposite == kCompareRows.end() ? compare : static_cast<Compare>(opposite - kCompareRows.begin());
}

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
std::optional<Type> ParseType(std::string_view name) {
  const auto found = std::ranges::find(kTypeNames, name);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<Type>(found - kTypeNames.begin());
}

}  // namespace ptx2cpu::ir
