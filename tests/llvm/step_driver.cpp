#include "tests/llvm/step_driver.h"

#include <bit>
#include <cstring>

namespace ptx2cpu::llvm_test {

namespace {

constexpr uint32_t kMaxSteps = 1u << 20;

bool IsBarrier(uint32_t kind) {
  return kind >= PTX2CPU_POINT_BARRIER && kind <= PTX2CPU_POINT_BARRIER_ARRIVE;
}

// Memory on 128 bytes, full of a pattern.
class Storage {
 public:
  explicit Storage(size_t bytes) : bytes_(bytes + 128, uint8_t{0xA5}) {}
  uint8_t* data() {
    auto at = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (128 - at % 128) % 128;
  }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace

std::string StepDriver::Run(uint32_t grid, uint32_t threads, std::span<const std::byte> params) {
  const uint32_t warps = (threads + 31) / 32, padded = 32 * warps;
  Storage shared(kernel_.static_shared_bytes), local(size_t{kernel_.local_bytes} * padded);
  Storage slots(size_t{kernel_.slot_bytes_per_thread} * padded + size_t{kernel_.slot_bytes_per_warp} * warps +
                kernel_.slot_bytes_per_block + 64 * size_t{kernel_.slot_count});
  Storage buffer(params.size());
  if (!params.empty()) std::memcpy(buffer.data(), params.data(), params.size());
  live_.assign(warps, 0);
  tid_.resize(padded);
  for (uint32_t t = 0; t < padded; ++t) tid_[t] = t;
  for (uint32_t block = 0; block < grid; ++block) {
    states_.assign(threads, State::kReady);
    points_.assign(padded, 0);
    words_.assign(size_t{PTX2CPU_WORDS_PER_THREAD} * PTX2CPU_MAX_THREADS_PER_BLOCK, 0xA5A5A5A5);
    block_ = {};
    block_.params = buffer.data();
    block_.shared = shared.data();
    block_.local = local.data();
    block_.local_stride = kernel_.local_bytes;
    block_.slots = slots.data();
    block_.live = live_.data();
    block_.tid = tid_.data();
    block_.ctaid[0] = block;
    block_.nctaid[0] = grid;
    block_.ntid[0] = threads;
    block_.nctaid[1] = block_.nctaid[2] = block_.ntid[1] = block_.ntid[2] = 1;
    block_.thread_count = threads;
    block_.thread_padded = padded;
    block_.warp_count = warps;
    block_.shared_bytes = kernel_.static_shared_bytes;
    block_.worker_count = 1;
    block_.points = points_.data();
    block_.words = words_.data();
    for (Barrier& barrier : barriers_) barrier = {};
    std::string failure = RunBlock();
    if (!failure.empty()) return failure;
  }
  return {};
}

std::string StepDriver::RunBlock() {
  for (uint32_t steps = 0; steps < kMaxSteps; ++steps) {
    bool alive = false;
    for (uint32_t w = 0; w < block_.warp_count; ++w) alive |= Alive(w) != 0;
    if (!alive) return {};
    if (StepSomeWarp()) continue;
    bool went_on = CompleteBarriers();
    for (uint32_t w = 0; w < block_.warp_count && !went_on; ++w) went_on = Converge(w);
    if (!went_on) return "no thread can continue";
  }
  return "still not through";
}

uint32_t StepDriver::Lanes(uint32_t warp, State state) const {
  uint32_t lanes = 0;
  for (uint32_t t = 32 * warp; t < std::min<uint32_t>(32 * warp + 32, block_.thread_count); ++t) {
    if (states_[t] == state) lanes |= 1u << (t % 32);
  }
  return lanes;
}

uint32_t StepDriver::Alive(uint32_t warp) const {
  return Lanes(warp, State::kReady) | Lanes(warp, State::kWaiting) | Lanes(warp, State::kCounted);
}

bool StepDriver::StepSomeWarp() {
  const uint32_t first = Random(block_.warp_count);
  for (uint32_t i = 0; i < block_.warp_count; ++i) {
    const uint32_t warp = (first + i) % block_.warp_count;
    uint32_t lanes = Lanes(warp, State::kReady);
    if (lanes == 0) continue;
    if (!whole_warps_ && Random(2) == 0) {
      uint32_t some = lanes & static_cast<uint32_t>(random_());
      if (some != 0) lanes = some;
    }
    Step(warp, lanes, PTX2CPU_ENTRY_RESUME);
    while (CompleteCollectives(warp)) {
    }
    CountAtBarrier(warp);
    return true;
  }
  return false;
}

void StepDriver::Step(uint32_t warp, uint32_t lanes, uint32_t entry) {
  live_[warp] = lanes;
  kernel_.run_step(&block_, warp, entry);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t thread = 32 * warp + lane;
    if ((live_[warp] >> lane & 1) == 0) {
      states_[thread] = State::kExited;
    } else if (entry != PTX2CPU_ENTRY_RESUME || PointOf(thread).kind == PTX2CPU_POINT_YIELD) {
      states_[thread] = State::kReady;
    } else {
      states_[thread] = State::kWaiting;
    }
  }
}

bool StepDriver::CompleteCollectives(uint32_t warp) {
  for (uint32_t rest = Lanes(warp, State::kWaiting); rest != 0; rest &= rest - 1) {
    const uint32_t thread = 32 * warp + static_cast<uint32_t>(std::countr_zero(rest));
    const ptx2cpu_point& point = PointOf(thread);
    if (point.kind != PTX2CPU_POINT_COLLECTIVE) continue;
    const uint32_t members = Word(thread, 0) & Alive(warp);
    uint32_t arrived = 0;
    for (uint32_t others = members & Lanes(warp, State::kWaiting); others != 0; others &= others - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(others));
      const ptx2cpu_point& place = PointOf(32 * warp + lane);
      if (place.kind == point.kind && place.collective == point.collective &&
          Word(32 * warp + lane, 0) == Word(thread, 0)) {
        arrived |= 1u << lane;
      }
    }
    if (arrived != members) continue;
    Step(warp, members, PTX2CPU_ENTRY_COLLECTIVE + point.collective);
    return true;
  }
  return false;
}

bool StepDriver::Converge(uint32_t warp) {
  uint32_t earliest = ~0u, lanes = 0;
  for (uint32_t rest = Lanes(warp, State::kWaiting); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t thread = 32 * warp + lane, point = points_[thread];
    if (PointOf(thread).kind != PTX2CPU_POINT_CONVERGED || point > earliest) continue;
    lanes = (point == earliest ? lanes : 0) | 1u << lane;
    earliest = point;
  }
  if (lanes != 0) Step(warp, lanes, PTX2CPU_ENTRY_COLLECTIVE + kernel_.points[earliest].collective);
  return lanes != 0;
}

void StepDriver::CountAtBarrier(uint32_t warp) {
  const uint32_t waiting = Lanes(warp, State::kWaiting);
  if (waiting == 0 || waiting != Alive(warp)) return;
  const uint32_t leader = 32 * warp + static_cast<uint32_t>(std::countr_zero(waiting));
  for (uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
    const uint32_t thread = 32 * warp + static_cast<uint32_t>(std::countr_zero(rest));
    if (!IsBarrier(PointOf(thread).kind) || Word(thread, 0) != Word(leader, 0)) return;
  }
  Barrier& barrier = barriers_[Word(leader, 0) % 16];
  barrier.in_use = true;
  barrier.expected = Word(leader, 1);
  barrier.arrived += 32;
  for (uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
    const uint32_t thread = 32 * warp + static_cast<uint32_t>(std::countr_zero(rest));
    states_[thread] = PointOf(thread).kind == PTX2CPU_POINT_BARRIER_ARRIVE ? State::kReady : State::kCounted;
  }
  CompleteBarriers();
}

bool StepDriver::CompleteBarriers() {
  bool any = false;
  for (uint32_t id = 0; id < 16; ++id) {
    if (!barriers_[id].in_use) continue;
    bool complete = barriers_[id].expected != 0 && barriers_[id].arrived >= barriers_[id].expected;
    if (barriers_[id].expected == 0) {  // all that have not exited
      complete = true;
      for (uint32_t t = 0; t < block_.thread_count; ++t) {
        complete &= states_[t] == State::kExited || (states_[t] == State::kCounted && Word(t, 0) == id);
      }
    }
    if (complete) Release(id);
    any |= complete;
  }
  return any;
}

void StepDriver::Release(uint32_t id) {
  barriers_[id] = {};
  std::vector<uint32_t> members;
  uint32_t holding = 0;
  for (uint32_t t = 0; t < block_.thread_count; ++t) {
    if (states_[t] != State::kCounted || Word(t, 0) != id) continue;
    members.push_back(t);
    holding += PointOf(t).kind != PTX2CPU_POINT_BARRIER && Word(t, 2) != 0 ? 1 : 0;
  }
  for (uint32_t t : members) {
    states_[t] = State::kReady;
    if (PointOf(t).kind == PTX2CPU_POINT_RED_POPC) Word(t, 0) = holding;
    if (PointOf(t).kind == PTX2CPU_POINT_RED_AND) Word(t, 0) = holding == members.size();
    if (PointOf(t).kind == PTX2CPU_POINT_RED_OR) Word(t, 0) = holding != 0;
  }
}

}  // namespace ptx2cpu::llvm_test
