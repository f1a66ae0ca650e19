// The object of a cusparseMatDescr_t: libcusparse makes it, libcusolver also reads it.
#pragma once

#include "runtime/cuda/abi/cusparse_types.h"

struct ptx2cpu::cuda::cusparseMatDescr {
  cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
};
