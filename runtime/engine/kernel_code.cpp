// The forms of one kernel's code: for any block shape, and for those that it is launched with.
#include <memory>
#include <utility>

#include "runtime/abi/launch_shape.h"
#include "runtime/abi/limits.h"
#include "runtime/engine/kernel_module.h"

namespace ptx2cpu::rt {

struct KernelCode::Special {
  Dim3 block;  // 0, 0, 0: any
  bool notes;  // misaligned accesses, whatever the parameters are
  Special* next;
  CodeSlot slot = {};                  // no code: that for any block is as good, or it is not ready
  std::atomic<uint32_t> launches = 0;  // until it is compiled in the background
};

namespace {

constexpr size_t kMaxSpecials = 16;   // beyond: the code for any shape
constexpr size_t kMaxHot = 4;         // the same for code that is compiled in the background
constexpr size_t kMaxFirst = 2;       // that many shapes are compiled before code for any shape is
constexpr uint32_t kHotLaunches = 3;  // of one shape

// A description of the kernel without that of the shape; it has no code to run.
ptx2cpu_kernel DescriptionFrom(ptx2cpu_kernel special) {
  special.run_block = nullptr;
  special.run_step = nullptr;
  for (uint32_t& extent : special.required_threads) extent = 0;
  return special;
}

}  // namespace

KernelCode::KernelCode(KernelModule& module, std::string name) : module_(module), name_(std::move(name)) {}

KernelCode::~KernelCode() {
  for (Special* node = specials_.load(); node != nullptr;) delete std::exchange(node, node->next);
}

// Code for one shape is a third of that for any, and faster: most kernels are launched with one shape only.
Status KernelCode::Begin(const Wanted& wanted) {
  const auto& block = wanted.block;
  if (block && IsLegalBlock(*block) && module_.BeginsWith(name_, *block, wanted.many_blocks)) {
    auto special = std::unique_ptr<Special>(new Special{*block, false, nullptr});
    const auto provided = module_.Provide(name_, wanted, special->slot);
    const ptx2cpu_kernel* code = special->slot.code.load();
    specials_.store(special.release());
    ++special_count_;
    if (provided && code != nullptr) {
      description_ = DescriptionFrom(*code);
      from_cache_ = *provided;
      return {};
    }
  }
  from_cache_ = TRY(module_.Provide(name_, {.many_blocks = wanted.many_blocks, .stop = wanted.stop}, any_));
  return {};
}

Result<const ptx2cpu_kernel*> KernelCode::ForAnyShape(bool many_blocks) const {
  std::lock_guard lock(mutex_);
  if (any_.code.load(std::memory_order_acquire) == nullptr)
    static_cast<void>(TRY(module_.Provide(name_, {.many_blocks = many_blocks}, any_)));
  return any_.code.load(std::memory_order_acquire);
}

KernelCode::Special* KernelCode::FindSpecial(Dim3 block, bool notes) const {
  Special* node = specials_.load(std::memory_order_acquire);
  while (node != nullptr && (node->block.x != block.x || node->block.y != block.y ||
                             node->block.z != block.z || node->notes != notes))
    node = node->next;
  return node;
}

// Null: there are `most` of them.
Result<const KernelCode::Special*> KernelCode::MakeSpecial(const Wanted& wanted, size_t most) const {
  const bool any = !wanted.block, notes = wanted.notes;
  const Dim3 block = wanted.block.value_or(Dim3{0, 0, 0});
  if (const Special* found = FindSpecial(block, notes)) return found;
  std::lock_guard lock(mutex_);
  if (const Special* found = FindSpecial(block, notes)) return found;
  if (!any && special_count_ >= most) return nullptr;
  auto special = std::unique_ptr<Special>(new Special{block, notes, specials_.load()});
  // Where code for the shape cannot be made, that is our own fault: there is code for any shape. It stays
  // with that.
  const auto provided = module_.Provide(name_, wanted, special->slot);
  if (!provided && any) return Fail(provided.error());
  specials_.store(special.get(), std::memory_order_release);
  if (!any) ++special_count_;
  return special.release();
}

Result<const ptx2cpu_kernel*> KernelCode::ForBlock(Dim3 block, uint64_t blocks) const {
  const bool many_blocks = KernelModule::AreMany(blocks);
  const ptx2cpu_kernel* code = TRY(Choose(block, many_blocks));
  BetterCode* better = BetterThan(code, block);
  if (better == nullptr) return code;
  if (!better->IsDue() && (many_blocks || !better->for_many_blocks())) return code;
  better->Obtain();
  return Choose(block, many_blocks);
}

// The better code that replaces this one; null: this is the best. For the best that blocks of any shape have,
// it is that of this shape, once that is compiled.
BetterCode* KernelCode::BetterThan(const ptx2cpu_kernel* code, std::optional<Dim3> block) const {
  const auto replaces = [code](const CodeSlot& slot) {
    return slot.code.load(std::memory_order_acquire) == code && slot.better != nullptr &&
           !slot.better->is_over();
  };
  if (replaces(any_)) return any_.better.get();
  for (const Special* node = specials_.load(std::memory_order_acquire); node != nullptr; node = node->next) {
    if (replaces(node->slot)) return node->slot.better.get();
  }
  if (!block || any_.code.load(std::memory_order_acquire) != code) return nullptr;
  const Special* special = FindSpecial(*block, false);
  const bool is_awaited = special != nullptr && special->slot.better != nullptr &&
                          special->launches.load(std::memory_order_relaxed) >= kHotLaunches &&
                          !special->slot.better->is_over();
  return is_awaited ? special->slot.better.get() : nullptr;
}

Result<const ptx2cpu_kernel*> KernelCode::Choose(Dim3 block, bool many_blocks) const {
  const ptx2cpu_kernel* any = any_.code.load(std::memory_order_acquire);
  if (any == nullptr) {
    if (IsLegalBlock(block)) {
      const Special* special = TRY(MakeSpecial({block, false, many_blocks}, kMaxFirst));
      const ptx2cpu_kernel* code =
          special == nullptr ? nullptr : special->slot.code.load(std::memory_order_acquire);
      if (code != nullptr) return code;
    }
    any = TRY(ForAnyShape(many_blocks));
  }
  return Choose(block, any, false);
}

Result<const ptx2cpu_kernel*> KernelCode::Choose(Dim3 block, const ptx2cpu_kernel* any, bool notes) const {
  const bool by_blocks = (any->flags & PTX2CPU_KERNEL_RESUMES_BLOCKS) != 0;
  if (any->run_step == nullptr || by_blocks) return notes ? any : WhenHot(block, any);
  if (!notes && any_.serves_all_shapes) return any;
  const Special* special = TRY(MakeSpecial({block, notes}, kMaxSpecials));
  const ptx2cpu_kernel* code =
      special == nullptr ? nullptr : special->slot.code.load(std::memory_order_acquire);
  return code == nullptr ? any : code;
}

const ptx2cpu_kernel* KernelCode::WhenHot(Dim3 block, const ptx2cpu_kernel* any) const {
  if (any->required_threads[0] != 0) return any;
  Special* special = FindSpecial(block, false);
  if (special == nullptr) {
    std::lock_guard lock(mutex_);
    special = FindSpecial(block, false);
    if (special == nullptr) {
      if (special_count_ >= kMaxHot) return any;
      special = new Special{block, false, specials_.load()};
      module_.PrepareShape(name_, block, special->slot);
      ++special_count_;
      specials_.store(special, std::memory_order_release);
    }
  }
  if (const ptx2cpu_kernel* code = special->slot.code.load(std::memory_order_acquire)) return code;
  if (special->launches.load(std::memory_order_relaxed) < kHotLaunches &&
      special->launches.fetch_add(1, std::memory_order_relaxed) + 1 == kHotLaunches)
    module_.BeginShape(special->slot);
  return any;
}

Result<const ptx2cpu_kernel*> KernelCode::Noting(Dim3 block) const {
  const Special* any = TRY(MakeSpecial({.notes = true}, kMaxSpecials));
  return Choose(block, any->slot.code.load(std::memory_order_acquire), true);
}

}  // namespace ptx2cpu::rt
