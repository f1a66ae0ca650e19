// Transforms, and the library's version and properties.
#include <algorithm>
#include <vector>

#include "cufft_api.h"
#include "runtime/cuda/libraries/core/narrow.h"
#include "runtime/cuda/libraries/core/soname.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/fft/plan.h"

namespace ptx2cpu::cufft {

namespace {

// Numbers of 16 bits as floats, and back: also those between the numbers of a layout, which stay as they are.
template <typename Narrow>
cufftResult ExecuteNarrow(const char* function, const std::shared_ptr<Plan>& plan, Narrow* in, Narrow* out,
                          int direction) {
  const auto [in_span, out_span] = plan->SpansOf(in == out);
  const int64_t first_span = in == out ? std::max(in_span, out_span) : in_span;
  const CUresult error = libraries::Submit(plan->stream, function, [=] {
    const auto widen = [](const Narrow* from, int64_t count) {
      std::vector<float> wide(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) wide[i] = libraries::ToFloat(from[i]);
      return wide;
    };
    std::vector<float> input = widen(in, first_span);
    std::vector<float> output = in == out ? std::vector<float>() : widen(out, out_span);
    std::vector<float>& result = in == out ? input : output;
    const auto transform = plan->For(input.data(), result.data(), direction);
    if (transform == nullptr) return;
    transform->Run(input.data(), result.data());
    for (int64_t i = 0; i < out_span; ++i) libraries::FromFloat(result[i], out[i]);
  });
  return error == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

cufftResult Execute(const char* function, cufftHandle handle, const cufftType* type, void* in, void* out,
                    int direction) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  if (plan == nullptr || !plan->made() || !plan->devices().empty()) return CUFFT_INVALID_PLAN;
  if (type != nullptr && plan->type() != *type) return CUFFT_INVALID_PLAN;
  if (in == nullptr || out == nullptr) return CUFFT_INVALID_VALUE;
  const bool complex = KindOf(plan->type()) == libraries::FftKind::kComplex;
  if (complex && direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
  const bool to_real = KindOf(plan->type()) == libraries::FftKind::kComplexToReal;
  if (type == nullptr && to_real && direction == CUFFT_FORWARD) return CUFFT_INVALID_VALUE;
  const int sign = complex ? direction : 0;
  if (plan->storage() == Storage::kHalf)
    return ExecuteNarrow(function, plan, static_cast<__half*>(in), static_cast<__half*>(out), sign);
  if (plan->storage() == Storage::kBfloat16) {
    return ExecuteNarrow(function, plan, static_cast<__nv_bfloat16*>(in), static_cast<__nv_bfloat16*>(out),
                         sign);
  }
  std::shared_ptr<const libraries::FftPlan> transform = plan->For(in, out, complex ? direction : 0);
  if (transform == nullptr) return CUFFT_NOT_SUPPORTED;
  const CUresult error =
      libraries::Submit(plan->stream, function, [transform, in, out] { transform->Run(in, out); });
  return error == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}
cufftResult Execute(const char* function, cufftHandle handle, cufftType type, void* in, void* out,
                    int direction) {
  return Execute(function, handle, &type, in, out, direction);
}

// The last release of each soname.
struct Release {
  int soname, major, minor, patch;
};
constexpr Release kReleases[] = {{10, 10, 9, 0}, {11, 11, 4, 1}, {12, 12, 0, 0}};
Release ThisRelease() { return *std::ranges::find(kReleases, libraries::kSonameMajor, &Release::soname); }

}  // namespace

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* idata, cufftComplex* odata, int direction) {
  return Execute("cufftExecC2C", plan, CUFFT_C2C, idata, odata, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* idata, cufftComplex* odata) {
  return Execute("cufftExecR2C", plan, CUFFT_R2C, idata, odata, 0);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* idata, cufftReal* odata) {
  return Execute("cufftExecC2R", plan, CUFFT_C2R, idata, odata, 0);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* idata, cufftDoubleComplex* odata,
                         int direction) {
  return Execute("cufftExecZ2Z", plan, CUFFT_Z2Z, idata, odata, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* idata, cufftDoubleComplex* odata) {
  return Execute("cufftExecD2Z", plan, CUFFT_D2Z, idata, odata, 0);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* idata, cufftDoubleReal* odata) {
  return Execute("cufftExecZ2D", plan, CUFFT_Z2D, idata, odata, 0);
}
cufftResult cufftXtExec(cufftHandle plan, void* input, void* output, int direction) {
  return Execute("cufftXtExec", plan, nullptr, input, output, direction);
}

cufftResult cufftGetVersion(int* version) {
  if (version == nullptr) return CUFFT_SUCCESS;
  const Release release = ThisRelease();
  *version = release.major * 1000 + release.minor * 100 + release.patch;
  return CUFFT_SUCCESS;
}
cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUFFT_INVALID_VALUE;
  if (type < MAJOR_VERSION || type > PATCH_LEVEL) return CUFFT_INVALID_TYPE;
  const Release release = ThisRelease();
  *value = type == MAJOR_VERSION ? release.major : type == MINOR_VERSION ? release.minor : release.patch;
  return CUFFT_SUCCESS;
}

}  // namespace ptx2cpu::cufft
