// cuBLAS calls as work of streams: asynchronous, ordered with events, captured into graphs; errors; exports.
#include <atomic>
#include <thread>

#include "driver_api.h"
#include "tests/libraries/blas_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  return stream;
}
int Axpy(const Blas& blas, int n, const float* alpha, const float* x, float* y) {
  return Cublas().Call("cublasSaxpy_v2", blas.handle, n, alpha, x, 1, y, 1);
}

}  // namespace

TEST_CASE("cublas: a call is work of the handle's stream and returns before it is done") {
  const Blas blas;
  cudaStream_t stream = NewStream();
  REQUIRE(blas("SetStream_v2", stream) == 0);
  cudaStream_t reported = nullptr;
  REQUIRE(blas("GetStream_v2", &reported) == 0);
  CHECK(reported == stream);
  // The stream is held by a host function; the call must return all the same, and not have run.
  std::atomic<bool> released{false};
  REQUIRE(cudart::cudaLaunchHostFunc(
              stream,
              [](void* flag) {
                while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
              },
              &released) == cudaSuccess);
  std::vector<float> x(100, 2.0f), y(100, 1.0f);
  float alpha = 3;
  REQUIRE(Axpy(blas, 100, &alpha, x.data(), y.data()) == 0);
  alpha = 1000;  // was read by the call
  CHECK(y[50] == 1.0f);
  cudaEvent_t event = nullptr;
  REQUIRE(cudart::cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cudart::cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudart::cudaEventQuery(event) == cudaErrorNotReady);
  released = true;
  REQUIRE(cudart::cudaEventSynchronize(event) == cudaSuccess);
  CHECK(y[50] == 7.0f);
  cudart::cudaEventDestroy(event);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cublas: a captured call runs at each launch of the graph, with device scalars as they are then") {
  const Blas blas;
  cudaStream_t stream = NewStream();
  REQUIRE(blas("SetStream_v2", stream) == 0);
  REQUIRE(blas("SetPointerMode_v2", CUBLAS_POINTER_MODE_DEVICE) == 0);
  std::vector<float> x(10, 1.0f), y(10, 0.0f);
  float alpha = 2, norm = 0;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(Axpy(blas, 10, &alpha, x.data(), y.data()) == 0);
  REQUIRE(Cublas().Call("cublasSnrm2_v2", blas.handle, 10, static_cast<const float*>(y.data()), 1, &norm) ==
          0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(y[0] == 0.0f);
  size_t nodes = 0;
  REQUIRE(cudart::cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 2);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y[9] == 2.0f);
  alpha = 5;
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y[9] == 7.0f);
  CHECK(norm == Approx(std::sqrt(490.0f)));
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cublas: one handle per thread, products of many threads at once") {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&right] {
      cublasHandle_t handle = nullptr;
      if (Cublas().Call("cublasCreate_v2", &handle) != 0) return;
      const int n = 130;
      const std::vector<float> a(n * n, 1.0f), b(n * n, 2.0f);
      std::vector<float> c(n * n);
      const float one = 1, zero = 0;
      bool good = true;
      for (int i = 0; i < 20; ++i) {
        std::fill(c.begin(), c.end(), 0.0f);
        good &= Cublas().Call("cublasSgemm_v2", handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), n,
                              b.data(), n, &zero, c.data(), n) == 0;
        float sum = 0;
        good &=
            Cublas().Call("cublasSasum_v2", handle, n * n, static_cast<const float*>(c.data()), 1, &sum) == 0;
        good &= sum == 2.0f * n * n * n;
      }
      Cublas().Call("cublasDestroy_v2", handle);
      right += good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4);
}

TEST_CASE("cublas: wrong arguments have the documented status") {
  const Blas blas;
  const float one = 1, *none = nullptr;
  std::vector<float> a(64), c(64);
  const auto gemm = [&](cublasHandle_t handle, int op, int m, int n, int k, const float* alpha, int lda,
                        int ldb, int ldc) {
    return Cublas().Call("cublasSgemm_v2", handle, op, 0, m, n, k, alpha, a.data(), lda, a.data(), ldb, &one,
                         c.data(), ldc);
  };
  CHECK(gemm(nullptr, 0, 4, 4, 4, &one, 4, 4, 4) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(gemm(blas.handle, 7, 4, 4, 4, &one, 4, 4, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(blas.handle, 0, -1, 4, 4, &one, 4, 4, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(blas.handle, 0, 4, 4, 4, &one, 3, 4, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(blas.handle, 0, 4, 4, 4, &one, 4, 3, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(blas.handle, 0, 4, 4, 4, &one, 4, 4, 3) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(blas.handle, 0, 4, 4, 4, none, 4, 4, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(blas.handle, 0, 0, 4, 4, &one, 4, 4, 4) == CUBLAS_STATUS_SUCCESS);
  CHECK(blas("Sgemv_v2", CUBLAS_OP_N, 4, 4, &one, a.data(), 4, a.data(), 0, &one, c.data(), 1) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(blas("SetPointerMode_v2", 9) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(Cublas().Call("cublasCreate_v2", nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(std::string(Cublas().Call<const char*>("cublasGetStatusName", 15)) == "CUBLAS_STATUS_NOT_SUPPORTED");
}

TEST_CASE("cublas: copies between host and device change strides") {
  const Blas blas;
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  void* memory = nullptr;
  REQUIRE(cudart::cudaMalloc(&memory, 9 * sizeof(float)) == cudaSuccess);
  float* const y = static_cast<float*>(memory);
  std::fill_n(y, 9, -1.0f);
  REQUIRE(Cublas().Call("cublasSetVector", 3, 4, x.data(), 2, y, 3) == 0);
  CHECK(std::vector<float>(y, y + 9) == std::vector<float>{1, -1, -1, 3, -1, -1, 5, -1, -1});
  std::vector<float> matrix(8, -1.0f);
  REQUIRE(Cublas().Call("cublasGetMatrix", 2, 2, 4, static_cast<const float*>(y), 3, matrix.data(), 4) == 0);
  CHECK(matrix == std::vector<float>{1, -1, -1, -1, 3, -1, -1, -1});
  CHECK(Cublas().Call("cublasSetVector", 3, 0, x.data(), 2, y, 3) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cudart::cudaFree(memory) == cudaSuccess);
}

TEST_CASE("cublas: every soname exports what its table lists, with its version node") {
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/blas/cublas.api");
  REQUIRE(table);
  REQUIRE(table->functions.size() > 500);
  for (const int major : {11, 12, 13}) {
    const std::string soname = "libcublas.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK((library.Find(function.name, soname.c_str()) != nullptr) == function.In(major));
    }
    int version = 0;
    library.Call("cublasGetVersion_v2", static_cast<cublasHandle_t>(nullptr), &version);
    CHECK(version / 10000 == major);
  }
}

TEST_CASE("cublas: what is not supported is refused with its status") {
  cublasLogCallback callback = nullptr;
  CHECK(Cublas().Call("cublasGetLoggerCallback", &callback) == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("cublas: settings of emulation are kept, and refused where an H200 refuses them") {
  const Blas blas;
  constexpr int kInvalid = CUBLAS_STATUS_INVALID_VALUE;
  struct Setting {
    const char* name;
    int at_first;
    std::vector<int> right, wrong;
  };
  const Setting settings[] = {
      {"EmulationStrategy", 0, {1, 2, 0}, {-1, 3, 99}},
      {"EmulationSpecialValuesSupport", 0xffff, {0, 1, 2, 3, 4, 0xffff}, {-1, 0x10000}},
      {"FixedPointEmulationMantissaControl", 0, {1, 0}, {-1, 2}},
      {"FixedPointEmulationMaxMantissaBitCount", 0, {0, 1, 53, 79, 80, 1000}, {-1}},
      {"FixedPointEmulationMantissaBitOffset", 0, {-100, -8, 0, 8, 100}, {}},
  };
  for (const auto& [name, at_first, right, wrong] : settings) {
    CAPTURE(name);
    const std::string get = std::string("Get") + name, set = std::string("Set") + name;
    int now = -7;
    REQUIRE(blas(get, &now) == 0);
    CHECK(now == at_first);
    for (const int value : right) {
      REQUIRE(blas(set, value) == 0);
      REQUIRE(blas(get, &now) == 0);
      CHECK(now == value);
    }
    for (const int value : wrong) CHECK(blas(set, value) == kInvalid);
    REQUIRE(blas(get, &now) == 0);
    CHECK(now == right.back());
    CHECK(blas(get, nullptr) == kInvalid);
    CHECK(Cublas().Call("cublas" + set, nullptr, right.front()) == CUBLAS_STATUS_NOT_INITIALIZED);
  }
  int bits = 12345;
  int* kept = nullptr;
  REQUIRE(blas("SetFixedPointEmulationMantissaBitCountPointer", &bits) == 0);
  REQUIRE(blas("GetFixedPointEmulationMantissaBitCountPointer", &kept) == 0);
  CHECK(kept == &bits);
  // A product in emulated double precision has at least the accuracy of one without.
  REQUIRE(blas("SetMathMode", CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH) == 0);
  const std::vector<double> a = {1, 3, 2, 4}, b = {5, 7, 6, 8};
  std::vector<double> c(4);
  const double one = 1, zero = 0;
  REQUIRE(blas("Dgemm_v2", 0, 0, 2, 2, 2, &one, a.data(), 2, b.data(), 2, &zero, c.data(), 2) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(c == std::vector<double>{19, 43, 22, 50});
  CHECK(bits == 12345);
}
