// Collectives where the lanes of a warp go different ways. Blocks are multiples of 32 threads except where noted.

constexpr unsigned kAll = 0xffffffffu;

// Each arm of a branch, and of the branches in it, has its own members.
extern "C" __global__ void collectives_in_arms(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
  unsigned odd = __ballot_sync(kAll, value & 1), result;
  if (value & 1) {
    unsigned large = __ballot_sync(odd, value >= 64);
    if (value >= 64) {
      result = __shfl_sync(large, value, __ffs((int)large) - 1) + __popc(large);
    } else {
      result = (unsigned)__any_sync(odd & ~large, value > 32) << 8 | __popc(__match_any_sync(odd & ~large, value % 4));
    }
    result = result * 2 + __popc(__ballot_sync(odd, result > 20));
  } else {
    result = (unsigned)__all_sync(~odd, value < 90) + __shfl_sync(~odd, value, __ffs((int)~odd) - 1);
  }
  out[i] = __shfl_xor_sync(kAll, result, 1) + result;
}

// One collective of the whole warp to which lanes come from both arms of a branch.
extern "C" __global__ void collective_across_arms(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i], got, votes;
  if (value % 3 == 0) {
    got = __shfl_xor_sync(kAll, value * 2, 1);
    votes = __ballot_sync(kAll, value > 50);
    got += 1000;
  } else {
    got = __shfl_xor_sync(kAll, value + 7, 1);
    got *= 3;
    votes = __ballot_sync(kAll, value < 20);
  }
  __syncwarp();
  out[2 * i] = got;
  out[2 * i + 1] = votes;
}

// Lanes leave a loop one by one; those that stay continue with collectives among themselves.
extern "C" __global__ void collectives_in_trips(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, value = in[i];
  unsigned trips = value % 13, sum = 0;
  unsigned members = __ballot_sync(kAll, trips > 0);
  for (unsigned t = 0; t < trips; ++t) {
    unsigned above = members & ~((2u << lane) - 1);
    unsigned next = above ? (unsigned)__ffs((int)above) - 1 : (unsigned)__ffs((int)members) - 1;
    sum = sum * 3 + __shfl_sync(members, value + t, (int)next);
    sum += (unsigned)__popc(members) << t;
    members = __ballot_sync(members, t + 1 < trips);
  }
  out[i] = sum + __shfl_sync(kAll, sum, 31 - (int)lane);
}

// Eight ways through a switch, each with collectives of the lanes that took it.
extern "C" __global__ void collectives_in_switch(const unsigned* in, unsigned* out, unsigned steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, value = in[i];
  for (unsigned s = 0; s < steps; ++s) {
    unsigned way = (value + s) % 8, members = __match_any_sync(kAll, way);
    int leader = __ffs((int)members) - 1;
    switch (way) {
      case 0: value = __shfl_sync(members, value, leader) + 1; break;
      case 1: value ^= __ballot_sync(members, value & 2); break;
      case 2: value = value * 3 + (unsigned)__popc(members); break;
      case 3: value += (unsigned)__any_sync(members, lane == 5) * 17; break;
      case 4: value -= (unsigned)__all_sync(members, lane >= 16) * 9 + 1; break;
      case 5: value = (value << 1 | value >> 31) + (unsigned)__popc(__match_any_sync(members, value / 16)); break;
      case 6: value = ~__shfl_sync(members, value, 31 - __clz((int)members)); break;
      default: value += __activemask() != 0; break;
    }
    __syncwarp();
  }
  out[i] = value;
}

// Lanes end for good one after the other; the rest still meets, by masks of those that are left. Any block size.
extern "C" __global__ void collectives_after_exits(const unsigned* in, unsigned* out) {
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, lane = tid % 32;
  unsigned lanes = min(32u, blockDim.x - tid / 32 * 32), value = in[i];
  unsigned members = lanes == 32 ? kAll : (1u << lanes) - 1;
  for (unsigned r = 0; r < 6; ++r) {
    bool leaves = (value >> r) % 4 == 3;
    unsigned leaving = __ballot_sync(members, leaves);
    if (leaves) {
      out[i] = value + leaving;
      return;
    }
    members &= ~leaving;
    int first = __ffs((int)members) - 1;
    value += __shfl_sync(members, value, first) + r;
    if (__any_sync(members, lane == 0)) value ^= 0x40;
  }
  out[i] = value * 2;
}
