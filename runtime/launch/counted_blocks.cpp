#include "runtime/launch/counted_blocks.h"

#include <utility>

#include "runtime/profile/profile.h"

namespace ptx2cpu::rt {

CountedBlocks::~CountedBlocks() {
  if (place_ == nullptr) return;
  if (place_->deferred) place_->deferred->Finish();
  profile::AddCounted(job_.kernel(), nanoseconds_);
}

bool CountedBlocks::Run(uint64_t index, LandingPoint& landing) {
  const uint64_t begin = profile::Now();
  if (place_ == nullptr) {
    place_ = std::make_unique<Place>();
    if (!job_.FillBlock(place_->block, place_->memory, arena_, worker_, 1, code_)) return false;
    place_->deferred.emplace(*code_, place_->block);
  }
  ptx2cpu_block& block = place_->block;
  const Dim3 grid = job_.shape().grid;
  block.ctaid[0] = static_cast<uint32_t>(index % grid.x);
  block.ctaid[1] = static_cast<uint32_t>(index / grid.x % grid.y);
  block.ctaid[2] = static_cast<uint32_t>(index / grid.x / grid.y);
  InitialiseLiveMasks(block);
  if ((code_->flags & PTX2CPU_KERNEL_HAS_TENSOR_MEMORY) != 0) ClearTensorAllocator(block);
  ptx2cpu_block* const outer = std::exchange(landing.block, &block);
  code_->run_block(&block);
  landing.block = outer;
  nanoseconds_ += profile::Now() - begin;
  return true;
}

}  // namespace ptx2cpu::rt
