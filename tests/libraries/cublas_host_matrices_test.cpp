// cublasXt: the results of the functions with a handle and a stream, to the bit, of matrices in host memory.
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

class XtHandle {
 public:
  XtHandle() { REQUIRE(Cublas().Call("cublasXtCreate", &handle_) == 0); }
  ~XtHandle() { Cublas().Call("cublasXtDestroy", handle_); }
  XtHandle(const XtHandle&) = delete;
  XtHandle& operator=(const XtHandle&) = delete;
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    return Cublas().Call("cublasXt" + name, handle_, args...);
  }

 private:
  cublasXtHandle_t handle_ = nullptr;
};

constexpr int kRows = 70, kColumns = 53, kInner = 41, kLd = 75;

}  // namespace

TEMPLATE_TEST_CASE("cublasXt: the results of cuBLAS", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  using R = Real<T>;
  const Blas blas;
  const XtHandle xt;
  const std::string letter = LetterOf<T>();
  Random random(11);
  const std::vector<T> a = random.Values<T>(size_t{kLd} * kLd), b = random.Values<T>(size_t{kLd} * kLd),
                       before = random.Values<T>(size_t{kLd} * kLd);
  const T alpha = random.Value<T>(), beta = random.Value<T>();
  const R real_alpha = random.Value<R>(), real_beta = random.Value<R>();
  constexpr size_t kM = kRows, kN = kColumns, kK = kInner, kLong = kLd;
  std::vector<T> c, expected;
  const auto same = [&](const std::string& name, int plain, int status) {
    INFO(letter << name);
    CHECK(plain == 0);
    CHECK(status == 0);
    CHECK(c == expected);
    CHECK(c != before);
  };
  const auto reset = [&] { c = expected = before; };
  // A packed triangle has the columns of the matrix, one after the other.
  for (const auto uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
      const int size = side == CUBLAS_SIDE_LEFT ? kRows : kColumns;
      std::vector<T> packed;
      for (int j = 0; j < size; ++j) {
        const int begin = uplo == CUBLAS_FILL_MODE_LOWER ? j : 0;
        const int end = uplo == CUBLAS_FILL_MODE_LOWER ? size : j + 1;
        packed.insert(packed.end(), &a[j * kLd + begin], &a[j * kLd + begin] + (end - begin));
      }
      reset();
      same("spmm",
           blas(letter + "symm_v2", side, uplo, kRows, kColumns, &alpha, a.data(), kLd, b.data(), kLd, &beta,
                expected.data(), kLd),
           xt(letter + "spmm", side, uplo, kM, kN, &alpha, packed.data(), b.data(), kLong, &beta, c.data(),
              kLong));
    }
  }
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    reset();
    same("gemm",
         blas(letter + "gemm_v2", op, op, kRows, kColumns, kInner, &alpha, a.data(), kLd, b.data(), kLd,
              &beta, expected.data(), kLd),
         xt(letter + "gemm", op, op, kM, kN, kK, &alpha, a.data(), kLong, b.data(), kLong, &beta, c.data(),
            kLong));
    reset();
    same("syrk",
         blas(letter + "syrk_v2", CUBLAS_FILL_MODE_LOWER, op, kColumns, kInner, &alpha, a.data(), kLd, &beta,
              expected.data(), kLd),
         xt(letter + "syrk", CUBLAS_FILL_MODE_LOWER, op, kN, kK, &alpha, a.data(), kLong, &beta, c.data(),
            kLong));
  }
  const auto two = [&](const std::string& plain_name, const std::string& name, const auto& scale) {
    reset();
    same(name,
         blas(letter + plain_name, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, kColumns, kInner, &alpha, a.data(),
              kLd, b.data(), kLd, &scale, expected.data(), kLd),
         xt(letter + name, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, kN, kK, &alpha, a.data(), kLong, b.data(),
            kLong, &scale, c.data(), kLong));
  };
  const auto sided = [&](const std::string& name) {
    reset();
    same(name,
         blas(letter + name + "_v2", CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, kRows, kColumns, &alpha,
              a.data(), kLd, b.data(), kLd, &beta, expected.data(), kLd),
         xt(letter + name, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, kM, kN, &alpha, a.data(), kLong,
            b.data(), kLong, &beta, c.data(), kLong));
  };
  two("syr2k_v2", "syr2k", beta);
  two("syrkx", "syrkx", beta);
  sided("symm");
  if constexpr (kComplex<T>) {
    two("her2k_v2", "her2k", real_beta);
    two("herkx", "herkx", real_beta);
    sided("hemm");
    reset();
    same("herk",
         blas(letter + "herk_v2", CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_C, kColumns, kInner, &real_alpha,
              a.data(), kLd, &real_beta, expected.data(), kLd),
         xt(letter + "herk", CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_C, kN, kK, &real_alpha, a.data(), kLong,
            &real_beta, c.data(), kLong));
  }
  reset();
  same("trmm",
       blas(letter + "trmm_v2", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
            kRows, kColumns, &alpha, a.data(), kLd, b.data(), kLd, expected.data(), kLd),
       xt(letter + "trmm", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kM,
          kN, &alpha, a.data(), kLong, b.data(), kLong, c.data(), kLong));
  reset();
  same("trsm",
       blas(letter + "trsm_v2", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT,
            kRows, kColumns, &alpha, a.data(), kLd, expected.data(), kLd),
       xt(letter + "trsm", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, kM, kN,
          &alpha, a.data(), kLong, c.data(), kLong));
}

TEST_CASE("cublasXt: modes and status") {
  const XtHandle xt;
  int device = 0, block = 0, boards = 0;
  cublasXtPinnedMemMode_t mode = CUBLASXT_PINNING_DISABLED;
  CHECK(xt("DeviceSelect", 1, &device) == 0);
  CHECK(xt("DeviceSelect", 0, &device) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(xt("SetBlockDim", 64) == 0);
  CHECK(xt("GetBlockDim", &block) == 0);
  CHECK(block == 64);
  CHECK(xt("SetBlockDim", 0) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(xt("SetPinningMemMode", CUBLASXT_PINNING_ENABLED) == 0);
  CHECK(xt("GetPinningMemMode", &mode) == 0);
  CHECK(mode == CUBLASXT_PINNING_ENABLED);
  CHECK(Cublas().Call("cublasXtGetNumBoards", 1, &device, &boards) == 0);
  CHECK(boards == 1);
  CHECK(Cublas().Call("cublasXtDestroy", cublasXtHandle_t{}) == CUBLAS_STATUS_INVALID_VALUE);
  const float one = 1;
  float c = 0;
  CHECK(Cublas().Call("cublasXtSgemm", cublasXtHandle_t{}, CUBLAS_OP_N, CUBLAS_OP_N, size_t{1}, size_t{1},
                      size_t{1}, &one, &one, size_t{1}, &one, size_t{1}, &one, &c,
                      size_t{1}) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(xt("Sgemm", CUBLAS_OP_N, CUBLAS_OP_N, size_t{2}, size_t{1}, size_t{1}, &one, &one, size_t{1}, &one,
           size_t{1}, &one, &c, size_t{1}) == CUBLAS_STATUS_INVALID_VALUE);
}
