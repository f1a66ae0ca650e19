// cuBLASLt: transformations, heuristics, attributes, status, exports of each soname; calls as work of
// streams.
#include <string>
#include <vector>

#include "tests/libraries/cublaslt_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cublaslt_case;

TEST_CASE("cublaslt: transformations change types and orders, and add") {
  Layout la(CUDA_R_32F, 5, 7, false), lb(CUDA_R_16F, 7, 5, true), lc(CUDA_R_16BF, 7, 5, false);
  Array a = Random(CUDA_R_32F, static_cast<size_t>(la.stride()), 12),
        b = Random(CUDA_R_16F, static_cast<size_t>(lb.stride()), 13),
        c(CUDA_R_16BF, static_cast<size_t>(lc.stride()));
  cublasLtMatrixTransformDesc_t descr = nullptr;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescCreate", &descr, CUDA_R_32F) == 0);
  const int32_t transposed = CUBLAS_OP_T;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescSetAttribute", descr, 2,
                          static_cast<const void*>(&transposed), sizeof transposed) == 0);
  const float alpha = 2, beta = -1;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransform", Handle(), descr, static_cast<const void*>(&alpha),
                          static_cast<const void*>(a.bytes.data()), la.layout,
                          static_cast<const void*>(&beta), static_cast<const void*>(b.bytes.data()),
                          lb.layout, static_cast<void*>(c.bytes.data()), lc.layout,
                          static_cast<cudaStream_t>(nullptr)) == 0);
  Wait();
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 5; ++j) CHECK(c.Get(lc.At(i, j)) == 2 * a.Get(la.At(j, i)) - b.Get(lb.At(i, j)));
  }
  // Column blocks of 32 and back.
  Layout from(CUDA_R_8I, 6, 40, false), to(CUDA_R_8I, 6, 40, false), again(CUDA_R_8I, 6, 40, false);
  to.Set<int32_t>(1, CUBLASLT_ORDER_COL32);
  to.Set<int64_t>(4, 32 * 6);
  Array x = Random(CUDA_R_8I, static_cast<size_t>(from.stride()), 14), blocks(CUDA_R_8I, 2 * 32 * 6),
        y(CUDA_R_8I, x.size());
  const int32_t plain = CUBLAS_OP_N;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescSetAttribute", descr, 2,
                          static_cast<const void*>(&plain), sizeof plain) == 0);
  const float one = 1;
  const auto convert = [&](Array& source, Layout& ls, Array& target, Layout& lt) {
    return CublasLt().Call("cublasLtMatrixTransform", Handle(), descr, static_cast<const void*>(&one),
                           static_cast<const void*>(source.bytes.data()), ls.layout, nullptr, nullptr,
                           nullptr, static_cast<void*>(target.bytes.data()), lt.layout,
                           static_cast<cudaStream_t>(nullptr));
  };
  REQUIRE(convert(x, from, blocks, to) == 0);
  REQUIRE(convert(blocks, to, y, again) == 0);
  Wait();
  CHECK(blocks.Get(32 * 6 + 2 * 32 + 1) == x.Get(from.At(2, 33)));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 40; ++j) REQUIRE(y.Get(again.At(i, j)) == x.Get(from.At(i, j)));
  }
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescDestroy", descr) == 0);
}

TEST_CASE("cublaslt: heuristics, attributes, status, exports of each soname") {
  Layout la(CUDA_R_32F, 4, 4, false), lb(CUDA_R_32F, 4, 4, false), lc(CUDA_R_32F, 4, 4, false),
      wrong(CUDA_R_32F, 4, 5, false), half(CUDA_R_16F, 4, 4, false);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(CublasLt().Call("cublasLtMatmulPreferenceCreate", &preference) == 0);
  const uint64_t room = 1 << 20;
  REQUIRE(CublasLt().Call("cublasLtMatmulPreferenceSetAttribute", preference, 1,
                          static_cast<const void*>(&room), sizeof room) == 0);
  cublasLtMatmulHeuristicResult_t results[4];
  int found = -1;
  const auto ask = [&](Layout& b) {
    return CublasLt().Call("cublasLtMatmulAlgoGetHeuristic", Handle(), op.descr, la.layout, b.layout,
                           lc.layout, lc.layout, preference, 4,
                           static_cast<cublasLtMatmulHeuristicResult_t*>(results), &found);
  };
  REQUIRE(ask(lb) == 0);
  CHECK(found == 1);
  CHECK(results[0].state == CUBLAS_STATUS_SUCCESS);
  CHECK(results[0].workspace_size <= room);
  CHECK(ask(wrong) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(found == 0);
  CHECK(ask(half) == CUBLAS_STATUS_NOT_SUPPORTED);
  REQUIRE(CublasLt().Call("cublasLtMatmulPreferenceDestroy", preference) == 0);

  uint64_t rows = 0;
  size_t written = 0;
  CHECK(CublasLt().Call("cublasLtMatrixLayoutGetAttribute", wrong.layout, 3, static_cast<void*>(&rows),
                        sizeof rows, &written) == 0);
  CHECK(rows == 5);
  CHECK(written == sizeof rows);
  CHECK(CublasLt().Call("cublasLtMatrixLayoutGetAttribute", wrong.layout, 3, static_cast<void*>(&rows),
                        size_t{4}, &written) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(CublasLt().Call("cublasLtMatmulDescSetAttribute", op.descr, 99, static_cast<const void*>(&rows),
                        sizeof rows) == CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayoutOpaque_t own;
  CHECK(CublasLt().Call("cublasLtMatrixLayoutInit_internal", &own, size_t{64}, CUDA_R_32F, uint64_t{3},
                        uint64_t{4}, int64_t{3}) == 0);
  CHECK(own.cols == 4);
  CHECK(CublasLt().Call("cublasLtCreate", nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(std::string(CublasLt().Call<const char*>("cublasLtGetStatusName", 15)) ==
        "CUBLAS_STATUS_NOT_SUPPORTED");

  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/lt/cublaslt.api");
  REQUIRE(table);
  for (const int major : {11, 12, 13}) {
    const std::string soname = "libcublasLt.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK((library.Find(function.name, soname.c_str()) != nullptr) == function.In(major));
    }
    CHECK(library.Call<size_t>("cublasLtGetVersion") / 10000 == static_cast<size_t>(major));
  }
}

TEST_CASE("cublaslt: a product is work of the stream that the call names, and is captured") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  Layout l(CUDA_R_32F, 2, 2, false);
  std::vector<float> a(10, 1.0f), b(10, 2.0f), d(10, 0.0f);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  float alpha = 1;
  const float beta = 0;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(CublasLt().Call("cublasLtMatmul", Handle(), op.descr, static_cast<const void*>(&alpha),
                          static_cast<const void*>(a.data()), l.layout, static_cast<const void*>(b.data()),
                          l.layout, static_cast<const void*>(&beta), static_cast<const void*>(d.data()),
                          l.layout, static_cast<void*>(d.data()), l.layout,
                          static_cast<const cublasLtMatmulAlgo_t*>(nullptr), static_cast<void*>(nullptr),
                          size_t{0}, stream) == 0);
  alpha = 100;  // was read by the call
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(d[0] == 0.0f);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(d[0] == 4.0f);
  CHECK(d[6] == 4.0f);
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}
