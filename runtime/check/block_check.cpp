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

constexpr uint64_t kMaxWords = uint64_t{1}
                               << 28;  // of one access; a copy of more is not compared word by word

bool Wants(uint32_t kinds) { return (WantedKinds() & kinds) != 0; }

GlobalShadow& TheShadow() {
  static GlobalShadow* const shadow = new GlobalShadow;  // workers may use it while the process ends
  return *shadow;
}

uint32_t IndexOf(const ptx2cpu_block& block) {
  return (block.ctaid[2] * block.nctaid[1] + block.ctaid[1]) * block.nctaid[0] + block.ctaid[0];
}

std::array<uint32_t, 3> BlockAt(const ptx2cpu_block& block, uint32_t index) {
  const uint32_t row = index / block.nctaid[0];
  return {index % block.nctaid[0], row % block.nctaid[1], row / block.nctaid[1]};
}

}  // namespace

void BlockCheck::Begin(LaunchCheck& launch, const ptx2cpu_block& block) {
  launch_ = &launch;
  clock_.Begin(launch.clock, IndexOf(block) + 1, block.thread_padded);
  barriers_.assign(block.thread_padded, {});
  if (Wants(PTX2CPU_CHECKS_RACE)) shared_.assign((block.window_bytes + 3) / 4, {});
  if (Wants(PTX2CPU_CHECKS_INIT)) MarkUninitialised(block.shared, block.window_bytes);
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

void BlockCheck::Access(const AccessSite& site) {
  if (site.bytes == 0 || (site.lanes() != 0 && site.thread % kLanes >= site.lanes())) return;
  const Target target = TargetOf(*launch_, site);
  if (Wants(PTX2CPU_CHECKS_MEMORY)) CheckBounds(site, target);
  if (!target.inside || (site.form & PTX2CPU_ACCESS_ASYNC) != 0) return;
  if (Wants(PTX2CPU_CHECKS_INIT)) CheckInitialised(site, target);
  if (Wants(PTX2CPU_CHECKS_RACE)) CheckRaces(site, target);
}

void BlockCheck::CheckBounds(const AccessSite& site, const Target& target) {
  if (!target.inside) {
    std::string text = Describe(site, target);
    if (target.memory == Target::Memory::kGlobal) {
      const std::string near = NearText(target.real);
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
  if ((site.form & PTX2CPU_ACCESS_ASYNC) == 0 && std::has_single_bit(align) && target.real % align != 0)
    Report(site.block, site.thread, site.ptx_line, Error::kMisaligned, Describe(site, target));
}

// Each register that is loaded whole from fresh memory; a narrow one with the rest of its aligned word.
void BlockCheck::CheckInitialised(const AccessSite& site, const Target& target) {
  const uint32_t word = site.word_bytes();
  if (word == 0 || (site.form & PTX2CPU_ACCESS_READS) == 0 || target.memory == Target::Memory::kLocal) return;
  for (uint32_t at = 0; at < site.bytes; at += word) {
    const uint64_t first = (target.real + at) & ~uint64_t{3};
    const uint64_t end = (target.real + at + word + 3) & ~uint64_t{3};
    bool fresh = true;
    for (uint64_t address = first; address < end && fresh; address += 4)
      fresh = std::memcmp(reinterpret_cast<const void*>(address), &kUninitialised, 4) == 0;
    if (fresh) {
      return Report(site.block, site.thread, site.ptx_line, Error::kUninitialised,
                    Describe(site, target) + ", which nothing has written");
    }
  }
}

void BlockCheck::CheckRaces(const AccessSite& site, const Target& target) {
  if (target.memory != Target::Memory::kShared && target.memory != Target::Memory::kGlobal) return;
  const bool strong = (site.form & PTX2CPU_ACCESS_STRONG) != 0;
  const bool reads = (site.form & PTX2CPU_ACCESS_READS) != 0;
  if (strong && (reads || (site.form & PTX2CPU_ACCESS_ACQUIRES) != 0))
    clock_.Acquire(site.thread, target.real);
  CellAccess access{clock_.Now(site.thread, site.ptx_line), 0, site.Writes(), strong,
                    (site.form & PTX2CPU_ACCESS_LOCKSTEP) != 0};
  if (target.memory == Target::Memory::kShared)
    EnterWords(site, target, access, target.offset, target.offset + site.bytes, shared_.data());
  else
    EnterPages(site, target, access);
  const bool publishes = site.Writes() && strong && clock_.fenced();
  if (publishes || (site.form & PTX2CPU_ACCESS_RELEASES) != 0) clock_.Publish(site.thread, target.real);
}

void BlockCheck::EnterPages(const AccessSite& site, const Target& target, CellAccess access) {
  constexpr uint64_t kPage = GlobalShadow::kWords * 4;
  const uint64_t end = target.real + std::min<uint64_t>(site.bytes, kMaxWords * 4);
  for (uint64_t at = target.real; at < end;) {
    const uint64_t base = at / kPage * kPage, stop = std::min(base + kPage, end);
    GlobalShadow::Page& page = TheShadow().PageOf(base);
    std::lock_guard lock(page.mutex);
    if (page.launch != launch_->number) std::ranges::fill(page.cells, Cell());
    page.launch = launch_->number;
    EnterWords(site, target, access, at - base, stop - base, page.cells);
    at = stop;
  }
}

// Bytes `from` to `to` of the memory that `cells` are the shadow of. The first conflict of an access is
// reported.
void BlockCheck::EnterWords(const AccessSite& site, const Target& target, CellAccess access, uint64_t from,
                            uint64_t to, Cell* cells) {
  bool raced = false;
  for (uint64_t word = from / 4; word * 4 < to; ++word) {
    const uint64_t first = std::max(word * 4, from), last = std::min(word * 4 + 4, to);
    access.bytes = static_cast<uint8_t>(((1u << (last - first)) - 1) << (first - word * 4));
    Conflict conflict;
    if (Enter(cells[word], access, clock_, conflict)) continue;
    if (!raced) ReportRace(site, target, conflict);
    raced = true;
  }
}

void BlockCheck::ReportRace(const AccessSite& site, const Target& target, const Conflict& conflict) {
  Finding finding;
  finding.error = Error::kRace;
  finding.kernel = launch_->kernel;
  finding.party = PartyOf(site.block, site.thread, site.ptx_line);
  finding.text = Describe(site, target);
  finding.other = PartyOf(site.block, conflict.with.thread, conflict.with.ptx_line);
  finding.other.block = BlockAt(site.block, conflict.with.block - 1);
  finding.other_text = conflict.was_write ? "write" : "read";
  Findings::Get().Add(std::move(finding));
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

void BlockCheck::Sync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step,
                      uint32_t a, uint32_t b) {
  if (Wants(PTX2CPU_CHECKS_SYNC)) CheckSync(block, thread, ptx_line, step, a, b);
  if (!Wants(PTX2CPU_CHECKS_RACE)) return;
  const bool whole = b == 0;
  switch (static_cast<ptx2cpu_sync_step>(step & ~PTX2CPU_SYNC_ALIGNED)) {
    case PTX2CPU_SYNC_BLOCK_ARRIVE:
      return clock_.ArriveAtBlock(thread, a, whole);
    case PTX2CPU_SYNC_BLOCK_LEAVE:
      return clock_.LeaveBlock(thread, a, whole);
    case PTX2CPU_SYNC_WARP_ARRIVE:
      return clock_.ArriveAtWarp(thread);
    case PTX2CPU_SYNC_WARP_LEAVE:
      return clock_.LeaveWarp(thread, a);
    case PTX2CPU_SYNC_CLUSTER_ARRIVE:
      return clock_.Publish(thread, reinterpret_cast<uint64_t>(block.cluster_shared));
    case PTX2CPU_SYNC_CLUSTER_LEAVE:
      return clock_.Acquire(thread, reinterpret_cast<uint64_t>(block.cluster_shared));
    case PTX2CPU_SYNC_FENCE:
      return clock_.Fence();
    case PTX2CPU_SYNC_STEPS:
      return;
  }
}

void BlockCheck::CheckSync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step,
                           uint32_t a, uint32_t b) {
  const uint32_t kind = step & ~PTX2CPU_SYNC_ALIGNED;
  if (kind == PTX2CPU_SYNC_BLOCK_ARRIVE && b == 0)
    Arrive(block, thread, ptx_line, (step & PTX2CPU_SYNC_ALIGNED) != 0);
  if (kind == PTX2CPU_SYNC_BLOCK_LEAVE) barriers_[thread].waits = false;
  if (kind != PTX2CPU_SYNC_WARP_ARRIVE || (a >> thread % kLanes & 1) != 0) return;
  char text[64];
  std::snprintf(text, sizeof text, "the membermask 0x%08x does not name lane %u", a, thread % kLanes);
  Report(block, thread, ptx_line, Error::kNotAMember, text);
}

// Threads that have come to fewer barriers of the whole block than others.
void BlockCheck::End(const ptx2cpu_block& block) {
  if (!Wants(PTX2CPU_CHECKS_SYNC)) return;
  const auto threads = std::span(barriers_).first(block.thread_count);
  const auto more = [](const AtBarrier& a, const AtBarrier& b) { return a.whole < b.whole; };
  const auto fewest = std::ranges::min_element(threads, more), most = std::ranges::max_element(threads, more);
  if (fewest->whole == most->whole) return;
  const auto missing =
      std::ranges::count_if(threads, [&](const AtBarrier& t) { return t.whole < most->whole; });
  char text[160];
  std::snprintf(
      text, sizeof text, "%u of the block's %u threads never come to this barrier, the first is thread %u",
      static_cast<unsigned>(missing), block.thread_count, static_cast<unsigned>(fewest - threads.begin()));
  Report(block, static_cast<uint32_t>(most - threads.begin()), most->ptx_line, Error::kMissingThreads, text);
}

}  // namespace ptx2cpu::rt::check
