// Findings of the checks `memory` and `leak` in calls that allocate and free (ask/checks_asker.cpp).
#include "runtime/cuda/driver/memory/checked_memory.h"

#include <boost/property_tree/json_parser.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

namespace {

std::string Ask(const std::string& name, const std::string& kinds, const std::string& more = "") {
  const ptx2cpu::test::Outcome outcome =
      ptx2cpu::test::RunShell("env CUDA_CACHE_DISABLE=1 PTX2CPU_CHECK=" + kinds + " " + more +
                                  " " PTX2CPU_BINARY_DIR "/bin/driver_checks_asker " + name,
                              100);
  const std::string end = outcome.code == 0 ? "" : "ended otherwise\n";
  return std::regex_replace(outcome.text, std::regex("0x[0-9a-f]+"), "0x") + end;
}

const std::string kCaller = "\n    by the call at driver_checks_asker+0x\n";

}  // namespace

TEST_CASE("an access to freed memory is named, and the address is not given out again at once") {
  const std::string text = Ask("use_after_free", "memory");
  INFO(text);
  const auto finding = [](const std::string& bytes) {
    return "ptx2cpu: check: use-after-free: write of 4 bytes at 0x: " + bytes +
           " at 0x, which have been freed, by thread (0,0,0) of block (0,0,0), kernel 'fill'\n"
           "    module:7:   st.global.u32 [%a], %r;\n";
  };
  CHECK(text.starts_with("allocated: launch 0 wait 0\nanother place\nnext: launch 0 wait 0\n" +
                         finding("40 bytes into 400 bytes") + "small: launch 0 wait 0\nlarge: launch 0"));
  CHECK(text.ends_with("ptx2cpu: check: 1 errors, found 192 times; 0 suppressed\n"));
  CHECK(Ask("use_after_free", "sync").find("use-after-free") == std::string::npos);
}

TEST_CASE("calls that free what is no allocation are findings") {
  const std::string text = Ask("bad_free", "memory");
  INFO(text);
  const std::string bad = "ptx2cpu: check: bad-free: ";
  CHECK(text == "first 0" + bad + "cuMemFree of 0x, which has been freed before" + kCaller + " again 1" +
                    bad + "cuMemFree of 0x, which is inside an allocation, not its beginning" + kCaller +
                    " inside 1" + bad +
                    "cuMemFreeHost of 0x, which is an allocation that another function frees" + kCaller +
                    " as of the host 1" + bad + "cuMemFreeAsync of 0x, which is no allocation" + kCaller +
                    " stack 1 second 0\nptx2cpu: check: 4 errors, found 4 times; 0 suppressed\n");
  CHECK(Ask("bad_free", "race") == "first 0 again 1 inside 1 as of the host 1 stack 1 second 0\n");
}

TEST_CASE("freed memory that is kept is given back where memory is short") {
  CHECK(Ask("many_freed", "memory") == "failed 0\n");
}

TEST_CASE("what is known of freed memory is bounded, however it was freed") {
  using namespace ptx2cpu::driver;
  CheckedMemory memory(true, false);
  const auto range = [](uintptr_t base, size_t size) {
    Range made;
    made.base = base, made.size = size;
    return made;
  };
  CHECK(memory.Freed(range(1 << 20, 100)).empty());
  for (uintptr_t n = 0; n < CheckedMemory::kMaxKnown + 1; ++n) memory.FreedToPool(range((n + 2) << 20, 100));
  CHECK(memory.Describe((2 << 20) + 8).empty());
  CHECK(memory.Describe((3 << 20) + 8) == "8 bytes into 100 bytes at 0x300000, which have been freed");
  CHECK(memory.Describe((1 << 20) + 99) == "99 bytes into 100 bytes at 0x100000, which have been freed");
  CHECK(memory.Freed(range(uintptr_t{1} << 40, CheckedMemory::kMaxKept)).size() == 1);  // the oldest
  CHECK(memory.Describe((1 << 20) + 99).empty());
  CHECK(memory.DropKept().size() == 1);
}

TEST_CASE("allocations that are never freed are leaks, by the call that made them") {
  const std::string text = Ask("leak", "leak");
  INFO(text);
  const std::string leak = "ptx2cpu: check: leak: ";
  for (const std::string bytes : {"4000", "256"})
    CHECK(text.find(leak + bytes + " bytes at 0x have not been freed" + kCaller) != std::string::npos);
  CHECK(text.ends_with("ptx2cpu: check: 2 errors, found 4 times; 0 suppressed\n"));
  const std::string reset = Ask("leak_of_context", "leak");
  INFO(reset);
  CHECK(reset.starts_with(leak + "4000 bytes at 0x have not been freed" + kCaller + "reset 0\n"));
  CHECK(Ask("leak", "memory").empty());
}

TEST_CASE("errors of the host are in the report files with the call") {
  const ptx2cpu::test::ScratchFolder folder;
  for (const std::string end : {"json", "sarif"}) {
    const std::string file = folder / ("findings." + end);
    Ask("bad_free", "memory", "PTX2CPU_CHECK_REPORT=" + file);
    std::ifstream in(file);
    std::stringstream report;
    report << in.rdbuf();
    INFO(report.str());
    const std::string call = end == "json" ? "\"caller\":\"driver_checks_asker+0x" : "\"locations\":[]";
    CHECK(report.str().find("bad-free") != std::string::npos);
    CHECK(report.str().find(call) != std::string::npos);
  }
}

TEST_CASE("what lies between the rows of pitched memory is out of bounds") {
  const std::string text = Ask("pitched_rows", "memory");
  INFO(text);
  CHECK(
      text ==
      "first: launch 0 wait 0\nlast: launch 0 wait 0\n"
      "ptx2cpu: check: out-of-bounds: write of 4 bytes at 0x: 256 bytes into row 2 of 256 bytes (pitch 512) "
      "at 0x, by thread (63,0,0) of block (0,0,0), kernel 'fill'\n    module:7:   st.global.u32 [%a], %r;\n"
      "beyond: launch 0 wait 0\nptx2cpu: check: 1 errors, found 1 times; 0 suppressed\n");
  CHECK(Ask("pitched_rows", "sync").find("out-of-bounds") == std::string::npos);
}

TEST_CASE("memory of the host is in bounds once it is registered") {
  const std::string text = Ask("host_memory", "memory");
  INFO(text);
  CHECK(
      text.starts_with("pageable memory: 0\nptx2cpu: check: out-of-bounds: write of 4 bytes at 0x, which no "
                       "allocation holds"));
  CHECK(text.ends_with(
      "registered: launch 0 wait 0\nptx2cpu: check: 1 errors, found 64 times; 0 suppressed\n"));
  CHECK(Ask("host_memory", "sync").starts_with("pageable memory: 1\n"));
}

TEST_CASE("memory that is freed in a stream may be accessed by what comes before in it") {
  const std::string text = Ask("freed_in_stream", "memory");
  INFO(text);
  CHECK(text.starts_with(
      "free 0 free 0 wait 0\nptx2cpu: check: use-after-free: write of 4 bytes at 0x: 0 bytes into 256 "
      "bytes at 0x, which have been freed"));
  CHECK(text.ends_with("late: wait 0\nptx2cpu: check: 1 errors, found 64 times; 0 suppressed\n"));
}

TEST_CASE("blocks of device malloc that are left when the process ends are a leak") {
  const std::string text = Ask("leak_of_device_heap", "leak");
  INFO(text);
  CHECK(text ==
        "kernel: launch 0 wait 0\n"
        "ptx2cpu: check: leak: 61 bytes of device malloc in 1 blocks have not been freed\n"
        "ptx2cpu: check: 1 errors, found 1 times; 0 suppressed\n");
}

TEST_CASE("an access beyond a row of an array is found, with kernel and line") {
  const std::string text = Ask("array_bounds", "memory");
  INFO(text);
  CHECK(text.starts_with("paint: launch 0 wait 0\nptx2cpu: check: "));
  CHECK(
      text.find("by thread (0,0,0) of block (0,0,0), kernel 'paint'\n    module:25:   sust.b.2d.b32.trap") !=
      std::string::npos);
}

TEST_CASE("reads of memory that nothing has written, where any writer may have written a part") {
  const std::string text = Ask("fresh_memory", "init");
  INFO(text);
  // Of a fresh word, of one with three bytes filled, with two copied, with one written by a kernel, of a copy
  // of a fresh one, and of memory of a pool and managed memory.
  CHECK(text.starts_with(
      "ptx2cpu: check: uninitialised: read of 4 bytes at 0x, which nothing has written, by"));
  CHECK(text.ends_with("ptx2cpu: check: 1 errors, found 7 times; 0 suppressed\n"));
}

TEST_CASE("a fault of the hardware has its line, and no thread where none is known") {
  for (const char* kinds : {"race", "memory"}) {
    const std::string text = Ask("wild_pointer", kinds);
    INFO(text);
    const std::string line = "kernel 'fill'\n    module:7:   st.global.u32 [%a], %r;\n";
    const size_t fault = text.find("ptx2cpu: check: fault: ");
    REQUIRE(fault != std::string::npos);
    CHECK(text.find(line, fault) != std::string::npos);
    const std::string report = text.substr(fault, text.find(", kernel 'fill'\n", fault) - fault);
    CHECK((report.ends_with(", by a thread of block (0,0,0)") ||
           report.ends_with(", by thread (0,0,0) of block (0,0,0)")));
  }
}

TEST_CASE("races are those of one launch: what other streams do at the same time is not compared") {
  const std::string text = Ask("two_streams", "memory,race");
  CHECK(text == "both: wait 0\nptx2cpu: check: 0 errors, found 0 times; 0 suppressed\n");
}

TEST_CASE("where JSON is wanted, standard error has one document of the findings and nothing else") {
  for (const char* name : {"bad_free", "wild_pointer", "leak", "two_streams"}) {
    const ptx2cpu::test::Outcome outcome = ptx2cpu::test::RunShell(
        std::string("sh -c 'env CUDA_CACHE_DISABLE=1 PTX2CPU_CHECK=memory,race,leak "
                    "PTX2CPU_CHECK_JSON=1 " PTX2CPU_BINARY_DIR "/bin/driver_checks_asker ") +
            name + " apart 2>&1 >/dev/null'",
        100);
    INFO(outcome.text);
    std::istringstream text(outcome.text);
    boost::property_tree::ptree tree;
    REQUIRE_NOTHROW(boost::property_tree::read_json(text, tree));
    CHECK(tree.size() == 1);
    CHECK(!tree.get_child("findings").empty());  // of two_streams: its leak
    CHECK(outcome.text.find("ptx2cpu: ") == std::string::npos);
  }
}
