// Events, host functions, polls, copies, faults.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/worker/spin_lock.h"
#include "tests/runtime/stream_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;
using Catch::Matchers::Contains;

namespace {

void Trap(ptx2cpu_block* block) { ptx2cpu_fault(block, PTX2CPU_FAULT_TRAP, 5, 42); }
const ptx2cpu_kernel kTrap = HandMade("trapper", Trap, 8);

void AddOne(ptx2cpu_block* block) {
  ParametersOf<std::atomic<uint64_t>*>(block)->fetch_add(1, std::memory_order_relaxed);
}
const ptx2cpu_kernel kAddOne = HandMade("add_one", AddOne, 8);

CallWork Napping(int milliseconds) {
  return {[milliseconds] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }};
}

}  // namespace

TEST_CASE("event: done when its turn came, with the time between") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  Event begin, end, never;
  CHECK(never.Query());
  CHECK_FALSE(never.recorded());
  begin.Record(*stream);
  stream->Submit(Napping(20));
  end.Record(*stream);
  CHECK_FALSE(end.Query());
  end.Synchronize();
  CHECK(begin.Query());
  CHECK(end.MillisecondsSince(begin) >= 20);
  CHECK(end.MillisecondsSince(begin) < 2000);
  CHECK(begin.MillisecondsSince(end) == -end.MillisecondsSince(begin));
}

TEST_CASE("event: a later record replaces an earlier one that is still queued") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking),
             other = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<bool> go = false;
  Event event, reference;
  stream->Submit(CallWork{[&] {
    while (!go) std::this_thread::yield();
  }});
  event.Record(*stream);
  event.Record(*other);
  event.Synchronize();  // the record on `other`
  reference.Record(*other);
  reference.Synchronize();
  const int64_t time = event.nanoseconds();
  go = true;
  stream->Synchronize();
  CHECK(event.nanoseconds() == time);
  CHECK(reference.nanoseconds() >= time);
}

TEST_CASE("host functions run in order on one thread, and the stream waits for them") {
  StreamGroup group;
  struct Seen {
    std::thread::id thread;
    uint64_t count = 0;
  } seen[2];
  std::atomic<uint64_t> cell = 0;
  struct Call {
    std::atomic<uint64_t>* cell;
    Seen* seen;
  };
  Call calls[2] = {{&cell, &seen[0]}, {&cell, &seen[1]}};
  const auto note = [](void* data) {
    auto* call = static_cast<Call*>(data);
    *call->seen = {std::this_thread::get_id(), call->cell->load()};
  };
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  stream->Submit(KernelOf(kAddOne, &cell, 10));
  stream->Submit(HostWork{note, &calls[0]});
  stream->Submit(KernelOf(kAddOne, &cell, 10));
  stream->Submit(HostWork{note, &calls[1]});
  stream->Synchronize();
  CHECK(seen[0].count == 10);
  CHECK(seen[1].count == 20);
  CHECK(seen[0].thread == seen[1].thread);
  CHECK(seen[0].thread != std::this_thread::get_id());
}

TEST_CASE("a host function that blocks keeps no kernel of other streams from running") {
  StreamGroup group;
  std::atomic<bool> go = false;
  std::vector<std::shared_ptr<Stream>> blocked;
  for (unsigned i = 0; i < ThreadPool::Get().size() + 2; ++i) {
    blocked.push_back(group.NewStream(StreamKind::kNonBlocking));
    blocked.back()->Submit(HostWork{[](void* flag) {
                                      while (!*static_cast<std::atomic<bool>*>(flag))
                                        std::this_thread::yield();
                                    },
                                    &go});
  }
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<uint64_t> cell = 0;
  stream->Submit(KernelOf(kAddOne, &cell, 100));
  stream->Synchronize();
  CHECK(cell == 100);
  go = true;
  group.Synchronize();
}

TEST_CASE("a poll holds its stream until it returns true") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking),
             other = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<uint32_t> word = 0;
  std::atomic<uint64_t> cell = 0;
  for (uint32_t round = 1; round <= 50; ++round) {
    stream->Submit(PollWork{[&word, round] { return word.load() >= round; }});
    stream->Submit(KernelOf(kAddOne, &cell));
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK_FALSE(stream->Idle());
    if (round % 2 == 0) {
      word = round;
    } else {
      other->Submit(CallWork{[&word, round] { word = round; }});
    }
    stream->Synchronize();
    REQUIRE(cell == round);
  }
}

TEST_CASE("what a stream polls for is noticed also where the workers are about to sleep") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  for (int round = 0; round < 300; ++round) {
    stream->Submit(CallWork{[] {}, false});
    stream->Synchronize();
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(round * 2);
    while (std::chrono::steady_clock::now() < end) Pause();
    std::atomic<bool> open = false;
    stream->Submit(PollWork{[&] { return open.load(); }});
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round % 7 * 20));
      open = true;
    });
    stream->Synchronize();
    opener.join();
  }
}

TEST_CASE("copies and fills: rows, slices, large ones") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  const auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
  std::vector<uint8_t> from(4 * 5 * 6), to(7 * 8 * 6, 0xee);
  std::iota(from.begin(), from.end(), uint8_t{0});
  stream->Submit(CopyWork{bytes(from), bytes(to), 3, 4, 6, 4, 20, 7, 56});
  std::vector<uint16_t> rows(10 * 10);
  stream->Submit(FillWork{bytes(rows), 0x1234, 2, 3, 4, 20});
  std::vector<uint32_t> large_from(3'000'001), large_to(large_from.size());
  std::iota(large_from.begin(), large_from.end(), 7u);
  stream->Submit(CopyWork{bytes(large_from), bytes(large_to), large_from.size() * 4});
  std::vector<uint32_t> filled(2'500'003);
  stream->Submit(FillWork{bytes(filled), 0xdeadbeef, 4, filled.size() - 1});
  stream->Synchronize();
  bool right = true;
  for (size_t z = 0; z < 6; ++z) {
    for (size_t y = 0; y < 8; ++y) {
      for (size_t x = 0; x < 7; ++x) {
        const uint8_t want = x < 3 && y < 4 ? from[z * 20 + y * 4 + x] : 0xee;
        right = right && to[z * 56 + y * 7 + x] == want;
      }
    }
  }
  CHECK(right);
  for (size_t i = 0; i < rows.size(); ++i)
    right = right && rows[i] == (i / 10 < 4 && i % 10 < 3 ? 0x1234 : 0);
  CHECK(right);
  CHECK(large_to == large_from);
  CHECK(std::count(filled.begin(), filled.end(), 0xdeadbeef) == static_cast<ptrdiff_t>(filled.size() - 1));
  CHECK(filled.back() == 0);
}

TEST_CASE("the first fault sticks, and later work of the group is dropped") {
  StreamGroup group, innocent;
  const auto stream = group.NewStream(StreamKind::kNonBlocking),
             other = group.NewStream(StreamKind::kBlocking);
  std::atomic<uint64_t> cell = 0;
  std::string reported;
  KernelWork trap = KernelOf(kTrap, uint64_t{0});
  trap.report = [&](const KernelWork&, LaunchError& error) { reported = error.message; };
  stream->Submit(KernelOf(kAddOne, &cell));
  stream->Submit(std::move(trap));
  stream->Submit(KernelOf(kAddOne, &cell));
  bool given_back = false;
  stream->Submit(CallWork{[&] { given_back = true; }, true});
  stream->Synchronize();
  CHECK(cell == 1);
  CHECK(given_back);
  CHECK_THAT(reported, Contains("trapper") && Contains("PTX line 42"));
  REQUIRE(group.errors()->failed());
  CHECK(group.errors()->error()->fault == PTX2CPU_FAULT_TRAP);
  Event event;
  other->Submit(KernelOf(kAddOne, &cell));
  other->Submit(
      HostWork{[](void* data) { static_cast<std::atomic<uint64_t>*>(data)->fetch_add(100); }, &cell});
  event.Record(*other);
  event.Synchronize();
  CHECK(cell == 1);
  const auto unhurt = innocent.NewStream(StreamKind::kNonBlocking);
  unhurt->Submit(KernelOf(kAddOne, &cell));
  unhurt->Synchronize();
  CHECK(cell == 2);
  CHECK_FALSE(innocent.errors()->failed());
}

TEST_CASE("a copy from a bad address is a fault of the group") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::byte to[16];
  stream->Submit(CopyWork{reinterpret_cast<const std::byte*>(uintptr_t{64}), to, 16});
  stream->Synchronize();
  REQUIRE(group.errors()->failed());
  CHECK_THAT(group.errors()->error()->message, Contains("bad address"));
}
