// The epilogue of a product: bias, activations, their gradients, the arrays beside D.
#pragma once

#include <cmath>
#include <span>

#include "runtime/cuda/libraries/lt/matrix.h"

namespace ptx2cpu::cublaslt {

enum class Activation : uint8_t { kNone, kRelu, kGelu, kReluGradient, kGeluGradient };

// An epilogue's bits, apart.
struct Epilogue {
  Activation activation = Activation::kNone;
  bool bias = false, aux = false, bias_gradient = false, gradient_of_a = false, gradient_of_b = false;
};
inline bool ReadEpilogue(uint32_t bits, Epilogue& epilogue) {
  struct Row {
    uint32_t bits;
    Epilogue epilogue;
  };
  using enum Activation;
  constexpr Row kRows[] = {
      {1, {}},
      {2, {kRelu}},
      {2 | 128, {kRelu, false, true}},
      {4, {kNone, true}},
      {2 | 4, {kRelu, true}},
      {2 | 4 | 128, {kRelu, true, true}},
      {8 | 128, {kReluGradient, false, true}},
      {8 | 16 | 128, {kReluGradient, false, true, true}},
      {32, {kGelu}},
      {32 | 128, {kGelu, false, true}},
      {32 | 4, {kGelu, true}},
      {32 | 4 | 128, {kGelu, true, true}},
      {64 | 128, {kGeluGradient, false, true}},
      {64 | 16 | 128, {kGeluGradient, false, true, true}},
      {256, {kNone, false, false, false, true, false}},
      {512, {kNone, false, false, false, false, true}},
  };
  for (const Row& row : kRows) {
    if (row.bits == bits) return epilogue = row.epilogue, true;
  }
  return false;
}

// The approximation by tanh, as documented. Even in double precision, the factor has the digits that it has
// on an H100.
template <typename R>
struct GeluFactors {
  static constexpr R kFactor = R(0.79788456), kCube = R(0.044715), kHalf = R(0.5);
  static constexpr R kSquare = R(0.1070322243);  // 3 kFactor kCube
};
template <typename R>
R TanhOfGelu(R x) {
  using F = GeluFactors<R>;
  return std::tanh(F::kFactor * (x + F::kCube * x * x * x));
}
template <typename R>
R Gelu(R x) {
  return GeluFactors<R>::kHalf * x * (1 + TanhOfGelu(x));
}
template <typename R>
R GeluGradient(R x) {
  using F = GeluFactors<R>;
  const R t = TanhOfGelu(x);
  return F::kHalf * (1 + t) + F::kHalf * x * (1 - t * t) * (F::kFactor + F::kSquare * x * x);
}

// The array of an activation's inputs: a bit for each (RELU), or the value (GELU). Columns of bits are whole
// bytes.
struct Aux {
  cudaDataType type;
  char* data;
  int64_t ld;
  bool Bit(int64_t i, int64_t j) const { return (data[(i + j * ld) / 8] >> ((i + j * ld) % 8) & 1) != 0; }
  void SetBit(int64_t i, int64_t j, bool value) const {
    char& byte = data[(i + j * ld) / 8];
    const auto bit = static_cast<char>(1 << ((i + j * ld) % 8));
    byte = static_cast<char>(value ? byte | bit : byte & ~bit);
  }
  // Visits column j's values, with their type.
  template <typename Visit>
  void WithColumn(int64_t j, const Visit& visit) const {
    WithStored(type, data, [&](auto* values) { visit(values + j * ld); });
  }
};

// A column of D; writes or reads its column of `aux`.
template <typename R>
void Activate(const Epilogue& epilogue, const Aux& aux, int64_t j, std::span<R> column) {
  const auto rows = static_cast<int64_t>(column.size());
  switch (epilogue.activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      for (int64_t i = 0; epilogue.aux && i < rows; ++i) aux.SetBit(i, j, column[i] >= 0);
      for (R& value : column) value = value > 0 || value != value ? value : 0;
      return;
    case Activation::kGelu:
      if (epilogue.aux) {
        aux.WithColumn(j, [&](auto* to) {
          for (int64_t i = 0; i < rows; ++i) ConvertTo(column[i], to[i]);
        });
      }
      for (R& value : column) value = Gelu(value);
      return;
    case Activation::kReluGradient:
      for (int64_t i = 0; i < rows; ++i) column[i] = aux.Bit(i, j) ? column[i] : 0;
      return;
    case Activation::kGeluGradient:
      aux.WithColumn(j, [&](const auto* from) {
        for (int64_t i = 0; i < rows; ++i) column[i] *= GeluGradient(ConvertFrom<R>(from[i]));
      });
      return;
  }
}

// Columns of bits that share no byte with others: of any length, eight of them fill bytes.
inline int64_t ColumnsApart(const Epilogue& epilogue, const Aux& aux) {
  return epilogue.activation == Activation::kRelu && epilogue.aux && aux.ld % 8 != 0 ? 8 : 1;
}

}  // namespace ptx2cpu::cublaslt
