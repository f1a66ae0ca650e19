#include "runtime/cuda/libraries/dnn/graph/builder.h"

#include <algorithm>
#include <limits>

#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// Whether the heads of a token are adjacent, for axes of batches, heads, tokens and elements, or with the
// last two exchanged. Then the elements of a batch are the first ones in the space of a batch of full length.
bool AreRowsOfTokens(const Layout& layout) {
  if (layout.extents.size() < 4 || layout.extents[1] == 1) return true;
  return std::any_of(layout.strides.begin() + 2, layout.strides.end(),
                     [&](int64_t stride) { return stride > layout.strides[1]; });
}

}  // namespace

void Builder::Check(bool holds, const char* why) const {
  if (!holds) throw Refusal{why};
}

int Builder::Number(const Link& content) {
  const auto uid = content->Value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  const auto found = std::ranges::find(program_.tensors, uid, &Tensor::uid);
  if (found != program_.tensors.end()) return static_cast<int>(found - program_.tensors.begin());
  Tensor tensor{.uid = uid};
  tensor.layout = {content->Value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
                   content->List<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                   content->List<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)};
  tensor.is_virtual = content->Value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  tensor.by_value = content->Value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  Check(ElementBytes(tensor.layout.type) != 0, "a type of tensors");
  Check(content->Value<int64_t>(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) == 1, "elements that are vectors");
  Check(content->Value<int>(CUDNN_ATTR_TENSOR_REORDERING_MODE) == 0, "an order of elements");
  Check(!tensor.by_value ||
            tensor.layout.Count() * ElementBytes(tensor.layout.type) <= int64_t{sizeof(ValueBytes)},
        "an array by value");
  program_.is_double |= tensor.layout.type == CUDNN_DATA_DOUBLE;
  const Link ragged = content->Part(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
  if (ragged) {
    const int number = Number(ragged);
    const Tensor& offsets = program_.tensors[static_cast<size_t>(number)];
    const cudnnDataType_t type = offsets.layout.type;
    Check(!offsets.is_virtual && (type == CUDNN_DATA_INT32 || type == CUDNN_DATA_INT64) &&
              offsets.layout.Count() == tensor.layout.extents[0] + 1,
          "offsets of batches");
    Check(AreRowsOfTokens(tensor.layout), "batches of different lengths whose tokens are not outermost");
    tensor.ragged = number;
  }
  tensor.held = tensor.layout;
  program_.tensors.push_back(std::move(tensor));
  return static_cast<int>(program_.tensors.size()) - 1;
}

int Builder::InPart(const Link& tensor) {
  reads_.push_back(Number(tensor));
  return reads_.back();
}
int Builder::In(cudnnBackendAttributeName_t name) {
  const Link tensor = operation_->Part(name);
  return tensor == nullptr ? kNone : InPart(tensor);
}
int Builder::Out(cudnnBackendAttributeName_t name) {
  const Link tensor = operation_->Part(name);
  if (tensor == nullptr) return kNone;
  writes_.push_back(Number(tensor));
  return writes_.back();
}

const std::vector<int64_t>& Builder::Extents(int tensor) const {
  return program_.tensors[static_cast<size_t>(tensor)].layout.extents;
}

void Builder::WantComputeType(cudnnDataType_t type) {
  program_.is_double |= type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_INT32 || type == CUDNN_DATA_INT64;
}

std::vector<int64_t> Builder::StepsOver(int tensor, const std::vector<int64_t>& extents) const {
  std::vector<int64_t> steps(extents.size(), 0);
  if (tensor == kNone) return steps;
  const std::vector<int64_t>& own = Extents(tensor);
  int64_t step = 1;
  for (size_t n = 0; n < own.size(); ++n) {
    const int64_t extent = own[own.size() - 1 - n];
    if (extent == 1) continue;
    Check(n < extents.size() && extents[extents.size() - 1 - n] == extent, "shapes that do not fit");
    steps[extents.size() - 1 - n] = step;
    step *= extent;
  }
  return steps;
}

Groups Builder::GroupsOf(const std::vector<int64_t>& x, const std::vector<int64_t>& kept) const {
  Check(x.size() == kept.size(), "shapes of different ranks");
  const std::vector<int64_t> steps = PackedStrides(x), kept_steps = PackedStrides(kept);
  Groups groups{};
  groups.count = 1;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    Check(kept[axis] > 0 && x[axis] % kept[axis] == 0, "shapes that do not fit");
    const int64_t inside = x[axis] / kept[axis];
    groups.kept.Add(kept[axis], {kept_steps[axis], steps[axis] * inside});
    groups.inside.Add(inside, {steps[axis]});
    groups.count *= inside;
  }
  return groups;
}

Operation Builder::MakePointwise() {
  const Link how = operation_->Part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  Pointwise step{};
  step.mode = how->Value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  constexpr int kBackward = 200, kAfterBackward = 300;
  const bool backward = step.mode >= kBackward && step.mode < kAfterBackward;
  if (backward) {
    step.x = In(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC), step.b = In(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    step.t = kNone, step.y = Out(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
  } else {
    step.x = In(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), step.b = In(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    step.t = In(CUDNN_ATTR_OPERATION_POINTWISE_TDESC), step.y = Out(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  }
  struct Operands {
    cudnnPointwiseMode_t mode;
    int count;
  };
  static constexpr Operands kOperands[] = {
      {CUDNN_POINTWISE_GEN_INDEX, 0},
#define FORMULA(name, operands, value) {CUDNN_POINTWISE_##name, operands},
#include "runtime/cuda/libraries/dnn/graph/pointwise.def"
  };
  const auto* known = std::ranges::find(kOperands, step.mode, &Operands::mode);
  Check(known != std::end(kOperands), "a mode");
  Check(step.y != kNone && (known->count < 1 || step.x != kNone) && (known->count < 2 || step.b != kNone) &&
            (known->count < 3 || step.t != kNone),
        "operands that are missing");
  const double largest = std::numeric_limits<double>::infinity();
  step.alpha1 = operation_->Value(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0);
  step.alpha2 = operation_->Value(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1.0);
  step.lower = how->Value(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0.0);
  step.upper = how->Value(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, largest);
  step.slope = how->Value(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.0);
  step.elu = how->Value(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1.0);
  step.softplus = how->Value(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1.0);
  step.swish = how->Value(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1.0);
  const std::vector<int64_t>& extents = Extents(step.y);
  const auto axis = how->Value<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
  const auto rank = static_cast<int64_t>(extents.size());
  const int64_t counted = axis < 0 ? axis + rank : axis;
  Check(counted >= 0 && counted < rank, "an axis");
  step.index_step = PackedStrides(extents)[static_cast<size_t>(counted)];
  step.index_extent = extents[static_cast<size_t>(counted)];
  const auto y = PackedStrides(extents), x = StepsOver(step.x, extents), b = StepsOver(step.b, extents),
             t = StepsOver(step.t, extents);
  for (size_t n = 0; n < extents.size(); ++n) step.nest.Add(extents[n], {y[n], x[n], b[n], t[n]});
  return step;
}

Operation Builder::MakeProduct() {
  const Link how = operation_->Part(CUDNN_ATTR_OPERATION_MATMUL_DESC);
  WantComputeType(how->Value<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE));
  Product step{};
  step.a = In(CUDNN_ATTR_OPERATION_MATMUL_ADESC), step.b = In(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  step.c = Out(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  step.rows = In(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
  step.columns = In(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
  step.depths = In(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
  step.padding = how->Value(CUDNN_ATTR_MATMUL_PADDING_VALUE, 0.0);
  const auto &a = Extents(step.a), &b = Extents(step.b), &c = Extents(step.c);
  const size_t rank = c.size();
  Check(rank >= 2 && a.size() == rank && b.size() == rank, "shapes of different ranks");
  step.m = c[rank - 2], step.n = c[rank - 1], step.k = a[rank - 1];
  Check(a[rank - 2] == step.m && b[rank - 2] == step.k && b[rank - 1] == step.n, "shapes that do not fit");
  Check(libraries::FitBlas(step.m, step.n, step.k), "sizes");
  Check(libraries::LoadBlas("cudnnBackendFinalize"), "the engine is missing");
  int64_t batches = 1;
  for (size_t axis = 0; axis + 2 < rank; ++axis) batches *= c[axis];
  // Batches of an operand that has fewer serve several neighbouring ones of the product.
  auto places = [&](const std::vector<int64_t>& own, int64_t matrix) {
    const std::vector<int64_t> steps = PackedStrides(std::vector<int64_t>(own.begin(), own.end() - 2));
    std::vector<int64_t> of(static_cast<size_t>(batches));
    for (int64_t batch = 0; batch < batches; ++batch) {
      int64_t rest = batch, place = 0;
      for (size_t axis = rank - 2; axis-- > 0; rest /= c[axis]) {
        Check(own[axis] > 0 && c[axis] % own[axis] == 0, "batches that do not fit");
        place += rest % c[axis] / (c[axis] / own[axis]) * steps[axis];
      }
      of[static_cast<size_t>(batch)] = place * matrix;
    }
    return of;
  };
  step.a_places = places(a, step.m * step.k), step.b_places = places(b, step.k * step.n);
  for (const int limit : {step.rows, step.columns, step.depths}) {
    if (limit == kNone) continue;
    Check(Extents(limit).size() == rank && Extents(limit)[rank - 1] == 1 && Extents(limit)[rank - 2] == 1,
          "sizes of batches");
    step.limit_places = places(Extents(limit), 1);
  }
  return step;
}

Operation Builder::MakeReduction() {
  const Link how = operation_->Part(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  WantComputeType(how->Value<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE));
  Reduction step{};
  step.op = how->Value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  Check(step.op >= CUDNN_REDUCE_TENSOR_ADD && step.op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS, "an operator");
  step.x = In(CUDNN_ATTR_OPERATION_REDUCTION_XDESC), step.y = Out(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  step.groups = GroupsOf(Extents(step.x), Extents(step.y));
  return step;
}

Operation Builder::MakeMoments() {
  Moments step{};
  step.x = In(CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
  step.sum = Out(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC),
  step.squares = Out(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
  Check(Extents(step.sum) == Extents(step.squares), "shapes that do not fit");
  step.groups = GroupsOf(Extents(step.x), Extents(step.sum));
  return step;
}

Operation Builder::Make() {
  switch (operation_->type()) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return MakePointwise();
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return MakeProduct();
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return MakeConvolution(ConvolutionKind::kForward);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return MakeConvolution(ConvolutionKind::kData);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return MakeConvolution(ConvolutionKind::kFilter);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return MakeReduction();
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return MakeMoments();
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return MakeNormForward();
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return MakeNormBackward();
    case CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR:
      return MakeBatchFinalize();
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
      return MakeResample(false);
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
      return MakeResample(true);
    case CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR:
      return MakeConcat();
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return MakeReshape();
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      return MakeRandom();
    default:
      throw Refusal{"no operation"};
  }
}

}  // namespace ptx2cpu::cudnn
