#include "runtime/cuda/libraries/fft/fftw.h"

#include <mutex>
#include <string>

#include "runtime/cuda/libraries/core/engine.h"
#include "runtime/cuda/libraries/core/parallel.h"

namespace ptx2cpu::libraries {

namespace {

// fftw_iodim64.
struct Dimension {
  ptrdiff_t size, in, out;
};
constexpr unsigned kDestroysInput = 1u << 0, kEstimates = 1u << 6;

// The interface of one precision: names begin with fftw or fftwf. A library for threads brings the plain one
// along.
struct Fftw {
  Engine engine;
  const char* prefix;
  std::mutex planner{};  // only execution is thread-safe
  bool begun = false;

  template <typename Function>
  Function* Find(const char* name) {
    return reinterpret_cast<Function*>(engine.Find((std::string(prefix) + name).c_str()));
  }
};

Fftw single{Engine{EngineFile{"libfftw3f_threads.so.3", "libfftw3-single3"}}, "fftwf_"};
Fftw twofold{Engine{EngineFile{"libfftw3_threads.so.3", "libfftw3-double3"}}, "fftw_"};

Fftw& Of(FftPrecision precision) { return precision == FftPrecision::kSingle ? single : twofold; }

// FFTW's parallel loops run on the pool.
void RunOnPool(void* (*work)(void*), char* jobs, size_t size, int count, void*) {
  ForEach(count, [&](int64_t i) { work(jobs + static_cast<size_t>(i) * size); });
}

void UsePool(Fftw& fftw) {
  if (fftw.begun) return;
  fftw.begun = true;
  if (fftw.Find<int()>("init_threads")() == 0) return;
  fftw.Find<void(decltype(&RunOnPool), void*)>("threads_set_callback")(RunOnPool, nullptr);
  fftw.Find<void(int)>("plan_with_nthreads")(static_cast<int>(Threads()));
}

}  // namespace

bool LoadFft(FftPrecision precision, const char* function) { return Of(precision).engine.Load(function); }

int FftAlignment(FftPrecision precision, void* array) {
  return Of(precision).Find<int(void*)>("alignment_of")(array);
}

std::shared_ptr<const FftPlan> MakeFftPlan(FftPrecision precision, FftKind kind,
                                           const std::vector<FftDimension>& dimensions,
                                           const FftDimension& batch, void* in, void* out, int sign) {
  Fftw& fftw = Of(precision);
  const std::lock_guard lock(fftw.planner);
  UsePool(fftw);
  std::vector<Dimension> dims;
  for (const FftDimension& dimension : dimensions)
    dims.push_back({dimension.size, dimension.in, dimension.out});
  const Dimension many{batch.size, batch.in, batch.out};
  const int rank = static_cast<int>(dims.size());
  void* plan = nullptr;
  if (kind == FftKind::kComplex) {
    using Make = void*(int, const Dimension*, int, const Dimension*, void*, void*, int, unsigned);
    plan = fftw.Find<Make>("plan_guru64_dft")(rank, dims.data(), 1, &many, in, out, sign, kEstimates);
  } else {
    using Make = void*(int, const Dimension*, int, const Dimension*, void*, void*, unsigned);
    const bool forward = kind == FftKind::kRealToComplex;
    plan = fftw.Find<Make>(forward ? "plan_guru64_dft_r2c" : "plan_guru64_dft_c2r")(
        rank, dims.data(), 1, &many, in, out, forward ? kEstimates : kEstimates | kDestroysInput);
  }
  return plan == nullptr ? nullptr : std::make_shared<const FftPlan>(precision, kind, plan);
}

FftPlan::~FftPlan() {
  Fftw& fftw = Of(precision_);
  const std::lock_guard lock(fftw.planner);
  fftw.Find<void(void*)>("destroy_plan")(plan_);
}

void FftPlan::Run(void* in, void* out) const {
  const char* const name = kind_ == FftKind::kComplex         ? "execute_dft"
                           : kind_ == FftKind::kRealToComplex ? "execute_dft_r2c"
                                                              : "execute_dft_c2r";
  Of(precision_).Find<void(void*, void*, void*)>(name)(plan_, in, out);
}

}  // namespace ptx2cpu::libraries
