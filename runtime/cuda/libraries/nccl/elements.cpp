#include "runtime/cuda/libraries/nccl/elements.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "runtime/cuda/libraries/core/fp8.h"
#include "runtime/cuda/libraries/core/narrow.h"

namespace ptx2cpu::nccl {

using namespace cuda;

namespace {

using libraries::FromFloat, libraries::ToFloat;

template <typename T>
constexpr bool kNarrow = !std::is_arithmetic_v<T>;

// The types in which elements are reduced: unsigned integers, since sums wrap around.
template <typename T>
struct WorkingType {
  using Type = T;
};
template <typename T>
  requires kNarrow<T>
struct WorkingType<T> {
  using Type = float;
};
template <typename T>
using Working = typename WorkingType<T>::Type;

template <typename T>
Working<T> Load(T value) {
  if constexpr (kNarrow<T>) {
    return ToFloat(value);
  } else {
    return value;
  }
}
template <typename T>
void Store(Working<T> value, T& to) {
  if constexpr (kNarrow<T>) {
    FromFloat(value, to);
  } else {
    to = value;
  }
}

template <typename W>
W Sum(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    using U = std::make_unsigned_t<W>;
    return static_cast<W>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}
template <typename W>
W Product(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
// Returns the number where the other operand is NaN, like fmax and fmin.
template <typename W>
W Maximum(W a, W b) {
  return b > a || a != a ? b : a;
}
template <typename W>
W Minimum(W a, W b) {
  return b < a || a != a ? b : a;
}

constexpr size_t kBlock = 1024;  // elements that are reduced at once: they stay in the cache

template <typename T>
struct Sources {
  std::span<const std::byte* const> all;
  std::span<const uint64_t> factors;
  size_t begin;

  const T* From(size_t source, size_t at) const {
    return reinterpret_cast<const T*>(all[source]) + begin + at;
  }
  Working<T> Factor(size_t source) const {
    T value;
    std::memcpy(&value, &factors[source], sizeof value);
    return Load(value);
  }
};

template <typename T, Reduction kReduction>
Working<T> Combine(Working<T> a, Working<T> b) {
  if constexpr (kReduction == Reduction::kProduct) {
    return Product(a, b);
  } else if constexpr (kReduction == Reduction::kMaximum) {
    return Maximum(a, b);
  } else if constexpr (kReduction == Reduction::kMinimum) {
    return Minimum(a, b);
  } else {
    return Sum(a, b);
  }
}

template <typename T, Reduction kReduction>
void ReduceAll(std::span<const std::byte* const> all, size_t begin, size_t count,
               std::span<const uint64_t> factors, std::byte* result) {
  using W = Working<T>;
  constexpr bool kAverage = kReduction == Reduction::kAverage;
  constexpr bool kScaled = kReduction == Reduction::kScaledSum || (kAverage && std::is_floating_point_v<W>);
  const Sources<T> sources{all, factors, begin};
  T* const to = reinterpret_cast<T*>(result);
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t length = std::min(kBlock, count - at);
    W sums[kBlock];
    for (size_t source = 0; source < all.size(); ++source) {
      const T* const from = sources.From(source, at);
      [[maybe_unused]] W factor{};
      if constexpr (kScaled) factor = kAverage ? W{1} / static_cast<W>(all.size()) : sources.Factor(source);
      for (size_t i = 0; i < length; ++i) {
        W value = Load(from[i]);
        if constexpr (kScaled) value = Product(value, factor);
        sums[i] = source == 0 ? value : Combine<T, kReduction>(sums[i], value);
      }
    }
    for (size_t i = 0; i < length; ++i) {
      if constexpr (kAverage && std::is_integral_v<W>) {
        using Wide = std::conditional_t<std::is_signed_v<W>, int64_t, uint64_t>;
        Store<T>(static_cast<W>(Wide{sums[i]} / static_cast<Wide>(all.size())), to[at + i]);
      } else {
        Store<T>(sums[i], to[at + i]);
      }
    }
  }
}

using Function = void (*)(std::span<const std::byte* const>, size_t, size_t, std::span<const uint64_t>,
                          std::byte*);
struct TypeRow {
  ncclDataType_t type;
  size_t bytes;
  std::array<Function, 6> reductions;  // by Reduction
};
template <typename T>
constexpr TypeRow RowOf(ncclDataType_t type) {
  return {type,
          sizeof(T),
          {ReduceAll<T, Reduction::kSum>, ReduceAll<T, Reduction::kProduct>,
           ReduceAll<T, Reduction::kMaximum>, ReduceAll<T, Reduction::kMinimum>,
           ReduceAll<T, Reduction::kAverage>, ReduceAll<T, Reduction::kScaledSum>}};
}

constexpr TypeRow kTypes[] = {
    RowOf<int8_t>(ncclInt8),
    RowOf<uint8_t>(ncclUint8),
    RowOf<int32_t>(ncclInt32),
    RowOf<uint32_t>(ncclUint32),
    RowOf<int64_t>(ncclInt64),
    RowOf<uint64_t>(ncclUint64),
    RowOf<__half>(ncclFloat16),
    RowOf<float>(ncclFloat32),
    RowOf<double>(ncclFloat64),
    RowOf<__nv_bfloat16>(ncclBfloat16),
    RowOf<libraries::Fp8E4m3>(ncclFloat8e4m3),
    RowOf<libraries::Fp8E5m2>(ncclFloat8e5m2),
};

const TypeRow* Find(ncclDataType_t type) {
  const auto row = std::ranges::find(kTypes, type, &TypeRow::type);
  return row == std::end(kTypes) ? nullptr : &*row;
}

}  // namespace

size_t SizeOf(ncclDataType_t type) {
  const TypeRow* row = Find(type);
  return row == nullptr ? 0 : row->bytes;
}

void Reduce(ncclDataType_t type, Reduction reduction, std::span<const std::byte* const> sources, size_t begin,
            size_t count, std::span<const uint64_t> factors, std::byte* to) {
  Find(type)->reductions[static_cast<size_t>(reduction)](sources, begin, count, factors, to);
}

}  // namespace ptx2cpu::nccl
