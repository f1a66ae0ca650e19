/* The 128 bytes of a tensor map, which CUDA leaves open: cuTensorMapEncode* writes them, kernels change them
 * by tensormap.replace and copy tensors by them. The same layout as in ir/tensor.h (the emitter checks), and
 * the form of a copy. */
#pragma once

#include <stdint.h>

enum ptx2cpu_tensor_element { /* the numbers of tensormap.replace */
                              PTX2CPU_TENSOR_U8,
                              PTX2CPU_TENSOR_U16,
                              PTX2CPU_TENSOR_U32,
                              PTX2CPU_TENSOR_S32,
                              PTX2CPU_TENSOR_U64,
                              PTX2CPU_TENSOR_S64,
                              PTX2CPU_TENSOR_F16,
                              PTX2CPU_TENSOR_F32,
                              PTX2CPU_TENSOR_F32_FTZ,
                              PTX2CPU_TENSOR_F64,
                              PTX2CPU_TENSOR_BF16,
                              PTX2CPU_TENSOR_TF32,
                              PTX2CPU_TENSOR_TF32_FTZ,
                              PTX2CPU_TENSOR_B4X16,
                              PTX2CPU_TENSOR_B4X16_PADDED,
                              PTX2CPU_TENSOR_B6X16,
                              PTX2CPU_TENSOR_ELEMENTS
};

struct ptx2cpu_tensor_map {
  uint64_t address;
  uint64_t strides[4]; /* bytes, of dimensions 1 to 4 */
  uint32_t sizes[5];   /* elements; 0 is 2^32 */
  uint16_t box[5];     /* elements */
  uint8_t element_strides[5];
  uint8_t rank;       /* less one */
  uint8_t element;    /* ptx2cpu_tensor_element */
  uint8_t interleave; /* 0, 16 bytes, 32 bytes */
  uint8_t swizzle;    /* 0, 32, 64, 128, 96 bytes */
  uint8_t swizzle_atomicity;
  uint8_t fill;        /* 1: NaN */
  uint8_t im2col_wide; /* 1: mode w, 2: mode w128 */
  int16_t lower[3], upper[3];
  uint32_t channels, pixels;
  uint64_t reserved[3];
};

/* The form of a copy. */
#define PTX2CPU_TENSOR_DIMENSIONS 7u
#define PTX2CPU_TENSOR_MODE_SHIFT 3
enum ptx2cpu_tensor_mode {
  PTX2CPU_TENSOR_TILE,
  PTX2CPU_TENSOR_GATHER,
  PTX2CPU_TENSOR_IM2COL,
  PTX2CPU_TENSOR_IM2COL_WIDE,
  PTX2CPU_TENSOR_IM2COL_WIDE_128
};
#define PTX2CPU_TENSOR_STORES (1u << 6)
#define PTX2CPU_TENSOR_REDUCTION_SHIFT 7
enum ptx2cpu_tensor_reduction {
  PTX2CPU_TENSOR_NONE,
  PTX2CPU_TENSOR_ADD,
  PTX2CPU_TENSOR_MIN,
  PTX2CPU_TENSOR_MAX,
  PTX2CPU_TENSOR_INC,
  PTX2CPU_TENSOR_DEC,
  PTX2CPU_TENSOR_AND,
  PTX2CPU_TENSOR_OR,
  PTX2CPU_TENSOR_XOR
};
#define PTX2CPU_TENSOR_OFFSETS_SHIFT 11
