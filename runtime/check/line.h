// What is known of the accesses of one line of memory, 16 words: as few rows, while neighbouring threads
// access neighbouring words (or one thread some words), as it mostly is. A line that rows do not describe has
// a cell for each word (shadow.h) from then on, which hold the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/check/shadow.h"
#include "runtime/check/zero_array.h"

namespace ptx2cpu::rt::check {

inline constexpr uint32_t kWordsOfLine = 16, kBytesOfLine = 64;
inline constexpr uint16_t kAllWords = 0xffff;
inline constexpr uint8_t kOneThread = 4;  // shift of a row in which one thread accesses all words

// Accesses of whole words at one time by one instruction: of word w by thread `thread` + (w >> shift). 20
// bytes.
struct Row {
  uint32_t block = 0;  // as in Stamp
  uint32_t epoch = 0, time = 0;
  int32_t thread = 0;
  uint32_t ptx_line : 22 = 0;
  uint32_t shift : 3 = 0;
  uint32_t strong : 1 = 0;

  Stamp StampOf(uint32_t word) const {
    return {block, static_cast<uint32_t>(thread + static_cast<int32_t>(word >> shift)), 0, ptx_line, epoch,
            time};
  }
  bool HasThreadsOf(const Row& other) const {
    return block == other.block && thread == other.thread && shift == other.shift;
  }
  // Whether one row can hold the words of both.
  bool IsOneWith(const Row& other) const {
    return HasThreadsOf(other) && epoch == other.epoch && time == other.time && ptx_line == other.ptx_line &&
           strong == other.strong;
  }
};

// Three sets of rows, with at most one access of each word. What most lines need is here, and one line of the
// processor's: the shadow of memory that a kernel goes through once is gone through as well. Lines has the
// other rows.
struct alignas(64) Line {
  enum Set : uint8_t { kWrite, kFirstRead, kSecondRead, kSets };  // as in Cell

  uint64_t owner = 0;                                  // whose accesses these are: others' count for nothing
  std::array<std::array<uint16_t, 2>, kSets> words{};  // of each row, a bit for each
  bool has_cells = false;
  std::array<Row, 2> rows;  // the first write, the first of the first reads

  void Clear(uint64_t whose) { owner = whose, words = {}, has_cells = false; }
};
static_assert(sizeof(Line) == kBytesOfLine);

// An access of words by threads of the running block.
struct RowAccess {
  Row row;
  ThreadGroup threads;
  uint16_t words = 0;  // a bit for each
  bool writes = false;
};

// Shadow of a stretch of memory: its lines, and cells once a line needs them.
class Lines {
 public:
  // For at least so many words; forgets what it knew if it was shorter.
  void Resize(size_t words);
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
    line.words[set][0] = access.words;
    line.rows[set] = access.row;
    return true;
  }
  // The same of a line that the owner has accessed, once all of that is ordered before this row, which writes
  // all of its words: whatever is ordered after the row comes after the rest.
  void Restart(size_t n, const RowAccess& access) {
    Line& line = lines_[n];
    line.Clear(line.owner);
    line.words[Line::kWrite][0] = access.words;
    line.rows[Line::kWrite] = access.row;
  }
  // Enters a row in line n where rows describe the line afterwards and it is sure that nothing races; else
  // nothing is changed.
  bool EnterRow(size_t n, const RowAccess& access, const BlockClock& clock);
  // The same for reads of all the words by each of two or more threads.
  bool EnterReadOfAll(size_t n, const RowAccess& access, const BlockClock& clock);
  // The cells of a line, which from now on has them.
  Cell* CellsOf(size_t n);

 private:
  using MoreRows = std::array<Row, 4>;
  static bool IsInLine(Line::Set set, size_t i) { return i == 0 && set != Line::kSecondRead; }
  static size_t IndexOf(Line::Set set, size_t i) { return set == Line::kSecondRead ? 2 + i : set; }
  // Row i of a set, which has words.
  const Row& RowOf(size_t n, Line::Set set, size_t i) const {
    return IsInLine(set, i) ? lines_[n].rows[set] : more_[n][IndexOf(set, i)];
  }
  // The line's row i of the set is this one, for all of these words.
  bool Has(size_t n, Line::Set set, size_t i, const Row& row, uint16_t words) const {
    return (words & ~lines_[n].words[set][i]) == 0 && RowOf(n, set, i).IsOneWith(row);
  }
  bool IsFreeOf(size_t n, Line::Set set, const RowAccess& access, const BlockClock& clock) const;
  std::optional<uint16_t> SecondReads(size_t n, const RowAccess& access, const BlockClock& clock) const;
  bool CanTake(size_t n, Line::Set set, const Row& row, uint16_t words) const;
  void Take(size_t n, Line::Set set, const Row& row, uint16_t words);  // in place of what its words had

  // Zero bytes are a line without accesses, and a cell likewise.
  ZeroArray<Line> lines_;
  ZeroArray<MoreRows> more_;  // none until a line needs them
  ZeroArray<Cell> cells_;     // the same
};

}  // namespace ptx2cpu::rt::check
