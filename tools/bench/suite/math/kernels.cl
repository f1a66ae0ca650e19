// The distribution function from erfc, as the CUDA math library has it as one function.
float normcdf(float d) { return 0.5f * erfc(-d * 0.70710678f); }

__kernel void black_scholes(__global const float* spot, __global const float* strike, __global const float* years,
                            __global float* call, __global float* put, float rate, float volatility, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float s = spot[i], k = strike[i], t = years[i];
  float deviation = volatility * sqrt(t);
  float d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / deviation;
  float d2 = d1 - deviation;
  float n1 = normcdf(d1), n2 = normcdf(d2), discounted = k * exp(-rate * t);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

__kernel void nbody(__global const float4* bodies, __global float4* accelerations, uint n, float softening) {
  __local float4 tile[256];
  uint i = get_global_id(0), tid = get_local_id(0);
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (uint base = 0; base < n; base += 256) {
    tile[tid] = bodies[base + tid];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < 256; ++j) {
      float4 other = tile[j];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
      float pull = other.w * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  accelerations[i] = (float4)(ax, ay, az, 0);
}

__kernel void mandelbrot(__global uint* steps, uint width, uint height, float left, float top, float pixel, uint limit) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  float real = left + pixel * x, imaginary = top + pixel * y, r = 0, i = 0;
  uint step = 0;
  while (step < limit && r * r + i * i < 4.0f) {
    float next = r * r - i * i + real;
    i = 2.0f * r * i + imaginary;
    r = next;
    ++step;
  }
  steps[y * width + x] = step;
}

__kernel void monte_carlo(__global const uint* seeds, __global uint* hits, uint points, uint n) {
  __local uint tree[256];
  uint i = get_global_id(0), tid = get_local_id(0), count = 0;
  uint state = i < n ? seeds[i] : 1;
  for (uint p = 0; p < points; ++p) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    float x = (state >> 16) * (1.0f / 65536), y = (state & 0xffff) * (1.0f / 65536);
    count += x * x + y * y < 1.0f;
  }
  tree[tid] = i < n ? count : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (tid < half_size) tree[tid] += tree[tid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (tid == 0) atomic_add(hits, tree[0]);
}
