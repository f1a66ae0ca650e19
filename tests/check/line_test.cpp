// Rows of a line hold what a cell for each word holds: random accesses of a block, entered in both.
#include "runtime/check/line.h"

#include <bit>
#include <catch2/catch.hpp>
#include <random>

using namespace ptx2cpu::rt::check;

namespace {

constexpr uint32_t kBlockThreads = 64;

bool Same(const Stamp& a, const Stamp& b) {
  return a.block == b.block && a.thread == b.thread && a.ptx_line == b.ptx_line && a.epoch == b.epoch &&
         a.strong == b.strong && a.time == b.time;
}

bool Same(const Cell& a, const Cell& b) {
  const auto same = [](const Stamp& x, const Stamp& y) {
    return (x.block == 0 && y.block == 0) || Same(x, y);
  };
  return same(a.write, b.write) && same(a.reads[0], b.reads[0]) && same(a.reads[1], b.reads[1]) &&
         same(a.plain, b.plain);
}

// One line of memory, known in two ways.
class TwoShadows {
 public:
  explicit TwoShadows(uint32_t seed) : random_(seed) {
    lines_.Resize(kWordsOfLine * 4);
    clock_.Begin(launch_, ++block_, kBlockThreads);
  }

  void Step() {
    const uint32_t what = Below(40);
    if (what == 0) return clock_.Begin(launch_, ++block_, kBlockThreads);
    if (what < 4) {
      clock_.ArriveAtBlock();
      clock_.LeaveBlock(0, ~uint64_t{0} >> 32);
      if (Below(2) == 0) Access();
      return clock_.LeaveBlock(32, ~uint64_t{0} >> 32);
    }
    if (what == 4) {
      const uint32_t first = Below(2) * kLanes;
      clock_.ArriveAtWarp(first, ~uint64_t{0} >> 32);
      return clock_.LeaveWholeWarp(first, ~0u);
    }
    Access();
  }

  uint32_t rows() const { return rows_; }
  uint32_t restarts() const { return restarts_; }
  uint32_t reads_together() const { return reads_together_; }

 private:
  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }

  void Access() {
    const bool writes = Below(3) == 0, strong = Below(8) == 0, is_one = !writes && Below(4) == 0;
    const uint32_t shift = is_one ? 0 : Below(3), words_each = 1u << shift;
    const uint32_t count = is_one ? 2 + Below(15) : 1 + Below(kWordsOfLine >> shift);
    const uint32_t word =
        is_one ? Below(kWordsOfLine) : Below((kWordsOfLine >> shift) - count + 1) * words_each;
    const uint32_t thread = Below(4) * 16, ptx_line = 1 + Below(3);
    const ThreadGroup threads = clock_.GroupOf(thread, thread + count - 1);
    Cell together = cells_[word];
    const bool is_together = is_one && threads.at_once &&
                             EnterReads(together, {clock_.Now(thread, ptx_line, strong)}, threads, clock_);
    bool free = true, free_of_all = true;
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t w = 0; w < words_each; ++w) {
        Conflict conflict;
        const uint32_t at = word + (is_one ? 0 : i * words_each) + w;
        const CellAccess access{clock_.Now(thread + i, ptx_line, strong), writes};
        free &= Enter(cells_[at], access, clock_, conflict);
        free_of_all &= Enter(all_[at], access, clock_, conflict);
      }
    }
    CHECK(free == free_of_all);
    if (is_together) {
      CHECK(free);
      CHECK(Same(together, cells_[word]));
      ++reads_together_;
    }
    const Line& line = lines_.At(0, owner_);
    RowAccess access;
    access.words = static_cast<uint16_t>(((1u << (is_one ? 1 : count * words_each)) - 1) << word);
    if ((line.in_cells & access.words) == 0 && threads.at_once) {
      access.threads = threads;
      access.writes = writes;
      access.row = {block_,
                    clock_.time(),
                    threads.epoch,
                    ptx_line,
                    static_cast<int32_t>(thread) - (is_one ? 0 : static_cast<int32_t>(word >> shift)),
                    is_one ? kOneThread : shift,
                    strong ? 1u : 0u};
      if (is_one ? lines_.EnterReadOfAll(0, access, clock_) : lines_.EnterRow(0, access, clock_)) {
        CHECK(free);
        ++rows_;
        return;
      }
    }
    Compare(is_one, word, words_each, count, {clock_.Now(thread, ptx_line, strong), writes});
    const bool is_whole = count * words_each == kWordsOfLine;
    if (free && writes && !strong && is_whole && threads.at_once && lines_.At(0, owner_).in_cells != 0)
      Restart(threads,
              {block_, clock_.time(), threads.epoch, ptx_line, static_cast<int32_t>(thread), shift, 0});
  }

  // Rows again. That forgets reads, which all came before the write.
  void Restart(const ThreadGroup& threads, const Row& row) {
    lines_.Restart(0, {row, threads, kAllWords, true});
    for (Cell& cell : cells_) {
      const Stamp write = cell.write;
      cell = {};
      cell.write = write;
    }
    ++restarts_;
  }

  // The cells of its words, with the access entered too, are the others; then, at times, the line has none
  // again.
  void Compare(bool is_one, uint32_t word, uint32_t words_each, uint32_t count, const CellAccess& first) {
    const uint32_t shift = is_one ? 0 : static_cast<uint32_t>(std::countr_zero(words_each));
    for (uint32_t i = 0; i < count; ++i) {
      CellAccess access = first;
      access.stamp = clock_.Now(first.stamp.thread + i, first.stamp.ptx_line, first.stamp.strong != 0);
      Conflict conflict;
      EnterCells(lines_.CellsOf(0, word + (is_one ? 0 : i * words_each), shift), access, clock_, conflict);
    }
    for (uint32_t i = 0; i < kWordsOfLine; ++i) CHECK(Same(lines_.CellOf(0, i), cells_[i]));
    if (Below(4) != 0) return;
    ++owner_;
    for (Cell& cell : cells_) cell = {};
    for (Cell& cell : all_) cell = {};
  }

  std::minstd_rand random_;
  LaunchClock launch_;
  BlockClock clock_;
  Lines lines_;
  Cell cells_[kWordsOfLine], all_[kWordsOfLine];  // the second forget nothing
  uint64_t owner_ = 1;
  uint32_t block_ = 0, rows_ = 0, restarts_ = 0, reads_together_ = 0;
};

}  // namespace

TEST_CASE("rows of a line hold what cells of its words hold") {
  uint32_t rows = 0, restarts = 0, reads_together = 0;
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    TwoShadows shadows(seed);
    for (uint32_t step = 0; step < 400; ++step) shadows.Step();
    rows += shadows.rows();
    restarts += shadows.restarts();
    reads_together += shadows.reads_together();
  }
  CHECK(restarts > 10);
  CHECK(reads_together > 1000);
  CHECK(rows > 1000);  // accesses that were entered as rows
}
