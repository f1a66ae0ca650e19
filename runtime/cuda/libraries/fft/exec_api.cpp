// Transforms, and what the library reports of itself.
#include <algorithm>

#include "cufft_api.h"
#include "runtime/cuda/libraries/core/soname.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/fft/plan.h"

namespace ptx2cpu::cufft {

namespace {

cufftResult Execute(const char* function, cufftHandle handle, const cufftType* type, void* in, void* out,
                    int direction) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  if (plan == nullptr || !plan->made()) return CUFFT_INVALID_PLAN;
  if (type != nullptr && plan->type() != *type) return CUFFT_INVALID_PLAN;
  if (in == nullptr || out == nullptr) return CUFFT_INVALID_VALUE;
  const bool complex = KindOf(plan->type()) == libraries::FftKind::kComplex;
  if (complex && direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
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
  if (version == nullptr) return CUFFT_INVALID_VALUE;
  const Release release = ThisRelease();
  *version = release.major * 1000 + release.minor * 100 + release.patch;
  return CUFFT_SUCCESS;
}
cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUFFT_INVALID_VALUE;
  const Release release = ThisRelease();
  *value = type == MAJOR_VERSION ? release.major : type == MINOR_VERSION ? release.minor : release.patch;
  return CUFFT_SUCCESS;
}

}  // namespace ptx2cpu::cufft
