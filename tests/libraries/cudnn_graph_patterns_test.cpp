// Patterns of cuDNN's graph API that frameworks build: convolutions with what follows, attention,
// normalisation and its gradient, batches of different lengths; many calls of one plan.
#include <malloc.h>

#include <limits>

#include "tests/libraries/cudnn_graph_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

using Extents = DnnGraph::Extents;

// A convolution of images, 3 by 3, with padding 1 before and 0 after each axis.
struct Convolution {
  static constexpr int64_t kImages = 2, kInputs = 4, kOutputs = 6, kSize = 7, kWindow = 3, kGroups = 2,
                           kOut = kSize + 1 - kWindow + 1;
  const Extents x{kImages, kInputs, kSize, kSize}, w{kOutputs, kInputs / kGroups, kWindow, kWindow},
      y{kImages, kOutputs, kOut, kOut};

  // each(place in x, in w, in y) of every product.
  template <typename Each>
  void ForProducts(const Each& each) const {
    const int64_t per_group = kOutputs / kGroups, inputs = kInputs / kGroups;
    for (int64_t i = 0; i < kImages * kOutputs * kOut * kOut; ++i) {
      const int64_t column = i % kOut, row = i / kOut % kOut, output = i / kOut / kOut % kOutputs,
                    image = i / kOut / kOut / kOutputs;
      for (int64_t k = 0; k < inputs * kWindow * kWindow; ++k) {
        const int64_t right = column - 1 + k % kWindow, down = row - 1 + k / kWindow % kWindow,
                      input = output / per_group * inputs + k / kWindow / kWindow;
        if (right < 0 || down < 0 || right >= kSize || down >= kSize) continue;
        each(size_t(((image * kInputs + input) * kSize + down) * kSize + right),
             size_t(output * inputs * kWindow * kWindow + k), size_t(i));
      }
    }
  }
  static DnnGraph::Descriptor Parameters(DnnGraph& graph) {
    auto how = graph.Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    DnnGraph::SetMode(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    DnnGraph::SetMode(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                      CUDNN_CROSS_CORRELATION);
    DnnGraph::Set(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Extents{2});
    DnnGraph::Set(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, Extents{1, 1});
    DnnGraph::Set(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, Extents{0, 0});
    DnnGraph::Set(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, Extents{1, 1});
    DnnGraph::Set(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, Extents{1, 1});
    return how;
  }
};

// NHWC strides of NCHW extents.
Extents ChannelsLast(const Extents& e) { return {e[1] * e[2] * e[3], 1, e[3] * e[1], e[1]}; }

}  // namespace

TEST_CASE("cudnn graph: a convolution, bias, an addition and ReLU are one plan", "[cudnn]") {
  const Convolution shape;
  for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    DnnGraph graph;
    const auto xs = Numbers(DnnGraph::Count(shape.x), 1), ws = Numbers(DnnGraph::Count(shape.w), 2),
               zs = Numbers(DnnGraph::Count(shape.y), 3), biases = Numbers(Convolution::kOutputs, 4);
    const int64_t x = graph.Add(type, shape.x, xs, ChannelsLast(shape.x)),
                  w = graph.Add(type, shape.w, ws, ChannelsLast(shape.w)), z = graph.Add(type, shape.y, zs),
                  bias = graph.Add(type, {1, Convolution::kOutputs, 1, 1}, biases),
                  y = graph.Add(type, shape.y, {}, ChannelsLast(shape.y)),
                  product = graph.AddVirtual(shape.y), sum = graph.AddVirtual(shape.y),
                  biased = graph.AddVirtual(shape.y);
    auto convolution =
        graph.Operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                        {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x},
                         {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w},
                         {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, product}},
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, Convolution::Parameters(graph));
    DnnGraph::Set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0);
    DnnGraph::Set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0);
    graph.Binary(CUDNN_POINTWISE_ADD, product, z, sum);
    graph.Binary(CUDNN_POINTWISE_ADD, sum, bias, biased);
    graph.Binary(CUDNN_POINTWISE_RELU_FWD, biased, 0, y);
    graph.Run();
    std::vector<double> wanted = zs;
    shape.ForProducts([&](size_t from, size_t by, size_t to) { wanted[to] += xs[from] * ws[by]; });
    for (size_t i = 0; i < wanted.size(); ++i) {
      constexpr size_t kSpace = Convolution::kOut * Convolution::kOut;
      wanted[i] = std::max(wanted[i] + biases[i / kSpace % Convolution::kOutputs], 0.0);
    }
    graph.Check(y, wanted, type == CUDNN_DATA_FLOAT ? 2e-6 : type == CUDNN_DATA_HALF ? 1e-3 : 8e-3, 8);
  }
}

TEST_CASE("cudnn graph: gradients of convolutions, added to what is there", "[cudnn]") {
  const Convolution shape;
  const auto xs = Numbers(DnnGraph::Count(shape.x), 1), ws = Numbers(DnnGraph::Count(shape.w), 2),
             dys = Numbers(DnnGraph::Count(shape.y), 3);
  DnnGraph data, filter;
  const int64_t dx = data.Add(CUDNN_DATA_FLOAT, shape.x, xs);
  auto operation = data.Operation(
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx},
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, data.Add(CUDNN_DATA_FLOAT, shape.w, ws)},
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, data.Add(CUDNN_DATA_FLOAT, shape.y, dys)}},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, Convolution::Parameters(data));
  DnnGraph::Set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 2.0);
  DnnGraph::Set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.5);
  data.Run();
  std::vector<double> wanted = xs;
  for (double& value : wanted) value *= .5;
  shape.ForProducts([&](size_t from, size_t by, size_t to) { wanted[from] += 2 * dys[to] * ws[by]; });
  data.Check(dx, wanted, 2e-6, 16);

  const int64_t dw = filter.Add(CUDNN_DATA_FLOAT, shape.w);
  operation = filter.Operation(
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, filter.Add(CUDNN_DATA_FLOAT, shape.x, xs)},
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dw},
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, filter.Add(CUDNN_DATA_FLOAT, shape.y, dys)}},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, Convolution::Parameters(filter));
  DnnGraph::Set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0);
  DnnGraph::Set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0);
  filter.Run();
  wanted.assign(DnnGraph::Count(shape.w), 0);
  shape.ForProducts([&](size_t from, size_t by, size_t to) { wanted[by] += dys[to] * xs[from]; });
  filter.Check(dw, wanted, 2e-6, 32);
}

TEST_CASE("cudnn graph: attention with a causal mask, two heads of queries for each of keys", "[cudnn]") {
  constexpr int64_t kBatches = 2, kHeads = 4, kKeyHeads = 2, kQueries = 5, kKeys = 7, kDepth = 8;
  constexpr double kScale = .25;
  const Extents scores{kBatches, kHeads, kQueries, kKeys}, rows{kBatches, kHeads, kQueries, 1};
  DnnGraph graph;
  const auto qs = Numbers(kBatches * kHeads * kQueries * kDepth, 1),
             ks = Numbers(kBatches * kKeyHeads * kKeys * kDepth, 2),
             vs = Numbers(kBatches * kKeyHeads * kKeys * kDepth, 3);
  // Keys are given as their transposition: the same memory with other strides.
  std::vector<double> turned(ks.size());
  for (size_t i = 0; i < ks.size(); ++i)
    turned[i / 56 * 56 + i % kDepth * kKeys + i / kDepth % kKeys] = ks[i];
  const auto kHalf = CUDNN_DATA_HALF;
  const int64_t q = graph.Add(kHalf, {kBatches, kHeads, kQueries, kDepth}, qs),
                k = graph.Add(kHalf, {kBatches, kKeyHeads, kDepth, kKeys}, turned,
                              {kKeyHeads * kKeys * kDepth, kKeys * kDepth, 1, kDepth}),
                v = graph.Add(kHalf, {kBatches, kKeyHeads, kKeys, kDepth}, vs),
                o = graph.Add(kHalf, {kBatches, kHeads, kQueries, kDepth}),
                statistics = graph.Add(CUDNN_DATA_FLOAT, rows),
                scale = graph.Add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {kScale}, {}, DnnGraph::Kind::kValue),
                least = graph.Add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {-std::numeric_limits<double>::infinity()},
                                  {}, DnnGraph::Kind::kValue);
  auto score = [&] { return graph.AddVirtual(scores); };
  auto row = [&] { return graph.AddVirtual(rows); };
  const int64_t raw = score(), scaled = score(), down = score(), across = score(),
                seen = graph.AddVirtual(scores, CUDNN_DATA_BOOLEAN), masked = score(), most = row(),
                shifted = score(), powers = score(), sum = row(), logarithm = row(),
                shares = graph.AddVirtual(scores, kHalf);
  graph.Product(q, k, raw);
  graph.Binary(CUDNN_POINTWISE_MUL, raw, scale, scaled);
  for (const auto& [axis, to] : {std::pair{int64_t{2}, down}, {int64_t{3}, across}}) {
    auto how = graph.Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    DnnGraph::SetMode(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
    DnnGraph::SetMode(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    DnnGraph::Set(how, CUDNN_ATTR_POINTWISE_AXIS, Extents{axis});
    graph.Operation(
        CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
        {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, scaled}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to}},
        CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  }
  graph.Binary(CUDNN_POINTWISE_CMP_GE, down, across, seen);
  graph.Pointwise(CUDNN_POINTWISE_BINARY_SELECT, {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, scaled},
                                                  {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, least},
                                                  {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, seen},
                                                  {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, masked}});
  graph.Reduce(CUDNN_REDUCE_TENSOR_MAX, masked, most);
  graph.Binary(CUDNN_POINTWISE_SUB, masked, most, shifted);
  graph.Binary(CUDNN_POINTWISE_EXP, shifted, 0, powers);
  graph.Reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
  graph.Binary(CUDNN_POINTWISE_LOG, sum, 0, logarithm);
  graph.Binary(CUDNN_POINTWISE_ADD, most, logarithm, statistics);
  graph.Binary(CUDNN_POINTWISE_DIV, powers, sum, shares);
  graph.Product(shares, v, o);
  graph.Run();
  std::vector<double> wanted, sums;
  for (int64_t line = 0; line < kBatches * kHeads * kQueries; ++line) {
    const int64_t query = line % kQueries, head = line / kQueries % kHeads, batch = line / kQueries / kHeads,
                  keys = (batch * kKeyHeads + head / 2) * kKeys;
    std::vector<double> weights, result(kDepth);
    double total = 0;
    for (int64_t key = 0; key <= query; ++key) {
      double dot = 0;
      for (int64_t d = 0; d < kDepth; ++d)
        dot += qs[size_t(line * kDepth + d)] * ks[size_t((keys + key) * kDepth + d)];
      weights.push_back(std::exp(dot * kScale));
      total += weights.back();
    }
    for (int64_t key = 0; key <= query; ++key) {
      for (int64_t d = 0; d < kDepth; ++d)
        result[size_t(d)] += weights[size_t(key)] / total * vs[size_t((keys + key) * kDepth + d)];
    }
    wanted.insert(wanted.end(), result.begin(), result.end());
    sums.push_back(std::log(total));
  }
  graph.Check(o, wanted, 2e-3);
  graph.Check(statistics, sums, 1e-5);
}

TEST_CASE("cudnn graph: normalisation by layers and batches, and its gradient", "[cudnn]") {
  struct Case {
    cudnnBackendNormMode_t mode;
    Extents statistics, scale;
  };
  const Extents extents{3, 4, 5, 2};
  const size_t count = DnnGraph::Count(extents);
  for (const Case& c : {Case{CUDNN_LAYER_NORM, {3, 1, 1, 1}, {1, 4, 5, 2}},
                        Case{CUDNN_BATCH_NORM, {1, 4, 1, 1}, {1, 4, 1, 1}},
                        Case{CUDNN_INSTANCE_NORM, {3, 4, 1, 1}, {1, 4, 1, 1}},
                        Case{CUDNN_GROUP_NORM, {3, 2, 1, 1}, {1, 4, 1, 1}},
                        Case{CUDNN_RMS_NORM, {3, 1, 1, 1}, {1, 4, 5, 2}}}) {
    INFO("mode " << c.mode);
    const bool centered = c.mode != CUDNN_RMS_NORM;
    constexpr double kEpsilon = 1e-3;
    const auto xs = Numbers(count, 1), dys = Numbers(count, 2), scales = Numbers(DnnGraph::Count(c.scale), 3),
               biases = Numbers(DnnGraph::Count(c.scale), 4);
    auto place = [&](size_t i, const Extents& own) {  // of an element in a smaller tensor
      size_t at = 0, unit = 1;
      for (size_t axis = 4; axis-- > 0; i /= size_t(extents[axis])) {
        at += i % size_t(extents[axis]) / size_t(extents[axis] / own[axis]) * unit;
        unit *= size_t(own[axis]);
      }
      return at;
    };
    auto normalised = [&](const std::vector<double>& values, std::vector<double>* inverses = nullptr) {
      const size_t groups = DnnGraph::Count(c.statistics);
      std::vector<double> mean(groups), square(groups), result(count);
      const double size = double(count) / double(groups);
      for (size_t i = 0; i < count && centered; ++i) mean[place(i, c.statistics)] += values[i] / size;
      for (size_t i = 0; i < count; ++i)
        square[place(i, c.statistics)] += std::pow(values[i] - mean[place(i, c.statistics)], 2) / size;
      for (double& value : square) value = 1 / std::sqrt(value + kEpsilon);
      for (size_t i = 0; i < count; ++i)
        result[i] = (values[i] - mean[place(i, c.statistics)]) * square[place(i, c.statistics)];
      if (inverses != nullptr) *inverses = square;
      return result;
    };
    DnnGraph forward, backward;
    auto add = [&](DnnGraph& graph, const Extents& own, const std::vector<double>& numbers = {}) {
      return graph.Add(CUDNN_DATA_FLOAT, own, numbers);
    };
    const int64_t y = add(forward, extents), inverse = add(forward, c.statistics),
                  mean = centered ? add(forward, c.statistics) : 0;  // a plan refuses tensors that it has not
    DnnGraph::Names names{
        {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, add(forward, extents, xs)},
        {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, add(forward, c.scale, scales)},
        {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, add(forward, c.scale, biases)},
        {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC,
         forward.Add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {kEpsilon}, {}, DnnGraph::Kind::kValue)},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, inverse},
        {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y}};
    if (centered) names.emplace_back(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean);
    auto operation = forward.Operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, names);
    DnnGraph::SetMode(operation, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, c.mode);
    DnnGraph::SetMode(operation, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                      CUDNN_NORM_FWD_TRAINING);
    forward.Run();
    std::vector<double> inverses, normal = normalised(xs, &inverses), wanted = normal;
    for (size_t i = 0; i < count; ++i)
      wanted[i] = wanted[i] * scales[place(i, c.scale)] + biases[place(i, c.scale)];
    forward.Check(y, wanted, 4e-6);
    forward.Check(inverse, inverses, 4e-6);

    const int64_t dx = add(backward, extents), dscale = add(backward, c.scale),
                  dbias = add(backward, c.scale);
    DnnGraph::Names back{
        {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, add(backward, extents, xs)},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, add(backward, extents, dys)},
        {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, add(backward, c.scale, scales)},
        {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, add(backward, c.statistics, forward.Get(inverse))},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, dscale},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, dbias},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, dx}};
    if (centered)
      back.emplace_back(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC,
                        add(backward, c.statistics, forward.Get(mean)));
    operation = backward.Operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, back);
    DnnGraph::SetMode(operation, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, c.mode);
    backward.Run();
    std::vector<double> dscales(DnnGraph::Count(c.scale)), dbiases(dscales), slopes(count);
    for (size_t i = 0; i < count; ++i)
      dscales[place(i, c.scale)] += dys[i] * normal[i], dbiases[place(i, c.scale)] += dys[i];
    constexpr double kStep = 1e-5;
    for (size_t i = 0; i < count; ++i) {  // the slope of the sum of y dy
      std::vector<double> more = xs, less = xs;
      more[i] += kStep, less[i] -= kStep;
      const auto above = normalised(more), below = normalised(less);
      for (size_t n = 0; n < count; ++n)
        slopes[i] += dys[n] * scales[place(n, c.scale)] * (above[n] - below[n]) / (2 * kStep);
    }
    backward.Check(dscale, dscales, 1e-5, 4);
    backward.Check(dbias, dbiases, 1e-5, 4);
    backward.Check(dx, slopes, 1e-4);
  }
}

TEST_CASE("cudnn graph: batches of different lengths begin at offsets; nothing is written after them",
          "[cudnn]") {
  const Extents extents{2, 1, 4, 3};  // batches of 2 and 4 rows of 3
  const std::vector<double> memory = Numbers(24, 1);
  for (const cudnnDataType_t type : {CUDNN_DATA_INT32, CUDNN_DATA_INT64}) {
    DnnGraph graph;
    const int64_t offsets = graph.Add(type, {3, 1, 1, 1}, {0, 6, 18}),
                  in = graph.Add(CUDNN_DATA_HALF, extents, memory, {}, DnnGraph::Kind::kMemory, offsets),
                  one = graph.Add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1}, {}, DnnGraph::Kind::kValue),
                  whole = graph.Add(CUDNN_DATA_FLOAT, extents),
                  parts = graph.Add(CUDNN_DATA_FLOAT, extents, std::vector<double>(24, -7), {},
                                    DnnGraph::Kind::kMemory, offsets);
    graph.Binary(CUDNN_POINTWISE_ADD, in, one, whole);
    graph.Binary(CUDNN_POINTWISE_SUB, in, one, parts);
    graph.Run();
    std::vector<double> sums(24, 1), differences(24, -7);
    for (size_t i = 0; i < 18; ++i) sums[i < 6 ? i : i + 6] = memory[i] + 1, differences[i] = memory[i] - 1;
    graph.Check(whole, sums, 0);
    graph.Check(parts, differences, 0);
  }
  const auto plan = [](Extents strides) {  // 2 batches, 3 heads, 4 tokens of 5
    DnnGraph graph;
    const int64_t offsets = graph.Add(CUDNN_DATA_INT32, {3, 1, 1, 1}, {0, 30, 90}),
                  in = graph.Add(CUDNN_DATA_HALF, {2, 3, 4, 5}, {}, std::move(strides),
                                 DnnGraph::Kind::kMemory, offsets);
    graph.Binary(CUDNN_POINTWISE_NEG, in, 0, graph.Add(CUDNN_DATA_FLOAT, {2, 3, 4, 5}));
    return graph.Plan();
  };
  CHECK(plan({60, 5, 15, 1}) == 0);
  CHECK(plan({60, 20, 5, 1}) == 3000);  // not supported: a short batch's heads are not side by side
}

TEST_CASE("cudnn graph: many calls of a plan need no more memory", "[cudnn]") {
  constexpr int64_t kSize = 64;
  DnnGraph graph;
  const Extents extents{1, kSize, kSize};
  const int64_t a = graph.Add(CUDNN_DATA_FLOAT, extents, Numbers(kSize * kSize, 1)),
                b = graph.Add(CUDNN_DATA_FLOAT, extents, Numbers(kSize * kSize, 2)),
                product = graph.AddVirtual(extents), c = graph.Add(CUDNN_DATA_FLOAT, extents);
  graph.Product(a, b, product);
  graph.Binary(CUDNN_POINTWISE_RELU_FWD, product, 0, c);
  graph.Run();
  auto pack = graph.Pack();
  auto calls = [&](int count) {  // a stream keeps the memory of as many operations as were queued at once: 8
    for (int n = 1; n <= count; ++n) {
      Cudnn("cudnnBackendExecute", graph.handle(), graph.plan(), pack);
      if (n % 8 == 0) REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    }
    return mallinfo2().uordblks;
  };
  const size_t before = calls(1000), after = calls(4000);
  CHECK(after < before + 100000);
}

TEST_CASE("cudnn graph: a plan becomes a node of a graph", "[cudnn]") {
  DnnGraph graph;
  const std::vector<double> xs = Numbers(30, 1);
  const int64_t x = graph.Add(CUDNN_DATA_FLOAT, {1, 5, 6}, xs), y = graph.Add(CUDNN_DATA_FLOAT, {1, 5, 6});
  graph.Binary(CUDNN_POINTWISE_ADD, x, x, y);
  REQUIRE(graph.Plan() == 0);
  cudaGraph_t nodes = nullptr;
  REQUIRE(cudart::cudaGraphCreate(&nodes, 0) == cudaSuccess);
  Cudnn("cudnnBackendPopulateCudaGraph", graph.handle(), graph.plan(), graph.Pack(), nodes);
  graph.Check(y, std::vector<double>(30, 0), 0);  // nothing has run
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, nodes, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, nullptr) == cudaSuccess);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  std::vector<double> doubled = xs;
  for (double& value : doubled) value *= 2;
  graph.Check(y, doubled, 0);
  CHECK(cudart::cudaGraphExecDestroy(exec) == cudaSuccess);
  CHECK(cudart::cudaGraphDestroy(nodes) == cudaSuccess);
}
