#include "runtime/check/line.h"

#include <algorithm>
#include <bit>

namespace ptx2cpu::rt::check {

namespace {

// Of rows with words in common: each thread of the access comes after the one that accessed the same word.
bool IsOrdered(const Row& known, const RowAccess& access, const BlockClock& clock) {
  return known.HasThreadsOf(access.row) ||
         clock.IsOrderedForAll(known.block, static_cast<uint32_t>(known.epoch), known.time, access.threads);
}

// Of a set of rows' words, 16 bits each: the first row with some, and the others' words.
uint32_t FirstOf(uint64_t sets) { return static_cast<uint32_t>(std::countr_zero(sets)) / kWordsOfLine; }
uint64_t AfterFirst(uint64_t sets) { return sets & ~(uint64_t{0xffff} << FirstOf(sets) * kWordsOfLine); }

uint16_t WordsFrom(uint32_t word, uint32_t shift) {
  return static_cast<uint16_t>(((1u << (1u << shift)) - 1) << word);
}

}  // namespace

bool Lines::IsFreeOf(size_t n, Line::Set set, uint64_t same, const RowAccess& access,
                     const BlockClock& clock) const {
  for (uint64_t rest = same; rest != 0; rest = AfterFirst(rest)) {
    const Row& row = RowOf(n, Line::kRows[set] + FirstOf(rest));
    if (!(row.strong && access.row.strong) && !IsOrdered(row, access, clock)) return false;
  }
  return true;
}

// Whether plain accesses count beside this strong one (CountsBeside in shadow.h).
bool Lines::CountBeside(size_t n, Line::Set set, const RowAccess& access) const {
  for (size_t i = Line::kRows[set]; i < Line::kRows[set + 1]; ++i) {
    if ((lines_[n].words[i] & access.words) == 0) continue;
    if (!RowOf(n, i).strong) return true;
  }
  return false;
}

// The words whose reads Cell's rule puts in the second place; nothing where that is not one answer for each
// row.
std::optional<uint16_t> Lines::SecondReads(size_t n, const RowAccess& access, const BlockClock& clock) const {
  uint16_t second = 0;
  uint64_t rest = lines_[n].WordsOf(Line::kFirstRead) & InEach(access.words);
  for (; rest != 0; rest = AfterFirst(rest)) {
    const Row& row = RowOf(n, Line::kRows[Line::kFirstRead] + FirstOf(rest));
    if (IsOrdered(row, access, clock)) continue;
    // Rows of one shift that differ have different threads for each word.
    const bool differ = row.block != access.row.block || row.shift == access.row.shift;
    if (!differ ||
        !clock.IsOrderedForNone(row.block, static_cast<uint32_t>(row.epoch), row.time, access.threads))
      return std::nullopt;
    second |= static_cast<uint16_t>(rest >> FirstOf(rest) * kWordsOfLine);
  }
  return second;
}

size_t Lines::PlaceOf(size_t n, Line::Set set, const Row& row, uint16_t words) const {
  const Line& line = lines_[n];
  size_t place = kNoPlace;
  for (size_t i = Line::kRows[set]; i < Line::kRows[set + 1]; ++i) {
    if ((line.words[i] & ~words) == 0)
      place = std::min(place, i);
    else if (RowOf(n, i).IsOneWith(row))
      return i;
  }
  return place;
}

void Lines::Take(size_t n, Line::Set set, size_t place, const Row& row, uint16_t words) {
  Line& line = lines_[n];
  line.Forget(set, words);
  const bool is_new = line.words[place] == 0;
  line.words[place] |= words;
  if (!is_new) return;
  Put(n, place, row);
}

void Lines::Put(size_t n, size_t i, const Row& row) {
  if (IsInLine(i)) {
    lines_[n].rows[i / 4] = row;
    return;
  }
  if (more_.empty()) more_ = ZeroArray<MoreRows>(lines_.size());
  more_[n][IndexOf(i)] = row;
}

bool Lines::EnterRow(size_t n, const RowAccess& access, const BlockClock& clock) {
  const uint16_t words = access.words;
  // The same access again, of a line in which rows have shown that nothing raced since.
  if (!access.writes && Has(n, Line::kFirstRead, access.row, words)) return true;
  if (!IsFreeOf(n, Line::kWrite, access, clock)) return false;
  if (access.row.strong && CountBeside(n, access)) return false;
  if (access.writes) {
    if (!IsFreeOf(n, Line::kFirstRead, access, clock) || !IsFreeOf(n, Line::kSecondRead, access, clock))
      return false;
    const size_t place = PlaceOf(n, Line::kWrite, access.row, words);
    if (place == kNoPlace) return false;
    Take(n, Line::kWrite, place, access.row, words);
    if (access.row.strong == 0) lines_[n].ForgetReads(words);  // as EnterWrite does
    return true;
  }
  const std::optional<uint16_t> second = SecondReads(n, access, clock);
  if (!second) return false;
  const auto first = static_cast<uint16_t>(words & ~*second);
  const size_t place = first == 0 ? 0 : PlaceOf(n, Line::kFirstRead, access.row, first);
  const size_t other = *second == 0 ? 0 : PlaceOf(n, Line::kSecondRead, access.row, *second);
  if (place == kNoPlace || other == kNoPlace) return false;
  if (first != 0) Take(n, Line::kFirstRead, place, access.row, first);
  if (*second != 0) Take(n, Line::kSecondRead, other, access.row, *second);
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
  if (Has(n, Line::kFirstRead, first, words) && Has(n, Line::kSecondRead, last, words)) return true;
  if (access.row.strong && CountBeside(n, access)) return false;
  RowAccess all = access;
  all.row.shift = kSeveralThreads;  // no thread's write is that of all
  if (!IsFreeOf(n, Line::kWrite, all, clock)) return false;
  for (size_t i = Line::kRows[Line::kFirstRead]; i < Line::kRows[Line::kSecondRead]; ++i) {
    if ((lines_[n].words[i] & words) == 0) continue;
    const Row& known = RowOf(n, i);
    if (!known.HasThreadsOf(first) &&
        !clock.IsOrderedForAll(known.block, static_cast<uint32_t>(known.epoch), known.time, access.threads))
      return false;
  }
  const size_t place = PlaceOf(n, Line::kFirstRead, first, words);
  const size_t other = PlaceOf(n, Line::kSecondRead, last, words);
  if (place == kNoPlace || other == kNoPlace) return false;
  Take(n, Line::kFirstRead, place, first, words);
  Take(n, Line::kSecondRead, other, last, words);
  return true;
}

void Lines::Resize(size_t bytes) {
  const size_t count = (bytes + bytes_of_line() - 1) / bytes_of_line();
  if (lines_.size() >= count) return;
  lines_ = ZeroArray<Line>(count, true);
  more_ = {};
  cells_ = {};
  parts_ = nullptr;
}

// Whether each access of these words is one of all of them by one thread.
bool Lines::HaveOneRow(size_t n, uint32_t word, uint32_t shift) const {
  const uint32_t mask = WordsFrom(word, shift);
  for (size_t i = 0; i < Line::kRows[Line::kSets]; ++i) {
    const uint32_t words = lines_[n].words[i] & mask;
    if (words != 0 && (words != mask || RowOf(n, i).shift < shift)) return false;
  }
  return true;
}

Cell Lines::CellOf(size_t n, uint32_t word) const {
  const Line& line = lines_[n];
  if ((line.in_cells >> word & 1) != 0) return cells_[n * kWordsOfLine + (word >> line.grain << line.grain)];
  Cell cell;
  for (size_t i = 0; i < Line::kRows[Line::kSets]; ++i) {
    if ((line.words[i] >> word & 1) == 0) continue;
    const Row& row = RowOf(n, i);
    if (i < Line::kRows[Line::kFirstRead]) {
      cell.write = row.StampOf(word);
      continue;
    }
    const size_t read = i < Line::kRows[Line::kSecondRead] ? 0 : 1;
    cell.reads[read] = row.StampOf(word);
  }
  return cell;
}

// Of the words that have a cell in common with this one, the first.
void Lines::MakeCell(size_t n, uint32_t word) {
  Line& line = lines_[n];
  const uint16_t mask = WordsFrom(word, line.grain);
  const uint64_t in_rows =
      line.WordsOf(Line::kWrite) | line.WordsOf(Line::kFirstRead) | line.WordsOf(Line::kSecondRead);
  Cell& cell = cells_[n * kWordsOfLine + word];
  if ((in_rows & InEach(mask)) == 0) {
    cell = {};
  } else {
    cell = CellOf(n, word);
    for (uint16_t& words : line.words) words &= static_cast<uint16_t>(~mask);
  }
  line.in_cells |= mask;
}

// From now on so many words have a cell in common.
void Lines::Split(size_t n, uint32_t grain) {
  Line& line = lines_[n];
  Cell* const cells = &cells_[n * kWordsOfLine];
  const uint32_t before = 1u << line.grain, now = 1u << grain;
  for (uint32_t word = 0; word < kWordsOfLine; word += before) {
    if ((line.in_cells >> word & 1) == 0) continue;
    for (uint32_t other = word + now; other < word + before; other += now) cells[other] = cells[word];
  }
  line.grain = static_cast<uint8_t>(grain & 7);
}

// Words that have a cell in common lie in one such group.
void Lines::Forget(uint64_t from, uint64_t to) {
  for (uint64_t n = from / bytes_of_line(); n * bytes_of_line() < to; ++n) {
    Line& line = lines_[n];
    if (line.owner == 0) continue;
    if (line.in_parts != 0) {
      parts_->Forget(std::max(from, n * bytes_of_line()), std::min(to, (n + 1) * bytes_of_line()));
      continue;
    }
    const uint16_t words = WordsIn(n, from >> word_shift_, to >> word_shift_);
    for (const Line::Set set : {Line::kWrite, Line::kFirstRead, Line::kSecondRead}) line.Forget(set, words);
    line.in_cells &= static_cast<uint16_t>(~words);
  }
}

namespace {

constexpr uint32_t kPartsOfLine = 4;  // of four words, each of four bytes

// A part's words, of which each is four bytes.
uint16_t BytesOf(uint32_t words, uint32_t part) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < kPartsOfLine; ++i) bytes |= (words >> (part * 4 + i) & 1) * (0xfu << i * 4);
  return static_cast<uint16_t>(bytes);
}

}  // namespace

void Lines::MakeParts(size_t n, uint64_t owner) {
  if (parts_ == nullptr) {
    parts_ = std::make_unique<Lines>(kByte);
    parts_->Resize(lines_.size() * bytes_of_line());
  }
  Line& line = At(n, owner);
  if (line.in_parts != 0) return;
  for (uint32_t part = 0; part < kPartsOfLine; ++part)
    parts_->TakePart(n * kPartsOfLine + part, *this, n, part);
  line.Clear(owner);
  line.in_parts = 1;
}

// This line becomes what a line of words knows of four of its words.
void Lines::TakePart(size_t n, const Lines& of, size_t line, uint32_t part) {
  constexpr uint32_t kShift = kFourBytes - kByte;
  const Line& from = of.lines_[line];
  Line& to = lines_[n];
  to.Clear(from.owner);
  for (size_t i = 0; i < Line::kRows[Line::kSets]; ++i) {
    to.words[i] = BytesOf(from.words[i], part);
    if (to.words[i] == 0) continue;
    Row row = of.RowOf(line, i);
    row.thread += part * 4 >> row.shift;
    row.shift = std::min<uint32_t>(row.shift + kShift, kOneThread);
    Put(n, i, row);
  }
  to.in_cells = BytesOf(from.in_cells, part);
  if (to.in_cells == 0) return;
  if (cells_.empty()) cells_ = ZeroArray<Cell>(lines_.size() * kWordsOfLine);
  to.grain = static_cast<uint8_t>((from.grain + kShift) & 7);
  for (uint32_t word = 0; word < 4; word += 1u << from.grain)
    cells_[n * kWordsOfLine + word * 4] = of.cells_[line * kWordsOfLine + part * 4 + word];
}

void Lines::MakeCells(size_t n, uint32_t word, uint32_t shift) {
  if (cells_.empty()) cells_ = ZeroArray<Cell>(lines_.size() * kWordsOfLine);
  Line& line = lines_[n];
  const uint16_t mask = WordsFrom(word, shift);
  if (line.in_cells == 0) line.grain = static_cast<uint8_t>(shift & 7);
  if (line.grain > shift) Split(n, shift);
  if ((line.in_cells & mask) != mask) {
    const bool is_new = (line.in_cells & mask) == 0;
    if (line.grain != 0 && !(is_new && HaveOneRow(n, word, shift))) Split(n, 0);
    for (uint32_t at = word; at < word + (1u << shift); at += 1u << line.grain) {
      if ((line.in_cells >> at & 1) == 0) MakeCell(n, at);
    }
  }
}

}  // namespace ptx2cpu::rt::check
