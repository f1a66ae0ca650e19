// Rules about single instructions: types, signature, attributes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/matrix.h"
#include "ir/signature.h"
#include "ir/tensor.h"
#include "ir/verify/rules.h"
#include "runtime/abi/tensor_core.h"

namespace ptx2cpu::ir::verify {

namespace {

bool Contains(TypeSet set, Type type) {
  switch (set) {
    case TypeSet::kNoType:
      return type == Type::kVoid;
    case TypeSet::kAnyType:
      return type != Type::kVoid;
    case TypeSet::kInts:
      return IsInteger(type) && type != Type::kI1;
    case TypeSet::kIntsAndI1:
      return IsInteger(type);
    case TypeSet::kFloats:
      return IsFloat(type);
    case TypeSet::kNumbers:
      return IsFloat(type) || (IsInteger(type) && type != Type::kI1);
  }
  return false;
}

// Checks how the widths of T and F fit each other.
Status CheckWidths(const Subject& s, BlockId block, const Inst& inst) {
  int to = Bits(inst.type), from = Bits(inst.from);
  const size_t parts = inst.op == Opcode::kPack ? inst.operands.size() : inst.results.size();
  if (inst.op == Opcode::kBitcast && to != from)
    return s.Broken(block, inst, "a bitcast between different widths");
  if ((inst.op == Opcode::kSext || inst.op == Opcode::kZext) && to <= from)
    return s.Broken(block, inst, "an extension to a type that is not wider");
  if (inst.op == Opcode::kTrunc && to >= from)
    return s.Broken(block, inst, "a truncation to a type that is not narrower");
  if ((inst.op == Opcode::kPack && static_cast<size_t>(to) != from * parts) ||
      (inst.op == Opcode::kUnpack && static_cast<size_t>(from) != to * parts))
    return s.Broken(block, inst, "the widths of the parts do not add up to that of the whole");
  return {};
}

// Rows that end in '*' but do not take any number; 0-terminated lists of allowed counts of that side.
struct Counts {
  Opcode op;
  bool of_results;
  uint8_t allowed[5];
};
constexpr Counts kCounts[] = {
    {Opcode::kLoad, true, {1, 2, 3, 4, 8}},
    {Opcode::kStore, false, {2, 3, 4, 5, 9}},  // with the address
    {Opcode::kTexture, true, {4, 0}},
    {Opcode::kFromNarrow, true, {1, 2, 0}},
    {Opcode::kToNarrow, false, {1, 2, 3, 4, 5}},
    {Opcode::kBarrierBlock, false, {1, 2, 0}},
    {Opcode::kBarrierReducePopc, false, {2, 3, 0}},
    {Opcode::kBarrierReduceAnd, false, {2, 3, 0}},
    {Opcode::kBarrierReduceOr, false, {2, 3, 0}},
};

// Coordinates and offsets, as the form has them.
Status CheckTensor(const Subject& s, BlockId block, const Inst& inst) {
  const bool is_multicast = inst.op == Opcode::kCopyTensorMulticast;
  if (inst.op != Opcode::kCopyTensor && !is_multicast) return {};
  const tensor::Form form = tensor::Decode(inst.attrs.index);
  const bool good = form.dimensions >= 1 && form.dimensions <= tensor::kMaxDimensions &&
                    inst.attrs.index == tensor::Encode(form) &&
                    inst.operands.size() == (is_multicast ? 4 : 2) + form.coordinates() + form.offsets;
  if (good) return {};
  return s.Broken(block, inst, "the coordinates do not fit the form of the copy");
}

bool CountAllowed(Opcode op, bool of_results, size_t count) {
  for (const Counts& row : kCounts) {
    if (row.op != op || row.of_results != of_results) continue;
    for (uint8_t allowed : row.allowed) {
      if (allowed == count && allowed != 0) return true;
    }
    return false;
  }
  return true;
}

// Fragments: as many registers as the form has, each of its type.
Status CheckMatrix(const Subject& s, BlockId block, const Inst& inst) {
  const size_t count = inst.attrs.index & matrix::kCountMask;
  bool good = true;
  if (inst.op == Opcode::kMatrixLoad) good = std::has_single_bit(count) && inst.results.size() == count;
  if (inst.op == Opcode::kMatrixStore) good = std::has_single_bit(count) && inst.operands.size() == count + 2;
  if (inst.op == Opcode::kMatrixMultiply) {
    if (!matrix::HasElements(inst.attrs.index)) return s.Broken(block, inst, "no such form of matrices");
    const matrix::Product p = matrix::DecodeProduct(inst.attrs.index);
    const bool is_f64 = p.a == matrix::Element::kF64;
    good = inst.operands.size() == p.operands() && inst.results.size() == p.registers_of_c() &&
           inst.attrs.index == matrix::Encode(p);
    const Type accumulator = p.c == matrix::Element::kF32 ? Type::kF32 : is_f64 ? Type::kF64 : Type::kI32;
    good &= inst.type == accumulator && (p.combine != matrix::Combine::kChain || p.CanChain());
    const size_t multiplicands = p.registers_of_a() + p.registers_of_b();
    for (size_t n = 0; good && n < inst.operands.size(); ++n) {
      const bool is_c = n >= multiplicands && n < multiplicands + p.registers_of_c();
      const Type wants = is_c ? accumulator : n < multiplicands && is_f64 ? Type::kF64 : Type::kI32;
      good = s.f.type_of(inst.operands[n]) == wants;
    }
  }
  if (inst.op == Opcode::kMatrixMultiplyShared) {
    if (!matrix::HasElements(inst.attrs.index)) return s.Broken(block, inst, "no such form of matrices");
    const matrix::SharedProduct p = matrix::DecodeShared(inst.attrs.index);
    const Type accumulator = p.product.c == matrix::Element::kF32 ? Type::kF32 : Type::kI32;
    good = inst.operands.size() == p.operands() && inst.results.size() == p.registers_of_c() &&
           inst.type == accumulator && (p.product.combine != matrix::Combine::kChain || p.product.CanChain());
    auto wanted = [&](size_t n) {
      if (n < p.operands_of_a()) return p.a_in_shared ? Type::kI64 : Type::kI32;
      if (n == p.operands_of_a()) return Type::kI64;
      if (n == p.first_c() - 1) return Type::kI1;
      return n >= p.first_c() && n < p.first_c() + p.registers_of_c() ? accumulator : Type::kI32;
    };
    for (size_t n = 0; good && n < inst.operands.size(); ++n)
      good = s.f.type_of(inst.operands[n]) == wanted(n);
  }
  if (good) return {};
  return s.Broken(block, inst, "the registers do not fit the form of the matrices");
}

// As many words of the mask as the form has, and no bits without a meaning.
Status CheckTensorCore(const Subject& s, BlockId block, const Inst& inst) {
  const uint32_t index = inst.attrs.index;
  bool good = true;
  if (inst.op == Opcode::kTensorCoreMultiply) {
    const tensor_core::Form form = tensor_core::DecodeForm(index);
    good = index == tensor_core::Encode(form) && form.kind <= tensor_core::Kind::kMxF4NvF4 &&
           inst.operands.size() == tensor_core::kMaskWords + form.mask_words;
  }
  if (inst.op == Opcode::kTensorCoreCopy) {
    const tensor_core::CopyForm form = tensor_core::DecodeCopy(index);
    good = index == tensor_core::Encode(form) && form.shape <= tensor_core::CopyShape::kShift &&
           form.unpacks <= tensor_core::Unpacks::kFourBits;
  }
  if (good) return {};
  return s.Broken(block, inst, "the operands do not fit the form of the tensor core's operation");
}

// One side of the signature: `letters` against the types of `values`.
Status CheckSide(const Subject& s, BlockId block, const Inst& inst, bool of_results) {
  const OpcodeInfo& info = Info(inst.op);
  std::string_view letters = of_results ? info.results : info.operands;
  const std::vector<ValueId>& values = of_results ? inst.results : inst.operands;
  std::string_view noun = of_results ? "result" : "operand";
  bool variadic = letters.ends_with('*');
  size_t fixed = variadic ? letters.size() - 2 : letters.size();
  if (variadic ? values.size() < fixed : values.size() != fixed) {
    return s.Broken(block, inst,
                    fmt::format("{} {}s, the row's signature is {}:{}", values.size(), noun, info.operands,
                                info.results));
  }
  if (!CountAllowed(inst.op, of_results, values.size())) {
    return s.Broken(block, inst, fmt::format("{} {}s, which the row does not allow", values.size(), noun));
  }
  bool random_bits =
      inst.op == Opcode::kToNarrow && !of_results && inst.attrs.rounding == Rounding::kStochastic;
  for (size_t n = 0; n < values.size(); ++n) {
    char letter = n < fixed ? letters[n] : letters[letters.size() - 2];
    if (random_bits && n + 1 == values.size()) letter = 'W';
    Type wants = LetterType(inst, letter), is = s.f.type_of(values[n]);
    if (letter == 'X' ? is == Type::kVoid : is != wants) {
      return s.Broken(block, inst,
                      fmt::format("{} {} is {}, the row expects {}", noun, n, Name(is),
                                  letter == 'X' ? "a value" : Name(wants)));
    }
  }
  return {};
}

constexpr struct {
  uint32_t field;
  const char* name;
  bool (*is_set)(const Attrs&);
  Presence presence = Presence::kOmitted;
} kFields[] = {
    {kBits, "bits", [](const Attrs& a) { return a.bits != 0; }},
    {kIndex, "index", [](const Attrs& a) { return a.index != 0; }},
    {kFlags, "flags", [](const Attrs& a) { return a.flags != 0; }},
    {kAlign, "align", [](const Attrs& a) { return a.align != 0; }},
#define ATTRIBUTE(type, member, field, presence) \
  {field, #member, [](const Attrs& a) { return a.member != type{}; }, Presence::presence},
#include "ir/attributes.def"
};

Status CheckValuesOfAttributes(const Subject& s, BlockId block, const Inst& inst) {
  const Attrs& a = inst.attrs;
  constexpr uint32_t kAllFlags = (kDivergent << 1) - 1;
  if ((a.flags & ~kAllFlags) != 0) return s.Broken(block, inst, "unknown flags");
  if ((a.align & (a.align - 1)) != 0) return s.Broken(block, inst, "an alignment that is not a power of two");
  const bool of_floats = Info(a.compare).of == CompareInfo::kFloats;
  if (inst.op == Opcode::kIcmp && of_floats) return s.Broken(block, inst, "a float comparison of integers");
  if (inst.op == Opcode::kFcmp && !of_floats) return s.Broken(block, inst, "an integer comparison of floats");
  if (inst.op == Opcode::kIcmp && inst.from == Type::kI1 && Info(a.compare).of != CompareInfo::kBits)
    return s.Broken(block, inst, "predicates have no order");
  if ((Info(inst.op).attributes & kTruthTable) != 0 && a.index > 255)
    return s.Broken(block, inst, fmt::format("the truth table {} has more than 8 bits", a.index));
  if (a.special != Special::kNone && a.index >= std::max(Info(a.special).count, 1u))
    return s.Broken(block, inst, fmt::format("no register {} has the number {}", Name(a.special), a.index));
  return {};
}

}  // namespace

Status CheckTypes(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    const OpcodeInfo& info = Info(inst.op);
    if (!Contains(info.types, inst.type)) {
      return s.Broken(block, inst, fmt::format("the row does not allow the type {}", Name(inst.type)));
    }
    if (!Contains(info.from, inst.from)) {
      return s.Broken(block, inst, fmt::format("the row does not allow the second type {}", Name(inst.from)));
    }
    return CheckWidths(s, block, inst);
  });
}

Status CheckSignature(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    TRY_STATUS(CheckSide(s, block, inst, false));
    TRY_STATUS(CheckSide(s, block, inst, true));
    TRY_STATUS(CheckTensor(s, block, inst));
    TRY_STATUS(CheckTensorCore(s, block, inst));
    return CheckMatrix(s, block, inst);
  });
}

Status CheckAttributes(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    uint32_t mask = Info(inst.op).attributes;
    for (const auto& field : kFields) {
      bool set = field.is_set(inst.attrs);
      if (set && (mask & field.field) == 0) {
        return s.Broken(block, inst, fmt::format("the row does not read the attribute '{}'", field.name));
      }
      if (!set && (mask & field.field) != 0 && field.presence == Presence::kRequired) {
        return s.Broken(block, inst, fmt::format("the row needs the attribute '{}'", field.name));
      }
    }
    return CheckValuesOfAttributes(s, block, inst);
  });
}

}  // namespace ptx2cpu::ir::verify
