#include "tests/ir/interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {
namespace {

Module ParseLaidOut(const std::string& text) {
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

}  // namespace

ValueId MakeConstant(Builder& b, const Typed& value) {
  if (value.type != Type::kI128) return b.Const(value.type, value.low);
  return b.Pack(Type::kI128, {b.Const(Type::kI64, value.low), b.Const(Type::kI64, value.high)});
}

std::vector<Bits2> EvaluateAll(Opcode op, Type type, Type from, const std::vector<Typed>& operands,
                               Attrs attrs, uint32_t result_count) {
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

Program::Program(const std::string& text, Law law) : module(ParseLaidOut(text)), storage(module) {
  Status legal = Verify(module);
  if (law == Law::kKept && !legal) FAIL(legal.error().Render());
}

Status Program::Run() { return Interpret(module, *module.FindFunction("k"), storage, params, options); }

void Program::RunOrFail() {
  if (Status status = Run(); !status) FAIL(status.error().Render());
}

Error Program::RunToError() {
  Status status = Run();
  if (status) {
    FAIL("the kernel was expected to fault");
    return {};
  }
  return status.error();
}

std::string WithBuffer(const std::string& body, const std::string& before, const std::string& header) {
  return before + "kernel @k (out: i64 @0) phase simt" + (header.empty() ? " {\n" : header) +
         "^entry:\n  %base = param_base\n  %out = load i64 param %base\n" + body + "}\n";
}

std::vector<uint32_t> RunInts(const std::string& text, uint32_t threads, std::vector<uint32_t> buffer) {
  Program program(text);
  program.options.block = {threads, 1, 1};
  program.AddBuffer(buffer);
  program.RunOrFail();
  return buffer;
}

}  // namespace ptx2cpu::ir::interpret_test
