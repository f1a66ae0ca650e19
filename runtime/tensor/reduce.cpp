#include "runtime/tensor/reduce.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "runtime/abi/tensor_map.h"

namespace ptx2cpu::rt::tensor {

namespace {

// bf16 is the upper half of an f32; sums are rounded to nearest even.
struct BrainHalf {
  uint16_t bits;
  explicit BrainHalf(float value) : bits(Rounded(std::bit_cast<uint32_t>(value))) {}
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }

 private:
  static uint16_t Rounded(uint32_t word) {
    if ((word & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
};

// f32 whose subnormal numbers are zeros of their signs, before and after an addition.
struct FlushedFloat {
  float value;
  explicit FlushedFloat(float exact) : value(Flushed(exact)) {}
  operator float() const { return Flushed(value); }

 private:
  static float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
};

template <typename T>
constexpr bool kAddsAsFloat = std::is_same_v<T, BrainHalf> || std::is_same_v<T, FlushedFloat>;

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;

// NaN loses, and -0 is less than +0.
template <typename T>
T Extreme(T a, T b, bool is_max) {
  if constexpr (kIsInteger<T>) {
    return (a < b) == is_max ? b : a;
  } else {
    const auto x = static_cast<float>(a), y = static_cast<float>(b);
    if (std::isnan(x)) return b;
    if (std::isnan(y)) return a;
    if (x == y) return std::signbit(x) == is_max ? b : a;
    return (x < y) == is_max ? b : a;
  }
}

template <typename T>
T Sum(T old, T operand) {
  if constexpr (kAddsAsFloat<T>)
    return T(static_cast<float>(old) + static_cast<float>(operand));
  else if constexpr (kIsInteger<T>)  // wraps around
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                          static_cast<std::make_unsigned_t<T>>(operand));
  else
    return static_cast<T>(old + operand);
}
template <typename T>
T Least(T old, T operand) {
  return Extreme(old, operand, false);
}
template <typename T>
T Greatest(T old, T operand) {
  return Extreme(old, operand, true);
}
template <typename T>
T Incremented(T old, T operand) {
  return old >= operand ? T{0} : static_cast<T>(old + 1);
}
template <typename T>
T Decremented(T old, T operand) {
  return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
}
template <typename T>
T And(T old, T operand) {
  return old & operand;
}
template <typename T>
T Or(T old, T operand) {
  return old | operand;
}
template <typename T>
T Xor(T old, T operand) {
  return old ^ operand;
}

// A NaN result is the one that an H100 gives: all ones without the sign. Doubles keep their payload.
template <typename T>
T Canonical(T value) {
  if constexpr (kIsInteger<T> || sizeof(T) == 8)
    return value;
  else if constexpr (sizeof(T) == 4)
    return std::isnan(static_cast<float>(value)) ? std::bit_cast<T>(0x7fffffffu) : value;
  else
    return std::isnan(static_cast<float>(value)) ? std::bit_cast<T>(uint16_t{0x7fff}) : value;
}

template <typename T, typename Word, T (*kCombine)(T, T)>
void Update(uint8_t* to, const uint8_t* from) {
  static_assert(sizeof(T) == sizeof(Word));
  Word operand;
  std::memcpy(&operand, from, sizeof(operand));
  auto* place = reinterpret_cast<Word*>(to);
  Word old = __atomic_load_n(place, __ATOMIC_RELAXED), fresh;
  do {
    fresh = std::bit_cast<Word>(Canonical(kCombine(std::bit_cast<T>(old), std::bit_cast<T>(operand))));
  } while (!__atomic_compare_exchange_n(place, &old, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

constexpr size_t kReductions = PTX2CPU_TENSOR_XOR + 1;
struct Row {
  Reduction of[kReductions] = {};  // by ptx2cpu_tensor_reduction; null: not a reduction of the type
};
template <typename T, typename Word>
constexpr Row kFloats = {
    {nullptr, Update<T, Word, Sum<T>>, Update<T, Word, Least<T>>, Update<T, Word, Greatest<T>>}};
template <typename T, typename Word>
constexpr Row kIntegers = {{nullptr, Update<T, Word, Sum<T>>, Update<T, Word, Least<T>>,
                            Update<T, Word, Greatest<T>>, Update<T, Word, Incremented<T>>,
                            Update<T, Word, Decremented<T>>, Update<T, Word, And<T>>, Update<T, Word, Or<T>>,
                            Update<T, Word, Xor<T>>}};

// In the order of ptx2cpu_tensor_element.
constexpr Row kRows[] = {
    {},                               // u8
    {},                               // u16
    kIntegers<uint32_t, uint32_t>,    // u32
    kIntegers<int32_t, uint32_t>,     // s32
    kIntegers<uint64_t, uint64_t>,    // u64
    kIntegers<int64_t, uint64_t>,     // s64
    kFloats<_Float16, uint16_t>,      // f16
    kFloats<float, uint32_t>,         // f32
    kFloats<FlushedFloat, uint32_t>,  // f32.ftz
    kFloats<double, uint64_t>,        // f64
    kFloats<BrainHalf, uint16_t>,     // bf16
    {},                               // tf32
    {},                               // tf32.ftz
    {},                               // b4x16
    {},                               // b4x16, padded
    {},                               // b6x16
};
static_assert(std::size(kRows) == PTX2CPU_TENSOR_ELEMENTS);

}  // namespace

Reduction ReductionOf(uint32_t reduction, uint32_t element) {
  return reduction < kReductions && element < PTX2CPU_TENSOR_ELEMENTS ? kRows[element].of[reduction]
                                                                      : nullptr;
}

}  // namespace ptx2cpu::rt::tensor
