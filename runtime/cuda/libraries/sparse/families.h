// Every template that a family of the table (cusparse.api) names; the generated families call them.
#pragma once

#include "runtime/cuda/libraries/sparse/factor.h"
#include "runtime/cuda/libraries/sparse/sum.h"
#include "runtime/cuda/libraries/sparse/tridiagonal.h"
