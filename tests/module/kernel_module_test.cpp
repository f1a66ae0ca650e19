// KernelModule: kernels compiled once, variables without compiling, storage bound by the caller, places of
// faults.
#include "runtime/engine/kernel_module.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

using namespace ptx2cpu;

namespace {

constexpr const char* kHeader = ".version 8.3\n.target sm_90\n.address_size 64\n";

std::shared_ptr<rt::KernelModule> ModuleOf(const std::string& body) {
  return rt::KernelModule::Make({{kHeader + body, "test.ptx"}});
}

// out[0] = the variable.
std::string Reader(const std::string& kernel, const std::string& space, const std::string& variable) {
  return ".visible .entry " + kernel +
         "(.param .u64 out)\n{\n  .reg .b64 %p, %v;\n  ld.param.u64 %p, [out];\n  ld." + space +
         ".u64 %v, [" + variable + "];\n  st.global.u64 [%p], %v;\n  ret;\n}\n";
}

uint64_t Run(const rt::KernelCode& code, uint64_t argument = 0) {
  uint64_t result = 0;
  struct {
    uint64_t* out;
    uint64_t argument;
  } params{&result, argument};
  const auto bytes = std::as_bytes(std::span(&params, 1));
  const auto fault =
      rt::Launch(code.kernel(), {{1, 1, 1}, {1, 1, 1}}, bytes.first(code.kernel().parameter_bytes));
  if (fault) FAIL(fault->message);
  return result;
}

template <typename T>
T Must(Result<T> result) {
  if (!result) FAIL(result.error().Render());
  return *std::move(result);
}

uint64_t Word(std::span<std::byte> storage) {
  uint64_t word;
  std::memcpy(&word, storage.data(), 8);
  return word;
}

}  // namespace

TEST_CASE("variables have storage and first contents before any kernel is compiled") {
  const auto module = ModuleOf(
      ".global .u64 answer = 42;\n.const .u32 table[4] = {1, 2, 3};\n.global .u64 where = answer;\n.extern "
      ".global .u64 elsewhere;\n" +
      Reader("broken", "global", "answer, 1"));  // never parsed as a kernel that works
  CHECK_FALSE(module->Check());
  const auto good = ModuleOf(
      ".global .u64 answer = 42;\n.const .u32 table[4] = {1, 2, 3};\n.global .u64 where = answer;\n"
      ".extern .global .u64 elsewhere;\n" +
      Reader("read", "global", "answer"));
  const auto answer = Must(good->Variable("answer"));
  CHECK(answer.size() == 8);
  CHECK(Word(answer) == 42);
  CHECK(Must(good->Variable("table")).size() == 16);
  CHECK(Word(Must(good->Variable("where"))) == reinterpret_cast<uint64_t>(answer.data()));
  CHECK(good->Variable("elsewhere").error().code == ErrorCode::kNotFound);
  CHECK(good->Variable("nothing").error().code == ErrorCode::kNotFound);
  const uint64_t changed = 7;
  std::memcpy(answer.data(), &changed, 8);
  CHECK(Run(*Must(good->Compile("read"))) == 7);
  const auto all = Must(good->Variables());
  REQUIRE(all.size() == 4);
  CHECK(all[1].is_constant);
  CHECK(all[3].is_extern);
}

TEST_CASE("the caller's storage receives the first contents and is what kernels read") {
  const auto module = ModuleOf(
      ".visible .global .attribute(.managed) .align 8 .u64 shared_word = 5;\n.extern .global .u64 given;\n" +
      Reader("read", "global", "shared_word") + Reader("read_given", "global", "given"));
  CHECK(Must(module->Variables())[0].is_managed);
  uint64_t mine = 99, given = 123;
  REQUIRE(module->Bind("shared_word", reinterpret_cast<std::byte*>(&mine)));
  REQUIRE(module->Bind("given", reinterpret_cast<std::byte*>(&given)));
  CHECK(reinterpret_cast<uint64_t*>(Must(module->Variable("shared_word")).data()) == &mine);
  CHECK(mine == 5);
  mine = 6;
  CHECK(Run(*Must(module->Compile("read"))) == 6);
  CHECK(Run(*Must(module->Compile("read_given"))) == 123);
  CHECK(module->Bind("shared_word", reinterpret_cast<std::byte*>(&given)).error().code == ErrorCode::kUsage);
}

TEST_CASE("a table of functions can be read although no kernel names it") {
  const std::string functions =
      ".func (.param .b64 r) twice(.param .b64 a)\n{\n  .reg .b64 %a;\n  ld.param.u64 %a, [a];\n  add.u64 "
      "%a, %a, %a;\n"
      "  st.param.u64 [r], %a;\n  ret;\n}\n.global .u64 table[1] = {twice};\n";
  const std::string caller =
      ".visible .entry call(.param .u64 out, .param .u64 f)\n{\n  .reg .b64 %p, %f, %v;\n  ld.param.u64 %p, "
      "[out];\n  ld.param.u64 %f, [f];\n"
      "  mov.u64 %v, 21;\n  { .param .b64 x; .param .b64 y; st.param.b64 [x], %v;\n  proto: .callprototype "
      "(.param .b64 _) _ (.param .b64 _);\n"
      "  call (y), %f, (x), proto;\n  ld.param.b64 %v, [y]; }\n  st.global.u64 [%p], %v;\n  ret;\n}\n";
  const auto module = ModuleOf(functions + caller);
  const uint64_t function = Word(Must(module->Variable("table")));
  REQUIRE(function != 0);
  CHECK(Run(*Must(module->Compile("call")), function) == 42);
}

TEST_CASE("however many threads ask, a kernel is compiled once, and errors stay the same") {
  const auto module = ModuleOf(
      ".global .u64 answer = 42;\n" + Reader("one", "global", "answer") + Reader("two", "global", "answer") +
      ".visible .entry bad()\n{\n  call missing;\n  ret;\n}\n.extern .func missing;\n");
  std::vector<std::thread> threads;
  std::vector<const ptx2cpu_kernel*> kernels(8);
  for (size_t i = 0; i < kernels.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto code = module->Compile(i % 2 == 0 ? "one" : "two");
      if (code) kernels[i] = &(*code)->kernel();
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(kernels[0] != nullptr);
  REQUIRE(kernels[1] != nullptr);
  for (size_t i = 2; i < kernels.size(); ++i) CHECK(kernels[i] == kernels[i % 2]);
  const auto first = module->Compile("bad"), second = module->Compile("bad");
  REQUIRE_FALSE(first);
  REQUIRE_FALSE(second);
  CHECK(first.error().message == second.error().message);
  CHECK(module->Compile("none").error().code == ErrorCode::kNotFound);
}

TEST_CASE("code keeps its module alive, and a fault is found in PTX and source") {
  std::shared_ptr<const rt::KernelCode> code;
  {
    const auto module = ModuleOf(
        ".visible .entry boom(.param .u64 out)\n{\n  .reg .b64 %p; .reg .b32 %t;\n  .loc 1 17 3\n  mov.u32 "
        "%t, %tid.x;\n"
        "  mul.wide.u32 %p, %t, 64;\n  .loc 1 18 3\n  st.global.u64 [%p+16], %p;\n  ret;\n}\n.file 1 "
        "\"boom.cu\"\n");
    code = Must(module->Compile("boom"));
  }
  const uint64_t argument = 0;
  const auto fault =
      rt::Launch(code->kernel(), {{1, 1, 1}, {1, 1, 1}}, std::as_bytes(std::span(&argument, 1)));
  REQUIRE(fault);
  const rt::FaultPlace place = code->module().Locate(*fault);
  CHECK(place.file == "test.ptx");
  CHECK(place.line == 11);
  CHECK(place.excerpt == "  st.global.u64 [%p+16], %p;");
  CHECK(place.source_file == "boom.cu");
  CHECK(place.source_line == 18);
}

TEST_CASE("relocatable modules are one: each kernel of either finds what the other defines") {
  const auto module = rt::KernelModule::Make(
      {{std::string(kHeader) + ".extern .global .u64 word;\n" + Reader("first", "global", "word"), "a.ptx"},
       {std::string(kHeader) + ".visible .global .u64 word = 11;\n" + Reader("second", "global", "word"),
        "b.ptx"}});
  CHECK(module->Kernels() == std::vector<std::string>{"first", "second"});
  CHECK(Run(*Must(module->Compile("second"))) == 11);
  const uint64_t changed = 12;
  std::memcpy(Must(module->Variable("word")).data(), &changed, 8);
  CHECK(Run(*Must(module->Compile("first"))) == 12);
  CHECK(module->ptx_version() == 83);
  CHECK(module->target() == 90);
}
