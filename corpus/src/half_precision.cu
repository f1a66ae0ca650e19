// Half precision.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// y = a * x + y on single halves.
extern "C" __global__ void half_axpy(__half a, const __half* x, __half* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma(a, x[i], y[i]);
}

// Pairs of halves: the blend x + t * (y - x), its sum and product with y, and a comparison. n counts pairs.
extern "C" __global__ void half2_blend(const __half2* x, const __half2* y, __half2* out, unsigned* larger, __half2 t,
                                       unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 blend = __hfma2(t, __hsub2_rn(y[i], x[i]), x[i]);
  out[3 * i] = blend;
  out[3 * i + 1] = __hadd2_rn(blend, y[i]);
  out[3 * i + 2] = __hmul2_rn(blend, y[i]);
  larger[i] = (__hgt(__low2half(x[i]), __low2half(y[i])) ? 1 : 0) + (__hlt(__high2half(x[i]), __high2half(y[i])) ? 2 : 0);
}

// Conversions: float to half in four roundings, half to float and to integers.
extern "C" __global__ void half_convert(const float* in, __half* halves, float* back, int* whole, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  halves[4 * i] = __float2half_rn(in[i]);
  halves[4 * i + 1] = __float2half_rz(in[i]);
  halves[4 * i + 2] = __float2half_rd(in[i]);
  halves[4 * i + 3] = __float2half_ru(in[i]);
  back[i] = __half2float(__float2half_rn(in[i]));
  whole[i] = __half2int_rz(__float2half_rn(in[i]));
}

// bfloat16 through float: the product of two is exact in float, so there is one rounding whatever the target.
extern "C" __global__ void bfloat16_scale(const __nv_bfloat16* in, __nv_bfloat16* out, __nv_bfloat16 factor,
                                          unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2bfloat16_rn(__fmul_rn(__bfloat162float(in[i]), __bfloat162float(factor)));
}
