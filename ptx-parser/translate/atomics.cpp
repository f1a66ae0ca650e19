// 9.7.13.5 and 9.7.13.6: atom and red.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::AtomicOp;
using ir::MemoryOrder;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

}  // namespace

ir::Attrs AtomicAttrs(const Emitter& e, ir::Space space) {
  ir::Attrs attrs{.space = space};
  attrs.order = e.Has("acq_rel")   ? MemoryOrder::kAcqRel
                : e.Has("acquire") ? MemoryOrder::kAcquire
                : e.Has("release") ? MemoryOrder::kRelease
                                   : MemoryOrder::kRelaxed;  // also if no order is written
  ir::Scope scope = ScopeOf(e);
  attrs.scope = scope == ir::Scope::kNone ? ir::Scope::kGpu : scope;
  return attrs;
}

namespace {

AtomicOp FloatOp(const Emitter& e) {
  if (e.Has("min")) return AtomicOp::kFMin;
  if (e.Has("max")) return AtomicOp::kFMax;
  return AtomicOp::kFAdd;
}

AtomicOp PackedOp(const Emitter& e, PtxType type) {
  bool brain = type == PtxType::kBF16x2;
  if (e.Has("min")) return brain ? AtomicOp::kMinBF16x2 : AtomicOp::kMinF16x2;
  if (e.Has("max")) return brain ? AtomicOp::kMaxBF16x2 : AtomicOp::kMaxF16x2;
  return brain ? AtomicOp::kAddBF16x2 : AtomicOp::kAddF16x2;
}

}  // namespace

AtomicOp AtomicOperation(const Emitter& e) {
  PtxType type = e.mods().last();
  if (IsFloat(type) && IsPacked(type)) return PackedOp(e, type);
  if (IsFloat(type) && !e.Has("exch")) return FloatOp(e);
  bool sign = IsSigned(type);
  if (e.Has("add")) return AtomicOp::kAdd;
  if (e.Has("min")) return sign ? AtomicOp::kMinS : AtomicOp::kMinU;
  if (e.Has("max")) return sign ? AtomicOp::kMaxS : AtomicOp::kMaxU;
  if (e.Has("inc")) return AtomicOp::kInc;
  if (e.Has("dec")) return AtomicOp::kDec;
  if (e.Has("and")) return AtomicOp::kAnd;
  if (e.Has("or")) return AtomicOp::kOr;
  if (e.Has("xor")) return AtomicOp::kXor;
  return AtomicOp::kExchange;
}

Place AtomicAddress(Emitter& e, size_t operand) {
  const Place place = e.WritableAddress(operand, SpaceOfWords(e));
  if (place.space != ir::Space::kLocal) return place;
  return {e.b.Inst1(Opcode::kToGeneric, Type::kVoid, {place.address}, {.space = place.space}),
          ir::Space::kGeneric};
}

namespace {

// One element at place + offset.
ValueId One(Emitter& e, const Place& place, int64_t offset, ValueId value, bool wants_old) {
  PtxType type = e.mods().last();
  ir::Attrs attrs = AtomicAttrs(e, place.space);
  attrs.atomic = AtomicOperation(e);
  if (!wants_old) attrs.flags = ir::kNoResult;
  // f32 addition flushes subnormals in global memory, but not in shared memory (9.7.13.5).
  if (attrs.atomic == AtomicOp::kFAdd && type == PtxType::kF32 && place.space != ir::Space::kShared)
    attrs.flags |= ir::kFtz;
  return e.b.Binary(Opcode::kAtomic, e.f.type_of(value), e.Offset(place.address, offset), value, attrs);
}

// exch moves bits; the others compute in the type itself.
Type ValueType(const Emitter& e) {
  PtxType type = e.mods().last();
  return e.Has("exch") ? ir::IntegerOfBits(Bits(type)) : WholeType(type);
}

bool IsSink(const Emitter& e, size_t operand) { return e.Operand(operand).kind == ast::OperandKind::kSink; }

void Scalar(Emitter& e) {
  Place place = AtomicAddress(e, 1);
  ValueId old = One(e, place, 0, e.Read(2, ValueType(e)), !IsSink(e, 0));
  e.Write(0, old);
}

void Reduce(Emitter& e) {
  Place place = AtomicAddress(e, 0);
  One(e, place, 0, e.Read(1, ValueType(e)), false);
}

// A vector is one separate operation per element, as the manual defines its atomicity.
std::vector<ValueId> Vector(Emitter& e, size_t address, size_t source, bool wants_old) {
  Place place = AtomicAddress(e, address);
  std::vector<ValueId> old;
  int64_t offset = 0;
  for (ValueId value : e.ReadVector(source, ValueType(e))) {
    old.push_back(One(e, place, offset, value, wants_old));
    offset += Bits(e.mods().last()) / 8;
  }
  return old;
}

}  // namespace

void atom(Emitter& e) { Scalar(e); }
void atom_half(Emitter& e) { Scalar(e); }
void red(Emitter& e) { Reduce(e); }
void red_half(Emitter& e) { Reduce(e); }

void atom_cas(Emitter& e) {
  Place place = AtomicAddress(e, 1);
  Type type = ir::IntegerOfBits(Bits(e.mods().last()));
  e.Write(0, e.b.Ternary(Opcode::kAtomicCas, type, place.address, e.Read(2, type), e.Read(3, type),
                         AtomicAttrs(e, place.space)));
}

void atom_vector(Emitter& e) { e.WriteVector(0, Vector(e, 1, 2, true), false); }
void red_vector(Emitter& e) { Vector(e, 0, 1, false); }

}  // namespace ptx2cpu::ptx::rows
