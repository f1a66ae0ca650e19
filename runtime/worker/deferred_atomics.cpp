#include "runtime/worker/deferred_atomics.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <span>
#include <type_traits>

#include "runtime/abi/block_order.h"
#include "runtime/abi/joined_blocks.h"
#include "runtime/abi/lone_launches.h"
#include "runtime/abi/swapped_axes.h"

namespace ptx2cpu::rt {

namespace {

static_assert((PTX2CPU_KERNEL_HAS_EARLY_EXIT ^ PTX2CPU_KERNEL_RESUMES_BLOCKS ^ PTX2CPU_KERNEL_DEFERS_ATOMICS ^
               PTX2CPU_KERNEL_HAS_TENSOR_MEMORY ^ PTX2CPU_KERNEL_LOGS_ATOMICS ^ PTX2CPU_KERNEL_JOINS_BLOCKS ^
               PTX2CPU_KERNEL_JOINS_LONG_ROWS ^ PTX2CPU_KERNEL_ORDER_MATTERS ^ PTX2CPU_KERNEL_SWAPS_AXES ^
               PTX2CPU_KERNEL_MAY_RUN_ALONE) == 2943,
              "each flag of kernels is a bit of its own");

template <typename Word, typename Combine>
void Replace(std::atomic_ref<Word> word, Combine combine) {
  Word old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, combine(old), std::memory_order_relaxed)) {
  }
}

constexpr auto kRelaxed = std::memory_order_relaxed;

// Combines memory with a value: by an instruction where processors have one, else by a loop.
template <typename Word>
struct Operation {
  ptx2cpu_deferred_form form;
  Word neutral;  // changes nothing
  Word (*combined)(Word old, Word value);
  void (*combine)(std::atomic_ref<Word> word, Word value);
};

template <typename Word, Word (*combined)(Word, Word)>
void InLoop(std::atomic_ref<Word> word, Word value) {
  Replace(word, [value](Word old) { return combined(old, value); });
}
template <typename Word>
Word Least(Word a, Word b) {
  return std::min(a, b);
}
template <typename Word>
Word Greatest(Word a, Word b) {
  return std::max(a, b);
}
template <typename Word>
Word LeastSigned(Word a, Word b) {
  using Signed = std::make_signed_t<Word>;
  return static_cast<Signed>(a) < static_cast<Signed>(b) ? a : b;
}
template <typename Word>
Word GreatestSigned(Word a, Word b) {
  using Signed = std::make_signed_t<Word>;
  return static_cast<Signed>(a) < static_cast<Signed>(b) ? b : a;
}

template <typename Word>
constexpr Word kAllOnes = std::numeric_limits<Word>::max();

// By form.
template <typename Word>
constexpr Operation<Word> kOperations[] = {
    {PTX2CPU_DEFERRED_ADD, 0, [](Word a, Word b) -> Word { return a + b; },
     [](std::atomic_ref<Word> word, Word value) { word.fetch_add(value, kRelaxed); }},
    {PTX2CPU_DEFERRED_AND, kAllOnes<Word>, [](Word a, Word b) -> Word { return a & b; },
     [](std::atomic_ref<Word> word, Word value) { word.fetch_and(value, kRelaxed); }},
    {PTX2CPU_DEFERRED_OR, 0, [](Word a, Word b) -> Word { return a | b; },
     [](std::atomic_ref<Word> word, Word value) { word.fetch_or(value, kRelaxed); }},
    {PTX2CPU_DEFERRED_XOR, 0, [](Word a, Word b) -> Word { return a ^ b; },
     [](std::atomic_ref<Word> word, Word value) { word.fetch_xor(value, kRelaxed); }},
    {PTX2CPU_DEFERRED_MIN_S, kAllOnes<Word> / 2, LeastSigned<Word>, InLoop<Word, LeastSigned<Word>>},
    {PTX2CPU_DEFERRED_MIN_U, kAllOnes<Word>, Least<Word>, InLoop<Word, Least<Word>>},
    {PTX2CPU_DEFERRED_MAX_S, kAllOnes<Word> / 2 + 1, GreatestSigned<Word>,
     InLoop<Word, GreatestSigned<Word>>},
    {PTX2CPU_DEFERRED_MAX_U, 0, Greatest<Word>, InLoop<Word, Greatest<Word>>},
};
template <typename Word>
constexpr bool kAreInOrder = [] {
  for (size_t n = 0; n < std::size(kOperations<Word>); ++n) {
    if (kOperations<Word>[n].form != n) return false;
  }
  return true;
}();
static_assert(kAreInOrder<uint32_t> && kAreInOrder<uint64_t>);

template <typename Word>
const Operation<Word>& OperationOf(uint32_t form) {
  return kOperations<Word>[form & (PTX2CPU_DEFERRED_64 - 1)];
}
bool IsWide(uint32_t form) { return (form & PTX2CPU_DEFERRED_64) != 0; }

// The neutral operand of a form; for 32-bit words in the low half.
uint64_t Neutral(uint32_t form) {
  return IsWide(form) ? OperationOf<uint64_t>(form).neutral : OperationOf<uint32_t>(form).neutral;
}

template <typename Word>
void CombineInMemory(const ptx2cpu_deferred_entry& entry, uint32_t form) {
  OperationOf<Word>(form).combine(std::atomic_ref<Word>(*reinterpret_cast<Word*>(entry.address)),
                                  static_cast<Word>(entry.value));
}

void Apply(const ptx2cpu_deferred_entry& entry, uint32_t form) {
  if (entry.address == 0 || entry.value == Neutral(form)) return;
  IsWide(form) ? CombineInMemory<uint64_t>(entry, form) : CombineInMemory<uint32_t>(entry, form);
}

// -- the window --

constexpr uint64_t kLine = 64, kPage = 4096;
static_assert(PTX2CPU_WINDOW_BYTES % kLine == 0 && sizeof(ptx2cpu_deferred) % kLine == 0);

uint64_t BytesOf(uint32_t form) { return IsWide(form) ? 8 : 4; }

uint8_t* InWindow(ptx2cpu_deferred& table, uint64_t address) {
  return reinterpret_cast<uint8_t*>(address + table.window_shift);
}

// Fills the words of [from, to) with neutral operands.
void Fill(ptx2cpu_deferred& table, uint64_t from, uint64_t to, uint32_t form) {
  const uint64_t bytes = BytesOf(form), neutral = Neutral(form);
  for (uint64_t address = from; address < to; address += bytes)
    std::memcpy(InWindow(table, address), &neutral, bytes);
}

// Widens the range, which begins in the middle of the window, by the line of the address, which has been
// written to. False: the address is in the range, or too far from it. Every page in the range has been
// written to, so that applying waiting values there cannot fault.
bool Widen(ptx2cpu_deferred& table, uint64_t address, uint32_t form) {
  const uint64_t line = address / kLine * kLine;
  if (table.window_last < 0) {
    table.window_shift = reinterpret_cast<uint64_t>(table.window + PTX2CPU_WINDOW_BYTES / 2) - line;
    Fill(table, line, line + kLine, form);
    table.window_first = line, table.window_last = static_cast<int64_t>(kLine - BytesOf(form));
    return true;
  }
  const uint64_t first = table.window_first,
                 end = first + static_cast<uint64_t>(table.window_last) + BytesOf(form);
  const bool below = line < first;
  const uint64_t gap = below ? first / kPage - line / kPage : line / kPage - (end - 1) / kPage;
  const uint64_t bytes = below ? end - line : line + kLine - first;
  const uint64_t place = line + table.window_shift - reinterpret_cast<uint64_t>(table.window);
  if ((!below && line < end) || gap > 1 || place > PTX2CPU_WINDOW_BYTES - kLine) return false;
  below ? Fill(table, line, first, form) : Fill(table, end, line + kLine, form);
  if (below) table.window_first = line;
  table.window_last = static_cast<int64_t>(bytes - BytesOf(form));
  return true;
}

void ApplyWindow(ptx2cpu_deferred& table) {
  const uint32_t form = table.head.form;
  for (int64_t at = 0; at <= table.window_last; at += static_cast<int64_t>(BytesOf(form))) {
    ptx2cpu_deferred_entry entry{table.window_first + static_cast<uint64_t>(at), 0};
    std::memcpy(&entry.value, InWindow(table, entry.address), BytesOf(form));
    Apply(entry, form);
  }
}

// Neither entries nor their bounds.
void Clear(ptx2cpu_deferred& table) {
  table.window_last = -1;
  for (uint32_t i = 0; i < table.head.count; ++i) table.entries[table.used[i]] = {};
  table.head.lowest = ~uint64_t{0}, table.head.end = 0;
  table.head.count = 0;
}

ptx2cpu_deferred& TableOf(ptx2cpu_deferred_head* head) { return *reinterpret_cast<ptx2cpu_deferred*>(head); }

void ApplyAll(ptx2cpu_deferred_head* head) {
  ptx2cpu_deferred& table = TableOf(head);
  for (uint32_t i = 0; i < head->count; ++i) Apply(table.entries[table.used[i]], head->form);
  ApplyWindow(table);
  Clear(table);
}

// Extends the bounds of the waiting words by one more word.
void Include(ptx2cpu_deferred_head& head, uint64_t address, uint32_t form, uint64_t bytes) {
  head.lowest = std::min(head.lowest, address);
  head.end = std::max(head.end, address + bytes);
  head.form = form;
}

void Pay(ptx2cpu_deferred_head& head, int64_t credit) {
  head.credit -= credit;
  if (head.credit < 0) head.credit = PTX2CPU_DEFERRED_PENALTY;
}

void Enter(ptx2cpu_deferred_head* head, uint64_t address, uint32_t form) {
  ptx2cpu_deferred& table = TableOf(head);
  if (Widen(table, address, form)) {
    Pay(*head, 1);  // what is found in the window earns none
    return Include(*head, table.window_first, form, static_cast<uint64_t>(table.window_last) + BytesOf(form));
  }
  Pay(*head, PTX2CPU_DEFERRED_MISS);
  const auto number = static_cast<uint16_t>((address >> 2) % PTX2CPU_DEFERRED_ENTRIES);
  ptx2cpu_deferred_entry& entry = table.entries[number];
  if (entry.address == 0)
    table.used[head->count++] = number;
  else
    Apply(entry, form);
  entry = {address, Neutral(form)};
  Include(*head, address, form, BytesOf(form));
}

// -- the log --

template <typename Word>
constexpr Word kSign = Word{1} << (sizeof(Word) * 8 - 1);
template <typename Word, typename Float>
constexpr Word kLeastNormal = std::bit_cast<Word>(std::numeric_limits<Float>::min());

template <typename Word, typename Float>
bool IsSubnormal(Word word) {
  return (word & ~kSign<Word>)-1 < kLeastNormal<Word, Float> - 1;
}
template <typename Word, typename Float>
Word Flushed(Word word) {
  return IsSubnormal<Word, Float>(word) ? word & kSign<Word> : word;
}

template <typename Word, typename Float>
Word Added(Word old, Word operand) {
  return std::bit_cast<Word>(std::bit_cast<Float>(old) + std::bit_cast<Float>(operand));
}

using LogRun = std::span<const ptx2cpu_deferred_entry>;

// Each addition depends on the previous one only: a separate test finds subnormal numbers, which are rare,
// and the sum is repeated where some of them must be zero.
template <typename Word, typename Float>
Word AddedInOrder(Word first, LogRun run, bool flush) {
  Word word = first;
  bool subnormal = IsSubnormal<Word, Float>(word);
  for (const ptx2cpu_deferred_entry& entry : run) {
    const auto operand = static_cast<Word>(entry.value);
    word = Added<Word, Float>(word, operand);
    subnormal |= IsSubnormal<Word, Float>(operand);
    subnormal |= IsSubnormal<Word, Float>(word);
  }
  if (!flush || !subnormal) return word;
  word = Flushed<Word, Float>(first);
  for (const ptx2cpu_deferred_entry& entry : run) {
    const Word operand = Flushed<Word, Float>(static_cast<Word>(entry.value));
    word = Flushed<Word, Float>(Added<Word, Float>(word, operand));
  }
  return word;
}

// Applies consecutive entries of one word in one step.
template <typename Word, typename Float>
void ApplyRun(LogRun run, uint32_t form) {
  Replace(std::atomic_ref<Word>(*reinterpret_cast<Word*>(run.front().address)), [&](Word word) {
    if ((form & PTX2CPU_DEFERRED_FADD) != 0)
      return AddedInOrder<Word, Float>(word, run, (form & PTX2CPU_DEFERRED_FLUSH) != 0);
    for (const ptx2cpu_deferred_entry& entry : run)
      word = OperationOf<Word>(form).combined(word, static_cast<Word>(entry.value));
    return word;
  });
}

ptx2cpu_atomic_log& LogOf(ptx2cpu_deferred_head* head) {
  return *reinterpret_cast<ptx2cpu_atomic_log*>(head);
}

void ClearLog(ptx2cpu_deferred_head& head) { head.lowest = ~uint64_t{0}, head.end = 0, head.count = 0; }

void ApplyLog(ptx2cpu_deferred_head* head) {
  const LogRun entries(LogOf(head).entries, head->count);
  for (size_t begin = 0, end; begin < entries.size(); begin = end) {
    for (end = begin + 1; end < entries.size() && entries[end].address == entries[begin].address;) ++end;
    const auto run = entries.subspan(begin, end - begin);
    if (IsWide(head->form))
      ApplyRun<uint64_t, double>(run, head->form);
    else
      ApplyRun<uint32_t, float>(run, head->form);
  }
  ClearLog(*head);
}

void Admit(ptx2cpu_deferred_head* head, uint64_t address, uint32_t form) {
  Include(*head, address, form, BytesOf(form));
}

void Append(ptx2cpu_deferred_head* head, uint64_t address, uint32_t form, uint64_t value) {
  if (head->count == PTX2CPU_LOG_ENTRIES) ApplyLog(head);
  LogOf(head).entries[head->count++] = {address, value};
  Include(*head, address, form, BytesOf(form));
}

// The memory of a block's slots is not initialised.
ptx2cpu_deferred_head* Prepare(const ptx2cpu_kernel& kernel, const ptx2cpu_block& block) {
  if ((kernel.flags & PTX2CPU_KERNEL_LOGS_ATOMICS) != 0) {
    auto* head = new (block.slots) ptx2cpu_deferred_head{};
    ClearLog(*head);
    head->enter = Admit, head->apply = ApplyLog, head->append = Append;
    return head;
  }
  // Code of versions without a window has less memory, and applies all atomics at once.
  if ((kernel.flags & PTX2CPU_KERNEL_DEFERS_ATOMICS) == 0 ||
      kernel.slot_bytes_per_block < sizeof(ptx2cpu_deferred))
    return nullptr;
  auto* table = new (block.slots) ptx2cpu_deferred;
  table->head = {};
  std::ranges::fill(table->entries, ptx2cpu_deferred_entry{});
  Clear(*table);
  table->head.enter = Enter, table->head.apply = ApplyAll;
  return &table->head;
}

}  // namespace

DeferredAtomics::DeferredAtomics(const ptx2cpu_kernel& kernel, const ptx2cpu_block& block)
    : head_(Prepare(kernel, block)) {
  if (head_ == nullptr) return;
  head_->credit = PTX2CPU_DEFERRED_MAX_CREDIT;
  head_->prepared = PTX2CPU_DEFERRED_PREPARED;
}

DeferredAtomics::~DeferredAtomics() {
  if (head_ != nullptr) head_->prepared = 0;
}

void DeferredAtomics::Finish() {
  if (head_ != nullptr) head_->apply(head_);
}

}  // namespace ptx2cpu::rt
