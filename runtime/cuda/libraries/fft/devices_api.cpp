// Arrays on several devices. All devices have one memory here: a transform brings the parts together, is
// computed as one, and is divided again.
#include <bit>
#include <complex>
#include <cstring>

#include "cudart_api.h"
#include "cufft_api.h"
#include "runtime/cuda/libraries/core/device_memory.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/fft/distribution.h"

namespace ptx2cpu::cufft {

namespace {

constexpr int kMinDevices = 2, kMaxDevices = 16;  // as documented

// A plan with a shape. As recorded, one without a list of devices makes arrays that have no parts: nothing is
// copied from or to them, and no transform runs on them.
std::shared_ptr<Plan> FindMade(cufftHandle handle) {
  std::shared_ptr<Plan> plan = FindPlan(handle);
  return plan == nullptr || !plan->made() ? nullptr : plan;
}

// Calls body(i) with each device in turn as the calling thread's; the first error ends it.
template <typename Body>
cudaError_t ForDevices(const std::vector<int>& devices, const Body& body) {
  int before = 0;
  cudaError_t error = cudart::cudaGetDevice(&before);
  if (error != cudaSuccess) return error;
  for (size_t i = 0; i < devices.size() && error == cudaSuccess; ++i) {
    error = cudart::cudaSetDevice(devices[i]);
    if (error == cudaSuccess) error = body(i);
  }
  const cudaError_t restored = cudart::cudaSetDevice(before);
  return error != cudaSuccess ? error : restored;
}

std::vector<int> DevicesOf(const cudaLibXtDesc& array) {
  return {array.descriptor->GPUs, array.descriptor->GPUs + array.descriptor->nGPUs};
}
std::vector<void*> PartsOf(const cudaLibXtDesc& array) {
  void* const* const data = array.descriptor->data;
  return std::vector<void*>(data, data + array.descriptor->nGPUs);  // in braces, the two addresses
}
cufftXtSubFormat FormatOf(const cudaLibXtDesc& array) {
  return static_cast<cufftXtSubFormat>(array.subFormat);
}
bool IsArrayOf(const Plan& plan, const cudaLibXtDesc* array) {
  return array != nullptr && array->descriptor != nullptr && DevicesOf(*array) == plan.devices();
}
// The side of a transform that a separate array belongs to.
Side SideOf(cufftXtSubFormat format) {
  return format == CUFFT_XT_FORMAT_OUTPUT ? Side::kOutput : Side::kInput;
}
Division DivisionOf(const Plan& plan, const cudaLibXtDesc& array) {
  return DivisionOf(plan.shape(), FormatOf(array), SideOf(FormatOf(array)));
}
// As recorded, arrays that no transform of the plan takes can be made and have parts of no bytes: separate
// ones of a single transform, and shuffled ones of real numbers.
bool HasParts(const Shape& shape, cufftXtSubFormat format) {
  if (shape.batch > 1) return true;
  if (format == CUFFT_XT_FORMAT_INPUT || format == CUFFT_XT_FORMAT_OUTPUT) return false;
  return format != CUFFT_XT_FORMAT_INPLACE_SHUFFLED ||
         KindOf(shape.type) != libraries::FftKind::kRealToComplex;
}
bool HasParts(const Plan& plan, const cudaLibXtDesc& array) {
  return plan.shape().batch > 1 || array.descriptor->size[0] != 0;
}
// A single transform's parts have room for both orders, and report it as their size.
size_t BytesOfPart(const Shape& shape, cufftXtSubFormat format, int64_t device, int64_t devices) {
  if (!HasParts(shape, format)) return 0;
  size_t bytes = DivisionOf(shape, format, SideOf(format)).Bytes(device, devices);
  if (shape.batch > 1) return bytes;
  for (const cufftXtSubFormat order : {CUFFT_XT_FORMAT_INPLACE, CUFFT_XT_FORMAT_INPLACE_SHUFFLED})
    bytes = std::max(bytes, DivisionOf(shape, order, Side::kInput).Bytes(device, devices));
  return bytes;
}

// After all work of the devices. Without a stream, as documented, the result is there when the function
// returns.
cufftResult Run(const Plan& plan, CUstream stream, const char* name, std::function<void()> run) {
  if (!libraries::IsCaptured(stream) &&
      ForDevices(plan.devices(), [](size_t) { return cudart::cudaDeviceSynchronize(); }) != cudaSuccess)
    return CUFFT_EXEC_FAILED;
  CUresult error = libraries::Submit(stream, name, std::move(run));
  if (error == CUDA_SUCCESS && stream == nullptr) error = libraries::Synchronize(stream);
  return error == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

using Buffer = std::vector<std::complex<double>>;  // aligned for every type
std::shared_ptr<Buffer> NewBuffer(const Division& division) {
  return std::make_shared<Buffer>(division.AllBytes() / sizeof(std::complex<double>) + 1);
}

cufftResult Execute(const char* name, cufftHandle handle, const cufftType* type, cudaLibXtDesc* input,
                    cudaLibXtDesc* output, int direction) {
  const std::shared_ptr<Plan> plan = FindMade(handle);
  if (plan == nullptr || (type != nullptr && plan->type() != *type)) return CUFFT_INVALID_PLAN;
  if (!IsArrayOf(*plan, input) || !IsArrayOf(*plan, output)) return CUFFT_INVALID_VALUE;
  if (plan->devices().empty()) return CUFFT_EXEC_FAILED;
  const bool complex = KindOf(plan->type()) == libraries::FftKind::kComplex;
  if (complex && direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
  if (!HasParts(*plan, *input) || !HasParts(*plan, *output)) return CUFFT_INTERNAL_ERROR;
  const bool in_place = input == output;
  // As documented: what is divided stays in its place.
  if (!in_place && plan->shape().batch == 1) return CUFFT_INVALID_VALUE;
  const bool separate =
      FormatOf(*input) == CUFFT_XT_FORMAT_INPUT || FormatOf(*input) == CUFFT_XT_FORMAT_OUTPUT;
  if (!complex && in_place && separate) return CUFFT_INVALID_VALUE;

  const Division from = DivisionOf(*plan, *input);
  if (in_place && plan->shape().batch == 1) {
    output->subFormat =
        IsShuffled(FormatOf(*input)) ? CUFFT_XT_FORMAT_INPLACE : CUFFT_XT_FORMAT_INPLACE_SHUFFLED;
  }
  const Division to = DivisionOf(*plan, *output);
  const std::shared_ptr<Buffer> in = NewBuffer(from), out = in_place ? in : NewBuffer(to);
  const auto transform = plan->For(in->data(), out->data(), complex ? direction : 0);
  if (transform == nullptr) return CUFFT_NOT_SUPPORTED;
  return Run(*plan, plan->stream, name, [=, from_parts = PartsOf(*input), to_parts = PartsOf(*output)] {
    Gather(from, from_parts, in->data());
    transform->Run(in->data(), out->data());
    Scatter(to, out->data(), to_parts);
  });
}
cufftResult Execute(const char* name, cufftHandle handle, cufftType type, cudaLibXtDesc* input,
                    cudaLibXtDesc* output, int direction) {
  return Execute(name, handle, &type, input, output, direction);
}

}  // namespace

cufftResult cufftXtSetGPUs(cufftHandle handle, int nGPUs, int* whichGPUs) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (whichGPUs == nullptr || nGPUs < kMinDevices || nGPUs > kMaxDevices) return CUFFT_INVALID_VALUE;
  int count = 0;
  if (cudart::cudaGetDeviceCount(&count) != cudaSuccess) return CUFFT_SETUP_FAILED;
  for (int i = 0; i < nGPUs; ++i) {
    if (whichGPUs[i] < 0 || whichGPUs[i] >= count) return CUFFT_INVALID_DEVICE;
  }
  return plan->SetDevices({whichGPUs, whichGPUs + nGPUs});
}

cufftResult cufftXtMalloc(cufftHandle handle, cudaLibXtDesc** descriptor, cufftXtSubFormat format) {
  const std::shared_ptr<Plan> plan = FindMade(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (descriptor == nullptr) return CUFFT_INVALID_VALUE;
  if (format < CUFFT_XT_FORMAT_INPUT || format > CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED)
    return CUFFT_INVALID_VALUE;
  if (format == CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED && plan->shape().sizes.size() != 1)
    return CUFFT_INVALID_VALUE;
  if (format == CUFFT_XT_FORMAT_INPLACE_SHUFFLED && plan->shape().batch > 1) return CUFFT_INVALID_VALUE;
  const std::vector<int>& devices = plan->devices();
  const auto count = static_cast<int64_t>(devices.size());
  auto parts = std::make_unique<cudaXtDesc>();
  auto array = std::make_unique<cudaLibXtDesc>();
  parts->nGPUs = static_cast<int>(count);
  std::ranges::copy(devices, parts->GPUs);
  const cudaError_t error = ForDevices(devices, [&](size_t i) {
    parts->size[i] = BytesOfPart(plan->shape(), format, static_cast<int64_t>(i), count);
    return static_cast<cudaError_t>(
        libraries::Allocate(&parts->data[i], std::max<size_t>(1, parts->size[i])));
  });
  if (error != cudaSuccess) {
    for (void* part : parts->data) libraries::Free(part);
    return CUFFT_ALLOC_FAILED;
  }
  array->descriptor = parts.release();
  array->subFormat = format;
  *descriptor = array.release();
  return CUFFT_SUCCESS;
}

cufftResult cufftXtFree(cudaLibXtDesc* descriptor) {
  if (descriptor == nullptr || descriptor->descriptor == nullptr) return CUFFT_INVALID_VALUE;
  const std::vector<void*> parts = PartsOf(*descriptor);
  const cudaError_t error = ForDevices(
      DevicesOf(*descriptor), [&](size_t i) { return static_cast<cudaError_t>(libraries::Free(parts[i])); });
  delete descriptor->descriptor;
  delete descriptor;
  return error == cudaSuccess ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR;
}

// The host's array is in natural order. Copies between devices bring a shuffled array of complex numbers into
// another order, and no other of a single transform, as recorded.
cufftResult cufftXtMemcpy(cufftHandle handle, void* dstPointer, void* srcPointer, cufftXtCopyType type) {
  const char* const name = "cufftXtMemcpy";
  const std::shared_ptr<Plan> plan = FindMade(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (type < CUFFT_COPY_HOST_TO_DEVICE || type > CUFFT_COPY_DEVICE_TO_DEVICE) return CUFFT_INVALID_VALUE;
  if (dstPointer == nullptr || srcPointer == nullptr) return CUFFT_INVALID_VALUE;
  const auto* const to =
      type == CUFFT_COPY_DEVICE_TO_HOST ? nullptr : static_cast<cudaLibXtDesc*>(dstPointer);
  const auto* const from =
      type == CUFFT_COPY_HOST_TO_DEVICE ? nullptr : static_cast<cudaLibXtDesc*>(srcPointer);
  if ((to != nullptr && !IsArrayOf(*plan, to)) || (from != nullptr && !IsArrayOf(*plan, from)))
    return CUFFT_INVALID_VALUE;
  if (plan->devices().empty()) return CUFFT_SUCCESS;
  for (const cudaLibXtDesc* array : {to, from}) {
    if (array != nullptr && !HasParts(*plan, *array)) return CUFFT_INTERNAL_ERROR;
  }
  if (from == nullptr) {
    return Run(*plan, nullptr, name, [division = DivisionOf(*plan, *to), srcPointer, parts = PartsOf(*to)] {
      Scatter(division, srcPointer, parts);
    });
  }
  const Division source = DivisionOf(*plan, *from);
  if (to == nullptr) {
    return Run(*plan, nullptr, name,
               [source, dstPointer, parts = PartsOf(*from)] { Gather(source, parts, dstPointer); });
  }
  const bool is_complex = KindOf(plan->type()) == libraries::FftKind::kComplex;
  if (plan->shape().batch == 1 && (!is_complex || !IsShuffled(FormatOf(*from)))) return CUFFT_INTERNAL_ERROR;
  const Division target = DivisionOf(*plan, *to);
  if (source.AllBytes() != target.AllBytes()) return CUFFT_INVALID_VALUE;
  const std::shared_ptr<Buffer> whole = NewBuffer(source);
  return Run(*plan, nullptr, name, [=, from_parts = PartsOf(*from), to_parts = PartsOf(*to)] {
    Gather(source, from_parts, whole->data());
    Scatter(target, whole->data(), to_parts);
  });
}

cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output,
                                     int direction) {
  return Execute("cufftXtExecDescriptorC2C", plan, CUFFT_C2C, input, output, direction);
}
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output,
                                     int direction) {
  return Execute("cufftXtExecDescriptorZ2Z", plan, CUFFT_Z2Z, input, output, direction);
}
cufftResult cufftXtExecDescriptorR2C(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output) {
  return Execute("cufftXtExecDescriptorR2C", plan, CUFFT_R2C, input, output, 0);
}
cufftResult cufftXtExecDescriptorC2R(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output) {
  return Execute("cufftXtExecDescriptorC2R", plan, CUFFT_C2R, input, output, 0);
}
cufftResult cufftXtExecDescriptorD2Z(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output) {
  return Execute("cufftXtExecDescriptorD2Z", plan, CUFFT_D2Z, input, output, 0);
}
cufftResult cufftXtExecDescriptorZ2D(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output) {
  return Execute("cufftXtExecDescriptorZ2D", plan, CUFFT_Z2D, input, output, 0);
}
cufftResult cufftXtExecDescriptor(cufftHandle plan, cudaLibXtDesc* input, cudaLibXtDesc* output,
                                  int direction) {
  return Execute("cufftXtExecDescriptor", plan, nullptr, input, output, direction);
}

// For a transform of one dimension, strings follow each other in its output, and each device has a substring
// of every string.
cufftResult cufftXtQueryPlan(cufftHandle handle, void* queryStruct, cufftXtQueryType queryType) {
  const std::shared_ptr<Plan> plan = FindMade(handle);
  if (plan == nullptr || plan->devices().empty()) return CUFFT_INVALID_PLAN;
  if (queryStruct == nullptr || queryType != CUFFT_QUERY_1D_FACTORS) return CUFFT_INVALID_VALUE;
  if (plan->shape().sizes.size() != 1 || plan->shape().batch > 1) return CUFFT_INVALID_VALUE;
  const int64_t size = plan->shape().sizes[0];
  const auto [first, second] = FactorsOf(size);
  const Division division{second, first, 1, 1, true};
  const auto devices = static_cast<int64_t>(plan->devices().size());
  cufftXt1dFactors factors{};
  factors.size = size;
  factors.factor1 = first;
  factors.factor2 = second;
  factors.substringLength = division.ChunkOf(division.Of(0, devices), devices);
  factors.stringLength = factors.substringLength * second;
  factors.stringCount = size / factors.stringLength;
  const auto set = [](int64_t value, long long int& mask, int& shift) {
    const auto bits = static_cast<uint64_t>(value);
    if (!std::has_single_bit(bits)) return;  // masks and shifts are those of powers of 2
    mask = value - 1, shift = std::countr_zero(bits);
  };
  set(factors.stringLength, factors.stringMask, factors.stringShift);
  set(factors.substringLength, factors.substringMask, factors.substringShift);
  set(factors.factor1, factors.factor1Mask, factors.factor1Shift);
  set(factors.factor2, factors.factor2Mask, factors.factor2Shift);
  *static_cast<cufftXt1dFactors*>(queryStruct) = factors;
  return CUFFT_SUCCESS;
}

}  // namespace ptx2cpu::cufft
