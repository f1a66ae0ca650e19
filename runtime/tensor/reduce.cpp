#include "runtime/tensor/reduce.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/abi/tensor_map.h"

namespace ptx2cpu::rt::tensor {

namespace {

// bf16 as the upper half of an f32; sums are rounded to nearest even.
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
T Combined(uint32_t reduction, T old, T operand) {
  switch (reduction) {
    case PTX2CPU_TENSOR_ADD:
      if constexpr (kAddsAsFloat<T>)
        return T(static_cast<float>(old) + static_cast<float>(operand));
      else
        return static_cast<T>(old + operand);
    case PTX2CPU_TENSOR_MIN:
      return Extreme(old, operand, false);
    case PTX2CPU_TENSOR_MAX:
      return Extreme(old, operand, true);
    default:
      break;
  }
  if constexpr (kIsInteger<T>) {
    switch (reduction) {
      case PTX2CPU_TENSOR_INC:
        return old >= operand ? T{0} : static_cast<T>(old + 1);
      case PTX2CPU_TENSOR_DEC:
        return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
      case PTX2CPU_TENSOR_AND:
        return old & operand;
      case PTX2CPU_TENSOR_OR:
        return old | operand;
      case PTX2CPU_TENSOR_XOR:
        return old ^ operand;
      default:
        break;
    }
  }
  return old;
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

template <typename T, typename Word>
void Update(uint32_t reduction, uint8_t* to, const uint8_t* from) {
  static_assert(sizeof(T) == sizeof(Word));
  Word operand;
  std::memcpy(&operand, from, sizeof(operand));
  auto* place = reinterpret_cast<Word*>(to);
  Word old = __atomic_load_n(place, __ATOMIC_RELAXED), fresh;
  do {
    fresh = std::bit_cast<Word>(
        Canonical(Combined<T>(reduction, std::bit_cast<T>(old), std::bit_cast<T>(operand))));
  } while (!__atomic_compare_exchange_n(place, &old, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

}  // namespace

void Reduce(uint32_t reduction, uint32_t element, uint8_t* to, const uint8_t* from) {
  switch (element) {
    case PTX2CPU_TENSOR_U32:
      return Update<uint32_t, uint32_t>(reduction, to, from);
    case PTX2CPU_TENSOR_S32:
      return Update<int32_t, uint32_t>(reduction, to, from);
    case PTX2CPU_TENSOR_U64:
      return Update<uint64_t, uint64_t>(reduction, to, from);
    case PTX2CPU_TENSOR_S64:
      return Update<int64_t, uint64_t>(reduction, to, from);
    case PTX2CPU_TENSOR_F16:
      return Update<_Float16, uint16_t>(reduction, to, from);
    case PTX2CPU_TENSOR_BF16:
      return Update<BrainHalf, uint16_t>(reduction, to, from);
    case PTX2CPU_TENSOR_F32:
      return Update<float, uint32_t>(reduction, to, from);
    case PTX2CPU_TENSOR_F32_FTZ:
      return Update<FlushedFloat, uint32_t>(reduction, to, from);
    case PTX2CPU_TENSOR_F64:
      return Update<double, uint64_t>(reduction, to, from);
    default:
      return;
  }
}

}  // namespace ptx2cpu::rt::tensor
