// 9.7.9: loads, stores, moves, addresses, cache control.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/parameters.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::MemoryOrder;
using ir::Opcode;
using ir::Scope;
using ir::Space;
using ir::Type;
using ir::ValueId;

Scope ScopeOf(const Emitter& e) {
  if (e.Has("cta")) return Scope::kCta;
  if (e.Has("cluster")) return Scope::kCluster;
  if (e.Has("gpu")) return Scope::kGpu;
  if (e.Has("sys")) return Scope::kSys;
  return Scope::kNone;
}

MemoryOrder LoadStoreOrder(const Emitter& e) {
  if (e.Has("volatile")) return MemoryOrder::kVolatile;
  if (e.Has("relaxed")) return MemoryOrder::kRelaxed;
  if (e.Has("acquire")) return MemoryOrder::kAcquire;
  if (e.Has("release")) return MemoryOrder::kRelease;
  return MemoryOrder::kWeak;
}

ValueId RealAddress(Emitter& e, const Place& place) {
  if (place.space != Space::kShared) return place.address;
  return e.b.Inst1(Opcode::kToGeneric, Type::kVoid, {place.address}, {.space = Space::kShared});
}

Space SpaceOfWords(const Emitter& e) {
  static constexpr std::pair<Word, Space> kSpaces[] = {
      {"global", Space::kGlobal},      {"shared", Space::kShared},
      {"shared::cta", Space::kShared}, {"shared::cluster", Space::kSharedCluster},
      {"local", Space::kLocal},        {"const", Space::kConst},
      {"param", Space::kParam},        {"param::entry", Space::kParam},
      {"param::func", Space::kParam},  {"const[0]", Space::kConst},
  };
  for (auto [word, space] : kSpaces) {
    if (e.Has(word)) return space;
  }
  return Space::kGeneric;
}

namespace {

// The .param space of a device function is memory of the thread.
Space AccessSpace(const Emitter& e) {
  Space space = SpaceOfWords(e);
  if (space != Space::kParam || e.Has("param::entry")) return space;
  return e.source.is_entry && !e.Has("param::func") ? Space::kParam : Space::kLocal;
}

ir::Attrs AccessAttrs(const Emitter& e, Space space) {
  ir::Attrs attrs{.space = space, .order = LoadStoreOrder(e)};
  if (attrs.order >= MemoryOrder::kRelaxed) attrs.scope = ScopeOf(e);
  return attrs;
}

// The first register of a destination or source, to keep floats floats in untyped accesses.
const ast::Operand& FirstOf(const Emitter& e, size_t operand) {
  const ast::Operand& o = e.Operand(operand);
  return o.kind == ast::OperandKind::kVector ? e.ast.Children(o)[0] : o;
}

Type AccessType(const Emitter& e, size_t operand) {
  PtxType type = e.mods().last();
  return IsFloat(type) ? ElementType(type) : e.StoredType(FirstOf(e, operand), Bits(type));
}

// ld and st of a .param variable that lives in SSA.
std::optional<uint32_t> SsaParam(Emitter& e, size_t operand) {
  const ast::Operand& o = e.Operand(operand);
  if (o.symbol_kind != ast::SymbolKind::kVariable) return std::nullopt;
  if (e.ast.variables[o.symbol].space != ast::Space::kParam || !e.AccessesParameters() ||
      !e.params->InSsa(e, o.symbol))
    return std::nullopt;
  return o.symbol;
}

void LoadFrom(Emitter& e, uint32_t flags) {
  bool sign = IsSigned(e.mods().last());
  if (std::optional<uint32_t> param = SsaParam(e, 1)) {
    return e.WriteVector(0, {e.params->ReadScalar(e, *param)}, sign);
  }
  Place place = e.Address(1, AccessSpace(e));
  ir::Attrs attrs = AccessAttrs(e, place.space);
  // What threads write themselves is not read-only, whatever the instruction promises of global memory.
  attrs.flags = place.space == Space::kGlobal || place.space == Space::kGeneric ? flags : 0;
  uint32_t count = static_cast<uint32_t>(e.mods().vector_width());
  e.WriteVector(0, e.b.LoadVector(AccessType(e, 0), place.space, place.address, count, attrs), sign);
}

}  // namespace

void ld(Emitter& e) { LoadFrom(e, 0); }
void ld_nc(Emitter& e) { LoadFrom(e, ir::kNonCoherent); }
void ldu(Emitter& e) { LoadFrom(e, ir::kNonCoherent); }

void st(Emitter& e) {
  if (std::optional<uint32_t> param = SsaParam(e, 0)) {
    Type type = WholeType(FindType(e.ast.variables[*param].type));
    return e.params->WriteScalar(e, *param, e.Read(1, type));
  }
  Place place = e.WritableAddress(0, AccessSpace(e));
  Type type = AccessType(e, 1);
  e.b.Store(type, place.space, place.address, e.ReadVector(1, type), AccessAttrs(e, place.space));
}

// Registers of equal width, addresses, special registers, packing and unpacking.
void mov(Emitter& e) {
  const ast::Operand& destination = e.Operand(0);
  if (destination.kind == ast::OperandKind::kVector && e.Operand(1).kind == ast::OperandKind::kVector)
    return e.Fail(ErrorCode::kSyntax, "mov packs a vector or unpacks one, not both");
  int bits = Bits(e.type());
  Type type = bits == 1           ? Type::kI1
              : IsFloat(e.type()) ? ElementType(e.type())
                                  : e.StoredType(destination, bits);
  e.Write(0, e.Read(1, type));
}

// Vector registers, and the special registers that are vectors.
void mov_vector(Emitter& e) {
  const ast::Operand& source = e.Operand(1);
  const auto width = static_cast<size_t>(e.mods().vector_width());
  std::vector<ValueId> values;
  if (source.kind == ast::OperandKind::kVector && e.ast.Children(source).size() == width) {
    values = e.ReadVector(1, WholeType(e.type()));
  } else if (source.symbol_kind == ast::SymbolKind::kSpecialRegister && width == 4) {
    for (uint32_t i = 0; i < 4; ++i) {
      ast::Operand element = source;
      element.component = static_cast<ast::Component>(static_cast<uint32_t>(ast::Component::kX) + i);
      values.push_back(e.ReadOperand(element, WholeType(e.type())));
    }
  } else {
    return e.Fail(ErrorCode::kSyntax,
                  "the source must be a vector of " + std::to_string(width) + " registers");
  }
  e.WriteVector(0, values, IsSigned(e.type()));
}

// -- addresses --

void isspacep(Emitter& e) {
  ValueId address = e.Read(1, Type::kI64);
  e.Write(0, e.b.Inst1(Opcode::kIsSpace, Type::kVoid, {address}, {.space = SpaceOfWords(e)}));
}

// Global, constant and kernel parameter addresses are generic ones already; shared and local windows are
// mapped.
void cvta(Emitter& e) {
  if (Bits(e.type()) == 32) {
    return e.Fail(ErrorCode::kUnsupported,
                  "a generic address has 64 bits: only code with 64-bit addresses is translated");
  }
  Space space = AccessSpace(e);
  ValueId address = e.Read(1, Type::kI64);
  if (space == Space::kShared || space == Space::kSharedCluster || space == Space::kLocal) {
    Opcode op = e.Has("to") ? Opcode::kFromGeneric : Opcode::kToGeneric;
    address = e.b.Inst1(op, Type::kVoid, {address}, {.space = space});
  }
  e.Write(0, address);
}

// -- cache control: a CPU's caches need no advice --

// Hints; their addresses are checked.
void prefetch(Emitter& e) { static_cast<void>(e.Address(0, AccessSpace(e))); }
void applypriority(Emitter& e) { static_cast<void>(e.Address(0, AccessSpace(e))); }
void discard(Emitter& e) {
  static_cast<void>(e.Address(0, AccessSpace(e)));
}  // what was there may stay there
void createpolicy(Emitter& e) {
  if (e.Has("range")) static_cast<void>(e.Address(1, SpaceOfWords(e)));
  e.Write(0, e.Const(Type::kI64, 0));
}  // a policy is opaque; hints are ignored

}  // namespace ptx2cpu::ptx::rows
