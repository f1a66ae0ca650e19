// BLAS and LAPACK for the work of cuBLAS and cuSOLVER: the machine's OpenBLAS, by its Fortran names.
#pragma once

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace ptx2cpu::libraries {

// Loads it at the first call, for `function`; one thread in each of its calls from then on, since the calls
// themselves are pieces of parallel work. False: it is missing, which was reported.
bool LoadBlas(const char* function);
// Its routine of that name; a missing one ends the process, since every release has those that we use.
void* FindBlas(const char* name);

// A name as a template argument.
template <size_t kLength>
struct Name {
  constexpr Name(const char (&text)[kLength]) {
    for (size_t i = 0; i < kLength; ++i) this->text[i] = text[i];
  }
  char text[kLength];
};

template <typename T>
inline constexpr char kBlasLetter = '?';
template <>
inline constexpr char kBlasLetter<float> = 's';
template <>
inline constexpr char kBlasLetter<double> = 'd';
template <>
inline constexpr char kBlasLetter<std::complex<float>> = 'c';
template <>
inline constexpr char kBlasLetter<std::complex<double>> = 'z';

namespace internal {
// Fortran takes addresses: pointers as they are, values by theirs.
template <typename T>
const void* Address(const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    return argument;
  } else {
    return &argument;
  }
}
template <typename>
using Pointer = const void*;
}  // namespace internal

// Calls the routine of the type's letter and this name: Blas<"gemm", float>('N', 'T', m, ...) is sgemm. Sizes
// are `int`, options characters.
template <Name kName, typename T, typename... Args>
void Blas(const Args&... args) {
  static_assert((!std::is_same_v<Args, int64_t> && ...), "BLAS has sizes of 32 bits");
  static std::atomic<void*> found{nullptr};
  void* routine = found.load(std::memory_order_relaxed);
  if (routine == nullptr) {
    routine = FindBlas((std::string(1, kBlasLetter<T>) + kName.text + "_").c_str());
    found.store(routine, std::memory_order_relaxed);
  }
  reinterpret_cast<void (*)(internal::Pointer<Args>...)>(routine)(internal::Address(args)...);
}

// Sizes that BLAS can take.
template <typename... Sizes>
bool FitBlas(Sizes... sizes) {
  return ((sizes <= std::numeric_limits<int>::max() && sizes >= std::numeric_limits<int>::min()) && ...);
}

}  // namespace ptx2cpu::libraries
