#include "runtime/cuda/libraries/sparse/descriptors.h"

#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

int64_t OuterSize(const cusparseSpMatDescr& m) {
  switch (m.format) {
    case CUSPARSE_FORMAT_CSR:
      return m.rows;
    case CUSPARSE_FORMAT_CSC:
      return m.columns;
    case CUSPARSE_FORMAT_COO:
      return m.nnz;
    case CUSPARSE_FORMAT_BSR:
      return m.rows / m.block_rows;
    case CUSPARSE_FORMAT_BLOCKED_ELL:
    case CUSPARSE_FORMAT_SLICED_ELLPACK:
      return (m.rows + m.block_rows - 1) / m.block_rows;
  }
  return 0;
}

int64_t BytesOf(cudaDataType type) {
  int64_t bytes = 0;
  WithStored(type, nullptr, [&](const auto* data) { bytes = sizeof *data; });
  return bytes;
}

cusparseStatus_t CheckTypes(const TypeRow& types) {
  constexpr TypeRow kTypes[] = {
      {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
      {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
      {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
      {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
      {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
      {CUDA_R_8I, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F},
      {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},
      {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},
      {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},
      {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
      {CUDA_C_16F, CUDA_C_16F, CUDA_C_16F, CUDA_C_32F},
      {CUDA_C_16BF, CUDA_C_16BF, CUDA_C_16BF, CUDA_C_32F},
      {CUDA_R_32F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
      {CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
      {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
  };
  const bool known = std::ranges::any_of(kTypes, [&](const TypeRow& row) {
    return row.a == types.a && row.b == types.b && row.c == types.c && row.compute == types.compute;
  });
  return known ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}

}  // namespace ptx2cpu::cusparse
