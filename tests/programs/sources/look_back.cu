// Scan, selection and sort in one pass over the data each: a block takes the next tile, publishes what is in
// it, and looks back over the tiles before for what they have published (decoupled look-back; Merrill and
// Garland 2016; for sorting Adinets and Merrill 2022). Status and value of a tile are one strong access of
// two elements: a status that comes with another value is a wrong result from that tile on. Tiles are small,
// so that there are many.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr unsigned kThreads = 32, kDigits = 16, kDigitBits = 4;  // a tile is a warp's
constexpr unsigned kPart = 1, kPrefix = 2;  // what is published; 0: nothing yet

template <typename Word>
struct alignas(2 * sizeof(Word)) State {
  Word status, value;
};

__device__ void Publish(State<uint32_t>* to, uint32_t status, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(status), "r"(value) : "memory");
}
__device__ void Publish(State<uint64_t>* to, uint64_t status, uint64_t value) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(status), "l"(value) : "memory");
}
__device__ State<uint32_t> Look(const State<uint32_t>* at) {
  State<uint32_t> state;
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(state.status), "=r"(state.value) : "l"(at) : "memory");
  return state;
}
__device__ State<uint64_t> Look(const State<uint64_t>* at) {
  State<uint64_t> state;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(state.status), "=l"(state.value) : "l"(at) : "memory");
  return state;
}

// The sum of all tiles before, found by a warp: 32 of them at once.
template <typename Word>
__device__ Word SumBefore(const State<Word>* states, int tile) {
  const int lane = threadIdx.x;
  Word sum = 0;
  for (int first = tile - 1;; first -= 32) {
    State<Word> state{kPrefix, 0};
    do {
      if (first - lane >= 0) state = Look(states + first - lane);
    } while (__any_sync(~0u, state.status == 0));
    const unsigned prefixes = __ballot_sync(~0u, state.status == kPrefix);
    Word value = prefixes != 0 && lane > __ffs(prefixes) - 1 ? 0 : state.value;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
    sum += value;
    if (prefixes != 0) return sum;
  }
}

__device__ unsigned NextTile(unsigned* next) {
  unsigned tile = 0;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
  return __shfl_sync(~0u, tile, 0);
}

// Of the warp's values: up to the lane's own.
template <typename Word>
__device__ Word ScanOfWarp(Word value) {
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const Word below = __shfl_up_sync(~0u, value, distance);
    if (threadIdx.x >= distance) value += below;
  }
  return value;
}

// Publishes the tile's sum, then that of all tiles up to it; returns that of those before.
template <typename Word>
__device__ Word Before(State<Word>* states, unsigned tile, Word all) {
  if (threadIdx.x == 0) Publish(states + tile, tile == 0 ? kPrefix : kPart, all);
  if (tile == 0) return 0;
  const Word before = SumBefore(states, static_cast<int>(tile));
  if (threadIdx.x == 0) Publish(states + tile, kPrefix, before + all);
  return before;
}

template <typename Word>
__global__ void Scan(const Word* in, Word* out, State<Word>* states, unsigned* next) {
  const unsigned tile = NextTile(next);
  const unsigned i = tile * kThreads + threadIdx.x;
  const Word scanned = ScanOfWarp(in[i]);
  out[i] = Before(states, tile, __shfl_sync(~0u, scanned, 31)) + scanned;
}

// What is divisible by three, in order.
__global__ void Select(const uint32_t* in, uint32_t* out, uint32_t* count, State<uint32_t>* states, unsigned* next) {
  const unsigned tile = NextTile(next);
  const uint32_t value = in[tile * kThreads + threadIdx.x];
  const unsigned selected = __ballot_sync(~0u, value % 3 == 0);
  const uint32_t before = Before<uint32_t>(states, tile, __popc(selected));
  if (value % 3 == 0) out[before + __popc(selected & ((1u << threadIdx.x) - 1))] = value;
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *count = before + __popc(selected);
}

__global__ void CountDigits(const uint32_t* keys, unsigned shift, uint32_t* counts) {
  atomicAdd(counts + (keys[blockIdx.x * kThreads + threadIdx.x] >> shift) % kDigits, 1u);
}

// One digit of a stable sort. Each of the first lanes looks back for its digit.
__global__ void SortByDigit(const uint32_t* in, uint32_t* out, unsigned shift, const uint32_t* counts,
                            State<uint32_t>* states, unsigned* next) {
  const unsigned own = threadIdx.x % kDigits;
  uint32_t start = 0;
  for (unsigned digit = 0; digit < own; ++digit) start += counts[digit];
  const unsigned tile = NextTile(next);
  const uint32_t key = in[tile * kThreads + threadIdx.x];
  const unsigned digit = (key >> shift) % kDigits;
  uint32_t all = 0, before = 0;
  for (unsigned d = 0; d < kDigits; ++d) {
    const unsigned with = __ballot_sync(~0u, digit == d);
    if (own == d) all = __popc(with);
  }
  if (threadIdx.x < kDigits) {
    State<uint32_t>* const state = states + tile * kDigits + own;
    Publish(state, tile == 0 ? kPrefix : kPart, all);
    for (unsigned at = tile; at-- > 0;) {
      State<uint32_t> other;
      do other = Look(states + at * kDigits + own);
      while (other.status == 0);
      before += other.value;
      if (other.status == kPrefix) break;
    }
    if (tile != 0) Publish(state, kPrefix, before + all);
  }
  __syncwarp();
  const unsigned same = __match_any_sync(~0u, digit);
  out[__shfl_sync(~0u, start + before, digit) + __popc(same & ((1u << threadIdx.x) - 1))] = key;
}

template <typename Value>
struct Memory {
  explicit Memory(size_t count) : bytes(count * sizeof(Value)) { cudaMalloc(&data, bytes); }
  Memory(const Memory&) = delete;
  ~Memory() { cudaFree(data); }
  void Clear() { cudaMemset(data, 0, bytes); }
  void Put(const std::vector<Value>& from) { cudaMemcpy(data, from.data(), bytes, cudaMemcpyHostToDevice); }
  std::vector<Value> Get() const {
    std::vector<Value> to(bytes / sizeof(Value));
    cudaMemcpy(to.data(), data, bytes, cudaMemcpyDeviceToHost);
    return to;
  }
  Value* data = nullptr;
  size_t bytes;
};

uint32_t Random(uint32_t& state) {
  state = state * 1664525 + 1013904223;
  return state ^ state >> 15;
}

template <typename Word>
bool ScanIsRight(unsigned tiles, uint32_t seed) {
  const unsigned n = tiles * kThreads;
  std::vector<Word> values(n);
  for (Word& value : values) value = static_cast<Word>(Random(seed)) << (sizeof(Word) == 8 ? 20 : 0);
  Memory<Word> in(n), out(n);
  Memory<State<Word>> states(tiles);
  Memory<unsigned> next(1);
  in.Put(values), states.Clear(), next.Clear();
  Scan<Word><<<tiles, kThreads>>>(in.data, out.data, states.data, next.data);
  const std::vector<Word> result = out.Get();
  Word sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (result[i] != (sum += values[i])) return false;
  }
  return true;
}

bool SelectionIsRight(unsigned tiles, uint32_t seed) {
  const unsigned n = tiles * kThreads;
  std::vector<uint32_t> values(n), expected;
  for (uint32_t& value : values) {
    value = Random(seed);
    if (value % 3 == 0) expected.push_back(value);
  }
  Memory<uint32_t> in(n), out(n), count(1);
  Memory<State<uint32_t>> states(tiles);
  Memory<unsigned> next(1);
  in.Put(values), states.Clear(), next.Clear();
  Select<<<tiles, kThreads>>>(in.data, out.data, count.data, states.data, next.data);
  std::vector<uint32_t> result = out.Get();
  if (count.Get()[0] != expected.size()) return false;
  result.resize(expected.size());
  return result == expected;
}

bool SortIsRight(unsigned tiles, uint32_t seed) {
  const unsigned n = tiles * kThreads;
  std::vector<uint32_t> values(n);
  for (uint32_t& value : values) value = Random(seed);
  Memory<uint32_t> a(n), b(n), counts(kDigits);
  Memory<State<uint32_t>> states(tiles * kDigits);
  Memory<unsigned> next(1);
  a.Put(values);
  uint32_t *from = a.data, *to = b.data;
  for (unsigned shift = 0; shift < 32; shift += kDigitBits) {
    counts.Clear(), states.Clear(), next.Clear();
    CountDigits<<<tiles, kThreads>>>(from, shift, counts.data);
    SortByDigit<<<tiles, kThreads>>>(from, to, shift, counts.data, states.data, next.data);
    uint32_t* const other = from;
    from = to, to = other;
  }
  const std::vector<uint32_t> result = a.Get();  // after an even number of digits
  uint32_t sums[2] = {0, 0};
  for (unsigned i = 0; i < n; ++i) {
    if (i > 0 && result[i - 1] > result[i]) return false;
    sums[0] += values[i] * 2654435761u ^ values[i] >> 7;
    sums[1] += result[i] * 2654435761u ^ result[i] >> 7;
  }
  return sums[0] == sums[1];
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 4;
  int wrong[4] = {0, 0, 0, 0};
  for (int round = 0; round < rounds; ++round) {
    wrong[0] += !ScanIsRight<uint32_t>(65536, 1 + round);
    wrong[1] += !ScanIsRight<uint64_t>(65536, 2 + round);
    wrong[2] += !SelectionIsRight(65536, 3 + round);
    wrong[3] += !SortIsRight(8192, 4 + round);
  }
  std::printf("scan of 32 bits: %d wrong\nscan of 64 bits: %d wrong\nselection: %d wrong\nsort: %d wrong\n%s\n", wrong[0], wrong[1],
              wrong[2], wrong[3], cudaGetErrorString(cudaGetLastError()));
  return 0;
}
