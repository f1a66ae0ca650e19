// 9.7.13.15: mbarrier. An object is 64 bits of shared memory (runtime/abi/mbarrier.h); every operation that
// changes it is one atomic, so no other thread sees it half done. Nothing blocks: try_wait returns at once
// whether the phase is complete.
#include "runtime/abi/mbarrier.h"

#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/mbarrier.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::ptx::rows {

using ir::MemoryOrder;
using ir::Opcode;
using ir::Type;
using ir::ValueId;
namespace object = ptx2cpu::mbarrier;

namespace {

bool MayBeShared(ir::Space space) {
  return space == ir::Space::kGeneric || space == ir::Space::kShared || space == ir::Space::kSharedCluster;
}

}  // namespace

Place SharedAddress(Emitter& e, size_t operand, std::string_view what) {
  const Place place = e.Address(operand, SpaceOfWords(e));
  if (!MayBeShared(place.space))
    e.Fail(ErrorCode::kSyntax,
           std::string(what) + " is in shared memory, `" + std::string(e.Operand(operand).text) + "` is not");
  return place;
}

Place ObjectAddress(Emitter& e, size_t operand) { return SharedAddress(e, operand, "an mbarrier object"); }

namespace {

// A 32-bit count in a field of the object.
ValueId FieldOfState(Emitter& e, ValueId count, int shift, uint64_t mask) {
  ValueId wide = e.b.Convert(Opcode::kZext, Type::kI64, count);
  wide = e.b.Binary(Opcode::kAnd, Type::kI64, wide, e.Const(Type::kI64, mask));
  if (shift == 0) return wide;
  return e.b.Binary(Opcode::kShl, Type::kI64, wide, e.Const(Type::kI32, static_cast<uint64_t>(shift)));
}

ValueId OrWords(Emitter& e, ValueId a, ValueId b) { return e.b.Binary(Opcode::kOr, Type::kI64, a, b); }

ir::Attrs AttrsOf(const Emitter& e, ir::Space space, MemoryOrder otherwise) {
  ir::Attrs attrs{
      .space = space, .order = e.Has("relaxed") ? MemoryOrder::kRelaxed : otherwise, .scope = ScopeOf(e)};
  if (attrs.scope == ir::Scope::kNone) attrs.scope = ir::Scope::kCta;
  return attrs;
}

ValueId Change(Emitter& e, const Place& place, ValueId change, bool wants_token) {
  ir::Attrs attrs = AttrsOf(e, place.space, MemoryOrder::kRelease);
  attrs.atomic = ir::AtomicOp::kMbarrier;
  if (!wants_token) attrs.flags = ir::kNoResult;
  return e.b.Binary(Opcode::kAtomic, Type::kI64, place.address, change, attrs);
}

void Init(Emitter& e) {
  Place place = ObjectAddress(e, 0);
  ValueId count = e.Read(1, Type::kI32);
  ValueId fresh = OrWords(e, FieldOfState(e, count, 0, object::kCountMask),
                          FieldOfState(e, count, object::kExpectedShift, object::kCountMask));
  e.b.Store(Type::kI64, place.space, place.address, {fresh});
}

// Operands: [state,] address [, count or bytes].
void Arrive(Emitter& e, bool drops) {
  const size_t address = e.match.form->operands[0].shape == OperandShape::kMemory ? 0 : 1;
  Place place = ObjectAddress(e, address);
  const bool expects = e.Has("expect_tx");
  ValueId given = e.Present(address + 1) ? e.Read(address + 1, Type::kI32) : e.Const(Type::kI32, 1);
  ValueId count = expects ? e.Const(Type::kI32, 1) : given;
  ValueId change = FieldOfState(e, count, 0, object::kCountMask);
  if (drops) change = OrWords(e, change, FieldOfState(e, count, object::kExpectedShift, object::kCountMask));
  if (expects) change = OrWords(e, change, FieldOfState(e, given, object::kBytesShift, object::kBytesMask));
  const bool wants_token = address == 1 && e.Operand(0).kind != ast::OperandKind::kSink;
  ValueId token = Change(e, place, change, wants_token);
  if (wants_token) e.WriteOperand(e.Operand(0), token, false);
}

void Transactions(Emitter& e) {
  Place place = ObjectAddress(e, 0);
  ValueId bytes = e.Read(1, Type::kI32);
  if (e.Has("complete_tx")) return CompleteBytes(e, place, bytes);
  Change(e, place, FieldOfState(e, bytes, object::kBytesShift, object::kBytesMask), false);
}

ValueId LoadObject(Emitter& e, const Place& place) {
  return e.b.Load(Type::kI64, place.space, place.address, AttrsOf(e, place.space, MemoryOrder::kAcquire));
}

// The phase that a token or a parity names is complete when the object is in another one.
void Test(Emitter& e) {
  Place place = ObjectAddress(e, 1);
  const ValueId one = e.Const(Type::kI32, 1), shift = e.Const(Type::kI32, object::kPhaseShift);
  const auto phase_of = [&](ValueId word) {
    return e.b.Convert(Opcode::kTrunc, Type::kI32, e.b.Binary(Opcode::kShrU, Type::kI64, word, shift));
  };
  if (!e.Has("parity")) {
    const ValueId token = e.Read(2, Type::kI64);
    NoteSync(e, PTX2CPU_SYNC_TEST_PHASE, phase_of(token));
    const ValueId differs = e.b.Binary(Opcode::kXor, Type::kI64, LoadObject(e, place), token);
    return e.Write(0, e.b.Icmp(ir::Compare::kSlt, differs, e.Const(Type::kI64, 0)));
  }
  const ValueId parity = e.b.Binary(Opcode::kAnd, Type::kI32, e.Read(2, Type::kI32), one);
  NoteSync(e, PTX2CPU_SYNC_TEST_PHASE, parity);
  e.Write(0, e.b.Icmp(ir::Compare::kNe, phase_of(LoadObject(e, place)), parity));
}

void PendingCount(Emitter& e) {
  ValueId token = e.Read(1, Type::kI64);
  ValueId count = e.b.Binary(Opcode::kAnd, Type::kI64, token, e.Const(Type::kI64, object::kCountMask));
  e.Write(0, e.b.Convert(Opcode::kTrunc, Type::kI32, count));
}

}  // namespace

void CompleteBytes(Emitter& e, const Place& place, ValueId bytes) {
  if (!MayBeShared(place.space)) return e.Fail(ErrorCode::kSyntax, "an mbarrier object is in shared memory");
  ValueId less = e.b.Unary(Opcode::kNeg, Type::kI32, bytes);
  Change(e, place, FieldOfState(e, less, object::kBytesShift, object::kBytesMask), false);
}

void NoteSync(Emitter& e, uint32_t step, ValueId a, uint32_t b) {
  e.b.Make(Opcode::kCheckSync, Type::kVoid, {a, e.Const(Type::kI32, b)}, {.index = step});
}
void NoteSync(Emitter& e, uint32_t step, uint32_t a, uint32_t b) {
  NoteSync(e, step, e.Const(Type::kI32, a), b);
}

void ArriveOnce(Emitter& e, const Place& place) {
  Change(e, place, FieldOfState(e, e.Const(Type::kI32, 1), 0, object::kCountMask), false);
}

// Copies are complete when their instruction is (async_copy.cpp), so the arrival is due at once. Without
// .noinc the phase waits for one arrival more, which makes no difference then.
void cp_async_mbarrier_arrive(Emitter& e) {
  Place place = AtomicAddress(e, 0);
  NoteSync(e, PTX2CPU_SYNC_COPY_ARRIVE, PTX2CPU_COPY_OF_THREAD);
  Change(e, place, FieldOfState(e, e.Const(Type::kI32, e.Has("noinc") ? 1 : 0), 0, object::kCountMask),
         false);
}

void mbarrier(Emitter& e) {
  if (e.Has("init")) return Init(e);
  if (e.Has("inval")) return static_cast<void>(ObjectAddress(e, 0));  // what was there may stay there
  if (e.Has("pending_count")) return PendingCount(e);
  if (e.Has("test_wait") || e.Has("try_wait")) return Test(e);
  if (e.Has("arrive") || e.Has("arrive_drop")) return Arrive(e, e.Has("arrive_drop"));
  Transactions(e);
}

}  // namespace ptx2cpu::ptx::rows
