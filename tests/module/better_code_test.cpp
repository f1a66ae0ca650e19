// Which thread compiles the better code of a kernel, and when a launch gets it.
#include "runtime/engine/better_code.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using namespace ptx2cpu;

namespace {

constexpr int64_t kExpected = 1000;  // nanoseconds

// A kernel's quick code, and better code that is there once it is compiled.
struct Fixture {
  ptx2cpu_kernel quick = {}, good = {};
  std::atomic<const ptx2cpu_kernel*> code = &quick;
  std::atomic<int> compiled = 0;
  rt::BetterCode better{code,
                        [this](const std::atomic<bool>&) {
                          ++compiled;
                          code = &good;
                        },
                        kExpected};
};

}  // namespace

TEST_CASE("a launch that has run quick code for as long as compiling takes gets better code", "[better]") {
  Fixture f;
  CHECK(f.better.Newest(kExpected - 1) == &f.quick);
  CHECK(f.compiled == 0);
  CHECK(f.better.Newest(kExpected) == &f.good);
  CHECK(f.compiled == 1);
  CHECK(f.better.is_over());
}

TEST_CASE("times of earlier launches count", "[better]") {
  Fixture f;
  f.better.AddTime(kExpected / 2);
  CHECK_FALSE(f.better.IsDue());
  CHECK(f.better.Newest(kExpected / 2 - 1) == &f.quick);
  CHECK(f.better.Newest(kExpected / 2) == &f.good);
}

TEST_CASE("of the workers that ask, one compiles; the others continue", "[better]") {
  Fixture f;
  std::vector<std::thread> workers;
  for (int n = 0; n < 8; ++n) {
    workers.emplace_back([&f] {
      while (f.better.Newest(kExpected) != &f.good) std::this_thread::yield();
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(f.compiled == 1);
}

TEST_CASE("code that the background compiled is not compiled again", "[better]") {
  Fixture f;
  const std::atomic<bool> stop = false;
  f.better.Run(stop);
  CHECK(f.better.Newest(0) == &f.good);
  CHECK(f.better.Newest(kExpected) == &f.good);
  CHECK(f.compiled == 1);
}
