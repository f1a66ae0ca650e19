// Normalisation by layers, instances, batches, groups of channels, and root mean squares; forward and
// backward.
#include <cmath>

#include "runtime/cuda/libraries/dnn/graph/groups.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// Mean and 1 / deviation of each group, and the running values beside them.
template <typename R>
void Measure(const NormForward& step, const Frame<R>& frame, R* mean, R* inverse) {
  const R* const x = frame[step.x];
  const double epsilon = frame.First(step.epsilon, 0), factor = frame.First(step.factor, 1);
  const auto count = static_cast<double>(step.groups.count);
  if (step.has_mean) {
    ForGroups<Addition, 1>(
        step.groups,
        [&](Totals<1>& totals, int64_t lane, int64_t place, int64_t) { totals[0][lane] += x[place]; },
        [&](int64_t group, const double(&sums)[1]) { mean[group] = static_cast<R>(sums[0] / count); });
  } else {
    std::fill_n(mean, step.statistics, R{});
  }
  const R *const in_mean = frame[step.in_mean], *const in_variance = frame[step.in_variance];
  R *const out_mean = frame[step.out_mean], *const out_variance = frame[step.out_variance];
  ForGroups<Addition, 1>(
      step.groups,
      [&](Totals<1>& totals, int64_t lane, int64_t place, int64_t group) {
        const double from = static_cast<double>(x[place]) - mean[group];
        totals[0][lane] += from * from;
      },
      [&](int64_t group, const double(&sums)[1]) {
        inverse[group] = static_cast<R>(1 / std::sqrt(sums[0] / count + epsilon));
        auto blend = [&](const R* in, R* out, double now) {
          if (out != nullptr)
            out[group] = static_cast<R>((1 - factor) * (in == nullptr ? 0 : static_cast<double>(in[group])) +
                                        factor * now);
        };
        blend(in_mean, out_mean, mean[group]);
        blend(in_variance, out_variance, count > 1 ? sums[0] / (count - 1) : sums[0]);
      });
}

// What both directions have: storage for statistics that are no tensors.
template <typename R>
R* Or(R* values, std::unique_ptr<R[]>& own, int64_t count) {
  if (values != nullptr) return values;
  own = Storage<R>(count);
  return own.get();
}

}  // namespace

template <typename R>
void Run(const NormForward& step, const Frame<R>& frame) {
  std::unique_ptr<R[]> own_mean, own_inverse;
  R *const mean = Or(frame[step.mean], own_mean, step.statistics), *const inverse =
                                                                       Or(frame[step.inverse], own_inverse,
                                                                          step.statistics);
  if (!step.reads_statistics) Measure(step, frame, mean, inverse);
  const R *const x = frame[step.x], *const scale = frame[step.scale], *const bias = frame[step.bias];
  R* const y = frame[step.y];
  const auto& inner = step.nest.inner;
  const auto& by = inner.steps;
  step.nest.ForAll([&](const auto& at) {
    const R *const xs = x + at[0], *const means = mean + at[1], *const inverses = inverse + at[1],
                   *const scales = scale + at[2], *const biases = bias == nullptr ? nullptr : bias + at[3];
    R* const ys = y + at[0];
    for (int64_t i = 0; i < inner.extent; ++i) {
      const R value = (xs[i * by[0]] - means[i * by[1]]) * inverses[i * by[1]] * scales[i * by[2]];
      ys[i * by[0]] = biases == nullptr ? value : value + biases[i * by[3]];
    }
  });
}

template <typename R>
void Run(const NormBackward& step, const Frame<R>& frame) {
  const R *const x = frame[step.x], *const dy = frame[step.dy], *const scale = frame[step.scale];
  std::unique_ptr<R[]> own_mean, own_inverse;
  R *const mean = Or(frame[step.mean], own_mean, step.statistics), *const inverse =
                                                                       Or(frame[step.inverse], own_inverse,
                                                                          step.statistics);
  if (step.batch_statistics) {
    NormForward forward{};
    forward.has_mean = step.has_mean, forward.x = step.x, forward.epsilon = step.epsilon;
    forward.factor = forward.in_mean = forward.in_variance = forward.out_mean = forward.out_variance = kNone;
    forward.statistics = step.statistics, forward.groups = step.groups;
    Measure(forward, frame, mean, inverse);
  } else if (!step.has_mean) {
    std::fill_n(mean, step.statistics, R{});
  }
  // x normalised, and its gradient, which dx is made of below; both in dx's order.
  const int64_t count = frame.Count(step.x);
  const auto normal = Storage<R>(count);
  R* const dx = frame[step.dx];
  const auto& inner = step.nest.inner;
  const auto& by = inner.steps;
  step.nest.ForAll([&](const auto& at) {
    for (int64_t i = 0; i < inner.extent; ++i) {
      const int64_t place = at[0] + i * by[0], group = at[1] + i * by[1];
      normal[place] = (x[place] - mean[group]) * inverse[group];
      dx[place] = dy[place] * scale[at[2] + i * by[2]];
    }
  });
  R *const dscale = frame[step.dscale], *const dbias = frame[step.dbias];
  ForGroups<Addition, 2>(
      step.scale_groups,
      [&](Totals<2>& totals, int64_t lane, int64_t place, int64_t) {
        totals[0][lane] += static_cast<double>(dy[place]) * normal[place], totals[1][lane] += dy[place];
      },
      [&](int64_t group, const double(&sums)[2]) {
        dscale[group] = static_cast<R>(sums[0]);
        if (dbias != nullptr) dbias[group] = static_cast<R>(sums[1]);
      });
  const auto along = Storage<R>(step.statistics), level = Storage<R>(step.statistics);
  const auto size = static_cast<double>(step.groups.count);
  ForGroups<Addition, 2>(
      step.groups,
      [&](Totals<2>& totals, int64_t lane, int64_t place, int64_t) {
        totals[0][lane] += static_cast<double>(dx[place]) * normal[place], totals[1][lane] += dx[place];
      },
      [&](int64_t group, const double(&sums)[2]) {
        along[group] = static_cast<R>(sums[0] / size);
        level[group] = static_cast<R>(step.has_mean ? sums[1] / size : 0);
      });
  step.nest.ForAll([&](const auto& at) {
    for (int64_t i = 0; i < inner.extent; ++i) {
      const int64_t place = at[0] + i * by[0], group = at[1] + i * by[1];
      dx[place] = inverse[group] * (dx[place] - level[group] - normal[place] * along[group]);
    }
  });
}

template <typename R>
void Run(const BatchFinalize& step, const Frame<R>& frame) {
  const double epsilon = frame.First(step.epsilon, 0), factor = frame.First(step.factor, 1);
  const double count = frame.First(step.count, 1);
  auto put = [&](int tensor, int64_t channel, double value) {
    if (R* const to = frame[tensor]) to[channel] = static_cast<R>(value);
  };
  auto get = [&](int tensor, int64_t channel) {
    const R* const from = frame[tensor];
    return from == nullptr ? 0 : static_cast<double>(from[channel]);
  };
  for (int64_t c = 0; c < step.channels; ++c) {
    double mean = get(step.in_mean, c), variance = get(step.in_variance, c);
    if (step.training) {
      const double now = get(step.sum, c) / count,
                   spread = std::max(get(step.squares, c) / count - now * now, 0.0);
      put(step.out_mean, c, (1 - factor) * mean + factor * now);
      put(step.out_variance, c,
          (1 - factor) * variance + factor * (count > 1 ? spread * count / (count - 1) : spread));
      mean = now, variance = spread;
    }
    const double inverse = 1 / std::sqrt(variance + epsilon), scale = get(step.scale, c) * inverse;
    put(step.mean, c, mean);
    put(step.inverse, c, inverse);
    put(step.to_scale, c, scale);
    put(step.to_bias, c, get(step.bias, c) - mean * scale);
  }
}

template void Run(const NormForward&, const Frame<float>&);
template void Run(const NormForward&, const Frame<double>&);
template void Run(const NormBackward&, const Frame<float>&);
template void Run(const NormBackward&, const Frame<double>&);
template void Run(const BatchFinalize&, const Frame<float>&);
template void Run(const BatchFinalize&, const Frame<double>&);

}  // namespace ptx2cpu::cudnn
