#include <cmath>
#include <limits>

#include "runtime/cuda/libraries/dnn/graph/groups.h"

namespace ptx2cpu::cudnn {

namespace {

struct Multiplication {
  static constexpr double kBegin = 1;
  static double Join(double a, double b) { return a * b; }
};
struct Least {
  static constexpr double kBegin = std::numeric_limits<double>::infinity();
  static double Join(double a, double b) { return b < a ? b : a; }
};
struct Greatest {
  static constexpr double kBegin = -std::numeric_limits<double>::infinity();
  static double Join(double a, double b) { return b > a ? b : a; }
};

// y = after(total of each(element)).
template <typename Op, typename R, typename Each, typename After>
void Reduce(const Reduction& step, const Frame<R>& frame, const Each& each, const After& after) {
  const R* const x = frame[step.x];
  R* const y = frame[step.y];
  ForGroups<Op, 1>(
      step.groups,
      [&](Totals<1>& totals, int64_t lane, int64_t place, int64_t) {
        totals[0][lane] = Op::Join(totals[0][lane], each(static_cast<double>(x[place])));
      },
      [&](int64_t group, const double(&sums)[1]) { y[group] = static_cast<R>(after(sums[0])); });
}

}  // namespace

template <typename R>
void Run(const Reduction& step, const Frame<R>& frame) {
  auto same = [](double value) { return value; };
  auto size = [](double value) { return std::abs(value); };
  const auto count = static_cast<double>(step.groups.count);
  switch (step.op) {
    case CUDNN_REDUCE_TENSOR_ADD:
      return Reduce<Addition>(step, frame, same, same);
    case CUDNN_REDUCE_TENSOR_MUL:
      return Reduce<Multiplication>(step, frame, same, same);
    case CUDNN_REDUCE_TENSOR_MIN:
      return Reduce<Least>(step, frame, same, same);
    case CUDNN_REDUCE_TENSOR_MAX:
      return Reduce<Greatest>(step, frame, same, same);
    case CUDNN_REDUCE_TENSOR_AMAX:
      return Reduce<Greatest>(step, frame, size, same);
    case CUDNN_REDUCE_TENSOR_AVG:
      return Reduce<Addition>(step, frame, same, [&](double sum) { return sum / count; });
    case CUDNN_REDUCE_TENSOR_NORM1:
      return Reduce<Addition>(step, frame, size, same);
    case CUDNN_REDUCE_TENSOR_NORM2:
      return Reduce<Addition>(
          step, frame, [](double value) { return value * value; }, [](double sum) { return std::sqrt(sum); });
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
      return Reduce<Multiplication>(step, frame, [](double value) { return value == 0 ? 1 : value; }, same);
  }
}

template <typename R>
void Run(const Moments& step, const Frame<R>& frame) {
  const R* const x = frame[step.x];
  R *const sum = frame[step.sum], *const squares = frame[step.squares];
  ForGroups<Addition, 2>(
      step.groups,
      [&](Totals<2>& totals, int64_t lane, int64_t place, int64_t) {
        const double value = x[place];
        totals[0][lane] += value, totals[1][lane] += value * value;
      },
      [&](int64_t group, const double(&sums)[2]) {
        sum[group] = static_cast<R>(sums[0]), squares[group] = static_cast<R>(sums[1]);
      });
}

template void Run(const Reduction&, const Frame<float>&);
template void Run(const Reduction&, const Frame<double>&);
template void Run(const Moments&, const Frame<float>&);
template void Run(const Moments&, const Frame<double>&);

}  // namespace ptx2cpu::cudnn
