// 9.7.9.14: multimem. A multicast object here has one member, the one device's memory: what is loaded from it
// is that memory, and what is stored or reduced goes there once.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Type;
using ir::ValueId;

namespace {

ir::Attrs AttrsOf(const Emitter& e) {
  ir::Attrs attrs{.order = LoadStoreOrder(e)};
  if (attrs.order >= ir::MemoryOrder::kRelaxed) attrs.scope = ScopeOf(e);
  return attrs;
}

// The bits of a packed type are one integer.
Type TypeInMemory(const Emitter& e) {
  const PtxType type = e.mods().last();
  return ir::IntegerOfBits(Bits(type));
}

void Reduce(Emitter& e) {
  const Place place = AtomicAddress(e, 0);
  const PtxType type = e.mods().last();
  ir::Attrs attrs = AtomicAttrs(e, place.space);
  attrs.atomic = AtomicOperation(e);
  attrs.flags = ir::kNoResult;
  int64_t offset = 0;
  for (ValueId value : e.ReadVector(1, WholeType(type))) {
    e.b.Binary(ir::Opcode::kAtomic, WholeType(type), e.Offset(place.address, offset), value, attrs);
    offset += Bits(type) / 8;
  }
}

}  // namespace

void multimem(Emitter& e) {
  if (e.Has("red")) return Reduce(e);
  const Type type = TypeInMemory(e);
  if (e.Has("st")) {
    const Place to = e.WritableAddress(0, SpaceOfWords(e));
    e.b.Store(type, to.space, to.address, e.ReadVector(1, type), AttrsOf(e));
    return;
  }
  const Place from = e.Address(1, SpaceOfWords(e));
  const auto count = static_cast<uint32_t>(e.mods().vector_width());
  e.WriteVector(0, e.b.LoadVector(type, from.space, from.address, count, AttrsOf(e)), false);
}

}  // namespace ptx2cpu::ptx::rows
