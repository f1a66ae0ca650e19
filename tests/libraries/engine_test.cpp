// Engines that are missing, and addresses that are bad: errors with a message, never the end of the process.
#include "runtime/cuda/libraries/core/engine.h"

#include <unistd.h>

#include <complex>
#include <fstream>
#include <iterator>

#include "runtime/cuda/abi/cufft_types.h"
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;
using namespace ptx2cpu::cuda;

namespace {

// What `body` writes to standard error.
template <typename Body>
std::string Messages(const Body& body) {
  char name[] = "/tmp/ptx2cpu-messages-XXXXXX";
  const int file = mkstemp(name), before = dup(2);
  dup2(file, 2);
  body();
  dup2(before, 2);
  close(before), close(file);
  std::ifstream in(name);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  unlink(name);
  return text;
}

}  // namespace

TEST_CASE("libraries: a missing engine is reported once, with its package") {
  libraries::Engine engine(libraries::EngineFile{"libptx2cpu-none.so.0 libptx2cpu-nothing.so.1", "libnone0"});
  bool loaded = true;
  const std::string first = Messages([&] { loaded = engine.Load("cublasSgemm_v2"); });
  CHECK_FALSE(loaded);
  CHECK(first.find("cublasSgemm_v2 needs a CPU library that is not installed: apt install libnone0") !=
        std::string::npos);
  CHECK(Messages([&] { loaded = engine.Load("cublasSgemm_v2"); }).empty());
  CHECK_FALSE(loaded);
  CHECK(engine.Find("anything") == nullptr);
  libraries::Engine second(libraries::EngineFile{"libptx2cpu-none.so.0 libm.so.6", "libc6"});
  CHECK(second.Load("x"));
  CHECK(second.Find("cos") != nullptr);
}

TEST_CASE("libraries: a bad address is the context's sticky error, in small and in large calls") {
  for (const int n : {4, 400000}) {
    cublasHandle_t handle = nullptr;
    REQUIRE(Cublas().Call("cublasCreate_v2", &handle) == 0);
    std::vector<float> y(n);
    const float alpha = 1;
    cudaError_t error = cudaSuccess;
    const std::string text = Messages([&] {
      CHECK(Cublas().Call("cublasSaxpy_v2", handle, n, &alpha, reinterpret_cast<const float*>(64), 1,
                          y.data(), 1) == 0);
      error = cudart::cudaDeviceSynchronize();
    });
    CHECK(error == cudaErrorIllegalAddress);
    CHECK(text.find("cublasSaxpy_v2: bad address 0x") != std::string::npos);
    CHECK(Cublas().Call("cublasDestroy_v2", handle) == 0);
    REQUIRE(cudart::cudaDeviceReset() == cudaSuccess);  // later tests begin a context of their own
  }
}

// Callbacks are device code that only a program's own kernels can call.
TEST_CASE("libraries: callbacks of transforms are refused by name") {
  cufftHandle plan = 0;
  REQUIRE(Cufft().Call("cufftPlan1d", &plan, 8, CUFFT_C2C, 1) == 0);
  void *routine = nullptr, *info = nullptr;
  const int load_complex = 0;
  const auto check = [&](const std::string& function, auto... arguments) {
    int status = 0;
    const std::string text = Messages([&] { status = Cufft().Call(function, plan, arguments...); });
    CHECK(status == CUFFT_NOT_SUPPORTED);
    CHECK(text.find(function + " is not supported: returns CUFFT_NOT_SUPPORTED") != std::string::npos);
  };
  check("cufftXtSetCallback", &routine, load_complex, &info);
  check("cufftXtSetJITCallback", "load", static_cast<const void*>(&routine), size_t{8}, load_complex, &info);
  check("cufftXtSetCallbackSharedSize", load_complex, size_t{16});
  check("cufftXtClearCallback", load_complex);
  // The plan still transforms without them.
  std::vector<std::complex<float>> signal(8, 1);
  CHECK(Cufft().Call("cufftExecC2C", plan, signal.data(), signal.data(), CUFFT_FORWARD) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(signal[0] == std::complex<float>(8));
  CHECK(Cufft().Call("cufftDestroy", plan) == 0);
}
