// How long each part of compiling takes over the corpus, at -O1 and -O3, against loading a kept image:
// test_cache "[.benchmark]". PTX2CPU_MEASURE=FILE:FILE... measures other files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "lowering/compile.h"
#include "lowering/llvm/output/describe_kernel.h"
#include "lowering/llvm/output/jit.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/images.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/entry/entry_point_list.h"
#include "tests/cache/scratch.h"

using namespace ptx2cpu;

namespace {

double Milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::string> Files() {
  std::vector<std::string> files;
  if (const char* given = std::getenv("PTX2CPU_MEASURE")) {
    std::istringstream names(given);
    for (std::string name; std::getline(names, name, ':');) files.push_back(name);
    return files;
  }
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/corpus/bin")) {
    if (entry.path().extension() == ".fatbin") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

struct Times {
  std::string kernel;
  double build = 0, quick = 0, full = 0, load = 0;
  size_t instructions = 0;  // of the LLVM IR before optimisation
};

void Report(const char* what, std::vector<Times>& times, double Times::* part) {
  std::ranges::sort(times, std::less(), part);
  double sum = 0;
  for (const Times& one : times) sum += one.*part;
  const size_t n = times.size();
  std::printf("%-14s sum %9.1f  median %8.2f  90%% %8.2f  most %8.2f  %s\n", what, sum, times[n / 2].*part,
              times[n * 9 / 10].*part, times[n - 1].*part, times[n - 1].kernel.c_str());
}

}  // namespace

TEST_CASE("compile times", "[.benchmark]") {
  double parse = 0;
  size_t bytes = 0;
  std::vector<Times> times;
  for (const std::string& file : Files()) {
    auto extraction = ptx::ExtractFile(file);
    REQUIRE(extraction);
    auto images = ptx::PtxImages(*extraction);
    if (!images) continue;  // machine code only
    for (const ptx::PtxImage& image : *images) {
      Result<lowering::PtxModule> module = Fail(ErrorCode::kUsage, "");
      parse += Milliseconds([&] { module = lowering::PtxModule::Parse(image.text, file); });
      bytes += image.text.size();
      if (!module) continue;
      auto jit = lowering::Jit::Create({.entry_points = rt::EntryPoints()});
      REQUIRE(jit);
      for (const std::string& kernel : image.kernels) {
        Times one{std::filesystem::path(file).filename().string() + ":" + kernel};
        Result<ir::Module> built = Fail(ErrorCode::kUsage, "");
        lowering::BuildOptions options;
        options.pipeline.verify_each = false;
        one.build = Milliseconds([&] { built = module->Build(kernel, options); });
        if (!built) continue;
        const auto text = (*jit)->Explain(*built, kernel, lowering::Jit::Stage::kLlvm);
        if (text) one.instructions = static_cast<size_t>(std::ranges::count(*text, '\n'));
        Result<lowering::KernelImage> kept = Fail(ErrorCode::kUsage, "");
        one.quick = Milliseconds([&] { kept = (*jit)->Compile(*built, kernel, {.optimisation = 1}); });
        one.full = Milliseconds([&] { kept = (*jit)->Compile(*built, kernel, {.optimisation = 3}); });
        if (!kept || !(*jit)->Declare(lowering::DescribeVariables(*built))) continue;
        one.load = Milliseconds([&] { static_cast<void>((*jit)->Load(std::move(*kept))); });
        times.push_back(one);
      }
    }
  }
  REQUIRE_FALSE(times.empty());
  std::printf("%zu kernels; parsing %.1f ms for %zu bytes; milliseconds:\n", times.size(), parse, bytes);
  Report("IR and passes", times, &Times::build);
  Report("LLVM -O1", times, &Times::quick);
  Report("LLVM -O3", times, &Times::full);
  Report("load", times, &Times::load);
  std::ranges::sort(times, std::greater(), &Times::full);
  for (const Times& one : std::span(times).first(std::min<size_t>(times.size(), 24))) {
    std::printf("  %-60.60s %6zu instructions  build %8.1f  -O1 %8.1f  -O3 %8.1f  load %6.2f\n",
                one.kernel.c_str(), one.instructions, one.build, one.quick, one.full, one.load);
  }
}

TEST_CASE("hit times", "[.benchmark]") {
  const cache_test::Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  rt::ModuleOptions options;
  options.cache = &cache;
  options.quick_tier = false;
  std::vector<rt::PtxText> texts;
  for (const std::string& file : Files()) {
    auto sources = rt::SourcesInFile(file, 90);
    if (!sources) continue;
    for (rt::ModuleSource& source : *sources) {
      if (source.texts.size() == 1) texts.push_back(std::move(source.texts[0]));
    }
  }
  for (const char* what : {"compiled", "kept", "kept again"}) {
    double first = 0, others = 0;
    size_t modules = 0, kernels = 0, hits = 0;
    for (const rt::PtxText& text : texts) {
      const auto module = rt::KernelModule::Make({text}, options);
      bool is_first = true;
      for (const std::string& kernel : module->Kernels()) {
        Result<std::shared_ptr<const rt::KernelCode>> code = Fail(ErrorCode::kUsage, "");
        const double time = Milliseconds([&] { code = module->Compile(kernel); });
        if (!code) continue;
        hits += (*code)->from_cache();
        (is_first ? first : others) += time;
        ++(is_first ? modules : kernels);
        is_first = false;
      }
    }
    std::printf("%s (%zu hits): %zu modules' first kernels %.3f ms each, %zu others %.3f ms each\n", what,
                hits, modules, first / static_cast<double>(modules), kernels,
                others / static_cast<double>(std::max<size_t>(kernels, 1)));
  }
}
