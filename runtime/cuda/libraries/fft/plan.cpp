#include "runtime/cuda/libraries/fft/plan.h"

#include <algorithm>
#include <bit>

#include "runtime/cuda/libraries/fft/distribution.h"

namespace ptx2cpu::cufft {

using libraries::FftDimension;
using libraries::FftKind;
using libraries::FftPrecision;

namespace {

struct TypeRow {
  cufftType type;
  FftPrecision precision;
  FftKind kind;
};
constexpr TypeRow kTypes[] = {
    {CUFFT_C2C, FftPrecision::kSingle, FftKind::kComplex},
    {CUFFT_R2C, FftPrecision::kSingle, FftKind::kRealToComplex},
    {CUFFT_C2R, FftPrecision::kSingle, FftKind::kComplexToReal},
    {CUFFT_Z2Z, FftPrecision::kDouble, FftKind::kComplex},
    {CUFFT_D2Z, FftPrecision::kDouble, FftKind::kRealToComplex},
    {CUFFT_Z2D, FftPrecision::kDouble, FftKind::kComplexToReal},
};
const TypeRow* RowOf(cufftType type) {
  const auto row = std::ranges::find(kTypes, type, &TypeRow::type);
  return row == std::end(kTypes) ? nullptr : row;
}

// A basic layout, written out: the last dimension of the complex side of a real transform has n / 2 + 1
// elements, and in place the real side has room for as many.
Layout Explicit(const Layout& layout, const std::vector<int64_t>& sizes, bool real_transform, bool real_side,
                bool in_place) {
  if (!layout.basic) return layout;
  Layout result{false, sizes, 1, 1};
  if (real_transform) {
    const int64_t half = sizes.back() / 2 + 1;
    if (!real_side) result.embed.back() = half;
    if (real_side && in_place) result.embed.back() = 2 * half;
  }
  for (const int64_t size : result.embed) result.distance *= size;
  return result;
}

// As recorded, a single transform that is divided among devices has at least 32 elements in each dimension,
// and a line is one of complex numbers, a power of 2; elements are adjacent.
cufftResult WrongForDevices(const Shape& shape, size_t devices) {
  if (!shape.in.basic || !shape.out.basic || shape.storage != Storage::kOfType) return CUFFT_NOT_SUPPORTED;
  if (shape.batch > 1) return CUFFT_SUCCESS;
  const bool fits = shape.sizes.size() == 1
                        ? RowOf(shape.type)->kind == FftKind::kComplex &&
                              IsDividedLine(shape.sizes[0], static_cast<int64_t>(devices))
                        : std::ranges::all_of(shape.sizes, [](int64_t size) { return size >= 32; });
  return fits ? CUFFT_SUCCESS : CUFFT_INVALID_SIZE;
}

struct Table {
  std::mutex mutex;
  std::map<cufftHandle, std::shared_ptr<Plan>> plans;
  cufftHandle next = 1;
};
Table& LivePlans() {
  static Table table;
  return table;
}

}  // namespace

bool IsType(cufftType type) { return RowOf(type) != nullptr; }
FftPrecision PrecisionOf(cufftType type) { return RowOf(type)->precision; }
FftKind KindOf(cufftType type) { return RowOf(type)->kind; }

cufftResult WrongShape(const Shape& shape) {
  if (RowOf(shape.type) == nullptr) return CUFFT_INVALID_TYPE;
  if (shape.sizes.empty() || shape.sizes.size() > 3) return CUFFT_INVALID_VALUE;
  if (shape.batch < 1 || std::ranges::any_of(shape.sizes, [](int64_t size) { return size < 1; }))
    return CUFFT_INVALID_SIZE;
  for (const Layout* layout : {&shape.in, &shape.out}) {
    if (layout->basic) continue;
    if (layout->stride < 1 || layout->distance < 1) return CUFFT_INVALID_VALUE;
  }
  if (shape.storage != Storage::kOfType && !std::ranges::all_of(shape.sizes, [](int64_t size) {
        return std::has_single_bit(static_cast<uint64_t>(size));
      }))
    return CUFFT_NOT_SUPPORTED;
  return CUFFT_SUCCESS;
}

cufftResult Plan::Make(const char* function, Shape shape) {
  if (made_) return CUFFT_INVALID_PLAN;
  if (const cufftResult wrong = WrongShape(shape)) return wrong;
  if (!devices_.empty()) {
    if (const cufftResult wrong = WrongForDevices(shape, devices_.size())) return wrong;
  }
  if (!libraries::LoadFft(RowOf(shape.type)->precision, function)) return CUFFT_SETUP_FAILED;
  shape_ = std::move(shape);
  made_ = true;
  return CUFFT_SUCCESS;
}

cufftResult Plan::SetDevices(std::vector<int> devices) {
  if (made_) return CUFFT_INVALID_PLAN;
  devices_ = std::move(devices);
  return CUFFT_SUCCESS;
}

Plan::Spans Plan::SpansOf(bool in_place) const {
  const FftKind kind = KindOf(shape_.type);
  const bool real = kind != FftKind::kComplex;
  const auto span = [&](const Layout& side, bool real_side) {
    const Layout layout = Explicit(side, shape_.sizes, real, real_side, in_place);
    int64_t last = (shape_.batch - 1) * layout.distance, step = layout.stride;
    for (size_t d = shape_.sizes.size(); d-- > 0;) {
      const bool halved = real && !real_side && d + 1 == shape_.sizes.size();
      last += (halved ? shape_.sizes[d] / 2 : shape_.sizes[d] - 1) * step;
      step *= layout.embed[d];
    }
    return (last + 1) * (real_side ? 1 : 2);
  };
  return {span(shape_.in, kind == FftKind::kRealToComplex),
          span(shape_.out, kind == FftKind::kComplexToReal)};
}

std::shared_ptr<const libraries::FftPlan> Plan::For(void* in, void* out, int direction) {
  const auto [type, precision, kind] = *RowOf(shape_.type);
  const bool in_place = in == out;
  const Key key{in_place, libraries::FftAlignment(precision, in), libraries::FftAlignment(precision, out),
                direction};
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const libraries::FftPlan>& plan = plans_[key];
  if (plan != nullptr) return plan;
  const bool real = kind != FftKind::kComplex;
  const Layout from = Explicit(shape_.in, shape_.sizes, real, kind == FftKind::kRealToComplex, in_place),
               to = Explicit(shape_.out, shape_.sizes, real, kind == FftKind::kComplexToReal, in_place);
  std::vector<FftDimension> dimensions(shape_.sizes.size());
  int64_t step_in = from.stride, step_out = to.stride;
  for (size_t d = dimensions.size(); d-- > 0;) {
    dimensions[d] = {shape_.sizes[d], step_in, step_out};
    step_in *= from.embed[d], step_out *= to.embed[d];
  }
  plan = libraries::MakeFftPlan(precision, kind, dimensions, {shape_.batch, from.distance, to.distance}, in,
                                out, direction);
  return plan;
}

cufftHandle AddPlan() {
  Table& table = LivePlans();
  const std::lock_guard lock(table.mutex);
  table.plans[table.next] = std::make_shared<Plan>();
  return table.next++;
}

std::shared_ptr<Plan> FindPlan(cufftHandle handle) {
  Table& table = LivePlans();
  const std::lock_guard lock(table.mutex);
  const auto found = table.plans.find(handle);
  return found == table.plans.end() ? nullptr : found->second;
}

bool RemovePlan(cufftHandle handle) {
  Table& table = LivePlans();
  const std::lock_guard lock(table.mutex);
  return table.plans.erase(handle) == 1;
}

}  // namespace ptx2cpu::cufft
