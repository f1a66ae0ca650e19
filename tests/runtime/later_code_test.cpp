// Code that comes while a launch runs: blocks that begin later run it, where it fits.
#include "runtime/launch/later_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/abi/deferred_atomics.h"
#include "runtime/abi/swapped_axes.h"
#include "runtime/launch/launch.h"

using namespace ptx2cpu::rt;

namespace {

template <uint32_t value>
void StoreValue(ptx2cpu_block* block) {
  std::byte* words;  // of any alignment
  std::memcpy(&words, block->params, sizeof words);
  constexpr uint32_t kWord = value;
  std::memcpy(words + block->ctaid[0] * sizeof kWord, &kWord, sizeof kWord);
}

ptx2cpu_kernel MakeKernel(ptx2cpu_block_function function) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = "store";
  kernel.run_block = function;
  kernel.parameter_bytes = 8;
  kernel.slot_bytes_per_thread = 16;
  return kernel;
}

// Returns other code at the `turn`th call.
class Later final : public LaterCode {
 public:
  Later(const ptx2cpu_kernel& first, const ptx2cpu_kernel& later, uint32_t turn)
      : first_(first), later_(later), turn_(turn) {}
  const ptx2cpu_kernel* Newest(int64_t nanoseconds) override {
    CHECK(nanoseconds >= 0);
    return ++asked_ >= turn_ ? &later_ : &first_;
  }
  void AddTime(int64_t) override {}
  uint32_t asked() const { return asked_; }

 private:
  const ptx2cpu_kernel &first_, &later_;
  const uint32_t turn_;
  std::atomic<uint32_t> asked_ = 0;
};

// For a grid on one worker, the number of blocks that ran the first code; the blocks after them ran the
// other.
size_t BlocksBefore(const ptx2cpu_kernel& first, const ptx2cpu_kernel& later, uint32_t turn,
                    size_t misalignment = 0) {
  constexpr uint32_t kBlocks = 20000;
  std::vector<uint32_t> words(kBlocks + 1);
  auto* at = reinterpret_cast<std::byte*>(words.data()) + misalignment;
  Later source(first, later, turn);
  LaunchOptions options;
  options.max_workers = 1;
  options.later = &source;
  const auto error = Launch(first, {{kBlocks, 1, 1}, {32, 1, 1}},
                            std::as_bytes(std::span<std::byte* const, 1>(&at, 1)), options);
  REQUIRE_FALSE(error);
  size_t before = 0;
  const auto word = [&](size_t n) {
    uint32_t value;
    std::memcpy(&value, at + 4 * n, sizeof value);
    return value;
  };
  while (before < kBlocks && word(before) == 1) ++before;
  for (size_t n = before; n < kBlocks; ++n) REQUIRE(word(n) == 2);
  return before;
}

}  // namespace

TEST_CASE("blocks that have not begun run the code that came meanwhile") {
  const ptx2cpu_kernel first = MakeKernel(StoreValue<1>), later = MakeKernel(StoreValue<2>);
  CHECK(BlocksBefore(first, later, 1) == 1);
  // Pieces grow with the measured speed of blocks: two may be the whole grid, and then nothing asks a third
  // time.
  bool changed = false;
  for (int run = 0; run < 100 && !changed; ++run) {
    const size_t third = BlocksBefore(first, later, 3);
    CHECK(third >= 3);
    changed = third < 20000;
  }
  CHECK(changed);
  CHECK(BlocksBefore(first, later, ~0u) == 20000);
}

// After each piece of the grid the launch asks for other code.
TEST_CASE("a worker that no other helps takes the grid in few pieces") {
  constexpr uint32_t kBlocks = 2000;
  const ptx2cpu_kernel kernel = MakeKernel(StoreValue<1>);
  std::vector<uint32_t> words(kBlocks);
  const auto* at = reinterpret_cast<const std::byte*>(words.data());
  uint32_t fewest = ~0u;
  for (int turn = 0; turn < 50; ++turn) {  // other work delays some
    Later source(kernel, kernel, 1);
    LaunchOptions options;
    options.max_workers = 1;
    options.later = &source;
    REQUIRE_FALSE(Launch(kernel, {{kBlocks, 1, 1}, {32, 1, 1}},
                         std::as_bytes(std::span<const std::byte* const, 1>(&at, 1)), options));
    fewest = std::min(fewest, source.asked());
  }
  CHECK(fewest <= 8);
  CHECK(std::ranges::count(words, 1u) == kBlocks);
}

TEST_CASE("code whose blocks need other memory does not replace that of a launch") {
  const ptx2cpu_kernel first = MakeKernel(StoreValue<1>);
  std::vector<ptx2cpu_kernel> others(7, MakeKernel(StoreValue<2>));
  others[0].slot_bytes_per_thread = 20;
  others[1].static_shared_bytes = 4;
  others[2].flags = PTX2CPU_KERNEL_HAS_EARLY_EXIT;
  others[3].local_bytes = 16;
  others[4].slot_bytes_per_block = 64;
  others[5].run_step = [](ptx2cpu_block*, uint32_t, uint32_t) {};
  others[6].slot_count = 1;
  for (const ptx2cpu_kernel& later : others) CHECK(BlocksBefore(first, later, 1) == 20000);
}

TEST_CASE("code that assumes aligned parameters replaces other code only where they are") {
  const ptx2cpu_kernel first = MakeKernel(StoreValue<1>);
  ptx2cpu_kernel later = MakeKernel(StoreValue<2>);
  const ptx2cpu_alignment words = {.offset = 0, .addend = 0, .mask = 3, .unused = {}};
  later.alignments = &words;
  later.alignment_count = 1;
  CHECK(BlocksBefore(first, later, 1) == 1);
  CHECK(BlocksBefore(first, later, 1, 2) == 20000);
}

namespace {

// As generated code has it: an atomic of `form` on the word, in the block's table, or at once where the word
// has no entry yet.
template <uint32_t form>
void Defer(ptx2cpu_block* block, uint32_t word, void (*combine)(uint32_t& waiting, uint32_t operand),
           uint32_t operand) {
  uint32_t* words;
  std::memcpy(&words, block->params, sizeof words);
  auto* table = reinterpret_cast<ptx2cpu_deferred*>(block->slots);
  REQUIRE(table->head.prepared == PTX2CPU_DEFERRED_PREPARED);
  const auto address = reinterpret_cast<uint64_t>(words + word);
  ptx2cpu_deferred_entry& entry = table->entries[(address >> 2) % PTX2CPU_DEFERRED_ENTRIES];
  if (entry.address != address) {
    combine(words[word], operand);
    return table->head.enter(&table->head, address, form);
  }
  uint32_t waiting = static_cast<uint32_t>(entry.value);
  combine(waiting, operand);
  std::memcpy(&entry.value, &waiting, sizeof waiting);
}

void CountBlock(ptx2cpu_block* block) {
  uint32_t* words;
  std::memcpy(&words, block->params, sizeof words);
  words[2 + block->ctaid[0]] = 1;
  Defer<PTX2CPU_DEFERRED_ADD>(block, 0, [](uint32_t& waiting, uint32_t one) { waiting += one; }, 1);
}
void TakeGreatest(ptx2cpu_block* block) {
  Defer<PTX2CPU_DEFERRED_MAX_U>(
      block, 1, [](uint32_t& waiting, uint32_t number) { waiting = std::max(waiting, number); },
      block->ctaid[0]);
}

constexpr uint32_t kBlocksUntilGone = 20000;
constexpr size_t kPage = 4096;
void Nothing(ptx2cpu_block*) {}
// In code with x and y exchanged. The last block takes the memory away for which atomics wait.
void TakeGreatestUntilGone(ptx2cpu_block* block) {
  Defer<PTX2CPU_DEFERRED_MAX_U>(
      block, 1, [](uint32_t& waiting, uint32_t number) { waiting = std::max(waiting, number); },
      block->ctaid[1]);
  std::byte* words;
  std::memcpy(&words, block->params, sizeof words);
  if (block->ctaid[1] == kBlocksUntilGone - 1) mprotect(words, kPage, PROT_NONE);
}

}  // namespace

TEST_CASE("atomics that wait in code with other axes may fault when they go to memory") {
  ptx2cpu_kernel first = MakeKernel(Nothing);
  first.flags = PTX2CPU_KERNEL_DEFERS_ATOMICS;
  first.slot_bytes_per_block = sizeof(ptx2cpu_deferred);
  ptx2cpu_kernel later = first;
  later.run_block = TakeGreatestUntilGone;
  later.flags |= PTX2CPU_KERNEL_SWAPS_AXES;
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  const auto* at = static_cast<const std::byte*>(page);
  Later source(first, later, 1);
  LaunchOptions options;
  options.max_workers = 1;
  options.later = &source;
  const auto error = Launch(first, {{kBlocksUntilGone, 1, 1}, {32, 1, 1}},
                            std::as_bytes(std::span<const std::byte* const, 1>(&at, 1)), options);
  munmap(page, kPage);
  REQUIRE(error);
  CHECK(error->kind == LaunchError::Kind::kFault);
}

TEST_CASE("atomics that wait when other code takes over are those of the code before") {
  ptx2cpu_kernel first = MakeKernel(CountBlock);
  first.flags = PTX2CPU_KERNEL_DEFERS_ATOMICS;
  first.slot_bytes_per_block = sizeof(ptx2cpu_deferred);
  ptx2cpu_kernel later = first;
  later.run_block = TakeGreatest;
  constexpr uint32_t kBlocks = 20000;
  // How many blocks ran the first code.
  const auto count = [&](uint32_t turn) {
    std::vector<uint32_t> words(2 + kBlocks);
    words[0] = 1000;
    const auto* at = reinterpret_cast<const std::byte*>(words.data());
    Later source(first, later, turn);
    LaunchOptions options;
    options.max_workers = 1;
    options.later = &source;
    REQUIRE_FALSE(Launch(first, {{kBlocks, 1, 1}, {32, 1, 1}},
                         std::as_bytes(std::span<const std::byte* const, 1>(&at, 1)), options));
    const auto ran_first = static_cast<uint32_t>(std::count(words.begin() + 2, words.end(), 1u));
    CHECK(words[0] == 1000 + ran_first);
    CHECK(words[1] == (ran_first < kBlocks ? kBlocks - 1 : 0));
    return ran_first;
  };
  CHECK(count(1) == 1);
  // The first two of a word do not wait. The second piece may be small, or the rest of the grid, as above.
  uint32_t before = kBlocks;
  for (int run = 0; run < 100 && (before < 4 || before == kBlocks); ++run) before = count(2);
  CHECK(before >= 4);
  CHECK(before < kBlocks);
}
