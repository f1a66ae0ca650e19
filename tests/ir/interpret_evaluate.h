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

inline ValueId MakeConstant(Builder& b, const Typed& value) {
  if (value.type != Type::kI128) return b.Const(value.type, value.low);
  return b.Pack(Type::kI128, {b.Const(Type::kI64, value.low), b.Const(Type::kI64, value.high)});
}

// A kernel of one thread that evaluates the operation and stores every result into 16 bytes of a buffer.
inline std::vector<Bits2> EvaluateAll(Opcode op, Type type, Type from, const std::vector<Typed>& operands,
                                      Attrs attrs = {}, uint32_t result_count = 1) {
  alignas(16) static std::byte buffer[16 * 16];
  std::memset(buffer, 0, sizeof buffer);
  Module module;
  module.functions.emplace_back();
  Function& f = module.functions.back();
  f.name = "evaluate";
  f.is_kernel = true;
  f.entry = AddBlock(f);
  Builder b{f, f.entry, {}};
  std::vector<ValueId> values;
  for (const Typed& operand : operands) values.push_back(MakeConstant(b, operand));
  std::vector<ValueId> results = f.at_inst(b.Make(op, type, values, attrs, from, result_count)).results;
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId address = b.Const(Type::kI64, reinterpret_cast<uint64_t>(buffer + 16 * i));
    b.Store(f.type_of(results[i]), Space::kGlobal, address, {results[i]});
  }
  b.Ret();
  if (Status legal = Verify(module); !legal) FAIL(legal.error().Render());
  ModuleStorage storage(module);
  InterpretOptions options;
  options.allowed = {std::span(buffer)};
  Status status = Interpret(module, f, storage, {}, options);
  if (!status) FAIL(status.error().Render());
  std::vector<Bits2> out(results.size());
  for (size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], buffer + 16 * i, 16);
  return out;
}

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
  explicit Program(const std::string& text, Law law = Law::kKept)
      : module(ParseOrFail(text)), storage(module) {
    Status legal = Verify(module);
    if (law == Law::kKept && !legal) FAIL(legal.error().Render());
  }

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
  Status Run() { return Interpret(module, *module.FindFunction("k"), storage, params, options); }
  void RunOrFail() {
    if (Status status = Run(); !status) FAIL(status.error().Render());
  }
  Error RunToError() {
    Status status = Run();
    if (status) {
      FAIL("the kernel was expected to fault");
      return {};
    }
    return status.error();
  }

  static Module ParseOrFail(const std::string& text) {
    Result<Module> module = Parse("module \"test.ptx\" ptx 8.0 sm 90\n" + text, "test.ir");
    if (!module) FAIL(module.error().Render());
    Module result = std::move(*module);
    for (const Variable& v : result.variables) {
      if (v.space == Space::kShared && v.size != 0) {
        result.static_shared_bytes =
            std::max(result.static_shared_bytes, static_cast<uint32_t>(v.shared_offset + v.size));
      }
    }
    return result;
  }

  Module module;
  ModuleStorage storage;
  std::vector<std::byte> params;
  InterpretOptions options;
};

inline bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ptx2cpu::ir::interpret_test
