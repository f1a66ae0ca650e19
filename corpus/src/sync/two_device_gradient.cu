// Conjugate gradients on two devices that share memory. A device is a slice of `gridDim.x` blocks; each holds half the
// rows of the grid of points and pushes its edge row into the other's memory. Blocks of both wait for each other at a
// barrier of two levels: the blocks of a device, then the devices, by atomics of system scope.
// It runs as one launch of two slices (gridDim.y == 2, first_device 0) or as two launches at the same time
// (gridDim.y == 1, first_device 0 and 1) whose blocks are all resident; either way of one loaded module.
// Matrix, exactness and block size as in conjugate_gradient.cu; an even number of rows, at most 4096 points a device.

constexpr unsigned kMaxPoints = 4096, kMaxWidth = 128, kMaxBlocks = 512;

struct Device {
  double residual[kMaxPoints], image[kMaxPoints];
  double direction[kMaxPoints + 2 * kMaxWidth];  // with the neighbour's edge rows before and after
  double partial[2][kMaxBlocks];
  unsigned arrived;  // blocks, over all rounds
};
__device__ Device devices[2];
__device__ unsigned devices_arrived;  // over all rounds

struct Place {
  unsigned device, blocks;  // blocks of each device
  unsigned round;           // barriers passed
};

static __device__ void SyncDevices(Place& place) {
  ++place.round;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    unsigned before = atomicAdd(&devices[place.device].arrived, 1u);
    if (before + 1 == place.round * place.blocks) {
      __threadfence_system();
      atomicAdd_system(&devices_arrived, 1u);
    }
    while (*(volatile unsigned*)&devices_arrived < place.round * 2) {
    }
    __threadfence_system();
  }
  __syncthreads();
}

static __device__ double SumOfDevices(Place& place, double mine, unsigned which) {
  __shared__ double tree[1024];
  unsigned tid = threadIdx.x;
  tree[tid] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (tid < half) tree[tid] = __dadd_rn(tree[tid], tree[tid + half]);
    __syncthreads();
  }
  if (tid == 0) *(volatile double*)&devices[place.device].partial[which][blockIdx.x] = tree[0];
  SyncDevices(place);
  if (tid == 0) {
    double sum = 0;
    for (unsigned d = 0; d < 2; ++d) {
      for (unsigned b = 0; b < place.blocks; ++b) {
        sum = __dadd_rn(sum, *(volatile double*)&devices[d].partial[which][b]);
      }
    }
    tree[0] = sum;
  }
  __syncthreads();
  double sum = tree[0];
  __syncthreads();
  return sum;
}

// Stores an element of the direction, and its copy in the other device's memory when it is of the edge row.
static __device__ void StoreDirection(unsigned device, unsigned i, unsigned width, unsigned points, double value) {
  *(volatile double*)&devices[device].direction[width + i] = value;
  if (device == 0 && i >= points - width) {
    *(volatile double*)&devices[1].direction[i - (points - width)] = value;
  }
  if (device == 1 && i < width) *(volatile double*)&devices[0].direction[width + points + i] = value;
}

extern "C" __global__ void two_device_gradient(const double* diagonal, const double* right, double* x, unsigned* steps,
                                               unsigned width, unsigned height, double tolerance, unsigned limit,
                                               unsigned first_device) {
  Place place{first_device + blockIdx.y, gridDim.x, 0};
  Device& own = devices[place.device];
  volatile double* direction = own.direction + width;
  unsigned points = width * (height / 2), offset = place.device * points;
  unsigned first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  double mine = 0;
  for (unsigned i = first; i < points; i += stride) {
    double start = right[offset + i];
    x[offset + i] = 0;
    own.residual[i] = start;
    StoreDirection(place.device, i, width, points, start);
    mine = fma(start, start, mine);
  }
  double norm = SumOfDevices(place, mine, 0);
  unsigned step = 0;
  for (; step < limit && norm > tolerance; ++step) {
    mine = 0;
    for (unsigned i = first; i < points; i += stride) {
      unsigned column = i % width, row = (offset + i) / width;
      double value = __dmul_rn(diagonal[offset + i], direction[i]);
      if (row > 0) value = __dsub_rn(value, direction[(int)i - (int)width]);
      if (column > 0) value = __dsub_rn(value, direction[(int)i - 1]);
      if (column + 1 < width) value = __dsub_rn(value, direction[i + 1]);
      if (row + 1 < height) value = __dsub_rn(value, direction[i + width]);
      own.image[i] = value;
      mine = fma(direction[i], value, mine);
    }
    double alpha = __ddiv_rn(norm, SumOfDevices(place, mine, 1));
    mine = 0;
    for (unsigned i = first; i < points; i += stride) {
      x[offset + i] = fma(alpha, direction[i], x[offset + i]);
      double rest = fma(-alpha, own.image[i], own.residual[i]);
      own.residual[i] = rest;
      mine = fma(rest, rest, mine);
    }
    double next = SumOfDevices(place, mine, 0);
    double beta = __ddiv_rn(next, norm);
    for (unsigned i = first; i < points; i += stride) {
      StoreDirection(place.device, i, width, points, fma(beta, direction[i], own.residual[i]));
    }
    norm = next;
    SyncDevices(place);
  }
  if (first == 0) steps[place.device] = step;
}
