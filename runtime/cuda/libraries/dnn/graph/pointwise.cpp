#include <cmath>
#include <numbers>

#include "runtime/cuda/libraries/dnn/graph/elementary.h"
#include "runtime/cuda/libraries/dnn/graph/program.h"

namespace ptx2cpu::cudnn {

namespace {

template <typename R>
struct Parameters {
  explicit Parameters(const Pointwise& step)
      : alpha1(static_cast<R>(step.alpha1)),
        alpha2(static_cast<R>(step.alpha2)),
        lower(static_cast<R>(step.lower)),
        upper(static_cast<R>(step.upper)),
        slope(static_cast<R>(step.slope)),
        elu(static_cast<R>(step.elu)),
        softplus(static_cast<R>(step.softplus)),
        swish(static_cast<R>(step.swish)) {}
  R alpha1, alpha2, lower, upper, slope, elu, softplus, swish;
};

// One row of elements that lie next to each other.
template <typename R>
using Kernel = void(const Parameters<R>& p, const R* x, const R* b, const R* t, R* y, int64_t count);

template <typename R>
struct Formulas {
#define FORMULA(name, operands, value)                                                                   \
  static void name(const Parameters<R>& p, const R* xs, const R* bs, const R* ts, R* y, int64_t count) { \
    for (int64_t i = 0; i < count; ++i) {                                                                \
      [[maybe_unused]] const R x = p.alpha1 * xs[i];                                                     \
      [[maybe_unused]] const R b = operands > 1 ? p.alpha2 * bs[i] : R{};                                \
      [[maybe_unused]] const R t = operands > 2 ? ts[i] : R{};                                           \
      y[i] = static_cast<R>(value);                                                                      \
    }                                                                                                    \
  }
#include "runtime/cuda/libraries/dnn/graph/pointwise.def"
};

template <typename R>
struct KernelRow {
  cudnnPointwiseMode_t mode;
  Kernel<R>* kernel;
};
template <typename R>
constexpr KernelRow<R> kKernels[] = {
#define FORMULA(name, operands, value) {CUDNN_POINTWISE_##name, Formulas<R>::name},
#include "runtime/cuda/libraries/dnn/graph/pointwise.def"
};

constexpr int64_t kAtOnce = 256;

// An operand's next elements: where they are, or copied to `buffer`.
template <typename R>
const R* Next(const R* from, int64_t step, int64_t at, int64_t count, R* buffer) {
  if (from == nullptr || step == 1) return from == nullptr ? nullptr : from + at;
  if (step == 0) {
    if (at == 0) std::fill_n(buffer, kAtOnce, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) buffer[i] = from[(at + i) * step];
  }
  return buffer;
}

template <typename R>
void WriteIndices(const Pointwise& step, R* y, int64_t count) {
  libraries::ForRanges(count, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = static_cast<R>(i / step.index_step % step.index_extent);
  });
}

}  // namespace

template <typename R>
void Run(const Pointwise& step, const Frame<R>& frame) {
  R* const y = frame[step.y];
  if (step.mode == CUDNN_POINTWISE_GEN_INDEX) return WriteIndices(step, y, frame.Count(step.y));
  const R *const x = frame[step.x], *const b = frame[step.b], *const t = frame[step.t];
  Kernel<R>* const kernel = std::ranges::find(kKernels<R>, step.mode, &KernelRow<R>::mode)->kernel;
  const Parameters<R> parameters(step);
  const auto& inner = step.nest.inner;
  step.nest.ForAll([&](const auto& places) {
    R buffers[3][kAtOnce];
    for (int64_t at = 0; at < inner.extent; at += kAtOnce) {
      const int64_t count = std::min(kAtOnce, inner.extent - at);
      auto next = [&](const R* from, size_t array) {
        return Next(from == nullptr ? from : from + places[array], inner.steps[array], at, count,
                    buffers[array - 1]);
      };
      kernel(parameters, next(x, 1), next(b, 2), next(t, 3), y + places[0] + at, count);
    }
  });
}

template void Run(const Pointwise&, const Frame<float>&);
template void Run(const Pointwise&, const Frame<double>&);

}  // namespace ptx2cpu::cudnn
