// Races of rows: neighbouring threads that access neighbouring memory enter the shadow at once, where that
// reports the same as one thread after the other.
#include <algorithm>
#include <array>
#include <bit>

#include "runtime/check/block_check.h"
#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {

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
  return IsForLanesTogether(accesses.form) && std::has_single_bit(accesses.bytes) && accesses.bytes <= 16;
}

// One place, or places that a row can have: each thread's in a part of the line of its own.
bool HasRowStride(const Accesses& accesses) {
  constexpr int64_t kMaxStride = 32;
  const int64_t stride = accesses.stride, bytes = accesses.bytes;
  return stride == 0 || stride == bytes ||
         (stride > bytes && stride <= kMaxStride && std::has_single_bit(static_cast<uint64_t>(stride)));
}

// Which words of lines a row's accesses are, and by which threads.
class RowWords {
 public:
  // `start`: where the first active lane's are, from the first line on; `unit`: log2 of a word's bytes.
  RowWords(const Accesses& accesses, uint32_t first, uint64_t start, uint32_t unit)
      : lanes_(accesses.lanes >> first) {
    const uint64_t apart =
        static_cast<uint64_t>(accesses.stride == 0 ? accesses.bytes : accesses.stride) >> unit;
    apart_shift_ = static_cast<uint32_t>(std::countr_zero(apart));
    const int64_t here = static_cast<int64_t>(start) >> unit;
    begin_ = here & -static_cast<int64_t>(apart);
    pattern_ = ((uint64_t{1} << (accesses.bytes >> unit)) - 1) << (here - begin_);
    pattern_ *= kOneEach[apart_shift_];
  }

  uint8_t shift() const { return static_cast<uint8_t>(std::min<uint32_t>(apart_shift_, kOneThread)); }
  // Of the line's word 0, from the first active lane on.
  int32_t ThreadOf(uint64_t n) const { return static_cast<int32_t>(OffsetOf(n) >> apart_shift_); }
  // The words of the line that active threads access.
  uint16_t ActiveIn(uint64_t n) const {
    const int64_t offset = OffsetOf(n);
    const uint64_t in_pattern =
        pattern_ >> (static_cast<uint64_t>(offset) & ((uint64_t{1} << apart_shift_) - 1));
    return static_cast<uint16_t>(in_pattern) & WordsOfActive(offset);
  }

 private:
  int64_t OffsetOf(uint64_t n) const { return static_cast<int64_t>(n * kWordsOfLine) - begin_; }
  // Of a line that begins `offset` words after the first thread's, the words that active threads have.
  uint16_t WordsOfActive(int64_t offset) const {
    const uint32_t words_each = 1u << apart_shift_;
    const int64_t lane = offset >> apart_shift_;
    if (lane >= 0 && lane < 64) {
      const uint64_t all = (uint64_t{1} << std::max(kWordsOfLine >> apart_shift_, 1u)) - 1;
      if ((lanes_ >> lane & all) == all) return kAllWords;
    }
    if (apart_shift_ == 0) {
      if (offset <= -64 || offset >= 64) return 0;
      return static_cast<uint16_t>(offset < 0 ? lanes_ << -offset : lanes_ >> offset);
    }
    if (words_each >= kWordsOfLine) return 0;
    uint16_t words = 0;
    for (uint32_t word = 0; word < kWordsOfLine; word += words_each) {
      const int64_t other = (offset + word) >> apart_shift_;
      if (other >= 0 && other < 64 && (lanes_ >> other & 1) != 0)
        words |= static_cast<uint16_t>(((1u << words_each) - 1) << word);
    }
    return words;
  }

  // Of 64 bits each first one of 1 << i.
  static constexpr std::array<uint64_t, 6> kOneEach = {~uint64_t{0},       0x5555555555555555,
                                                       0x1111111111111111, 0x0101010101010101,
                                                       0x0001000100010001, 0x0000000100000001};

  uint64_t lanes_;
  uint32_t apart_shift_;  // log2 of the words from one thread's to the next one's
  int64_t begin_;         // of the first thread's words
  uint64_t pattern_;      // those of them that it accesses, and so on
};

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
  const uint32_t unit = lines.word_shift();
  const uint64_t bytes = lines.bytes_of_line();
  const bool of_parts = accesses.bytes >> unit == 0;
  const RowWords row(accesses, first, start, of_parts ? Lines::kByte : unit);
  for (uint64_t n = from / bytes; n * bytes < to; ++n) {
    const uint64_t begin = std::max(from, n * bytes), end = std::min(to, (n + 1) * bytes);
    if (of_parts) {
      EnterLines(entering, begin, end, start, lines.Having(begin, true, owner), owner);
      continue;
    }
    uint16_t words = WordsIn(n, from >> unit, to >> unit);
    if (is_row) words &= row.ActiveIn(n);
    if (words == 0) continue;
    // One thread's access too is a row of neighbours, as which its neighbours' join it.
    const auto thread = static_cast<int32_t>(threads.first) + (is_row ? row.ThreadOf(n) : 0);
    const RowAccess access{RowOf(whole, threads, thread, is_row ? row.shift() : kOneThread), threads, words,
                           whole.Writes()};
    if (is_row && lines.EnterFirst(n, owner, access)) continue;
    const Line& line = lines.At(n, owner);
    if (line.in_parts != 0) {
      EnterLines(entering, begin, end, start, lines.parts(), owner);
      continue;
    }
    if ((line.in_cells & words) == 0 &&
        (is_row ? lines.EnterRow(n, access, clock_) : lines.EnterReadOfAll(n, access, clock_)))
      continue;
    const bool is_free = EnterEach(entering, begin, end, start, lines);
    if (is_free && is_row && access.writes && access.row.strong == 0 && words == kAllWords)
      lines.Restart(n, access);
  }
}

// What all lanes read. False if some of it remains, which may be entered again.
bool BlockCheck::EnterReadsOfAll(const Entering& entering, const CellsOfWords& cells) const {
  const bool strong = (entering.accesses.form & PTX2CPU_ACCESS_STRONG) != 0;
  const CellAccess first{clock_.Now(entering.threads.first, entering.accesses.ptx_line, strong)};
  bool all = true;
  for (uint32_t i = 0; i < cells.count; ++i)
    all &= EnterReads(cells.first[i * cells.step], first, entering.threads, clock_);
  return all;
}

// One thread after the other, in a line that this block has been asked about. Returns whether none races.
bool BlockCheck::EnterEach(const Entering& entering, uint64_t from, uint64_t to, uint64_t start,
                           Lines& lines) {
  const Accesses& accesses = entering.accesses;
  const uint32_t unit = lines.word_shift();
  const uint64_t n = from / lines.bytes_of_line();
  const auto words_shift = static_cast<uint32_t>(std::countr_zero(accesses.bytes >> unit));
  const bool strong = (accesses.form & PTX2CPU_ACCESS_STRONG) != 0;
  bool is_free = true;
  if (!entering.is_row &&
      EnterReadsOfAll(entering, lines.CellsOf(n, (from >> unit) % kWordsOfLine, words_shift)))
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
    const CellAccess access{clock_.Now(site.thread, site.ptx_line, strong), site.Writes()};
    Conflict conflict;
    if (lines.EnterInCells(n, (at >> unit) % kWordsOfLine, words_shift, access, clock_, conflict)) continue;
    is_free = false;
    Target target = entering.target;
    target.real += accesses.AddressOf(lane) - entering.whole.address;
    target.offset += accesses.AddressOf(lane) - entering.whole.address;
    ReportRace(site, target, conflict);
  }
  return is_free;
}

}  // namespace ptx2cpu::rt::check
