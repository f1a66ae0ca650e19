// Races of a block: accesses are entered into the shadow of the memory they reach, rows of neighbouring
// threads at once where that reports the same as one thread after the other.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/check/block_check.h"
#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {

// Of one access; a copy of more is not compared word by word.
constexpr uint64_t kMaxWords = uint64_t{1} << 28;

std::array<uint32_t, 3> BlockAt(const ptx2cpu_block& block, uint32_t index) {
  const uint32_t row = index / block.nctaid[0];
  return {index % block.nctaid[0], row % block.nctaid[1], row / block.nctaid[1]};
}

// Words `from` to `to` of memory that lie in line n, as its bits.
uint16_t WordsIn(uint64_t n, uint64_t from, uint64_t to) {
  const uint64_t first = std::max(n * kWordsOfLine, from) % kWordsOfLine;
  const uint64_t count = std::min((n + 1) * kWordsOfLine, to) - n * kWordsOfLine - first;
  return static_cast<uint16_t>(((1u << count) - 1) << first);
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
    return EnterAt(site, target,
                   {.stamp = clock_.NowByCopy(site.thread, site.ptx_line, kind, site.Writes()),
                    .writes = site.Writes(),
                    .strong = strong,
                    .is_bulk = is_bulk});
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
          {.stamp = clock_.Now(site.thread, site.ptx_line),
           .writes = site.Writes(),
           .strong = strong,
           .lockstep = (site.form & PTX2CPU_ACCESS_LOCKSTEP) != 0});
  if (changes_object) return;
  const bool publishes = site.Writes() && strong && clock_.fenced();
  if (publishes || (site.form & PTX2CPU_ACCESS_RELEASES) != 0) clock_.Publish(site.thread, target.real);
}

void BlockCheck::EnterAt(const AccessSite& site, const Target& target, const CellAccess& access) {
  if (target.memory == Target::Memory::kShared)
    EnterWords(site, target, access, target.offset, target.offset + site.bytes, shared_, SharedOwner());
  else
    EnterGlobal(site, target, access);
}

void BlockCheck::EnterGlobal(const AccessSite& site, const Target& target, CellAccess access) {
  constexpr uint64_t kStretch = GlobalShadow::kStretchBytes;
  const uint64_t end = target.real + std::min<uint64_t>(site.bytes, kMaxWords * 4);
  for (uint64_t at = target.real; at < end;) {
    const uint64_t base = at / kStretch * kStretch, stop = std::min(base + kStretch, end);
    EnterWords(site, target, access, at - base, stop - base, launch_->shadow->StretchOf(base),
               launch_->number);
    at = stop;
  }
}

// Bytes `from` to `to` of the memory that `lines` are the shadow of. The first conflict of an access is
// reported.
void BlockCheck::EnterWords(const AccessSite& site, const Target& target, CellAccess access, uint64_t from,
                            uint64_t to, Lines& lines, uint64_t owner) {
  bool raced = false;
  const bool is_whole = from % 4 == 0 && to % 4 == 0;
  const uint32_t shift = (from | to) % 16 == 0 ? 2 : 0;
  for (uint64_t n = from / kBytesOfLine; n * kBytesOfLine < to; ++n) {
    const Line& line = lines.At(n, owner);
    if (is_whole && !access.lockstep && !access.stamp.is_copy) {
      const ThreadGroup me = clock_.GroupOf(site.thread, site.thread);
      const Row row = RowOf(site, me, static_cast<int32_t>(site.thread), kOneThread);
      const uint16_t words = WordsIn(n, from / 4, to / 4);
      if (me.at_once && me.epoch <= Row::kMaxEpoch && (line.in_cells & words) == 0 &&
          lines.EnterRow(n, {row, me, words, access.writes}, clock_))
        continue;
    }
    for (uint64_t word = std::max(n * kWordsOfLine, from / 4); word < (n + 1) * kWordsOfLine && word * 4 < to;
         word += 1u << shift) {
      const uint64_t first = std::max(word * 4, from), last = std::min(word * 4 + 4, to);
      access.bytes = static_cast<uint8_t>(((1u << (last - first)) - 1) << (first - word * 4));
      Conflict conflict;
      if (EnterCells(lines.CellsOf(n, word % kWordsOfLine, shift), access, clock_, conflict)) continue;
      if (!raced) ReportRace(site, target, conflict);
      raced = true;
    }
  }
}

Row BlockCheck::RowOf(const AccessSite& site, const ThreadGroup& threads, int32_t thread,
                      uint8_t shift) const {
  const uint32_t strong = (site.form & PTX2CPU_ACCESS_STRONG) != 0 ? 1 : 0;
  return {clock_.block(), clock_.time(), threads.epoch, site.ptx_line, thread, shift, strong};
}

namespace {

uint32_t WordsApart(const Accesses& accesses) {
  return static_cast<uint32_t>(accesses.stride == 0 ? accesses.bytes : accesses.stride) / 4;
}

// The same accesses as a sequence, if active lanes' addresses are one. They have addresses.
std::optional<Accesses> AsRow(const Accesses& accesses) {
  const auto first = static_cast<uint32_t>(std::countr_zero(accesses.lanes));
  const uint64_t others = accesses.lanes & (accesses.lanes - 1);
  Accesses row = accesses;
  row.addresses = nullptr;
  if (others != 0) {
    const auto second = static_cast<uint32_t>(std::countr_zero(others));
    const auto way = static_cast<int64_t>(accesses.addresses[second] - accesses.addresses[first]);
    row.stride = second - first == 1 ? way : way / (second - first);  // a division takes long
  }
  row.first = accesses.addresses[first] - static_cast<uint64_t>(row.stride * first);
  const uint32_t last = 63 - static_cast<uint32_t>(std::countl_zero(accesses.lanes));
  uint64_t expected = accesses.addresses[first], differ = 0;
  if (std::popcount(accesses.lanes) == static_cast<int>(last - first + 1)) {
    for (uint32_t lane = first; lane <= last; ++lane, expected += static_cast<uint64_t>(row.stride))
      differ |= accesses.addresses[lane] ^ expected;
  } else {
    for (uint64_t rest = accesses.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
      differ |= accesses.addresses[lane] ^ row.AddressOf(lane);
    }
  }
  return differ == 0 ? std::optional(row) : std::nullopt;
}

bool HasRowForm(const Accesses& accesses) {
  const uint32_t bytes = accesses.bytes;
  return IsForLanesTogether(accesses.form) && (bytes == 4 || bytes == 8 || bytes == 16);
}

// One place, or places that a row can have: each thread's in a part of the line of its own.
bool HasRowStride(const Accesses& accesses) {
  constexpr int64_t kMaxStride = kBytesOfLine / 2;
  const int64_t stride = accesses.stride, bytes = accesses.bytes;
  return stride == 0 || stride == bytes ||
         (stride > bytes && stride <= kMaxStride && std::has_single_bit(static_cast<uint64_t>(stride)));
}

}  // namespace

// Threads that access neighbouring memory, or each the same part of what neighbours have, or one place.
// False: nothing has been done.
bool BlockCheck::AccessRow(const ptx2cpu_block& block, const Accesses& given) {
  const bool is_copy = (given.form & PTX2CPU_ACCESS_ASYNC) != 0;
  if (Wants(PTX2CPU_CHECKS_INIT) || !HasRowForm(given) || (is_copy && Wants(PTX2CPU_CHECKS_RACE)))
    return false;
  const uint32_t bytes = given.bytes;
  std::optional<Accesses> made;
  if (given.addresses != nullptr) {
    made = AsRow(given);
    if (!made) return false;
  }
  const Accesses& accesses = made ? *made : given;
  if (!HasRowStride(accesses)) return false;
  const auto first = static_cast<uint32_t>(std::countr_zero(accesses.lanes)),
             last = 63 - static_cast<uint32_t>(std::countl_zero(accesses.lanes));
  const uint64_t address = accesses.AddressOf(first);
  const AccessSite whole{block,
                         accesses.thread + first,
                         accesses.ptx_line,
                         address,
                         accesses.form,
                         static_cast<uint32_t>(accesses.stride) * (last - first) + bytes,
                         accesses.variable,
                         accesses.variable_base};
  if (!whole.IsInVariable()) return false;
  const Target target = TargetOf(*launch_, whole);
  if (!target.inside || (target.real & (bytes - 1)) != 0) return false;
  if (MayRace(block, target, accesses.form, accesses.written))
    return !Synchronises(accesses, target.real, whole.bytes) &&
           EnterAll(accesses, whole, target, first, last);
  if (target.holder.bytes != 0 && accesses.range != PTX2CPU_NO_CHECK_RANGE) Remember(accesses, target.holder);
  return true;
}

bool BlockCheck::EnterAll(const Accesses& accesses, const AccessSite& whole, const Target& target,
                          uint32_t first, uint32_t last) {
  const bool is_row = accesses.stride != 0 || first == last;
  if (!is_row && whole.Writes()) return false;
  const ThreadGroup threads = clock_.GroupOf(accesses.thread + first, accesses.thread + last);
  if (!threads.at_once || threads.epoch > Row::kMaxEpoch) return false;
  const Entering entering{accesses, whole, target, threads, first, is_row};
  if (target.memory == Target::Memory::kShared) {
    EnterLines(entering, target.offset, target.offset + whole.bytes, target.offset, shared_, SharedOwner());
    return true;
  }
  constexpr uint64_t kStretch = GlobalShadow::kStretchBytes;
  const uint64_t end = target.real + whole.bytes;
  for (uint64_t at = target.real; at < end;) {
    const uint64_t base = at / kStretch * kStretch, stop = std::min(base + kStretch, end);
    EnterLines(entering, at - base, stop - base, target.real - base, launch_->shadow->StretchOf(base),
               launch_->number);
    at = stop;
  }
  return true;
}

// Bytes `from` to `to` of the memory that `lines` are the shadow of, where the first thread's are at `start`,
// which may be before that memory (modulo 2^64).
void BlockCheck::EnterLines(const Entering& entering, uint64_t from, uint64_t to, uint64_t start,
                            Lines& lines, uint64_t owner) {
  const auto& [accesses, whole, target, threads, first, is_row] = entering;
  // In words: what a thread accesses, and between neighbours' accesses.
  const uint32_t words_each = accesses.bytes / 4, words_apart = WordsApart(accesses);
  const auto shift = static_cast<uint8_t>(std::countr_zero(words_apart));
  const int64_t here = static_cast<int64_t>(start) / 4, begin = here & -static_cast<int64_t>(words_apart);
  uint64_t pattern = ((uint64_t{1} << words_each) - 1) << (here - begin);
  for (uint32_t apart = words_apart; apart < kWordsOfLine; apart *= 2) pattern |= pattern << apart;
  for (uint64_t n = from / kBytesOfLine; n * kBytesOfLine < to; ++n) {
    uint16_t words = WordsIn(n, from / 4, to / 4);
    const auto line_begin = static_cast<int64_t>(n * kWordsOfLine);
    if (is_row)
      words &=
          static_cast<uint16_t>(pattern) & ActiveWords(accesses.lanes >> first, line_begin - begin, shift);
    if (words == 0) continue;
    // One thread's access too is a row of neighbours, as which its neighbours' join it.
    const auto thread = static_cast<int32_t>(threads.first) +
                        (is_row ? static_cast<int32_t>((line_begin - begin) >> shift) : 0);
    const RowAccess access{RowOf(whole, threads, thread, is_row ? shift : kOneThread), threads, words,
                           whole.Writes()};
    if (is_row && lines.EnterFirst(n, owner, access)) continue;
    if ((lines.At(n, owner).in_cells & words) == 0 &&
        (is_row ? lines.EnterRow(n, access, clock_) : lines.EnterReadOfAll(n, access, clock_)))
      continue;
    const bool is_free = EnterEach(entering, std::max(from, n * kBytesOfLine),
                                   std::min(to, (n + 1) * kBytesOfLine), start, lines);
    if (is_free && is_row && access.writes && access.row.strong == 0 && words == kAllWords)
      lines.Restart(n, access);
  }
}

// The words of a line of which the threads are active: word 0 of the line is word `offset` of the row.
uint16_t BlockCheck::ActiveWords(uint64_t lanes, int64_t offset, uint8_t shift) {
  if (const int64_t lane = offset >> shift; lane >= 0 && lane < 64) {
    const uint64_t all = (uint64_t{1} << (kWordsOfLine >> shift)) - 1;
    if ((lanes >> lane & all) == all) return kAllWords;
  }
  uint16_t words = 0;
  if (shift == 0) {
    if (offset <= -64 || offset >= 64) return 0;
    return static_cast<uint16_t>(offset < 0 ? lanes << -offset : lanes >> offset);
  }
  for (uint32_t word = 0; word < kWordsOfLine; word += 1u << shift) {
    const int64_t lane = (offset + word) >> shift;
    if (lane >= 0 && lane < 64 && (lanes >> lane & 1) != 0)
      words |= static_cast<uint16_t>(((1u << (1u << shift)) - 1) << word);
  }
  return words;
}

// What all lanes read. False if some of it remains, which may be entered again.
bool BlockCheck::EnterReadsOfAll(const Entering& entering, const CellsOfWords& cells) const {
  const bool strong = (entering.accesses.form & PTX2CPU_ACCESS_STRONG) != 0;
  const CellAccess first{clock_.Now(entering.threads.first, entering.accesses.ptx_line), 15, false, strong,
                         false};
  bool all = true;
  for (uint32_t i = 0; i < cells.count; ++i)
    all &= EnterReads(cells.first[i * cells.step], first, entering.threads, clock_);
  return all;
}

// One thread after the other, in a line that this block has been asked about. Returns whether none races.
bool BlockCheck::EnterEach(const Entering& entering, uint64_t from, uint64_t to, uint64_t start,
                           Lines& lines) {
  const Accesses& accesses = entering.accesses;
  const uint64_t n = from / kBytesOfLine;
  const auto words_shift = static_cast<uint32_t>(std::countr_zero(accesses.bytes / 4));
  const bool strong = (accesses.form & PTX2CPU_ACCESS_STRONG) != 0;
  bool is_free = true;
  if (!entering.is_row && EnterReadsOfAll(entering, lines.CellsOf(n, from / 4 % kWordsOfLine, words_shift)))
    return true;
  uint64_t lanes = accesses.lanes;
  if (accesses.stride != 0) {  // those in the line
    const auto shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(accesses.stride)));
    const uint64_t before = from - start + static_cast<uint64_t>(accesses.stride) - 1;  // rounded up
    lanes &= ~uint64_t{0} << (entering.first + (before >> shift));
    lanes &= ~uint64_t{0} >> (63 - entering.first - ((to - 1 - start) >> shift));
  }
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t at = start + static_cast<uint64_t>(accesses.stride) * (lane - entering.first);
    const AccessSite site{entering.whole.block,     accesses.thread + lane, accesses.ptx_line,
                          accesses.AddressOf(lane), accesses.form,          accesses.bytes};
    const CellAccess access{clock_.Now(site.thread, site.ptx_line), 15, site.Writes(), strong, false};
    Conflict conflict;
    if (EnterCells(lines.CellsOf(n, at / 4 % kWordsOfLine, words_shift), access, clock_, conflict)) continue;
    is_free = false;
    Target target = entering.target;
    target.real += accesses.AddressOf(lane) - entering.whole.address;
    target.offset += accesses.AddressOf(lane) - entering.whole.address;
    ReportRace(site, target, conflict);
  }
  return is_free;
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
