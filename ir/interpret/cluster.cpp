// Blocks that run together: the blocks of a cluster, which share a barrier and see each other's shared
// memory, the clusters of a cooperative launch, and clusters that wait for later ones. They take turns.
#include <algorithm>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {
constexpr uint32_t kTurnsAlone =
    30;  // of each cluster that runs: one that still runs then may wait for a later one
}

// -- the cluster's barrier --

Status ArriveAtCluster(Step& s) {
  const uint32_t phase = s.machine.cluster.phase;
  if (s.thread.cluster_arrival > phase)
    return s.Fault("arrives at the cluster's barrier a second time before all others have");
  s.thread.cluster_arrival = phase + 1;
  return {};
}

Result<bool> MustWaitForCluster(Step& s) {
  if (s.thread.cluster_arrival == 0)
    return s.Fault("waits at the cluster's barrier without having arrived there");
  return s.thread.cluster_arrival > s.machine.cluster.phase;
}

Status ExecuteClusterArrive(Step& s) { return ArriveAtCluster(s); }

Status ExecuteClusterWait(Step& s) {
  if (TRY(MustWaitForCluster(s))) Wait(s);
  return {};
}

namespace {

// The phase ends when all threads have arrived that have not exited.
bool CompletePhase(Cluster& cluster) {
  bool any = false;
  for (auto& block : cluster.blocks) {
    for (const Thread& thread : block->threads) {
      if (!thread.live()) continue;
      if (thread.cluster_arrival <= cluster.phase) return false;
      any = true;
    }
  }
  if (!any) return false;
  ++cluster.phase;
  for (auto& block : cluster.blocks) {
    for (Thread& thread : block->threads) {
      if (thread.state == ThreadState::kWaiting && WaitsFor(thread) == Opcode::kClusterWait) Release(thread);
    }
  }
  return true;
}

std::unexpected<Error> DeadlockOf(Cluster& cluster) {
  for (auto& block : cluster.blocks) {
    for (const Thread& thread : block->threads) {
      if (thread.state == ThreadState::kWaiting) return block->Deadlock();
    }
  }
  return Fail(ErrorCode::kInternal, "no thread runs, and none waits");
}

// Runs each of its blocks once. `ran` is false if none of its threads can ever continue on its own.
Result<Machine::Turn> TurnOf(Cluster& cluster) {
  Machine::Turn all;
  for (auto& block : cluster.blocks) {
    const Machine::Turn turn = TRY(block->TakeTurn());
    all.live |= turn.live;
    all.ran |= turn.ran;
  }
  if (!all.live) return all;
  all.ran |= CompletePhase(cluster);
  if (all.ran) return all;
  for (auto& block : cluster.blocks) all.ran |= TRY(block->CompleteShortBarriers());
  return all;
}

}  // namespace

namespace {

void Start(Cluster& cluster) {
  cluster.phase = 0;
  for (auto& block : cluster.blocks) block->StartBlock();
}

}  // namespace

Status RunTogether(std::span<const std::unique_ptr<Cluster>> clusters) {
  for (auto& cluster : clusters) Start(*cluster);
  for (;;) {
    Cluster* stuck = nullptr;
    bool ran = false;
    for (auto& cluster : clusters) {
      const Machine::Turn turn = TRY(TurnOf(*cluster));
      ran |= turn.ran;
      if (turn.live && stuck == nullptr) stuck = cluster.get();
    }
    if (stuck == nullptr) return {};
    if (!ran) return DeadlockOf(*stuck);
  }
}

Status RunInOrder(const std::function<std::unique_ptr<Cluster>(std::unique_ptr<Cluster>)>& next) {
  std::vector<std::unique_ptr<Cluster>> running;
  std::unique_ptr<Cluster> ended;
  bool are_more = true;
  for (uint32_t turns = 0;; ++turns) {
    if (are_more && turns >= kTurnsAlone * running.size()) {
      std::unique_ptr<Cluster> another = next(std::move(ended));
      are_more = another != nullptr;
      if (are_more) {
        for (auto& block : another->blocks) {
          for (auto& other : running) block->executed = std::max(block->executed, other->blocks[0]->executed);
        }
        Start(*another);
        running.push_back(std::move(another));
      }
      turns = 0;
    }
    if (running.empty()) return {};
    for (size_t n = 0; n < running.size(); ++n) {
      const Machine::Turn turn = TRY(TurnOf(*running[n]));
      if (turn.live && !turn.ran) return DeadlockOf(*running[n]);
      if (turn.live) continue;
      ended = std::move(running[n]);
      running.erase(running.begin() + static_cast<ptrdiff_t>(n--));
      turns = 0;
    }
  }
}

// -- shared memory of other blocks --

Machine* BlockOfShared(const Machine& machine, uint64_t address) {
  for (auto& block : machine.cluster.blocks) {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(block->shared.data());
    if (offset < block->shared.size()) return block.get();
  }
  return nullptr;
}

}  // namespace ptx2cpu::ir::interpret
