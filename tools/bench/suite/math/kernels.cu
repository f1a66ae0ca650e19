// Arithmetic on independent elements.

// European options by the formula of Black and Scholes, with the functions of the CUDA math library.
extern "C" __global__ void black_scholes(const float* spot, const float* strike, const float* years, float* call,
                                         float* put, float rate, float volatility, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = spot[i], k = strike[i], t = years[i];
  float deviation = volatility * sqrtf(t);
  float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / deviation;
  float d2 = d1 - deviation;
  float n1 = normcdff(d1), n2 = normcdff(d2), discounted = k * expf(-rate * t);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

// Accelerations of bodies (x, y, z, mass); tiles of 256 bodies in shared memory. n is a multiple of 256.
extern "C" __global__ void nbody(const float4* bodies, float4* accelerations, unsigned n, float softening) {
  __shared__ float4 tile[256];
  unsigned i = blockIdx.x * 256 + threadIdx.x;
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (unsigned base = 0; base < n; base += 256) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (unsigned j = 0; j < 256; ++j) {
      float4 other = tile[j];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      float pull = other.w * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    __syncthreads();
  }
  accelerations[i] = make_float4(ax, ay, az, 0);
}

// Steps until a point escapes: threads of a warp leave the loop at different times.
extern "C" __global__ void mandelbrot(unsigned* steps, unsigned width, unsigned height, float left, float top, float pixel,
                                      unsigned limit) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float real = left + pixel * x, imaginary = top + pixel * y, r = 0, i = 0;
  unsigned step = 0;
  while (step < limit && r * r + i * i < 4.0f) {
    float next = r * r - i * i + real;
    i = 2.0f * r * i + imaginary;
    r = next;
    ++step;
  }
  steps[y * width + x] = step;
}

// The area of a quarter of a circle by random points: a generator of each thread; one addition of each warp.
extern "C" __global__ void monte_carlo(const unsigned* seeds, unsigned* hits, unsigned points, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
  unsigned state = i < n ? seeds[i] : 1;
  for (unsigned p = 0; p < points; ++p) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    float x = (state >> 16) * (1.0f / 65536), y = (state & 0xffff) * (1.0f / 65536);
    count += x * x + y * y < 1.0f;
  }
  if (i >= n) count = 0;
  for (int offset = 16; offset > 0; offset /= 2) count += __shfl_down_sync(0xffffffffu, count, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, count);
}
