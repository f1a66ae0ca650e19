// Loops that wait for another block's store end, whatever way that takes to their branches.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

using namespace ptx2cpu;

TEST_CASE("a block waits through memory for one that the same worker runs", "[tool][waits]") {
  struct Kernel {
    std::string name;
    int threads, result;
  };
  const test::ScratchFolder scratch;
  std::ofstream(scratch.path() / "flags", std::ios::binary) << std::string(256, '\0');
  const std::string run = PTX2CPU_BINARY_DIR
                          "/bin/ptx2cpu run " PTX2CPU_SOURCE_DIR
                          "/tests/tool/waits_through_memory.ptx --threads 1 --grid 2 --arg inout:u32:@" +
                          scratch / "flags" + " --arg out:u32:64";
  for (const auto& [name, threads, result] :
       {Kernel{"counted", 64, 64}, Kernel{"in_local", 64, 1}, Kernel{"in_global", 64, 1},
        Kernel{"by_address", 64, 1}, Kernel{"copied", 64, 1}, Kernel{"matrix", 32, 1},
        Kernel{"by_call", 64, 1}, Kernel{"by_plain_call", 64, 1}}) {
    std::string expected = R"("values": [)";
    for (int n = 0; n < 64; ++n) expected += (n == 0 ? "" : ", ") + std::to_string(n < threads ? result : 0);
    for (const char* form : {"", " --width 1", " --exec lanes", " --interpret"}) {
      INFO(name << form);
      const std::string shape = " --kernel " + name + " --block " + std::to_string(threads);
      const test::Outcome outcome = test::RunShell(run + shape + form, 60);
      INFO(outcome.text);
      CHECK(outcome.code == 0);
      CHECK(outcome.text.find(R"("arg": 1, "type": "u32", )" + expected) != std::string::npos);
    }
  }
}
