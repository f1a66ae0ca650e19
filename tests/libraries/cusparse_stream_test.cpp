// cuSPARSE: calls as work of streams, captured into graphs; status of wrong arguments, exports of each
// soname.
#include <string>
#include <vector>

#include "tests/libraries/cusparse_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusparse_case;

TEST_CASE("cusparse: calls are captured, with scalars of the device as they are then") {
  const Sparse sparse;
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(sparse("SetStream", stream) == 0);
  REQUIRE(sparse("SetPointerMode", CUSPARSE_POINTER_MODE_DEVICE) == 0);
  Matrix<float> m{2, 2, {1, 2, 0, 3}, {}, {}, {}, {}};
  m.Compress(0);
  const cusparseSpMatDescr_t a = CsrOf(m);
  std::vector<float> x = {1, 10}, y(2, 0.0f);
  const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
  float alpha = 1, beta = 0;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(sparse("SpMV", 0, &alpha, a, dx, &beta, dy, CUDA_R_32F, 0, nullptr) == 0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(y[0] == 0.0f);
  Destroy(a), Destroy(dx), Destroy(dy);  // the work keeps what it needs
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  alpha = 2;
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y == std::vector<float>{42, 60});
  beta = 1;
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y == std::vector<float>{84, 120});
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cusparse: a captured SpVV writes its result in host memory when the graph runs") {
  const Sparse sparse;
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(sparse("SetStream", stream) == 0);
  std::vector<int> index = {0, 3, 4};
  std::vector<float> values = {1, 2, 3}, y = {1, 2, 3, 4, 5};
  cusparseSpVecDescr_t dx = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateSpVec", &dx, int64_t{5}, int64_t{3}, index.data(), values.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) == 0);
  const cusparseDnVecDescr_t dy = VectorOf(y);
  float result = -1;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(sparse("SpVV", 0, dx, dy, &result, CUDA_R_32F, nullptr) == 0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(result == -1.0f);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(result == 24.0f);
  REQUIRE(sparse("SetStream", nullptr) == 0);
  values[0] = 2;
  REQUIRE(sparse("SpVV", 0, dx, dy, &result, CUDA_R_32F, nullptr) == 0);
  CHECK(result == 25.0f);  // without a wait of the caller's
  Cusparse().Call("cusparseDestroySpVec", dx);
  Destroy(dy);
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cusparse: wrong arguments have their status; every soname exports its table") {
  const Sparse sparse;
  Matrix<float> m{2, 2, {1, 2, 0, 3}, {}, {}, {}, {}};
  m.Compress(0);
  const cusparseSpMatDescr_t a = CsrOf(m);
  std::vector<float> x(2), y(3);
  const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
  const float one = 1;
  const auto multiply = [&](cusparseHandle_t handle, int op, cusparseSpMatDescr_t matrix,
                            cusparseDnVecDescr_t from, cusparseDnVecDescr_t to, cudaDataType compute) {
    return Cusparse().Call("cusparseSpMV", handle, op, &one, matrix, from, &one, to, compute, 0, nullptr);
  };
  // As an H100 gives them.
  CHECK(multiply(nullptr, 0, a, dx, dx, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 5, a, dx, dx, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 0, nullptr, dx, dx, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 0, a, dx, dy, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 0, a, dx, dx, CUDA_R_16F) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(Cusparse().Call("cusparseCreate", nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(std::string(Cusparse().Call<const char*>("cusparseGetErrorName", 9)) == "CUSPARSE_STATUS_ZERO_PIVOT");
  const auto with_algorithm = [&](int alg) {
    return sparse("SpMV", 0, &one, a, dx, &one, dx, CUDA_R_32F, alg, nullptr);
  };
  CHECK(with_algorithm(2) == CUSPARSE_STATUS_SUCCESS);
  CHECK(with_algorithm(1) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(with_algorithm(99) == CUSPARSE_STATUS_INVALID_VALUE);
  Wait();
  const auto create = [&](int64_t rows, int64_t nnz, int offset_type, int index_type, int base, int type) {
    cusparseSpMatDescr_t created = nullptr;
    const int status = Cusparse().Call("cusparseCreateCsr", &created, rows, int64_t{2}, nnz, nullptr, nullptr,
                                       nullptr, offset_type, index_type, base, type);
    if (created != nullptr) Destroy(created);
    return status;
  };
  CHECK(create(2, 2, 2, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_SUCCESS);
  CHECK(create(-1, 2, 2, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 5, 2, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 2, 9, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 2, 3, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(create(2, 2, 2, 2, 3, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 2, 2, 2, 0, CUDA_R_8U) == CUSPARSE_STATUS_INVALID_VALUE);
  csrilu02Info_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsrilu02Info", &info) == 0);
  int position = 0;
  CHECK(sparse("Xcsrilu02_zeroPivot", info, &position) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(Cusparse().Call("cusparseDestroyCsrilu02Info", info) == 0);
  CHECK(Cusparse().Call("cusparseDestroy", nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK(Cusparse().Call("cusparseDestroySpMat", nullptr) == CUSPARSE_STATUS_SUCCESS);
  Destroy(a), Destroy(dx), Destroy(dy);
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/sparse/cusparse.api");
  REQUIRE(table);
  for (const int major : {11, 12}) {
    const std::string soname = "libcusparse.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK(library.Find(function.name, soname.c_str()) != nullptr);
    }
    int value = 0;
    CHECK(library.Call("cusparseGetProperty", MAJOR_VERSION, &value) == 0);
    CHECK(value == major);
  }
}
