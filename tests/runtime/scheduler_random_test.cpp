// Random programs of collectives, barriers, yields and exits, legal ones and such with one wrong mask or
// barrier: the scheduler reaches the same end as a model that visits every lane repeatedly, and each
// collective has the same members.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "tests/quick.h"
#include "tests/runtime/step_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

constexpr uint32_t kClasses = 3, kBarrierPoint = 1 + 2 * kClasses, kYieldPoint = kBarrierPoint + 1;

// A wait; an event list that ends is an exit. Points 1.. are collectives: two places of each class.
struct Event {
  uint32_t point, word;  // word: membermask or barrier
  bool collective() const { return point < kBarrierPoint; }
  uint32_t kind() const { return (point - 1) / 2; }
};
struct Program {
  std::vector<std::vector<Event>> lanes;
  std::vector<std::vector<uint32_t>> members;  // what each collective of a lane saw
  explicit Program(uint32_t threads) : lanes(threads), members(threads) {}
};

struct Replay {
  static void Lane(LaneState& lane) {
    Program& program = *ParamOf<Program*>(lane.block);
    if (lane.point() == 0) lane.slot(0) = 0;
    const auto& events = program.lanes[lane.thread];
    if (lane.slot(0) == events.size()) return;
    const Event& event = events[lane.slot(0)++];
    lane.Wait(event.point, event.word, 0);
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes) {
    Program& program = *ParamOf<Program*>(block);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      program.members[warp * 32 + static_cast<uint32_t>(std::countr_zero(rest))].push_back(lanes ^ collective
                                                                                                       << 7);
    }
  }
};

// The rules, lane by lane. Returns the fault, 0 at a good end; NOT_A_MEMBER as soon as a lane comes to a mask
// that it is not in. Which lanes are at that point with it depends on the order of steps, so that the program
// can also continue.
class Model {
 public:
  explicit Model(Program& program) : p_(program), at_(program.lanes.size()) {}
  uint32_t Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t t = 0; t < at_.size(); ++t) {
        if (!Live(t)) continue;
        const Event& event = Now(t);
        if (event.point == kYieldPoint)
          ++at_[t], moved = true;
        else if (event.collective() && (event.word >> t % 32 & 1) == 0)
          return PTX2CPU_FAULT_NOT_A_MEMBER;
        else if (event.collective() ? Complete(t) : Barrier(event.word))
          moved = true;
      }
    }
    for (uint32_t t = 0; t < at_.size(); ++t) {
      if (Live(t)) return PTX2CPU_FAULT_DEADLOCK;
    }
    return 0;
  }

 private:
  bool Live(uint32_t t) const { return at_[t] < p_.lanes[t].size(); }
  const Event& Now(uint32_t t) const { return p_.lanes[t][at_[t]]; }
  bool Complete(uint32_t t) {
    const Event event = Now(t);
    uint32_t members = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t other = t / 32 * 32 + lane;
      if ((event.word >> lane & 1) == 0 || other >= at_.size() || !Live(other)) continue;
      if (!Now(other).collective() || Now(other).kind() != event.kind() || Now(other).word != event.word)
        return false;
      members |= 1u << lane;
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if ((members >> lane & 1) == 0) continue;
      p_.members[t / 32 * 32 + lane].push_back(members ^ event.kind() << 7);
      ++at_[t / 32 * 32 + lane];
    }
    return true;
  }
  bool Barrier(uint32_t id) {
    for (uint32_t t = 0; t < at_.size(); ++t) {
      if (Live(t) && (Now(t).point != kBarrierPoint || Now(t).word != id)) return false;
    }
    for (uint32_t t = 0; t < at_.size(); ++t) at_[t] += Live(t);
    return true;
  }
  Program& p_;
  std::vector<size_t> at_;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  Program Make() {
    const uint32_t threads = Pick(4) == 0 ? 32 : 1 + Pick(100);
    Program program(threads);
    std::vector<bool> gone(threads);
    for (uint32_t step = Pick(12); step > 0; --step) {
      if (Pick(5) == 0) {
        const uint32_t id = Pick(16);
        for (uint32_t t = 0; t < threads; ++t) {
          if (!gone[t]) program.lanes[t].push_back({kBarrierPoint, id});
        }
      } else {
        for (uint32_t first = 0; first < threads; first += 32) Groups(program, gone, first, Pick(3));
      }
      if (Pick(4) == 0) gone[Pick(threads)] = true;
    }
    if (Pick(3) == 0) Spoil(program);
    return program;
  }

 private:
  uint32_t Pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  // Splits a warp in up to four groups; those that are gone may still be in a mask.
  void Groups(Program& program, const std::vector<bool>& gone, uint32_t first, uint32_t bits) {
    const auto a = static_cast<uint32_t>(random_()), b = static_cast<uint32_t>(random_());
    const uint32_t masks[4] = {bits == 0   ? ~0u
                               : bits == 1 ? a
                                           : a & b,
                               bits == 1 ? ~a : a & ~b, b & ~a, ~a & ~b};
    for (uint32_t g = 0; g < (bits == 0 ? 1u : bits * 2); ++g) {
      const uint32_t kind = Pick(kClasses);
      for (uint32_t lane = 0; lane < 32 && first + lane < program.lanes.size(); ++lane) {
        if ((masks[g] >> lane & 1) == 0 || gone[first + lane]) continue;
        if (Pick(4) == 0) program.lanes[first + lane].push_back({kYieldPoint, 0});
        program.lanes[first + lane].push_back({1 + kind * 2 + Pick(2), masks[g]});
      }
    }
  }
  void Spoil(Program& program) {
    auto& events = program.lanes[Pick(static_cast<uint32_t>(program.lanes.size()))];
    if (events.empty()) return;
    Event& event = events[Pick(static_cast<uint32_t>(events.size()))];
    if (event.collective())
      event.word ^= 1u << Pick(32);
    else
      event.word ^= 1;
  }
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("random programs end as in the lane-by-lane model") {
  std::vector<ptx2cpu_point> points = {kStart};
  for (uint32_t c = 0; c < kClasses; ++c)
    points.insert(points.end(), 2, {PTX2CPU_POINT_COLLECTIVE, c, 1, "shfl.sync"});
  points.push_back({PTX2CPU_POINT_BARRIER, 0, 2, "bar.sync"});
  points.push_back(kYield);
  const ptx2cpu_kernel kernel = MakeStepKernel<Replay>("random", points);
  LaunchOptions options;
  options.max_workers = 1;
  uint32_t seen[16] = {};
  for (uint64_t seed = 0; seed < QuickPart(20000u); ++seed) {
    Program program = Generator(seed).Make(), expected = program;
    const uint32_t fault = Model(expected).Run();
    auto* pointer = &program;
    const auto error = Launch(kernel, {{1, 1, 1}, {static_cast<uint32_t>(program.lanes.size()), 1, 1}},
                              AsParameters(pointer), options);
    const uint32_t got = error ? error->fault : 0;
    if (fault == PTX2CPU_FAULT_NOT_A_MEMBER) {
      const bool allowed = got == fault || got == 0 || got == PTX2CPU_FAULT_DEADLOCK;
      if (!allowed) FAIL("seed " << seed << ": " << error->message);
      ++seen[got == fault ? fault : 15];
      continue;
    }
    if (got != fault)
      FAIL("seed " << seed << ": " << (error ? error->message : "no error") << ", expected " << fault);
    if (program.members != expected.members) FAIL("seed " << seed << ": members differ");
    ++seen[fault];
  }
  CHECK(seen[0] > QuickPart(5000u));
  CHECK(seen[PTX2CPU_FAULT_DEADLOCK] > QuickPart(500u));
  CHECK(seen[PTX2CPU_FAULT_NOT_A_MEMBER] > QuickPart(100u));
}
