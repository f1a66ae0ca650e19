// The line on standard error, asked of a process of its own.
#include "runtime/engine/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/scratch_folder.h"

using namespace ptx2cpu;
namespace fs = std::filesystem;

namespace {

void Compile(std::chrono::milliseconds time) {
  {
    const rt::CompileProgress quick("quick_kernel");
  }
  const rt::CompileProgress slow("slow_kernel");
  std::this_thread::sleep_for(time);
}

// A process of its own that compiles; its standard error goes to a file, or what else has a name.
int RunCompiling(const char* tag, const std::string& environment, const std::string& errors) {
  const std::string self = fs::read_symlink("/proc/self/exe");
  return std::system(("env -u PTX2CPU_PROGRESS " + environment + " '" + self + "' '" + tag +
                      "' > /dev/null 2> '" + errors + "'")
                         .c_str());
}

class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    REQUIRE(master_ >= 0);
    REQUIRE(grantpt(master_) == 0);
    REQUIRE(unlockpt(master_) == 0);
    name_ = ptsname(master_);
    slave_ = open(name_.c_str(), O_RDWR | O_NOCTTY);  // kept open, so that nothing written is lost
    REQUIRE(slave_ >= 0);
  }
  ~Terminal() {
    close(slave_);
    close(master_);
  }
  const std::string& name() const { return name_; }
  std::string Written() const {
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = read(master_, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(got));
    return text;
  }

 private:
  int master_, slave_ = -1;
  std::string name_;
};

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

// Called by the next ones.
TEST_CASE("compiles for long", "[.long]") { Compile(std::chrono::milliseconds(3500)); }
TEST_CASE("compiles for very long", "[.longer]") { Compile(std::chrono::milliseconds(12000)); }

TEST_CASE(
    "on a terminal one line names what is compiled for more than two seconds, and goes when it is done") {
  const Terminal terminal;
  CHECK(RunCompiling("[.long]", "", terminal.name()) == 0);
  const std::string text = terminal.Written(), clear = "\r\033[K";
  INFO(text);
  const std::string line = clear + "ptx2cpu: compiling slow_kernel (1 done, ";
  CHECK(text.starts_with(line + "2 s)"));
  CHECK(Count(text, line) >= 2);  // it is written over
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.ends_with(")" + clear));  // nothing is left of it when the process ends
}

TEST_CASE("without a terminal there is one line, after ten seconds") {
  if (std::getenv("PTX2CPU_QUICK_TESTS") != nullptr) return;
  const test::ScratchFolder folder;
  const auto text = [&](const char* name) {
    std::ifstream in(folder / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  int shorter = -1;
  std::thread other([&] { shorter = RunCompiling("[.long]", "", folder / "shorter"); });
  CHECK(RunCompiling("[.longer]", "", folder / "longer") == 0);
  other.join();
  CHECK(shorter == 0);
  CHECK(text("shorter").empty());
  CHECK(text("longer").starts_with("ptx2cpu: compiling slow_kernel (1 done, 10 s)\n"));
  CHECK(Count(text("longer"), "\n") == 1);
}

TEST_CASE("a line names what is compiled for more than two seconds, if requested") {
  const test::ScratchFolder folder;
  const auto run = [&](const char* wanted) {
    return RunCompiling("[.long]", "PTX2CPU_PROGRESS=" + std::string(wanted), folder / wanted);
  };
  int silent = -1;
  std::thread other([&] { silent = run("0"); });
  CHECK(run("1") == 0);
  other.join();
  CHECK(silent == 0);
  const auto text = [&](const char* name) {
    std::ifstream in(folder / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(text("1").starts_with("ptx2cpu: compiling slow_kernel (1 done, "));
  CHECK(text("0").empty());
}
