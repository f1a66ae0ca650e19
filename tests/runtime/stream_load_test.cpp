// Many streams, many threads, many launches; fork and exit with work in flight.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/runtime/stream_kernel.h"
#include "tests/sanitized.h"

#ifdef PTX2CPU_TEST_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

void AddOne(ptx2cpu_block* block) {
  ParametersOf<std::atomic<uint64_t>*>(block)->fetch_add(1, std::memory_order_relaxed);
}
const ptx2cpu_kernel kAddOne = HandMade("add_one", AddOne, 8);

void Spin(ptx2cpu_block*) {
  for (;;) std::this_thread::yield();
}
const ptx2cpu_kernel kSpin = HandMade("spin", Spin, 8);

#ifdef PTX2CPU_TEST_SANITIZED
constexpr uint64_t kLaunches = 100000;
// The bytes of objects that have not been freed. Freed memory stays resident: the sanitizer keeps it in
// quarantine, and more of it with more threads.
size_t BytesInUse() { return __sanitizer_get_current_allocated_bytes(); }
#else
constexpr uint64_t kLaunches = 1000000;
// Resident memory, so that memory which the allocator cannot reuse counts as well.
size_t BytesInUse() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  size_t total = 0, resident = 0;
  if (file != nullptr && std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
#endif

// Runs a hidden test of this program in a process of its own. What it holds when it ends is ignored: it
// ends in the middle of its work, and a forked child has memory that threads of its parent own.
int RunSelf(const char* test) {
  char program[4096] = {};
  REQUIRE(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  const int status = std::system(
      (std::string("ASAN_OPTIONS=detect_leaks=0 timeout 60 '") + program + "' '" + test + "' >/dev/null")
          .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("stream: a thousand streams at once") {
  StreamGroup group;
  std::vector<std::shared_ptr<Stream>> streams;
  std::vector<std::atomic<uint64_t>> cells(1000);
  for (int i = 0; i < 1000; ++i) streams.push_back(group.NewStream(StreamKind::kBlocking));
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < streams.size(); ++i) {
      auto* cell = &cells[i];
      streams[i]->Submit(KernelOf(kAddOne, cell, 3));
      if (i > 0 && round % 3 == 0) streams[i]->WaitFor(streams[i - 1]->Last());
    }
    if (round % 4 == 0) group.legacy().Submit(CallWork{[] {}});
  }
  group.Synchronize();
  CHECK(group.Idle());
  for (const auto& cell : cells) {
    if (cell != 30) FAIL("a stream ran " << cell << " blocks");
  }
}

TEST_CASE("stream: a million launches leave no memory") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<uint64_t> cell = 0;
  auto* pointer = &cell;
  size_t before = 0;
  for (uint64_t i = 0; i < kLaunches; ++i) {
    stream->Submit(KernelOf(kAddOne, pointer));
    if (i == kLaunches / 10) before = BytesInUse();
  }
  stream->Synchronize();
  CHECK(cell == kLaunches);
  CHECK(BytesInUse() < before + (32u << 20));
}

TEST_CASE("stream: streams that come and go leave no memory") {
  StreamGroup group;
  std::atomic<uint64_t> cell = 0;
  auto* pointer = &cell;
  std::vector<std::weak_ptr<Stream>> streams;
  for (int i = 0; i < 20000; ++i) {
    const std::shared_ptr<Stream> stream =
        group.NewStream(i % 2 == 0 ? StreamKind::kBlocking : StreamKind::kNonBlocking);
    stream->Submit(KernelOf(kAddOne, pointer));
    streams.push_back(stream);
  }
  group.Synchronize();
  CHECK(cell == 20000);
  group.legacy().Synchronize();
  CHECK(group.Idle());  // reads all of them, and releases those that are
  // The thread that ran a stream's last operation may still be about to leave it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const auto there = [](const std::weak_ptr<Stream>& stream) { return !stream.expired(); };
  while (std::ranges::any_of(streams, there) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  CHECK(std::ranges::none_of(streams, there));
}

TEST_CASE("stream: many threads submit to and wait for the same streams") {
  StreamGroup group;
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i)
    streams.push_back(group.NewStream(i < 2 ? StreamKind::kBlocking : StreamKind::kNonBlocking));
  std::atomic<uint64_t> cell = 0;
  auto* pointer = &cell;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 500; ++i) {
        Stream& stream = (t + i) % 5 == 4 ? group.legacy() : *streams[(t + i) % 5];
        const uint64_t number = stream.Submit(KernelOf(kAddOne, pointer));
        if (i % 3 == 0) stream.WaitFor(streams[(t + i + 1) % 4]->Last());
        if (i % 7 == 0) stream.SynchronizeTo(number);
        if (i % 7 == 0 && !stream.At(number).Done()) ++wrong;
        if (i % 50 == 0) group.Synchronize();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  group.Synchronize();
  CHECK(wrong == 0);
  CHECK(cell == 4000);
}

TEST_CASE("the process ends with kernels in flight: the child's part", "[.child-exit]") {
  auto& group = *new StreamGroup;  // never waited for, as in a program that just returns from main
  std::atomic<uint64_t>* cell = new std::atomic<uint64_t>(0);
  for (int i = 0; i < 20; ++i) {
    auto* stream = new std::shared_ptr<Stream>(group.NewStream(StreamKind::kNonBlocking));
    for (int k = 0; k < 1000; ++k) (*stream)->Submit(KernelOf(kAddOne, cell, 50));
  }
  std::exit(7);
}

TEST_CASE("the process ends with a kernel that never ends: the child's part", "[.child-endless]") {
  auto& group = *new StreamGroup;
  auto* stream = new std::shared_ptr<Stream>(group.NewStream(StreamKind::kNonBlocking));
  (*stream)->Submit(KernelOf(kSpin, uint64_t{0}));
  usleep(10000);
  std::exit(8);
}

namespace {
struct AtEnd {
  StreamGroup* group = nullptr;
  ~AtEnd() {
    if (group == nullptr) return;
    std::atomic<uint64_t> cell = 0;
    auto* pointer = &cell;
    group->legacy().Submit(KernelOf(kAddOne, pointer, 5));
    group->legacy().Submit(
        HostWork{[](void* data) { static_cast<std::atomic<uint64_t>*>(data)->fetch_add(1); }, &cell});
    group->legacy().Synchronize();
    std::_Exit(cell == 6 ? 9 : 1);
  }
} at_end;
}  // namespace

TEST_CASE("streams work in destructors of static objects: the child's part", "[.child-static]") {
  at_end.group = new StreamGroup;
  at_end.group->legacy().Submit(CallWork{[] {}});
  at_end.group->legacy().Synchronize();
}

TEST_CASE("a child made by fork has a pool of its own: the child's part", "[.child-fork]") {
  StreamGroup group;
  std::atomic<uint64_t> cell = 0;
  auto* pointer = &cell;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  for (int i = 0; i < 1000; ++i) stream->Submit(KernelOf(kAddOne, pointer, 20));
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<uint64_t> own = 0;
    auto* own_pointer = &own;
    auto& fresh = *new StreamGroup;
    auto* own_stream = new std::shared_ptr<Stream>(fresh.NewStream(StreamKind::kBlocking));
    for (int i = 0; i < 100; ++i) (*own_stream)->Submit(KernelOf(kAddOne, own_pointer, 20));
    while (!(*own_stream)->Idle()) usleep(100);
    std::exit(own == 2000 ? 3 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  stream->Synchronize();
  CHECK(cell == 20000);
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("stream: exit with work in flight, fork with workers running") {
  CHECK(RunSelf("[.child-exit]") == 7);
  CHECK(RunSelf("[.child-endless]") == 8);
  CHECK(RunSelf("[.child-static]") == 9);
#if !defined(__has_feature) || !__has_feature(thread_sanitizer)  // which allows no threads after a fork
  CHECK(RunSelf("[.child-fork]") == 0);
#endif
}
