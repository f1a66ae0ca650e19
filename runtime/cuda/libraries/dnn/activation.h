// Activation functions and their derivatives.
#pragma once

#include <cmath>

#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

template <typename R>
struct Activation {
  explicit Activation(const cudnnActivationStruct& a)
      : mode(a.mode), coefficient(static_cast<R>(a.coefficient)), beta(static_cast<R>(a.swish_beta)) {}

  static R Sigmoid(R x) { return 1 / (1 + std::exp(-x)); }

  R Forward(R x) const {
    switch (mode) {
      case CUDNN_ACTIVATION_SIGMOID:
        return Sigmoid(x);
      case CUDNN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;  // keeps NaN
      case CUDNN_ACTIVATION_TANH:
        return std::tanh(x);
      case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x < 0 ? 0 : x > coefficient ? coefficient : x;
      case CUDNN_ACTIVATION_ELU:
        return x < 0 ? coefficient * std::expm1(x) : x;
      case CUDNN_ACTIVATION_IDENTITY:
        return x;
      case CUDNN_ACTIVATION_SWISH:
        return x * Sigmoid(beta * x);
    }
    return x;
  }

  // y = Forward(x).
  R Backward(R x, R y, R dy) const {
    switch (mode) {
      case CUDNN_ACTIVATION_SIGMOID:
        return dy * y * (1 - y);
      case CUDNN_ACTIVATION_RELU:
        return x > 0 ? dy : 0;
      case CUDNN_ACTIVATION_TANH:
        return dy * (1 - y * y);
      case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x > 0 && x <= coefficient ? dy : 0;
      case CUDNN_ACTIVATION_ELU:
        return x < 0 ? dy * (y + coefficient) : dy;
      case CUDNN_ACTIVATION_IDENTITY:
        return dy;
      case CUDNN_ACTIVATION_SWISH: {
        const R s = Sigmoid(beta * x);
        return dy * (s + beta * y * (1 - s));
      }
    }
    return dy;
  }

  cudnnActivationMode_t mode;
  R coefficient, beta;
};

}  // namespace ptx2cpu::cudnn
