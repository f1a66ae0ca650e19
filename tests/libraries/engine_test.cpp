// Engines that are missing, and addresses that are bad: errors with a message, never the end of the process.
#include "runtime/cuda/libraries/core/engine.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;

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
    REQUIRE(cudart::cudaDeviceReset() == cudaSuccess);  // later tests begin a context of their own
  }
}
