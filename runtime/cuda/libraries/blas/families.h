// Every template and function that a family of the table (cublas.api) names; the generated families call
// them.
#pragma once

#include "runtime/cuda/libraries/blas/factor.h"
#include "runtime/cuda/libraries/blas/host_matrices.h"
#include "runtime/cuda/libraries/blas/legacy.h"
#include "runtime/cuda/libraries/blas/level1.h"
#include "runtime/cuda/libraries/blas/rank_update.h"
#include "runtime/cuda/libraries/blas/triangle_update.h"
#include "runtime/cuda/libraries/blas/triangular.h"
#include "runtime/cuda/libraries/blas/typed.h"
