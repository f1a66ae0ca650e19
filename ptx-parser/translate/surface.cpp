// 9.7.11: surfaces. An access is an address and an ordinary access to it; an address of 0 is out of range:
// with .trap it faults there, with .zero a branch leads around the access, and .clamp never needs it.
#include <functional>

#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace image = ir::image;
using ast::OperandKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

struct Access {
  ValueId handle;
  ValueId address;
};

// `bytes` of the access.
std::optional<Access> ReadAccess(Emitter& e, const ast::Operand& operand, uint32_t flags, uint32_t bytes) {
  const std::optional<image::Geometry> geometry = GeometryOf(e);
  std::optional<ImagePlace> place = geometry ? ReadImagePlace(e, operand) : std::nullopt;
  if (!place) return std::nullopt;
  const uint32_t count = DimensionsOf(*geometry) + HasLayer(*geometry);
  if (place->words.size() < count || place->sampler) {
    Wrong(e, "expected [a, {coordinates}]");
    return std::nullopt;
  }
  const ValueId none = e.Const(Type::kI32, 0);
  ValueId x = place->words[0], y = none, z = none;
  switch (*geometry) {
    case image::Geometry::kA1d:
      z = place->words[0], x = place->words[1];
      break;
    case image::Geometry::kA2d:
      z = place->words[0], x = place->words[1], y = place->words[2];
      break;
    case image::Geometry::k1d:
    case image::Geometry::k2d:
    case image::Geometry::k3d:
    case image::Geometry::kCube:
    case image::Geometry::kAcube:
      if (count > 1) y = place->words[1];
      if (count > 2) z = place->words[2];
  }
  flags |= static_cast<uint32_t>(*geometry) | bytes << image::kBytesShift;
  if (e.Has("clamp")) flags |= image::kClamp;
  const ValueId address =
      e.b.Inst1(Opcode::kSurfaceAddress, Type::kVoid, {place->handle, x, y, z}, {.index = flags});
  return Access{place->handle, address};
}

// Runs `then` if the address is in range, and continues after it. `otherwise`, as many values as `then`
// returns, is the result where it is not.
std::vector<ValueId> IfInRange(Emitter& e, ValueId address, const std::vector<ValueId>& otherwise,
                               const std::function<std::vector<ValueId>()>& then) {
  if (!e.Has("zero")) return then();
  const ir::BlockId inside = ir::AddBlock(e.f), after = ir::AddBlock(e.f);
  std::vector<ValueId> results;
  for (ValueId value : otherwise) results.push_back(ir::AddParam(e.f, after, e.f.type_of(value)));
  const ValueId in_range = e.b.Icmp(ir::Compare::kNe, address, e.Const(Type::kI64, 0));
  e.AddEdges(e.b.CondBr(in_range, {inside, {}}, {after, otherwise}));
  e.ssa.Seal(inside);
  e.SetBlock(inside);
  std::vector<ValueId> values = then();
  e.AddEdges(e.b.Br(after, values));
  e.ssa.Seal(after);
  e.SetBlock(after);
  return results;
}

// .b8 .b16 .b32 .b64, the registers may be wider.
Type SurfaceElementOf(const Emitter& e) { return ir::IntegerOfBits(Bits(e.type())); }

}  // namespace

void suld(Emitter& e) {
  std::span<const ast::Operand> operands = e.ast.Operands(*e.instruction);
  if (operands.size() != 2) return Wrong(e, "expected d, [a, {coordinates}]");
  const Type type = SurfaceElementOf(e);
  const auto count = static_cast<uint32_t>(e.mods().vector_width());
  const auto access = ReadAccess(e, operands[1], 0, count * static_cast<uint32_t>(ir::Bytes(type)));
  if (!access) return;
  std::span<const ast::Operand> destination(&operands[0], 1);
  if (operands[0].kind == OperandKind::kVector) destination = e.ast.Children(operands[0]);
  if (destination.size() != count)
    return Wrong(e, "the destination and the opcode differ in their number of elements");
  const std::vector<ValueId> zeros(count, e.Const(type, 0));
  const std::vector<ValueId> values = IfInRange(e, access->address, zeros, [&] {
    return e.b.LoadVector(type, ir::Space::kGlobal, access->address, count);
  });
  for (uint32_t i = 0; i < count; ++i) e.WriteOperand(destination[i], values[i], false);
}

namespace {

// A formatted store: as many channels as there are; the others become 0.
void StoreTexel(Emitter& e, std::span<const ast::Operand> operands) {
  const auto access = ReadAccess(e, operands[0], image::kTexels, 0);
  if (!access) return;
  std::vector<ValueId> channels = ReadList(e, operands[1], Type::kI32);
  channels.resize(image::kChannels, e.Const(Type::kI32, 0));
  IfInRange(e, access->address, {}, [&] {
    std::vector<ValueId> values{access->handle, access->address};
    values.insert(values.end(), channels.begin(), channels.end());
    e.b.Make(Opcode::kSurfaceStore, Type::kVoid, values);
    return std::vector<ValueId>{};
  });
}

}  // namespace

void sust(Emitter& e) {
  std::span<const ast::Operand> operands = e.ast.Operands(*e.instruction);
  if (operands.size() != 2) return Wrong(e, "expected [a, {coordinates}], b");
  if (e.Has("p")) return StoreTexel(e, operands);
  const Type type = SurfaceElementOf(e);
  const std::vector<ValueId> values = ReadList(e, operands[1], type);
  if (values.size() != static_cast<size_t>(e.mods().vector_width()))
    return Wrong(e, "the source and the opcode differ in their number of elements");
  const auto bytes = static_cast<uint32_t>(values.size()) * static_cast<uint32_t>(ir::Bytes(type));
  const auto access = ReadAccess(e, operands[0], 0, bytes);
  if (!access) return;
  IfInRange(e, access->address, {}, [&] {
    e.b.Store(type, ir::Space::kGlobal, access->address, values);
    return std::vector<ValueId>{};
  });
}

namespace {

void ReduceElement(Emitter& e, ir::AtomicOp op, Type type, ValueId address, ValueId value) {
  const ir::Attrs attrs{.flags = ir::kNoResult,
                        .space = ir::Space::kGlobal,
                        .atomic = op,
                        .order = ir::MemoryOrder::kRelaxed,
                        .scope = ir::Scope::kGpu};
  e.b.Binary(Opcode::kAtomic, type, address, value, attrs);
}

bool IsMinMax(const Emitter& e) { return e.Has("min") || e.Has("max"); }

ir::AtomicOp MinMaxOf(const Emitter& e, bool sign) {
  if (e.Has("min")) return sign ? ir::AtomicOp::kMinS : ir::AtomicOp::kMinU;
  return sign ? ir::AtomicOp::kMaxS : ir::AtomicOp::kMaxU;
}

ir::AtomicOp OperationOf(const Emitter& e) {
  if (IsMinMax(e)) return MinMaxOf(e, IsSigned(e.type()));
  return e.Has("and") ? ir::AtomicOp::kAnd : e.Has("or") ? ir::AtomicOp::kOr : ir::AtomicOp::kAdd;
}

// sured.p: the surface's format decides whether values are signed. Both operations are emitted, one of them
// is done.
void ReduceBySign(Emitter& e, const Access& access, Type type, ValueId value) {
  const ValueId query = e.b.Inst1(Opcode::kImageQuery, Type::kVoid, {access.handle, e.Const(Type::kI32, 0)},
                                  {.query = image::Query::kIsSigned});
  const ir::BlockId with_sign = ir::AddBlock(e.f), without = ir::AddBlock(e.f), after = ir::AddBlock(e.f);
  const ValueId is_signed = e.b.Icmp(ir::Compare::kNe, query, e.Const(Type::kI32, 0));
  e.AddEdges(e.b.CondBr(is_signed, {with_sign, {}}, {without, {}}));
  for (const auto& [block, sign] : {std::pair(with_sign, true), std::pair(without, false)}) {
    e.ssa.Seal(block);
    e.SetBlock(block);
    ReduceElement(e, MinMaxOf(e, sign), type, access.address, value);
    e.AddEdges(e.b.Br(after));
  }
  e.ssa.Seal(after);
  e.SetBlock(after);
}

}  // namespace

void sured(Emitter& e) {
  std::span<const ast::Operand> operands = e.ast.Operands(*e.instruction);
  if (operands.size() != 2) return Wrong(e, "expected [a, {coordinates}], b");
  const Type type = SurfaceElementOf(e);
  const bool by_sample = e.Has("p");
  const ValueId value = e.ReadOperand(operands[1], type);
  const auto access =
      ReadAccess(e, operands[0], by_sample ? image::kSamples : 0, static_cast<uint32_t>(ir::Bytes(type)));
  if (!access) return;
  IfInRange(e, access->address, {}, [&] {
    if (by_sample && IsMinMax(e)) {
      ReduceBySign(e, *access, type, value);
    } else {
      ReduceElement(e, OperationOf(e), type, access->address, value);
    }
    return std::vector<ValueId>{};
  });
}

}  // namespace ptx2cpu::ptx::rows
