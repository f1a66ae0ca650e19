// The services of a context for kernels: limits, the heap of malloc, printf. With two devices, so in a
// process of its own.
#include <catch2/catch.hpp>
#include <string>

#include "tests/run_shell.h"

using namespace ptx2cpu::test;

namespace {

std::string Ask(const std::string& what) {
  const std::string command = std::string("env -u CUDA_VISIBLE_DEVICES PTX2CPU_DEVICES=2 ") +
                              PTX2CPU_BINARY_DIR + "/bin/driver_services_asker " + what;
  const Outcome outcome = RunShell(command, 60, Streams::kOutput);
  CHECK(outcome.code == 0);
  return outcome.text;
}

}  // namespace

TEST_CASE("each context has its own heap of device malloc and its own limits; kernels know their device") {
  CHECK(Ask("heap") ==
        "device 0 heap 4194304 stack 1024\n"
        "device 1 heap 8388608 stack 1024\n"
        "device 0 heap 8388608 stack 4096\n"
        "5 MiB: null, then 6 MiB: null\n"
        "5 MiB: memory, then 6 MiB: null\n"
        "5 MiB: memory, then 6 MiB: null\n"
        "limit: 1\n");
}

TEST_CASE("resetting a device empties its heap and sets back its limits, and no other device's") {
  CHECK(Ask("reset") ==
        "3 MiB more: null null\n"
        "limits after the reset: 8388608 4194304\n"
        "7 MiB after the reset: memory\n"
        "of the other device: null, and what it has holds 77\n");
}

TEST_CASE("device memory of one context's heap cannot be freed in another's") {
  CHECK(Ask("foreign") == "free on the other device: 700\nfree where it belongs: 0\n");
}

TEST_CASE("kernels of two devices print in order") {
  CHECK(Ask("print") == "1 2\n1 1\n2 5\n2 4\n2 3\n2 2\n2 1\n3 5\n3 4\n3 3\n3 2\n3 1\n4 1\n");
}

TEST_CASE("a context keeps as much of what kernels print as its limit allows") {
  const std::string text = Ask("much");
  const auto lines = [&](char who) {
    size_t count = text.front() == who ? 1 : 0;
    for (size_t at = 0; (at = text.find(std::string("\n") + who + ' ', at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  CHECK(lines('1') == 99'999);
  CHECK(lines('2') < 99'999);
  CHECK(lines('2') >= (512 << 10) / 8);
  CHECK(text.find("limit: 1") != std::string::npos);
}

TEST_CASE("the stack of a thread is bounded as on an H200") {
  CHECK(Ask("stack") == "stack 16\nstack 4096\nlimit: 1\nstack 4096\n");
}
