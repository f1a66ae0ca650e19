// Operands of texture and surface instructions: handles and the coordinates in brackets beside them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/image.h"
#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx {

// [a, c] and [a, b, c].
struct ImagePlace {
  ir::ValueId handle;
  std::optional<ir::ValueId> sampler;  // b
  std::vector<ir::ValueId> words;      // c, 32 bits each
};

// The geometry that the opcode names; an error for multisample ones.
std::optional<ir::image::Geometry> GeometryOf(Emitter& e);
uint32_t DimensionsOf(ir::image::Geometry geometry);  // of a layer
bool HasLayer(ir::image::Geometry geometry);

// A .texref, .samplerref or .surfref, or a variable in the old .tex space.
bool IsImageReference(const ast::Variable& variable);
// The handle in a register, or in the variable or parameter that is named: its eight bytes are the handle.
ir::ValueId ReadHandle(Emitter& e, const ast::Operand& operand);
std::optional<ImagePlace> ReadImagePlace(Emitter& e, const ast::Operand& operand);
// The elements of {a, b, ...}, or the operand itself.
std::vector<ir::ValueId> ReadList(Emitter& e, const ast::Operand& operand, ir::Type type);

// An error of the text.
inline void Wrong(Emitter& e, std::string message) { e.Fail(ErrorCode::kSyntax, std::move(message)); }

// The attribute of `.width` and the like of txq and suq.
std::optional<ir::image::Query> QueryOf(const Emitter& e);

// The bits of a .samplerref for an initialiser {field = value, ...}.
Result<uint64_t> SamplerBits(const ast::Module& module, const ast::Variable& variable);

}  // namespace ptx2cpu::ptx
