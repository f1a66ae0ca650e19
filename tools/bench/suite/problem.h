// What one kernel of the suite computes: data, launches, what may differ in the results. One description for
// every contender: ours runs the launches, OpenCL the same launches of kernels of the same names and
// parameters, and an OpenMP function reads the same data by position.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "runtime/engine/ptx2cpu.h"

namespace ptx2cpu::suite {

enum class Type : uint8_t { kU8, kU32, kF32, kF64 };
uint32_t BytesOf(Type type);

// A result x is right if |x - expected| <= absolute + relative * |expected|; both 0: to the bit. `share` of
// the elements may be different, where a comparison of rounded values decides.
struct Tolerance {
  double absolute = 0, relative = 0, share = 0;
};

// Host memory, aligned to pages, which device pointers address.
class Memory {
 public:
  explicit Memory(size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_;
};

// Index of a value or buffer in the data of a problem.
using Argument = uint32_t;

// A value (up to 8 bytes), or a buffer of `count` elements.
struct Datum {
  uint32_t bytes = 8;
  std::array<std::byte, 8> value = {};  // of a buffer: its address
  std::shared_ptr<Memory> buffer = {};
  Type type = Type::kF32;
  std::vector<std::byte> initial = {};  // copied into the buffer before each run; empty: runs do not need it
  bool result = false;                  // compared
  Tolerance tolerance = {};
};

struct KernelLaunch {
  std::string kernel;
  Extent grid, block;
  std::vector<Argument> arguments;
  bool cooperative = false;
};

// What an OpenMP function sees: the data by position.
class Data {
 public:
  explicit Data(std::span<const Datum> data) : data_(data) {}
  template <typename T>
  T Get(Argument index) const {
    T value;
    std::memcpy(&value, data_[index].value.data(), sizeof value);
    return value;
  }

 private:
  std::span<const Datum> data_;
};
using OpenMpFunction = void (*)(const Data& data);

// A product C = A B^T of square matrices, which libraries compute too: A and B of these elements, C of f32 or
// s32.
enum class ElementType : uint8_t { kF16, kBF16, kTF32, kS8 };
constexpr uint32_t BytesOf(ElementType type) {
  return type == ElementType::kS8 ? 1 : type == ElementType::kTF32 ? 4 : 2;
}
struct MatrixProduct {
  ElementType type;
  uint32_t side;
  Argument a, b, c;
};

// kFull: what is timed. kSmall: what tests compare.
enum class Size : uint8_t { kFull, kSmall };

struct Problem {
  std::vector<Datum> data = {};
  std::vector<KernelLaunch> launches = {};    // in order; one run does all of them
  double bytes = 0, flops = 0;                // that a run moves from and to memory at least, and computes
  bool doubles = false;                       // flops are of doubles
  std::string size = {};                      // for tables, "2048 x 2048"
  std::optional<MatrixProduct> product = {};  // if it is one
  std::string matrix_sums = {};               // LoadOptions::matrix_sums of ours

  template <typename T>
  Argument Value(T value) {
    static_assert(sizeof value <= 8);
    Datum datum{.bytes = sizeof value};
    std::memcpy(datum.value.data(), &value, sizeof value);
    return Add(std::move(datum));
  }
  // Buffers: read only; written completely by each run; read and written.
  template <typename T>
  Argument In(const std::vector<T>& values) {
    return AddBuffer(TypeOf<T>(), std::as_bytes(std::span(values)));
  }
  template <typename T>
  Argument Out(size_t count, Tolerance tolerance = {}) {
    const std::vector<T> zeros(count);
    return AddResult(AddBuffer(TypeOf<T>(), std::as_bytes(std::span(zeros))), tolerance, false);
  }
  template <typename T>
  Argument InOut(const std::vector<T>& values, Tolerance tolerance = {}) {
    return AddResult(AddBuffer(TypeOf<T>(), std::as_bytes(std::span(values))), tolerance, true);
  }
  // Read and written, not a result: what one launch leaves for the next.
  template <typename T>
  Argument Scratch(const std::vector<T>& values) {
    return AddScratch(AddBuffer(TypeOf<T>(), std::as_bytes(std::span(values))));
  }
  void Launch(std::string kernel, Extent grid, Extent block, std::vector<Argument> arguments,
              bool cooperative = false) {
    launches.push_back({std::move(kernel), grid, block, std::move(arguments), cooperative});
  }

  void Reset() const;  // buffers as before the first run
  void Clear() const;  // results are 0xA5 everywhere, so that what is not written is found
  std::vector<std::byte> Results() const;
  // The first result that differs from what Results() returned, or nothing.
  Status Compare(std::span<const std::byte> expected) const;

 private:
  template <typename T>
  static constexpr Type TypeOf() {
    if constexpr (std::is_same_v<T, float>) return Type::kF32;
    if constexpr (std::is_same_v<T, double>) return Type::kF64;
    if constexpr (sizeof(T) == 1) return Type::kU8;
    return Type::kU32;
  }
  Argument Add(Datum datum);
  Argument AddBuffer(Type type, std::span<const std::byte> bytes);
  Argument AddResult(Argument index, Tolerance tolerance, bool keep_initial);
  Argument AddScratch(Argument index);
};

// Pseudo-random, the same on every machine.
std::vector<float> Floats(size_t count, uint32_t seed, float low = 0, float high = 1);
std::vector<double> Doubles(size_t count, uint32_t seed, double low = 0, double high = 1);
std::vector<uint32_t> Words(size_t count, uint32_t seed, uint32_t limit);  // 0 to limit - 1
std::vector<uint8_t> Bytes(size_t count, uint32_t seed);

inline uint32_t Blocks(size_t count, uint32_t threads) {
  return static_cast<uint32_t>((count + threads - 1) / threads);
}

}  // namespace ptx2cpu::suite
