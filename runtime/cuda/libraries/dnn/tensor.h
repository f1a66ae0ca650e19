// Tensors of any layout and type as packed arrays of floats or doubles, in which all functions compute:
// double where the tensors are, float elsewhere.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

// Reads: a copy in the order of the extents, or the memory itself where it is that.
template <typename R>
class Packed {
 public:
  Packed(const Layout& layout, const void* data);
  const R* get() const { return values_; }

 private:
  std::unique_ptr<R[]> copy_;
  const R* values_;
};
// The same into memory of the caller's.
template <typename R>
void Load(const Layout& layout, const void* data, R* values);
// What is left of the values when they are stored in elements of `type`.
template <typename R>
void Round(cudnnDataType_t type, R* values, int64_t count);
// to = alpha * values + beta * to; where beta is 0, what was there is not read.
template <typename R>
void Blend(const Layout& layout, void* to, const R* values, R alpha, R beta);

// Bytes of an element, also for the types that only graphs have.
int64_t ElementBytes(cudnnDataType_t type);

// Storage without initial values.
template <typename R>
std::unique_ptr<R[]> Storage(int64_t count) {
  return std::make_unique_for_overwrite<R[]>(static_cast<size_t>(count));
}

// A scaling factor: double where tensors are double, float elsewhere. Read when the function is called.
inline double Factor(const void* factor, cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(factor) : *static_cast<const float*>(factor);
}

// Calls run(R{}) with the type in which tensors of `type` are computed.
template <typename Run>
void WithReal(cudnnDataType_t type, Run&& run) {
  if (type == CUDNN_DATA_DOUBLE)
    run(double{});
  else
    run(float{});
}

// to = alpha * result + beta * to on the handle's stream, where fill(result) computes a packed tensor of the
// layout's size, in float or double.
template <typename Fill>
cudnnStatus_t Submit(cudnnHandle_t handle, const char* name, const void* alpha, const void* beta,
                     const Layout& layout, void* to, Fill fill) {
  const double a = Factor(alpha, layout.type), b = beta == nullptr ? 0 : Factor(beta, layout.type);
  return OnStream(handle, name, [layout, to, a, b, fill = std::move(fill)] {
    WithReal(layout.type, [&]<typename R>(R) {
      const auto result = Storage<R>(layout.Count());
      fill(result.get());
      Blend<R>(layout, to, result.get(), static_cast<R>(a), static_cast<R>(b));
    });
  });
}

}  // namespace ptx2cpu::cudnn
