#include "runtime/launch/resident.h"

#include <cstring>

#include "runtime/check/checks.h"

namespace ptx2cpu::rt {

namespace {
constexpr uint32_t kPassesPerTurn = 64;
}

bool Resident::Prepare(LaunchJob& job, Arena& arena, unsigned worker) {
  const Dim3& cluster = job.shape().cluster;
  const uint32_t count = cluster.x * cluster.y * cluster.z;
  for (uint32_t rank = 0; rank < count; ++rank) {
    blocks_.push_back(std::make_unique<Block>());
    Block& block = *blocks_.back();
    if (arena.resident.empty()) {
      block.memory = std::make_unique<BlockMemory>();
    } else {
      block.memory = std::move(arena.resident.back());
      arena.resident.pop_back();
    }
    if (!job.FillBlock(block.context, *block.memory, arena.ids, worker)) return false;
    shared_.push_back(block.context.shared);
  }
  return true;
}

void Resident::ReturnMemory(Arena& arena) {
  for (auto& block : blocks_) {
    if (block->memory != nullptr) arena.resident.push_back(std::move(block->memory));
  }
  blocks_.clear();
}

void Resident::Start(LaunchJob& job, uint64_t index) {
  const Dim3 &grid = job.shape().grid, &cluster = job.shape().cluster;
  const uint64_t width = grid.x / cluster.x, plane = width * (grid.y / cluster.y);
  const auto z = static_cast<uint32_t>(index / plane), y = static_cast<uint32_t>(index % plane / width),
             x = static_cast<uint32_t>(index % plane % width);
  for (uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    ptx2cpu_block& block = blocks_[rank]->context;
    block.cluster_ctarank = rank;
    block.cluster_ctaid[0] = rank % cluster.x;
    block.cluster_ctaid[1] = rank / cluster.x % cluster.y;
    block.cluster_ctaid[2] = rank / cluster.x / cluster.y;
    block.ctaid[0] = x * cluster.x + block.cluster_ctaid[0];
    block.ctaid[1] = y * cluster.y + block.cluster_ctaid[1];
    block.ctaid[2] = z * cluster.z + block.cluster_ctaid[2];
    block.cluster_shared = shared_.data();
    InitialiseLiveMasks(block);
    if (job.kernel().run_step != nullptr) {
      std::optional<uint64_t> order = job.launch().options->order;
      if (order) *order += Scatter(index * kMaxClusterBlocks + rank + 1);
      blocks_[rank]->scheduler.Start(job.kernel(), block, order);
    }
    blocks_[rank]->done = false;
    if (job.launch().options->zeroed) {
      std::memset(block.shared, 0, block.window_bytes);
      std::memset(block.local, 0, block.local_stride * block.thread_padded);
    }
    if (check::Checks(job.kernel())) check::BeginBlock(block);
    if ((job.kernel().flags & PTX2CPU_KERNEL_HAS_TENSOR_MEMORY) != 0) ClearTensorAllocator(block);
  }
  faulted_ = nullptr;
}

// Runs each block once. False: a block has faulted.
bool Resident::RunEach(LaunchJob& job, RunningBlock& running, Pass& pass) {
  for (auto& block : blocks_) {
    if (block->done) continue;
    const bool resumes = job.kernel().run_step != nullptr;
    running = {running.landing, &block->context, block->memory.get(), resumes ? &block->scheduler : nullptr};
    running.landing->block = &block->context;
    Verdict verdict = Verdict::kDone;
    if (!resumes) {
      job.kernel().run_block(&block->context);
      pass.moved = true;
    } else {
      verdict = block->scheduler.Run();
      // A long turn may be a wait for others, which should make progress.
      pass.moved |= block->scheduler.progressed() && verdict != Verdict::kTurnOver;
    }
    if (verdict == Verdict::kFaulted) {
      faulted_ = block.get();
      return false;
    }
    block->done = verdict == Verdict::kDone;
    if (block->done && check::Checks(job.kernel())) check::EndBlock(block->context);
    pass.all_done &= block->done;
    pass.waits |= verdict == Verdict::kWaitsForCluster;
    pass.can_run |= verdict == Verdict::kStalled || verdict == Verdict::kTurnOver;
  }
  return true;
}

Verdict Resident::Run(LaunchJob& job, RunningBlock& running) {
  progressed_ = false;
  for (uint32_t n = 0; n < kPassesPerTurn; ++n) {
    Pass pass;
    if (!RunEach(job, running, pass)) return Verdict::kFaulted;
    progressed_ |= pass.moved;
    if (pass.all_done) return Verdict::kDone;
    if (pass.waits && PassClusterBarrier()) {
      progressed_ = true;
    } else if (!pass.can_run) {
      if (!CompleteShortBarriers()) Deadlock();
      if (faulted_ != nullptr) return Verdict::kFaulted;
    } else if (!pass.moved || blocks_.size() == 1) {
      return Verdict::kStalled;
    }
  }
  return Verdict::kTurnOver;
}

bool Resident::PassClusterBarrier() {
  for (auto& block : blocks_) {
    if (!block->done && !block->scheduler.AllArrivedAtCluster()) return false;
  }
  for (auto& block : blocks_) {
    if (!block->done) block->scheduler.PassCluster();
  }
  return true;
}

// All blocks wait for the cluster: now it is known which warps will never come to a counted barrier.
bool Resident::CompleteShortBarriers() {
  bool any = false;
  for (auto& block : blocks_) {
    if (block->done || !block->scheduler.CompleteShortBarriers()) continue;
    any = true;
    if (block->scheduler.fault().kind != 0) faulted_ = block.get();
  }
  return any;
}

void Resident::Deadlock() {
  for (auto& block : blocks_) {
    if (block->done) continue;
    block->scheduler.Deadlock();
    faulted_ = block.get();
    for (auto& other : blocks_) {
      if (other != block && !other->done) block->scheduler.AddToReport(other->scheduler.MissingAtCluster());
    }
    return;
  }
}

LaunchError Resident::Fault(const LaunchJob& job) const {
  const SchedulerFault& fault = faulted_->scheduler.fault();
  const ptx2cpu_block& block = faulted_->context;
  return {LaunchError::Kind::kFault,
          job.WhereText(block, fault.thread, fault.ptx_line) + fault.text,
          fault.kind,
          {block.ctaid[0], block.ctaid[1], block.ctaid[2]},
          fault.thread,
          fault.ptx_line};
}

}  // namespace ptx2cpu::rt
