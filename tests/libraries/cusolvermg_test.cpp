// cuSOLVERMg: matrices whose columns go around devices, against products; what it refuses.
#include "runtime/cuda/abi/cusolvermg_types.h"
#include "tests/libraries/cusolver_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusolver_case;

namespace {

const DropIn& CusolverMg() {
  static const DropIn library("libcusolverMg.so.12");
  return library;
}

// A column-major matrix in blocks of `block` columns on as many devices as there are.
template <typename T>
class Distributed {
 public:
  Distributed(const Dense<T>& from, int block, cudaLibMgGrid_t grid, int devices)
      : rows_(from.rows), columns_(from.columns), block_(block), parts_(static_cast<size_t>(devices)) {
    REQUIRE(CusolverMg().Call("cusolverMgCreateMatrixDesc", &descr, int64_t{rows_}, int64_t{columns_},
                              int64_t{rows_}, int64_t{block}, TypeOf<T>(), grid) == 0);
    for (std::vector<T>& part : parts_) {
      part.resize(static_cast<size_t>(rows_ * (columns_ / devices + block)));
      arrays.push_back(part.data());
    }
    for (int j = 0; j < columns_; ++j) {
      for (int i = 0; i < rows_; ++i) At(i, j) = from(i, j);
    }
  }
  ~Distributed() { CusolverMg().Call("cusolverMgDestroyMatrixDesc", descr); }
  Distributed(const Distributed&) = delete;
  T& At(int i, int j) {
    const int devices = static_cast<int>(parts_.size());
    const int local = j / block_ / devices * block_ + j % block_;
    return parts_[static_cast<size_t>(j / block_ % devices)][static_cast<size_t>(i + local * rows_)];
  }
  Dense<T> Whole() {
    Dense<T> all(rows_, columns_);
    for (int j = 0; j < columns_; ++j) {
      for (int i = 0; i < rows_; ++i) all(i, j) = At(i, j);
    }
    return all;
  }
  cudaLibMgMatrixDesc_t descr = nullptr;
  std::vector<void*> arrays;

 private:
  int rows_, columns_, block_;
  std::vector<std::vector<T>> parts_;
};

struct Devices {
  cusolverMgHandle_t handle = nullptr;
  cudaLibMgGrid_t grid = nullptr;
  std::vector<int> ids;
  Devices() {
    int count = 0;
    REQUIRE(cudart::cudaGetDeviceCount(&count) == cudaSuccess);
    for (int i = 0; i < count; ++i) ids.push_back(i);
    REQUIRE(CusolverMg().Call("cusolverMgCreate", &handle) == 0);
    REQUIRE(CusolverMg().Call("cusolverMgDeviceSelect", handle, count, ids.data()) == 0);
    REQUIRE(CusolverMg().Call("cusolverMgCreateDeviceGrid", &grid, 1, count, ids.data(), 1) == 0);
  }
  ~Devices() {
    CusolverMg().Call("cusolverMgDestroyGrid", grid);
    CusolverMg().Call("cusolverMgDestroy", handle);
  }
  Devices(const Devices&) = delete;
  int count() const { return static_cast<int>(ids.size()); }
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    return CusolverMg().Call("cusolverMg" + name, handle, args...);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("cusolverMg: LU and Cholesky solve, the inverse, eigenvalues", "", SOLVER_TYPES) {
  using T = TestType;
  const Devices mg;
  const int n = 21;
  const cudaDataType type = TypeOf<T>();
  const Dense<T> a = Random<T>(n, n, 71), h = Hermitian<T>(n, 72, 30), x = Random<T>(n, 3, 73);
  int64_t size = 0;
  int info = -1;
  std::vector<void*> work(mg.ids.size());
  {
    Distributed<T> lu(a, 4, mg.grid, mg.count()), b(Multiply(a, x), 2, mg.grid, mg.count());
    std::vector<std::vector<int>> pivots(mg.ids.size(), std::vector<int>(static_cast<size_t>(n + 4)));
    std::vector<int*> places;
    for (std::vector<int>& part : pivots) places.push_back(part.data());
    REQUIRE(mg("Getrf_bufferSize", n, n, lu.arrays.data(), 1, 1, lu.descr, places.data(), type, &size) == 0);
    CHECK(size > 0);
    REQUIRE(mg("Getrf", n, n, lu.arrays.data(), 1, 1, lu.descr, places.data(), type, work.data(), size,
               &info) == 0);
    CHECK(info == 0);
    REQUIRE(mg("Getrs", 0, n, 3, lu.arrays.data(), 1, 1, lu.descr, places.data(), b.arrays.data(), 1, 1,
               b.descr, type, work.data(), size, &info) == 0);
    CheckNear(b.Whole(), x);
  }
  {
    Distributed<T> factor(h, 5, mg.grid, mg.count()), b(Multiply(h, x), 1, mg.grid, mg.count());
    REQUIRE(mg("Potrf", 0, n, factor.arrays.data(), 1, 1, factor.descr, type, work.data(), size, &info) == 0);
    CHECK(info == 0);
    REQUIRE(mg("Potrs", 0, n, 3, factor.arrays.data(), 1, 1, factor.descr, b.arrays.data(), 1, 1, b.descr,
               type, work.data(), size, &info) == 0);
    CheckNear(b.Whole(), x);
    REQUIRE(mg("Potri", 0, n, factor.arrays.data(), 1, 1, factor.descr, type, work.data(), size, &info) == 0);
    Dense<T> inverse = factor.Whole(), unit(n, n);
    for (int i = 0; i < n; ++i) {
      unit(i, i) = T(1);
      for (int j = 0; j < i; ++j) inverse(j, i) = Conj(inverse(i, j));
    }
    CheckNear(Multiply(h, inverse), unit);
  }
  {
    Distributed<T> vectors(h, 3, mg.grid, mg.count());
    std::vector<Real<T>> w(static_cast<size_t>(n));
    REQUIRE(mg("Syevd_bufferSize", 1, 0, n, vectors.arrays.data(), 1, 1, vectors.descr, (void*)w.data(),
               RealTypeOf<T>(), type, &size) == 0);
    REQUIRE(mg("Syevd", 1, 0, n, vectors.arrays.data(), 1, 1, vectors.descr, (void*)w.data(), RealTypeOf<T>(),
               type, work.data(), size, &info) == 0);
    CHECK(info == 0);
    const Dense<T> v = vectors.Whole();
    CheckNear(Multiply(h, v), Scaled(v, w, n));
  }
}

TEST_CASE("cusolverMg: several blocks of columns on one device, parts of matrices, wrong arguments") {
  const Devices mg;
  const int n = 6;
  const Dense<double> h = Hermitian<double>(n, 74, 20);
  Distributed<double> a(h, 2, mg.grid, mg.count());
  std::vector<void*> work(mg.ids.size());
  int info = -1;
  const auto factor = [&](int uplo, int rows, int row, cudaDataType compute) {
    return mg("Potrf", uplo, rows, a.arrays.data(), row, row, a.descr, compute, work.data(), int64_t{64},
              &info);
  };
  // Only the part from row and column 3 on changes.
  REQUIRE(factor(0, 4, 3, CUDA_R_64F) == 0);
  CHECK(info == 0);
  const Dense<double> whole = a.Whole();
  Dense<double> l(4, 4), part(4, 4);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) part(i, j) = h(i + 2, j + 2), l(i, j) = j <= i ? whole(i + 2, j + 2) : 0;
  }
  CheckNear(Multiply(l, Adjoint(l)), part);
  CHECK(whole(0, 0) == h(0, 0));
  CHECK(whole(5, 1) == h(5, 1));
  CHECK(factor(0, 5, 3, CUDA_R_64F) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(factor(0, 4, 0, CUDA_R_64F) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(factor(7, 4, 1, CUDA_R_64F) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(factor(0, 4, 1, CUDA_R_32F) == CUSOLVER_STATUS_INVALID_VALUE);

  int twice[] = {0, 0}, far[] = {1000};
  cudaLibMgGrid_t grid = nullptr;
  cudaLibMgMatrixDesc_t descr = nullptr;
  CHECK(mg("DeviceSelect", 2, twice) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(mg("DeviceSelect", 1, far) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(CusolverMg().Call("cusolverMgCreateDeviceGrid", &grid, 2, 1, twice, 1) ==
        CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(CusolverMg().Call("cusolverMgCreateMatrixDesc", &descr, int64_t{4}, int64_t{4}, int64_t{2},
                          int64_t{2}, CUDA_R_64F, mg.grid) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(CusolverMg().Call("cusolverMgCreateMatrixDesc", &descr, int64_t{4}, int64_t{4}, int64_t{4},
                          int64_t{2}, CUDA_R_16F, mg.grid) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(CusolverMg().Call("cusolverMgDestroy", (cusolverMgHandle_t) nullptr) ==
        CUSOLVER_STATUS_NOT_INITIALIZED);
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/mg/cusolvermg.api");
  REQUIRE(table);
  for (const int major : {11, 12}) {
    const std::string soname = "libcusolverMg.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions)
      CHECK(library.Find(function.name, soname.c_str()) != nullptr);
  }
}
