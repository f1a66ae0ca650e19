// Operations that move elements or make them: concatenation, other shapes, random numbers, pooling.
#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/cuda/libraries/dnn/graph/program.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011: four words of counter and key.
std::array<uint32_t, 4> Philox(uint64_t low, uint64_t high, uint64_t key) {
  std::array<uint32_t, 4> c{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                            static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * c[0], b = uint64_t{0xcd9e8d57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9e3779b9, key1 += 0xbb67ae85;
  }
  return c;
}

double FromWords(const Random& step, const std::array<uint32_t, 4>& words, size_t which) {
  auto uniform = [&](size_t n) { return (words[n] + 0.5) * 0x1p-32; };
  switch (step.kind) {
    case CUDNN_RNG_DISTRIBUTION_BERNOULLI:
      return uniform(which) < step.a ? 1 : 0;
    case CUDNN_RNG_DISTRIBUTION_UNIFORM:
      return step.a + (step.b - step.a) * uniform(which);
    case CUDNN_RNG_DISTRIBUTION_NORMAL:
      break;
  }
  const double length = std::sqrt(-2 * std::log(uniform(which & 2))),
               angle = 2 * std::numbers::pi * uniform(which | 1);
  return step.a + step.b * length * (which % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

// A number in memory, before it becomes a float.
template <typename R>
int64_t Integer(const Frame<R>& frame, int tensor, int64_t otherwise) {
  if (tensor == kNone) return otherwise;
  const Tensor& found = frame.program.tensors[static_cast<size_t>(tensor)];
  const void* const memory = frame.memory[static_cast<size_t>(tensor)];
  if (memory == nullptr || found.is_virtual) return static_cast<int64_t>(frame[tensor][0]);
  return found.layout.type == CUDNN_DATA_INT64 ? *static_cast<const int64_t*>(memory)
                                               : *static_cast<const int32_t*>(memory);
}

template <typename R>
void Pool(const Resample& step, const R* x, R* y, R* index) {
  const bool greatest = step.mode == CUDNN_RESAMPLE_MAXPOOL;
  const bool all = step.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
  for (int64_t o = 0; o < Volume(step.windows.out); ++o) {
    R best = -std::numeric_limits<R>::infinity(), sum = 0;
    int64_t at = 0, count = 0;
    ForWindow(step.windows, PlaceOf(o, step.windows.out), [&](int64_t number, int64_t place) {
      const R value = x[place];
      if (count++ == 0 || value > best) best = value, at = number;
      sum += value;
    });
    y[o] = greatest ? best
                    : sum / static_cast<R>(all ? Volume(step.windows.window) : std::max<int64_t>(count, 1));
    if (index != nullptr) index[o] = static_cast<R>(at);
  }
}
template <typename R>
void PoolBackward(const Resample& step, const R* x, const R* dy, const R* index, R* dx) {
  const bool greatest = step.mode == CUDNN_RESAMPLE_MAXPOOL;
  const bool all = step.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
  std::fill_n(dx, Volume(step.windows.in), R{});
  for (int64_t o = 0; o < Volume(step.windows.out); ++o) {
    const Space out = PlaceOf(o, step.windows.out);
    int64_t count = 0, winner = -1;
    R best{};
    ForWindow(step.windows, out, [&](int64_t number, int64_t place) {
      const bool first = count++ == 0;
      if (!greatest) return;
      const bool wins =
          index != nullptr ? static_cast<int64_t>(index[o]) == number : first || x[place] > best;
      if (wins) winner = place, best = index != nullptr ? R{} : x[place];
    });
    if (greatest) {
      if (winner >= 0) dx[winner] += dy[o];
      continue;
    }
    const R share = dy[o] / static_cast<R>(all ? Volume(step.windows.window) : std::max<int64_t>(count, 1));
    ForWindow(step.windows, out, [&](int64_t, int64_t place) { dx[place] += share; });
  }
}

}  // namespace

template <typename R>
void Run(const Resample& step, const Frame<R>& frame) {
  const int64_t in = Volume(step.windows.in), out = Volume(step.windows.out);
  R* const index = frame[step.index];
  libraries::ForEach(step.planes, [&](int64_t plane) {
    R* const indices = index == nullptr ? nullptr : index + plane * out;
    if (step.backward) {
      const R* const x = frame[step.x];
      PoolBackward<R>(step, x == nullptr ? nullptr : x + plane * in, frame[step.dy] + plane * out, indices,
                      frame[step.dx] + plane * in);
    } else {
      Pool<R>(step, frame[step.x] + plane * in, frame[step.y] + plane * out, indices);
    }
  });
}

template <typename R>
void Run(const Concat& step, const Frame<R>& frame) {
  R* const y = frame[step.y];
  int64_t at = 0;
  for (size_t n = 0; n < step.inputs.size(); ++n) {
    const R* const x = frame[step.inputs[n]];
    const int64_t length = step.lengths[n];
    libraries::ForRanges(step.pieces, std::max<int64_t>(16384 / std::max<int64_t>(length, 1), 1),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t piece = begin; piece < end; ++piece)
                             std::copy_n(x + piece * length, length, y + piece * step.length + at);
                         });
    at += length;
  }
}

template <typename R>
void Run(const Reshape& step, const Frame<R>& frame) {
  const R* from = frame[step.x];
  R* const y = frame[step.y];
  std::unique_ptr<R[]> memory;
  auto copy = [](const Nest<2>& nest, const auto& row) {
    const auto& inner = nest.inner;
    nest.ForAll([&](const auto& at) {
      for (int64_t i = 0; i < inner.extent; ++i) row(at[0] + i * inner.steps[0], at[1] + i * inner.steps[1]);
    });
  };
  if (!step.in_packed) {
    memory = std::make_unique<R[]>(static_cast<size_t>(step.span));
    copy(step.in, [&](int64_t packed, int64_t place) { memory[place] = from[packed]; });
    from = memory.get();
  }
  copy(step.out, [&](int64_t packed, int64_t place) { y[packed] = from[place]; });
}

template <typename R>
void Run(const Random& step, const Frame<R>& frame) {
  const auto seed = static_cast<uint64_t>(Integer(frame, step.seed, step.fixed_seed));
  const auto offset = static_cast<uint64_t>(Integer(frame, step.offset, 0));
  R* const y = frame[step.y];
  const int64_t count = frame.Count(step.y);
  libraries::ForRanges((count + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t four = begin; four < end; ++four) {
      const auto words = Philox(static_cast<uint64_t>(four), offset, seed);
      for (int64_t i = four * 4; i < std::min(count, four * 4 + 4); ++i)
        y[i] = static_cast<R>(FromWords(step, words, static_cast<size_t>(i % 4)));
    }
  });
}

template void Run(const Resample&, const Frame<float>&);
template void Run(const Resample&, const Frame<double>&);
template void Run(const Concat&, const Frame<float>&);
template void Run(const Concat&, const Frame<double>&);
template void Run(const Reshape&, const Frame<float>&);
template void Run(const Reshape&, const Frame<double>&);
template void Run(const Random&, const Frame<float>&);
template void Run(const Random&, const Frame<double>&);

}  // namespace ptx2cpu::cudnn
