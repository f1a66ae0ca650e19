// FFTW: plans of transforms in single and double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptx2cpu::libraries {

enum class FftPrecision : uint8_t { kSingle, kDouble };
enum class FftKind : uint8_t { kComplex, kRealToComplex, kComplexToReal };

// One dimension: its size and, in elements, the distance of neighbours in input and output.
struct FftDimension {
  ptrdiff_t size, in, out;
};

// A transform of a shape for arrays of a certain alignment, in place or not. Immutable; any threads may run
// it.
class FftPlan {
 public:
  FftPlan(FftPrecision precision, FftKind kind, void* plan)
      : precision_(precision), kind_(kind), plan_(plan) {}
  ~FftPlan();
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;
  void Run(void* in, void* out) const;

 private:
  const FftPrecision precision_;
  const FftKind kind_;
  void* const plan_;
};

// Loads the library of this precision at its first call, for `function`. False: it is missing, which was
// reported.
bool LoadFft(FftPrecision precision, const char* function);
// `batch`: transforms of this shape, beside each other. `sign`: -1 or 1, of the exponent, for complex ones.
// The arrays are not touched. Null: FFTW has no plan for it.
std::shared_ptr<const FftPlan> MakeFftPlan(FftPrecision precision, FftKind kind,
                                           const std::vector<FftDimension>& dimensions,
                                           const FftDimension& batch, void* in, void* out, int sign);
// Arrays of equal numbers can share a plan.
int FftAlignment(FftPrecision precision, void* array);

}  // namespace ptx2cpu::libraries
