// Runs a kernel written in PTX through parse, match, translate, verify and the interpreter.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interpret/interpret.h"
#include "ir/text/text.h"
#include "ir/verify/verify.h"
#include "ptx-parser/parse/parse.h"
#include "ptx-parser/translate/translate.h"

namespace ptx2cpu::ptx::test {

inline std::string Header(std::string_view body) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + std::string(body);
}

// A kernel `k` of one pointer parameter: %rd1 is the buffer, %r0 tid.x.
inline std::string Kernel(std::string_view body, std::string_view before = {}) {
  return Header(std::string(before) +
                ".visible .entry k(.param .u64 p) {\n"
                ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .f32 %f<12>; .reg .b64 %rd<16>; "
                ".reg .f64 %fd<8>;\n"
                "ld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\n" +
                std::string(body) + "\nret;\n}\n");
}

inline ir::Module TranslateText(std::string text, std::string_view kernel = "k") {
  Result<ast::Module> tree = Parse(std::move(text), "test.ptx");
  if (!tree) FAIL(tree.error().Render());
  Result<ir::Module> module = Translate(*tree, kernel);
  if (!module) FAIL(module.error().Render());
  Status status = ir::Verify(*module);
  if (!status) FAIL(status.error().Render() << "\n" << ir::Print(*module));
  return std::move(*module);
}

inline Error TranslateError(std::string text, std::string_view kernel = "k") {
  Result<ast::Module> tree = Parse(std::move(text), "test.ptx");
  if (!tree) FAIL(tree.error().Render());
  Result<ir::Module> module = Translate(*tree, kernel);
  if (module) FAIL("translated, but should not:\n" << ir::Print(*module));
  return module.error();
}

// Runs kernel `k`, whose one parameter is the address of `buffer`.
template <typename T>
std::vector<T> Run(const std::string& text, std::vector<T> buffer, uint32_t threads = 1,
                   uint32_t blocks = 1) {
  ir::Module module = TranslateText(text);
  ir::ModuleStorage storage(module);
  T* address = buffer.data();
  std::vector<std::byte> params(8);
  std::memcpy(params.data(), &address, 8);
  ir::InterpretOptions options;
  options.grid.x = blocks;
  options.block.x = threads;
  options.instruction_limit = 10'000'000;
  Status status = ir::Interpret(module, module.functions[0], storage, params, options);
  if (!status) FAIL(status.error().Render() << "\n" << ir::Print(module));
  return buffer;
}

}  // namespace ptx2cpu::ptx::test
