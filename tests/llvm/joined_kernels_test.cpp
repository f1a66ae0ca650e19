// Kernels that share most of what they call are one code with several entries: each computes what it does
// alone, in the interpreter after every pass and as machine code.
#include "tests/llvm/joined_kernels.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "ir/interpret/interpret.h"
#include "ir/verify/verify.h"
#include "lowering/compile.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kDepth = 3;
const uint32_t kThreads = test::IsQuick() ? 34 : 64;  // a warp and a part of one, two warps
const std::vector<std::string> kNames = {"b", "c", "shared", "wide", "shaped", "large", "unknown"};

ir::Module Joined(const std::string& stop_after = "") {
  static const auto module = lowering::PtxModule::Parse(JoinedKernels(), "joined.ptx");
  REQUIRE(module);
  lowering::BuildOptions options;
  options.together = kNames;
  options.pipeline.stop_after = stop_after;
  options.pipeline.verify_each = true;
  auto built = module->Build("a", options);
  if (!built) FAIL(built.error().Render());
  return *std::move(built);
}

std::vector<std::string> EntriesOf(const ir::Module& module) {
  std::vector<std::string> names;
  for (const uint32_t n : module.functions[0].entries) names.push_back(module.functions[n].name);
  return names;
}

harness::KernelCall Call() {
  harness::KernelCall call{{2, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  std::string zeros = "0";
  for (uint32_t i = 1; i < kThreads; ++i) zeros += ",0";
  for (const std::string& spec : {"inout:u32:[" + zeros + "]", "u32:" + std::to_string(kDepth)}) {
    auto argument = rt::ParseSpec(spec);
    if (!argument) FAIL(argument.error().Render());
    call.arguments.push_back(*std::move(argument));
  }
  return call;
}

const std::vector<std::byte>& Alone(const std::string& kernel) {
  static std::map<std::string, std::vector<std::byte>> results;
  const auto [result, is_new] = results.try_emplace(kernel);
  if (!is_new) return result->second;
  const BuiltKernel module = BuildKernel(JoinedKernels(), kernel);
  harness::KernelCall call = Call();
  const Status status = harness::RunInterpreter(module, call);
  if (!status) FAIL(status.error().Render());
  return result->second = call.arguments[0].data;
}

std::vector<std::byte> Interpreted(const ir::Module& module, uint32_t number) {
  harness::KernelCall call = Call();
  ir::ModuleStorage storage(module);
  const ir::Function& kernel = module.functions[0];
  const auto params = harness::PackParameters(kernel.params, kernel.param_bytes, call);
  REQUIRE(params);
  ir::InterpretOptions options{.grid = call.grid, .block = call.block, .kernel_number = number};
  const Status status = ir::Interpret(module, kernel, storage, *params, options);
  if (!status) FAIL(status.error().Render());
  return call.arguments[0].data;
}

}  // namespace

TEST_CASE("kernels with the same parameters and shared variables that add little are joined", "[joined]") {
  const ir::Module module = Joined("join-kernels");
  CHECK(EntriesOf(module) == std::vector<std::string>{"a", "b", "c"});
  CHECK(std::ranges::count_if(module.functions,
                              [](const ir::Function& f) { return f.is_kernel && !f.is_declaration; }) == 1);
  // A small shared part is copied: each kernel alone.
  const auto small = lowering::PtxModule::Parse(JoinedKernels(100), "small.ptx");
  REQUIRE(small);
  lowering::BuildOptions options;
  options.together = kNames;
  const auto built = small->Build("a", options);
  REQUIRE(built);
  CHECK(built->functions[0].entries.empty());
}

TEST_CASE("joined kernels compute after each pass what they do alone", "[joined]") {
  const std::vector<std::byte> alone[] = {Alone("a"), Alone("b"), Alone("c")};
  CHECK(alone[0] != alone[1]);
  CHECK(alone[1] != alone[2]);
  test::Sample sample(5);  // the first and the last
  for (const char* stage :
       {"join-kernels", "inline-calls", "flatten-calls", "simplify", "join-neighbouring-accesses", ""}) {
    if (sample.Skips()) continue;
    const ir::Module module = Joined(stage);
    for (uint32_t number = 0; number < 3; ++number) {
      INFO(stage << " " << number);
      CHECK(Interpreted(module, number) == alone[number]);
    }
  }
}

TEST_CASE("the images of joined kernels run one object", "[joined]") {
  const std::vector<std::byte> alone[] = {Alone("a"), Alone("b"), Alone("c")};
  const ir::Module module = Joined();
  test::Sample sample(2);
  for (const int level : {1, 3}) {
    if (sample.Skips()) continue;
    auto jit = lowering::Jit::Create({.entry_points = EntryPoints(), .optimisation = level});
    REQUIRE(jit);
    std::vector<lowering::KernelImage> others;
    lowering::Jit::CompileOptions options;
    options.others = &others;
    auto first = (*jit)->Compile(module, "a", options);
    if (!first) FAIL(first.error().Render());
    REQUIRE(others.size() == 2);
    std::vector<lowering::KernelImage> images = {*first, others[0], others[1]};
    for (uint32_t number = 0; number < 3; ++number) {
      const std::string name = EntriesOf(module)[number];
      CHECK(images[number].name == name);
      CHECK(images[number].serves_all_shapes);
      const auto loaded = (*jit)->Load(lowering::WithCommonOf(*first, images[number]));
      if (!loaded) FAIL(loaded.error().Render());
      harness::KernelCall call = Call();
      const Status status = harness::RunDescriptor(*loaded->kernel, module.functions[0].params, call, 2);
      if (!status) FAIL(status.error().Render());
      CHECK(call.arguments[0].data == alone[number]);
    }
  }
}
