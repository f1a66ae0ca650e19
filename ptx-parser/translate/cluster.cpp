// 9.7.9.23, 9.7.9.24 and 9.7.13.3: addresses in other blocks of the cluster, and its barrier. How a shared
// address of the cluster names its block is defined by ir::Space.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/mbarrier.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;

namespace {

ValueId Convert(Emitter& e, Opcode op, ValueId address) {
  return e.b.Inst1(op, Type::kVoid, {address}, {.space = Space::kSharedCluster});
}

ValueId RankShift(Emitter& e) { return e.Const(Type::kI32, ir::kClusterRankShift); }

// A shared address of the cluster, from one or from a generic address.
ValueId ReadAddress(Emitter& e) {
  ValueId address = e.Read(1, Type::kI64);
  return e.Has("shared::cluster") ? address : Convert(e, Opcode::kFromGeneric, address);
}

}  // namespace

void mapa(Emitter& e) {
  ValueId offset = e.b.Binary(Opcode::kAnd, Type::kI64, ReadAddress(e),
                              e.Const(Type::kI64, (uint64_t{1} << ir::kClusterRankShift) - 1));
  ValueId rank = e.b.Convert(Opcode::kZext, Type::kI64, e.Read(2, Type::kI32));
  ValueId number = e.b.Binary(Opcode::kAdd, Type::kI64, rank, e.Const(Type::kI64, 1));
  ValueId address =
      e.b.Binary(Opcode::kOr, Type::kI64, e.b.Binary(Opcode::kShl, Type::kI64, number, RankShift(e)), offset);
  if (!e.Has("shared::cluster")) address = Convert(e, Opcode::kToGeneric, address);
  if (Bits(e.type()) == 32) address = e.b.Convert(Opcode::kTrunc, Type::kI32, address);
  e.Write(0, address);
}

void getctarank(Emitter& e) {
  ValueId number = e.b.Convert(Opcode::kTrunc, Type::kI32,
                               e.b.Binary(Opcode::kShrU, Type::kI64, ReadAddress(e), RankShift(e)));
  ValueId own = e.b.SpecialRegister(ir::Special::kClusterCtarank);
  ValueId other = e.b.Binary(Opcode::kSub, Type::kI32, number, e.Const(Type::kI32, 1));
  ValueId is_own = e.b.Icmp(ir::Compare::kEq, number, e.Const(Type::kI32, 0));
  e.Write(0, e.b.Select(is_own, own, other));
}

// -- 9.7.13.17, 9.7.13.18: no launch of a cluster is ever cancelled, which a program must expect. The
// response is zeros: word 3 is 1 for a cancelled cluster, words 0 to 2 are its first block --

void try_cancel_cluster(Emitter& e) {
  const Place to = SharedAddress(e, 0, "the response"), object = ObjectAddress(e, 1);
  const ValueId zero = e.Const(Type::kI64, 0), bytes = e.Const(Type::kI32, 16);
  e.b.Store(Type::kI64, to.space, to.address, {zero, zero});
  if (!e.Has("multicast::cluster::all")) return CompleteBytes(e, object, bytes);
  auto offset = [&](const Place& place) {
    return place.space == Space::kShared
               ? place.address
               : e.b.Inst1(Opcode::kFromGeneric, Type::kVoid, {place.address}, {.space = Space::kShared});
  };
  const ValueId own = to.space == Space::kShared ? e.b.Inst1(Opcode::kToGeneric, Type::kVoid, {to.address},
                                                             {.space = Space::kShared})
                                                 : to.address;
  const ValueId beyond = e.b.Binary(Opcode::kShl, Type::kI32, e.Const(Type::kI32, 1),
                                    e.b.SpecialRegister(ir::Special::kClusterNctarank));
  const ValueId all = e.b.Binary(Opcode::kSub, Type::kI32, beyond, e.Const(Type::kI32, 1));
  e.b.Make(Opcode::kCopyMulticast, Type::kVoid, {offset(to), own, bytes, offset(object), all});
}

void query_cancel_cluster(Emitter& e) {
  const std::vector<ValueId> words = e.b.Unpack(Type::kI32, e.Read(1, Type::kI128));
  if (e.Has("is_canceled")) return e.Write(0, e.b.Icmp(ir::Compare::kNe, words[3], e.Const(Type::kI32, 0)));
  if (e.Has("get_first_ctaid")) return e.WriteVector(0, words, false);
  e.Write(0, words[e.Has("get_first_ctaid::x") ? 0 : e.Has("get_first_ctaid::y") ? 1 : 2]);
}

// All threads of a cluster are run by one worker: orders of memory need nothing more.
void barrier_cluster(Emitter& e) {
  Opcode op = e.Has("arrive") ? Opcode::kClusterArrive : Opcode::kClusterWait;
  e.b.Make(op, Type::kVoid, {}, {.flags = e.Has("aligned") ? uint32_t{ir::kAligned} : 0});
}

}  // namespace ptx2cpu::ptx::rows
