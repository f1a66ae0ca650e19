// The line on standard error, asked of a process of its own.
#include "runtime/engine/progress.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

using namespace ptx2cpu;
namespace fs = std::filesystem;

// Called by the next one.
TEST_CASE("compiles for long", "[.long]") {
  {
    const rt::CompileProgress quick("quick_kernel");
  }
  const rt::CompileProgress slow("slow_kernel");
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
}

TEST_CASE("a line names what is compiled for more than two seconds, if requested") {
  std::string folder = (fs::temp_directory_path() / "ptx2cpu_progress_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string self = fs::read_symlink("/proc/self/exe");
  const auto run = [&](const char* wanted) {
    const std::string command = "PTX2CPU_PROGRESS=" + std::string(wanted) + " '" + self +
                                "' '[.long]' > /dev/null 2> '" + folder + "/" + wanted + "'";
    return std::system(command.c_str());
  };
  int silent = -1;
  std::thread other([&] { silent = run("0"); });
  CHECK(run("1") == 0);
  other.join();
  CHECK(silent == 0);
  const auto text = [&](const char* name) {
    std::ifstream in(folder + "/" + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(text("1").starts_with("ptx2cpu: compiling slow_kernel (1 done, "));
  CHECK(text("0").empty());
  fs::remove_all(folder);
}
