// Running the interpreter in tests: one operation on constants, or a module given as text.
#pragma once

#include <bit>
#include <catch2/catch.hpp>  // before ir/result.h, which leaves Catch's CHECK as it is
#include <cstring>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/interpret/interpret.h"
#include "ir/text/text.h"
#include "ir/verify/verify.h"

namespace ptx2cpu::ir::interpret_test {

inline constexpr Type kI8 = Type::kI8, kI16 = Type::kI16, kI32 = Type::kI32, kI64 = Type::kI64,
                      kI128 = Type::kI128, kF16 = Type::kF16, kBF16 = Type::kBF16, kF32Type = Type::kF32,
                      kF64Type = Type::kF64;
inline constexpr Rounding kRn = Rounding::kNearestEven, kRz = Rounding::kTowardZero, kRm = Rounding::kDown,
                          kRp = Rounding::kUp;
inline constexpr uint64_t kInf = 0x7F800000, kMinusInf = 0xFF800000, kNan32 = 0x7FFFFFFF,
                          kMinusZero = 0x80000000;  // f32

struct Typed {
  Type type;
  uint64_t low;
  uint64_t high = 0;  // of i128
};

struct Bits2 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Bits2&, const Bits2&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Bits2& bits) {
  return out << std::hex << "0x" << bits.high << "'" << bits.low;
}

ValueId MakeConstant(Builder& b, const Typed& value);

// A kernel of one thread that evaluates the operation and stores every result into 16 bytes of a buffer.
std::vector<Bits2> EvaluateAll(Opcode op, Type type, Type from, const std::vector<Typed>& operands,
                               Attrs attrs = {}, uint32_t result_count = 1);

inline uint64_t Evaluate(Opcode op, Type type, const std::vector<Typed>& operands, Attrs attrs = {}) {
  return EvaluateAll(op, type, Type::kVoid, operands, attrs)[0].low;
}
inline uint64_t EvaluateFrom(Opcode op, Type type, Type from, const std::vector<Typed>& operands,
                             Attrs attrs = {}) {
  return EvaluateAll(op, type, from, operands, attrs)[0].low;
}

inline uint64_t F32(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t F64(double value) { return std::bit_cast<uint64_t>(value); }

// A module from text; its kernel @k gets the parameter buffer. Shared variables need their offsets in the
// text.
struct Program {
  enum class Law : uint8_t { kKept, kBroken };  // broken: for tests of the interpreter's errors
  explicit Program(const std::string& text, Law law = Law::kKept);

  template <typename T>
  void AddParam(const T& value) {
    size_t offset = (params.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    params.resize(offset + sizeof(T));
    std::memcpy(params.data() + offset, &value, sizeof(T));
  }
  template <typename T>
  void AddBuffer(std::vector<T>& buffer) {
    AddParam(reinterpret_cast<uint64_t>(buffer.data()));
    options.allowed.push_back({reinterpret_cast<std::byte*>(buffer.data()), buffer.size() * sizeof(T)});
  }
  Status Run();
  void RunOrFail();
  Error RunToError();

  Module module;
  ModuleStorage storage;
  std::vector<std::byte> params;
  InterpretOptions options;
};

// A kernel of one block with a buffer parameter %out; `body` ends the function.
std::string WithBuffer(const std::string& body, const std::string& before = {},
                       const std::string& header = {});
// The buffer after one block of `threads`.
std::vector<uint32_t> RunInts(const std::string& text, uint32_t threads, std::vector<uint32_t> buffer);

inline bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ptx2cpu::ir::interpret_test
