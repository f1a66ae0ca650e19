// Products of matrices, and convolutions.
#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/dnn/convolution.h"
#include "runtime/cuda/libraries/dnn/graph/program.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// Rows of a product that are one piece of work.
constexpr int64_t kRowsAtOnce = 128;

template <typename R>
void Multiply(const Product& step, int64_t m, int64_t n, int64_t k, const R* a, const R* b, R* c) {
  auto size = [](int64_t extent) { return static_cast<int>(std::max<int64_t>(extent, 1)); };
  if (m == 0 || n == 0) return;
  // By rows: the transposed product by columns.
  libraries::Blas<"gemm", R>(step.b_swapped ? 'T' : 'N', step.a_swapped ? 'T' : 'N', static_cast<int>(n),
                             static_cast<int>(m), static_cast<int>(k), R{1}, b,
                             size(step.b_swapped ? step.k : step.n), a,
                             size(step.a_swapped ? step.m : step.k), R{0}, c, size(step.n));
}

}  // namespace

template <typename R>
void Run(const Product& step, const Frame<R>& frame) {
  const R *const a = frame[step.a], *const b = frame[step.b];
  R* const c = frame[step.c];
  const auto batches = static_cast<int64_t>(step.a_places.size()),
             tiles = (step.m + kRowsAtOnce - 1) / kRowsAtOnce;
  libraries::ForEach(batches * tiles, [&](int64_t piece) {
    const auto batch = static_cast<size_t>(piece / tiles);
    auto limit = [&](int tensor, int64_t most) {
      const double given =
          tensor == kNone ? static_cast<double>(most) : frame[tensor][step.limit_places[batch]];
      return std::clamp(static_cast<int64_t>(given), int64_t{0}, most);
    };
    const int64_t rows = limit(step.rows, step.m), columns = limit(step.columns, step.n),
                  depths = limit(step.depths, step.k), first = piece % tiles * kRowsAtOnce,
                  last = std::min(first + kRowsAtOnce, step.m), end = std::clamp(rows, first, last);
    R* const to = c + static_cast<int64_t>(batch) * step.m * step.n;
    if (end < last || columns < step.n)
      std::fill(to + first * step.n, to + last * step.n, static_cast<R>(step.padding));
    Multiply<R>(step, end - first, columns, depths,
                a + step.a_places[batch] + first * (step.a_swapped ? 1 : step.k), b + step.b_places[batch],
                to + first * step.n);
  });
}

template <typename R>
void Run(const Convolution& step, const Frame<R>& frame) {
  const int target = step.kind == ConvolutionKind::kForward ? step.y
                     : step.kind == ConvolutionKind::kData  ? step.x
                                                            : step.w;
  R* const to = frame[target];
  const int64_t count = frame.Count(target);
  const auto before = step.beta == 0 ? nullptr : Storage<R>(count);
  if (before) std::copy_n(to, count, before.get());
  switch (step.kind) {
    case ConvolutionKind::kForward:
      Forward<R>(step.shape, frame[step.x], frame[step.w], to);
      break;
    case ConvolutionKind::kData:
      BackwardData<R>(step.shape, frame[step.w], frame[step.y], to);
      break;
    case ConvolutionKind::kFilter:
      BackwardFilter<R>(step.shape, frame[step.x], frame[step.y], to);
      break;
  }
  if (step.alpha == 1 && !before) return;
  const R alpha = static_cast<R>(step.alpha), beta = static_cast<R>(step.beta);
  libraries::ForRanges(count, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = alpha * to[i] + (before ? beta * before[i] : R{});
  });
}

template void Run(const Product&, const Frame<float>&);
template void Run(const Product&, const Frame<double>&);
template void Run(const Convolution&, const Frame<float>&);
template void Run(const Convolution&, const Frame<double>&);

}  // namespace ptx2cpu::cudnn
