// Work in the background runs side by side, up to a limit.
#include "runtime/engine/background.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace ptx2cpu;

TEST_CASE("as many works run at once in the background as it has threads, then the next", "[background]") {
  const unsigned most = rt::MaxBackgroundThreads();
  REQUIRE(most >= 1);
  std::atomic<unsigned> running = 0, at_once = 0, done = 0;
  std::atomic<bool> release = false;
  for (unsigned i = 0; i < most + 2; ++i) {
    REQUIRE(rt::RunInBackground([&](const std::atomic<bool>& stop) {
      at_once = std::max(at_once.load(), ++running);
      while (!release && !stop) std::this_thread::yield();
      --running;
      ++done;
    }));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (running < most && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  CHECK(running == most);
  CHECK(done == 0);
  release = true;
  rt::WaitForBackground();
  CHECK(done == most + 2);
  CHECK(at_once <= most);
}
