// Batch normalisation: S. Ioffe and C. Szegedy, Batch Normalization (2015). A group is what has one mean: a
// channel, or an element of an image.
#include <algorithm>
#include <cmath>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/activation.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// Elements of group g: image n, place i, at (n * groups + g) * each + i.
struct Groups {
  Groups(const Layout& x, cudnnBatchNormMode_t mode)
      : images(x.extents[0]),
        count(mode == CUDNN_BATCHNORM_PER_ACTIVATION ? x.Count() / images : x.extents[1]),
        each(x.Count() / images / count) {}
  int64_t Members() const { return images * each; }

  template <typename Visit>
  void ForMembers(int64_t group, const Visit& visit) const {
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t i = 0; i < each; ++i) visit((n * count + group) * each + i);
    }
  }
  // Calls run(group), on several threads.
  template <typename Run>
  void ForAll(const Run& run) const {
    libraries::ForRanges(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) run(group);
    });
  }
  int64_t images, count, each;
};

bool AreRight(cudnnBatchNormMode_t mode, const Layout& x, const Layout& y, const Layout& parameters) {
  if (mode < CUDNN_BATCHNORM_PER_ACTIVATION || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT) return false;
  if (x.extents.size() < 2 || x.extents != y.extents) return false;
  return parameters.Count() == Groups(x, mode).count && parameters.IsPacked() &&
         parameters.type == (x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
}

// What the activation and the sum with z of the Ex functions are; one that is not there does nothing.
struct After {
  cudnnActivationStruct activation = {};
  const void* z = nullptr;
  Layout z_layout = {};
};

bool Takes(cudnnBatchNormOps_t ops, cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t z_layout,
           const void* z, const Layout& x, After& after) {
  if (ops < CUDNN_BATCHNORM_OPS_BN || ops > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) return false;
  if (ops == CUDNN_BATCHNORM_OPS_BN) return true;
  if (activation == nullptr) return false;
  after.activation = *activation;
  if (ops == CUDNN_BATCHNORM_OPS_BN_ACTIVATION) return true;
  if (!AllGiven(z_layout, z) || z_layout->layout.extents != x.extents) return false;
  after.z = z, after.z_layout = z_layout->layout;
  return true;
}

template <typename R>
struct Moments {
  R mean, variance;  // of the group as it is: divided by the number of its members
};
template <typename R>
Moments<R> MomentsOf(const Groups& groups, int64_t group, const R* x) {
  double sum = 0, squares = 0;
  groups.ForMembers(group, [&](int64_t at) { sum += x[at]; });
  const double mean = sum / static_cast<double>(groups.Members());
  groups.ForMembers(group, [&](int64_t at) { squares += (x[at] - mean) * (x[at] - mean); });
  return {static_cast<R>(mean), static_cast<R>(squares / static_cast<double>(groups.Members()))};
}

template <typename R>
void Average(void* running, int64_t group, double factor, double value) {
  R& to = static_cast<R*>(running)[group];
  to = static_cast<R>(factor == 1 ? value : value * factor + to * (1 - factor));
}

cudnnStatus_t Train(const char* name, cudnnHandle_t handle, cudnnBatchNormMode_t mode, const After& after,
                    const void* alpha, const void* beta, const Layout& xl, const void* x, const Layout& yl,
                    void* y, const void* scale, const void* bias, double factor, void* running_mean,
                    void* running_variance, double epsilon, void* saved_mean, void* saved_inverse) {
  if ((running_mean == nullptr) != (running_variance == nullptr) ||
      (saved_mean == nullptr) != (saved_inverse == nullptr) || !(epsilon >= 0))
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, name, alpha, beta, yl, y, [=]<typename R>(R* result) {
    const Packed<R> input(xl, x);
    std::unique_ptr<Packed<R>> added;
    if (after.z != nullptr) added = std::make_unique<Packed<R>>(after.z_layout, after.z);
    const Activation<R> activate(after.activation);
    const Groups groups(xl, mode);
    groups.ForAll([&](int64_t group) {
      const Moments<R> moments = MomentsOf(groups, group, input.get());
      const R inverse = static_cast<R>(1 / std::sqrt(static_cast<double>(moments.variance) + epsilon));
      const R factor_of = static_cast<const R*>(scale)[group] * inverse,
              sum = static_cast<const R*>(bias)[group];
      groups.ForMembers(group, [&](int64_t at) {
        R value = (input.get()[at] - moments.mean) * factor_of + sum;
        if (added != nullptr) value += added->get()[at];
        result[at] = activate.Forward(value);
      });
      if (running_mean != nullptr) {
        const auto members = static_cast<double>(groups.Members());
        const double unbiased = members > 1 ? moments.variance * members / (members - 1) : moments.variance;
        Average<R>(running_mean, group, factor, moments.mean);
        Average<R>(running_variance, group, factor, unbiased);
      }
      if (saved_mean != nullptr) {
        static_cast<R*>(saved_mean)[group] = moments.mean;
        static_cast<R*>(saved_inverse)[group] = inverse;
      }
    });
  });
}

struct Gradients {
  const void *alpha_data, *beta_data, *alpha_parameters, *beta_parameters;
  const void* scale;
  void *dscale, *dbias;
  double epsilon;
  const void *saved_mean, *saved_inverse;
};

// The gradient at the normalised values: `dy` before the activation. y: what the forward call gave.
struct Before {
  Layout y_layout = {};
  const void* y = nullptr;
  Layout dz_layout = {};
  void* dz = nullptr;
};

template <typename R>
std::unique_ptr<R[]> BeforeActivation(const After& after, const Before& before, const Layout& dyl,
                                      const void* dy) {
  const Packed<R> gradient(dyl, dy);
  auto result = Storage<R>(dyl.Count());
  std::copy_n(gradient.get(), dyl.Count(), result.get());
  if (before.y != nullptr) {
    const Packed<R> output(before.y_layout, before.y);
    const Activation<R> activate(after.activation);
    // For the activations that are allowed here, y has the sign of x.
    for (int64_t i = 0; i < dyl.Count(); ++i)
      result[i] = activate.Backward(output.get()[i], output.get()[i], result[i]);
  }
  if (before.dz != nullptr) Blend<R>(before.dz_layout, before.dz, result.get(), 1, 0);
  return result;
}

cudnnStatus_t Backward(const char* name, cudnnHandle_t handle, cudnnBatchNormMode_t mode, const After& after,
                       const Before& before, const Layout& xl, const void* x, const Layout& dyl,
                       const void* dy, const Layout& dxl, void* dx, const Layout& parameters,
                       const Gradients& g) {
  if (!AllGiven(g.alpha_data, g.beta_data, g.alpha_parameters, g.beta_parameters, x, dy, dx, g.scale,
                g.dscale, g.dbias) ||
      (g.saved_mean == nullptr) != (g.saved_inverse == nullptr) || !(g.epsilon >= 0))
    return CUDNN_STATUS_BAD_PARAM;
  const double a = Factor(g.alpha_parameters, parameters.type),
               b = Factor(g.beta_parameters, parameters.type);
  return Submit(handle, name, g.alpha_data, g.beta_data, dxl, dx, [=]<typename R>(R* result) {
    const Packed<R> input(xl, x);
    const std::unique_ptr<R[]> gradient = BeforeActivation<R>(after, before, dyl, dy);
    const Groups groups(xl, mode);
    const auto dscale = Storage<R>(groups.count), dbias = Storage<R>(groups.count);
    groups.ForAll([&](int64_t group) {
      R mean, inverse;
      if (g.saved_mean != nullptr) {
        mean = static_cast<const R*>(g.saved_mean)[group];
        inverse = static_cast<const R*>(g.saved_inverse)[group];
      } else {
        const Moments<R> moments = MomentsOf(groups, group, input.get());
        mean = moments.mean;
        inverse = static_cast<R>(1 / std::sqrt(static_cast<double>(moments.variance) + g.epsilon));
      }
      double sum = 0, product = 0;
      groups.ForMembers(group, [&](int64_t at) {
        sum += gradient[at];
        product += static_cast<double>(gradient[at]) * (input.get()[at] - mean) * inverse;
      });
      dbias[group] = static_cast<R>(sum), dscale[group] = static_cast<R>(product);
      const auto members = static_cast<R>(groups.Members());
      const R factor = static_cast<const R*>(g.scale)[group] * inverse / members;
      groups.ForMembers(group, [&](int64_t at) {
        const R normal = (input.get()[at] - mean) * inverse;
        result[at] = factor * (members * gradient[at] - dbias[group] - normal * dscale[group]);
      });
    });
    Blend<R>(parameters, g.dscale, dscale.get(), static_cast<R>(a), static_cast<R>(b));
    Blend<R>(parameters, g.dbias, dbias.get(), static_cast<R>(a), static_cast<R>(b));
  });
}

cudnnStatus_t NoSize(size_t* size) {
  if (size == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                      const void* alpha, const void* beta,
                                                      cudnnTensorDescriptor_t xLayout, const void* x,
                                                      cudnnTensorDescriptor_t yLayout, void* y,
                                                      cudnnTensorDescriptor_t paramLayout, const void* scale,
                                                      const void* bias, const void* mean,
                                                      const void* variance, double epsilon) {
  if (!AllGiven(handle, alpha, beta, xLayout, x, yLayout, y, paramLayout, scale, bias, mean, variance))
    return CUDNN_STATUS_BAD_PARAM;
  if (!AreRight(mode, xLayout->layout, yLayout->layout, paramLayout->layout) || !(epsilon >= 0))
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(
      handle, "cudnnBatchNormalizationForwardInference", alpha, beta, yLayout->layout, y,
      [=, xl = xLayout->layout]<typename R>(R* result) {
        const Packed<R> input(xl, x);
        const Groups groups(xl, mode);
        groups.ForAll([&](int64_t group) {
          auto of = [&](const void* numbers) { return static_cast<const R*>(numbers)[group]; };
          const R factor =
              of(scale) * static_cast<R>(1 / std::sqrt(static_cast<double>(of(variance)) + epsilon));
          groups.ForMembers(
              group, [&](int64_t at) { result[at] = (input.get()[at] - of(mean)) * factor + of(bias); });
        });
      });
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    cudnnTensorDescriptor_t xLayout, const void* x, cudnnTensorDescriptor_t yLayout, void* y,
    cudnnTensorDescriptor_t paramLayout, const void* scale, const void* bias, double factor,
    void* runningMean, void* runningVariance, double epsilon, void* savedMean, void* savedInverse) {
  return cudnnBatchNormalizationForwardTrainingEx(handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, xLayout,
                                                  x, nullptr, nullptr, yLayout, y, paramLayout, scale, bias,
                                                  factor, runningMean, runningVariance, epsilon, savedMean,
                                                  savedInverse, nullptr, nullptr, 0, nullptr, 0);
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void* alpha,
    const void* beta, cudnnTensorDescriptor_t xLayout, const void* x, cudnnTensorDescriptor_t zLayout,
    const void* z, cudnnTensorDescriptor_t yLayout, void* y, cudnnTensorDescriptor_t paramLayout,
    const void* scale, const void* bias, double factor, void* runningMean, void* runningVariance,
    double epsilon, void* savedMean, void* savedInverse, cudnnActivationDescriptor_t activation,
    void* workspace, size_t workspaceSize, void* reserve, size_t reserveSize) {
  if (!AllGiven(handle, alpha, beta, xLayout, x, yLayout, y, paramLayout, scale, bias))
    return CUDNN_STATUS_BAD_PARAM;
  After after;
  if (!AreRight(mode, xLayout->layout, yLayout->layout, paramLayout->layout) ||
      !Takes(ops, activation, zLayout, z, xLayout->layout, after))
    return CUDNN_STATUS_BAD_PARAM;
  return Train("cudnnBatchNormalizationForwardTraining", handle, mode, after, alpha, beta, xLayout->layout, x,
               yLayout->layout, y, scale, bias, factor, runningMean, runningVariance, epsilon, savedMean,
               savedInverse);
}

cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alphaData, const void* betaData,
    const void* alphaParam, const void* betaParam, cudnnTensorDescriptor_t xLayout, const void* x,
    cudnnTensorDescriptor_t dyLayout, const void* dy, cudnnTensorDescriptor_t dxLayout, void* dx,
    cudnnTensorDescriptor_t paramLayout, const void* scale, void* dscale, void* dbias, double epsilon,
    const void* savedMean, const void* savedInverse) {
  if (!AllGiven(handle, xLayout, dyLayout, dxLayout, paramLayout)) return CUDNN_STATUS_BAD_PARAM;
  if (!AreRight(mode, xLayout->layout, dyLayout->layout, paramLayout->layout) ||
      dxLayout->layout.extents != xLayout->layout.extents)
    return CUDNN_STATUS_BAD_PARAM;
  return Backward(
      "cudnnBatchNormalizationBackward", handle, mode, {}, {}, xLayout->layout, x, dyLayout->layout, dy,
      dxLayout->layout, dx, paramLayout->layout,
      {alphaData, betaData, alphaParam, betaParam, scale, dscale, dbias, epsilon, savedMean, savedInverse});
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void* alphaData,
    const void* betaData, const void* alphaParam, const void* betaParam, cudnnTensorDescriptor_t xLayout,
    const void* x, cudnnTensorDescriptor_t yLayout, const void* y, cudnnTensorDescriptor_t dyLayout,
    const void* dy, cudnnTensorDescriptor_t dzLayout, void* dz, cudnnTensorDescriptor_t dxLayout, void* dx,
    cudnnTensorDescriptor_t paramLayout, const void* scale, const void* bias, void* dscale, void* dbias,
    double epsilon, const void* savedMean, const void* savedInverse, cudnnActivationDescriptor_t activation,
    void* workspace, size_t workspaceSize, void* reserve, size_t reserveSize) {
  if (!AllGiven(handle, xLayout, dyLayout, dxLayout, paramLayout)) return CUDNN_STATUS_BAD_PARAM;
  const Layout& xl = xLayout->layout;
  After after;
  Before before;
  if (!AreRight(mode, xl, dyLayout->layout, paramLayout->layout) || dxLayout->layout.extents != xl.extents ||
      !Takes(ops, activation, dzLayout, dz, xl, after))
    return CUDNN_STATUS_BAD_PARAM;
  if (ops != CUDNN_BATCHNORM_OPS_BN) {
    const cudnnActivationMode_t of = activation->mode;
    if (of != CUDNN_ACTIVATION_RELU && of != CUDNN_ACTIVATION_IDENTITY) return CUDNN_STATUS_NOT_SUPPORTED;
    if (!AllGiven(yLayout, y) || yLayout->layout.extents != xl.extents) return CUDNN_STATUS_BAD_PARAM;
    before.y_layout = yLayout->layout, before.y = y;
  }
  if (ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) before.dz_layout = dzLayout->layout, before.dz = dz;
  return Backward(
      "cudnnBatchNormalizationBackwardEx", handle, mode, after, before, xl, x, dyLayout->layout, dy,
      dxLayout->layout, dx, paramLayout->layout,
      {alphaData, betaData, alphaParam, betaParam, scale, dscale, dbias, epsilon, savedMean, savedInverse});
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t xLayout,
    cudnnTensorDescriptor_t zLayout, cudnnTensorDescriptor_t yLayout, cudnnTensorDescriptor_t paramLayout,
    cudnnActivationDescriptor_t activation, size_t* size) {
  return NoSize(size);
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t xLayout,
    cudnnTensorDescriptor_t yLayout, cudnnTensorDescriptor_t dyLayout, cudnnTensorDescriptor_t dzLayout,
    cudnnTensorDescriptor_t dxLayout, cudnnTensorDescriptor_t paramLayout,
    cudnnActivationDescriptor_t activation, size_t* size) {
  return NoSize(size);
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t xLayout, size_t* size) {
  return NoSize(size);
}

}  // namespace ptx2cpu::cudnn
