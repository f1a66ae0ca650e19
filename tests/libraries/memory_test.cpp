// Small calls of each library do not make memory grow. PTX2CPU_FULL_TESTS: a million of each.
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cufft_types.h"
#include "runtime/cuda/abi/cusparse_types.h"
#include "tests/libraries/cudnn_case.h"
#include "tests/sanitized.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

struct Memory {
  size_t heap, resident;  // bytes; the heap of all threads is resident, what the C library counts is not all
};
Memory InUse() {
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return {mallinfo2().uordblks, pages * static_cast<size_t>(sysconf(_SC_PAGESIZE))};
}

void CheckGrowth(const char* name, const std::function<int()>& call) {
  INFO(name);
  const int calls = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1000000 : 5000;
  bool right = true;
  const auto repeat = [&](int count) {
    for (int i = 0; i < count; ++i) {
      right = right && call() == 0;
      if (i % 64 == 0) right = right && cudart::cudaDeviceSynchronize() == cudaSuccess;
    }
  };
  repeat(2000);
  const Memory before = InUse();
  repeat(calls);
  CHECK(right);
  // Less than a tenth of a byte, of any thread's heap less than two bytes, for each of a million calls.
  const Memory after = InUse();
  CHECK(after.heap < before.heap + 100000);
#ifndef PTX2CPU_TEST_SANITIZED  // which keeps what has been freed
  CHECK(after.resident < before.resident + 2000000);
#endif
}

// A library's handle, made and destroyed by functions of these names.
class Handle {
 public:
  Handle(const DropIn& library, const char* create, const char* destroy)
      : library_(library), destroy_(destroy) {
    REQUIRE(library.Call(create, &handle_) == 0);
  }
  ~Handle() { library_.Call(destroy_, handle_); }
  Handle(const Handle&) = delete;
  operator void*() const { return handle_; }

 private:
  const DropIn& library_;
  const char* const destroy_;
  void* handle_ = nullptr;
};

constexpr float kOne = 1, kZero = 0;
using Floats = std::array<float, 64>;
Floats Filled(float value) {
  Floats floats;
  floats.fill(value);
  return floats;
}

}  // namespace

TEST_CASE("libraries: small calls of cuBLAS do not make memory grow") {
  const DropIn blas("libcublas.so.12");
  const Handle handle(blas, "cublasCreate_v2", "cublasDestroy_v2");
  Floats a = Filled(1), b = Filled(2), c{};
  const auto product = [&](const char* name, auto... more) {
    return blas.Call(name, static_cast<void*>(handle), 0, 0, 4, 4, 4, &kOne, more...);
  };
  CheckGrowth("cublasSgemm",
              [&] { return product("cublasSgemm_v2", a.data(), 4, b.data(), 4, &kZero, c.data(), 4); });
  CheckGrowth("cublasSgemmStridedBatched", [&] {
    return product("cublasSgemmStridedBatched", a.data(), 4, int64_t{16}, b.data(), 4, int64_t{16}, &kZero,
                   c.data(), 4, int64_t{16}, 4);
  });
  constexpr int kHalf = 2, kSingle = 0, kCompute = 68, kDefault = -1;
  CheckGrowth("cublasGemmEx", [&] {
    return product("cublasGemmEx", a.data(), kHalf, 4, b.data(), kHalf, 4, &kZero, c.data(), kSingle, 4,
                   kCompute, kDefault);
  });
  CheckGrowth("cublasSaxpy", [&] {
    return blas.Call("cublasSaxpy_v2", static_cast<void*>(handle), 16, &kOne, a.data(), 1, c.data(), 1);
  });
  float sum = 0;
  CheckGrowth("cublasSdot", [&] {
    return blas.Call("cublasSdot_v2", static_cast<void*>(handle), 16, a.data(), 1, b.data(), 1, &sum);
  });
  CHECK(sum == 32);
}

TEST_CASE("libraries: small calls of cublasLt do not make memory grow") {
  const Handle handle(CublasLt(), "cublasLtCreate", "cublasLtDestroy");
  Floats a = Filled(1), b = Filled(2), c{};
  void *layout = nullptr, *product = nullptr;
  REQUIRE(CublasLt().Call("cublasLtMatrixLayoutCreate", &layout, 0, uint64_t{4}, uint64_t{4}, int64_t{4}) ==
          0);
  REQUIRE(CublasLt().Call("cublasLtMatmulDescCreate", &product, 68, 0) == 0);
  void* const none = nullptr;
  CheckGrowth("cublasLtMatmul", [&] {
    return CublasLt().Call("cublasLtMatmul", static_cast<void*>(handle), product, &kOne, a.data(), layout,
                           b.data(), layout, &kZero, c.data(), layout, c.data(), layout, none, none,
                           size_t{0}, none);
  });
  CHECK(c[0] == 8);
  CheckGrowth("cublasLtMatrixLayoutCreate", [&] {
    void* other = nullptr;
    return CublasLt().Call("cublasLtMatrixLayoutCreate", &other, 0, uint64_t{4}, uint64_t{4}, int64_t{4}) +
           CublasLt().Call("cublasLtMatrixLayoutDestroy", other);
  });
  CHECK(CublasLt().Call("cublasLtMatrixLayoutDestroy", layout) == 0);
  CHECK(CublasLt().Call("cublasLtMatmulDescDestroy", product) == 0);
}

TEST_CASE("libraries: small calls of cuFFT and cuRAND do not make memory grow") {
  const DropIn random("libcurand.so.10");
  Floats numbers{};
  std::array<std::complex<float>, 16> signal{};
  cufftHandle plan = 0, real = 0;
  REQUIRE(Cufft().Call("cufftPlan1d", &plan, 16, CUFFT_C2C, 1) == 0);
  REQUIRE(Cufft().Call("cufftPlan1d", &real, 16, CUFFT_R2C, 1) == 0);
  CheckGrowth("cufftExecC2C",
              [&] { return Cufft().Call("cufftExecC2C", plan, signal.data(), signal.data(), -1); });
  CheckGrowth("cufftExecR2C",
              [&] { return Cufft().Call("cufftExecR2C", real, numbers.data(), signal.data()); });
  CHECK(Cufft().Call("cufftDestroy", plan) == 0);
  CHECK(Cufft().Call("cufftDestroy", real) == 0);

  constexpr int kXorwow = 101, kSobol = 201;
  for (const int type : {kXorwow, kSobol}) {
    void* generator = nullptr;
    REQUIRE(random.Call("curandCreateGenerator", &generator, type) == 0);
    CheckGrowth("curandGenerateUniform", [&] {
      return random.Call("curandGenerateUniform", generator, numbers.data(), numbers.size());
    });
    CheckGrowth("curandGenerateNormal", [&] {
      return random.Call("curandGenerateNormal", generator, numbers.data(), numbers.size(), 0.0f, 1.0f);
    });
    CHECK(random.Call("curandDestroyGenerator", generator) == 0);
  }
}

TEST_CASE("libraries: small calls of cuSPARSE and cuSOLVER do not make memory grow") {
  const Handle sparse(Cusparse(), "cusparseCreate", "cusparseDestroy");
  Floats a = Filled(1), b = Filled(2), c{};
  void *matrix = nullptr, *x = nullptr, *y = nullptr;
  std::array<int, 5> begins = {0, 1, 2, 3, 4};
  std::array<int, 4> columns = {3, 2, 1, 0};
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &matrix, int64_t{4}, int64_t{4}, int64_t{4}, begins.data(),
                          columns.data(), a.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, 0) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateDnVec", &x, int64_t{4}, b.data(), 0) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateDnVec", &y, int64_t{4}, c.data(), 0) == 0);
  CheckGrowth("cusparseSpMV", [&] {
    return Cusparse().Call("cusparseSpMV", static_cast<void*>(sparse), 0, &kOne, matrix, x, &kZero, y, 0, 0,
                           nullptr);
  });
  CheckGrowth("cusparseCreateDnVec", [&] {
    void* vector = nullptr;
    return Cusparse().Call("cusparseCreateDnVec", &vector, int64_t{4}, b.data(), 0) +
           Cusparse().Call("cusparseDestroyDnVec", vector);
  });
  for (void* vector : {x, y}) CHECK(Cusparse().Call("cusparseDestroyDnVec", vector) == 0);
  CHECK(Cusparse().Call("cusparseDestroySpMat", matrix) == 0);

  const Handle solver(Cusolver(), "cusolverDnCreate", "cusolverDnDestroy");
  std::array<int, 4> pivots{};
  int info = 0;
  CheckGrowth("cusolverDnSgetrf", [&] {
    return Cusolver().Call("cusolverDnSgetrf", static_cast<void*>(solver), 4, 4, c.data(), 4, a.data(),
                           pivots.data(), &info);
  });
  CheckGrowth("cusolverDnSpotrf", [&] {
    return Cusolver().Call("cusolverDnSpotrf", static_cast<void*>(solver), 0, 4, c.data(), 4, a.data(), 64,
                           &info);
  });
}

TEST_CASE("libraries: small calls of cuDNN and NCCL do not make memory grow") {
  const DnnHandle dnn;
  DnnTensor tensor(CUDNN_DATA_FLOAT, {1, 2, 2, 2}, CUDNN_TENSOR_NCHW, Numbers(8, 1));
  Floats a = Filled(1), c{};
  const auto call = [&](const char* name, auto... before) {
    return Cudnn().Call(name, dnn.handle, before..., &kOne, tensor.tensor(),
                        static_cast<const void*>(a.data()), &kZero, tensor.tensor(),
                        static_cast<void*>(c.data()));
  };
  CheckGrowth("cudnnAddTensor", [&] { return call("cudnnAddTensor"); });
  CheckGrowth("cudnnSoftmaxForward", [&] { return call("cudnnSoftmaxForward", 1, 0); });
  cudnnConvolutionDescriptor_t convolution = nullptr;
  Cudnn("cudnnCreateConvolutionDescriptor", &convolution);
  Cudnn("cudnnSetConvolution2dDescriptor", convolution, 0, 0, 1, 1, 1, 1, 1, CUDNN_DATA_FLOAT);
  DnnTensor filter(CUDNN_DATA_FLOAT, {2, 2, 1, 1}, CUDNN_TENSOR_NCHW, Numbers(4, 1), true);
  CheckGrowth("cudnnConvolutionForward", [&] {
    return Cudnn().Call("cudnnConvolutionForward", dnn.handle, &kOne, tensor.tensor(),
                        static_cast<const void*>(a.data()), filter.filter(),
                        static_cast<const void*>(filter.data()), convolution, 0, static_cast<void*>(nullptr),
                        size_t{0}, &kZero, tensor.tensor(), static_cast<void*>(c.data()));
  });
  Cudnn("cudnnDestroyConvolutionDescriptor", convolution);

  const DropIn nccl("libnccl.so.2");
  void* communicator = nullptr;
  REQUIRE(nccl.Call("ncclCommInitAll", &communicator, 1, static_cast<const int*>(nullptr)) == 0);
  constexpr int kFloat = 7, kSum = 0;
  CheckGrowth("ncclAllReduce", [&] {
    return nccl.Call("ncclAllReduce", a.data(), c.data(), size_t{16}, kFloat, kSum, communicator,
                     static_cast<void*>(nullptr));
  });
  CHECK(nccl.Call("ncclCommDestroy", communicator) == 0);
}
