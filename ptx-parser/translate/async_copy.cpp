// 9.7.9.12, 9.7.9.13, 9.7.9.25, 9.7.13.7: asynchronous copies, stores and reductions. They are done at once,
// so that groups are always complete and the bytes that an mbarrier object waits for come with the
// instruction.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/mbarrier.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

ValueId OffsetInWindow(Emitter& e, size_t operand) {
  Place place = e.Address(operand, ir::Space::kShared);
  return e.b.Binary(Opcode::kAnd, Type::kI64, place.address,
                    e.Const(Type::kI64, (uint64_t{1} << ir::kClusterRankShift) - 1));
}

namespace {

using ir::Space;

constexpr uint32_t kBulkAlign = 16;

// st.async and red.async: generic if no space is written.
Space SpaceOfAsync(const Emitter& e) {
  return e.Has("shared::cluster") ? Space::kSharedCluster : Space::kGeneric;
}

bool IsPredicate(const Emitter& e, const ast::Operand& operand) {
  return operand.symbol_kind == ast::SymbolKind::kRegister && e.ssa.TypeOf(operand.symbol) == Type::kI1;
}
}  // namespace

// Operands: shared address, global address, size, then a source size or a predicate, true to ignore the
// source.
void cp_async(Emitter& e) {
  Place to = e.WritableAddress(0, ir::Space::kShared), from = e.Address(1, ir::Space::kGlobal);
  ValueId size = e.Read(2, Type::kI32), source_size = size;
  // With a cache hint the last operand is the policy.
  bool has_source_size = e.Present(3) && !(e.Has("L2::cache_hint") && !e.Present(4));
  if (has_source_size) {
    const ast::Operand& operand = e.Operand(3);
    if (operand.kind == ast::OperandKind::kInteger &&
        (operand.integer < 0 || operand.integer > e.Operand(2).integer))
      e.Fail(ErrorCode::kSyntax, "the size of the source, " + std::to_string(operand.integer) +
                                     ", must be 0 to " + std::to_string(e.Operand(2).integer));
    source_size = IsPredicate(e, operand)
                      ? e.b.Select(e.ReadOperand(operand, Type::kI1), e.Const(Type::kI32, 0), size)
                      : e.ReadOperand(operand, Type::kI32);
  }
  e.b.Make(Opcode::kCopyAsync, Type::kVoid, {to.address, from.address, size, source_size});
}

// The groups of one kind of copies: commit_group, wait_group N, wait_all.
static void Group(Emitter& e, uint32_t kind) {
  if (e.Has("commit_group")) return NoteSync(e, PTX2CPU_SYNC_COPY_COMMIT, kind);
  const uint32_t groups =
      e.Has("wait_all") ? PTX2CPU_SYNC_ALL_COPIES : static_cast<uint32_t>(e.Immediate(0).value_or(0));
  NoteSync(e, PTX2CPU_SYNC_COPY_WAIT, e.Has("read") ? kind | PTX2CPU_COPY_ONLY_READS : kind, groups);
}

void cp_async_group(Emitter& e) { Group(e, PTX2CPU_COPY_OF_THREAD); }

// -- bulk copies --

namespace {

// The operands of the rows with destination, source and size.
struct Bulk {
  ValueId to, from, bytes;  // real addresses
};

// The opcode names both spaces in the order destination, source; where it names a group, global is the
// destination.
Bulk BulkOperands(Emitter& e) {
  const bool to_global = e.Has("bulk_group"), from_global = !to_global && e.Has("global");
  const Space destination = to_global                  ? Space::kGlobal
                            : e.Has("shared::cluster") ? Space::kSharedCluster
                                                       : Space::kShared;
  return {RealAddress(e, e.WritableAddress(0, destination)),
          RealAddress(e, e.Address(1, from_global ? Space::kGlobal : Space::kShared)), e.Read(2, Type::kI32)};
}

}  // namespace

void cp_async_bulk(Emitter& e) {
  Bulk copy = BulkOperands(e);
  e.b.Make(Opcode::kCopyBulk, Type::kVoid, {copy.to, copy.from, copy.bytes, copy.bytes},
           {.align = kBulkAlign});
  if (e.Has("bulk_group")) return;
  const Space space = e.Has("shared::cluster") ? Space::kSharedCluster : Space::kShared;
  NoteSync(e, PTX2CPU_SYNC_COPY_ARRIVE, PTX2CPU_COPY_BULK);
  CompleteBytes(e, e.WritableAddress(3, space), copy.bytes);
}

// Bit i of the mask: whether byte i of each 16 is copied.
void cp_async_bulk_masked(Emitter& e) {
  Bulk copy = BulkOperands(e);
  const size_t mask = e.match.form->operands.size() - 1;
  e.b.Make(
      Opcode::kCopyMasked, Type::kVoid,
      {copy.to, copy.from, copy.bytes, e.b.Convert(Opcode::kZext, Type::kI32, e.Read(mask, Type::kI16))});
}

// A multicast object here has one member (multimem.cpp).
void cp_async_bulk_multimem(Emitter& e) {
  if (e.Has("cp_mask")) return cp_async_bulk_masked(e);
  cp_async_bulk(e);
}
void cp_reduce_async_bulk_multimem(Emitter& e) { cp_reduce_async_bulk(e); }

// Destination and object are at the same offsets in each block.
void cp_async_bulk_multicast(Emitter& e) {
  Place from = e.Address(1, Space::kGlobal);
  ValueId mask = e.b.Convert(Opcode::kZext, Type::kI32, e.Read(4, Type::kI16));
  e.b.Make(Opcode::kCopyMulticast, Type::kVoid,
           {OffsetInWindow(e, 0), from.address, e.Read(2, Type::kI32), OffsetInWindow(e, 3), mask});
}

void cp_async_bulk_group(Emitter& e) { Group(e, PTX2CPU_COPY_BULK); }
void cp_async_bulk_prefetch(Emitter& e) { static_cast<void>(e.Address(0, Space::kGlobal)); }

// Additions of f32 keep subnormal numbers, as an H200 does; the manual states that they are flushed.
void cp_reduce_async_bulk(Emitter& e) {
  Bulk copy = BulkOperands(e);
  const Type type = WholeType(e.type());
  ir::Attrs attrs{.atomic = AtomicOperation(e), .order = ir::MemoryOrder::kRelaxed, .scope = ir::Scope::kGpu};
  e.b.Make(Opcode::kReduceBulk, type, {copy.to, copy.from, copy.bytes}, attrs);
  if (e.Has("bulk_group")) return;
  NoteSync(e, PTX2CPU_SYNC_COPY_ARRIVE, PTX2CPU_COPY_BULK);
  CompleteBytes(e, e.WritableAddress(3, Space::kSharedCluster), copy.bytes);
}

// -- single values --

// With an mbarrier object a store to shared memory, else a release store to global memory.
void st_async(Emitter& e) {
  const PtxType type = e.mods().last();
  std::vector<ValueId> values = e.ReadVector(1, ir::IntegerOfBits(Bits(type)));
  const bool signals = !e.Has("release");
  Place to = e.WritableAddress(0, signals ? SpaceOfAsync(e) : SpaceOfWords(e));
  ir::Attrs attrs;
  if (!signals) attrs = {.order = ir::MemoryOrder::kRelease, .scope = ScopeOf(e)};
  const auto bytes = static_cast<uint64_t>(Bits(type) / 8) * values.size();
  e.b.Store(ir::IntegerOfBits(Bits(type)), to.space, to.address, values, attrs);
  if (signals) CompleteBytes(e, e.WritableAddress(2, SpaceOfAsync(e)), e.Const(Type::kI32, bytes));
}

void red_async(Emitter& e) {
  const PtxType type = e.mods().last();
  const bool signals = !e.Has("release");
  Place to = e.WritableAddress(0, signals ? SpaceOfAsync(e) : SpaceOfWords(e));
  ir::Attrs attrs = AtomicAttrs(e, to.space);
  attrs.atomic = AtomicOperation(e);
  attrs.flags = ir::kNoResult;
  e.b.Binary(Opcode::kAtomic, WholeType(type), to.address, e.Read(1, WholeType(type)), attrs);
  if (signals) {
    CompleteBytes(e, e.WritableAddress(2, SpaceOfAsync(e)),
                  e.Const(Type::kI32, static_cast<uint64_t>(Bits(type) / 8)));
  }
}

// Zeroes shared memory; the value can only be zero.
void st_bulk(Emitter& e) {
  if (e.Immediate(2) != 0) return e.Fail(ErrorCode::kSyntax, "the value of st.bulk is 0");
  ValueId to = RealAddress(e, e.WritableAddress(0, SpaceOfWords(e)));
  ValueId size = e.Read(1, Type::kI32), none = e.Const(Type::kI32, 0);
  e.b.Make(Opcode::kCopyBulk, Type::kVoid, {to, to, size, none}, {.align = 8});
}

}  // namespace ptx2cpu::ptx::rows
