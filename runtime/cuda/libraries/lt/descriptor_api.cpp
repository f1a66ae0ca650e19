// Layouts, operations and preferences: their attributes are rows of number, place and size.
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>

#include "cublaslt_api.h"

namespace ptx2cpu::cublaslt {

using namespace cuda;

namespace {

struct Attribute {
  int number;
  size_t offset, size;
};
#define ATTRIBUTE(number, type, member) {number, offsetof(type, member), sizeof(type::member)}
using Layout = cublasLtMatrixLayoutOpaque_t;
constexpr Attribute kLayout[] = {
    ATTRIBUTE(0, Layout, type),         ATTRIBUTE(1, Layout, order),        ATTRIBUTE(2, Layout, rows),
    ATTRIBUTE(3, Layout, cols),         ATTRIBUTE(4, Layout, ld),           ATTRIBUTE(5, Layout, batch_count),
    ATTRIBUTE(6, Layout, batch_stride), ATTRIBUTE(7, Layout, plane_offset), ATTRIBUTE(8, Layout, batch_mode),
};
using Operation = cublasLtMatmulDescOpaque_t;
constexpr Attribute kOperation[] = {
    ATTRIBUTE(0, Operation, compute),
    ATTRIBUTE(1, Operation, scale_type),
    ATTRIBUTE(2, Operation, pointer_mode),
    ATTRIBUTE(3, Operation, trans_a),
    ATTRIBUTE(4, Operation, trans_b),
    ATTRIBUTE(5, Operation, trans_c),
    ATTRIBUTE(6, Operation, fill),
    ATTRIBUTE(7, Operation, epilogue),
    ATTRIBUTE(8, Operation, bias),
    ATTRIBUTE(10, Operation, bias_stride),
    ATTRIBUTE(11, Operation, aux),
    ATTRIBUTE(12, Operation, aux_ld),
    ATTRIBUTE(13, Operation, aux_stride),
    ATTRIBUTE(14, Operation, alpha_stride),
    ATTRIBUTE(15, Operation, sm_count),
    ATTRIBUTE(17, Operation, a_scale),
    ATTRIBUTE(18, Operation, b_scale),
    ATTRIBUTE(19, Operation, c_scale),
    ATTRIBUTE(20, Operation, d_scale),
    ATTRIBUTE(21, Operation, d_amax),
    ATTRIBUTE(22, Operation, aux_type),
    ATTRIBUTE(23, Operation, aux_scale),
    ATTRIBUTE(24, Operation, aux_amax),
    ATTRIBUTE(25, Operation, fast_accumulation),
    ATTRIBUTE(26, Operation, bias_type),
    {31, offsetof(Operation, scale_modes), sizeof(int32_t)},
    {32, offsetof(Operation, scale_modes) + 4, sizeof(int32_t)},
    {33, offsetof(Operation, scale_modes) + 8, sizeof(int32_t)},
    {34, offsetof(Operation, scale_modes) + 12, sizeof(int32_t)},
    {35, offsetof(Operation, scale_modes) + 16, sizeof(int32_t)},
    ATTRIBUTE(36, Operation, d_out_scale),
    {37, offsetof(Operation, scale_modes) + 20, sizeof(int32_t)},
};
using Transform = cublasLtMatrixTransformDescOpaque_t;
constexpr Attribute kTransform[] = {
    ATTRIBUTE(0, Transform, scale_type),
    ATTRIBUTE(1, Transform, pointer_mode),
    ATTRIBUTE(2, Transform, trans_a),
    ATTRIBUTE(3, Transform, trans_b),
};
using Preference = cublasLtMatmulPreferenceOpaque_t;
constexpr Attribute kPreference[] = {
    ATTRIBUTE(0, Preference, search_mode),
    ATTRIBUTE(1, Preference, max_workspace),
    ATTRIBUTE(3, Preference, reduction_schemes),
    {5, offsetof(Preference, alignment), sizeof(uint32_t)},
    {6, offsetof(Preference, alignment) + 4, sizeof(uint32_t)},
    {7, offsetof(Preference, alignment) + 8, sizeof(uint32_t)},
    {8, offsetof(Preference, alignment) + 12, sizeof(uint32_t)},
    ATTRIBUTE(9, Preference, max_waves),
    ATTRIBUTE(12, Preference, implementations),
};
using Emulation = cublasLtEmulationDescOpaque_t;
constexpr Attribute kEmulation[] = {
    ATTRIBUTE(0, Emulation, strategy),
    ATTRIBUTE(1, Emulation, special_values),
    ATTRIBUTE(2, Emulation, mantissa_control),
    ATTRIBUTE(3, Emulation, max_mantissa_bits),
    ATTRIBUTE(4, Emulation, mantissa_bit_offset),
    ATTRIBUTE(5, Emulation, mantissa_bits),
};
#undef ATTRIBUTE
// An attribute of operations: an emulation descriptor, which has no effect and no place in memory that a
// program provides.
constexpr int kEmulationOfOperation = 38;

template <size_t kCount>
const Attribute* Find(const Attribute (&rows)[kCount], int number) {
  for (const Attribute& row : rows) {
    if (row.number == number) return &row;
  }
  return nullptr;
}
template <typename Object, size_t kCount>
cublasStatus_t Set(const Attribute (&rows)[kCount], Object* object, int number, const void* data,
                   size_t size) {
  const Attribute* row = Find(rows, number);
  if (object == nullptr || row == nullptr || data == nullptr || size != row->size)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(reinterpret_cast<char*>(object) + row->offset, data, row->size);
  return CUBLAS_STATUS_SUCCESS;
}
// A size of 0 asks for the size.
template <typename Object, size_t kCount>
cublasStatus_t Get(const Attribute (&rows)[kCount], const Object* object, int number, void* data, size_t size,
                   size_t* written) {
  const Attribute* row = Find(rows, number);
  if (object == nullptr || row == nullptr || (size == 0 && written == nullptr) ||
      (size != 0 && (data == nullptr || size != row->size)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (size != 0) std::memcpy(data, reinterpret_cast<const char*>(object) + row->offset, row->size);
  if (written != nullptr) *written = row->size;
  return CUBLAS_STATUS_SUCCESS;
}

Layout NewLayout(cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
  return {type, CUBLASLT_ORDER_COL, rows, cols, ld, 1, CUBLASLT_BATCH_MODE_STRIDED, 0, 0};
}
Operation NewOperation(cublasComputeType_t compute, cudaDataType scale_type) {
  Operation operation{};
  operation.compute = compute, operation.scale_type = scale_type;
  operation.fill = CUBLAS_FILL_MODE_FULL, operation.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  operation.aux_type = operation.bias_type = -1;
  return operation;
}
Emulation NewEmulation() {
  return {CUBLAS_EMULATION_STRATEGY_DEFAULT,
          CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT,
          CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC,
          0,
          0,
          nullptr};
}
Transform NewTransform(cudaDataType scale_type) {
  return {scale_type, CUBLASLT_POINTER_MODE_HOST, CUBLAS_OP_N, CUBLAS_OP_N};
}
Preference NewPreference() {
  Preference preference{};
  preference.reduction_schemes = 7, preference.implementations = ~uint64_t{0};
  for (uint32_t& bytes : preference.alignment) bytes = 256;
  return preference;
}

// In the program's memory, which has the size of the original.
template <typename Object>
cublasStatus_t InitialiseAt(Object* at, size_t size, const Object& object) {
  if (at == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < sizeof object) return CUBLAS_STATUS_ALLOC_FAILED;  // as recorded
  *at = object;
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Object>
cublasStatus_t Create(Object** at, const Object& object) {
  if (at == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *at = new Object(object);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Object>
cublasStatus_t Destroy(Object* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld) {
  return InitialiseAt(layout, size, NewLayout(type, rows, cols, ld));
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  return Create(layout, NewLayout(type, rows, cols, ld));
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return Destroy(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* data,
                                                size_t size) {
  return Set(kLayout, layout, attribute, data, size);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* data,
                                                size_t size, size_t* written) {
  return Get(kLayout, layout, attribute, data, size, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t descr, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scaleType) {
  return InitialiseAt(descr, size, NewOperation(compute, scaleType));
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descr, cublasComputeType_t compute,
                                        cudaDataType_t scaleType) {
  return Create(descr, NewOperation(compute, scaleType));
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descr) { return Destroy(descr); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descr,
                                              cublasLtMatmulDescAttributes_t attribute, const void* data,
                                              size_t size) {
  if (attribute == kEmulationOfOperation) {
    return descr != nullptr && data != nullptr && size == sizeof(Emulation*) ? CUBLAS_STATUS_SUCCESS
                                                                             : CUBLAS_STATUS_INVALID_VALUE;
  }
  return Set(kOperation, descr, attribute, data, size);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descr,
                                              cublasLtMatmulDescAttributes_t attribute, void* data,
                                              size_t size, size_t* written) {
  return Get(kOperation, descr, attribute, data, size, written);
}

cublasStatus_t cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t descr, size_t size) {
  return InitialiseAt(descr, size, NewEmulation());
}
cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t* descr) {
  return Create(descr, NewEmulation());
}
cublasStatus_t cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t descr) { return Destroy(descr); }
cublasStatus_t cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t descr,
                                                 cublasLtEmulationDescAttributes_t attribute,
                                                 const void* data, size_t size) {
  return Set(kEmulation, descr, attribute, data, size);
}
cublasStatus_t cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t descr,
                                                 cublasLtEmulationDescAttributes_t attribute, void* data,
                                                 size_t size, size_t* written) {
  return Get(kEmulation, descr, attribute, data, size, written);
}

cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t descr, size_t size,
                                                        cudaDataType scaleType) {
  return InitialiseAt(descr, size, NewTransform(scaleType));
}
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* descr,
                                                 cudaDataType scaleType) {
  return Create(descr, NewTransform(scaleType));
}
cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t descr) {
  return Destroy(descr);
}
cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t descr,
                                                       cublasLtMatrixTransformDescAttributes_t attribute,
                                                       const void* data, size_t size) {
  return Set(kTransform, descr, attribute, data, size);
}
cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t descr,
                                                       cublasLtMatrixTransformDescAttributes_t attribute,
                                                       void* data, size_t size, size_t* written) {
  return Get(kTransform, descr, attribute, data, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t size) {
  return InitialiseAt(preference, size, NewPreference());
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return Create(preference, NewPreference());
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Destroy(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* data, size_t size) {
  return Set(kPreference, preference, attribute, data, size);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    void* data, size_t size, size_t* written) {
  return Get(kPreference, preference, attribute, data, size, written);
}

}  // namespace ptx2cpu::cublaslt
