// cuBLASLt's less common forms: planes of complex matrices, arrays of pointers, scale factors by blocks,
// algorithms by number, emulation. Orders and status as an H200 has them.
#include <complex>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cublaslt_types.h"
#include "runtime/cuda/libraries/core/fp8.h"
#include "tests/libraries/dropin.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

cublasLtHandle_t Handle() {
  static cublasLtHandle_t handle = nullptr;
  if (handle == nullptr) REQUIRE(CublasLt().Call("cublasLtCreate", &handle) == 0);
  return handle;
}

// One product: descriptors that a test changes, and the call.
struct Product {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c;
  Product(cublasComputeType_t compute, cudaDataType scale, cudaDataType operands, cudaDataType result, int m,
          int n, int k, bool transposes_a) {
    REQUIRE(CublasLt().Call("cublasLtMatmulDescInit_internal", &operation, sizeof operation, compute,
                            scale) == 0);
    const int op = transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    REQUIRE(Set(3, op) == 0);
    Layout(a, operands, transposes_a ? k : m, transposes_a ? m : k);
    Layout(b, operands, k, n);
    Layout(c, result, m, n);
  }
  static void Layout(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType type, int rows, int columns) {
    REQUIRE(CublasLt().Call("cublasLtMatrixLayoutInit_internal", &layout, sizeof layout, type, uint64_t(rows),
                            uint64_t(columns), int64_t{rows}) == 0);
  }
  template <typename T>
  int Set(int attribute, T value) {
    return CublasLt().Call("cublasLtMatmulDescSetAttribute", &operation, attribute,
                           static_cast<const void*>(&value), sizeof value);
  }
  template <typename T>
  void SetEach(int attribute, T value) {
    for (auto* layout : {&a, &b, &c}) {
      REQUIRE(CublasLt().Call("cublasLtMatrixLayoutSetAttribute", layout, attribute,
                              static_cast<const void*>(&value), sizeof value) == 0);
    }
  }
  template <typename S>
  int Run(S alpha, const void* first, const void* second, S beta, void* result) {
    const int status =
        CublasLt().Call("cublasLtMatmul", Handle(), &operation, static_cast<const void*>(&alpha), first, &a,
                        second, &b, static_cast<const void*>(&beta), static_cast<const void*>(result), &c,
                        result, &c, static_cast<const cublasLtMatmulAlgo_t*>(nullptr),
                        static_cast<void*>(nullptr), size_t{0}, static_cast<cudaStream_t>(nullptr));
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    return status;
  }
};

}  // namespace

TEST_CASE("cublaslt: complex matrices in planes of 16-bit floats") {
  using Complex = std::complex<double>;
  constexpr int kN = 8, kBatch = 2;
  constexpr size_t kPlane = kN * kN * kBatch;
  std::vector<__half> a(2 * kPlane), b(2 * kPlane), c(2 * kPlane);
  for (size_t i = 0; i < a.size(); ++i) {
    libraries::FromFloat(static_cast<float>(static_cast<int>(i * 7 % 11) - 5), a[i]);
    libraries::FromFloat(static_cast<float>(static_cast<int>(i * 5 % 13) - 6), b[i]);
    libraries::FromFloat(static_cast<float>(static_cast<int>(i * 3 % 7) - 3), c[i]);
  }
  const auto at = [&](const std::vector<__half>& m, size_t i) {
    return Complex(libraries::ToFloat(m[i]), libraries::ToFloat(m[kPlane + i]));
  };
  const auto before = c;
  Product product(CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_16F, CUDA_C_16F, kN, kN, kN, false);
  REQUIRE(product.Set(3, int{CUBLAS_OP_C}) == 0);
  product.SetEach(7, int64_t{kPlane * sizeof(__half)});
  product.SetEach(5, int32_t{kBatch});
  product.SetEach(6, int64_t{kN * kN});
  REQUIRE(product.Run(cuComplex(1, 0.5f), a.data(), b.data(), cuComplex(0, 1), c.data()) == 0);
  for (size_t batch = 0; batch < kBatch; ++batch) {
    for (size_t i = 0; i < kN; ++i) {
      for (size_t j = 0; j < kN; ++j) {
        const size_t first = batch * kN * kN;
        Complex sum;
        for (size_t k = 0; k < kN; ++k)
          sum += std::conj(at(a, first + k + i * kN)) * at(b, first + k + j * kN);
        const Complex expected = Complex(1, 0.5) * sum + Complex(0, 1) * at(before, first + i + j * kN);
        CHECK(std::abs(at(c, first + i + j * kN) - expected) <= 1e-3 * std::abs(expected) + 1e-3);
      }
    }
  }
  // Planes for some, or of f32: not supported, as on a GPU or (the first) to no use there.
  product.c.plane_offset = 0;
  CHECK(product.Run(cuComplex(1), a.data(), b.data(), cuComplex(0), c.data()) == CUBLAS_STATUS_NOT_SUPPORTED);
  Product wide(CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, kN, kN, kN, false);
  wide.SetEach(7, int64_t{1024});
  CHECK(wide.Run(cuComplex(1), a.data(), b.data(), cuComplex(0), c.data()) == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("cublaslt: batches as arrays of pointers, which are read when the product runs") {
  constexpr int kN = 4, kBatch = 3;
  std::vector<std::vector<float>> a(kBatch), b(kBatch), c(kBatch);
  for (int batch = 0; batch < kBatch; ++batch) {
    a[batch].assign(kN * kN, static_cast<float>(batch + 1));
    b[batch].assign(kN * kN, 2.0f);
    c[batch].assign(kN * kN, -1.0f);
  }
  // Not in the order of memory.
  std::vector<const void*> as = {a[2].data(), a[0].data(), a[1].data()},
                           bs = {b[0].data(), b[1].data(), b[2].data()};
  std::vector<void*> cs = {c[0].data(), c[1].data(), c[2].data()};
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, kN, kN, kN, false);
  product.SetEach(5, int32_t{kBatch});
  product.SetEach(8, uint32_t{CUBLASLT_BATCH_MODE_POINTER_ARRAY});
  REQUIRE(product.Run(1.0f, as.data(), bs.data(), 0.0f, cs.data()) == 0);
  CHECK(c[0] == std::vector<float>(kN * kN, 24));
  CHECK(c[1] == std::vector<float>(kN * kN, 8));
  CHECK(c[2] == std::vector<float>(kN * kN, 16));
  product.c.batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
  CHECK(product.Run(1.0f, as.data(), bs.data(), 0.0f, c[0].data()) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("cublaslt: scale factors of 128 elements, and of squares of them") {
  constexpr int kVector = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                kSquare = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  const auto check = [](int mode_a, int mode_b, int m, int n, int k) {
    CAPTURE(mode_a, mode_b, m, n, k);
    const int blocks = (k + 127) / 128, apart = (blocks + 3) / 4 * 4;
    const auto factors = [&](int mode, int outer, int seed) {
      std::vector<float> all(
          static_cast<size_t>(mode == kVector ? blocks * outer : apart * ((outer + 127) / 128)));
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(1 + (i * 37 + seed) % 101);
      return all;
    };
    const auto factor = [&](const std::vector<float>& all, int mode, int outer, int i, int block) {
      return mode == kVector ? all[static_cast<size_t>(i + block * outer)]
                             : all[static_cast<size_t>(block + i / 128 * apart)];
    };
    std::vector<libraries::Fp8E4m3> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
    for (auto& each : a) libraries::FromFloat(1.0f, each);
    for (auto& each : b) libraries::FromFloat(2.0f, each);
    const auto scale_a = factors(mode_a, m, 0), scale_b = factors(mode_b, n, 5);
    std::vector<float> d(static_cast<size_t>(m * n));
    Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_32F, m, n, k, true);
    REQUIRE(product.Set(31, mode_a) == 0);
    REQUIRE(product.Set(32, mode_b) == 0);
    REQUIRE(product.Set(17, scale_a.data()) == 0);
    REQUIRE(product.Set(18, scale_b.data()) == 0);
    REQUIRE(product.Run(1.0f, a.data(), b.data(), 0.0f, d.data()) == 0);
    int wrong = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double expected = 0;
        for (int block = 0; block < blocks; ++block) {
          expected += 2.0 * std::min(128, k - block * 128) * factor(scale_a, mode_a, m, i, block) *
                      factor(scale_b, mode_b, n, j, block);
        }
        wrong += std::abs(d[static_cast<size_t>(i + j * m)] - expected) > 1e-5 * expected;
      }
    }
    CHECK(wrong == 0);
  };
  check(kVector, kVector, 144, 160, 384);
  check(kVector, kSquare, 144, 272, 640);
  check(kSquare, kVector, 272, 144, 208);
  const auto status = [](int mode_a, int mode_b, int k, bool transposes_a) {
    std::vector<libraries::Fp8E4m3> operand(static_cast<size_t>(16 * k));
    std::vector<float> ones(1024, 1.0f), d(256);
    Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_32F, 16, 16, k, transposes_a);
    product.Set(31, mode_a), product.Set(32, mode_b), product.Set(17, ones.data()),
        product.Set(18, ones.data());
    return product.Run(1.0f, operand.data(), operand.data(), 0.0f, d.data());
  };
  CHECK(status(kSquare, kSquare, 128, true) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(kVector, kSquare, 200, true) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(kVector, kVector, 128, false) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(0, kVector, 128, true) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(0, 3, 128, true) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(2, 2, 128, true) == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("cublaslt: algorithms have the original's numbers, and report what can be chosen") {
  cublasLtMatmulAlgo_t algo;
  const auto init = [&](int id) {
    return CublasLt().Call("cublasLtMatmulAlgoInit", Handle(), CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F,
                           CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, id, &algo);
  };
  for (const int id : {-1, 0, 10, 36, 76}) {
    REQUIRE(init(id) == 0);
    int kept = -7;
    size_t written = 0;
    REQUIRE(CublasLt().Call("cublasLtMatmulAlgoConfigGetAttribute", &algo, 0, static_cast<void*>(&kept),
                            sizeof kept, &written) == 0);
    CHECK(kept == id);
  }
  CHECK(init(-2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(init(128) == CUBLAS_STATUS_INVALID_VALUE);
  const auto capability = [&](int number, void* data, size_t size, size_t* written) {
    return CublasLt().Call("cublasLtMatmulAlgoCapGetAttribute", &algo, number, data, size, written);
  };
  for (int number = -1; number < 24; ++number) {
    CAPTURE(number);
    size_t size = 777;
    const bool exists = number >= 0 && number != 8 && number != 9 && number != 20 && number != 23;
    CHECK((capability(number, nullptr, 0, &size) == 0) == exists);
    if (!exists) continue;
    CHECK(size == (number == 6 || number == 13 ? 0u : number == 15 ? 8u : 4u));
    uint64_t value = 0;
    CHECK(capability(number, &value, sizeof value, nullptr) == 0);
    if (size > 1) CHECK(capability(number, &value, 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  }
  int parts = -1;
  REQUIRE(capability(0, &parts, sizeof parts, nullptr) == 0);
  CHECK(parts == 0);
}

TEST_CASE("cublaslt: descriptors of emulation keep what they are given") {
  cublasLtEmulationDesc_t emulation = nullptr;
  REQUIRE(CublasLt().Call("cublasLtEmulationDescCreate", &emulation) == 0);
  const auto get = [&](int attribute, auto& value) {
    return CublasLt().Call("cublasLtEmulationDescGetAttribute", emulation, attribute,
                           static_cast<void*>(&value), sizeof value, static_cast<size_t*>(nullptr));
  };
  const auto set = [&](int attribute, auto value) {
    return CublasLt().Call("cublasLtEmulationDescSetAttribute", emulation, attribute,
                           static_cast<const void*>(&value), sizeof value);
  };
  const int at_first[] = {0, 0xffff, 0, 0, 0};
  for (int attribute = 0; attribute < 5; ++attribute) {
    int value = -7;
    REQUIRE(get(attribute, value) == 0);
    CHECK(value == at_first[attribute]);
    REQUIRE(set(attribute, 9) == 0);
    REQUIRE(get(attribute, value) == 0);
    CHECK(value == 9);
    CHECK(set(attribute, uint64_t{9}) == CUBLAS_STATUS_INVALID_VALUE);
  }
  void* pointer = &emulation;
  REQUIRE(get(5, pointer) == 0);
  CHECK(pointer == nullptr);
  CHECK(set(6, 0) == CUBLAS_STATUS_INVALID_VALUE);
  Product product(CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, 1, 1, 1, false);
  CHECK(product.Set(38, emulation) == 0);
  CHECK(product.Set(38, 0) == CUBLAS_STATUS_INVALID_VALUE);
  const double a = 3, b = 4;
  double c = 0;
  REQUIRE(product.Run(1.0, &a, &b, 0.0, &c) == 0);
  CHECK(c == 12);
  CHECK(CublasLt().Call("cublasLtEmulationDescDestroy", emulation) == 0);
  CHECK(CublasLt().Call("cublasLtEmulationDescCreate", nullptr) == CUBLAS_STATUS_INVALID_VALUE);
}
