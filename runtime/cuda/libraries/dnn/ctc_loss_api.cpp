// Losses over alignments (A. Graves et al., Connectionist Temporal Classification, 2006): the cost is minus
// the logarithm of the probability of all paths that the labels are left of, without repetitions and blanks
// (class 0). Gradients are those of the numbers that soft-max makes probabilities of, also where
// probabilities are given.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b)).
double Either(double a, double b) {
  const double more = std::max(a, b), less = std::min(a, b);
  return less == kNever ? more : more + std::log1p(std::exp(less - more));
}

struct Loss {
  int64_t steps, batch, classes;
  bool normalizes, keeps_nan, skips;
};

// One sample: logarithms of probabilities by step and class, and its labels with blanks around each.
class Sample {
 public:
  Sample(const Loss& loss, int64_t steps, const double* logs, const int* labels, int64_t count)
      : classes_(loss.classes), steps_(steps), logs_(logs), places_(2 * count + 1), labels_(labels) {}

  double Cost() {
    before_ = Sums(false);
    const int64_t last = steps_ - 1;
    double total = steps_ == 0 ? (places_ == 1 ? 0 : kNever) : At(before_, last, places_ - 1);
    if (steps_ != 0 && places_ > 1) total = Either(total, At(before_, last, places_ - 2));
    return total_ = total;
  }
  // For each class the probability that a path has it at this step, of those that count.
  void Shares(int64_t step, std::vector<double>& shares) {
    if (after_.empty()) after_ = Sums(true);
    std::ranges::fill(shares, kNever);
    for (int64_t place = 0; place < places_; ++place) {
      double& share = shares[static_cast<size_t>(ClassAt(place))];
      const double own = logs_[step * classes_ + ClassAt(place)];  // both sums have it
      if (own != kNever) share = Either(share, At(before_, step, place) + At(after_, step, place) - own);
    }
    for (double& share : shares) share = std::exp(share - total_);
  }

 private:
  int64_t ClassAt(int64_t place) const { return place % 2 == 0 ? 0 : labels_[place / 2]; }
  double At(const std::vector<double>& sums, int64_t step, int64_t place) const {
    return sums[static_cast<size_t>(step * places_ + place)];
  }
  // The sums over all paths that are at a place at a step, from the beginning or to the end, with this step's
  // class.
  std::vector<double> Sums(bool from_end) const {
    std::vector<double> sums(static_cast<size_t>(steps_ * places_), kNever);
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t step = from_end ? steps_ - 1 - i : i;
      for (int64_t j = 0; j < places_; ++j) {
        // Towards where paths begin.
        const auto place = [&](int64_t back) { return from_end ? places_ - 1 - (j - back) : j - back; };
        const auto last = [&](int64_t back) {
          return j < back ? kNever : At(sums, from_end ? step + 1 : step - 1, place(back));
        };
        double sum = i == 0 ? (j < 2 ? 0 : kNever) : Either(last(0), last(1));
        // A blank between two labels may be left out where they differ.
        if (i != 0 && j >= 2 && ClassAt(place(0)) != 0 && ClassAt(place(0)) != ClassAt(place(2)))
          sum = Either(sum, last(2));
        sums[static_cast<size_t>(step * places_ + place(0))] =
            sum + logs_[step * classes_ + ClassAt(place(0))];
      }
    }
    return sums;
  }

  const int64_t classes_, steps_;
  const double* const logs_;
  const int64_t places_;
  const int* const labels_;
  std::vector<double> before_, after_;
  double total_ = kNever;
};

// Logarithms of a sample's probabilities.
template <typename R>
std::vector<double> LogsOf(const Loss& loss, const R* x, int64_t sample) {
  std::vector<double> logs(static_cast<size_t>(loss.steps * loss.classes));
  for (int64_t step = 0; step < loss.steps; ++step) {
    const R* const from = x + (step * loss.batch + sample) * loss.classes;
    double* const to = &logs[static_cast<size_t>(step * loss.classes)];
    double largest = *std::max_element(from, from + loss.classes), sum = 0;
    for (int64_t i = 0; i < loss.classes; ++i) sum += std::exp(from[i] - largest);
    for (int64_t i = 0; i < loss.classes; ++i)
      to[i] = loss.normalizes ? from[i] - largest - std::log(sum) : std::log(static_cast<double>(from[i]));
  }
  return logs;
}

// Cost and gradients of one sample. `dx` null: the cost alone.
template <typename R>
void Compute(const Loss& loss, const R* x, int64_t number, const int* labels, int64_t count, int64_t steps,
             R& cost, R* dx) {
  const std::vector<double> logs = LogsOf(loss, x, number);
  Sample sample(loss, steps, logs.data(), labels, count);
  const double total = sample.Cost();
  cost = static_cast<R>(-total);
  std::vector<double> shares(static_cast<size_t>(loss.classes));
  for (int64_t step = 0; dx != nullptr && step < loss.steps; ++step) {
    if (total != kNever && step < steps) sample.Shares(step, shares);
    R* const to = dx + (step * loss.batch + number) * loss.classes;
    for (int64_t i = 0; i < loss.classes; ++i) {
      if (total == kNever) {
        if (!loss.skips) to[i] = loss.keeps_nan ? std::numeric_limits<R>::quiet_NaN() : R{0};
      } else {
        to[i] = step >= steps ? R{0}
                              : static_cast<R>(std::exp(logs[static_cast<size_t>(step * loss.classes + i)]) -
                                               shares[static_cast<size_t>(i)]);
      }
    }
  }
}

cudnnStatus_t Check(cudnnHandle_t handle, cudnnCTCLossDescriptor_t loss, cudnnTensorDescriptor_t x,
                    cudnnTensorDescriptor_t dx, cudnnCTCLossAlgo_t algo) {
  if (!AllGiven(handle, loss, x)) return CUDNN_STATUS_BAD_PARAM;
  if (algo != CUDNN_CTC_LOSS_ALGO_DETERMINISTIC && algo != CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC)
    return CUDNN_STATUS_BAD_PARAM;
  const Layout& layout = x->layout;
  if (layout.extents.size() != 3 || (dx != nullptr && dx->layout.extents != layout.extents))
    return CUDNN_STATUS_BAD_PARAM;
  const bool real = layout.type == CUDNN_DATA_FLOAT || layout.type == CUDNN_DATA_DOUBLE;
  return real && layout.type == loss->type && (dx == nullptr || dx->layout.type == layout.type)
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_NOT_SUPPORTED;
}

// Labels and lengths as the work reads them: copies of the host's, or where they are on the device.
struct Labels {
  const int *labels, *counts, *lengths;
  std::vector<int> copies[3] = {};
};

cudnnStatus_t SubmitLoss(cudnnHandle_t handle, const char* name, const cudnnCTCLossStruct& descriptor,
                         const Layout& x_layout, const void* x, Labels given, void* costs,
                         const Layout& dx_layout, void* dx) {
  const Loss loss{x_layout.extents[0],
                  x_layout.extents[1],
                  x_layout.extents[2],
                  descriptor.normalization == CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                  descriptor.nan == CUDNN_PROPAGATE_NAN,
                  descriptor.gradients == CUDNN_CTC_SKIP_OOB_GRADIENTS};
  return OnStream(handle, name, [=, of = std::move(given)] {
    const auto at = [&](const int* device, size_t copy) {
      return device != nullptr ? device : of.copies[copy].data();
    };
    const int *const labels = at(of.labels, 0), *const counts = at(of.counts, 1),
                     *const lengths = at(of.lengths, 2);
    std::vector<int64_t> first{0};
    for (int64_t i = 0; i < loss.batch; ++i) first.push_back(first.back() + counts[i]);
    WithReal(x_layout.type, [&]<typename R>(R) {
      const Packed<R> packed(x_layout, x);
      std::unique_ptr<R[]> gradients;
      if (dx != nullptr) {
        gradients = Storage<R>(dx_layout.Count());
        Load(dx_layout, dx, gradients.get());
      }
      libraries::ForEach(loss.batch, [&](int64_t i) {
        Compute<R>(loss, packed.get(), i, labels + first[static_cast<size_t>(i)], counts[i], lengths[i],
                   static_cast<R*>(costs)[i], gradients.get());
      });
      if (dx != nullptr) Blend<R>(dx_layout, dx, gradients.get(), 1, 0);
    });
  });
}

}  // namespace

cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t loss, cudnnDataType_t type) {
  return cudnnSetCTCLossDescriptorEx(loss, type, CUDNN_LOSS_NORMALIZATION_NONE, CUDNN_NOT_PROPAGATE_NAN);
}
cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t loss, cudnnDataType_t type,
                                          cudnnLossNormalizationMode_t normalization,
                                          cudnnNanPropagation_t nan) {
  return cudnnSetCTCLossDescriptor_v8(loss, type, normalization, nan, 0);
}
cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t loss, cudnnDataType_t type,
                                           cudnnLossNormalizationMode_t normalization,
                                           cudnnNanPropagation_t nan, int maxLabels) {
  if (loss == nullptr || type < CUDNN_DATA_FLOAT || type > kLastType || maxLabels < 0)
    return CUDNN_STATUS_BAD_PARAM;
  *loss = {type, normalization, nan, CUDNN_CTC_ZERO_OOB_GRADIENTS, maxLabels};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t loss, cudnnDataType_t type,
                                           cudnnLossNormalizationMode_t normalization,
                                           cudnnCTCGradMode_t gradients, int maxLabels) {
  if (gradients != CUDNN_CTC_ZERO_OOB_GRADIENTS && gradients != CUDNN_CTC_SKIP_OOB_GRADIENTS)
    return CUDNN_STATUS_BAD_PARAM;
  const cudnnStatus_t status =
      cudnnSetCTCLossDescriptor_v8(loss, type, normalization, CUDNN_NOT_PROPAGATE_NAN, maxLabels);
  if (status == CUDNN_STATUS_SUCCESS) loss->gradients = gradients;
  return status;
}
cudnnStatus_t cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* type) {
  return cudnnGetCTCLossDescriptor_v8(loss, type, nullptr, nullptr, nullptr);
}
cudnnStatus_t cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* type,
                                          cudnnLossNormalizationMode_t* normalization,
                                          cudnnNanPropagation_t* nan) {
  return cudnnGetCTCLossDescriptor_v8(loss, type, normalization, nan, nullptr);
}
cudnnStatus_t cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* type,
                                           cudnnLossNormalizationMode_t* normalization,
                                           cudnnNanPropagation_t* nan, int* maxLabels) {
  if (loss == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(type, loss->type), Give(normalization, loss->normalization), Give(nan, loss->nan);
  Give(maxLabels, loss->max_labels);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* type,
                                           cudnnLossNormalizationMode_t* normalization,
                                           cudnnCTCGradMode_t* gradients, int* maxLabels) {
  if (loss != nullptr) Give(gradients, loss->gradients);
  return cudnnGetCTCLossDescriptor_v8(loss, type, normalization, nullptr, maxLabels);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout,
                                           cudnnTensorDescriptor_t dxLayout, const int labels[],
                                           const int labelCounts[], const int lengths[],
                                           cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t loss,
                                           size_t* size) {
  if (!AllGiven(labels, labelCounts, lengths)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnGetCTCLossWorkspaceSize_v8(handle, algo, loss, xLayout, dxLayout, size);
}
cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t,
                                              cudnnCTCLossDescriptor_t loss, cudnnTensorDescriptor_t xLayout,
                                              cudnnTensorDescriptor_t dxLayout, size_t* size) {
  if (size == nullptr) return CUDNN_STATUS_BAD_PARAM;
  // As recorded, whatever the algorithm is.
  const cudnnStatus_t status = Check(handle, loss, xLayout, dxLayout, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC);
  if (status == CUDNN_STATUS_SUCCESS) *size = 0;
  return status;
}

// Labels and lengths are in host memory, and read when the function is called.
cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout, const void* x,
                           const int labels[], const int labelCounts[], const int lengths[], void* costs,
                           cudnnTensorDescriptor_t dxLayout, void* dx, cudnnCTCLossAlgo_t algo,
                           cudnnCTCLossDescriptor_t loss, void*, size_t) {
  if (!AllGiven(x, labels, labelCounts, lengths, costs) || (dx != nullptr && dxLayout == nullptr))
    return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = Check(handle, loss, xLayout, dxLayout, algo)) return wrong;
  const Layout& layout = xLayout->layout;
  Labels of{};
  of.copies[1].assign(labelCounts, labelCounts + layout.extents[1]);
  of.copies[2].assign(lengths, lengths + layout.extents[1]);
  int64_t all = 0;
  for (const int count : of.copies[1]) all += count;
  of.copies[0].assign(labels, labels + all);
  const auto in = [](int last) { return [last](int value) { return value >= 0 && value <= last; }; };
  if (!std::ranges::all_of(of.copies[2], in(static_cast<int>(layout.extents[0]))) ||
      !std::ranges::all_of(of.copies[0], in(static_cast<int>(layout.extents[2]) - 1)))
    return CUDNN_STATUS_BAD_PARAM;
  return SubmitLoss(handle, "cudnnCTCLoss", *loss, layout, x, std::move(of), costs,
                    dx == nullptr ? layout : dxLayout->layout, dx);
}
// Labels and lengths are in device memory.
cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t loss,
                              cudnnTensorDescriptor_t xLayout, const void* x, const int labels[],
                              const int labelCounts[], const int lengths[], void* costs,
                              cudnnTensorDescriptor_t dxLayout, void* dx, size_t, void*) {
  if (!AllGiven(x, labels, labelCounts, lengths, costs) || (dx != nullptr && dxLayout == nullptr))
    return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = Check(handle, loss, xLayout, dxLayout, algo)) return wrong;
  return SubmitLoss(handle, "cudnnCTCLoss_v8", *loss, xLayout->layout, x, {labels, labelCounts, lengths},
                    costs, dx == nullptr ? xLayout->layout : dxLayout->layout, dx);
}

}  // namespace ptx2cpu::cudnn
