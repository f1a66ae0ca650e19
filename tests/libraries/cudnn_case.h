// Tensors of cuDNN as tests see them: numbers in the order N, C, space, in memory of any layout and type; and
// the library.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cudnn_types.h"
#include "runtime/cuda/libraries/core/narrow.h"
#include "tests/libraries/dropin.h"

namespace ptx2cpu {

inline const DropIn& Cudnn() {
  static const DropIn library("libcudnn.so.9");
  return library;
}
template <typename... Args>
void Cudnn(const std::string& name, Args... args) {
  INFO(name);
  REQUIRE(Cudnn().Call(name, args...) == 0);
}

struct DnnHandle {
  DnnHandle() { Cudnn("cudnnCreate", &handle); }
  ~DnnHandle() { Cudnn().Call("cudnnDestroy", handle); }
  DnnHandle(const DnnHandle&) = delete;
  DnnHandle& operator=(const DnnHandle&) = delete;
  cuda::cudnnHandle_t handle = nullptr;
};

// Numbers that no type rounds to another by much, and that differ.
inline std::vector<double> Numbers(size_t count, int seed) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = (static_cast<double>((i * 37 + static_cast<size_t>(seed) * 101) % 61) - 30) / 16;
  return numbers;
}

class DnnTensor {
 public:
  using Extents = std::vector<int>;
  DnnTensor(cuda::cudnnDataType_t type, Extents extents, cuda::cudnnTensorFormat_t format,
            std::vector<double> numbers, bool is_filter = false)
      : type_(type), extents_(std::move(extents)), is_filter_(is_filter) {
    int stride = 1;
    strides_.resize(extents_.size());
    auto place = [&](size_t axis) { strides_[axis] = stride, stride *= extents_[axis]; };
    if (format == cuda::CUDNN_TENSOR_NHWC) place(1);
    for (size_t axis = extents_.size(); axis-- > 2;) place(axis);
    if (format != cuda::CUDNN_TENSOR_NHWC) place(1);
    place(0);
    const int count = static_cast<int>(extents_.size());
    if (is_filter) {
      Cudnn("cudnnCreateFilterDescriptor", &filter_);
      Cudnn("cudnnSetFilterNdDescriptor", filter_, type, format, count,
            static_cast<const int*>(extents_.data()));
    } else {
      Cudnn("cudnnCreateTensorDescriptor", &tensor_);
      Cudnn("cudnnSetTensorNdDescriptor", tensor_, type, count, static_cast<const int*>(extents_.data()),
            static_cast<const int*>(strides_.data()));
    }
    memory_.resize(Count() * 8);
    numbers.resize(Count());
    for (size_t i = 0; i < Count(); ++i) Put(PlaceOf(i), numbers[i]);
  }
  // What was submitted may still use its memory.
  ~DnnTensor() {
    cudart::cudaDeviceSynchronize();
    if (is_filter_)
      Cudnn().Call("cudnnDestroyFilterDescriptor", filter_);
    else
      Cudnn().Call("cudnnDestroyTensorDescriptor", tensor_);
  }
  DnnTensor(const DnnTensor&) = delete;
  DnnTensor& operator=(const DnnTensor&) = delete;

  size_t Count() const {
    return static_cast<size_t>(std::accumulate(extents_.begin(), extents_.end(), 1, std::multiplies<>()));
  }
  std::vector<double> Get() const {
    std::vector<double> numbers(Count());
    for (size_t i = 0; i < Count(); ++i) numbers[i] = At(PlaceOf(i));
    return numbers;
  }
  const Extents& extents() const { return extents_; }
  cuda::cudnnTensorDescriptor_t tensor() const { return tensor_; }
  cuda::cudnnFilterDescriptor_t filter() const { return filter_; }
  void* data() { return memory_.data(); }
  const void* data() const { return memory_.data(); }

 private:
  size_t PlaceOf(size_t number) const {
    size_t place = 0;
    for (size_t axis = extents_.size(); axis-- > 0;) {
      const auto extent = static_cast<size_t>(extents_[axis]);
      place += number % extent * static_cast<size_t>(strides_[axis]);
      number /= extent;
    }
    return place;
  }
  template <typename T>
  T& As(size_t place) const {
    return reinterpret_cast<T*>(const_cast<char*>(memory_.data()))[place];
  }
  double At(size_t place) const {
    switch (type_) {
      case cuda::CUDNN_DATA_DOUBLE:
        return As<double>(place);
      case cuda::CUDNN_DATA_HALF:
        return libraries::ToFloat(As<cuda::__half>(place));
      case cuda::CUDNN_DATA_BFLOAT16:
        return libraries::ToFloat(As<cuda::__nv_bfloat16>(place));
      case cuda::CUDNN_DATA_INT8:
        return As<int8_t>(place);
      case cuda::CUDNN_DATA_INT32:
        return As<int32_t>(place);
      default:
        return As<float>(place);
    }
  }
  void Put(size_t place, double value) {
    switch (type_) {
      case cuda::CUDNN_DATA_DOUBLE:
        As<double>(place) = value;
        return;
      case cuda::CUDNN_DATA_HALF:
        return libraries::FromFloat(static_cast<float>(value), As<cuda::__half>(place));
      case cuda::CUDNN_DATA_BFLOAT16:
        return libraries::FromFloat(static_cast<float>(value), As<cuda::__nv_bfloat16>(place));
      case cuda::CUDNN_DATA_INT8:
        As<int8_t>(place) = static_cast<int8_t>(value);
        return;
      case cuda::CUDNN_DATA_INT32:
        As<int32_t>(place) = static_cast<int32_t>(value);
        return;
      default:
        As<float>(place) = static_cast<float>(value);
    }
  }

  cuda::cudnnDataType_t type_;
  Extents extents_, strides_;
  bool is_filter_;
  cuda::cudnnTensorDescriptor_t tensor_ = nullptr;
  cuda::cudnnFilterDescriptor_t filter_ = nullptr;
  std::vector<char> memory_;
};

// A factor as functions take it: double where tensors are double.
class DnnFactor {
 public:
  DnnFactor(double value, cuda::cudnnDataType_t type)
      : is_double_(type == cuda::CUDNN_DATA_DOUBLE), wide_(value), narrow_(static_cast<float>(value)) {}
  operator const void*() const { return is_double_ ? static_cast<const void*>(&wide_) : &narrow_; }

 private:
  bool is_double_;
  double wide_;
  float narrow_;
};

// Waits for the work, and compares within rounding of the type that results are stored in, relative to
// `size`, of what was summed.
inline void CheckNear(cuda::cudnnDataType_t type, const DnnTensor& tensor, const std::vector<double>& wanted,
                      double size = 1) {
  REQUIRE(cudart::cudaDeviceSynchronize() == cuda::cudaSuccess);
  const std::vector<double> found = tensor.Get();
  REQUIRE(found.size() == wanted.size());
  const double unit = type == cuda::CUDNN_DATA_DOUBLE     ? 1e-14
                      : type == cuda::CUDNN_DATA_HALF     ? 1e-3
                      : type == cuda::CUDNN_DATA_BFLOAT16 ? 8e-3
                                                          : 2e-6;
  for (size_t i = 0; i < found.size(); ++i) {
    INFO(i << ": " << found[i] << " for " << wanted[i]);
    REQUIRE(std::abs(found[i] - wanted[i]) <= unit * (std::abs(wanted[i]) + size));
  }
}

}  // namespace ptx2cpu
