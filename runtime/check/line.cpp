#include "runtime/check/line.h"

#include <algorithm>
#include <bit>

namespace ptx2cpu::rt::check {

namespace {

// Of rows with words in common: each thread of the access comes after the one that accessed the same word.
bool IsOrdered(const Row& known, const RowAccess& access, const BlockClock& clock) {
  return known.HasThreadsOf(access.row) ||
         clock.IsOrderedForAll(known.block, known.epoch, known.time, access.threads);
}

}  // namespace

bool Lines::IsFreeOf(size_t n, Line::Set set, const RowAccess& access, const BlockClock& clock) const {
  for (size_t i = 0; i < 2; ++i) {
    if ((lines_[n].words[set][i] & access.words) == 0) continue;
    const Row& row = RowOf(n, set, i);
    if (!(row.strong && access.row.strong) && !IsOrdered(row, access, clock)) return false;
  }
  return true;
}

// The words whose reads Cell's rule puts in the second place; nothing where that is not one answer for each
// row.
std::optional<uint16_t> Lines::SecondReads(size_t n, const RowAccess& access, const BlockClock& clock) const {
  uint16_t second = 0;
  for (size_t i = 0; i < 2; ++i) {
    const uint16_t words = lines_[n].words[Line::kFirstRead][i] & access.words;
    if (words == 0) continue;
    const Row& row = RowOf(n, Line::kFirstRead, i);
    if (IsOrdered(row, access, clock)) continue;
    // Rows of one shift that differ have different threads for each word.
    const bool differ = row.block != access.row.block || row.shift == access.row.shift;
    if (!differ || !clock.IsOrderedForNone(row.block, row.epoch, row.time, access.threads))
      return std::nullopt;
    second |= words;
  }
  return second;
}

bool Lines::CanTake(size_t n, Line::Set set, const Row& row, uint16_t words) const {
  for (size_t i = 0; i < 2; ++i) {
    if ((lines_[n].words[set][i] & ~words) == 0 || RowOf(n, set, i).IsOneWith(row)) return true;
  }
  return false;
}

void Lines::Take(size_t n, Line::Set set, const Row& row, uint16_t words) {
  auto& known = lines_[n].words[set];
  for (uint16_t& of : known) of &= static_cast<uint16_t>(~words);
  for (size_t i = 0; i < 2; ++i) {
    if (known[i] == 0 || !RowOf(n, set, i).IsOneWith(row)) continue;
    known[i] |= words;
    return;
  }
  const size_t place = known[0] == 0 ? 0 : 1;
  known[place] = words;
  if (IsInLine(set, place)) {
    lines_[n].rows[set] = row;
    return;
  }
  if (more_.empty()) more_ = ZeroArray<MoreRows>(lines_.size());
  more_[n][IndexOf(set, place)] = row;
}

bool Lines::EnterRow(size_t n, const RowAccess& access, const BlockClock& clock) {
  const uint16_t words = access.words;
  // The same access again, of a line in which rows have shown that nothing raced since.
  if (!access.writes && Has(n, Line::kFirstRead, 0, access.row, words)) return true;
  if (!IsFreeOf(n, Line::kWrite, access, clock)) return false;
  if (access.writes) {
    if (!IsFreeOf(n, Line::kFirstRead, access, clock) || !IsFreeOf(n, Line::kSecondRead, access, clock) ||
        !CanTake(n, Line::kWrite, access.row, words))
      return false;
    Take(n, Line::kWrite, access.row, words);
    return true;
  }
  const std::optional<uint16_t> second = SecondReads(n, access, clock);
  if (!second) return false;
  const auto first = static_cast<uint16_t>(words & ~*second);
  if ((first != 0 && !CanTake(n, Line::kFirstRead, access.row, first)) ||
      (*second != 0 && !CanTake(n, Line::kSecondRead, access.row, *second)))
    return false;
  if (first != 0) Take(n, Line::kFirstRead, access.row, first);
  if (*second != 0) Take(n, Line::kSecondRead, access.row, *second);
  return true;
}

// One after the other, the first thread's read stays in the first place, and of the others the last one's in
// the second.
bool Lines::EnterReadOfAll(size_t n, const RowAccess& access, const BlockClock& clock) {
  const uint16_t words = access.words;
  Row first = access.row, last = access.row;
  first.thread = static_cast<int32_t>(access.threads.first);
  last.thread = static_cast<int32_t>(access.threads.last);
  first.shift = last.shift = kOneThread;
  if (Has(n, Line::kFirstRead, 0, first, words) && Has(n, Line::kSecondRead, 0, last, words)) return true;
  if (!IsFreeOf(n, Line::kWrite, access, clock)) return false;
  for (size_t i = 0; i < 2; ++i) {
    if ((lines_[n].words[Line::kFirstRead][i] & words) == 0) continue;
    const Row& known = RowOf(n, Line::kFirstRead, i);
    if (!known.HasThreadsOf(first) &&
        !clock.IsOrderedForAll(known.block, known.epoch, known.time, access.threads))
      return false;
  }
  if (!CanTake(n, Line::kFirstRead, first, words) || !CanTake(n, Line::kSecondRead, last, words))
    return false;
  Take(n, Line::kFirstRead, first, words);
  Take(n, Line::kSecondRead, last, words);
  return true;
}

void Lines::Resize(size_t words) {
  const size_t count = (words + kWordsOfLine - 1) / kWordsOfLine;
  if (lines_.size() >= count) return;
  lines_ = ZeroArray<Line>(count);
  more_ = {};
  cells_ = {};
}

Cell* Lines::CellsOf(size_t n) {
  if (cells_.empty()) cells_ = ZeroArray<Cell>(lines_.size() * kWordsOfLine);
  Cell* const cells = &cells_[n * kWordsOfLine];
  Line& line = lines_[n];
  if (line.has_cells) return cells;
  line.has_cells = true;
  std::fill_n(cells, kWordsOfLine, Cell());
  const auto expand = [&](Line::Set set, const auto& enter) {
    for (size_t i = 0; i < 2; ++i) {
      for (uint32_t rest = line.words[set][i]; rest != 0; rest &= rest - 1) {
        const auto word = static_cast<uint32_t>(std::countr_zero(rest));
        const Row& row = RowOf(n, set, i);
        enter(cells[word], row.StampOf(word), row.strong != 0);
      }
    }
  };
  expand(Line::kWrite, [](Cell& cell, const Stamp& stamp, bool strong) {
    cell.write = stamp, cell.write_bytes = 15, cell.write_strong = strong;
  });
  for (size_t i = 0; i < 2; ++i) {
    expand(i == 0 ? Line::kFirstRead : Line::kSecondRead, [i](Cell& cell, const Stamp& stamp, bool strong) {
      cell.reads[i] = stamp, cell.read_bytes[i] = 15, cell.read_strong[i] = strong;
    });
  }
  return cells;
}

}  // namespace ptx2cpu::rt::check
