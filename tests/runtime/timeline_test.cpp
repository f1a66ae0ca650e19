// The tracks of workers in a timeline. What API calls and streams write: tests/programs.
#include "runtime/timeline/timeline.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/launch/launch.h"
#include "runtime/worker/thread_pool.h"

using namespace ptx2cpu::rt;

namespace {

void Count(ptx2cpu_block* block) {
  std::atomic<uint32_t>* count;
  std::memcpy(&count, block->params, sizeof count);
  count->fetch_add(1);
}

void Fault(ptx2cpu_block* block) { ptx2cpu_fault(block, PTX2CPU_FAULT_TRAP, 0, 1); }

ptx2cpu_kernel MakeKernel(const char* name, ptx2cpu_block_function function) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = name;
  kernel.run_block = function;
  kernel.parameter_bytes = sizeof(void*);
  return kernel;
}

// Bars of the group "Workers" (process 3 of the trace) with this name.
size_t BarsOfWorkers(const std::filesystem::path& file, const std::string& name) {
  std::ifstream in(file);
  size_t bars = 0;
  for (std::string line; std::getline(in, line);) {
    const auto has = [&](const std::string& text) { return line.find(text) != std::string::npos; };
    bars += has("\"ph\":\"X\"") && has("\"pid\":3,") && has("\"name\":\"" + name + "\"");
  }
  return bars;
}

}  // namespace

TEST_CASE("a timeline has a bar for each worker's share of a launch") {
  std::atomic<uint32_t> count = 0;
  auto* pointer = &count;
  const auto params = std::as_bytes(std::span(&pointer, 1));
  REQUIRE_FALSE(Launch(MakeKernel("unseen", Count), {{8, 1, 1}, {32, 1, 1}}, params));
  const auto file = std::filesystem::temp_directory_path() /
                    ("ptx2cpu_worker_tracks_" + std::to_string(getpid()) + ".json");
  timeline::Start(file.string());
  REQUIRE_FALSE(Launch(MakeKernel("plain", Count), {{1000, 1, 1}, {32, 1, 1}}, params));
  REQUIRE_FALSE(Launch(MakeKernel("clusters", Count), {{8, 1, 1}, {32, 1, 1}, 0, {2, 1, 1}}, params));
  REQUIRE(Launch(MakeKernel("faulting", Fault), {{1, 1, 1}, {32, 1, 1}}, params));
  CHECK(count == 1016);

  const size_t workers = ThreadPool::Get().size();
  for (const char* name : {"plain", "clusters", "faulting"}) {
    INFO(name);
    const size_t bars = BarsOfWorkers(file, name);
    CHECK(bars >= 1);
    CHECK(bars <= workers + 1);  // and the thread that launched
  }
  CHECK(BarsOfWorkers(file, "unseen") == 0);
  std::filesystem::remove(file);
}
