// Operations of cuDNN's graph API against their definitions, one by one; descriptors and their status.
#include <limits>

#include "tests/libraries/cudnn_graph_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

using Extents = DnnGraph::Extents;
constexpr auto kX = CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kB = CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
               kT = CUDNN_ATTR_OPERATION_POINTWISE_TDESC, kY = CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
               kDx = CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, kDy = CUDNN_ATTR_OPERATION_POINTWISE_DYDESC;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double GeluByTanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + .044715 * x * x * x)));
}
double Softplus(double x) { return std::log1p(std::exp(x)); }

struct Formula {
  cudnnPointwiseMode_t mode;
  int operands;
  double (*value)(double x, double b, double t);
};
const Formula kFormulas[] = {
    {CUDNN_POINTWISE_ADD, 2, [](double x, double b, double) { return x + b; }},
    {CUDNN_POINTWISE_MUL, 2, [](double x, double b, double) { return x * b; }},
    {CUDNN_POINTWISE_MIN, 2, [](double x, double b, double) { return std::min(x, b); }},
    {CUDNN_POINTWISE_MAX, 2, [](double x, double b, double) { return std::max(x, b); }},
    {CUDNN_POINTWISE_SQRT, 1, [](double x, double, double) { return std::sqrt(x); }},
    {CUDNN_POINTWISE_ADD_SQUARE, 2, [](double x, double b, double) { return x + b * b; }},
    {CUDNN_POINTWISE_DIV, 2, [](double x, double b, double) { return x / b; }},
    {CUDNN_POINTWISE_MOD, 2, [](double x, double b, double) { return std::fmod(x, b); }},
    {CUDNN_POINTWISE_POW, 2, [](double x, double b, double) { return std::pow(x, b); }},
    {CUDNN_POINTWISE_SUB, 2, [](double x, double b, double) { return x - b; }},
    {CUDNN_POINTWISE_ABS, 1, [](double x, double, double) { return std::abs(x); }},
    {CUDNN_POINTWISE_CEIL, 1, [](double x, double, double) { return std::ceil(x); }},
    {CUDNN_POINTWISE_COS, 1, [](double x, double, double) { return std::cos(x); }},
    {CUDNN_POINTWISE_EXP, 1, [](double x, double, double) { return std::exp(x); }},
    {CUDNN_POINTWISE_FLOOR, 1, [](double x, double, double) { return std::floor(x); }},
    {CUDNN_POINTWISE_LOG, 1, [](double x, double, double) { return std::log(x); }},
    {CUDNN_POINTWISE_NEG, 1, [](double x, double, double) { return -x; }},
    {CUDNN_POINTWISE_RSQRT, 1, [](double x, double, double) { return 1 / std::sqrt(x); }},
    {CUDNN_POINTWISE_SIN, 1, [](double x, double, double) { return std::sin(x); }},
    {CUDNN_POINTWISE_TAN, 1, [](double x, double, double) { return std::tan(x); }},
    {CUDNN_POINTWISE_ERF, 1, [](double x, double, double) { return std::erf(x); }},
    {CUDNN_POINTWISE_IDENTITY, 1, [](double x, double, double) { return x; }},
    {CUDNN_POINTWISE_RECIPROCAL, 1, [](double x, double, double) { return 1 / x; }},
    {CUDNN_POINTWISE_ATAN2, 2, [](double x, double b, double) { return std::atan2(x, b); }},
    {CUDNN_POINTWISE_RELU_FWD, 1, [](double x, double, double) { return std::max(x, 0.0); }},
    {CUDNN_POINTWISE_TANH_FWD, 1, [](double x, double, double) { return std::tanh(x); }},
    {CUDNN_POINTWISE_SIGMOID_FWD, 1, [](double x, double, double) { return Sigmoid(x); }},
    {CUDNN_POINTWISE_ELU_FWD, 1, [](double x, double, double) { return x > 0 ? x : std::expm1(x); }},
    {CUDNN_POINTWISE_GELU_FWD, 1, [](double x, double, double) { return Gelu(x); }},
    {CUDNN_POINTWISE_SOFTPLUS_FWD, 1, [](double x, double, double) { return Softplus(x); }},
    {CUDNN_POINTWISE_SWISH_FWD, 1, [](double x, double, double) { return x * Sigmoid(x); }},
    {CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, 1, [](double x, double, double) { return GeluByTanh(x); }},
    {CUDNN_POINTWISE_CMP_EQ, 2, [](double x, double b, double) { return double(x == b); }},
    {CUDNN_POINTWISE_CMP_NEQ, 2, [](double x, double b, double) { return double(x != b); }},
    {CUDNN_POINTWISE_CMP_GT, 2, [](double x, double b, double) { return double(x > b); }},
    {CUDNN_POINTWISE_CMP_GE, 2, [](double x, double b, double) { return double(x >= b); }},
    {CUDNN_POINTWISE_CMP_LT, 2, [](double x, double b, double) { return double(x < b); }},
    {CUDNN_POINTWISE_CMP_LE, 2, [](double x, double b, double) { return double(x <= b); }},
    {CUDNN_POINTWISE_LOGICAL_AND, 2, [](double x, double b, double) { return double(x != 0 && b != 0); }},
    {CUDNN_POINTWISE_LOGICAL_OR, 2, [](double x, double b, double) { return double(x != 0 || b != 0); }},
    {CUDNN_POINTWISE_LOGICAL_NOT, 1, [](double x, double, double) { return double(x == 0); }},
    {CUDNN_POINTWISE_BINARY_SELECT, 3, [](double x, double b, double t) { return t != 0 ? x : b; }},
};
// Backward modes, with the function whose slope they use.
struct Slope {
  cudnnPointwiseMode_t mode;
  double (*forward)(double);
};
const Slope kSlopes[] = {
    {CUDNN_POINTWISE_RELU_BWD, [](double x) { return std::max(x, 0.0); }},
    {CUDNN_POINTWISE_TANH_BWD, [](double x) { return std::tanh(x); }},
    {CUDNN_POINTWISE_SIGMOID_BWD, [](double x) { return Sigmoid(x); }},
    {CUDNN_POINTWISE_ELU_BWD, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {CUDNN_POINTWISE_GELU_BWD, [](double x) { return Gelu(x); }},
    {CUDNN_POINTWISE_SOFTPLUS_BWD, [](double x) { return Softplus(x); }},
    {CUDNN_POINTWISE_SWISH_BWD, [](double x) { return x * Sigmoid(x); }},
    {CUDNN_POINTWISE_GELU_APPROX_TANH_BWD, [](double x) { return GeluByTanh(x); }},
};

// Without 0, where slopes jump.
std::vector<double> Uneven(size_t count, int seed) {
  std::vector<double> numbers = Numbers(count, seed);
  for (double& number : numbers) number += 1. / 32;
  return numbers;
}
bool IsDefined(const Formula& f, double x, double b) {
  const bool wants_positive = f.mode == CUDNN_POINTWISE_SQRT || f.mode == CUDNN_POINTWISE_LOG ||
                              f.mode == CUDNN_POINTWISE_RSQRT || f.mode == CUDNN_POINTWISE_POW;
  return !(wants_positive && x < 0) && b != 0;
}

}  // namespace

TEST_CASE("cudnn graph: operations on single elements, each mode, operands that are repeated", "[cudnn]") {
  const Extents extents = {2, 3, 5, 7};
  const size_t count = DnnGraph::Count(extents);
  for (const Formula& f : kFormulas) {
    for (const Extents& other : {extents, Extents{1, 3, 1, 1}, Extents{2, 3, 5, 1}}) {
      INFO("mode " << f.mode);
      DnnGraph graph;
      std::vector<double> xs = Uneven(count, 1);
      for (double& x : xs) x = IsDefined(f, x, 1) ? x : -x;
      const std::vector<double> bs = Uneven(DnnGraph::Count(other), 2), ts = Numbers(count, 3);
      const int64_t x = graph.Add(CUDNN_DATA_FLOAT, extents, xs, {105, 1, 21, 3}),  // channels last
          y = graph.Add(CUDNN_DATA_FLOAT, extents);
      DnnGraph::Names names{{kX, x}, {kY, y}};
      if (f.operands > 1) names.emplace_back(kB, graph.Add(CUDNN_DATA_FLOAT, other, bs));
      if (f.operands > 2) names.emplace_back(kT, graph.Add(CUDNN_DATA_FLOAT, extents, ts));
      graph.Pointwise(f.mode, names);
      graph.Run();
      std::vector<double> ys(count);
      for (size_t i = 0; i < count; ++i) {
        const size_t at = other == extents ? i : other[3] == 1 && other[0] == 2 ? i / 7 : i / 35 % 3;
        ys[i] = f.value(xs[i], bs[at], ts[i]);
      }
      graph.Check(y, ys, 4e-6);
    }
  }
}

TEST_CASE("cudnn graph: gradients of operations on single elements are the slopes of what they invert",
          "[cudnn]") {
  const Extents extents = {4, 1, 61};
  const size_t count = DnnGraph::Count(extents);
  for (const Slope& s : kSlopes) {
    INFO("mode " << s.mode);
    DnnGraph graph;
    const std::vector<double> xs = Uneven(count, 1), dys = Numbers(count, 2);
    const int64_t x = graph.Add(CUDNN_DATA_DOUBLE, extents, xs),
                  dy = graph.Add(CUDNN_DATA_DOUBLE, extents, dys), dx = graph.Add(CUDNN_DATA_DOUBLE, extents);
    graph.Pointwise(s.mode, {{kX, x}, {kDy, dy}, {kDx, dx}}, CUDNN_DATA_DOUBLE);
    graph.Run();
    std::vector<double> wanted(count);
    constexpr double kStep = 1e-5;
    for (size_t i = 0; i < count; ++i)
      wanted[i] = dys[i] * (s.forward(xs[i] + kStep) - s.forward(xs[i] - kStep)) / (2 * kStep);
    graph.Check(dx, wanted, 1e-8);
  }
}

TEST_CASE("cudnn graph: exponentials of floats from end to end", "[cudnn]") {
  constexpr size_t kCount = 4001;
  std::vector<double> xs(kCount);
  for (size_t i = 0; i < kCount; ++i) xs[i] = static_cast<float>(-110 + static_cast<double>(i) * .05);
  const double infinity = std::numeric_limits<double>::infinity();
  xs[0] = infinity, xs[1] = -infinity, xs[2] = 0;
  DnnGraph graph;
  const int64_t x = graph.Add(CUDNN_DATA_FLOAT, {1, 1, kCount}, xs),
                y = graph.Add(CUDNN_DATA_FLOAT, {1, 1, kCount});
  graph.Binary(CUDNN_POINTWISE_EXP, x, 0, y);
  graph.Run();
  for (double& value : xs) value = static_cast<float>(std::exp(value));
  graph.Check(y, xs, 2.5e-7, 1e-38);
}

TEST_CASE("cudnn graph: products, with batches that are repeated and columns first", "[cudnn]") {
  struct Case {
    cudnnDataType_t type, compute, out;
    double unit;
  };
  constexpr int64_t kBatches = 2, kHeads = 4, kM = 5, kN = 6, kK = 7;
  for (const Case& c : {Case{CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, 2e-6},
                        Case{CUDNN_DATA_DOUBLE, CUDNN_DATA_DOUBLE, CUDNN_DATA_DOUBLE, 1e-14},
                        Case{CUDNN_DATA_HALF, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, 1e-3},
                        Case{CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, 2e-6},
                        Case{CUDNN_DATA_INT8, CUDNN_DATA_INT32, CUDNN_DATA_INT32, 0}}) {
    for (const int64_t b_heads : {int64_t{4}, int64_t{2}, int64_t{1}}) {
      for (const bool columns : {false, true}) {
        INFO("type " << c.type << ", heads " << b_heads << ", columns " << columns);
        std::vector<double> as = Numbers(kBatches * kHeads * kM * kK, 1),
                            bs = Numbers(static_cast<size_t>(kBatches * b_heads * kK * kN), 2);
        if (c.type == CUDNN_DATA_INT8) {
          for (double& a : as) a *= 16;
          for (double& b : bs) b *= 16;
        }
        DnnGraph graph;
        const int64_t a = graph.Add(c.type, {kBatches, kHeads, kM, kK}, as),
                      b = graph.Add(c.type, {kBatches, b_heads, kK, kN}, bs,
                                    columns ? Extents{b_heads * kK * kN, kK * kN, 1, kK} : Extents{}),
                      y = graph.Add(c.out, {kBatches, kHeads, kM, kN});
        graph.Product(a, b, y, c.compute);
        graph.Run();
        std::vector<double> wanted;
        for (int64_t batch = 0; batch < kBatches * kHeads; ++batch) {
          const int64_t b_batch = batch / kHeads * b_heads + batch % kHeads / (kHeads / b_heads);
          for (int64_t i = 0; i < kM * kN; ++i) {
            double sum = 0;
            for (int64_t k = 0; k < kK; ++k)
              sum +=
                  as[size_t((batch * kM + i / kN) * kK + k)] * bs[size_t((b_batch * kK + k) * kN + i % kN)];
            wanted.push_back(sum);
          }
        }
        graph.Check(y, wanted, c.unit, 8);
      }
    }
  }
}

TEST_CASE("cudnn graph: reductions, of any axes and of groups of elements", "[cudnn]") {
  const Extents extents = {2, 6, 3, 35};
  const std::vector<double> xs = Uneven(DnnGraph::Count(extents), 1);
  for (const Extents& kept : {Extents{2, 6, 3, 1}, Extents{1, 6, 1, 1}, Extents{2, 1, 3, 35},
                              Extents{1, 1, 1, 1}, Extents{2, 2, 3, 35}, Extents{2, 3, 1, 1}, extents}) {
    for (int op = CUDNN_REDUCE_TENSOR_ADD; op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; ++op) {
      INFO("operator " << op << ", kept " << kept[0] << " " << kept[1] << " " << kept[2] << " " << kept[3]);
      DnnGraph graph;
      const int64_t x = graph.Add(CUDNN_DATA_FLOAT, extents, xs), y = graph.Add(CUDNN_DATA_FLOAT, kept);
      graph.Reduce(static_cast<cudnnReduceTensorOp_t>(op), x, y);
      graph.Run();
      const size_t groups = DnnGraph::Count(kept);
      std::vector<std::vector<double>> members(groups);
      for (size_t i = 0; i < xs.size(); ++i) {
        size_t group = 0, rest = i, unit = 1;
        for (size_t axis = 4; axis-- > 0;) {
          const auto extent = static_cast<size_t>(extents[axis]), own = static_cast<size_t>(kept[axis]);
          group += rest % extent / (extent / own) * unit;
          rest /= extent, unit *= own;
        }
        members[group].push_back(xs[i]);
      }
      std::vector<double> wanted;
      for (const std::vector<double>& member : members) {
        double sum = 0, product = 1, size = 0, squares = 0;
        for (const double value : member)
          sum += value, product *= value, size += std::abs(value), squares += value * value;
        const auto [least, greatest] = std::ranges::minmax(member);
        const double results[] = {sum,
                                  product,
                                  least,
                                  greatest,
                                  std::max(-least, greatest),
                                  sum / static_cast<double>(member.size()),
                                  size,
                                  std::sqrt(squares),
                                  product};
        wanted.push_back(results[op]);
      }
      graph.Check(y, wanted, 2e-6,
                  op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ? 1e-30 : 1);
    }
  }
}

TEST_CASE("cudnn graph: concatenation, transposition by strides, indices, sums of squares, pooling",
          "[cudnn]") {
  const Extents extents = {2, 3, 4, 6};
  const size_t count = DnnGraph::Count(extents);
  const std::vector<double> xs = Numbers(count, 1), others = Numbers(count / 3, 2);
  DnnGraph graph;
  const int64_t x = graph.Add(CUDNN_DATA_HALF, extents, xs),
                other = graph.Add(CUDNN_DATA_HALF, {2, 1, 4, 6}, others),
                both = graph.Add(CUDNN_DATA_HALF, {2, 4, 4, 6}),
                turned = graph.Add(CUDNN_DATA_FLOAT, {2, 3, 6, 4}),
                number = graph.Add(CUDNN_DATA_INT32, extents),
                sum = graph.Add(CUDNN_DATA_FLOAT, {1, 3, 1, 1}),
                squares = graph.Add(CUDNN_DATA_FLOAT, {1, 3, 1, 1}),
                pooled = graph.Add(CUDNN_DATA_FLOAT, {2, 3, 2, 3}), doubled = graph.AddVirtual(extents),
                view = graph.AddVirtual({2, 3, 6, 4}, CUDNN_DATA_FLOAT, {72, 24, 1, 6});
  auto concat = graph.Operation(CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR,
                                {{CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC, both}});
  DnnGraph::Set(concat, CUDNN_ATTR_OPERATION_CONCAT_AXIS, Extents{1});
  DnnGraph::Set(concat, CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                std::vector{graph.tensor(x), graph.tensor(other)});
  graph.Binary(CUDNN_POINTWISE_IDENTITY, view, 0, turned);  // before what it reads: order does not matter
  graph.Binary(CUDNN_POINTWISE_ADD, x, x, doubled);
  graph.Operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, doubled},
                                                               {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, view}});
  auto how = graph.Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  DnnGraph::SetMode(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
  DnnGraph::SetMode(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_INT32);
  DnnGraph::Set(how, CUDNN_ATTR_POINTWISE_AXIS, Extents{2});
  graph.Operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, {{kX, x}, {kY, number}},
                  CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  auto statistics = graph.Operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR,
                                    {{CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x},
                                     {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sum},
                                     {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares}});
  DnnGraph::SetMode(statistics, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 0);
  DnnGraph::SetMode(statistics, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                    CUDNN_DATA_FLOAT);
  auto pool = graph.Make(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  DnnGraph::SetMode(pool, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, CUDNN_RESAMPLE_MAXPOOL);
  DnnGraph::SetMode(pool, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  DnnGraph::SetMode(pool, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, CUDNN_NEG_INF_PAD);
  DnnGraph::Set(pool, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, Extents{2});
  for (const auto& [name, value] : {std::pair{CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2},
                                    {CUDNN_ATTR_RESAMPLE_STRIDES, 2},
                                    {CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0},
                                    {CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0}})
    DnnGraph::Set(pool, name, CUDNN_TYPE_FRACTION, std::vector<cudnnFraction_t>{{value, 1}, {value, 1}});
  graph.Operation(
      CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, x}, {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, pooled}},
      CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, pool);
  graph.Run();
  std::vector<double> joined, rows(count), across(count), sums(3), square_sums(3),
      greatest(2 * 3 * 2 * 3, -1e9);
  for (size_t image = 0; image < 2; ++image) {
    joined.insert(joined.end(), xs.begin() + long(image) * 72, xs.begin() + long(image) * 72 + 72);
    joined.insert(joined.end(), others.begin() + long(image) * 24, others.begin() + long(image) * 24 + 24);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t plane = i / 24, row = i / 6 % 4, column = i % 6;
    rows[i] = static_cast<double>(row), across[plane * 24 + column * 4 + row] = 2 * xs[i];
    sums[plane % 3] += xs[i], square_sums[plane % 3] += xs[i] * xs[i];
    double& most = greatest[plane * 6 + row / 2 * 3 + column / 2];
    most = std::max(most, xs[i]);
  }
  graph.Check(both, joined, 0);
  graph.Check(turned, across, 0);
  graph.Check(number, rows, 0);
  graph.Check(sum, sums);
  graph.Check(squares, square_sums);
  graph.Check(pooled, greatest, 0);
}

TEST_CASE("cudnn graph: descriptors, their attributes and status", "[cudnn]") {
  constexpr int kNotInitialized = 1001, kBadParam = 2000, kNotSupported = 3000;
  DnnGraph graph;
  auto tensor = graph.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  CHECK(Cudnn().Call("cudnnBackendFinalize", tensor) == kBadParam);  // nothing is set
  CHECK(DnnGraph::TrySet(tensor, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, std::vector{0}) ==
        kBadParam);
  CHECK(DnnGraph::TrySet(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, std::vector{1.f}) ==
        2010);  // of another type
  CHECK(DnnGraph::TrySet(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, Extents(9, 1)) == kBadParam);
  int64_t count = 0, uid = 0;
  auto get = [&] {
    return Cudnn().Call("cudnnBackendGetAttribute", tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64,
                        int64_t{1}, &count, static_cast<void*>(&uid));
  };
  CHECK(get() == kNotInitialized);
  DnnGraph::Set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, Extents{2, 3});
  DnnGraph::Set(tensor, CUDNN_ATTR_TENSOR_STRIDES, Extents{3});
  DnnGraph::Set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, Extents{77});
  DnnGraph::SetMode(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  CHECK(Cudnn().Call("cudnnBackendFinalize", tensor) == kBadParam);  // ranks differ
  DnnGraph::Set(tensor, CUDNN_ATTR_TENSOR_STRIDES, Extents{3, 1});
  CHECK(Cudnn().Call("cudnnBackendFinalize", tensor) == 0);
  CHECK(DnnGraph::TrySet(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, Extents{1}) == kBadParam);
  REQUIRE(get() == 0);
  CHECK((count == 1 && uid == 77));
  auto operation = graph.Make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR),
       unfinished = graph.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  CHECK(DnnGraph::TrySet(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                         std::vector{unfinished}) == kBadParam);
  cudnnBackendDescriptor_t none = nullptr;
  CHECK(Cudnn().Call("cudnnBackendCreateDescriptor", static_cast<cudnnBackendDescriptorType_t>(36), &none) ==
        kNotSupported);
}

TEST_CASE("cudnn graph: what cannot run is refused when a plan is asked for; missing tensors when it runs",
          "[cudnn]") {
  constexpr int kNullPointer = 2002, kNotSupported = 3000;
  {
    DnnGraph graph;
    graph.Product(graph.Add(CUDNN_DATA_FLOAT, {1, 2, 3}), graph.Add(CUDNN_DATA_FLOAT, {1, 4, 5}),
                  graph.Add(CUDNN_DATA_FLOAT, {1, 2, 5}));
    CHECK(graph.Plan() == kNotSupported);
  }
  {
    DnnGraph graph;  // a virtual tensor that nothing writes
    graph.Binary(CUDNN_POINTWISE_NEG, graph.AddVirtual({1, 2, 3}), 0, graph.Add(CUDNN_DATA_FLOAT, {1, 2, 3}));
    CHECK(graph.Plan() == kNotSupported);
  }
  DnnGraph graph;
  graph.Binary(CUDNN_POINTWISE_NEG, graph.Add(CUDNN_DATA_HALF, {1, 2, 3}), 0,
               graph.Add(CUDNN_DATA_FLOAT, {1, 2, 3}));
  REQUIRE(graph.Plan() == 0);
  auto pack = graph.Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  Cudnn("cudnnBackendFinalize", pack);
  CHECK(Cudnn().Call("cudnnBackendExecute", graph.handle(), graph.plan(), pack) == kNullPointer);
}
