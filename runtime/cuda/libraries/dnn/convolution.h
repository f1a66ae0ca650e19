// Convolutions of packed tensors, as products of matrices: the places that a filter reads are the columns of
// one of them (K. Chellapilla et al., High Performance Convolutional Neural Networks for Document Processing,
// 2006). LoadBlas must come before. Results do not depend on the number of threads.
#pragma once

#include "runtime/cuda/libraries/dnn/shapes.h"

namespace ptx2cpu::cudnn {

// x: images, groups, inputs, in; w: groups, outputs, inputs, window; y: images, groups, outputs, out.
template <typename R>
void Forward(const ConvolutionShape& shape, const R* x, const R* w, R* y);
template <typename R>
void BackwardData(const ConvolutionShape& shape, const R* w, const R* dy, R* dx);
template <typename R>
void BackwardFilter(const ConvolutionShape& shape, const R* x, const R* dy, R* dw);

// Whether BLAS has sizes as large.
bool Fits(const ConvolutionShape& shape);

}  // namespace ptx2cpu::cudnn
