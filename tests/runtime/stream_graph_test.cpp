// Graph launches on streams: what Arrange makes of dependencies, branches, conditions.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "runtime/device/condition.h"
#include "runtime/stream/arrange.h"
#include "tests/runtime/stream_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

std::shared_ptr<const Steps> Share(Steps steps) { return std::make_shared<const Steps>(std::move(steps)); }

size_t BranchesIn(const Steps& steps) {
  size_t count = 0;
  for (const Work& work : steps) count += std::holds_alternative<BranchesWork>(work);
  return count;
}

// True when the flag was set within a time that only a failing test uses up.
bool Await(const std::atomic<bool>& flag) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!flag && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return flag;
}

GraphItem Calling(std::function<void()> call, std::vector<uint32_t> after = {}) {
  return {{CallWork{std::move(call)}}, std::move(after)};
}

}  // namespace

TEST_CASE("graph: a chain is a sequence, also with redundant edges") {
  std::vector<GraphItem> items;
  for (uint32_t i = 0; i < 50; ++i) {
    std::vector<uint32_t> after;
    if (i > 0) after.push_back(i - 1);
    if (i > 3) after.push_back(i / 2);
    items.push_back(Calling([] {}, after));
  }
  const Steps steps = Arrange(std::move(items));
  CHECK(steps.size() == 50);
  CHECK(BranchesIn(steps) == 0);
}

TEST_CASE("graph: forks between the ends of a chain are branches, the rest is not") {
  std::vector<GraphItem> items;
  items.push_back(Calling([] {}));
  items.push_back(Calling([] {}, {0}));
  items.push_back(Calling([] {}, {0}));
  items.push_back(Calling([] {}, {1, 2}));
  items.push_back(Calling([] {}, {3}));
  const Steps steps = Arrange(std::move(items));
  REQUIRE(steps.size() == 4);
  REQUIRE(std::holds_alternative<BranchesWork>(steps[1]));
  const Branches& branches = *std::get<BranchesWork>(steps[1]).branches;
  CHECK(branches.lanes == 1);
  CHECK(branches.own != nullptr);
}

TEST_CASE("graph: branches run at the same time") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<bool> first = false, second = false, met_first = false, met_second = false, polled = false;
  std::vector<GraphItem> items;
  items.push_back(Calling([&] { first = true, met_first = Await(second); }));
  items.push_back(Calling([&] { second = true, met_second = Await(first); }));
  // A poll, and a host function, that a third and fourth branch have to end.
  items.push_back({{PollWork{[&] { return polled.load(); }}}, {}});
  items.push_back(
      {{HostWork{[](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &polled}}, {}});
  stream->Submit(SequenceWork{Share(Arrange(std::move(items))), nullptr});
  stream->Synchronize();
  CHECK(met_first);
  CHECK(met_second);
  CHECK(polled);
}

TEST_CASE("graph: a wait of the launch holds its branch and nothing else") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking),
             other = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<bool> open = false, free_ran = false, held_ran = false;
  std::vector<GraphItem> items;
  items.push_back({{LaunchWaitWork{0}}, {}});
  items.push_back(Calling([&] { held_ran = true; }, {0}));
  items.push_back(Calling([&] { free_ran = true; }));
  const auto steps = Share(Arrange(std::move(items)));
  for (int launch = 0; launch < 3; ++launch) {
    open = free_ran = held_ran = false;
    other->Submit(PollWork{[&] { return open.load(); }});
    auto data = std::make_shared<LaunchData>();
    data->waits.push_back({other, other->submitted()});
    stream->Submit(SequenceWork{steps, data});
    CHECK(Await(free_ran));
    CHECK_FALSE(held_ran);
    CHECK_FALSE(stream->Idle());
    open = true;
    stream->Synchronize();
    CHECK(held_ran);
  }
}

TEST_CASE("graph: a gate in the middle of a launch opens when the launch comes by") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  const auto state = std::make_shared<EventState>();
  std::atomic<bool> begin = false, end = false;
  const auto steps = Share({PollWork{[&] { return begin.load(); }}, LaunchRecordWork{state, 0},
                            PollWork{[&] { return end.load(); }}});
  for (int launch = 0; launch < 20; ++launch) {
    begin = end = false;
    const auto gate = std::make_shared<Gate>();
    const auto held = group.NewStream(StreamKind::kNonBlocking),
               behind = group.NewStream(StreamKind::kNonBlocking);
    const auto wait = [&] {
      const uint64_t number = held->Submit(GateWork{gate, {stream, stream->submitted()}});
      std::atomic<bool> ran = false;
      behind->WaitFor({held, number});
      behind->Submit(CallWork{[&] { ran = true; }});
      begin = true;
      held->At(number).Synchronize();
      CHECK(Await(ran));
      behind->Synchronize();
    };
    auto data = std::make_shared<LaunchData>();
    data->gates.push_back(gate);
    stream->Submit(SequenceWork{steps, data});
    if (launch % 2 == 0) begin = true;  // it may be open before anybody waits
    wait();
    CHECK_FALSE(stream->Idle());
    end = true;
    stream->Synchronize();
  }
}

TEST_CASE("graph: work comes after what it depends on, in random graphs launched repeatedly") {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    StreamGroup group;
    const auto stream = group.NewStream(round % 2 == 0 ? StreamKind::kNonBlocking : StreamKind::kLegacy);
    const size_t count = 1 + random() % 120;
    struct Record {
      std::atomic<uint32_t> begun{0}, ended{0};
      std::vector<uint32_t> after;
    };
    std::vector<Record> records(count);
    std::atomic<uint32_t> wrong = 0;
    std::vector<GraphItem> items;
    const unsigned reach = 1 + random() % 20;
    for (uint32_t i = 0; i < count; ++i) {
      Record& record = records[i];
      for (unsigned edges = random() % 4; i > 0 && edges > 0; --edges)
        record.after.push_back(i - 1 - random() % std::min<uint32_t>(i, reach));
      const auto body = [&, i] {
        const uint32_t launch = records[i].begun.fetch_add(1) + 1;
        for (const uint32_t before : records[i].after) wrong += records[before].ended.load() != launch;
        records[i].ended.fetch_add(1);
      };
      GraphItem item = Calling(body, record.after);
      if (random() % 8 == 0) item.works.emplace_back(HostWork{[](void*) {}, nullptr});
      if (random() % 8 == 0)
        item.works.clear(), item.works.emplace_back(PollWork{[body, asked = std::make_shared<int>(0)] {
          if (++*asked % 3 != 0) return false;
          body();
          return true;
        }});
      items.push_back(std::move(item));
    }
    const auto steps = Share(Arrange(std::move(items)));
    for (int launch = 0; launch < 10; ++launch) stream->Submit(SequenceWork{steps, nullptr});
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    stream->Synchronize();
    CHECK(wrong == 0);
    for (const Record& record : records) {
      if (record.ended != 10) FAIL("an item ran " << record.ended << " times");
    }
  }
}

TEST_CASE("condition: handles name their condition until it is gone") {
  std::shared_ptr<Condition> condition = Condition::New();
  const uint64_t handle = condition->handle();
  REQUIRE(handle != 0);
  CHECK(Condition::Find(handle) == condition.get());
  CHECK(Condition::Find(handle + (uint64_t{1} << 40)) == nullptr);
  CHECK(Condition::Find(0) == nullptr);
  CHECK(Condition::Find(~uint64_t{0}) == nullptr);
  condition->Set(5);
  CHECK(condition->value() == 5);
  condition = nullptr;
  CHECK(Condition::Find(handle) == nullptr);
  condition = Condition::New();  // perhaps in the same place
  CHECK(condition->handle() != handle);
  CHECK(condition->value() == 0);
}

namespace {

ConditionalWork Conditional(ConditionalWork::Kind kind, const std::shared_ptr<Condition>& condition,
                            std::vector<std::shared_ptr<const Steps>> bodies) {
  return {kind, condition, std::move(bodies)};
}

}  // namespace

TEST_CASE("graph: conditions decide which body runs, and how often") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking);
  const auto condition = Condition::New();
  std::string ran;
  const auto body = [&](char name) { return Share({CallWork{[&ran, name] { ran += name; }}}); };
  const auto run = [&](ConditionalWork work, uint32_t value) {
    ran.clear();
    condition->Set(value);
    stream->Submit(SequenceWork{Share({std::move(work), CallWork{[&] { ran += '.'; }}}), nullptr});
    stream->Synchronize();
    return ran;
  };
  using Kind = ConditionalWork::Kind;
  CHECK(run(Conditional(Kind::kIf, condition, {body('t')}), 2) == "t.");
  CHECK(run(Conditional(Kind::kIf, condition, {body('t')}), 0) == ".");
  CHECK(run(Conditional(Kind::kIf, condition, {body('t'), body('e')}), 1) == "t.");
  CHECK(run(Conditional(Kind::kIf, condition, {body('t'), body('e')}), 0) == "e.");
  CHECK(run(Conditional(Kind::kSwitch, condition, {body('0'), body('1'), body('2')}), 2) == "2.");
  CHECK(run(Conditional(Kind::kSwitch, condition, {body('0'), body('1'), body('2')}), 3) == ".");
  CHECK(run(Conditional(Kind::kSwitch, condition, {body('0')}), ~0u) == ".");
  const auto count_down = Share({CallWork{[&] {
    ran += 'w';
    condition->Set(condition->value() - 1);
  }}});
  CHECK(run(Conditional(Kind::kWhile, condition, {count_down}), 3) == "www.");
  CHECK(run(Conditional(Kind::kWhile, condition, {count_down}), 0) == ".");
}

TEST_CASE("graph: loops in loops, with branches and host functions within") {
  StreamGroup group;
  const auto stream = group.NewStream(StreamKind::kNonBlocking),
             beside = group.NewStream(StreamKind::kNonBlocking);
  const auto outer = Condition::New(), inner = Condition::New();
  std::atomic<int> inner_turns = 0, left = 0, right = 0, host = 0, others = 0;
  std::vector<GraphItem> fork;
  fork.push_back(Calling([&] { ++left; }));
  fork.push_back(Calling([&] { ++right; }));
  fork.push_back({{HostWork{[](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &host}}, {}});
  Steps inner_body = Arrange(std::move(fork));
  inner_body.emplace_back(CallWork{[&] {
    ++inner_turns;
    inner->Set(inner->value() - 1);
  }});
  Steps outer_body{CallWork{[&] { inner->Set(3); }},
                   Conditional(ConditionalWork::Kind::kWhile, inner, {Share(std::move(inner_body))}),
                   CallWork{[&] { outer->Set(outer->value() - 1); }}};
  const auto steps =
      Share({CallWork{[&] { outer->Set(20); }},
             Conditional(ConditionalWork::Kind::kWhile, outer, {Share(std::move(outer_body))})});
  for (int launch = 0; launch < 5; ++launch) {
    stream->Submit(SequenceWork{steps, nullptr});
    beside->Submit(CallWork{[&] { ++others; }});
  }
  group.Synchronize();
  CHECK(inner_turns == 5 * 20 * 3);
  CHECK(left == 5 * 20 * 3);
  CHECK(right == 5 * 20 * 3);
  CHECK(host == 5 * 20 * 3);
  CHECK(others == 5);
}

TEST_CASE("graph: a loop lets other streams run, and ends with a fault") {
  StreamGroup group;
  const auto condition = Condition::New();
  condition->Set(1);
  const auto body = Share({CallWork{[] {}}});
  const auto loop = Share({Conditional(ConditionalWork::Kind::kWhile, condition, {body})});
  std::vector<std::shared_ptr<Stream>> streams;
  for (unsigned i = 0; i < ThreadPool::Get().size() + 2; ++i) {  // more loops than threads
    streams.push_back(group.NewStream(StreamKind::kNonBlocking));
    streams.back()->Submit(SequenceWork{loop, nullptr});
  }
  const auto other = group.NewStream(StreamKind::kNonBlocking);
  std::atomic<bool> ran = false;
  other->Submit(CallWork{[&] { ran = true; }});
  CHECK(Await(ran));
  group.errors()->Fail({LaunchError::Kind::kFault, "a fault", 0});
  group.Synchronize();  // without end if the loops continued
  CHECK(condition->value() == 1);
}
