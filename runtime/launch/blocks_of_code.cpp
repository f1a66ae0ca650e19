#include "runtime/launch/blocks_of_code.h"

#include <utility>

#include "runtime/launch/swapped_axes.h"

namespace ptx2cpu::rt {

BlocksOfCode::~BlocksOfCode() {
  if (place_ != nullptr && turned_) job_.ForgetTurned(place_->block);
}

void BlocksOfCode::Finish(LandingPoint& landing) {
  if (place_ == nullptr || !place_->deferred) return;
  ptx2cpu_block* const outer = std::exchange(landing.block, &place_->block);
  place_->deferred->Finish();
  landing.block = outer;
}

bool BlocksOfCode::MakePlace(const ptx2cpu_kernel& code) {
  place_ = std::make_unique<Place>();
  if (!job_.FillBlock(place_->block, place_->memory, place_->ids, worker_, 1, &code)) return false;
  place_->deferred.emplace(code, place_->block);
  turned_ = SwapsAxes(code) != SwapsAxes(job_.kernel());
  if (turned_) job_.AddTurned(place_->block);
  return true;
}

bool BlocksOfCode::Run(const ptx2cpu_kernel& code, uint64_t first, uint64_t count, LandingPoint& landing) {
  if (place_ == nullptr && !MakePlace(code)) return false;
  ptx2cpu_block& block = place_->block;
  const Dim3 grid = job_.shape().grid;
  ptx2cpu_block* const outer = std::exchange(landing.block, &block);
  for (uint64_t index = first; index != first + count; ++index) {
    block.ctaid[0] = static_cast<uint32_t>(index % grid.x);
    block.ctaid[1] = static_cast<uint32_t>(index / grid.x % grid.y);
    block.ctaid[2] = static_cast<uint32_t>(index / grid.x / grid.y);
    if (turned_) std::swap(block.ctaid[0], block.ctaid[1]);
    InitialiseLiveMasks(block);
    if ((code.flags & PTX2CPU_KERNEL_HAS_TENSOR_MEMORY) != 0) ClearTensorAllocator(block);
    code.run_block(&block);
  }
  landing.block = outer;
  return true;
}

}  // namespace ptx2cpu::rt
