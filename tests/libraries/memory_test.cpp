// Small calls of each library do not make memory grow. PTX2CPU_FULL_TESTS: a million of each.
#include <malloc.h>

#include <array>
#include <complex>
#include <cstdlib>
#include <functional>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cufft_types.h"
#include "runtime/cuda/abi/cusparse_types.h"
#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

struct SmallCall {
  const char* name;
  std::function<int()> call;
};

size_t InUse() {
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  return mallinfo2().uordblks;
}

void CheckGrowth(const SmallCall& small) {
  INFO(small.name);
  const int calls = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1000000 : 5000;
  bool right = true;
  const auto repeat = [&](int count) {
    for (int i = 0; i < count; ++i) {
      right = right && small.call() == 0;
      if (i % 64 == 0) right = right && cudart::cudaDeviceSynchronize() == cudaSuccess;
    }
  };
  repeat(2000);
  const size_t before = InUse();
  repeat(calls);
  CHECK(right);
  // Less than a tenth of a byte for each of a million calls.
  CHECK(InUse() < before + 100000);
}

}  // namespace

TEST_CASE("libraries: small calls do not make memory grow") {
  const DropIn blas("libcublas.so.12"), random("libcurand.so.10");
  std::array<float, 64> a{}, b{}, c{};
  const float one = 1, zero = 0;
  a.fill(1), b.fill(2);

  void *blas_handle = nullptr, *sparse_handle = nullptr, *solver = nullptr, *generator = nullptr;
  REQUIRE(blas.Call("cublasCreate_v2", &blas_handle) == 0);
  CheckGrowth({"cublasSgemm", [&] {
                 return blas.Call("cublasSgemm_v2", blas_handle, 0, 0, 4, 4, 4, &one, a.data(), 4, b.data(),
                                  4, &zero, c.data(), 4);
               }});
  CheckGrowth({"cublasSaxpy",
               [&] { return blas.Call("cublasSaxpy_v2", blas_handle, 16, &one, a.data(), 1, c.data(), 1); }});
  float sum = 0;
  CheckGrowth({"cublasSdot",
               [&] { return blas.Call("cublasSdot_v2", blas_handle, 16, a.data(), 1, b.data(), 1, &sum); }});
  CHECK(sum == 32);
  CHECK(blas.Call("cublasDestroy_v2", blas_handle) == 0);

  cufftHandle plan = 0;
  std::array<std::complex<float>, 16> signal{};
  REQUIRE(Cufft().Call("cufftPlan1d", &plan, 16, CUFFT_C2C, 1) == 0);
  CheckGrowth(
      {"cufftExecC2C", [&] { return Cufft().Call("cufftExecC2C", plan, signal.data(), signal.data(), -1); }});
  CHECK(Cufft().Call("cufftDestroy", plan) == 0);

  REQUIRE(random.Call("curandCreateGenerator", &generator, 100) == 0);
  CheckGrowth({"curandGenerateUniform",
               [&] { return random.Call("curandGenerateUniform", generator, c.data(), size_t{64}); }});
  CHECK(random.Call("curandDestroyGenerator", generator) == 0);

  void *matrix = nullptr, *x = nullptr, *y = nullptr;
  std::array<int, 5> begins = {0, 1, 2, 3, 4};
  std::array<int, 4> columns = {3, 2, 1, 0};
  REQUIRE(Cusparse().Call("cusparseCreate", &sparse_handle) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &matrix, int64_t{4}, int64_t{4}, int64_t{4}, begins.data(),
                          columns.data(), a.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, 0) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateDnVec", &x, int64_t{4}, b.data(), 0) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateDnVec", &y, int64_t{4}, c.data(), 0) == 0);
  CheckGrowth({"cusparseSpMV", [&] {
                 return Cusparse().Call("cusparseSpMV", sparse_handle, 0, &one, matrix, x, &zero, y, 0, 0,
                                        nullptr);
               }});
  CheckGrowth({"cusparseCreateDnVec", [&] {
                 void* vector = nullptr;
                 return Cusparse().Call("cusparseCreateDnVec", &vector, int64_t{4}, b.data(), 0) +
                        Cusparse().Call("cusparseDestroyDnVec", vector);
               }});
  for (void* vector : {x, y}) CHECK(Cusparse().Call("cusparseDestroyDnVec", vector) == 0);
  CHECK(Cusparse().Call("cusparseDestroySpMat", matrix) == 0);
  CHECK(Cusparse().Call("cusparseDestroy", sparse_handle) == 0);

  std::array<int, 4> pivots{};
  int info = 0;
  REQUIRE(Cusolver().Call("cusolverDnCreate", &solver) == 0);
  CheckGrowth({"cusolverDnSgetrf", [&] {
                 return Cusolver().Call("cusolverDnSgetrf", solver, 4, 4, c.data(), 4, a.data(),
                                        pivots.data(), &info);
               }});
  CHECK(Cusolver().Call("cusolverDnDestroy", solver) == 0);

  DnnHandle dnn;
  DnnTensor tensor(CUDNN_DATA_FLOAT, {1, 2, 2, 2}, CUDNN_TENSOR_NCHW, Numbers(8, 1));
  CheckGrowth({"cudnnAddTensor", [&] {
                 return Cudnn().Call("cudnnAddTensor", dnn.handle, &one, tensor.tensor(),
                                     static_cast<const void*>(a.data()), &zero, tensor.tensor(),
                                     static_cast<void*>(c.data()));
               }});
}
