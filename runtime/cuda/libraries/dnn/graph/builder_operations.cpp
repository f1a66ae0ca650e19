// The steps of convolutions, normalisation, and operations that move elements.
#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/dnn/convolution.h"
#include "runtime/cuda/libraries/dnn/graph/builder.h"

namespace ptx2cpu::cudnn {

namespace {

// The last axes; those before are `missing`.
Space SpaceOf(const std::vector<int64_t>& numbers, int64_t missing) {
  Space space{missing, missing, missing};
  std::copy(numbers.begin(), numbers.end(), space.end() - static_cast<ptrdiff_t>(numbers.size()));
  return space;
}
std::vector<int64_t> Tail(const std::vector<int64_t>& extents) {
  return {extents.begin() + 2, extents.end()};
}

bool StepsFit(const Windows& w, const Space& after) {
  for (size_t axis = 0; axis < kMaxSpace; ++axis) {
    const int64_t room =
        w.in[axis] + w.pad[axis] + after[axis] - ((w.window[axis] - 1) * w.dilation[axis] + 1);
    if (w.stride[axis] < 1 || w.dilation[axis] < 1 || room < 0 || room / w.stride[axis] + 1 != w.out[axis])
      return false;
  }
  return true;
}

}  // namespace

Operation Builder::MakeConvolution(ConvolutionKind kind) {
  struct Names {
    cudnnBackendAttributeName_t how, x, w, y, alpha, beta;
  };
  static constexpr Names kNames[] = {
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
  };
  const Names& names = kNames[static_cast<size_t>(kind)];
  const Link how = operation_->Part(names.how);
  WantComputeType(how->Value<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
  auto take = [&](cudnnBackendAttributeName_t name, ConvolutionKind target) {
    return kind == target ? Out(name) : In(name);
  };
  Convolution step{};
  step.kind = kind;
  step.x = take(names.x, ConvolutionKind::kData), step.w = take(names.w, ConvolutionKind::kFilter);
  step.y = take(names.y, ConvolutionKind::kForward);
  step.alpha = operation_->Value(names.alpha, 1.0), step.beta = operation_->Value(names.beta, 0.0);
  if (step.beta != 0) AlsoReads(writes_.back());
  const auto &x = Extents(step.x), &w = Extents(step.w), &y = Extents(step.y);
  const size_t rank = x.size();
  Check(rank >= 3 && rank <= 2 + kMaxSpace && w.size() == rank && y.size() == rank, "ranks");
  auto list = [&](cudnnBackendAttributeName_t name, int64_t missing) {
    std::vector<int64_t> numbers = how->List<int64_t>(name);
    Check(numbers.size() == rank - 2, "ranks");
    return SpaceOf(numbers, missing);
  };
  ConvolutionShape& shape = step.shape;
  Check(w[1] > 0 && x[1] % w[1] == 0 && w[0] % (x[1] / w[1]) == 0 && y[0] == x[0] && y[1] == w[0],
        "channels that do not fit");
  shape.images = x[0], shape.groups = x[1] / w[1], shape.inputs = w[1], shape.outputs = w[0] / shape.groups;
  shape.windows = {SpaceOf(Tail(x), 1),
                   SpaceOf(Tail(y), 1),
                   SpaceOf(Tail(w), 1),
                   list(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0),
                   list(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1),
                   list(CUDNN_ATTR_CONVOLUTION_DILATIONS, 1)};
  shape.flips = how->Value<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION;
  Check(StepsFit(shape.windows, list(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0)), "shapes that do not fit");
  Check(Fits(shape), "sizes");
  Check(libraries::LoadBlas("cudnnBackendFinalize"), "the engine is missing");
  return step;
}

std::vector<int64_t> Builder::StatisticsOf(cudnnBackendNormMode_t mode, int x, int scale,
                                           int statistics) const {
  if (statistics != kNone) return Extents(statistics);
  std::vector<int64_t> extents = Extents(x);
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    switch (mode) {
      case CUDNN_LAYER_NORM:
      case CUDNN_RMS_NORM:
        if (Extents(scale)[axis] != 1) extents[axis] = 1;
        break;
      case CUDNN_INSTANCE_NORM:
        if (axis > 1) extents[axis] = 1;
        break;
      case CUDNN_ADA_LAYER_NORM:
        if (axis > 0) extents[axis] = 1;
        break;
      case CUDNN_BATCH_NORM:
        if (axis != 1) extents[axis] = 1;
        break;
      case CUDNN_GROUP_NORM:
        throw Refusal{"groups without statistics"};
    }
  }
  return extents;
}

// Axes of the statistics may be groups of x's: each axis of x is two in the loops.
template <size_t kArrays>
Nest<kArrays> Builder::NormNest(int x, const std::vector<int64_t>& statistics, int scale, int bias) const {
  const std::vector<int64_t>& extents = Extents(x);
  const std::vector<int64_t> steps = PackedStrides(extents), own = PackedStrides(statistics),
                             scales = StepsOver(scale, extents), biases = StepsOver(bias, extents);
  Nest<kArrays> nest;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t inside = extents[axis] / statistics[axis];
    auto add = [&](int64_t extent, int64_t times, int64_t step) {
      typename Nest<kArrays>::Places places{steps[axis] * times, step, scales[axis] * times};
      if constexpr (kArrays > 3) places[3] = biases[axis] * times;
      nest.Add(extent, places);
    };
    add(statistics[axis], inside, own[axis]);
    add(inside, 1, 0);
  }
  return nest;
}

namespace {
int64_t CountOf(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}
bool IsNorm(cudnnBackendNormMode_t mode) { return mode >= CUDNN_LAYER_NORM && mode <= CUDNN_ADA_LAYER_NORM; }
}  // namespace

Operation Builder::MakeNormForward() {
  const auto mode = operation_->Value<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
  const auto phase = operation_->Value<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
  Check(IsNorm(mode), "a mode");
  Check(operation_->Parts(CUDNN_ATTR_OPERATION_NORM_FWD_PEER_STAT_DESCS).empty(),
        "statistics of several devices");
  NormForward step{};
  step.has_mean = mode != CUDNN_RMS_NORM;
  step.reads_statistics = mode == CUDNN_BATCH_NORM && phase == CUDNN_NORM_FWD_INFERENCE;
  auto statistic = [&](cudnnBackendAttributeName_t name) {
    return step.reads_statistics ? In(name) : Out(name);
  };
  step.x = In(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC), step.scale = In(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC);
  step.bias = In(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
  step.epsilon = In(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC);
  step.factor = In(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC);
  step.in_mean = In(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC);
  step.in_variance = In(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC);
  step.mean = statistic(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC);
  step.inverse = statistic(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC);
  step.out_mean = Out(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC);
  step.out_variance = Out(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC);
  step.y = Out(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC);
  Check(!step.reads_statistics || (step.mean != kNone && step.inverse != kNone),
        "statistics that are missing");
  Check(Extents(step.y) == Extents(step.x), "shapes that do not fit");
  const auto statistics =
      StatisticsOf(mode, step.x, step.scale, step.inverse != kNone ? step.inverse : step.mean);
  step.statistics = CountOf(statistics);
  for (const int tensor :
       {step.mean, step.inverse, step.in_mean, step.in_variance, step.out_mean, step.out_variance})
    Check(tensor == kNone || CountOf(Extents(tensor)) == step.statistics, "statistics that do not fit");
  step.groups = GroupsOf(Extents(step.x), statistics);
  step.nest = NormNest<4>(step.x, statistics, step.scale, step.bias);
  return step;
}

Operation Builder::MakeNormBackward() {
  const auto mode = operation_->Value<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
  Check(IsNorm(mode), "a mode");
  Check(operation_->Parts(CUDNN_ATTR_OPERATION_NORM_BWD_PEER_STAT_DESCS).empty(),
        "statistics of several devices");
  NormBackward step{};
  step.has_mean = mode != CUDNN_RMS_NORM;
  step.x = In(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC), step.dy = In(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC);
  step.mean = In(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC);
  step.inverse = In(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC);
  step.scale = In(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC);
  step.epsilon = In(CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC);
  step.dscale = Out(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC);
  step.dbias = Out(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC),
  step.dx = Out(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC);
  Check((step.mean != kNone || !step.has_mean) == (step.inverse != kNone), "one of two statistics");
  step.batch_statistics = step.inverse == kNone;
  Check(Extents(step.dy) == Extents(step.x) && Extents(step.dx) == Extents(step.x) &&
            Extents(step.dscale) == Extents(step.scale) &&
            (step.dbias == kNone || Extents(step.dbias) == Extents(step.scale)),
        "shapes that do not fit");
  const auto statistics = StatisticsOf(mode, step.x, step.scale, step.inverse);
  step.statistics = CountOf(statistics), step.scales = CountOf(Extents(step.scale));
  Check(step.mean == kNone || CountOf(Extents(step.mean)) == step.statistics, "statistics that do not fit");
  step.groups = GroupsOf(Extents(step.x), statistics);
  step.scale_groups = GroupsOf(Extents(step.x), Extents(step.scale));
  step.nest = NormNest<3>(step.x, statistics, step.scale, kNone);
  return step;
}

Operation Builder::MakeBatchFinalize() {
  BatchFinalize step{};
  step.training = operation_->Value<cudnnBnFinalizeStatsMode_t>(
                      CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE) == CUDNN_BN_FINALIZE_STATISTICS_TRAINING;
  step.sum = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC);
  step.squares = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC);
  step.scale = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC);
  step.bias = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC);
  step.in_mean = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC);
  step.in_variance = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC);
  step.count = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC);
  step.epsilon = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC);
  step.factor = In(CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC);
  step.out_mean = Out(CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC);
  step.out_variance = Out(CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC);
  step.mean = Out(CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC);
  step.inverse = Out(CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC);
  step.to_scale = Out(CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC);
  step.to_bias = Out(CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC);
  step.channels = CountOf(Extents(step.scale));
  if (step.training)
    Check(step.sum != kNone && step.squares != kNone && step.count != kNone, "sums that are missing");
  else
    Check(step.in_mean != kNone && step.in_variance != kNone, "statistics that are missing");
  for (const int tensor : {step.sum, step.squares, step.bias, step.in_mean, step.in_variance, step.out_mean,
                           step.out_variance, step.mean, step.inverse, step.to_scale, step.to_bias})
    Check(tensor == kNone || CountOf(Extents(tensor)) == step.channels, "statistics that do not fit");
  return step;
}

}  // namespace ptx2cpu::cudnn
