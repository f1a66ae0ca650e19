// Every template that a family of the table (cusolver.api) names; the generated families call them.
#pragma once

#include "runtime/cuda/libraries/solver/eigen.h"
#include "runtime/cuda/libraries/solver/factor.h"
#include "runtime/cuda/libraries/solver/reduce.h"
#include "runtime/cuda/libraries/solver/singular.h"
#include "runtime/cuda/libraries/solver/sparse_host.h"
#include "runtime/cuda/libraries/solver/sparse_solve.h"
#include "runtime/cuda/libraries/solver/sparse_stepwise.h"
