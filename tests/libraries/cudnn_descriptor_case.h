// Descriptors of cuDNN's backend API and their attributes as tests set them; elements of tensors as numbers.
#pragma once

#include "runtime/cuda/abi/cudnn_backend_types.h"
#include "tests/libraries/cudnn_case.h"

namespace ptx2cpu {

class DnnDescriptors {
 public:
  using Extents = std::vector<int64_t>;
  using Descriptor = cuda::cudnnBackendDescriptor_t;

  DnnDescriptors() = default;
  ~DnnDescriptors() {
    for (Descriptor each : descriptors_) Cudnn().Call("cudnnBackendDestroyDescriptor", each);
  }
  DnnDescriptors(const DnnDescriptors&) = delete;
  DnnDescriptors& operator=(const DnnDescriptors&) = delete;

  Descriptor Make(cuda::cudnnBackendDescriptorType_t type) {
    Descriptor descriptor = nullptr;
    Cudnn("cudnnBackendCreateDescriptor", type, &descriptor);
    descriptors_.push_back(descriptor);
    return descriptor;
  }
  template <typename T>
  static int TrySet(Descriptor to, cuda::cudnnBackendAttributeName_t name,
                    cuda::cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    return Cudnn().Call("cudnnBackendSetAttribute", to, name, type, static_cast<int64_t>(values.size()),
                        static_cast<const void*>(values.data()));
  }
  template <typename T>
  static void Set(Descriptor to, cuda::cudnnBackendAttributeName_t name,
                  cuda::cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    INFO("attribute " << name);
    REQUIRE(TrySet(to, name, type, values) == 0);
  }
  static void Set(Descriptor to, cuda::cudnnBackendAttributeName_t name, Descriptor value) {
    Set(to, name, cuda::CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{value});
  }
  static void Set(Descriptor to, cuda::cudnnBackendAttributeName_t name, double value) {
    Set(to, name, cuda::CUDNN_TYPE_DOUBLE, std::vector{value});
  }
  static void Set(Descriptor to, cuda::cudnnBackendAttributeName_t name, const Extents& values) {
    Set(to, name, cuda::CUDNN_TYPE_INT64, values);
  }
  // Enumerators: their type is that of the attribute.
  template <typename Enumerator>
  static void SetMode(Descriptor to, cuda::cudnnBackendAttributeName_t name,
                      cuda::cudnnBackendAttributeType_t type, Enumerator value) {
    Set(to, name, type, std::vector<int>{static_cast<int>(value)});
  }

 private:
  std::vector<Descriptor> descriptors_ = {};
};

template <typename T>
double NumberOf(const T& at) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(at);
  else
    return libraries::ToFloat(at);
}
template <typename T>
void Store(double number, T& at) {
  if constexpr (std::is_arithmetic_v<T>)
    at = static_cast<T>(number);
  else
    libraries::FromFloat(static_cast<float>(number), at);
}
// Calls each with the element at `place` of an array.
template <typename Each>
void ForElement(cuda::cudnnDataType_t type, char* memory, size_t place, const Each& each) {
  auto as = [&]<typename T>(T) { each(reinterpret_cast<T*>(memory)[place]); };
  switch (type) {
    case cuda::CUDNN_DATA_DOUBLE:
      return as(double{});
    case cuda::CUDNN_DATA_HALF:
      return as(cuda::__half{});
    case cuda::CUDNN_DATA_BFLOAT16:
      return as(cuda::__nv_bfloat16{});
    case cuda::CUDNN_DATA_INT8:
      return as(int8_t{});
    case cuda::CUDNN_DATA_UINT8:
    case cuda::CUDNN_DATA_BOOLEAN:
      return as(uint8_t{});
    case cuda::CUDNN_DATA_INT32:
      return as(int32_t{});
    case cuda::CUDNN_DATA_INT64:
      return as(int64_t{});
    default:
      return as(float{});
  }
}

}  // namespace ptx2cpu
