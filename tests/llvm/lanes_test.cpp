// Code of single lanes as vectors of every width and as loops, against the interpretation of the kernel as it
// was translated.
#include <chrono>
#include <cstdlib>

#include "ir/verify/verify.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/lane_kernel.h"
#include "tests/passes/kernel_run.h"
#include "tests/quick.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;

namespace {

struct Engine {
  std::string name;
  std::shared_ptr<lowering::Jit> jit;
};

Engine MakeEngine(const harness::VectorForm& form, int optimisation,
                  lowering::ThreadIds ids = lowering::ThreadIds::kBoth) {
  auto options = harness::OptionsFor(form, optimisation);
  REQUIRE(options);
  options->entry_points = llvm_test::EntryPoints();
  options->thread_ids = ids;
  options->debug_info = false;
  auto jit = lowering::Jit::Create(std::move(*options));
  REQUIRE(jit);
  return {harness::NameOf(form) + ", -O" + std::to_string(optimisation), std::move(*jit)};
}
Engine MakeEngine(uint32_t width, int optimisation, lowering::ThreadIds ids = lowering::ThreadIds::kBoth) {
  return MakeEngine(harness::VectorForm{width}, optimisation, ids);
}

using Shape = std::array<uint32_t, 3>;
const std::vector<Shape> kLines = {{1, 1, 1}, {32, 1, 1}, {77, 1, 1}};
const std::vector<Shape> kShapes = {{1, 1, 1}, {32, 1, 1}, {77, 1, 1}, {9, 5, 2}, {40, 3, 1}, {3, 11, 2}};

Result<std::vector<uint32_t>> RunCompiled(const ptx2cpu_kernel& kernel, const Shape& block, uint32_t n) {
  std::vector<uint32_t> data(test::kDataWords);
  for (uint32_t i = 0; i < test::kDataWords; ++i) data[i] = (i * 2654435761u) >> 20;  // as RunKernel
  std::byte params[16] = {};
  uint32_t* address = data.data();
  std::memcpy(params, &address, 8);
  std::memcpy(params + 8, &n, 4);
  auto error = rt::Launch(kernel, {{test::kGrid, 1, 1}, {block[0], block[1], block[2]}, 0},
                          std::span(params).first(kernel.parameter_bytes), {.max_workers = 1});
  if (error) return Fail(ErrorCode::kFault, error->message);
  return data;
}

// False when something differs, which has been reported.
bool Same(const ir::Module& source, const ir::Module& collapsed, const Engine& engine,
          const std::string& what, const std::vector<Shape>& shapes = kLines) {
  auto compiled = engine.jit->Add(collapsed);
  if (!compiled) {
    FAIL_CHECK(what << ", " << engine.name << ": " << compiled.error().Render() << ir::Print(collapsed));
    return false;
  }
  for (const Shape& block : shapes) {
    for (uint32_t n : {0u, 5u}) {
      test::Outcome expected = test::RunKernel(source, *source.FindFunction("k"), block, n);
      if (!expected.status) {
        FAIL_CHECK(what << ": " << expected.status.error().Render() << ir::Print(source));
        return false;
      }
      auto actual = RunCompiled(*compiled->kernel, block, n);
      INFO(what << ", " << engine.name << ", block " << block[0] << "x" << block[1] << "x" << block[2]
                << ", n = " << n);
      if (!actual) {
        FAIL_CHECK(actual.error().Render() << ir::Print(collapsed));
        return false;
      }
      for (size_t i = 0; i < actual->size(); ++i) {
        if ((*actual)[i] == expected.data[i]) continue;
        FAIL_CHECK("word " << i << " is " << (*actual)[i] << ", expected " << expected.data[i] << "\n"
                           << ir::Print(source));
        return false;
      }
    }
  }
  return true;
}

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

namespace {

// Seeds from 1 on (PTX2CPU_RANDOM_SEED, _COUNT) until the time is over; each with one engine, a single one
// with all.
void TryRandomKernels(llvm_test::Blocks blocks, lowering::CollapseForm form,
                      const std::vector<Shape>& shapes) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Engine> engines{MakeEngine(32, 1), MakeEngine(32, 3),
                              MakeEngine(32, 0, lowering::ThreadIds::kAnyShape)};
  for (const harness::VectorForm& form : harness::kVectorForms)
    engines.push_back(MakeEngine(form, static_cast<int>(engines.size() % 2)));
  const uint64_t first = Number("PTX2CPU_RANDOM_SEED", 1), count = Number("PTX2CPU_RANDOM_COUNT", 0);
  auto run = [&](uint64_t seed, bool all_engines) {
    ir::Module source = llvm_test::LaneKernel(seed, blocks);
    Status legal = ir::Verify(source, source.functions[0]);
    if (!legal) FAIL(legal.error().Render() << ir::Print(source));
    Result<ir::Module> collapsed = test::After(source, "", form);
    if (!collapsed) FAIL(collapsed.error().Render() << ir::Print(source));
    bool same = true;
    for (uint64_t i = 0; i < std::size(engines); ++i) {
      if (all_engines || i == seed % std::size(engines))
        same &= Same(source, *collapsed, engines[i], "seed " + std::to_string(seed), shapes);
    }
    return same;
  };
  const uint64_t least = test::IsQuick() ? std::size(engines) : 16;
  uint64_t done = 0;
  for (; done < (count != 0 ? count : 60); ++done) {
    if (count == 0 && done >= least &&
        (test::IsQuick() || std::chrono::steady_clock::now() - start > std::chrono::milliseconds(8000)))
      break;
    if (!run(first + done, count == 1)) break;
  }
  CHECK((count != 0 || done >= least));
}

}  // namespace

TEST_CASE("random code of lanes gives the same as vectors and as loops") {
  TryRandomKernels(llvm_test::Blocks::kLine, lowering::CollapseForm::kHierarchical, kLines);
}

TEST_CASE("random code of threads gives the same as rows of vectors and as loops") {
  TryRandomKernels(llvm_test::Blocks::kAnyShape, lowering::CollapseForm::kFlat, kShapes);
}

// LLVM 19's InstCombine makes x of this x / x, where x is (0, 1, 2 ...) in some lanes and 0 in others: no
// division of vectors may reach it.
TEST_CASE("lanes divide what a mask has chosen") {
  ir::Module module = test::ParseModule(R"(module "lanes" sm 80
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %0 = param_base
  %1 = load i64 param %0
  %2 = const i64 0x8
  %3 = add i64 %0, %2
  %4 = load i32 param %3
  %5 = special i32 laneid
  %6 = special i32 tid.x
  %7 = const i32 0x0
  %8 = icmp i32 ult %6, %4
  cond_br %8, ^b1, ^b2(%7)
^b1:
  br ^b2(%5)
^b2(%9: i32):
  %10 = div_u i32 %9, %9
  %11 = zext i64 from i32 %6
  %12 = const i64 0x4
  %13 = mul i64 %11, %12
  %14 = add i64 %1, %13
  store i32 global %14, %10
  ret
}
)");
  Result<ir::Module> collapsed = test::After(module, "", lowering::CollapseForm::kHierarchical);
  REQUIRE(collapsed);
  for (const Engine& engine : {MakeEngine(32, 1), MakeEngine(32, 3), MakeEngine(1, 3)})
    CHECK(Same(module, *collapsed, engine, "division"));
}
