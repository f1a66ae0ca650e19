#include "runtime/cuda/libraries/dnn/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/cuda/libraries/core/fp8.h"
#include "runtime/cuda/libraries/core/narrow.h"
#include "runtime/cuda/libraries/core/parallel.h"

namespace ptx2cpu::cudnn {

namespace {

template <typename R, typename T>
R Real(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<R>(value);
  } else {
    return static_cast<R>(libraries::ToFloat(value));
  }
}
template <typename R, typename T>
void Put(R value, T& to) {
  if constexpr (std::is_integral_v<T>) {  // to the nearest, within the type's bounds; 2^31 - 1 is no float
    const double nearest = std::nearbyint(static_cast<double>(value));
    constexpr auto kLeast = std::numeric_limits<T>::min(), kGreatest = std::numeric_limits<T>::max();
    if (std::isnan(nearest)) {
      to = 0;
    } else {  // the largest of 64 bits is no double
      to = nearest >= static_cast<double>(kGreatest) ? kGreatest
           : nearest <= static_cast<double>(kLeast)  ? kLeast
                                                     : static_cast<T>(nearest);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    to = static_cast<T>(value);
  } else {
    libraries::FromFloat(static_cast<float>(value), to);
  }
}

struct TypeRow {
  cudnnDataType_t type;
  int64_t bytes;
};
// The types of tensors; graphs have more.
constexpr TypeRow kTypes[] = {{CUDNN_DATA_FLOAT, 4}, {CUDNN_DATA_DOUBLE, 8}, {CUDNN_DATA_HALF, 2},
                              {CUDNN_DATA_INT8, 1},  {CUDNN_DATA_INT32, 4},  {CUDNN_DATA_BFLOAT16, 2}};

// Calls run(pointer of the type's elements).
template <typename Pointer, typename Run>
void WithElements(cudnnDataType_t type, Pointer data, Run&& run) {
  auto as = [&]<typename T>(T) {
    using Element = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const T, T>;
    run(static_cast<Element*>(data));
  };
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return as(float{});
    case CUDNN_DATA_DOUBLE:
      return as(double{});
    case CUDNN_DATA_HALF:
      return as(__half{});
    case CUDNN_DATA_INT8:
      return as(int8_t{});
    case CUDNN_DATA_INT32:
      return as(int32_t{});
    case CUDNN_DATA_UINT8:
      return as(uint8_t{});
    case CUDNN_DATA_BFLOAT16:
      return as(__nv_bfloat16{});
    case CUDNN_DATA_INT64:
      return as(int64_t{});
    case CUDNN_DATA_BOOLEAN:
      return as(bool{});
    case CUDNN_DATA_FP8_E4M3:
      return as(libraries::Fp8E4m3{});
    case CUDNN_DATA_FP8_E5M2:
      return as(libraries::Fp8E5m2{});
  }
}

// row(place of its first element in memory, place in the packed array), of the last extent's elements each.
template <typename Row>
void ForRows(const Layout& layout, const Row& row) {
  const size_t last = layout.extents.size() - 1;
  const int64_t length = layout.extents[last], rows = length == 0 ? 0 : layout.Count() / length;
  constexpr int64_t kGrain = 16384;
  libraries::ForRanges(rows, std::max<int64_t>(kGrain / std::max<int64_t>(length, 1), 1),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t n = begin; n < end; ++n) {
                           int64_t place = 0, rest = n;
                           for (size_t axis = last; axis-- > 0;) {
                             place += rest % layout.extents[axis] * layout.strides[axis];
                             rest /= layout.extents[axis];
                           }
                           row(place, n * length);
                         }
                       });
}

}  // namespace

int64_t BytesOf(cudnnDataType_t type) {
  const auto* row = std::ranges::find(kTypes, type, &TypeRow::type);
  return row == std::end(kTypes) ? 0 : row->bytes;
}

int64_t ElementBytes(cudnnDataType_t type) {
  int64_t bytes = 0;
  WithElements(type, static_cast<const void*>(nullptr), [&]<typename T>(T*) { bytes = sizeof(T); });
  return bytes;
}

int64_t Layout::Count() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}
bool Layout::IsPacked() const {
  const std::vector<int64_t> packed = PackedStrides(extents);
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] != 1 && strides[axis] != packed[axis]) return false;
  }
  return true;
}

std::vector<int64_t> PackedStrides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t axis = extents.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * extents[axis];
  return strides;
}
std::vector<int64_t> StridesOf(cudnnTensorFormat_t format, const std::vector<int64_t>& extents) {
  if (format == CUDNN_TENSOR_NCHW) return PackedStrides(extents);
  if (format != CUDNN_TENSOR_NHWC || extents.size() < 2) return {};
  std::vector<int64_t> last(extents);
  last.erase(last.begin() + 1);
  last.push_back(extents[1]);
  std::vector<int64_t> strides = PackedStrides(last);
  strides.insert(strides.begin() + 1, strides.back());
  strides.pop_back();
  return strides;
}

template <typename R>
Packed<R>::Packed(const Layout& layout, const void* data) {
  const bool is_real = layout.type == (std::is_same_v<R, double> ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  values_ = static_cast<const R*>(data);
  if (is_real && layout.IsPacked()) return;
  copy_ = Storage<R>(layout.Count());
  values_ = copy_.get();
  Load(layout, data, copy_.get());
}

template <typename R>
void Load(const Layout& layout, const void* data, R* values) {
  const int64_t length = layout.extents.back(), step = layout.strides.back();
  WithElements(layout.type, data, [&](const auto* from) {
    ForRows(layout, [&](int64_t place, int64_t packed) {
      if (step == 1) {
        for (int64_t i = 0; i < length; ++i) values[packed + i] = Real<R>(from[place + i]);
      } else {
        for (int64_t i = 0; i < length; ++i) values[packed + i] = Real<R>(from[place + i * step]);
      }
    });
  });
}

template <typename R>
void Round(cudnnDataType_t type, R* values, int64_t count) {
  WithElements(type, static_cast<void*>(values), [&]<typename T>(T*) {
    libraries::ForRanges(count, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T stored;
        Put(values[i], stored);
        values[i] = Real<R>(stored);
      }
    });
  });
}

template <typename R>
void Blend(const Layout& layout, void* to, const R* values, R alpha, R beta) {
  const int64_t length = layout.extents.back(), step = layout.strides.back();
  WithElements(layout.type, to, [&](auto* elements) {
    ForRows(layout, [&](int64_t place, int64_t packed) {
      for (int64_t i = 0; i < length; ++i) {
        auto& element = elements[place + i * step];
        const R value = alpha * values[packed + i];
        Put(beta == 0 ? value : value + beta * Real<R>(element), element);
      }
    });
  });
}

template void Load(const Layout&, const void*, float*);
template void Load(const Layout&, const void*, double*);
template void Round(cudnnDataType_t, float*, int64_t);
template void Round(cudnnDataType_t, double*, int64_t);
template class Packed<float>;
template class Packed<double>;
template void Blend(const Layout&, void*, const float*, float, float);
template void Blend(const Layout&, void*, const double*, double, double);

cudnnStatus_t FromDriver(CUresult result) {
  if (result == CUDA_SUCCESS) [[likely]]
    return CUDNN_STATUS_SUCCESS;
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace ptx2cpu::cudnn
