// Stored values as values of the type that a function computes with, and back.
#pragma once

#include <memory>
#include <type_traits>

#include "runtime/cuda/libraries/core/narrow.h"
#include "runtime/cuda/libraries/sparse/descriptors.h"

namespace ptx2cpu::cusparse {

template <typename T>
struct Type {
  using Value = T;
};

template <typename C>
inline constexpr cudaDataType kTypeOf = CUDA_R_32F;
template <>
inline constexpr cudaDataType kTypeOf<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType kTypeOf<cuComplex> = CUDA_C_32F;
template <>
inline constexpr cudaDataType kTypeOf<cuDoubleComplex> = CUDA_C_64F;
template <>
inline constexpr cudaDataType kTypeOf<int32_t> = CUDA_R_32I;

// body(Type<C>{}) with the type that a function computes with; NOT_SUPPORTED for others.
template <typename Body>
cusparseStatus_t WithCompute(cudaDataType type, const Body& body) {
  if (type == CUDA_R_32F) return body(Type<float>{});
  if (type == CUDA_R_64F) return body(Type<double>{});
  if (type == CUDA_C_32F) return body(Type<cuComplex>{});
  if (type == CUDA_C_64F) return body(Type<cuDoubleComplex>{});
  if (type == CUDA_R_32I) return body(Type<int32_t>{});
  return CUSPARSE_STATUS_NOT_SUPPORTED;
}

// A complex value of two narrow ones.
template <typename Part>
struct NarrowComplex {
  Part re, im;
};

// visit(pointer to the stored type); nothing for types that no function stores.
template <typename Visit>
void WithStored(cudaDataType type, void* data, const Visit& visit) {
  if (type == CUDA_R_32F) return visit(static_cast<float*>(data));
  if (type == CUDA_R_64F) return visit(static_cast<double*>(data));
  if (type == CUDA_C_32F) return visit(static_cast<cuComplex*>(data));
  if (type == CUDA_C_64F) return visit(static_cast<cuDoubleComplex*>(data));
  if (type == CUDA_R_32I) return visit(static_cast<int32_t*>(data));
  if (type == CUDA_R_8I) return visit(static_cast<int8_t*>(data));
  if (type == CUDA_R_16F) return visit(static_cast<__half*>(data));
  if (type == CUDA_R_16BF) return visit(static_cast<__nv_bfloat16*>(data));
  if (type == CUDA_C_16F) return visit(static_cast<NarrowComplex<__half>*>(data));
  if (type == CUDA_C_16BF) return visit(static_cast<NarrowComplex<__nv_bfloat16>*>(data));
}
int64_t BytesOf(cudaDataType type);  // 0: a type that no function stores

template <typename S>
concept IsNarrow = std::is_same_v<S, __half> || std::is_same_v<S, __nv_bfloat16>;

template <typename C, typename S>
C ConvertFrom(const S& value) {
  if constexpr (IsNarrow<S>) {
    return static_cast<C>(libraries::ToFloat(value));
  } else if constexpr (requires { value.re; }) {
    if constexpr (kIsComplex<C>) return {libraries::ToFloat(value.re), libraries::ToFloat(value.im)};
    return C{};
  } else if constexpr (kIsComplex<S> && !kIsComplex<C>) {
    return static_cast<C>(value.real());
  } else if constexpr (kIsComplex<C> && !kIsComplex<S>) {
    return C(static_cast<typename C::value_type>(value));
  } else {
    return C(value);
  }
}
template <typename C, typename S>
void ConvertTo(const C& value, S& to) {
  if constexpr (requires { to.re; }) {
    const auto wide = ConvertFrom<cuComplex>(value);
    libraries::FromFloat(wide.real(), to.re);
    libraries::FromFloat(wide.imag(), to.im);
  } else if constexpr (IsNarrow<S>) {
    libraries::FromFloat(ConvertFrom<float>(value), to);
  } else {
    to = ConvertFrom<S>(value);
  }
}

// A stored array that is read: as it is, or converted.
template <typename C>
class Operand {
 public:
  Operand(cudaDataType type, const void* data, int64_t count) : data_(static_cast<const C*>(data)) {
    if (type == kTypeOf<C>) return;
    converted_ = std::make_unique_for_overwrite<C[]>(static_cast<size_t>(count));
    WithStored(type, const_cast<void*>(data), [&](const auto* from) {
      for (int64_t i = 0; i < count; ++i) converted_[i] = ConvertFrom<C>(from[i]);
    });
    data_ = converted_.get();
  }
  const C* get() const { return data_; }

 private:
  std::unique_ptr<C[]> converted_;
  const C* data_;
};

template <typename C>
C LoadAs(cudaDataType type, const void* data, int64_t i) {
  C value{};
  WithStored(type, const_cast<void*>(data), [&](const auto* from) { value = ConvertFrom<C>(from[i]); });
  return value;
}
template <typename C>
void StoreAs(cudaDataType type, void* data, int64_t i, const C& value) {
  WithStored(type, data, [&](auto* to) { ConvertTo(value, to[i]); });
}

// Which types of operands, of results and of computation go together.
struct TypeRow {
  cudaDataType a, b, c, compute;
};
// NOT_SUPPORTED unless they do.
cusparseStatus_t CheckTypes(const TypeRow& types);

}  // namespace ptx2cpu::cusparse
