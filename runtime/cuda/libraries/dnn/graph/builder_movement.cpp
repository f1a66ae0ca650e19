// The steps of pooling and of operations that move elements or make them.
#include "runtime/cuda/libraries/dnn/graph/builder.h"

namespace ptx2cpu::cudnn {

Operation Builder::MakeResample(bool backward) {
  const Link how = operation_->Part(backward ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC
                                             : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
  Resample step{};
  step.mode = how->Value<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE), step.backward = backward;
  Check(step.mode >= CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING &&
            step.mode <= CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING,
        "interpolation");
  step.x = step.y = step.dx = step.dy = kNone;
  if (backward) {
    step.dy = In(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC),
    step.index = In(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC);
    step.x = In(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC),
    step.y = In(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_YDESC);
    step.dx = Out(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC);
    Check(step.mode != CUDNN_RESAMPLE_MAXPOOL || step.index != kNone || step.x != kNone,
          "places of the greatest");
  } else {
    step.x = In(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC),
    step.y = Out(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
    step.index = Out(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC);
  }
  const auto &in = Extents(backward ? step.dx : step.x), &out = Extents(backward ? step.dy : step.y);
  const size_t rank = in.size();
  Check(rank >= 3 && rank <= 2 + kMaxSpace && out.size() == rank && in[0] == out[0] && in[1] == out[1],
        "ranks");
  auto list = [&](cudnnBackendAttributeName_t name, int64_t missing) {
    const auto fractions = how->List<cudnnFraction_t>(name);
    Check(fractions.size() == rank - 2, "ranks");
    Space space{missing, missing, missing};
    for (size_t n = 0; n < fractions.size(); ++n) {
      Check(fractions[n].denominator == 1, "fractions");
      space[kMaxSpace - fractions.size() + n] = fractions[n].numerator;
    }
    return space;
  };
  auto& w = step.windows;
  w = {Space{1, 1, 1},
       Space{1, 1, 1},
       list(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 1),
       list(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0),
       list(CUDNN_ATTR_RESAMPLE_STRIDES, 1),
       Space{1, 1, 1}};
  for (size_t n = 2; n < rank; ++n) w.in[kMaxSpace - rank + n] = in[n], w.out[kMaxSpace - rank + n] = out[n];
  const Space after = list(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0);
  for (size_t axis = 0; axis < kMaxSpace; ++axis) {
    const int64_t room = w.in[axis] + w.pad[axis] + after[axis] - w.window[axis];
    Check(w.stride[axis] >= 1 && room >= 0 && room / w.stride[axis] + 1 == w.out[axis],
          "shapes that do not fit");
  }
  step.planes = in[0] * in[1];
  return step;
}

Operation Builder::MakeConcat() {
  Concat step{};
  for (const Link& input : operation_->Parts(CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS))
    step.inputs.push_back(InPart(input));
  step.y = Out(CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC);
  const auto& y = Extents(step.y);
  const auto given = operation_->Value<int64_t>(CUDNN_ATTR_OPERATION_CONCAT_AXIS);
  Check(given >= 0 && given < static_cast<int64_t>(y.size()), "an axis");
  const auto axis = static_cast<size_t>(given);
  int64_t after = 1, total = 0;
  step.pieces = 1;
  for (size_t n = 0; n < axis; ++n) step.pieces *= y[n];
  for (size_t n = axis + 1; n < y.size(); ++n) after *= y[n];
  for (const int input : step.inputs) {
    std::vector<int64_t> x = Extents(input);
    Check(x.size() == y.size(), "ranks");
    step.lengths.push_back(x[axis] * after);
    total += x[axis];
    x[axis] = y[axis];
    Check(x == y, "shapes that do not fit");
  }
  Check(total == y[axis], "shapes that do not fit");
  step.length = total * after;
  return step;
}

Operation Builder::MakeReshape() {
  Reshape step{};
  step.x = In(CUDNN_ATTR_OPERATION_RESHAPE_XDESC), step.y = Out(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  const Layout &x = program_.tensors[static_cast<size_t>(step.x)].layout,
               &y = program_.tensors[static_cast<size_t>(step.y)].layout;
  Check(x.Count() == y.Count(), "shapes that do not fit");
  auto nest = [](const Layout& layout, Nest<2>& to) {
    const std::vector<int64_t> packed = PackedStrides(layout.extents);
    int64_t span = 1;
    for (size_t axis = 0; axis < packed.size(); ++axis) {
      to.Add(layout.extents[axis], {packed[axis], layout.strides[axis]});
      span += (layout.extents[axis] - 1) * layout.strides[axis];
    }
    return span;
  };
  step.span = nest(x, step.in);
  step.in_packed = x.IsPacked();
  Check(nest(y, step.out) <= step.span, "strides that leave the memory");
  return step;
}

Operation Builder::MakeRandom() {
  const Link how = operation_->Part(CUDNN_ATTR_OPERATION_RNG_DESC);
  Random step{};
  step.kind = how->Value<cudnnRngDistribution_t>(CUDNN_ATTR_RNG_DISTRIBUTION);
  Check(step.kind >= CUDNN_RNG_DISTRIBUTION_BERNOULLI && step.kind <= CUDNN_RNG_DISTRIBUTION_NORMAL,
        "a distribution");
  step.seed = In(CUDNN_ATTR_OPERATION_RNG_SEED);
  step.fixed_seed = operation_->Value<int64_t>(CUDNN_ATTR_OPERATION_RNG_SEED);
  step.offset = In(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC);
  step.y = Out(CUDNN_ATTR_OPERATION_RNG_YDESC);
  switch (step.kind) {
    case CUDNN_RNG_DISTRIBUTION_BERNOULLI:
      step.a = how->Value(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 0.5);
      break;
    case CUDNN_RNG_DISTRIBUTION_UNIFORM:
      step.a = how->Value(CUDNN_ATTR_RNG_UNIFORM_DIST_MINIMUM, 0.0);
      step.b = how->Value(CUDNN_ATTR_RNG_UNIFORM_DIST_MAXIMUM, 1.0);
      break;
    case CUDNN_RNG_DISTRIBUTION_NORMAL:
      step.a = how->Value(CUDNN_ATTR_RNG_NORMAL_DIST_MEAN, 0.0);
      step.b = how->Value(CUDNN_ATTR_RNG_NORMAL_DIST_STANDARD_DEVIATION, 1.0);
      break;
  }
  return step;
}

}  // namespace ptx2cpu::cudnn
