// 9.7.10: textures. The fetch itself is one row of the IR; its result is raw bits of 32 for each channel.
#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace image = ir::image;
using ast::OperandKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

// Destination, place in brackets, and what follows.
struct Fetch {
  std::span<const ast::Operand> operands;
  size_t next = 2;
  image::Geometry geometry;
  uint32_t mode = 0;
  std::vector<ValueId> values;  // handle, sampler, words

  bool AtEnd() const { return next >= operands.size(); }
};

// The first `count` of a list that may be padded.
void AppendList(Emitter& e, Fetch& fetch, std::vector<ValueId> list, uint32_t count, const char* what) {
  if (list.size() < count) return Wrong(e, std::string("too few ") + what);
  fetch.values.insert(fetch.values.end(), list.begin(), list.begin() + count);
}

void ReadLevel(Emitter& e, Fetch& fetch) {
  const uint32_t gradients = e.Has("grad") ? 2 : 0, lists = e.Has("level") ? 1 : gradients;
  if (fetch.operands.size() < fetch.next + lists) return Wrong(e, "the level or the gradients are missing");
  if (e.Has("level")) {
    fetch.mode |= image::kLevel;
    AppendList(e, fetch, ReadList(e, fetch.operands[fetch.next++], Type::kI32), 1, "levels");
  }
  if (gradients != 0) fetch.mode |= image::kGradient;
  for (uint32_t i = 0; i < gradients; ++i) {
    AppendList(e, fetch, ReadList(e, fetch.operands[fetch.next++], Type::kI32), DimensionsOf(fetch.geometry),
               "elements of a gradient");
  }
}

// {, e} {, f}: a list of offsets; a scalar that depths are compared with.
void ReadOffsets(Emitter& e, Fetch& fetch) {
  if (!fetch.AtEnd() && fetch.operands[fetch.next].kind == OperandKind::kVector) {
    fetch.mode |= image::kOffset;
    AppendList(e, fetch, ReadList(e, fetch.operands[fetch.next++], Type::kI32), DimensionsOf(fetch.geometry),
               "offsets");
  }
  if (!fetch.AtEnd()) ++fetch.next;  // no image here holds depths: an H200 does not compare either
  if (!fetch.AtEnd()) Wrong(e, "more operands than a fetch has");
}

std::vector<ValueId> Channels(Emitter& e, Fetch& fetch) {
  const std::optional<image::Geometry> geometry = GeometryOf(e);
  if (!geometry) return {};
  fetch.geometry = *geometry;
  fetch.operands = e.ast.Operands(*e.instruction);
  if (fetch.operands.size() < 2)
    return Wrong(e, "expected a destination and [a, {coordinates}]"), std::vector<ValueId>{};
  std::optional<ImagePlace> place = ReadImagePlace(e, fetch.operands[1]);
  if (!place) return {};
  fetch.mode |= static_cast<uint32_t>(fetch.geometry);
  if (e.type() == PtxType::kS32) fetch.mode |= image::kInteger;
  fetch.values = {place->handle, place->sampler.value_or(e.Const(Type::kI64, 0))};
  AppendList(e, fetch, std::move(place->words), DimensionsOf(fetch.geometry) + HasLayer(fetch.geometry),
             "coordinates");
  ReadLevel(e, fetch);
  ReadOffsets(e, fetch);
  if (e.error) return {};
  const ir::InstId id = e.b.Make(Opcode::kTexture, Type::kI32, fetch.values, {.index = fetch.mode},
                                 Type::kVoid, image::kChannels);
  return e.f.at_inst(id).results;
}

// Rounds the bits of a float to f16, to nearest even; NaN becomes the canonical one.
ValueId ToHalf(Emitter& e, ValueId bits) {
  const ValueId value = e.b.Bitcast(Type::kF32, bits);
  const ValueId half =
      e.b.Convert(Opcode::kFConvert, Type::kF16, value, {.rounding = ir::Rounding::kNearestEven});
  const ValueId magnitude = e.b.Binary(Opcode::kAnd, Type::kI32, bits, e.Const(Type::kI32, 0x7FFFFFFF));
  const ValueId is_nan = e.b.Icmp(ir::Compare::kUgt, magnitude, e.Const(Type::kI32, 0x7F800000));
  return e.b.Select(is_nan, e.Const(Type::kI16, 0x7FFF), e.b.Bitcast(Type::kI16, half));
}

// d and d|p: the destination's elements and the predicate for resident memory, which it always
// is.
void WriteChannels(Emitter& e, const ast::Operand& destination, const std::vector<ValueId>& values) {
  const ast::Operand* list = &destination;
  if (destination.kind == OperandKind::kPair) {
    std::span<const ast::Operand> both = e.ast.Children(destination);
    list = &both[0];
    e.WriteOperand(both[1], e.Const(Type::kI1, 1), false);
  }
  if (list->kind != OperandKind::kVector || e.ast.Children(*list).size() != values.size())
    return Wrong(e, "expected a destination of " + std::to_string(values.size()) + " registers");
  std::span<const ast::Operand> children = e.ast.Children(*list);
  for (size_t i = 0; i < values.size(); ++i) e.WriteOperand(children[i], values[i], false);
}

void WriteChannels(Emitter& e, const Fetch& fetch, const std::vector<ValueId>& channels) {
  std::vector<ValueId> values;
  if (e.dtype() == PtxType::kF16) {
    for (ValueId channel : channels) values.push_back(ToHalf(e, channel));
  } else if (e.dtype() == PtxType::kF16x2) {
    for (size_t i = 0; i < channels.size(); i += 2)
      values.push_back(e.b.Pack(Type::kI32, {ToHalf(e, channels[i]), ToHalf(e, channels[i + 1])}));
  } else if (e.dtype() == PtxType::kF32) {
    for (ValueId channel : channels) values.push_back(e.b.Bitcast(Type::kF32, channel));
  } else {
    values = channels;
  }
  WriteChannels(e, fetch.operands[0], values);
}

}  // namespace

void tex(Emitter& e) {
  Fetch fetch;
  const std::vector<ValueId> channels = Channels(e, fetch);
  if (!e.error) WriteChannels(e, fetch, channels);
}

void tld4(Emitter& e) {
  Fetch fetch;
  fetch.mode = image::kGather;
  constexpr const char* kNames[] = {"r", "g", "b", "a"};
  for (uint32_t c = 0; c < 4; ++c) {
    if (e.mods().At("comp") == Word(kNames[c])) fetch.mode |= c << image::kChannelShift;
  }
  const std::vector<ValueId> channels = Channels(e, fetch);
  if (!e.error) WriteChannels(e, fetch, channels);
}

namespace {

void QueryImage(Emitter& e, std::span<const ast::Operand> operands, ValueId level) {
  const ast::Operand* handle = &operands[1];
  if (handle->kind == OperandKind::kBracket && e.ast.Children(*handle).size() == 1)
    handle = &e.ast.Children(*handle)[0];
  const auto query = QueryOf(e);
  CHECK(query.has_value(), "a query that the table has and the translation does not");
  const ValueId value =
      e.b.Inst1(Opcode::kImageQuery, Type::kVoid, {ReadHandle(e, *handle), level}, {.query = *query});
  e.WriteOperand(operands[0], value, false);
}

}  // namespace

void txq(Emitter& e) {
  std::span<const ast::Operand> operands = e.ast.Operands(*e.instruction);
  if (operands.size() != (e.Has("level") ? 3 : 2))
    return Wrong(e, "expected d, [a], and with .level a level");
  QueryImage(e, operands, e.Has("level") ? e.ReadOperand(operands[2], Type::kI32) : e.Const(Type::kI32, 0));
}

void suq(Emitter& e) {
  std::span<const ast::Operand> operands = e.ast.Operands(*e.instruction);
  if (operands.size() != 2) return Wrong(e, "expected d, [a]");
  QueryImage(e, operands, e.Const(Type::kI32, 0));
}

// Handles of variables are of their kind; those of objects are of neither, as on a GPU.
void istypep(Emitter& e) {
  const ValueId handle = ReadHandle(e, e.Operand(1));
  const auto query = image::Query::kKind;
  if (e.type() == PtxType::kSamplerref) return e.Unsupported("istypep.samplerref"), void();
  const auto wanted =
      e.type() == PtxType::kTexref ? image::Kind::kTextureReference : image::Kind::kSurfaceReference;
  const ValueId kind =
      e.b.Inst1(Opcode::kImageQuery, Type::kVoid, {handle, e.Const(Type::kI32, 0)}, {.query = query});
  e.Write(0, e.b.Icmp(ir::Compare::kEq, kind, e.Const(Type::kI32, static_cast<uint64_t>(wanted))));
}

}  // namespace ptx2cpu::ptx::rows
