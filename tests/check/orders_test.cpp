// Planted dependences on the order of blocks, warps and lanes (orders/*.ptx) and their mended twins: some
// order gives other memory than index order does, and none for the twins; a seed is one order.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "runtime/engine/ptx2cpu.h"
#include "runtime/scheduler/random_order.h"

using namespace ptx2cpu;
namespace fs = std::filesystem;

namespace {

constexpr size_t kBytes = 4096;
constexpr uint64_t kOrders = 12;
using Memory = std::vector<uint32_t>;

Memory RunIn(std::optional<uint64_t> order, const Kernel& kernel) {
  Memory memory(kBytes / sizeof(uint32_t));
  Shape shape{{4, 1, 1}, {64, 1, 1}};
  shape.max_workers = 1;
  shape.order = order;
  const Status status = kernel.Launch(shape, memory.data());
  if (!status) FAIL(status.error().Render());
  return memory;
}

}  // namespace

TEST_CASE("check: other orders of blocks, warps and lanes find results that depend on them, and no others") {
  size_t kernels = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/check/orders")) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const auto program = Program::FromPtx(text.str(), file.path().filename().string(),
                                          {.opt_level = 1, .checks = false, .any_order = true});
    REQUIRE(program);
    for (const std::string& name : program->KernelNames()) {
      INFO(name);
      const auto kernel = program->Get(name);
      if (!kernel) FAIL(kernel.error().Render());
      const Memory expected = RunIn(std::nullopt, *kernel);
      CHECK((RunIn(std::nullopt, *kernel) == expected));
      size_t differ = 0;
      for (uint64_t seed = 1; seed <= kOrders; ++seed) {
        const Memory memory = RunIn(seed, *kernel);
        differ += memory == expected ? 0 : 1;
        if (seed == 3) CHECK((RunIn(seed, *kernel) == memory));
      }
      CHECK((differ != 0) == name.starts_with("faulty_"));
      ++kernels;
    }
  }
  CHECK(kernels == 34);
}

TEST_CASE("check: a permutation has each number once, also of counts that are no power of two") {
  for (const uint64_t count :
       {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{63}, uint64_t{64}, uint64_t{1000}, uint64_t{4097}}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const rt::Permutation permutation(seed, count);
      std::vector<bool> seen(count);
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t at = permutation(i);
        REQUIRE(at < count);
        CHECK(!seen[at]);
        seen[at] = true;
      }
    }
  }
}
