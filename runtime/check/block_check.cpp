#include "runtime/check/block_check.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <span>

#include "runtime/check/memory.h"
#include "runtime/check/wanted.h"

namespace ptx2cpu::rt::check {

namespace {

uint32_t IndexOf(const ptx2cpu_block& block) {
  return (block.ctaid[2] * block.nctaid[1] + block.ctaid[1]) * block.nctaid[0] + block.ctaid[0];
}

}  // namespace

void BlockCheck::Join(LaunchCheck& launch, const ptx2cpu_block& block) {
  launch_ = &launch;
  of_ = block.launch;
  version_ = SourceVersion();
  ranges_.assign(PTX2CPU_CHECK_RANGES, {});
  written_.clear();
}

void BlockCheck::Begin(ptx2cpu_block& block) {
  if (const uint64_t version = SourceVersion(); version != version_ || block.shared != window_) {
    version_ = version;
    window_ = block.shared;
    ranges_.assign(PTX2CPU_CHECK_RANGES, {});
    written_.clear();
  }
  block.check_ranges = ranges_.data();
  if (Wants(PTX2CPU_CHECKS_SYNC)) {
    barriers_.assign(block.thread_padded, {});
    counted_.Begin();
  }
  if (Wants(PTX2CPU_CHECKS_RACE)) {
    clock_.Begin(launch_->clock, IndexOf(block) + 1, block.thread_padded);
    shared_.Resize(block.window_bytes);
    ++begun_;
  }
  if (Wants(PTX2CPU_CHECKS_INIT)) initialised_.Begin(block);
}

void BlockCheck::Report(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, Error error,
                        std::string text) {
  Finding finding;
  finding.error = error;
  finding.kernel = launch_->kernel;
  finding.party = PartyOf(block, thread, ptx_line);
  finding.text = std::move(text);
  Findings::Get().Add(std::move(finding));
}

namespace {

// The lanes whose addresses the instruction does not ignore.
uint64_t LanesThatCount(const Accesses& accesses) {
  const uint32_t count = accesses.form >> PTX2CPU_ACCESS_LANES_SHIFT & 63;
  uint64_t lanes = accesses.lanes;
  if (count == 0 || count >= kLanes) return lanes;
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    if ((accesses.thread + lane) % kLanes >= count) lanes &= ~(uint64_t{1} << lane);
  }
  return lanes;
}

}  // namespace

void BlockCheck::Access(const ptx2cpu_block& block, const Accesses& accesses) {
  if (const uint64_t lanes = LanesThatCount(accesses); lanes != accesses.lanes) {
    Accesses fewer = accesses;
    fewer.lanes = lanes;
    return Access(block, fewer);
  }
  if (accesses.lanes == 0 || AccessRow(block, accesses)) return;
  if (AccessLanes(block, accesses)) return;
  std::optional<MemoryRange> holder;
  for (uint64_t rest = accesses.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const auto found = Access({block, accesses.thread + lane, accesses.ptx_line, accesses.AddressOf(lane),
                               accesses.form, accesses.bytes, accesses.variable, accesses.variable_base},
                              accesses.written);
    if (found) holder = found;
  }
  if (holder && accesses.range != PTX2CPU_NO_CHECK_RANGE) Remember(accesses, *holder);
}

void BlockCheck::Remember(const Accesses& accesses, const MemoryRange& range) {
  const uint32_t align = std::min(accesses.bytes, 16u);
  const bool is_aligned = std::has_single_bit(align) && (accesses.form & PTX2CPU_ACCESS_BULK) == 0;
  const int shift = is_aligned ? std::countr_zero(align) : 0;
  if (range.pitch != 0 || range.base % (uint64_t{1} << shift) != 0) return;
  ranges_[accesses.range] = {range.base, ((range.bytes - accesses.bytes) >> shift) + 1};
}

std::optional<MemoryRange> BlockCheck::Access(const AccessSite& site, uint64_t written) {
  if (site.bytes == 0 || (site.lanes() != 0 && site.thread % kLanes >= site.lanes())) return std::nullopt;
  const Target target = TargetOf(*launch_, site);
  if (Wants(PTX2CPU_CHECKS_MEMORY)) CheckBounds(site, target);
  if (!target.inside) return std::nullopt;
  if (Wants(PTX2CPU_CHECKS_INIT)) CheckInitialised(site, target);
  if (MayRace(site.block, target, site.form, written)) {
    CheckRaces(site, target, written);
    return std::nullopt;
  }
  return target.holder.bytes == 0 ? std::nullopt : std::optional(target.holder);
}

namespace {

// "4 bytes after variable 'tile' of 1024 bytes"
std::string PlaceInVariable(const AccessSite& site) {
  const auto offset = static_cast<int64_t>(site.address - site.variable_base);
  const auto end = static_cast<int64_t>(site.variable->bytes);
  char place[64];
  if (offset < 0) {
    std::snprintf(place, sizeof place, "%" PRId64 " bytes before", -offset);
  } else if (offset >= end) {
    std::snprintf(place, sizeof place, "%" PRId64 " bytes after", offset - end);
  } else {
    std::snprintf(place, sizeof place, "%" PRId64 " bytes before the end of", end - offset);
  }
  return std::string(place) + " variable '" + site.variable->name + "' of " + std::to_string(end) + " bytes";
}

}  // namespace

void BlockCheck::CheckBounds(const AccessSite& site, const Target& target) {
  if (!site.IsInVariable()) {
    return Report(site.block, site.thread, site.ptx_line, Error::kOutOfBounds,
                  Describe(site, target) + ": " + PlaceInVariable(site));
  }
  if (!target.inside) {
    std::string text = Describe(site, target);
    if (target.memory == Target::Memory::kGlobal) {
      if (const std::string freed = FreedText(*launch_, target.real); !freed.empty())
        return Report(site.block, site.thread, site.ptx_line, Error::kUseAfterFree, text + ": " + freed);
      // To look for what is near takes long.
      if (Findings::Get().CountKnown(Error::kOutOfBounds, launch_->kernel, site.ptx_line, 0)) return;
      const std::string near = NearText(*launch_, target.real);
      text += near.empty() ? ", which no allocation holds" : ": " + near;
    } else {
      const bool shared = target.memory == Target::Memory::kShared;
      char size[64];
      std::snprintf(size, sizeof size,
                    shared ? ": the block has %" PRIu64 " bytes of shared memory"
                           : ": the thread has %" PRIu64 " bytes of local memory",
                    shared ? uint64_t{site.block.shared_bytes} : site.block.local_stride);
      text += size;
    }
    return Report(site.block, site.thread, site.ptx_line, Error::kOutOfBounds, std::move(text));
  }
  const uint32_t align = std::min(site.bytes, 16u);
  if ((site.form & PTX2CPU_ACCESS_BULK) == 0 && std::has_single_bit(align) && target.real % align != 0)
    Report(site.block, site.thread, site.ptx_line, Error::kMisaligned, Describe(site, target));
}

// Each register of a load; then what a store writes is no longer fresh.
void BlockCheck::CheckInitialised(const AccessSite& site, const Target& target) {
  const uint32_t word = site.word_bytes();
  if (word != 0 && (site.form & (PTX2CPU_ACCESS_READS | PTX2CPU_ACCESS_ASYNC)) == PTX2CPU_ACCESS_READS) {
    for (uint32_t at = 0; at < site.bytes; at += word) {
      const uint32_t fresh = initialised_.FreshBytes(site, target, at, word);
      if (fresh == 0) continue;
      const std::string part =
          fresh == word ? "which" : std::to_string(fresh) + " of " + std::to_string(word) + " of which";
      Report(site.block, site.thread, site.ptx_line, Error::kUninitialised,
             Describe(site, target) + ", " + part + " nothing has written");
      break;
    }
  }
  if (site.Writes()) initialised_.Write(site, target);
}

// Lanes of a warp that wait at two barriers at once: an aligned barrier does not allow that, and each counts
// the whole warp.
void BlockCheck::Arrive(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, bool aligned) {
  AtBarrier& me = barriers_[thread];
  me.ptx_line = ptx_line;
  me.waits = true;
  ++me.whole;
  if (!aligned) return;
  const uint32_t first = thread / kLanes * kLanes;
  for (uint32_t other = first; other < first + kLanes; ++other) {
    const AtBarrier& that = barriers_[other];
    if (!that.waits || that.whole != me.whole || that.ptx_line == ptx_line) continue;
    Finding finding;
    finding.error = Error::kDifferentBarriers;
    finding.kernel = launch_->kernel;
    finding.party = PartyOf(block, thread, ptx_line);
    finding.text = "waits at this barrier while a lane of the same warp waits at another";
    finding.other = PartyOf(block, other, that.ptx_line);
    finding.other_text = "wait";
    return Findings::Get().Add(std::move(finding));
  }
}

void BlockCheck::Sync(const ptx2cpu_block& block, const Steps& steps) {
  const auto each = [&](const auto& act) {
    for (uint64_t rest = steps.lanes; rest != 0; rest &= rest - 1)
      act(steps.thread + static_cast<uint32_t>(std::countr_zero(rest)));
  };
  if (steps.lanes == 0) return;
  if (Wants(PTX2CPU_CHECKS_SYNC)) {
    each([&](uint32_t thread) {
      CheckSync(block, thread, steps.ptx_line, steps.step & ~(PTX2CPU_SYNC_CONVERGED | PTX2CPU_SYNC_TOGETHER),
                steps.a, steps.b);
    });
  }
  if (!Wants(PTX2CPU_CHECKS_RACE)) return;
  const bool whole = steps.b == 0;
  switch (static_cast<ptx2cpu_sync_step>(PTX2CPU_SYNC_STEP(steps.step))) {
    case PTX2CPU_SYNC_BLOCK_ARRIVE:
      if (whole) return clock_.ArriveAtBlock();
      return each([&](uint32_t thread) { clock_.ArriveAtCounted(thread, steps.a); });
    case PTX2CPU_SYNC_BLOCK_LEAVE:
      if (whole && (steps.step & PTX2CPU_SYNC_TOGETHER) != 0) return clock_.LeaveBlockTogether();
      if (whole) return clock_.LeaveBlock(steps.thread, steps.lanes);
      return each([&](uint32_t thread) { clock_.LeaveCounted(thread, steps.a); });
    case PTX2CPU_SYNC_WARP_ARRIVE:
      return clock_.ArriveAtWarp(steps.thread, steps.lanes);
    case PTX2CPU_SYNC_WARP_LEAVE:
      return LeaveWarp(steps);
    case PTX2CPU_SYNC_CLUSTER_ARRIVE:
      return each(
          [&](uint32_t thread) { clock_.Publish(thread, reinterpret_cast<uint64_t>(block.cluster_shared)); });
    case PTX2CPU_SYNC_CLUSTER_LEAVE:
      return each(
          [&](uint32_t thread) { clock_.Acquire(thread, reinterpret_cast<uint64_t>(block.cluster_shared)); });
    case PTX2CPU_SYNC_FENCE:
      return clock_.Fence();
    case PTX2CPU_SYNC_COPY_COMMIT:
      return each([&](uint32_t thread) { clock_.copies().Commit(thread, steps.a); });
    case PTX2CPU_SYNC_COPY_WAIT:
      return each([&](uint32_t thread) { clock_.WaitForCopies(thread, steps.a, steps.b); });
    case PTX2CPU_SYNC_COPY_ARRIVE:
      return each([&](uint32_t thread) { clock_.copies().Carry(thread, steps.a); });
    case PTX2CPU_SYNC_TEST_PHASE:
      return each([&](uint32_t thread) { clock_.TestPhase(thread, steps.a); });
    case PTX2CPU_SYNC_KEEP:
      return clock_.KeepAll();
    case PTX2CPU_SYNC_PROXY_FENCE:
      return each([&](uint32_t thread) { clock_.FenceProxy(thread); });
    case PTX2CPU_SYNC_STEPS:
      return;
  }
}

// A warp operation that names all lanes is one for the whole warp, whose lanes may come in several parts.
void BlockCheck::LeaveWarp(const Steps& steps) {
  const bool converged = (steps.step & PTX2CPU_SYNC_CONVERGED) != 0;
  for (uint64_t rest = steps.lanes; rest != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t thread = steps.thread + lane;
    const auto lanes = static_cast<uint32_t>(rest >> lane) << thread % kLanes;  // of this warp
    if ((steps.step & PTX2CPU_SYNC_TOGETHER) != 0) {
      clock_.MeetInWarp(thread, lanes);
    } else if (converged ? lanes == ~0u : steps.a == ~0u) {
      clock_.LeaveWholeWarp(thread, lanes);
    } else if (converged) {
      clock_.LeaveConverged(thread, lanes);
    } else {
      for (uint32_t each = lanes; each != 0; each &= each - 1)
        clock_.LeaveMembers(thread / kLanes * kLanes + static_cast<uint32_t>(std::countr_zero(each)),
                            steps.a);
    }
    const uint32_t next = lane + kLanes - thread % kLanes;  // the first lane of another warp
    rest = next < 64 ? rest >> next << next : 0;
  }
}

void BlockCheck::CheckSync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step,
                           uint32_t a, uint32_t b) {
  const uint32_t kind = PTX2CPU_SYNC_STEP(step);
  if (kind == PTX2CPU_SYNC_BLOCK_ARRIVE && b == 0)
    Arrive(block, thread, ptx_line, (step & PTX2CPU_SYNC_ALIGNED) != 0);
  if (kind == PTX2CPU_SYNC_BLOCK_ARRIVE && b != 0)
    counted_.Arrive(thread, ptx_line, a, b, (step & PTX2CPU_SYNC_PASSES) == 0);
  if (kind == PTX2CPU_SYNC_BLOCK_LEAVE) barriers_[thread].waits = false;
  if (kind != PTX2CPU_SYNC_WARP_ARRIVE || (a >> thread % kLanes & 1) != 0) return;
  char text[64];
  std::snprintf(text, sizeof text, "the membermask 0x%08x does not name lane %u", a, thread % kLanes);
  Report(block, thread, ptx_line, Error::kNotAMember, text);
}

bool BlockCheck::Free(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint64_t pointer) {
  if (pointer == 0 || !Wants(PTX2CPU_CHECKS_MEMORY)) return true;
  const auto* const address = reinterpret_cast<const std::byte*>(pointer);
  const auto held = launch_->heap->Find(address), freed = launch_->heap->FindFreed(address);
  if (held && held->base == address) return true;
  char text[96];
  std::snprintf(text, sizeof text, "free of 0x%" PRIx64 ", which %s", pointer,
                freed && freed->base == address ? "has been freed before"
                : held                          ? "is inside a block of device malloc, not its beginning"
                                                : "is no block of device malloc");
  Report(block, thread, ptx_line, Error::kBadFree, text);
  return false;
}

void BlockCheck::Result(const ptx2cpu_block& block, uint32_t thread, const void* to, uint32_t bytes) {
  if (!Wants(PTX2CPU_CHECKS_INIT)) return;
  constexpr uint32_t kForm = PTX2CPU_ACCESS_WRITES | PTX2CPU_SPACE_REAL << PTX2CPU_ACCESS_SPACE_SHIFT;
  const AccessSite site{.block = block,
                        .thread = thread,
                        .address = reinterpret_cast<uint64_t>(to),
                        .form = kForm,
                        .bytes = bytes};
  initialised_.Write(site, TargetOf(*launch_, site));
}

// Threads that have come to fewer barriers of the whole block than others.
void BlockCheck::End(const ptx2cpu_block& block) {
  if (!Wants(PTX2CPU_CHECKS_SYNC)) return;
  char text[160];
  if (const auto waited = counted_.ShortOne()) {
    std::snprintf(text, sizeof text, "%u of the %u threads that barrier %u counts never come to it",
                  waited->count - waited->arrived, waited->count, waited->barrier);
    Report(block, waited->thread, waited->ptx_line, Error::kMissingThreads, text);
  }
  const auto threads = std::span(barriers_).first(block.thread_count);
  const auto more = [](const AtBarrier& a, const AtBarrier& b) { return a.whole < b.whole; };
  const auto fewest = std::ranges::min_element(threads, more), most = std::ranges::max_element(threads, more);
  if (fewest->whole == most->whole) return;
  const auto missing =
      std::ranges::count_if(threads, [&](const AtBarrier& t) { return t.whole < most->whole; });
  std::snprintf(
      text, sizeof text, "%u of the block's %u threads never come to this barrier, the first is thread %u",
      static_cast<unsigned>(missing), block.thread_count, static_cast<unsigned>(fewest - threads.begin()));
  Report(block, static_cast<uint32_t>(most - threads.begin()), most->ptx_line, Error::kMissingThreads, text);
}

}  // namespace ptx2cpu::rt::check
