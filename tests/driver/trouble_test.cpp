// Programs under bad conditions get an error or notice nothing; their process continues.
#include <catch2/catch.hpp>
#include <cerrno>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "ir/result.h"
#include "runtime/cuda/driver/core/exports.h"
#include "tests/driver/driver_session.h"
#include "tests/run_shell.h"
#include "tests/sanitized.h"

// These programs have a pthread_create of their own, fault handlers and small stacks, which sanitizers do not
// allow.
#ifndef PTX2CPU_TEST_SANITIZED

namespace {

// Standard output, then the exit status where it is not 0.
std::string Ask(const std::string& name, const std::string& environment = "",
                const std::string& program = PTX2CPU_BINARY_DIR "/bin/driver_trouble_asker") {
  const ptx2cpu::test::Outcome outcome =
      ptx2cpu::test::RunShell("env CUDA_CACHE_DISABLE=1 " + environment + " " + program + " " + name, 100,
                              ptx2cpu::test::Streams::kOutput);
  return outcome.code == 0 ? outcome.text : outcome.text + "exit status " + std::to_string(outcome.code);
}

const std::string kSum = "launch 0 wait 0 sum 64000\n";

}  // namespace

TEST_CASE("where no thread can be made, a launch is an error and the rest works") {
  CHECK(Ask("no_threads") == "load 0\nallocate 0\nlaunch 304\n");
}

TEST_CASE("where few threads can be made, there are fewer workers") {
  const std::string text = Ask("few_threads", "PTX2CPU_THREADS=16");
  INFO(text);
  CHECK(text.find("load 0\n" + kSum) != std::string::npos);
  CHECK(text.find("multiprocessors 16") == std::string::npos);
}

// From what the loader and the libraries need on: a right sum, or an error that is named.
TEST_CASE("little address space: an error that is named, or the result") {
  const std::string text = Ask("little_address_space");
  INFO(text);
  const std::regex good("launch 0 wait 0 sum 64000"), named("load 2 |launch (2|304|701) wait 0 sum 0$");
  size_t runs = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++runs) {
    INFO(line);
    const bool is_good = std::regex_search(line, good);
    CHECK((is_good || std::regex_search(line, named)));
    if (line.starts_with("1024 MB")) CHECK(is_good);
  }
  CHECK(runs == 13);
}

// As a user or a batch system sets it: the loader, the libraries and the compiler share it.
TEST_CASE("200 MB of address space from the program's start: an error that is named, or the result") {
  for (const int megabytes : {150, 200, 250, 300, 2048}) {
    const ptx2cpu::test::Outcome outcome =
        ptx2cpu::test::RunShell("sh -c 'ulimit -v " + std::to_string(megabytes * 1024) +
                                    "; exec env CUDA_CACHE_DISABLE=1 PTX2CPU_THREADS=2 " PTX2CPU_BINARY_DIR
                                    "/bin/driver_trouble_asker small_stack'",
                                100, ptx2cpu::test::Streams::kOutput);
    INFO(megabytes << " MB: " << outcome.text);
    CHECK(outcome.code == 0);
    const std::regex good("load 0\nlaunch 0 wait 0 sum 64000\n"),
        named("load (0|2)\nlaunch (2|304|400|701) wait 0 sum 0\n");
    const bool is_good = std::regex_match(outcome.text, good);
    CHECK((is_good || std::regex_match(outcome.text, named)));
    if (megabytes == 2048) CHECK(is_good);
  }
}

TEST_CASE("large arrays that no program writes take no memory, and one of 1 TiB ends no process") {
  CHECK(Ask("huge_array") == "1099511627776: an answer\n1073741824: an answer\nlittle memory\n");
}

TEST_CASE("what lies around an allocation may be read, as on a GPU; checks of bounds are an option") {
  const std::string done = "launch 0 wait 0\n";
  CHECK(Ask("out_of_bounds").starts_with("load 0\n" + done + done));
  const std::string text = Ask("out_of_bounds", "PTX2CPU_CHECK_BOUNDS=1");
  INFO(text);
  // The end of a small allocation is rounded up, a large one ends where it ends.
  CHECK(text.starts_with("load 0\n" + done + done + "ptx2cpu: kernel 'peek', block (0,0,0)"));
  const std::regex fault(
      "bad address 0x[0-9a-f]+: [0-9]+ bytes after allocation 0x[0-9a-f]+ of 4194304 bytes\n"
      "  module:18: *ld.volatile.global.u32 %r, \\[%a\\];\n");
  CHECK(std::regex_search(text, fault));
  CHECK(text.ends_with("launch 0 wait 700\n"));
}

TEST_CASE("a fault in a program that blocks all signals is error 700") {
  CHECK(Ask("blocked_signals") == "load 0\n" + kSum + "launch 0 wait 700 handled 0\nstill blocked 1\n");
  CHECK(Ask("blocked_signals", "CUDA_LAUNCH_BLOCKING=1") ==
        "load 0\n" + kSum + "launch 700 wait 700 handled 0\nstill blocked 1\n");
}

TEST_CASE("a handler installed after CUDA sees the program's faults and none of a kernel") {
  CHECK(Ask("own_handlers") == "load 0\n" + kSum + "launch 0 wait 700 handled 0\nhandled 2\n");
}

TEST_CASE("exec: a handler that is installed while a kernel runs sees none of its faults") {
  CHECK(Ask("own_handlers_during_kernel", "PTX2CPU_THREADS=2 " PTX2CPU_BINARY_DIR "/bin/ptx2cpu exec --") ==
        "load 0\nlaunch 0 wait 700 handled 0 own 1\nhandled 1\nexit status 139");
}

TEST_CASE(
    "a program linked to CUDA: a handler that is installed while a kernel runs sees none of its faults") {
  CHECK(Ask("own_handlers_during_kernel", "PTX2CPU_THREADS=2") ==
        "load 0\nlaunch 0 wait 700 handled 0 own 1\nhandled 1\nexit status 139");
}

// What a Python program does: neither it nor the C library's names know of CUDA.
TEST_CASE("a library that a program opens: a handler that is installed while a kernel runs sees no fault") {
  const std::string opener =
      PTX2CPU_BINARY_DIR "/bin/driver_opener " PTX2CPU_BINARY_DIR "/lib/libdriver_trouble_library.so";
  CHECK(Ask("own_handlers_during_kernel", "PTX2CPU_THREADS=2", opener) ==
        "load 0\nlaunch 0 wait 700 handled 0 own 1\nhandled 1\nexit status 139");
  CHECK(Ask("own_handlers", "", opener) == "load 0\n" + kSum + "launch 0 wait 700 handled 0\nhandled 2\n");
  CHECK(Ask("chained_handlers", "", opener) == kSum + kSum + kSum + "passed on 3 times\n");
}

TEST_CASE("handlers that pass faults on to those before them do not call each other for ever") {
  CHECK(Ask("chained_handlers") == kSum + kSum + kSum + "passed on 3 times\n");
}

TEST_CASE("kernels compile on a thread with a small stack") {
  CHECK(Ask("small_stack") == "load 0\n" + kSum);
}

TEST_CASE("the program's alternate stack may be small or absent") {
  CHECK(Ask("own_alternate_stack") == "load 0\n" + kSum + kSum + "launch 0 wait 700 handled 0\n");
}

TEST_CASE("calls from destructors of thread-locals and statics and from exit handlers work as before") {
  CHECK(Ask("late") == "load 0\n" + kSum +
                           "thread-local destructor: 0 0 0 0 0 0 same\n"
                           "exit handler: 0 0 0 0 0 0 same\n"
                           "static destructor: 0 0 0 0 0 0 same\n");
}

#endif

TEST_CASE("what is thrown inside a call is the call's error") {
  using namespace ptx2cpu::cuda;
  const ptx2cpu::api::FunctionInfo info{"cuTrouble", ""};
  const auto result = [&](auto body) {
    return ptx2cpu::api::Call(info, [&]() -> CUresult {
      body();
      return CUDA_SUCCESS;
    });
  };
  CHECK(result([] { throw std::bad_alloc(); }) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(result([] { throw std::system_error(EAGAIN, std::generic_category()); }) ==
        CUDA_ERROR_OPERATING_SYSTEM);
  CHECK(result([] { throw std::logic_error("a mistake"); }) == CUDA_ERROR_UNKNOWN);
  CHECK(result([] { throw 7; }) == CUDA_ERROR_UNKNOWN);
  CHECK(result([] { ptx2cpu::CheckFailed("one == two", "here.cpp", 7, "Why."); }) == CUDA_ERROR_UNKNOWN);
  CHECK(result([] {}) == CUDA_SUCCESS);
}

TEST_CASE("a cooperative grid is at most the occupancy times the multiprocessors") {
  using namespace driver_test;
  const Session session;
  CUmodule module;
  CUfunction bump;
  CUdeviceptr word;
  REQUIRE(cuModuleLoadData(&module, kBump.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&bump, module, "bump") == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&word, 4) == CUDA_SUCCESS);
  int multiprocessors = 0;
  REQUIRE(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) ==
          CUDA_SUCCESS);
  for (const unsigned threads : {32u, 256u, 1024u}) {
    INFO(threads);
    int blocks = 0;
    REQUIRE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bump, static_cast<int>(threads), 0) ==
            CUDA_SUCCESS);
    const auto most = static_cast<unsigned>(blocks * multiprocessors);
    unsigned n = 1;
    void* parameters[] = {&word, &n};
    CHECK(cuLaunchCooperativeKernel(bump, most, 1, 1, threads, 1, 1, 0, nullptr, parameters) == CUDA_SUCCESS);
    CHECK(cuLaunchCooperativeKernel(bump, most + 1, 1, 1, threads, 1, 1, 0, nullptr, parameters) ==
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  }
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(word) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}
