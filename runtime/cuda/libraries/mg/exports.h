// The header that the generated exports of libcusolverMg.so include.
#pragma once

#include "runtime/cuda/abi/cusolvermg_types.h"
#include "runtime/cuda/libraries/solver/exports.h"
