// The plan of a cufftHandle: a shape and a type, and FFTW's plans for it, made when a transform first needs
// them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "runtime/cuda/abi/cufft_types.h"
#include "runtime/cuda/libraries/fft/fftw.h"

namespace ptx2cpu::cufft {

using namespace ::ptx2cpu::cuda;

// The memory of one side: sizes of the array around each transform, distances of elements and of transforms.
struct Layout {
  bool basic = true;  // adjacent elements, and real ones padded where the transform is in place
  std::vector<int64_t> embed;
  int64_t stride = 1, distance = 0;
};

// What numbers are stored as: of 16 bits they are transformed in single precision.
enum class Storage : uint8_t { kOfType, kHalf, kBfloat16 };

struct Shape {
  cufftType type = CUFFT_C2C;
  Storage storage = Storage::kOfType;
  std::vector<int64_t> sizes;
  Layout in, out;
  int64_t batch = 1;
};

// INVALID_TYPE, INVALID_SIZE, INVALID_VALUE, NOT_SUPPORTED: what no plan can have.
cufftResult WrongShape(const Shape& shape);

class Plan {
 public:
  // As WrongShape; SETUP_FAILED (the engine is missing), INVALID_PLAN (it has a shape).
  cufftResult Make(const char* function, Shape shape);
  bool made() const { return made_; }
  // Sets the devices of a plan; a device may be named more than once. INVALID_PLAN (it has a shape).
  cufftResult SetDevices(std::vector<int> devices);
  const std::vector<int>& devices() const { return devices_; }
  const Shape& shape() const { return shape_; }
  cufftType type() const { return shape_.type; }
  Storage storage() const { return shape_.storage; }
  // How many real numbers the arrays of the input and the output span.
  struct Spans {
    int64_t in, out;
  };
  Spans SpansOf(bool in_place) const;
  CUstream stream = nullptr;

  // FFTW's plan for these arrays; null if it has none.
  std::shared_ptr<const libraries::FftPlan> For(void* in, void* out, int direction);

 private:
  Shape shape_;
  std::vector<int> devices_;
  bool made_ = false;
  std::mutex mutex_;
  using Key = std::tuple<bool, int, int, int>;  // in place, alignments of input and output, direction
  std::map<Key, std::shared_ptr<const libraries::FftPlan>> plans_;
};

// Live plans by handle.
cufftHandle AddPlan();
std::shared_ptr<Plan> FindPlan(cufftHandle handle);
bool RemovePlan(cufftHandle handle);

bool IsType(cufftType type);
libraries::FftPrecision PrecisionOf(cufftType type);
libraries::FftKind KindOf(cufftType type);

}  // namespace ptx2cpu::cufft
