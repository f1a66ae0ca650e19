#include "ptx-parser/translate/image_operands.h"

#include "ptx-parser/translate/parameters.h"

namespace ptx2cpu::ptx {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Type;
using ir::ValueId;
using ir::image::Geometry;

std::optional<Geometry> GeometryOf(Emitter& e) {
  static constexpr std::pair<Word, Geometry> kGeometries[] = {
      {"1d", Geometry::k1d},   {"2d", Geometry::k2d},     {"3d", Geometry::k3d},      {"a1d", Geometry::kA1d},
      {"a2d", Geometry::kA2d}, {"cube", Geometry::kCube}, {"acube", Geometry::kAcube}};
  for (auto [word, geometry] : kGeometries) {
    if (e.Has(word)) return geometry;
  }
  e.Fail(ErrorCode::kUnsupported,
         "multisample textures (.2dms, .a2dms) are those of graphics APIs: no CUDA function makes one");
  return std::nullopt;
}

uint32_t DimensionsOf(Geometry geometry) {
  constexpr uint32_t kDimensions[] = {1, 2, 3, 1, 2, 3, 3};
  return kDimensions[static_cast<uint32_t>(geometry)];
}

bool HasLayer(Geometry geometry) {
  return geometry == Geometry::kA1d || geometry == Geometry::kA2d || geometry == Geometry::kAcube;
}

bool IsImageReference(const ast::Variable& variable) {
  return Info(FindType(variable.type)).kind == TypeKind::kOpaque || variable.space == ast::Space::kTex;
}

namespace {

ValueId NoHandle(Emitter& e, std::string message) {
  Wrong(e, std::move(message));
  return e.Const(Type::kI64, 0);
}

}  // namespace

ValueId ReadHandle(Emitter& e, const ast::Operand& operand) {
  // [name] is an address, name in [name, {...}] an identifier.
  const bool names = operand.kind == OperandKind::kIdentifier || operand.kind == OperandKind::kAddress;
  if (names && operand.integer == 0 && operand.symbol_kind == SymbolKind::kRegister) {
    const ValueId value = e.ReadVariable(operand.symbol);
    if (ir::Bits(e.f.type_of(value)) != 64)
      return NoHandle(e, "a handle of a texture or surface has 64 bits");
    return e.b.Bitcast(Type::kI64, value);
  }
  if (!names || operand.symbol_kind != SymbolKind::kVariable || operand.integer != 0)
    return NoHandle(e, "expected a register or the name of a .texref, .samplerref or .surfref");
  const ast::Variable& variable = e.ast.variables[operand.symbol];
  if (variable.space == ast::Space::kParam) return e.params->ReadScalar(e, operand.symbol);
  if (!IsImageReference(variable))
    return NoHandle(e, "`" + std::string(variable.name) + "` is not a .texref, .samplerref or .surfref");
  const ValueId address = e.b.Symbol(ir::Space::kGlobal, e.context.RequireVariable(operand.symbol));
  return e.b.Load(Type::kI64, ir::Space::kGlobal, address, {.flags = ir::kNonCoherent});
}

std::vector<ValueId> ReadList(Emitter& e, const ast::Operand& operand, Type type) {
  if (operand.kind != OperandKind::kVector) return {e.ReadOperand(operand, type)};
  std::vector<ValueId> values;
  for (const ast::Operand& child : e.ast.Children(operand)) values.push_back(e.ReadOperand(child, type));
  return values;
}

std::optional<ImagePlace> ReadImagePlace(Emitter& e, const ast::Operand& operand) {
  std::span<const ast::Operand> children;
  if (operand.kind == OperandKind::kBracket) children = e.ast.Children(operand);
  if (children.size() != 2 && children.size() != 3) {
    Wrong(e, "expected [a, {coordinates}], or [a, b, {coordinates}] with a sampler");
    return std::nullopt;
  }
  ImagePlace place;
  place.handle = ReadHandle(e, children[0]);
  if (children.size() == 3) place.sampler = ReadHandle(e, children[1]);
  place.words = ReadList(e, children.back(), Type::kI32);
  return place;
}

std::optional<ir::image::Query> QueryOf(const Emitter& e) {
  using ir::image::Query;
  static constexpr std::pair<Word, Query> kQueries[] = {
      {"width", Query::kWidth},
      {"height", Query::kHeight},
      {"depth", Query::kDepth},
      {"channel_data_type", Query::kChannelDataType},
      {"channel_order", Query::kChannelOrder},
      {"normalized_coords", Query::kNormalized},
      {"array_size", Query::kArraySize},
      {"num_mipmap_levels", Query::kLevels},
      {"num_samples", Query::kSamples},
      {"force_unnormalized_coords", Query::kForceUnnormalized},
      {"filter_mode", Query::kFilter},
      {"addr_mode_0", Query::kAddressX},
      {"addr_mode_1", Query::kAddressY},
      {"addr_mode_2", Query::kAddressZ},
      {"memory_layout", Query::kMemoryLayout},
  };
  for (auto [word, query] : kQueries) {
    if (e.Has(word)) return query;
  }
  return std::nullopt;
}

namespace {

std::optional<ir::image::Address> AddressMode(std::string_view word) {
  using ir::image::Address;
  if (word == "wrap") return Address::kWrap;
  if (word == "mirror") return Address::kMirror;
  if (word == "clamp_ogl" || word == "clamp_to_edge") return Address::kClamp;
  if (word == "clamp_to_border") return Address::kBorder;
  return std::nullopt;
}

// Reads one `field = value`; false for a field that samplers do not have.
bool AddField(std::string_view field, const ast::Operand& value, uint64_t& bits) {
  namespace image = ir::image;
  if (field == "filter_mode") {
    if (value.text == "linear") bits |= image::kSamplerLinear;
    return value.text == "linear" || value.text == "nearest";
  }
  if (field == "force_unnormalized_coords") {
    if (value.integer == 1) bits |= image::kSamplerUnnormalized;
    return value.kind == OperandKind::kInteger && (value.integer == 0 || value.integer == 1);
  }
  constexpr std::string_view kPrefix = "addr_mode_";
  if (!field.starts_with(kPrefix) || field.size() != kPrefix.size() + 1) return false;
  const uint32_t dimension = static_cast<uint32_t>(field.back() - '0');
  const auto mode = AddressMode(value.text);
  if (dimension > 2 || !mode) return false;
  const uint32_t shift = image::kSamplerAddressShift + image::kSamplerAddressBits * dimension;
  bits = (bits & ~(uint64_t{15} << shift)) | static_cast<uint64_t>(*mode) << shift;
  return true;
}

}  // namespace

Result<uint64_t> SamplerBits(const ast::Module& module, const ast::Variable& variable) {
  namespace image = ir::image;
  uint64_t bits = image::kSamplerPresent;
  for (uint32_t d = 0; d < 3; ++d)
    bits |= static_cast<uint64_t>(image::Address::kClamp)
            << (image::kSamplerAddressShift + image::kSamplerAddressBits * d);
  const auto fail = [&](const std::string& what) {
    return Fail(
        ast::ErrorAt(module, variable.position, ErrorCode::kUnsupported,
                     what + " in the initializer of `" + std::string(variable.name) + "` is not translated"));
  };
  const ast::Operand& root = module.operands[variable.initializer];
  if (root.kind != OperandKind::kVector) return fail("a value that is not a list of fields");
  for (const ast::Operand& child : module.Children(root)) {
    if (child.kind != OperandKind::kField) return fail("a value without a field");
    if (!AddField(child.text, module.Children(child)[0], bits))
      return fail("`" + std::string(child.text) + "`");
  }
  return bits;
}

}  // namespace ptx2cpu::ptx
