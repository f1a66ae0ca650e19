// What is known of the accesses of one line of memory, 16 words: as few rows, while neighbouring threads
// access neighbouring words (or one thread some words), as it mostly is. A line that rows do not describe has
// a cell for each word (shadow.h) from then on, which hold the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/check/shadow.h"

namespace ptx2cpu::rt::check {

inline constexpr uint32_t kWordsOfLine = 16, kBytesOfLine = 64;
inline constexpr uint8_t kOneThread = 4;  // shift of a row in which one thread accesses all words

// Accesses of whole words at one time by one instruction: of word w by thread `thread` + (w >> shift).
struct Row {
  uint32_t block = 0;  // as in Stamp
  uint32_t epoch = 0, time = 0, ptx_line = 0;
  int32_t thread = 0;
  uint16_t words = 0;  // a bit for each word, of an access; Line has those of its rows
  uint8_t shift = 0;
  bool strong = false;

  Stamp StampOf(uint32_t word) const {
    return {block, static_cast<uint32_t>(thread + static_cast<int32_t>(word >> shift)), ptx_line, epoch,
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

// Three sets of rows, with at most one access of each word. Which words they have comes first, so that a line
// that is only written is one of the processor's in the shadow too.
struct alignas(64) Line {
  enum Set : uint8_t { kWrite, kFirstRead, kSecondRead, kSets };  // as in Cell
  using Rows = std::array<Row, 2>;

  uint64_t owner = 0;  // whose accesses these are: others' count for nothing
  std::array<std::array<uint16_t, 2>, kSets> words = {};
  bool has_cells = false;
  std::array<Rows, kSets> rows;

  void Clear(uint64_t whose) { owner = whose, words = {}, has_cells = false; }
  bool CanTake(Set set, const Row& row) const;
  void Take(Set set, const Row& row);  // in place of what its words had
};

// An access of words by threads of the running block.
struct RowAccess {
  Row row;
  ThreadGroup threads;
  bool writes = false;
};

// Enters a row where rows describe the line afterwards and it is sure that nothing races; else nothing is
// changed.
bool EnterRow(Line& line, const RowAccess& access, const BlockClock& clock);
// The same for reads of all the words by each of two or more threads.
bool EnterReadOfAll(Line& line, const RowAccess& access, const BlockClock& clock);

// Shadow of a stretch of memory: its lines, and cells once a line needs them.
class Lines {
 public:
  void Resize(size_t words);
  // Of words 16 n to 16 n + 15, as this owner knows it.
  Line& At(size_t n, uint64_t owner) {
    Line& line = lines_[n];
    if (line.owner != owner) line.Clear(owner);
    return line;
  }
  // The cells of a line, which from now on has them.
  Cell* CellsOf(size_t n);

 private:
  std::vector<Line> lines_;
  std::vector<Cell> cells_;
};

}  // namespace ptx2cpu::rt::check
