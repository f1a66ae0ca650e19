// Every template that a family of the table (cusparse.api) names; the generated families call them.
#pragma once

#include "runtime/cuda/libraries/sparse/block_convert.h"
#include "runtime/cuda/libraries/sparse/block_solve.h"
#include "runtime/cuda/libraries/sparse/pentadiagonal.h"
#include "runtime/cuda/libraries/sparse/reorder.h"
#include "runtime/cuda/libraries/sparse/sum.h"
