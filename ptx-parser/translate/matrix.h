// Matrix forms from the words of an opcode.
#pragma once

#include <optional>
#include <string_view>

#include "ir/matrix.h"
#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx {

// .aligned: all threads of the warp execute the same instruction.
inline constexpr uint32_t kAllLanes = 0xffffffffu;

using MatrixElement = ir::matrix::Element;

struct MatrixShape {
  std::string_view word;
  uint32_t m = 0, n = 0, k = 0;
};
MatrixShape ShapeOf(const Emitter& e);  // of the modifier group "shape"
// Nothing for types below 8 bits that are no integers. Products on registers do not take fp8 as it is.
std::optional<MatrixElement> ElementOfType(PtxType type);
ir::Type RegisterType(MatrixElement element);  // of one register of a fragment

// D = A * B + C by the row MatrixMultiply.
struct MatrixOperands {
  std::vector<ir::ValueId> a, b, c;
  std::optional<ir::ValueId> metadata = {};
};
std::vector<ir::ValueId> MultiplyMatrices(Emitter& e, const ir::matrix::Product& form,
                                          const MatrixOperands& operands);
// Makes chains of the products that can be (Combine::kChain).
void ChainMatrixSums(ir::Module& module);

// Whether the operand is a list of `count` registers; else the instruction fails.
bool HasRegisters(Emitter& e, size_t operand, size_t count);

uint32_t MatricesOf(const Emitter& e);  // of ldmatrix and stmatrix: .x1, .x2, .x4

bool IsFp8(PtxType type);
// -- products of fp8, as an H100 does them (matrix_fp8.cpp) --
void MultiplyBytes(Emitter& e);
void MultiplySparseBytes(Emitter& e);

// -- products that no tensor core of this kind computes: lanes fetch the factors and multiply and add on
// their own (matrix_lanes.cpp) -- m8n8k4 of f16: four products, each of eight lanes.
void MultiplyQuads(Emitter& e);
// f64 with a rounding other than to nearest even.
std::vector<ir::ValueId> MultiplyRounded(Emitter& e, const ir::matrix::Product& form,
                                         const MatrixOperands& operands, ir::Rounding rounding);

}  // namespace ptx2cpu::ptx
