// What is known of the accesses of one line of memory, 16 words: as few rows, while neighbouring threads
// access neighbouring words (or one thread some words), as it mostly is. Words that rows do not describe have
// cells (shadow.h) from then on, which hold the same: one for each word, or for two or four words that have
// always been accessed together.
//
// A line of which bytes or 16-bit words are accessed is four lines from then on, whose words are single
// bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "runtime/check/shadow.h"
#include "runtime/check/zero_array.h"

namespace ptx2cpu::rt::check {

inline constexpr uint32_t kWordsOfLine = 16;
inline constexpr uint16_t kAllWords = 0xffff;
inline constexpr uint8_t kOneThread = 4;       // shift of a row in which one thread accesses all words
inline constexpr uint8_t kSeveralThreads = 5;  // each of them accesses all words

// Accesses of whole words at one time by one instruction: of word w by thread `thread` + (w >> shift). 16
// bytes.
struct Row {
  static constexpr uint32_t kMaxEpoch = (1u << 26) - 1;  // later accesses are no rows

  uint32_t block = 0;  // as in Stamp
  uint32_t time = 0;
  uint64_t epoch : 26 = 0;
  uint64_t ptx_line : 22 = 0;
  int64_t thread : 12 = 0;  // of word 0, which may be none
  uint64_t shift : 3 = 0;
  uint64_t strong : 1 = 0;

  Stamp StampOf(uint32_t word) const {
    return {block,
            static_cast<uint32_t>(static_cast<int32_t>(thread) + static_cast<int32_t>(word >> shift)),
            0,
            static_cast<uint32_t>(ptx_line),
            static_cast<uint32_t>(epoch),
            static_cast<uint32_t>(strong),
            time};
  }
  bool HasThreadsOf(const Row& other) const {
    return block == other.block && thread == other.thread && shift == other.shift;
  }
  // Whether one row can hold the words of both.
  bool IsOneWith(const Row& other) const {
    using Words = std::array<uint64_t, 2>;
    const auto mine = std::bit_cast<Words>(*this), others = std::bit_cast<Words>(other);
    return ((mine[0] ^ others[0]) | (mine[1] ^ others[1])) == 0;
  }
};
static_assert(sizeof(Row) == 16);

// Three sets of rows, with at most one access of each word. What most lines need is here, and one line of the
// processor's: the shadow of memory that a kernel goes through once is gone through as well. Lines has the
// other rows.
struct alignas(64) Line {
  enum Set : uint8_t { kWrite, kFirstRead, kSecondRead, kSets };  // as in Cell
  // Of each set in `words`: its first row, and one after its last.
  static constexpr std::array<uint8_t, kSets + 1> kRows = {0, 4, 8, 10};

  uint64_t owner = 0;                          // whose accesses these are: others' count for nothing
  std::array<uint16_t, kRows[kSets]> words{};  // of each row, a bit for each
  uint16_t in_cells = 0;                       // words that have cells, and are in no row
  uint8_t grain : 7 = 0;     // log2 of the words that have a cell in common: that of the first is used
  uint8_t in_parts : 1 = 0;  // lines of bytes have what is known
  std::array<Row, 2> rows;   // the first write, the first of the first reads

  uint16_t& FirstWords(Set set) { return words[kRows[set]]; }
  // The words of a set's rows, 16 bits each.
  uint64_t WordsOf(Set set) const {
    uint64_t all = 0;
    std::memcpy(&all, &words[kRows[set]], sizeof(uint16_t) * (kRows[set + 1] - kRows[set]));
    return all;
  }
  uint64_t WordsOfAll() const { return WordsOf(kWrite) | WordsOf(kFirstRead) | WordsOf(kSecondRead); }
  void Forget(Set set, uint16_t some) {
    for (size_t i = kRows[set]; i < kRows[set + 1]; ++i) words[i] &= static_cast<uint16_t>(~some);
  }
  void ForgetReads(uint16_t some) {
    if (((WordsOf(kFirstRead) | WordsOf(kSecondRead)) & (some * uint64_t{0x0001000100010001})) == 0) return;
    Forget(kFirstRead, some);
    Forget(kSecondRead, some);
  }
  void Clear(uint64_t whose) { owner = whose, words = {}, in_cells = 0, in_parts = 0; }
};
static_assert(sizeof(Line) == 64);

// Words `from` to `to` of memory that lie in line n, as its bits.
inline uint16_t WordsIn(uint64_t n, uint64_t from, uint64_t to) {
  const uint64_t first = std::max(n * kWordsOfLine, from) % kWordsOfLine;
  const uint64_t count = std::min((n + 1) * kWordsOfLine, to) - n * kWordsOfLine - first;
  return static_cast<uint16_t>(((1u << count) - 1) << first);
}

// A set of rows' words, 16 bits each, that are these.
inline uint64_t InEach(uint16_t words) { return words * uint64_t{0x0001000100010001}; }

// An access of words by threads of the running block.
struct RowAccess {
  Row row;
  ThreadGroup threads;
  uint16_t words = 0;  // a bit for each
  bool writes = false;
};

// Cells of words that are accessed together: `count`, one every `step`.
struct CellsOfWords {
  Cell* first = nullptr;
  uint32_t step = 1, count = 1;
};

// Compares an access with each of the cells and enters it there. False: it races, and `conflict` is the
// first.
inline bool EnterCells(const CellsOfWords& cells, const CellAccess& access, const BlockClock& clock,
                       Conflict& conflict) {
  if (cells.count == 1) return Enter(*cells.first, access, clock, conflict);
  bool is_free = true;
  for (uint32_t i = 0; i < cells.count; ++i) {
    Conflict found;
    if (Enter(cells.first[i * cells.step], access, clock, found)) continue;
    if (is_free) conflict = found;
    is_free = false;
  }
  return is_free;
}

// Shadow of a stretch of memory: its lines, and cells once a line needs them.
class Lines {
 public:
  enum Word : uint8_t { kByte = 0, kFourBytes = 2 };  // log2 of its bytes

  explicit Lines(Word word = kFourBytes) : word_shift_(word) {}
  uint32_t word_shift() const { return word_shift_; }
  uint32_t bytes_of_line() const { return kWordsOfLine << word_shift_; }
  // For at least so many bytes; forgets what it knew if it was shorter.
  void Resize(size_t bytes);
  // Those that have what is known of byte `at` and others of its line: these, or the parts of words, which
  // they have from now on if the access is of such parts.
  Lines& Having(uint64_t at, bool of_parts, uint64_t owner) {
    const size_t n = at / bytes_of_line();
    if (of_parts) MakeParts(n, owner);
    return At(n, owner).in_parts != 0 ? *parts_ : *this;
  }
  Lines& parts() { return *parts_; }  // of a line that is in parts
  // Of words 16 n to 16 n + 15, as this owner knows it.
  Line& At(size_t n, uint64_t owner) {
    Line& line = lines_[n];
    if (line.owner != owner) line.Clear(owner);
    return line;
  }
  // Enters a row in line n if the owner has no accesses in it.
  bool EnterFirst(size_t n, uint64_t owner, const RowAccess& access) {
    Line& line = lines_[n];
    if (line.owner == owner) return false;
    line.Clear(owner);
    const Line::Set set = access.writes ? Line::kWrite : Line::kFirstRead;
    line.FirstWords(set) = access.words;
    line.rows[set] = access.row;
    return true;
  }
  // The same of a line that the owner has accessed, once all of that is ordered before this row, which writes
  // all of its words: whatever is ordered after the row comes after the rest.
  void Restart(size_t n, const RowAccess& access) {
    Line& line = lines_[n];
    line.Clear(line.owner);
    line.FirstWords(Line::kWrite) = access.words;
    line.rows[Line::kWrite] = access.row;
  }
  // Enters a row in line n, which is not in parts, of words without cells, where rows describe them
  // afterwards and it is sure that nothing races; else nothing is changed.
  bool EnterRow(size_t n, const RowAccess& access, const BlockClock& clock);
  // The same for reads of all the words by each of two or more threads.
  bool EnterReadOfAll(size_t n, const RowAccess& access, const BlockClock& clock);
  // The cells of 1 << shift words, from a multiple of that on, which from now on have them.
  CellsOfWords CellsOf(size_t n, uint32_t word, uint32_t shift) {
    const Line& line = lines_[n];
    if (line.grain != shift || (line.in_cells >> word & 1) == 0) MakeCells(n, word, shift);
    return {&cells_[n * kWordsOfLine + word], 1u << line.grain, 1u << (shift - line.grain)};
  }
  // Enters an access of 1 << shift words in their cells, from a multiple of that on, in line n of this owner.
  bool EnterInCells(size_t n, uint32_t word, uint32_t shift, const CellAccess& access,
                    const BlockClock& clock, Conflict& conflict) {
    Line& line = lines_[n];
    const auto mask = static_cast<uint16_t>(((1u << (1u << shift)) - 1) << word);
    if (line.grain == shift && (line.in_cells & mask) == mask)
      return Enter(cells_[n * kWordsOfLine + word], access, clock, conflict);
    const bool is_first = (line.in_cells & mask) == 0 && (line.in_cells == 0 || line.grain == shift) &&
                          (line.WordsOfAll() & InEach(mask)) == 0;
    if (!is_first || cells_.empty()) return EnterCells(CellsOf(n, word, shift), access, clock, conflict);
    line.grain = static_cast<uint8_t>(shift & 7);
    line.in_cells |= mask;
    cells_[n * kWordsOfLine + word].Start(access);
    return true;
  }
  // What is known of bytes `from` to `to`, whole groups of 16, counts no longer: they are new memory.
  void Forget(uint64_t from, uint64_t to);
  // The cell that 1 << shift words from this one on have in common; null: they have none yet, or other ones.
  Cell* CommonCellOf(size_t n, uint32_t word, uint32_t shift) {
    const Line& line = lines_[n];
    const bool is_there = line.grain == shift && (line.in_cells >> word & 1) != 0;
    return is_there ? &cells_[n * kWordsOfLine + word] : nullptr;
  }
  // What the cell of a word would be.
  Cell CellOf(size_t n, uint32_t word) const;

 private:
  // Rows 1 to 3 of the two first sets, and those of the third.
  using MoreRows = std::array<Row, 8>;
  static constexpr bool IsInLine(size_t i) {
    return i == Line::kRows[Line::kWrite] || i == Line::kRows[Line::kFirstRead];
  }
  static constexpr size_t IndexOf(size_t i) { return i < Line::kRows[Line::kFirstRead] ? i - 1 : i - 2; }
  // Row i, which has words.
  const Row& RowOf(size_t n, size_t i) const {
    return IsInLine(i) ? lines_[n].rows[i / 4] : more_[n][IndexOf(i)];
  }
  // The line's first row of the set is this one, for all of these words.
  bool Has(size_t n, Line::Set set, const Row& row, uint16_t words) const {
    const size_t i = Line::kRows[set];
    return (words & ~lines_[n].words[i]) == 0 && RowOf(n, i).IsOneWith(row);
  }
  bool IsFreeOf(size_t n, Line::Set set, const RowAccess& access, const BlockClock& clock) const {
    const uint64_t same = lines_[n].WordsOf(set) & InEach(access.words);
    return same == 0 || IsFreeOf(n, set, same, access, clock);
  }
  bool IsFreeOf(size_t n, Line::Set set, uint64_t same, const RowAccess& access,
                const BlockClock& clock) const;
  bool CountBeside(size_t n, Line::Set set, const RowAccess& access) const;
  bool CountBeside(size_t n, const RowAccess& access) const {
    if (access.writes) return CountBeside(n, Line::kWrite, access);
    return CountBeside(n, Line::kFirstRead, access) || CountBeside(n, Line::kSecondRead, access);
  }
  std::optional<uint16_t> SecondReads(size_t n, const RowAccess& access, const BlockClock& clock) const;
  bool HaveOneRow(size_t n, uint32_t word, uint32_t shift) const;
  void MakeCell(size_t n, uint32_t word);
  void MakeCells(size_t n, uint32_t word, uint32_t shift);
  void Split(size_t n, uint32_t grain);
  void MakeParts(size_t n, uint64_t owner);
  void TakePart(size_t n, const Lines& of, size_t line, uint32_t part);
  // Which of the set's rows these words of the row can be part of; none: kNoPlace.
  static constexpr size_t kNoPlace = ~size_t{0};
  size_t PlaceOf(size_t n, Line::Set set, const Row& row, uint16_t words) const;
  void Take(size_t n, Line::Set set, size_t place, const Row& row,
            uint16_t words);  // in place of what was there

  void Put(size_t n, size_t i, const Row& row);  // row i of line n

  const uint8_t word_shift_;
  // Zero bytes are a line without accesses, and a cell likewise.
  ZeroArray<Line> lines_;
  ZeroArray<MoreRows> more_;      // none until a line needs them
  ZeroArray<Cell> cells_;         // the same
  std::unique_ptr<Lines> parts_;  // of bytes, four for each line: the same
};

}  // namespace ptx2cpu::rt::check
