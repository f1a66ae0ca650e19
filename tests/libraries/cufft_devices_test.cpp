// cufftXt over several devices, which are one device named more than once: the order of the parts, and
// results against those of one device.
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cufft_types.h"
#include "tests/libraries/dropin.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

using C = std::complex<double>;

std::vector<C> RandomValues(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> range(-1, 1);
  std::vector<C> values(count);
  for (C& value : values) value = {range(engine), range(engine)};
  return values;
}

cufftHandle NewPlan(std::vector<int> sizes, cufftType type, int batch, int devices) {
  cufftHandle plan = 0;
  REQUIRE(Cufft().Call("cufftCreate", &plan) == 0);
  std::vector<int> ids(static_cast<size_t>(devices), 0);
  if (devices > 1) REQUIRE(Cufft().Call("cufftXtSetGPUs", plan, devices, ids.data()) == 0);
  std::vector<size_t> work(ids.size() + 1, 77);
  REQUIRE(Cufft().Call("cufftMakePlanMany", plan, static_cast<int>(sizes.size()), sizes.data(),
                       static_cast<int*>(nullptr), 1, 0, static_cast<int*>(nullptr), 1, 0, type, batch,
                       work.data()) == 0);
  CHECK(work == [&] {
    std::vector<size_t> expected(ids.size() + 1, 0);
    expected.back() = 77;
    return expected;
  }());
  return plan;
}

// The transform of one device, in place.
std::vector<C> OnOne(const std::vector<int>& sizes, cufftType type, int batch, std::vector<C> data,
                     int sign) {
  const cufftHandle plan = NewPlan(sizes, type, batch, 1);
  void* const all = data.data();
  REQUIRE(Cufft().Call("cufftXtExec", plan, all, all, sign) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  REQUIRE(Cufft().Call("cufftDestroy", plan) == 0);
  return data;
}

cudaLibXtDesc* NewArray(cufftHandle plan, cufftXtSubFormat format) {
  cudaLibXtDesc* array = nullptr;
  REQUIRE(Cufft().Call("cufftXtMalloc", plan, &array, format) == 0);
  REQUIRE(array->subFormat == format);
  return array;
}
void Copy(cufftHandle plan, void* to, void* from, cufftXtCopyType type) {
  REQUIRE(Cufft().Call("cufftXtMemcpy", plan, to, from, type) == 0);
}
void Execute(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out, int sign) {
  REQUIRE(Cufft().Call("cufftXtExecDescriptor", plan, in, out, sign) == 0);
}
int64_t First(int64_t device, int64_t size, int64_t devices) {
  int64_t first = 0;
  for (int64_t d = 0; d < device; ++d) first += (size + devices - 1 - d) / devices;
  return first;
}
// How many elements each device has of outer x divided x inner ones.
std::vector<int64_t> Counts(int64_t outer, int64_t divided, int64_t inner, int64_t devices) {
  std::vector<int64_t> counts;
  for (int64_t d = 0; d < devices; ++d)
    counts.push_back(outer * inner * (First(d + 1, divided, devices) - First(d, divided, devices)));
  return counts;
}
// What the parts hold, one device after the other; in single transforms parts have room for other orders.
std::vector<C> Parts(const cudaLibXtDesc& array, const std::vector<int64_t>& counts = {}) {
  std::vector<C> all;
  for (int d = 0; d < array.descriptor->nGPUs; ++d) {
    const auto* part = static_cast<const C*>(array.descriptor->data[d]);
    const auto room = static_cast<int64_t>(array.descriptor->size[d] / sizeof(C));
    const int64_t count = counts.empty() ? room : counts[static_cast<size_t>(d)];
    REQUIRE(count <= room);
    all.insert(all.end(), part, part + count);
  }
  return all;
}
// outer x divided x inner, one range of the middle index after the other.
std::vector<C> Shuffle(const std::vector<C>& data, int64_t outer, int64_t divided, int64_t devices) {
  const int64_t inner = static_cast<int64_t>(data.size()) / outer / divided;
  std::vector<C> parts;
  for (int64_t d = 0; d < devices; ++d) {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = First(d, divided, devices); j < First(d + 1, divided, devices); ++j)
        for (int64_t k = 0; k < inner; ++k) parts.push_back(data[(i * divided + j) * inner + k]);
    }
  }
  return parts;
}

void CheckSame(const std::vector<C>& found, const std::vector<C>& expected) {
  REQUIRE(found.size() == expected.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < found.size(); ++i)
    error += std::norm(found[i] - expected[i]), size += std::norm(expected[i]);
  CHECK(error <= 1e-24 * size);
}

}  // namespace

TEST_CASE("cufftXt: input in slabs of x, output in slabs of y, and back") {
  for (const std::vector<int>& sizes : {std::vector<int>{32, 48}, std::vector<int>{34, 32, 33}}) {
    const int devices = GENERATE(2, 3, 16);
    size_t count = 1;
    for (const int size : sizes) count *= static_cast<size_t>(size);
    std::vector<C> input = RandomValues(count, 1), result(count);
    const auto all = static_cast<int64_t>(count);
    const std::vector<int64_t> natural_counts = Counts(1, sizes[0], all / sizes[0], devices),
                               shuffled_counts =
                                   Counts(sizes[0], sizes[1], all / sizes[0] / sizes[1], devices);
    const cufftHandle plan = NewPlan(sizes, CUFFT_Z2Z, 1, devices);
    cudaLibXtDesc* const array = NewArray(plan, CUFFT_XT_FORMAT_INPLACE);
    CHECK(array->descriptor->nGPUs == devices);
    Copy(plan, array, input.data(), CUFFT_COPY_HOST_TO_DEVICE);
    CHECK(Parts(*array, natural_counts) == input);
    Execute(plan, array, array, CUFFT_FORWARD);
    const std::vector<C> expected = OnOne(sizes, CUFFT_Z2Z, 1, input, -1);
    CHECK(array->subFormat == CUFFT_XT_FORMAT_INPLACE_SHUFFLED);
    CheckSame(Parts(*array, shuffled_counts), Shuffle(expected, sizes[0], sizes[1], devices));
    Copy(plan, result.data(), array, CUFFT_COPY_DEVICE_TO_HOST);
    CheckSame(result, expected);
    // A copy within the devices brings the natural order.
    cudaLibXtDesc* const natural = NewArray(plan, CUFFT_XT_FORMAT_INPLACE);
    Copy(plan, natural, array, CUFFT_COPY_DEVICE_TO_DEVICE);
    CheckSame(Parts(*natural, natural_counts), expected);
    Execute(plan, array, array, CUFFT_INVERSE);
    CHECK(array->subFormat == CUFFT_XT_FORMAT_INPLACE);
    for (C& value : input) value *= static_cast<double>(count);
    CheckSame(Parts(*array, natural_counts), input);
    CHECK(Cufft().Call("cufftXtFree", array) == 0);
    CHECK(Cufft().Call("cufftXtFree", natural) == 0);
    CHECK(Cufft().Call("cufftDestroy", plan) == 0);
  }
}

// As an H200 reports them: the number of devices, the size, factors and lengths of substrings as powers of 2.
struct Line {
  int devices, size, first, substring;
};
constexpr Line kLines[] = {{2, 6, 4, 3},  {4, 6, 4, 2},    {16, 6, 4, 0},   {2, 7, 4, 1},   {4, 7, 4, 2},
                           {8, 7, 4, 1},  {2, 10, 6, 3},   {4, 10, 6, 2},   {8, 12, 8, 5},  {16, 12, 8, 4},
                           {8, 13, 8, 3}, {16, 15, 10, 6}, {16, 16, 10, 4}, {2, 17, 11, 8}, {4, 20, 12, 8}};

TEST_CASE("cufftXt: a line's output is in strings, substrings of which are on every device") {
  for (const Line& line : kLines) {
    const int size = 1 << line.size, first = 1 << line.first, devices = line.devices;
    CAPTURE(size, devices);
    const cufftHandle plan = NewPlan({size}, CUFFT_Z2Z, 1, devices);
    cufftXt1dFactors factors{};
    REQUIRE(Cufft().Call("cufftXtQueryPlan", plan, static_cast<void*>(&factors), CUFFT_QUERY_1D_FACTORS) ==
            0);
    CHECK(factors.size == size);
    CHECK(factors.factor1 == first);
    CHECK(factors.factor2 == size / first);
    CHECK(factors.substringLength == 1 << line.substring);
    CHECK(factors.stringLength == factors.substringLength * factors.factor2);
    CHECK(factors.stringCount == size / factors.stringLength);
    CHECK(factors.stringMask == factors.stringLength - 1);
    CHECK(factors.substringShift == line.substring);
    // A device has a range of the first factor's index, in chunks.
    std::vector<size_t> order;
    const int range = first / devices, chunk = 1 << line.substring;
    for (int begin = 0; begin < first; begin += chunk) {
      if (begin % range + chunk > range) FAIL("a chunk is in two ranges");
      for (int b = 0; b < size / first; ++b) {
        for (int a = begin; a < begin + chunk; ++a) order.push_back(static_cast<size_t>(a + first * b));
      }
    }
    const auto shuffle = [&](const std::vector<C>& values) {
      std::vector<C> result;
      for (const size_t place : order) result.push_back(values[place]);
      return result;
    };
    std::vector<C> input = RandomValues(static_cast<size_t>(size), 2), result(input.size());
    cudaLibXtDesc* const array = NewArray(plan, CUFFT_XT_FORMAT_INPLACE);
    Copy(plan, array, input.data(), CUFFT_COPY_HOST_TO_DEVICE);
    CHECK(Parts(*array) == input);
    REQUIRE(Cufft().Call("cufftXtExecDescriptorZ2Z", plan, array, array, CUFFT_FORWARD) == 0);
    const std::vector<C> expected = OnOne({size}, CUFFT_Z2Z, 1, input, -1);
    CheckSame(Parts(*array), shuffle(expected));
    Copy(plan, result.data(), array, CUFFT_COPY_DEVICE_TO_HOST);
    CheckSame(result, expected);
    // Input in that order has output in the natural one.
    cudaLibXtDesc* const shuffled = NewArray(plan, CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED);
    Copy(plan, shuffled, input.data(), CUFFT_COPY_HOST_TO_DEVICE);
    CHECK(Parts(*shuffled) == shuffle(input));
    Execute(plan, shuffled, shuffled, CUFFT_FORWARD);
    CheckSame(Parts(*shuffled), expected);
    for (cudaLibXtDesc* each : {array, shuffled}) CHECK(Cufft().Call("cufftXtFree", each) == 0);
    CHECK(Cufft().Call("cufftDestroy", plan) == 0);
  }
}

TEST_CASE("cufftXt: real transforms and back, batches of whole transforms, streams") {
  const std::vector<int> sizes = {32, 40, 36};
  const size_t half = 32 * 40 * 19;
  std::vector<C> input = RandomValues(half, 3), result(half);
  const cufftHandle there = NewPlan(sizes, CUFFT_D2Z, 1, 2), back = NewPlan(sizes, CUFFT_Z2D, 1, 2);
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(Cufft().Call("cufftSetStream", there, stream) == 0);
  cudaLibXtDesc* array = NewArray(there, CUFFT_XT_FORMAT_INPLACE);
  Copy(there, array, input.data(), CUFFT_COPY_HOST_TO_DEVICE);
  REQUIRE(Cufft().Call("cufftXtExecDescriptorD2Z", there, array, array) == 0);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  std::vector<C> expected = OnOne(sizes, CUFFT_D2Z, 1, input, 0);
  CheckSame(Parts(*array, Counts(32, 40, 19, 2)), Shuffle(expected, 32, 40, 2));
  REQUIRE(Cufft().Call("cufftXtExecDescriptorZ2D", back, array, array) == 0);
  Copy(back, result.data(), array, CUFFT_COPY_DEVICE_TO_HOST);
  CheckSame(result, OnOne(sizes, CUFFT_Z2D, 1, expected, 1));
  CHECK(Cufft().Call("cufftXtFree", array) == 0);
  CHECK(Cufft().Call("cufftDestroy", there) == 0);
  CHECK(Cufft().Call("cufftDestroy", back) == 0);
  CHECK(cudart::cudaStreamDestroy(stream) == cudaSuccess);

  const cufftHandle many = NewPlan({6, 5}, CUFFT_Z2Z, 3, 2);
  input = RandomValues(90, 4), result.resize(90);
  array = NewArray(many, CUFFT_XT_FORMAT_INPUT);
  cudaLibXtDesc* const output = NewArray(many, CUFFT_XT_FORMAT_OUTPUT);
  Copy(many, array, input.data(), CUFFT_COPY_HOST_TO_DEVICE);
  CHECK(array->descriptor->size[0] == 60 * sizeof(C));
  CHECK(array->descriptor->size[1] == 30 * sizeof(C));
  Execute(many, array, output, CUFFT_INVERSE);
  expected = OnOne({6, 5}, CUFFT_Z2Z, 3, input, 1);
  CheckSame(Parts(*output), expected);
  CHECK(Parts(*array) == input);
  Copy(many, result.data(), output, CUFFT_COPY_DEVICE_TO_HOST);
  CheckSame(result, expected);
  for (cudaLibXtDesc* each : {array, output}) CHECK(Cufft().Call("cufftXtFree", each) == 0);
  CHECK(Cufft().Call("cufftDestroy", many) == 0);

  // Lines of real numbers, without padding, and their halves.
  const cufftHandle lines = NewPlan({10}, CUFFT_D2Z, 5, 2);
  std::vector<double> reals(50, 0.0);
  for (int i = 0; i < 5; ++i) reals[i * 10 + i] = 1 + i;
  array = NewArray(lines, CUFFT_XT_FORMAT_INPUT);
  cudaLibXtDesc* const halves = NewArray(lines, CUFFT_XT_FORMAT_OUTPUT);
  Copy(lines, array, reals.data(), CUFFT_COPY_HOST_TO_DEVICE);
  Execute(lines, array, halves, CUFFT_FORWARD);
  const std::vector<C> waves = Parts(*halves);
  REQUIRE(waves.size() == 30);
  for (int i = 0; i < 5; ++i)
    CHECK(std::abs(waves[i * 6 + 1] - std::polar(1.0 + i, -0.2 * i * 3.14159265358979)) < 1e-9);
  for (cudaLibXtDesc* each : {array, halves}) CHECK(Cufft().Call("cufftXtFree", each) == 0);
  CHECK(Cufft().Call("cufftDestroy", lines) == 0);
}

// As two H200 have it: the bytes of the parts, for the greater of the two orders.
struct Recorded {
  std::vector<int> sizes;
  cufftType type;
  std::vector<size_t> bytes;
};
const Recorded kRecorded[] = {
    {{32, 48}, CUFFT_Z2Z, {12288, 12288}},
    {{33, 48}, CUFFT_Z2Z, {13056, 12672}},
    {{32, 35}, CUFFT_Z2Z, {9216, 8960}},
    {{131, 64}, CUFFT_Z2Z, {67584, 67072}},
    {{64, 64}, CUFFT_D2Z, {17408, 16896}},
    {{33, 36}, CUFFT_D2Z, {5280, 4864}},
    {{34, 33, 32}, CUFFT_Z2Z, {295936, 287232}},
    {{32, 34, 35}, CUFFT_Z2Z, {304640, 304640}},
    {{32, 40, 36}, CUFFT_D2Z, {194560, 194560}},
    {{64, 48}, CUFFT_Z2Z, {16896, 16384, 16384}},
    {{64, 48}, CUFFT_Z2Z, {12288, 12288, 12288, 12288}},
};

TEST_CASE("cufftXt: parts' sizes and what is refused, as recorded") {
  for (const Recorded& each : kRecorded) {
    CAPTURE(each.sizes, static_cast<int>(each.type));
    const bool is_complex = each.type == CUFFT_Z2Z;
    const cufftHandle plan = NewPlan(each.sizes, each.type, 1, static_cast<int>(each.bytes.size()));
    const auto sizes_are = [&](const cudaLibXtDesc& array, const std::vector<size_t>& bytes) {
      CHECK(std::vector<size_t>(array.descriptor->size, array.descriptor->size + bytes.size()) == bytes);
    };
    const auto copy = [&](void* to, void* from, cufftXtCopyType type) {
      return Cufft().Call("cufftXtMemcpy", plan, to, from, type);
    };
    std::vector<C> data(34 * 34 * 36 + 131 * 64);
    cudaLibXtDesc *const array = NewArray(plan, CUFFT_XT_FORMAT_INPLACE), *const other = NewArray(
                                                                              plan, CUFFT_XT_FORMAT_INPLACE);
    sizes_are(*array, each.bytes);
    Copy(plan, array, data.data(), CUFFT_COPY_HOST_TO_DEVICE);
    CHECK(copy(other, array, CUFFT_COPY_DEVICE_TO_DEVICE) == CUFFT_INTERNAL_ERROR);
    Execute(plan, array, array, CUFFT_FORWARD);
    CHECK(array->subFormat == CUFFT_XT_FORMAT_INPLACE_SHUFFLED);
    sizes_are(*array, each.bytes);
    CHECK(copy(other, array, CUFFT_COPY_DEVICE_TO_DEVICE) ==
          (is_complex ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR));
    // Arrays that no transform of the plan takes have no parts.
    cudaLibXtDesc *const in = NewArray(plan, CUFFT_XT_FORMAT_INPUT),
                         *const out = NewArray(plan, CUFFT_XT_FORMAT_OUTPUT),
                         *const shuffled = NewArray(plan, CUFFT_XT_FORMAT_INPLACE_SHUFFLED);
    sizes_are(*in, std::vector<size_t>(each.bytes.size(), 0));
    CHECK(copy(in, data.data(), CUFFT_COPY_HOST_TO_DEVICE) == CUFFT_INTERNAL_ERROR);
    CHECK(Cufft().Call("cufftXtExecDescriptor", plan, in, out, CUFFT_FORWARD) == CUFFT_INTERNAL_ERROR);
    sizes_are(*shuffled, is_complex ? each.bytes : std::vector<size_t>(each.bytes.size(), 0));
    CHECK(copy(shuffled, data.data(), CUFFT_COPY_HOST_TO_DEVICE) ==
          (is_complex ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR));
    CHECK(Cufft().Call("cufftXtExecDescriptor", plan, shuffled, shuffled, CUFFT_FORWARD) ==
          (is_complex ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR));
    for (cudaLibXtDesc* one : {array, other, in, out, shuffled}) CHECK(Cufft().Call("cufftXtFree", one) == 0);
    CHECK(Cufft().Call("cufftDestroy", plan) == 0);
  }
  const cufftHandle batch = NewPlan({6, 5}, CUFFT_Z2Z, 3, 2);
  cudaLibXtDesc* array = nullptr;
  CHECK(Cufft().Call("cufftXtMalloc", batch, &array, CUFFT_XT_FORMAT_INPLACE_SHUFFLED) ==
        CUFFT_INVALID_VALUE);
  CHECK(Cufft().Call("cufftDestroy", batch) == 0);
}

TEST_CASE("cufftXt: wrong arguments have the documented result") {
  cufftHandle plan = 0;
  REQUIRE(Cufft().Call("cufftCreate", &plan) == 0);
  std::vector<int> ids(17, 0);
  std::vector<int> absent = {0, 1000};
  const auto set = [&](cufftHandle handle, int count, std::vector<int>& devices) {
    return Cufft().Call("cufftXtSetGPUs", handle, count, devices.data());
  };
  for (const int count : {0, 1, 17}) CHECK(set(plan, count, ids) == CUFFT_INVALID_VALUE);
  CHECK(set(plan, 2, absent) == CUFFT_INVALID_DEVICE);
  CHECK(set(plan + 1000, 2, ids) == CUFFT_INVALID_PLAN);
  REQUIRE(set(plan, 2, ids) == 0);
  std::vector<size_t> work(2);
  const auto make = [&](int size, cufftType type) {
    return Cufft().Call("cufftMakePlan1d", plan, size, type, 1, work.data());
  };
  for (const int size : {31, 32, 96, 131}) CHECK(make(size, CUFFT_C2C) == CUFFT_INVALID_SIZE);  // as recorded
  CHECK(make(64, CUFFT_R2C) == CUFFT_INVALID_SIZE);
  cudaLibXtDesc *array = nullptr, *other = nullptr;
  CHECK(Cufft().Call("cufftXtMalloc", plan, &array, CUFFT_XT_FORMAT_INPLACE) == CUFFT_INVALID_PLAN);
  REQUIRE(make(64, CUFFT_C2C) == 0);
  CHECK(set(plan, 2, ids) == CUFFT_INVALID_PLAN);
  CHECK(Cufft().Call("cufftXtMalloc", plan, &array, static_cast<cufftXtSubFormat>(9)) == CUFFT_INVALID_VALUE);
  array = NewArray(plan, CUFFT_XT_FORMAT_INPLACE), other = NewArray(plan, CUFFT_XT_FORMAT_INPLACE);
  CHECK(Cufft().Call("cufftXtExecDescriptorC2C", plan, array, other, -1) == CUFFT_INVALID_VALUE);
  CHECK(Cufft().Call("cufftXtExecDescriptorC2C", plan, array, array, 3) == CUFFT_INVALID_VALUE);
  CHECK(Cufft().Call("cufftXtExecDescriptorZ2Z", plan, array, array, -1) == CUFFT_INVALID_PLAN);
  CHECK(Cufft().Call("cufftXtMemcpy", plan, static_cast<void*>(array), static_cast<void*>(nullptr),
                     CUFFT_COPY_HOST_TO_DEVICE) == CUFFT_INVALID_VALUE);
  std::vector<std::complex<float>> data(64);
  CHECK(Cufft().Call("cufftExecC2C", plan, data.data(), data.data(), -1) == CUFFT_INVALID_PLAN);
  for (cudaLibXtDesc* each : {array, other}) CHECK(Cufft().Call("cufftXtFree", each) == 0);
  CHECK(Cufft().Call("cufftXtFree", static_cast<cudaLibXtDesc*>(nullptr)) == CUFFT_INVALID_VALUE);
  CHECK(Cufft().Call("cufftDestroy", plan) == 0);
}
