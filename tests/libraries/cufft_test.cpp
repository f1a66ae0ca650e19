// cuFFT against the definition of the transform: types, ranks, batches, layouts, in place; streams; status.
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cufft_types.h"
#include "tests/libraries/dropin.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

using Wide = std::complex<double>;

void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

// The definition, one dimension after the other; row-major.
std::vector<Wide> Transform(std::vector<Wide> data, const std::vector<int>& sizes, int sign) {
  size_t inner = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    const size_t n = sizes[d];
    std::vector<Wide> out(data.size());
    for (size_t start = 0; start < data.size(); ++start) {
      if (start / inner % n != 0) continue;
      for (size_t k = 0; k < n; ++k) {
        Wide sum = 0;
        for (size_t j = 0; j < n; ++j) {
          sum += data[start + j * inner] *
                 std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                     static_cast<double>(n));
        }
        out[start + k * inner] = sum;
      }
    }
    data = out;
    inner *= n;
  }
  return data;
}

std::vector<Wide> RandomValues(size_t count, unsigned seed, bool real) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> range(-1, 1);
  std::vector<Wide> values(count);
  for (Wide& value : values) value = {range(engine), real ? 0.0 : range(engine)};
  return values;
}

template <typename T>
void CheckNear(const T& found, Wide expected) {
  const double tolerance =
      sizeof(found) == sizeof(float) || sizeof(found) == sizeof(std::complex<float>) ? 2e-5 : 1e-12;
  INFO(Wide(found) << " for " << expected);
  REQUIRE(std::abs(Wide(found) - expected) <= tolerance * (1 + std::abs(expected)));
}

const std::vector<std::vector<int>> kShapes = {{1}, {8}, {30}, {128}, {97}, {6, 10}, {4, 6, 10}};
size_t Count(const std::vector<int>& sizes) {
  size_t count = 1;
  for (const int size : sizes) count *= size;
  return count;
}
cufftHandle NewPlan(const std::vector<int>& sizes, cufftType type, int batch) {
  std::vector<int> n = sizes;
  cufftHandle plan = 0;
  REQUIRE(Cufft().Call("cufftPlanMany", &plan, static_cast<int>(n.size()), n.data(),
                       static_cast<int*>(nullptr), 1, 0, static_cast<int*>(nullptr), 1, 0, type, batch) == 0);
  return plan;
}
// The half that real transforms store.
size_t HalfIndex(size_t i, const std::vector<int>& sizes) {
  return i / (sizes.back() / 2 + 1) * sizes.back() + i % (sizes.back() / 2 + 1);
}

}  // namespace

TEMPLATE_TEST_CASE("cufft: complex transforms of every rank, in batches, in place", "", float, double) {
  using C = std::complex<TestType>;
  const bool single = sizeof(TestType) == 4;
  for (const std::vector<int>& sizes : kShapes) {
    const int batch = 3;
    const size_t count = Count(sizes);
    const std::vector<Wide> input = RandomValues(count * batch, 1, false);
    const cufftHandle plan = NewPlan(sizes, single ? CUFFT_C2C : CUFFT_Z2Z, batch);
    for (const int sign : {-1, 1}) {
      std::vector<C> in(input.begin(), input.end()), out(in.size());
      REQUIRE(Cufft().Call(single ? "cufftExecC2C" : "cufftExecZ2Z", plan, in.data(), out.data(), sign) == 0);
      Wait();
      std::vector<C> same(input.begin(), input.end());
      REQUIRE(Cufft().Call(single ? "cufftExecC2C" : "cufftExecZ2Z", plan, same.data(), same.data(), sign) ==
              0);
      Wait();
      for (int b = 0; b < batch; ++b) {
        std::vector<Wide> part;
        for (size_t i = 0; i < count; ++i) part.push_back(Wide(in[b * count + i]));
        const std::vector<Wide> expected = Transform(part, sizes, sign);
        for (size_t i = 0; i < count; ++i) {
          CheckNear(out[b * count + i], expected[i]);
          CheckNear(same[b * count + i], expected[i]);
        }
      }
    }
    REQUIRE(Cufft().Call("cufftDestroy", plan) == 0);
  }
}

TEMPLATE_TEST_CASE("cufft: real transforms and back, out of place and padded in place", "", float, double) {
  using R = TestType;
  using C = std::complex<R>;
  const bool single = sizeof(R) == 4;
  const std::string forward = single ? "cufftExecR2C" : "cufftExecD2Z",
                    back = single ? "cufftExecC2R" : "cufftExecZ2D";
  for (const std::vector<int>& sizes : kShapes) {
    const int batch = 2, last = sizes.back();
    const size_t count = Count(sizes), half = count / last * (last / 2 + 1);
    const std::vector<Wide> input = RandomValues(count * batch, 2, true);
    std::vector<R> in;
    for (const Wide value : input) in.push_back(static_cast<R>(value.real()));
    std::vector<C> out(half * batch), padded(half * batch);
    const cufftHandle there = NewPlan(sizes, single ? CUFFT_R2C : CUFFT_D2Z, batch),
                      again = NewPlan(sizes, single ? CUFFT_C2R : CUFFT_Z2D, batch);
    REQUIRE(Cufft().Call(forward, there, in.data(), out.data()) == 0);
    R* const rows = reinterpret_cast<R*>(padded.data());
    for (size_t i = 0; i < count * batch; ++i) rows[i / last * 2 * (last / 2 + 1) + i % last] = in[i];
    REQUIRE(Cufft().Call(forward, there, rows, padded.data()) == 0);
    Wait();
    for (int b = 0; b < batch; ++b) {
      std::vector<Wide> part;
      for (size_t i = 0; i < count; ++i) part.emplace_back(static_cast<double>(in[b * count + i]));
      const std::vector<Wide> expected = Transform(part, sizes, -1);
      for (size_t i = 0; i < half; ++i) {
        CheckNear(out[b * half + i], expected[HalfIndex(i, sizes)]);
        CheckNear(padded[b * half + i], expected[HalfIndex(i, sizes)]);
      }
    }
    std::vector<R> result(in.size());
    REQUIRE(Cufft().Call(back, again, out.data(), result.data()) == 0);
    REQUIRE(Cufft().Call(back, again, padded.data(), rows) == 0);
    Wait();
    for (size_t i = 0; i < in.size(); ++i) {
      CheckNear(result[i], static_cast<double>(in[i]) * static_cast<double>(count));
      CheckNear(rows[i / last * 2 * (last / 2 + 1) + i % last],
                static_cast<double>(in[i]) * static_cast<double>(count));
    }
    Cufft().Call("cufftDestroy", there);
    Cufft().Call("cufftDestroy", again);
  }
}

TEST_CASE("cufft: embedded and strided layouts") {
  // Two transforms of 4 x 6 within arrays of 5 x 8, elements 2 apart, into arrays of 4 x 7, elements 3 apart.
  int n[] = {4, 6}, in_embed[] = {5, 8}, out_embed[] = {4, 7};
  const int in_distance = 5 * 8 * 2 + 3, out_distance = 4 * 7 * 3 + 1;
  cufftHandle plan = 0;
  REQUIRE(Cufft().Call("cufftPlanMany", &plan, 2, n, in_embed, 2, in_distance, out_embed, 3, out_distance,
                       CUFFT_Z2Z, 2) == 0);
  std::vector<Wide> in = RandomValues(2 * in_distance, 3, false), out(2 * out_distance, Wide(7, 7));
  REQUIRE(Cufft().Call("cufftExecZ2Z", plan, in.data(), out.data(), -1) == 0);
  Wait();
  std::vector<Wide> untouched(out.size(), Wide(7, 7));
  for (int b = 0; b < 2; ++b) {
    std::vector<Wide> part;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j) part.push_back(in[b * in_distance + (i * 8 + j) * 2]);
    const std::vector<Wide> expected = Transform(part, {4, 6}, -1);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 6; ++j) {
        const size_t at = b * out_distance + (i * 7 + j) * 3;
        CheckNear(out[at], expected[i * 6 + j]);
        out[at] = Wide(7, 7);
      }
    }
  }
  CHECK(out == untouched);
  REQUIRE(Cufft().Call("cufftDestroy", plan) == 0);
  long long n64[] = {8};
  size_t work = 1;
  REQUIRE(Cufft().Call("cufftCreate", &plan) == 0);
  REQUIRE(Cufft().Call("cufftMakePlanMany64", plan, 1, n64, static_cast<long long*>(nullptr), 1LL, 0LL,
                       static_cast<long long*>(nullptr), 1LL, 0LL, CUFFT_Z2Z, 1LL, &work) == 0);
  std::vector<Wide> line = RandomValues(8, 4, false);
  const std::vector<Wide> expected = Transform(line, {8}, 1);
  REQUIRE(Cufft().Call("cufftXtExec", plan, static_cast<void*>(line.data()), static_cast<void*>(line.data()),
                       1) == 0);
  Wait();
  for (int i = 0; i < 8; ++i) CheckNear(line[i], expected[i]);
  REQUIRE(Cufft().Call("cufftDestroy", plan) == 0);
}

TEST_CASE("cufft: large transforms use all threads and stay right") {
  const int n = 1 << 16;
  const cufftHandle plan = NewPlan({n}, CUFFT_Z2Z, 4);
  std::vector<Wide> data(4 * n);
  for (int b = 0; b < 4; ++b) data[b * n + 5 + b] = 1;  // an impulse becomes a wave
  REQUIRE(Cufft().Call("cufftExecZ2Z", plan, data.data(), data.data(), -1) == 0);
  Wait();
  for (int b = 0; b < 4; ++b) {
    for (int k = 0; k < n; k += 997)
      CheckNear(data[b * n + k],
                std::polar(1.0, -2 * std::numbers::pi *
                                    static_cast<double>((5 + b) * static_cast<int64_t>(k) % n) / n));
  }
  REQUIRE(Cufft().Call("cufftDestroy", plan) == 0);
}

TEST_CASE("cufft: work of a stream that can be captured") {
  const cufftHandle plan = NewPlan({4}, CUFFT_C2C, 1);
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(Cufft().Call("cufftSetStream", plan, stream) == 0);
  std::vector<std::complex<float>> data = {1, 0, 0, 0};
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(Cufft().Call("cufftExecC2C", plan, data.data(), data.data(), -1) == 0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(data[1] == 0.0f);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(Cufft().Call("cufftDestroy", plan) == 0);  // the graph keeps what it needs
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(data == std::vector<std::complex<float>>{4, 0, 0, 0});
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cufft: wrong arguments have the documented result") {
  cufftHandle plan = 0;
  CHECK(Cufft().Call("cufftPlan1d", &plan, 0, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
  CHECK(Cufft().Call("cufftPlan1d", &plan, 8, 1, 1) == CUFFT_INVALID_TYPE);
  CHECK(Cufft().Call("cufftPlan1d", &plan, 8, CUFFT_C2C, 0) == CUFFT_INVALID_SIZE);
  plan = NewPlan({8}, CUFFT_C2C, 1);
  std::vector<std::complex<float>> data(8);
  CHECK(Cufft().Call("cufftExecC2C", plan, data.data(), data.data(), 5) == CUFFT_INVALID_VALUE);
  CHECK(Cufft().Call("cufftExecC2C", plan, nullptr, nullptr, 1) == CUFFT_INVALID_VALUE);
  CHECK(Cufft().Call("cufftExecZ2Z", plan, data.data(), data.data(), 1) == CUFFT_INVALID_PLAN);
  size_t work = 0;
  CHECK(Cufft().Call("cufftMakePlan1d", plan, 8, CUFFT_C2C, 1, &work) == CUFFT_INVALID_PLAN);
  CHECK(Cufft().Call("cufftDestroy", plan) == 0);
  CHECK(Cufft().Call("cufftDestroy", plan) == CUFFT_INVALID_PLAN);
  CHECK(Cufft().Call("cufftExecC2C", plan, data.data(), data.data(), 1) == CUFFT_INVALID_PLAN);
}

TEST_CASE("cufft: every soname exports what its table states, with its version node") {
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/fft/cufft.api");
  REQUIRE(table);
  for (const int major : {10, 11, 12}) {
    const std::string soname = "libcufft.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK((library.Find(function.name, soname.c_str()) != nullptr) == function.In(major));
    }
  }
}
