// Element-wise operations on tensors, reductions, and tensors of one value.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// `small` has the extents of `large`, or 1 where it is repeated.
bool Repeats(const Layout& small, const Layout& large) {
  if (small.extents.size() != large.extents.size()) return false;
  for (size_t axis = 0; axis < small.extents.size(); ++axis) {
    if (small.extents[axis] != 1 && small.extents[axis] != large.extents[axis]) return false;
  }
  return true;
}

// A tensor that has the extents of another: steps of 0 where it is repeated.
Layout Repeated(const Layout& small, const Layout& large) {
  Layout repeated{small.type, large.extents, small.strides};
  for (size_t axis = 0; axis < small.extents.size(); ++axis) {
    if (small.extents[axis] == 1) repeated.strides[axis] = 0;
  }
  return repeated;
}

template <typename R>
R Combined(cudnnOpTensorOp_t op, cudnnNanPropagation_t nan, R a, R b) {
  const bool propagates = nan == CUDNN_PROPAGATE_NAN;
  switch (op) {
    case CUDNN_OP_TENSOR_ADD:
      return a + b;
    case CUDNN_OP_TENSOR_MUL:
      return a * b;
    case CUDNN_OP_TENSOR_MIN:
      return propagates && (a != a || b != b) ? a + b : std::fmin(a, b);
    case CUDNN_OP_TENSOR_MAX:
      return propagates && (a != a || b != b) ? a + b : std::fmax(a, b);
    case CUDNN_OP_TENSOR_SQRT:
      return std::sqrt(a);
    case CUDNN_OP_TENSOR_NOT:
      return 1 - a;
  }
  return a;
}

bool UsesBoth(cudnnOpTensorOp_t op) { return op < CUDNN_OP_TENSOR_SQRT; }

bool FindsPlaces(cudnnReduceTensorOp_t op) {
  return op == CUDNN_REDUCE_TENSOR_MIN || op == CUDNN_REDUCE_TENSOR_MAX || op == CUDNN_REDUCE_TENSOR_AMAX;
}
bool WantsPlaces(const cudnnReduceTensorStruct& reduction) {
  return reduction.indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES && FindsPlaces(reduction.op);
}

// One number of a reduction so far.
class Reduced {
 public:
  explicit Reduced(const cudnnReduceTensorStruct& r) : op_(r.op), propagates_(r.nan == CUDNN_PROPAGATE_NAN) {
    if (op_ == CUDNN_REDUCE_TENSOR_MUL || op_ == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS) value_ = 1;
    if (op_ == CUDNN_REDUCE_TENSOR_MIN) value_ = std::numeric_limits<double>::infinity();
    if (op_ == CUDNN_REDUCE_TENSOR_MAX) value_ = -std::numeric_limits<double>::infinity();
  }

  void Add(double x, int64_t place) {
    switch (op_) {
      case CUDNN_REDUCE_TENSOR_ADD:
      case CUDNN_REDUCE_TENSOR_AVG:
        value_ += x;
        break;
      case CUDNN_REDUCE_TENSOR_MUL:
        value_ *= x;
        break;
      case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
        value_ *= x == 0 ? 1 : x;
        break;
      case CUDNN_REDUCE_TENSOR_NORM1:
        value_ += std::abs(x);
        break;
      case CUDNN_REDUCE_TENSOR_NORM2:
        value_ += x * x;
        break;
      case CUDNN_REDUCE_TENSOR_MIN:
        Take(x, x < value_, place);
        break;
      case CUDNN_REDUCE_TENSOR_MAX:
        Take(x, x > value_, place);
        break;
      case CUDNN_REDUCE_TENSOR_AMAX:
        Take(std::abs(x), std::abs(x) > value_, place);
        break;
    }
    ++count_;
  }

  double value() const {
    if (op_ == CUDNN_REDUCE_TENSOR_AVG) return value_ / static_cast<double>(count_);
    return op_ == CUDNN_REDUCE_TENSOR_NORM2 ? std::sqrt(value_) : value_;
  }
  int64_t place() const { return place_; }

 private:
  void Take(double x, bool wins, int64_t place) {
    const bool is_first_nan = propagates_ && x != x && value_ == value_;
    if (!wins && !is_first_nan) return;
    value_ = x, place_ = place;
  }

  cudnnReduceTensorOp_t op_;
  bool propagates_;
  double value_ = 0;
  int64_t place_ = 0, count_ = 0;
};

// The axes of `from` that are reduced, or those that are left, as a packed tensor: for each index of them the
// place in `from`.
std::vector<int64_t> Places(const Layout& from, const Layout& to, bool reduced) {
  const std::vector<int64_t> strides = PackedStrides(from.extents);
  std::vector<int64_t> places{0};
  for (size_t axis = 0; axis < from.extents.size(); ++axis) {
    if ((to.extents[axis] != from.extents[axis]) != reduced) continue;
    std::vector<int64_t> more;
    for (int64_t place : places) {
      for (int64_t i = 0; i < from.extents[axis]; ++i) more.push_back(place + i * strides[axis]);
    }
    places = std::move(more);
  }
  return places;
}

}  // namespace

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t xLayout,
                                   const void* x, const void* beta, cudnnTensorDescriptor_t yLayout,
                                   void* y) {
  if (!AllGiven(handle, alpha, xLayout, x, beta, yLayout, y)) return CUDNN_STATUS_BAD_PARAM;
  if (xLayout->layout.extents != yLayout->layout.extents) return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnTransformTensor", alpha, beta, yLayout->layout, y,
                [=, xl = xLayout->layout]<typename R>(R* result) {
                  const Packed<R> input(xl, x);
                  std::copy_n(input.get(), xl.Count(), result);
                });
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t aLayout,
                             const void* a, const void* beta, cudnnTensorDescriptor_t cLayout, void* c) {
  if (!AllGiven(handle, alpha, aLayout, a, beta, cLayout, c)) return CUDNN_STATUS_BAD_PARAM;
  if (!Repeats(aLayout->layout, cLayout->layout)) return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnAddTensor", alpha, beta, cLayout->layout, c,
                [=, al = Repeated(aLayout->layout, cLayout->layout)]<typename R>(R* result) {
                  const Packed<R> input(al, a);
                  std::copy_n(input.get(), al.Count(), result);
                });
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t layout, void* y,
                             const void* value) {
  if (!AllGiven(handle, layout, y, value)) return CUDNN_STATUS_BAD_PARAM;
  // The value has the type of factors: float for tensors of 16 bits.
  return OnStream(handle, "cudnnSetTensor",
                  [=, yl = layout->layout, number = Factor(value, layout->layout.type)] {
                    WithReal(yl.type, [&]<typename R>(R) {
                      const auto result = Storage<R>(yl.Count());
                      std::fill_n(result.get(), yl.Count(), static_cast<R>(number));
                      Blend<R>(yl, y, result.get(), 1, 0);
                    });
                  });
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t layout, void* y,
                               const void* alpha) {
  if (!AllGiven(handle, layout, y, alpha)) return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnScaleTensor", alpha, nullptr, layout->layout, y,
                [=, yl = layout->layout]<typename R>(R* result) {
                  const Packed<R> input(yl, y);
                  std::copy_n(input.get(), yl.Count(), result);
                });
}

cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, cudnnOpTensorDescriptor_t operation, const void* alpha1,
                            cudnnTensorDescriptor_t aLayout, const void* a, const void* alpha2,
                            cudnnTensorDescriptor_t bLayout, const void* b, const void* beta,
                            cudnnTensorDescriptor_t cLayout, void* c) {
  if (!AllGiven(handle, operation, alpha1, aLayout, a, beta, cLayout, c)) return CUDNN_STATUS_BAD_PARAM;
  const bool both = UsesBoth(operation->op);
  if (both && (!AllGiven(alpha2, bLayout, b) || !Repeats(bLayout->layout, cLayout->layout)))
    return CUDNN_STATUS_BAD_PARAM;
  if (aLayout->layout.extents != cLayout->layout.extents) return CUDNN_STATUS_BAD_PARAM;
  const double first = Factor(alpha1, cLayout->layout.type),
               second = both ? Factor(alpha2, cLayout->layout.type) : 0;
  const Layout other = both ? Repeated(bLayout->layout, cLayout->layout) : aLayout->layout;
  const void* const other_data = both ? b : a;
  const double one = 1;
  const float one_single = 1;
  const bool is_double = cLayout->layout.type == CUDNN_DATA_DOUBLE;
  return Submit(handle, "cudnnOpTensor", is_double ? static_cast<const void*>(&one) : &one_single, beta,
                cLayout->layout, c, [=, al = aLayout->layout, what = *operation]<typename R>(R* result) {
                  const Packed<R> x(al, a), y(other, other_data);
                  constexpr int64_t kGrain = 4096;
                  libraries::ForRanges(al.Count(), kGrain, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      result[i] = Combined(what.op, what.nan, static_cast<R>(first) * x.get()[i],
                                           static_cast<R>(second) * y.get()[i]);
                    }
                  });
                });
}

cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t reduction,
                                           cudnnTensorDescriptor_t aLayout, cudnnTensorDescriptor_t cLayout,
                                           size_t* size) {
  if (!AllGiven(handle, reduction, aLayout, cLayout, size)) return CUDNN_STATUS_BAD_PARAM;
  *size = WantsPlaces(*reduction) ? static_cast<size_t>(cLayout->layout.Count()) * sizeof(uint32_t) : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t reduction,
                                             cudnnTensorDescriptor_t aLayout, cudnnTensorDescriptor_t cLayout,
                                             size_t* size) {
  if (!AllGiven(handle, reduction, aLayout, cLayout, size)) return CUDNN_STATUS_BAD_PARAM;
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t reduction, void* indices,
                                size_t indicesSize, void* workspace, size_t workspaceSize, const void* alpha,
                                cudnnTensorDescriptor_t aLayout, const void* a, const void* beta,
                                cudnnTensorDescriptor_t cLayout, void* c) {
  if (!AllGiven(handle, reduction, alpha, aLayout, a, beta, cLayout, c)) return CUDNN_STATUS_BAD_PARAM;
  if (!Repeats(cLayout->layout, aLayout->layout)) return CUDNN_STATUS_BAD_PARAM;
  const size_t needed = static_cast<size_t>(cLayout->layout.Count()) * sizeof(uint32_t);
  const bool wants_places = WantsPlaces(*reduction);
  if (wants_places && (indices == nullptr || indicesSize < needed)) return CUDNN_STATUS_BAD_PARAM;
  auto* const places = wants_places ? static_cast<uint32_t*>(indices) : nullptr;
  return Submit(handle, "cudnnReduceTensor", alpha, beta, cLayout->layout, c,
                [=, al = aLayout->layout, cl = cLayout->layout, what = *reduction]<typename R>(R* result) {
                  const Packed<R> input(al, a);
                  const std::vector<int64_t> left = Places(al, cl, false), within = Places(al, cl, true);
                  libraries::ForRanges(cl.Count(), 1, [&](int64_t begin, int64_t end) {
                    for (int64_t n = begin; n < end; ++n) {
                      Reduced reduced(what);
                      for (size_t i = 0; i < within.size(); ++i)
                        reduced.Add(input.get()[left[n] + within[i]], static_cast<int64_t>(i));
                      result[n] = static_cast<R>(reduced.value());
                      if (places != nullptr) places[n] = static_cast<uint32_t>(reduced.place());
                    }
                  });
                });
}

}  // namespace ptx2cpu::cudnn
