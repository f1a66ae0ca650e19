/* The operand `form` of the functions of runtime/warp/matrix.def: the same bits as in ir/matrix.h (the
 * emitter checks). */
#pragma once

#include <stdint.h>

enum ptx2cpu_matrix_element {
  PTX2CPU_MATRIX_F16,
  PTX2CPU_MATRIX_BF16,
  PTX2CPU_MATRIX_TF32,
  PTX2CPU_MATRIX_F64,
  PTX2CPU_MATRIX_S8,
  PTX2CPU_MATRIX_U8,
  PTX2CPU_MATRIX_S4,
  PTX2CPU_MATRIX_U4,
  PTX2CPU_MATRIX_B1,
  PTX2CPU_MATRIX_F32,
  PTX2CPU_MATRIX_S32,
  PTX2CPU_MATRIX_E4M3,
  PTX2CPU_MATRIX_E5M2
};

#define PTX2CPU_MATRIX_SIXTEEN_ROWS 1u
#define PTX2CPU_MATRIX_DEPTH_SHIFT 1
#define PTX2CPU_MATRIX_A_SHIFT 5
#define PTX2CPU_MATRIX_B_SHIFT 9
#define PTX2CPU_MATRIX_C_SHIFT 13
#define PTX2CPU_MATRIX_XOR (1u << 17)
#define PTX2CPU_MATRIX_AND (2u << 17)
#define PTX2CPU_MATRIX_SATURATES (1u << 19)
#define PTX2CPU_MATRIX_SPARSE (1u << 20)
#define PTX2CPU_MATRIX_SELECTOR_SHIFT 21

/* A fragment that is prepared for products, aligned to 64. */
#define PTX2CPU_MATRIX_PREPARED_BYTES 6144

/* A product of fragments that are prepared, added to `sums`. */
typedef struct {
  uint32_t* sums;
  const void *a, *b;
} ptx2cpu_matrix_product;

/* A tile of bytes (matrix_tiles.cpp): 64 bytes of k of 16 rows of A, or of the columns of two fragments B. */
#define PTX2CPU_MATRIX_TILE_BYTES 1024

/* Of ptx2cpu_matrix_load. */
#define PTX2CPU_MATRIX_COUNT 7u
#define PTX2CPU_MATRIX_TRANSPOSED 8u
