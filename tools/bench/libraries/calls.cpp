#include "tools/bench/libraries/calls.h"

#include <dlfcn.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <random>
#include <span>

namespace ptx2cpu::library_speed {

namespace {

// A shared library and its functions by name; the arguments have the types of the parameters.
class Library {
 public:
  explicit Library(std::string file) : file_(std::move(file)), handle_(dlopen(file_.c_str(), RTLD_NOW)) {}
  bool is_there() const { return handle_ != nullptr; }
  const std::string& file() const { return file_; }
  template <typename Result = int, typename... Args>
  Result Call(const char* name, Args... args) const {
    return reinterpret_cast<Result (*)(Args...)>(dlsym(handle_, name))(args...);
  }
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  std::string file_;
  void* handle_;
};

std::string Ours(const char* soname) { return std::string(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/") + soname; }

struct Engines {
  const Library blas{"libopenblas.so.0"}, fftw{"libfftw3f.so.3"};
  const Library cudart{Ours("libcudart.so.13")}, cublas{Ours("libcublas.so.13")},
      cufft{Ours("libcufft.so.12")}, cusparse{Ours("libcusparse.so.12")}, cusolver{Ours("libcusolver.so.12")};
};
using Opened = std::shared_ptr<const Engines>;

template <typename T>
std::shared_ptr<std::vector<T>> Random(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> range(-1, 1);
  auto numbers = std::make_shared<std::vector<T>>(count);
  for (T& number : *numbers) {
    if constexpr (requires { number.imag(); }) {
      const float real = range(engine);
      number = {real, range(engine)};
    } else {
      number = range(engine);
    }
  }
  return numbers;
}

template <typename T>
bool Near(std::span<const T> found, std::span<const T> expected, double tolerance) {
  double error = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::norm(std::complex<double>(found[i]) - std::complex<double>(expected[i]));
    size += std::norm(std::complex<double>(expected[i]));
  }
  return error <= tolerance * tolerance * size;
}

Comparison Begin(const Opened& o, std::string name, const Library* engine, const Library& ours) {
  Comparison comparison;
  comparison.name = std::move(name);
  for (const Library* needed : {engine, &ours, &o->cudart}) {
    if (needed != nullptr && !needed->is_there()) comparison.missing = needed->file();
  }
  comparison.wait = [o] { o->cudart.Call("cudaDeviceSynchronize"); };
  return comparison;
}

Comparison Product(const Opened& o, int n, std::string target) {
  Comparison c = Begin(o, "cublasSgemm, " + std::to_string(n) + " cubed", &o->blas, o->cublas);
  c.engine_name = "OpenBLAS";
  c.target = std::move(target);
  if (!c.missing.empty()) return c;
  o->blas.Call<void>("openblas_set_num_threads", 1);
  const auto size = static_cast<size_t>(n) * static_cast<size_t>(n);
  const auto a = Random<float>(size, 1), b = Random<float>(size, 2);
  const auto by_engine = Random<float>(size, 3), by_us = Random<float>(size, 3);
  constexpr int kColumnMajor = 102, kPlain = 111;
  const auto gemm = o->blas.Find<void(int, int, int, int, int, int, float, const float*, int, const float*,
                                      int, float, float*, int)>("cblas_sgemm");
  c.engine = [=] {
    gemm(kColumnMajor, kPlain, kPlain, n, n, n, 1.0f, a->data(), n, b->data(), n, 0.0f, by_engine->data(), n);
  };
  void* handle = nullptr;
  o->cublas.Call("cublasCreate_v2", &handle);
  const auto ours = o->cublas.Find<int(void*, int, int, int, int, int, const float*, const float*, int,
                                       const float*, int, const float*, float*, int)>("cublasSgemm_v2");
  c.ours = [=] {
    const float one = 1, zero = 0;
    ours(handle, 0, 0, n, n, n, &one, a->data(), n, b->data(), n, &zero, by_us->data(), n);
  };
  c.agrees = [=] { return Near<float>(*by_us, *by_engine, 1e-5); };
  return c;
}

Comparison Transform(const Opened& o) {
  using Complex = std::complex<float>;
  constexpr int kPoints = 1 << 20, kForward = -1, kComplexToComplex = 0x29;
  constexpr unsigned kEstimate = 1u << 6;  // as our plans are made
  Comparison c = Begin(o, "cufftExecC2C, 1,048,576 points", &o->fftw, o->cufft);
  c.engine_name = "FFTW";
  c.target = "ratio 0.9";
  if (!c.missing.empty()) return c;
  const auto in = Random<Complex>(kPoints, 4);
  const auto by_engine = std::make_shared<std::vector<Complex>>(kPoints),
             by_us = std::make_shared<std::vector<Complex>>(kPoints);
  void* const plan =
      o->fftw.Call<void*>("fftwf_plan_dft_1d", kPoints, in->data(), by_engine->data(), kForward, kEstimate);
  const auto execute = o->fftw.Find<void(void*)>("fftwf_execute");
  c.engine = [=] { execute(plan); };
  int handle = 0;
  o->cufft.Call("cufftPlan1d", &handle, kPoints, kComplexToComplex, 1);
  const auto ours = o->cufft.Find<int(int, Complex*, Complex*, int)>("cufftExecC2C");
  c.ours = [=] { ours(handle, in->data(), by_us->data(), kForward); };
  c.agrees = [=] { return Near<Complex>(*by_us, *by_engine, 1e-5); };
  return c;
}

// Rows of `per_row` entries in random columns.
struct SparseMatrix {
  int rows, per_row;
  std::vector<int> offsets, columns;
  std::shared_ptr<std::vector<float>> values;
};

std::shared_ptr<SparseMatrix> RandomSparse(int rows, int per_row) {
  auto matrix = std::make_shared<SparseMatrix>();
  *matrix = {rows, per_row, {}, {}, Random<float>(static_cast<size_t>(rows) * per_row, 5)};
  std::mt19937 engine(6);
  for (int i = 0; i <= rows; ++i) matrix->offsets.push_back(i * per_row);
  for (int i = 0; i < rows * per_row; ++i)
    matrix->columns.push_back(static_cast<int>(engine() % static_cast<unsigned>(rows)));
  return matrix;
}

Comparison SparseProduct(const Opened& o) {
  constexpr int kRows = 100000, kPerRow = 24, kIndex32 = 2, kReal32 = 0;
  Comparison c = Begin(o, "cusparseSpMV, CSR, 100,000 rows of 24", nullptr, o->cusparse);
  c.engine_name = "a loop in C++";
  c.target = "ratio 0.9";
  if (!c.missing.empty()) return c;
  const auto matrix = RandomSparse(kRows, kPerRow);
  const auto x = Random<float>(kRows, 7);
  const auto by_engine = std::make_shared<std::vector<float>>(kRows),
             by_us = std::make_shared<std::vector<float>>(kRows);
  c.engine = [=] {
    const SparseMatrix& m = *matrix;
    for (int i = 0; i < m.rows; ++i) {
      float sum = 0;
      for (int p = m.offsets[static_cast<size_t>(i)]; p < m.offsets[static_cast<size_t>(i) + 1]; ++p)
        sum += (*m.values)[static_cast<size_t>(p)] *
               (*x)[static_cast<size_t>(m.columns[static_cast<size_t>(p)])];
      (*by_engine)[static_cast<size_t>(i)] = sum;
    }
  };
  void *handle = nullptr, *a = nullptr, *dx = nullptr, *dy = nullptr;
  o->cusparse.Call("cusparseCreate", &handle);
  const int64_t rows = kRows, entries = int64_t{kRows} * kPerRow;
  o->cusparse.Call("cusparseCreateCsr", &a, rows, rows, entries, static_cast<void*>(matrix->offsets.data()),
                   static_cast<void*>(matrix->columns.data()), static_cast<void*>(matrix->values->data()),
                   kIndex32, kIndex32, 0, kReal32);
  o->cusparse.Call("cusparseCreateDnVec", &dx, rows, static_cast<void*>(x->data()), kReal32);
  o->cusparse.Call("cusparseCreateDnVec", &dy, rows, static_cast<void*>(by_us->data()), kReal32);
  const auto ours =
      o->cusparse.Find<int(void*, int, const void*, void*, void*, const void*, void*, int, int, void*)>(
          "cusparseSpMV");
  c.ours = [=] {
    const float one = 1, zero = 0;
    ours(handle, 0, &one, a, dx, &zero, dy, kReal32, 0, nullptr);
  };
  c.agrees = [=] { return Near<float>(*by_us, *by_engine, 1e-5); };
  return c;
}

Comparison Factors(const Opened& o) {
  constexpr int kSize = 2048;
  Comparison c = Begin(o, "cusolverDnSgetrf, 2048", &o->blas, o->cusolver);
  c.engine_name = "OpenBLAS";
  c.target = "ratio 0.9";
  if (!c.missing.empty()) return c;
  const auto start = Random<float>(size_t{kSize} * kSize, 8);
  const auto by_engine = std::make_shared<std::vector<float>>(*start),
             by_us = std::make_shared<std::vector<float>>(*start);
  const auto pivots = std::make_shared<std::vector<int>>(kSize);
  const auto factor = o->blas.Find<int(const int*, const int*, float*, const int*, int*, int*)>("sgetrf_");
  c.engine = [=] {
    int info = 0;
    *by_engine = *start;
    factor(&kSize, &kSize, by_engine->data(), &kSize, pivots->data(), &info);
  };
  void* handle = nullptr;
  o->cusolver.Call("cusolverDnCreate", &handle);
  int room = 0;
  o->cusolver.Call("cusolverDnSgetrf_bufferSize", handle, kSize, kSize, by_us->data(), kSize, &room);
  const auto work = std::make_shared<std::vector<float>>(static_cast<size_t>(room));
  const auto info = std::make_shared<int>();
  const auto ours =
      o->cusolver.Find<int(void*, int, int, float*, int, float*, int*, int*)>("cusolverDnSgetrf");
  c.ours = [=, wait = c.wait] {
    *by_us = *start;
    ours(handle, kSize, kSize, by_us->data(), kSize, work->data(), pivots->data(), info.get());
    wait();  // before the matrix is copied again
  };
  c.agrees = [=] { return Near<float>(*by_us, *by_engine, 1e-3); };
  return c;
}

}  // namespace

std::vector<Comparison> Comparisons() {
  const auto opened = std::make_shared<const Engines>();
  return {Product(opened, 64, "2 us more"), Product(opened, 1024, "ratio 0.9"), Transform(opened),
          SparseProduct(opened), Factors(opened)};
}

}  // namespace ptx2cpu::library_speed
