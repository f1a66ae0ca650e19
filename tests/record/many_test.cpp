// The runs with thousands of cases, and what is kept of them.
#include "tools/record/many.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tools/record/generators.h"

using namespace ptx2cpu;

namespace {

constexpr const char* kText = R"(// row: add_half
// Written by make_vectors from the instruction table; do not edit.
// run: k block=256 compare=value out:f16:256 in:f16:gen(edges,256,1) in:f16:gen(edges,256,16)
// run: k block=64 compare=value out:f16:128 in:s16:gen(bits,64,7) in:f16:gen(uniform,128,1000,-8,8)
// run: half block=64 compare=near:0:2 out:f16:64 in:f16:gen(uniform,64,5,-8,8)
// run: sine block=64 compare=near:2e-6:0 out:f32:64 in:f32:gen(uniform,64,5,-6.2831853,6.2831853)
)";

}  // namespace

TEST_CASE("kernels of make_vectors have runs with thousands of cases") {
  const auto file = rt::ParseVectorFile(kText, "x.ptx");
  REQUIRE(file);
  const auto runs = rt::ManyRuns(*file);
  REQUIRE(runs);
  REQUIRE(runs->size() == 2 * rt::kManyBatches + 64);
  for (const rt::VectorRun& run : *runs) {
    const auto arguments = rt::ParseArguments(run);
    INFO(run.specs.back());
    REQUIRE(arguments);
    CHECK(arguments->front().count() == (run.kernel == "k" ? 2 : 1) * rt::kManyThreads);
    if (run.kernel == "half") {
      uint16_t first = 0;
      std::memcpy(&first, arguments->back().data.data(), sizeof(first));
      CHECK(first == run.number * rt::kManyThreads);
    }
    if (run.kernel == "sine") CHECK(run.specs[1].find("uniform") != std::string::npos);
  }
  CHECK((*runs)[0].specs[2] != (*runs)[1].specs[2]);

  auto by_hand = *file;
  by_hand.text = "// row: add_half\n";
  CHECK(rt::ManyRuns(by_hand)->empty());
  auto other = *file;
  other.runs.back().specs[1] = "u32:5";
  CHECK_FALSE(rt::ManyRuns(other));
}

TEST_CASE("a summary of results shows one that differs") {
  const rt::ScalarType& type = *rt::FindScalarType("f32");
  std::vector<std::byte> results = *rt::Generate(type, "uniform,1024,3,-8,8");
  const auto set = [&](size_t i, uint32_t bits) { std::memcpy(&results[i * 4], &bits, 4); };
  set(5, 0x7fc00000);
  const rt::VectorRule value{rt::VectorRule::Kind::kValue, 0, 0}, bits{},
      near{rt::VectorRule::Kind::kNear, 0, 2};
  const auto recorded = rt::Summary(value, type, results), of_bits = rt::Summary(bits, type, results);
  CHECK(recorded.size() == 4 * sizeof(uint32_t));
  set(5, 0xffc12345);
  CHECK_FALSE(rt::FindManyDifference(value, type, results, recorded));
  CHECK(rt::FindManyDifference(bits, type, results, of_bits));
  const auto whole = rt::Summary(near, type, results);
  CHECK(whole == results);
  uint32_t word = 0;
  std::memcpy(&word, &results[700 * 4], 4);
  set(700, word + 1);
  CHECK_FALSE(rt::FindManyDifference(near, type, results, whole));
  CHECK(rt::FindManyDifference(value, type, results, recorded)->find("512 to 767") != std::string::npos);
}
