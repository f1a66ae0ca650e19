// Order within and between streams.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "runtime/launch/later_code.h"
#include "tests/runtime/stream_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

struct Step {
  std::atomic<uint32_t>* clock;
  uint32_t* when;
};

void TakeNumber(ptx2cpu_block* block) {
  const auto step = ParametersOf<Step>(block);
  *step.when = step.clock->fetch_add(1) + 1;
}
const ptx2cpu_kernel kTakeNumber = HandMade("take_number", TakeNumber, sizeof(Step));

void Nap(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

CallWork Napping(int microseconds) {
  return {[microseconds] { Nap(microseconds); }};
}

}  // namespace

TEST_CASE("stream: operations run in the order of submission") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<uint32_t> clock = 0;
  std::vector<uint32_t> when(20000);
  for (uint32_t& w : when) stream->Submit(KernelOf(kTakeNumber, Step{&clock, &w}));
  stream->Synchronize();
  CHECK(stream->Idle());
  for (uint32_t i = 0; i < when.size(); ++i) {
    if (when[i] != i + 1) FAIL("operation " << i << " ran as number " << when[i]);
  }
}

namespace {

// Counts the time of launches; there is never other code.
class TimeOfLaunches final : public LaterCode {
 public:
  explicit TimeOfLaunches(const ptx2cpu_kernel& kernel) : kernel_(kernel) {}
  const ptx2cpu_kernel* Newest(int64_t) override { return &kernel_; }
  void AddTime(int64_t nanoseconds) override { time_ += nanoseconds; }
  int64_t time() const { return time_; }

 private:
  const ptx2cpu_kernel& kernel_;
  std::atomic<int64_t> time_ = 0;
};

}  // namespace

TEST_CASE("stream: a launch adds the time that it ran where its work asks for that") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  static const ptx2cpu_kernel kNap = HandMade("nap", [](ptx2cpu_block*) { Nap(3000); }, 0);
  TimeOfLaunches later(kNap);
  for (int i = 0; i < 2; ++i) {
    KernelWork work;
    work.kernel = &kNap;
    work.shape = {{1, 1, 1}, {32, 1, 1}};
    work.later = &later;
    stream->Submit(std::move(work));
  }
  stream->Synchronize();
  CHECK(later.time() >= 2 * 3000 * 1000);
}

TEST_CASE("stream: work that is repeated runs the latest code of its kernel") {
  static std::atomic<int> early = 0, late = 0;
  static const ptx2cpu_kernel kEarly = HandMade("early", [](ptx2cpu_block*) { ++early; }, 0);
  static const ptx2cpu_kernel kLate = HandMade("late", [](ptx2cpu_block*) { ++late; }, 0);
  static TimeOfLaunches later(kLate);
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  KernelWork work;
  work.kernel = &kEarly;
  work.shape = {{1, 1, 1}, {32, 1, 1}};
  work.latest = [](const KernelWork& made) {
    return early == 2 ? LaunchCode{&kLate, &later} : LaunchCode{made.kernel, made.later};
  };
  const auto steps = std::make_shared<const Steps>(Steps{work, work, work});
  for (int launch = 0; launch < 2; ++launch) stream->Submit(SequenceWork{steps});
  stream->Synchronize();
  CHECK(early == 2);
  CHECK(late == 4);
  CHECK(later.time() > 0);
}

TEST_CASE("stream: submission returns before the work is done") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<bool> go = false;
  stream->Submit(CallWork{[&] {
    while (!go) std::this_thread::yield();
  }});
  const uint64_t last = stream->Submit(CallWork{[] {}});
  CHECK_FALSE(stream->Idle());
  CHECK_FALSE(stream->At(last).Done());
  go = true;
  stream->Synchronize();
  CHECK(stream->Idle());
}

TEST_CASE("stream: work runs without anybody waiting for it") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<uint32_t> clock = 0;
  uint32_t when = 0;
  for (int round = 0; round < 20; ++round) {
    stream->Submit(KernelOf(kTakeNumber, Step{&clock, &when}));
    while (!stream->Idle()) std::this_thread::yield();
    CHECK(when == static_cast<uint32_t>(round + 1));
    Nap(round * 20);  // sometimes the workers are parked by now
  }
}

TEST_CASE("stream: a stream waits for another's ticket") {
  StreamGroup group;
  const auto first = group.NewStream(StreamKind::kNonBlocking),
             second = group.NewStream(StreamKind::kNonBlocking);
  for (int round = 0; round < 200; ++round) {
    std::atomic<uint32_t> clock = 0;
    uint32_t before = 0, after = 0;
    if (round % 2 == 0) first->Submit(Napping(50));
    const uint64_t number = first->Submit(KernelOf(kTakeNumber, Step{&clock, &before}));
    second->WaitFor(first->At(number));
    second->Submit(KernelOf(kTakeNumber, Step{&clock, &after}));
    second->Synchronize();
    REQUIRE(before == 1);
    REQUIRE(after == 2);
  }
}

TEST_CASE("stream: a dropped stream does what was queued") {
  std::atomic<int> done = 0;
  {
    StreamGroup group;
    for (int i = 0; i < 50; ++i) {
      const auto stream = group.NewStream(StreamKind::kBlocking);
      stream->Submit(Napping(20));
      stream->Submit(CallWork{[&] { ++done; }});
    }
  }
  CHECK(done == 50);
}

TEST_CASE("stream: the legacy default stream is in order with blocking streams, not with others") {
  StreamGroup group;
  const auto blocking = group.NewStream(StreamKind::kBlocking),
             other = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<bool> go = false;
  other->Submit(CallWork{[&] {
    while (!go) std::this_thread::yield();
  }});
  for (int round = 0; round < 100; ++round) {
    std::atomic<uint32_t> clock = 0;
    uint32_t when[4] = {};
    if (round % 2 == 0) blocking->Submit(Napping(30));
    blocking->Submit(KernelOf(kTakeNumber, Step{&clock, &when[0]}));
    group.legacy().Submit(KernelOf(kTakeNumber, Step{&clock, &when[1]}));
    blocking->Submit(KernelOf(kTakeNumber, Step{&clock, &when[2]}));
    group.legacy().Submit(KernelOf(kTakeNumber, Step{&clock, &when[3]}));
    group.legacy().Synchronize();
    for (uint32_t i = 0; i < 4; ++i) REQUIRE(when[i] == i + 1);
  }
  CHECK_FALSE(other->Idle());
  go = true;
  other->Synchronize();
}

TEST_CASE("stream: higher priority runs first among what is ready") {
  StreamGroup group;
  const unsigned workers = ThreadPool::Get().size();
  std::atomic<bool> go = false;
  std::atomic<unsigned> holding = 0;
  std::vector<std::shared_ptr<Stream>> holders;
  for (unsigned i = 0; i < workers; ++i) {
    holders.push_back(group.NewStream(StreamKind::kNonBlocking));
    holders.back()->Submit(CallWork{[&] {
      ++holding;
      while (!go) std::this_thread::yield();
    }});
  }
  while (holding != workers) std::this_thread::yield();
  std::atomic<uint32_t> clock = 0;
  uint32_t low = 0, high = 0;
  const auto low_stream = group.NewStream(StreamKind::kNonBlocking, 0);
  const auto high_stream = group.NewStream(StreamKind::kNonBlocking, -5);
  const auto delay = [&](uint32_t& when) {
    return CallWork{[&] {
      when = ++clock;
      Nap(2000);
    }};
  };
  low_stream->Submit(delay(low));
  const auto filler = group.NewStream(StreamKind::kNonBlocking, -1);
  uint32_t filled = 0;
  filler->Submit(delay(filled));
  high_stream->Submit(delay(high));
  go = true;
  while (!low_stream->Idle() || !high_stream->Idle() || !filler->Idle()) Nap(100);
  for (const auto& holder : holders) {
    while (!holder->Idle()) Nap(100);  // they read `go`
  }
  CHECK(high < low);
}

// Random operations over some streams, with waits for random earlier operations: each operation notes the
// clock when it begins and when it ends; whatever must be before something has ended before that began.
TEST_CASE("stream: random graphs of operations keep their order") {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    StreamGroup group;
    std::vector<std::shared_ptr<Stream>> streams;
    for (int i = 0; i < 6; ++i) {
      streams.push_back(
          group.NewStream(i % 2 == 0 ? StreamKind::kBlocking : StreamKind::kNonBlocking, -(i % 3)));
    }
    struct Record {
      uint32_t begin = 0, end = 0;
      std::vector<size_t> after;
      Ticket ticket;
    };
    constexpr size_t kOperations = 300;
    std::vector<Record> records(kOperations);
    std::vector<size_t> last(streams.size() + 1,
                             ~size_t{0});  // of each stream; the legacy stream is the last
    std::vector<std::vector<size_t>> pending(streams.size() + 1);
    std::atomic<uint32_t> clock = 0;
    size_t last_legacy = ~size_t{0};
    for (size_t i = 0; i < kOperations; ++i) {
      const size_t s = random() % 8 == 0 ? streams.size() : random() % streams.size();
      Stream& stream = s == streams.size() ? group.legacy() : *streams[s];
      Record& record = records[i];
      if (last[s] != ~size_t{0}) record.after.push_back(last[s]);
      if (stream.kind() == StreamKind::kLegacy) {
        for (size_t other = 0; other < streams.size(); other += 2) {
          if (last[other] != ~size_t{0}) record.after.push_back(last[other]);
        }
        last_legacy = i;
      } else if (stream.kind() == StreamKind::kBlocking && last_legacy != ~size_t{0}) {
        record.after.push_back(last_legacy);
      }
      if (i > 0 && random() % 3 == 0) {
        const size_t earlier = random() % i;
        record.after.push_back(earlier);
        stream.WaitFor(records[earlier].ticket);
      }
      const int nap = random() % 16 == 0 ? 30 : 0;
      const auto body = [&record, &clock, nap] {
        record.begin = ++clock;
        if (nap != 0) Nap(nap);
        record.end = ++clock;
      };
      uint64_t number;
      switch (random() % 3) {
        case 0: {
          using Body = std::remove_const_t<decltype(body)>;
          number = stream.Submit(HostWork{[](void* data) {
                                            const std::unique_ptr<Body> call(static_cast<Body*>(data));
                                            (*call)();
                                          },
                                          new Body(body)});
          break;
        }
        case 1: {
          auto steps = std::make_shared<std::vector<Work>>();
          steps->emplace_back(CallWork{[] {}});
          steps->emplace_back(HostWork{[](void*) {}, nullptr});
          steps->emplace_back(CallWork{body});
          number = stream.Submit(SequenceWork{steps});
          break;
        }
        default:
          number = stream.Submit(CallWork{body});
      }
      record.ticket = stream.At(number);
      last[s] = i;
    }
    group.Synchronize();
    for (size_t i = 0; i < kOperations; ++i) {
      REQUIRE(records[i].end != 0);
      for (const size_t before : records[i].after) {
        if (records[before].end > records[i].begin)
          FAIL("round " << round << ": " << i << " began before " << before << " had ended");
      }
    }
  }
}
