// Races of accesses that are no rows: what the lanes have in common is found once, then each enters the cells
// of its words, in the order of lanes.
#include <algorithm>
#include <bit>
#include <optional>

#include "runtime/check/block_check.h"
#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {

// From the first byte that some lane accesses to the last. `bits` is the OR of all addresses, for
// their alignment.
struct Hull {
  uint64_t begin = ~uint64_t{0}, end = 0, bits = 0;
};

Hull HullOf(const Accesses& accesses) {
  Hull hull;
  for (uint64_t rest = accesses.lanes; rest != 0; rest &= rest - 1) {
    const uint64_t address = accesses.AddressOf(static_cast<uint32_t>(std::countr_zero(rest)));
    hull.begin = std::min(hull.begin, address);
    hull.end = std::max(hull.end, address + accesses.bytes);
    hull.bits |= address;
  }
  return hull;
}

bool HasLaneForm(const Accesses& accesses) {
  return IsForLanesTogether(accesses.form) && std::has_single_bit(accesses.bytes) && accesses.bytes <= 16;
}

}  // namespace

// Whether other threads may learn from these accesses, or these from others.
bool BlockCheck::Synchronises(const Accesses& accesses, uint64_t real, uint64_t bytes) const {
  if ((accesses.form & PTX2CPU_ACCESS_STRONG) == 0) return false;
  if ((accesses.form & PTX2CPU_ACCESS_WRITES) != 0 && clock_.fenced()) return true;
  return clock_.MayTeach(real, bytes) && (bytes != accesses.bytes || clock_.Teaches(real));
}

// False: nothing has been done.
bool BlockCheck::AccessLanes(const ptx2cpu_block& block, const Accesses& accesses) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 31;
  if (Wants(PTX2CPU_CHECKS_INIT) || !HasLaneForm(accesses)) return false;
  const Hull hull = HullOf(accesses);
  if (hull.end - hull.begin > kMaxBytes) return false;
  const AccessSite whole{block,
                         accesses.thread,
                         accesses.ptx_line,
                         hull.begin,
                         accesses.form,
                         static_cast<uint32_t>(hull.end - hull.begin),
                         accesses.variable,
                         accesses.variable_base};
  if (!whole.IsInVariable()) return false;
  const Target target = TargetOf(*launch_, whole);
  const bool is_known = target.memory == Target::Memory::kShared || target.memory == Target::Memory::kGlobal;
  if (!target.inside || !is_known || target.holder.pitch != 0) return false;
  // Lanes are aligned where the addresses and the way from them to real ones are.
  if (((hull.bits | (target.real - hull.begin)) & (accesses.bytes - 1)) != 0) return false;
  if (!MayRace(block, target, accesses.form, accesses.written)) {
    if (target.holder.bytes != 0 && accesses.range != PTX2CPU_NO_CHECK_RANGE)
      Remember(accesses, target.holder);
    return true;
  }
  const bool is_copy = (accesses.form & PTX2CPU_ACCESS_ASYNC) != 0;
  if (!is_copy && Synchronises(accesses, target.real, whole.bytes)) return false;
  EnterLanes(accesses, whole, target);
  return true;
}

namespace {

constexpr uint32_t kLongRun = 8;  // shorter ones are entered sooner as lanes

// The lanes from this one on that access neighbouring memory, as bits.
uint64_t RunFrom(const Accesses& accesses, uint32_t lane) {
  const uint64_t base = accesses.AddressOf(lane) - uint64_t{lane} * accesses.bytes;
  uint64_t run = 0;
  for (uint64_t rest = accesses.lanes >> lane << lane; rest != 0; rest &= rest - 1) {
    const auto other = static_cast<uint32_t>(std::countr_zero(rest));
    if (accesses.AddressOf(other) != base + uint64_t{other} * accesses.bytes) break;
    run |= uint64_t{1} << other;
  }
  return run;
}

// Whether a run may be long: some two active lanes so far apart access memory as far apart.
bool MayHaveLongRun(const Accesses& accesses) {
  constexpr uint32_t kApart = kLongRun / 2;  // of two lanes in each long run, if all of it are active
  const uint64_t both = accesses.lanes & accesses.lanes >> kApart;
  for (uint64_t rest = both; rest != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t way = accesses.AddressOf(lane + kApart) - accesses.AddressOf(lane);
    if (way == uint64_t{kApart} * accesses.bytes) return true;
    const uint32_t next = lane + kApart;  // each long run has one of every four lanes with its partner
    rest = next < 64 ? rest >> next << next : 0;
  }
  return false;
}

}  // namespace

uint64_t BlockCheck::LinesOfLane::GoTo(uint64_t at) {
  if (shadow == nullptr) return at;
  const uint64_t begin = at / GlobalShadow::kStretchBytes * GlobalShadow::kStretchBytes;
  if (begin != base) {
    base = begin;
    lines = &shadow->StretchOf(base);
  }
  return at - base;
}

// One lane's, at this offset into the memory of the lines. False: it races, and `conflict` is the first.
inline bool BlockCheck::EnterLane(const CellAccess& access, uint32_t bytes, uint64_t offset, LinesOfLane& of,
                                  Conflict& conflict) const {
  Lines& lines = of.lines->Having(offset, bytes < 4, of.owner);
  const uint32_t unit = lines.word_shift();
  const uint64_t n = offset / lines.bytes_of_line();
  if (unit == Lines::kByte) lines.At(n, of.owner);
  const auto shift = static_cast<uint32_t>(std::countr_zero(bytes >> unit));
  const auto word = static_cast<uint32_t>(offset >> unit) % kWordsOfLine;
  if (Cell* const cell = lines.CommonCellOf(n, word, shift)) [[likely]]
    return Enter(*cell, access, clock_, conflict);
  return lines.EnterInCells(n, word, shift, access, clock_, conflict);
}

void BlockCheck::EnterLanes(const Accesses& accesses, const AccessSite& whole, const Target& target) {
  const bool is_copy = (accesses.form & PTX2CPU_ACCESS_ASYNC) != 0;
  const bool has_rows = !is_copy && MayHaveLongRun(accesses);
  const bool is_shared = target.memory == Target::Memory::kShared;
  LinesOfLane lines{is_shared ? nullptr : launch_->shadow, is_shared ? &shared_ : nullptr,
                    is_shared ? SharedOwner() : launch_->number};
  const uint64_t begin = is_shared ? target.offset : target.real;
  const bool strong = !is_copy && (accesses.form & PTX2CPU_ACCESS_STRONG) != 0;
  CellAccess access{.stamp = clock_.Now(accesses.thread, accesses.ptx_line, strong),
                    .writes = (accesses.form & PTX2CPU_ACCESS_WRITES) != 0};
  uint32_t last_of_short = 0;  // the lane at which a run that is too short ends
  for (uint64_t rest = accesses.lanes; rest != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t run = has_rows && last_of_short <= lane ? RunFrom(accesses, lane) : 0;
    const uint64_t way = accesses.AddressOf(lane) - whole.address;
    if (run != 0 && std::popcount(run) >= static_cast<int>(kLongRun) &&
        EnterRun(accesses, run, whole, target)) {
      rest &= ~run;
      continue;
    }
    if (run != 0) last_of_short = 63 - static_cast<uint32_t>(std::countl_zero(run));
    rest &= rest - 1;
    access.stamp.thread = accesses.thread + lane;
    access.stamp.epoch = clock_.epoch(access.stamp.thread);
    if (is_copy)
      access.stamp =
          clock_.NowByCopy(access.stamp.thread, accesses.ptx_line, PTX2CPU_COPY_OF_THREAD, access.writes);
    Conflict conflict;
    if (EnterLane(access, accesses.bytes, lines.GoTo(begin + way), lines, conflict)) continue;
    AccessSite site = whole;
    site.thread = accesses.thread + lane, site.address += way, site.bytes = accesses.bytes;
    Target place = target;
    place.real += way, place.offset += way;
    ReportRace(site, place, conflict);
  }
}

// Lanes that access neighbouring memory, as a row. False: nothing has been done.
bool BlockCheck::EnterRun(const Accesses& accesses, uint64_t lanes, const AccessSite& whole,
                          const Target& target) {
  const auto first = static_cast<uint32_t>(std::countr_zero(lanes)),
             last = 63 - static_cast<uint32_t>(std::countl_zero(lanes));
  const uint64_t way = accesses.AddressOf(first) - whole.address;
  Accesses run = accesses;
  run.addresses = nullptr, run.stride = accesses.bytes, run.lanes = lanes;
  run.first = whole.address + way - uint64_t{first} * accesses.bytes;
  AccessSite site = whole;
  site.thread = accesses.thread + first, site.address += way;
  site.bytes = (last - first + 1) * accesses.bytes;
  Target place = target;
  place.real += way, place.offset += way;
  return EnterAll(run, site, place, first, last);
}

}  // namespace ptx2cpu::rt::check
