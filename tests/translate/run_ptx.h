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
std::string Kernel(std::string_view body, std::string_view before = {});

ir::Module TranslateText(std::string text, std::string_view kernel = "k");

Error TranslateError(std::string text, std::string_view kernel = "k");

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
