// The devices as environment variables make them: number, order, capability, loading mode.
#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/run_shell.h"

using namespace ptx2cpu::test;

namespace {

std::string Ask(const std::string& environment, const std::string& argument = "") {
  const std::string command = "env -u CUDA_VISIBLE_DEVICES -u PTX2CPU_DEVICES " + environment + " " +
                              PTX2CPU_BINARY_DIR + "/bin/driver_environment_asker " + argument;
  const Outcome outcome = RunShell(command, 60);
  CHECK(outcome.code == 0);
  return outcome.text;
}

std::string LineOf(const std::string& text, int line) {
  size_t begin = 0;
  for (int i = 0; i < line; ++i) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

bool Begins(const std::string& text, const std::string& with) { return text.substr(0, with.size()) == with; }

}  // namespace

TEST_CASE("one device, of compute capability 9.0, with a multiprocessor per worker, loads lazily") {
  const std::string answer = Ask("PTX2CPU_THREADS=3");
  CHECK(LineOf(answer, 0) == "init 0 devices 1 mode 2");
  CHECK(Begins(LineOf(answer, 1), "bus 1 capability 9.0 multiprocessors 3 uuid "));
  CHECK(LineOf(answer, 1).find(" name ptx2cpu (") != std::string::npos);
}

TEST_CASE("a program that is bound to one processor sees one multiprocessor") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);  // as taskset does
  const std::string answer = Ask("-u PTX2CPU_THREADS -u OMP_PROC_BIND");
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(LineOf(answer, 1).find("multiprocessors 1 ") != std::string::npos);
}

TEST_CASE("PTX2CPU_DEVICES and CUDA_VISIBLE_DEVICES: how many, which, in which order") {
  CHECK(Begins(Ask("PTX2CPU_DEVICES=4"), "init 0 devices 4"));
  CHECK(Begins(Ask("PTX2CPU_DEVICES=0"), "init 100 devices 0"));
  CHECK(Begins(Ask("CUDA_VISIBLE_DEVICES="), "init 100 devices 0"));
  CHECK(Begins(Ask("CUDA_VISIBLE_DEVICES=-1"), "init 100 devices 0"));
  const std::string two = Ask("PTX2CPU_DEVICES=4 CUDA_VISIBLE_DEVICES=2,0,9,1");
  CHECK(Begins(two, "init 0 devices 2"));
  CHECK(Begins(LineOf(two, 1), "bus 3 "));
  CHECK(Begins(LineOf(two, 2), "bus 1 "));
  CHECK(Begins(Ask("PTX2CPU_DEVICES=4 CUDA_VISIBLE_DEVICES=1,1"), "init 0 devices 1"));
  CHECK(Begins(Ask("PTX2CPU_DEVICES=4 CUDA_VISIBLE_DEVICES=0,,1"), "init 0 devices 1"));
}

TEST_CASE("a device can be asked for by its UUID or the first digits of it") {
  const std::string all = Ask("PTX2CPU_DEVICES=3");
  const std::string line = LineOf(all, 3);
  const std::string digits = line.substr(line.find("uuid ") + 5, 32);
  const std::string uuid = digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) +
                           "-" + digits.substr(16, 4) + "-" + digits.substr(20);
  CHECK(Begins(LineOf(Ask("PTX2CPU_DEVICES=3 CUDA_VISIBLE_DEVICES=GPU-" + uuid), 1), "bus 3 "));
  CHECK(
      Begins(LineOf(Ask("PTX2CPU_DEVICES=3 CUDA_VISIBLE_DEVICES=GPU-" + digits.substr(0, 8)), 1), "bus 3 "));
  CHECK(Begins(Ask("PTX2CPU_DEVICES=3 CUDA_VISIBLE_DEVICES=GPU-00000000"), "init 100 "));
}

TEST_CASE("the reported capability and the loading mode can be chosen; invalid values are reported") {
  CHECK(LineOf(Ask("PTX2CPU_COMPUTE_CAPABILITY=8.6"), 1).find("capability 8.6 ") != std::string::npos);
  CHECK(LineOf(Ask("PTX2CPU_COMPUTE_CAPABILITY=121"), 1).find("capability 12.1 ") != std::string::npos);
  const std::string nonsense = Ask("PTX2CPU_COMPUTE_CAPABILITY=fast");
  CHECK(nonsense.find("not 'fast'") != std::string::npos);
  CHECK(nonsense.find("capability 9.0 ") != std::string::npos);
  CHECK(Begins(Ask("CUDA_MODULE_LOADING=EAGER"), "init 0 devices 1 mode 1"));
}

TEST_CASE("CUDA_LAUNCH_BLOCKING makes a launch return the fault of its kernel") {
  CHECK(Ask("CUDA_LAUNCH_BLOCKING=0", "trap").find("launch 0 synchronise 719") != std::string::npos);
  CHECK(Ask("CUDA_LAUNCH_BLOCKING=1", "trap").find("launch 719 synchronise 719") != std::string::npos);
  CHECK(Ask("CUDA_MODULE_LOADING=EAGER", "trap").find("launch 0 synchronise 719") != std::string::npos);
}

TEST_CASE("a child forked after cuInit has no driver, its parent still does") {
  CHECK(Ask("", "fork") == "child: init 3 count 3\nparent: init 0 count 0\n");
}

TEST_CASE("a child forked with work in flight is refused everything and ends; its parent's work is done") {
  CHECK(Ask("", "busy_fork") == "child: 3 3 3 3 3\nchild ended 0, parent: 0, all added\n");
}

TEST_CASE(
    "machine code without PTX: the program's log explains what to do, and stderr if it has none, once") {
  const std::string answer = Ask("", "cubin");
  const std::string
      first =
          "with log 209\nptx2cpu: error: module is sm_90 machine code (a cubin), without PTX\n  load PTX: ",
      last = "\nwithout 209\nwithout 209\n";
  CHECK(Begins(answer, first));
  CHECK(answer.substr(answer.size() - std::min(answer.size(), last.size())) == last);
  CHECK(answer.find("ptx2cpu:", first.find("ptx2cpu:") + 1) == std::string::npos);
}

TEST_CASE("two devices are each other's peers, once") {
  CHECK(Ask("PTX2CPU_DEVICES=2", "peers") == "peers 1: 705 0 704 0 705\n");
}
