// The kernels of tools/bench/suite compute what the C++ versions compute; and the comparison finds what is
// wrong.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "runtime/abi/check.h"
#include "tools/bench/suite/ablation.h"
#include "tools/bench/suite/check_cost.h"
#include "tools/bench/suite/report.h"

using namespace ptx2cpu;
using namespace ptx2cpu::suite;

namespace {

// A part of the kernels between two edits: compiling all of them takes some seconds.
constexpr size_t kQuickStep = 4;

}  // namespace

TEST_CASE("kernels of the suite compute the same as C++ and OpenCL, on one thread and on all") {
  Setting setting{.suite = PTX2CPU_SUITE_DIR};
  if (const auto opencl = OpenCl::Open()) setting.opencl = *opencl;
  const size_t step = std::getenv("PTX2CPU_QUICK_TESTS") != nullptr ? kQuickStep : 1;
  for (size_t i = 0; i < Rows().size(); i += step) {
    for (const bool all_threads : {false, true}) {
      const Status status = Check(Rows()[i], Size::kSmall, all_threads, setting);
      INFO(Rows()[i].name << (status ? "" : ": " + status.error().Render()));
      CHECK(status);
    }
  }
}

TEST_CASE("kernels of the suite compute the same with both sides held to AVX2") {
  const Setting setting{.suite = PTX2CPU_SUITE_DIR, .held = Held::kV3};
  if (Rows()[0].openmp[static_cast<size_t>(setting.held)].plain == nullptr) {
    WARN("no x86-64");
    return;
  }
  REQUIRE(setenv("PTX2CPU_TARGET", "x86-64-v3", 1) == 0);
  for (size_t i = 1; i < Rows().size(); i += 2 * kQuickStep) {
    const Status status = Check(Rows()[i], Size::kSmall, false, setting);
    INFO(Rows()[i].name << (status ? "" : ": " + status.error().Render()));
    CHECK(status);
  }
  unsetenv("PTX2CPU_TARGET");
}

TEST_CASE("rows of the suite have names of their own, launches and results") {
  std::set<std::string_view> names;
  for (const Row& row : Rows()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    const Problem problem = row.problem(Size::kSmall);
    CHECK_FALSE(problem.launches.empty());
    CHECK_FALSE(problem.Results().empty());
    CHECK_FALSE(problem.size.empty());
  }
}

TEST_CASE("a comparison of results finds one wrong element and allows what the tolerance allows") {
  Problem problem;
  const Argument exact = problem.Out<uint32_t>(3), near = problem.Out<float>(3, {.relative = 0.1}),
                 shared = problem.Out<uint32_t>(10, {.share = 0.1});
  auto* words = reinterpret_cast<uint32_t*>(problem.data[exact].buffer->data());
  auto* floats = reinterpret_cast<float*>(problem.data[near].buffer->data());
  auto* others = reinterpret_cast<uint32_t*>(problem.data[shared].buffer->data());
  words[1] = 7, floats[2] = 10;
  const std::vector<std::byte> expected = problem.Results();
  CHECK(problem.Compare(expected));
  floats[2] = 10.9f;
  CHECK(problem.Compare(expected));
  floats[2] = 11.1f;
  CHECK_FALSE(problem.Compare(expected));
  floats[2] = std::nanf("");
  CHECK_FALSE(problem.Compare(expected));
  floats[2] = 10, words[1] = 8;
  CHECK_FALSE(problem.Compare(expected));
  words[1] = 7, others[4] = 1;
  CHECK(problem.Compare(expected));
  others[5] = 1;
  CHECK_FALSE(problem.Compare(expected));
}

TEST_CASE("what a kernel leaves unwritten is found, also where zero is expected") {
  const Problem problem = Rows()[0].problem(Size::kSmall);
  const std::vector<std::byte> zeros(problem.Results().size());
  CHECK(problem.Compare(zeros));
  problem.Clear();
  CHECK_FALSE(problem.Compare(zeros));
}

TEST_CASE("a report holds ratios, the lower roof and a chart") {
  Report report{.machine = "m", .date = "d", .command = "bench", .chart = "", .limits = {}, .measured = {}};
  report.limits[0] = {.copy_bytes = 10e9, .floats = 100e9, .doubles = 50e9};
  Measured measured{.row = &Rows()[0], .size = "1", .bytes = 1e9, .flops = 1e9};
  measured.figures[0] = {.seconds = 0.2};
  measured.figures[1] = {.seconds = 0.1};
  measured.figures[2] = {.seconds = 0.4};
  report.measured.push_back(measured);
  CHECK(*measured.Ratio(Who::kOpenMp) == Approx(0.5));
  CHECK_FALSE(measured.Ratio(Who::kOpenCl).has_value());
  CHECK(measured.MemoryBound(report.limits[0]));
  CHECK(measured.Share(report.limits[0]) == Approx(0.5));
  CHECK(Summary(report, false).find("openmp / ours: geometric mean 0.50") != std::string::npos);
  CHECK(Markdown(report).find("| 0.50 | 2.00 | - | 50 % copy |") != std::string::npos);
  CHECK(Markdown(report).find("![") == std::string::npos);
  report.chart = "chart.svg";
  CHECK(Markdown(report).find("](chart.svg)") != std::string::npos);
  CHECK(Json(report).find("\"share\": 0.5000") != std::string::npos);
  CHECK(Chart(report).find(">2.00</title>") != std::string::npos);
  CHECK(GeometricMean(std::vector<double>{0.5, 8}) == Approx(2));
}

TEST_CASE("what checks find must be what the table lists, and nothing else") {
  const auto named = [](std::string_view name) { return *std::ranges::find(Rows(), name, &Row::name); };
  const auto found = [&](std::string_view name, std::vector<std::string_view> errors, uint32_t kinds) {
    return static_cast<bool>(CheckFound(named(name), errors, kinds));
  };
  CHECK(found("vecadd", {}, PTX2CPU_CHECKS_RACE));
  CHECK_FALSE(found("vecadd", {"race"}, PTX2CPU_CHECKS_RACE));
  CHECK(found("bfs", {"race", "race"}, PTX2CPU_CHECKS_RACE));
  CHECK_FALSE(found("bfs", {"race", "out-of-bounds"}, PTX2CPU_CHECKS_RACE));
  CHECK_FALSE(found("bfs", {}, PTX2CPU_CHECKS_RACE));
  CHECK(found("bfs", {}, PTX2CPU_CHECKS_MEMORY));
}

TEST_CASE("what a pass gains is measured where it changes code, for passes that code is right without") {
  const auto all = PassesNamed("all");
  REQUIRE(all);
  CHECK(std::ranges::count(*all, "share-slots") == 1);
  CHECK(std::ranges::count(*all, "jam-rows") == 1);
  CHECK(std::ranges::count(*all, "collapse") == 0);
  CHECK(PassesNamed("jam-rows,share-slots")->size() == 2);
  CHECK_FALSE(PassesNamed("collapse"));
  CHECK_FALSE(PassesNamed("jam-rows,none"));
  const auto row = std::ranges::find(Rows(), std::string_view("reduce_shared"), &Row::name);
  const auto changing = PassesThatChange(*row, PTX2CPU_SUITE_DIR);
  REQUIRE(changing);
  CHECK(changing->contains("merge-slots"));
  CHECK_FALSE(changing->contains("collapse"));
  Setting setting{.suite = PTX2CPU_SUITE_DIR, .omit = *changing->begin()};
  const Status same = Check(*row, Size::kSmall, false, setting);
  INFO((same ? "" : same.error().Render()));
  CHECK(same);
  Measured measured{.row = &*row};
  measured.figures[static_cast<size_t>(Who::kOurs)] = Figures{.seconds = 1};
  measured.figures[static_cast<size_t>(Who::kWithout)] = Figures{.seconds = 2};
  const std::vector<Gain> gains{{"jam-rows", measured}};
  const std::string page = GainMarkdown({}, *all, gains);
  CHECK(page.find("| `jam-rows` | 1 | 2.00 | `reduce_shared` 2.00 | - |") != std::string::npos);
  CHECK(page.find("| `share-slots` | 0 | - | - | - |") != std::string::npos);
}
