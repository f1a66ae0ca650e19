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

bool IsFreeOf(const Line& line, Line::Set set, const RowAccess& access, const BlockClock& clock) {
  for (size_t i = 0; i < 2; ++i) {
    const Row& row = line.rows[set][i];
    if ((line.words[set][i] & access.row.words) != 0 && !(row.strong && access.row.strong) &&
        !IsOrdered(row, access, clock))
      return false;
  }
  return true;
}

// Where Cell's rule puts the reads: in place 0 or 1, or neither for all of them.
enum class Place : uint8_t { kFirst, kSecond, kMixed };
Place PlaceOf(const Line& line, const RowAccess& access, const BlockClock& clock) {
  uint16_t ordered = 0, unordered = 0;
  for (size_t i = 0; i < 2; ++i) {
    const Row& row = line.rows[Line::kFirstRead][i];
    const uint16_t words = line.words[Line::kFirstRead][i];
    if ((words & access.row.words) == 0) continue;
    if (IsOrdered(row, access, clock)) {
      ordered |= words;
    } else {
      // Rows of one shift that differ have different threads for each word.
      const bool differ = row.block != access.row.block || row.shift == access.row.shift;
      if (!differ || !clock.IsOrderedForNone(row.block, row.epoch, row.time, access.threads))
        return Place::kMixed;
      unordered |= words;
    }
  }
  if ((unordered & access.row.words) == 0) return Place::kFirst;
  return (access.row.words & ~unordered) == 0 && (ordered & access.row.words) == 0 ? Place::kSecond
                                                                                   : Place::kMixed;
}

}  // namespace

bool Line::CanTake(Set set, const Row& row) const {
  for (size_t i = 0; i < 2; ++i) {
    if ((words[set][i] & ~row.words) == 0 || rows[set][i].IsOneWith(row)) return true;
  }
  return false;
}

void Line::Take(Set set, const Row& row) {
  auto& known = words[set];
  for (uint16_t& of : known) of &= static_cast<uint16_t>(~row.words);
  for (size_t i = 0; i < 2; ++i) {
    if (known[i] == 0 || !rows[set][i].IsOneWith(row)) continue;
    known[i] |= row.words;
    return;
  }
  const size_t place = known[0] == 0 ? 0 : 1;
  known[place] = row.words;
  rows[set][place] = row;
}

bool EnterRow(Line& line, const RowAccess& access, const BlockClock& clock) {
  if (!IsFreeOf(line, Line::kWrite, access, clock)) return false;
  Line::Set set = Line::kWrite;
  if (access.writes) {
    if (!IsFreeOf(line, Line::kFirstRead, access, clock) || !IsFreeOf(line, Line::kSecondRead, access, clock))
      return false;
  } else {
    const Place place = PlaceOf(line, access, clock);
    if (place == Place::kMixed) return false;
    set = place == Place::kFirst ? Line::kFirstRead : Line::kSecondRead;
  }
  if (!line.CanTake(set, access.row)) return false;
  line.Take(set, access.row);
  return true;
}

// One after the other, the first thread's read stays in the first place, and of the others the last one's in
// the second.
bool EnterReadOfAll(Line& line, const RowAccess& access, const BlockClock& clock) {
  if (!IsFreeOf(line, Line::kWrite, access, clock)) return false;
  Row first = access.row, last = access.row;
  first.thread = static_cast<int32_t>(access.threads.first);
  last.thread = static_cast<int32_t>(access.threads.last);
  first.shift = last.shift = kOneThread;
  for (size_t i = 0; i < 2; ++i) {
    const Row& known = line.rows[Line::kFirstRead][i];
    if ((line.words[Line::kFirstRead][i] & first.words) != 0 && !known.HasThreadsOf(first) &&
        !clock.IsOrderedForAll(known.block, known.epoch, known.time, access.threads))
      return false;
  }
  if (!line.CanTake(Line::kFirstRead, first) || !line.CanTake(Line::kSecondRead, last)) return false;
  line.Take(Line::kFirstRead, first);
  line.Take(Line::kSecondRead, last);
  return true;
}

void Lines::Resize(size_t words) {
  const size_t count = (words + kWordsOfLine - 1) / kWordsOfLine;
  if (lines_.size() < count) lines_.resize(count);
}

Cell* Lines::CellsOf(size_t n) {
  if (cells_.size() < lines_.size() * kWordsOfLine) cells_.resize(lines_.size() * kWordsOfLine);
  Cell* const cells = &cells_[n * kWordsOfLine];
  Line& line = lines_[n];
  if (line.has_cells) return cells;
  line.has_cells = true;
  std::fill_n(cells, kWordsOfLine, Cell());
  const auto expand = [&](Line::Set set, const auto& enter) {
    for (size_t i = 0; i < 2; ++i) {
      for (uint32_t rest = line.words[set][i]; rest != 0; rest &= rest - 1) {
        const auto word = static_cast<uint32_t>(std::countr_zero(rest));
        enter(cells[word], line.rows[set][i].StampOf(word), line.rows[set][i].strong);
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
