// Races of a block: accesses are entered into the shadow of the memory they reach, one thread after the
// other.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/check/block_check.h"
#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {

// Of one access; of a copy of more the rest is not compared.
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

std::array<uint32_t, 3> BlockAt(const ptx2cpu_block& block, uint32_t index) {
  const uint32_t row = index / block.nctaid[0];
  return {index % block.nctaid[0], row % block.nctaid[1], row / block.nctaid[1]};
}

}  // namespace

// Programs walk down from a pointer to an array's end, and count elements from 1. A number that may be an
// address, and is near no allocation, means nothing.
void BlockCheck::Written::Add(uint64_t pointer) {
  constexpr uint64_t kMaxElement = 16, kNumbers = uint64_t{1} << 32;
  bool near = false;
  for (const uint64_t address : {pointer, pointer - 1, pointer + kMaxElement}) {
    ranges.push_back(AllocationOf(address));
    near |= ranges.back().bytes != 0;
  }
  anywhere |= !near && pointer >= kNumbers;
}

// Whether the accesses that this one could race with are all in other allocations: nothing writes to what
// this one reads, or only atomics access it, or each thread has an element of its own.
bool BlockCheck::IsUnwritten(const ptx2cpu_block& block, const Target& target, uint32_t form,
                             uint64_t written) {
  const MemoryRange& range = target.holder;
  const bool asked = (form & PTX2CPU_ACCESS_BOUNDS_ONLY) != 0 && target.memory == Target::Memory::kGlobal;
  if (!asked || range.bytes == 0) return false;
  const bool one_dimension = block.nctaid[1] * block.nctaid[2] * block.ntid[1] * block.ntid[2] == 1;
  const uint64_t threads = uint64_t{block.nctaid[0]} * block.ntid[0];
  if ((form & PTX2CPU_ACCESS_OWN_ELEMENTS) != 0 &&
      !(one_dimension && threads <= PTX2CPU_OWN_ELEMENTS_MAX_THREADS))
    return false;
  auto known = std::ranges::find(written_, written, &Written::words);
  if (known == written_.end()) {
    known = written_.insert(written_.end(), {written, {}});
    for (uint64_t rest = written; rest != 0; rest &= rest - 1) {
      const auto word = static_cast<uint32_t>(std::countr_zero(rest));
      uint64_t pointer = 0;
      if (word * 8 + 8 > launch_->parameter_bytes) continue;
      std::memcpy(&pointer, block.params + word * 8, 8);
      known->Add(pointer);
    }
  }
  return !known->anywhere && std::ranges::none_of(known->ranges, [&](const MemoryRange& other) {
    return range.base < other.base + other.bytes && other.base < range.base + range.bytes;
  });
}

// Whether an access must be entered: neither does the code know that it does not race, nor its allocation.
bool BlockCheck::MayRace(const ptx2cpu_block& block, const Target& target, uint32_t form, uint64_t written) {
  const bool is_shared = target.memory == Target::Memory::kShared;
  if (!Wants(PTX2CPU_CHECKS_RACE) || !(is_shared || target.memory == Target::Memory::kGlobal)) return false;
  const bool is_settled =
      PTX2CPU_SPACE_OF_ACCESS(form) == PTX2CPU_SPACE_SHARED && (form & PTX2CPU_ACCESS_BOUNDS_ONLY) != 0;
  return !is_settled && !IsUnwritten(block, target, form, written);
}

void BlockCheck::CheckRaces(const AccessSite& site, const Target& target, uint64_t written) {
  const bool strong = (site.form & PTX2CPU_ACCESS_STRONG) != 0;
  const bool reads = (site.form & PTX2CPU_ACCESS_READS) != 0;
  if ((site.form & PTX2CPU_ACCESS_ASYNC) != 0) {
    const bool is_bulk = (site.form & PTX2CPU_ACCESS_BULK) != 0;
    const uint32_t kind = is_bulk ? PTX2CPU_COPY_BULK : PTX2CPU_COPY_OF_THREAD;
    CellAccess copy{.stamp = clock_.NowByCopy(site.thread, site.ptx_line, kind, site.Writes()),
                    .writes = site.Writes(),
                    .is_bulk = is_bulk};
    copy.stamp.strong = strong ? 1 : 0;
    return EnterAt(site, target, copy);
  }
  const bool changes_object = (site.form & PTX2CPU_ACCESS_MBARRIER) != 0;
  if (changes_object || clock_.IsObject(target.real)) {
    uint64_t object = 0;
    std::memcpy(&object, reinterpret_cast<const void*>(target.real), sizeof object);
    if (changes_object) clock_.ArriveAtObject(site.thread, target.real, object, written);
    if (!changes_object && strong && reads) clock_.AcquireObject(site.thread, target.real, object);
  } else if (strong && (reads || (site.form & PTX2CPU_ACCESS_ACQUIRES) != 0)) {
    clock_.Acquire(site.thread, target.real);
  }
  EnterAt(site, target,
          {.stamp = clock_.Now(site.thread, site.ptx_line, strong),
           .writes = site.Writes(),
           .lockstep = (site.form & PTX2CPU_ACCESS_LOCKSTEP) != 0});
  if (changes_object) return;
  const bool publishes = site.Writes() && strong && clock_.fenced();
  if (publishes || (site.form & PTX2CPU_ACCESS_RELEASES) != 0) clock_.Publish(site.thread, target.real);
}

void BlockCheck::EnterAt(const AccessSite& site, const Target& target, const CellAccess& access) {
  if (target.memory == Target::Memory::kShared)
    EnterBytes(site, target, access, target.offset, target.offset + site.bytes, shared_, SharedOwner());
  else
    EnterGlobal(site, target, access);
}

void BlockCheck::EnterGlobal(const AccessSite& site, const Target& target, CellAccess access) {
  constexpr uint64_t kStretch = GlobalShadow::kStretchBytes;
  const uint64_t end = target.real + std::min<uint64_t>(site.bytes, kMaxBytes);
  for (uint64_t at = target.real; at < end;) {
    const uint64_t base = at / kStretch * kStretch, stop = std::min(base + kStretch, end);
    EnterBytes(site, target, access, at - base, stop - base, launch_->shadow->StretchOf(base),
               launch_->number);
    at = stop;
  }
}

// Bytes `from` to `to` of the memory that `lines` are the shadow of. The first conflict of an access is
// reported.
void BlockCheck::EnterBytes(const AccessSite& site, const Target& target, const CellAccess& access,
                            uint64_t from, uint64_t to, Lines& lines, uint64_t owner) {
  bool raced = false;
  const uint64_t bytes = lines.bytes_of_line();
  for (uint64_t at = from, stop = 0; at < to; at = stop) {
    stop = std::min((at / bytes + 1) * bytes, to);
    const bool of_parts = (at | stop) % 4 != 0;
    Conflict conflict;
    if (EnterLine(site, access, at, stop, lines.Having(at, of_parts, owner), owner, conflict)) continue;
    if (!raced) ReportRace(site, target, conflict);
    raced = true;
  }
}

// Bytes that were in one line before words had parts. False: some race, and `conflict` is the first.
bool BlockCheck::EnterLine(const AccessSite& site, const CellAccess& access, uint64_t from, uint64_t to,
                           Lines& lines, uint64_t owner, Conflict& conflict) {
  bool is_free = true;
  const uint32_t unit = lines.word_shift();
  const auto shift = static_cast<uint32_t>(std::countr_zero(from | to | 16)) - unit;
  const ThreadGroup me = clock_.GroupOf(site.thread, site.thread);
  const bool has_rows = me.at_once && me.epoch <= Row::kMaxEpoch && !access.lockstep && !access.stamp.is_copy;
  const Row row = RowOf(site, me, static_cast<int32_t>(site.thread), kOneThread);
  for (uint64_t n = from / lines.bytes_of_line(); n * lines.bytes_of_line() < to; ++n) {
    const uint16_t words = WordsIn(n, from >> unit, to >> unit);
    if (has_rows && (lines.At(n, owner).in_cells & words) == 0 &&
        lines.EnterRow(n, {row, me, words, access.writes}, clock_))
      continue;
    lines.At(n, owner);
    for (uint32_t rest = words; rest != 0;) {
      const auto word = static_cast<uint32_t>(std::countr_zero(rest));
      rest &= ~(((1u << (1u << shift)) - 1) << word);
      Conflict found;
      if (EnterCells(lines.CellsOf(n, word, shift), access, clock_, found)) continue;
      if (is_free) conflict = found;
      is_free = false;
    }
  }
  return is_free;
}

// Memory of device malloc, which threads may have accessed before another one freed it.
void BlockCheck::Allocate(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kStretch = GlobalShadow::kStretchBytes;
  if (!Wants(PTX2CPU_CHECKS_RACE)) return;
  const uint64_t end = address + bytes;
  for (uint64_t at = address, stop = 0; at < end; at = stop) {
    const uint64_t base = at / kStretch * kStretch;
    stop = std::min(base + kStretch, end);
    launch_->shadow->StretchOf(base).Forget(at - base, stop - base);
  }
}

Row BlockCheck::RowOf(const AccessSite& site, const ThreadGroup& threads, int32_t thread,
                      uint8_t shift) const {
  const uint32_t strong = (site.form & PTX2CPU_ACCESS_STRONG) != 0 ? 1 : 0;
  return {clock_.block(), clock_.time(), threads.epoch, site.ptx_line, thread, shift, strong};
}

void BlockCheck::ReportRace(const AccessSite& site, const Target& target, const Conflict& conflict) {
  if (Findings::Get().CountKnown(Error::kRace, launch_->kernel, site.ptx_line, conflict.with.ptx_line))
    return;
  Finding finding;
  finding.error = Error::kRace;
  finding.kernel = launch_->kernel;
  finding.party = PartyOf(site.block, site.thread, site.ptx_line);
  finding.text = Describe(site, target);
  if (conflict.is_unfenced) finding.text += ", with no fence.proxy.async since it was written";
  finding.other = PartyOf(site.block, conflict.with.thread, conflict.with.ptx_line);
  finding.other.block = BlockAt(site.block, conflict.with.block - 1);
  finding.other_text = conflict.was_write ? "write" : "read";
  if (conflict.with.is_copy != 0) finding.other_text = "asynchronous " + finding.other_text;
  Findings::Get().Add(std::move(finding));
}

}  // namespace ptx2cpu::rt::check
