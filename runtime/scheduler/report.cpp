// The reports of a block's scheduler when threads break a rule or none can continue.
#include <algorithm>
#include <cstdio>

#include "runtime/scheduler/block_scheduler.h"
#include "runtime/scheduler/lane_masks.h"

namespace ptx2cpu::rt {

namespace {

constexpr uint32_t kShown = 4;  // warps in a list, waits in a report

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[160];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

std::string DescribeLanes(const uint32_t (&lanes_of)[kMaxWarps], uint32_t warp_count) {
  std::string text;
  uint32_t shown = 0;
  for (uint32_t w = 0; w < warp_count; ++w) {
    if (lanes_of[w] == 0) continue;
    if (++shown > kShown) return text + ", ...";
    text += Format("%swarp %u lanes %#010x", text.empty() ? "" : ", ", w, lanes_of[w]);
  }
  return text.empty() ? "none" : text;
}

bool IsBarrier(uint32_t kind) {
  return kind >= PTX2CPU_POINT_BARRIER && kind <= PTX2CPU_POINT_BARRIER_ARRIVE;
}

}  // namespace

void BlockScheduler::Fail(uint32_t kind, uint32_t thread, std::string text) {
  if (fault_.kind != 0) return;
  const uint32_t number = block_->points[thread];
  fault_ = {kind, thread, number < kernel_->point_count ? kernel_->points[number].ptx_line : 0,
            std::move(text)};
}

std::string BlockScheduler::Describe(uint32_t point) const {
  const ptx2cpu_point& row = kernel_->points[point];
  const char* name = row.name == nullptr ? "?" : row.name;
  return row.ptx_line == 0 ? std::string(name) : Format("%s at PTX line %u", name, row.ptx_line);
}

std::string BlockScheduler::DescribeWait(uint32_t thread) const {
  const ptx2cpu_point& point = PointOf(thread);
  const uint32_t own = thread / PTX2CPU_WARP_SIZE;
  const bool masked = point.kind == PTX2CPU_POINT_COLLECTIVE, barrier = IsBarrier(point.kind);
  uint32_t here[kMaxWarps] = {}, missing[kMaxWarps] = {};
  for (uint32_t w = 0; w < block_->warp_count; ++w) {
    const Warp& warp = warps_[w];
    const uint32_t first = w * PTX2CPU_WARP_SIZE;
    if (barrier) {
      here[w] = warp.barrier & LanesEqual(&Word(0, first), Word(0, thread));
    } else if (point.kind == PTX2CPU_POINT_CLUSTER_WAIT) {
      here[w] = warp.cluster_arrived;
    } else if (w != own) {
      continue;
    } else if (masked) {
      here[w] =
          LanesOfClass(w, warp.collective & LanesEqual(&Word(0, first), Word(0, thread)), point.collective);
    } else {
      here[w] = warp.converged & LanesEqual(block_->points + first, block_->points[thread]);
    }
    missing[w] = warp.live & ~here[w] & (masked ? Word(0, thread) : ~0u);
  }
  std::string what = Describe(block_->points[thread]);
  if (barrier && Word(1, thread) == 0) what += Format(" (barrier %u of all live threads)", Word(0, thread));
  if (barrier && Word(1, thread) != 0)
    what += Format(" (barrier %u of %u threads)", Word(0, thread), Word(1, thread));
  if (masked) what += Format(" (membermask %#010x)", Word(0, thread));
  return what + ": arrived " + DescribeLanes(here, block_->warp_count) + "; missing " +
         DescribeLanes(missing, block_->warp_count);
}

Verdict BlockScheduler::Deadlock() {
  for (uint32_t t = 0; t < block_->warp_count * PTX2CPU_WARP_SIZE;
       ++t) {  // a GPU traps before it comes to this
    const uint32_t lane = t % PTX2CPU_WARP_SIZE;
    if ((warps_[t / PTX2CPU_WARP_SIZE].collective >> lane & 1) == 0 || (Word(0, t) >> lane & 1) != 0)
      continue;
    Fail(PTX2CPU_FAULT_NOT_A_MEMBER, t,
         Format("lane %u is not in its own membermask %#010x", lane, Word(0, t)));
    return Verdict::kFaulted;
  }
  uint32_t seen[kShown], count = 0, first = ~0u;
  std::string text = "deadlock: no thread can continue. ";
  for (uint32_t w = 0; w < block_->warp_count && count < kShown; ++w) {
    for (uint32_t rest = warps_[w].live; rest != 0 && count < kShown; rest &= rest - 1) {
      const uint32_t thread = w * PTX2CPU_WARP_SIZE + FirstLane(rest);
      if (std::find(seen, seen + count, block_->points[thread]) != seen + count) continue;
      if (count == 0) first = thread;
      seen[count++] = block_->points[thread];
      text += (count == 1 ? "" : ". ") + DescribeWait(thread);
    }
  }
  Fail(PTX2CPU_FAULT_DEADLOCK, first, std::move(text));
  fault_.thread = ~0u;
  return Verdict::kFaulted;
}

std::string BlockScheduler::MissingAtCluster() const {
  uint32_t missing[kMaxWarps] = {}, any = 0;
  for (uint32_t w = 0; w < block_->warp_count; ++w) {
    any |= missing[w] = warps_[w].live & ~warps_[w].cluster_arrived;
  }
  if (any == 0) return {};
  return Format(", block (%u,%u,%u) ", block_->ctaid[0], block_->ctaid[1], block_->ctaid[2]) +
         DescribeLanes(missing, block_->warp_count);
}

}  // namespace ptx2cpu::rt
