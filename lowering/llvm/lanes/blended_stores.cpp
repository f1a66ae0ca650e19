// Stores of some lanes to shared memory, on machines whose masks are vectors of words:
//
//   if (tid < n) tile[tid] = v;   ->   where all of the vector is in the window: old = tile[0..W); tile[0..W)
//   = mask ? v : old
//                                      else a masked store
//
// No other thread of the host sees the block's shared memory, so that what the other lanes have there may be
// stored again. A masked store takes 20 cycles on Zen 4, a load, a blend and a store 2.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

// Stores of known lanes become plain stores of these (optimize/known_masks).
bool LaneAccesses::MayBlend(const ir::Inst& store, const Mask& mask) const {
  auto* chosen = llvm::dyn_cast<llvm::SelectInst>(mask.lanes);
  const bool is_known = llvm::isa<llvm::Constant>(mask.lanes) ||
                        (chosen != nullptr && llvm::isa<llvm::Constant>(chosen->getTrueValue()));
  return !IsAll(mask) && !is_known && !e.m.traits.has_avx512 && store.attrs.space == ir::Space::kShared &&
         e.private_shared && ElementCount(store) == 1 && ir::Bits(store.type) >= 8 &&
         e.m.options.Keeps(kBlendedStores);
}

// Whether all lanes' elements are in the window, also those of lanes that store none.
Value LaneAccesses::IsInWindow(const ir::Inst& store) {
  Value first = e.values.Shaped(store.operands[0]).first;
  if (first == nullptr) return b.getFalse();
  llvm::Type* wide = b.getInt64Ty();
  Value window =
      b.CreateZExt(e.body.Field(offsetof(ptx2cpu_block, window_bytes), b.getInt32Ty(), "window_bytes"), wide);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(store.type)) * width_;
  Value room = b.CreateSub(window, b.getInt64(bytes)), at = b.CreateZExt(first, wide);
  return b.CreateAnd(b.CreateICmpUGE(window, b.getInt64(bytes)), b.CreateICmpULE(at, room), "in_window");
}

void LaneAccesses::StoreBlended(const ir::Inst& store, const Mask& mask) {
  NoteMisaligned(store, mask, true);
  e.m.options.NoteChange(kBlendedStores);
  Memory memory;
  Value pointer = FirstPointer(store, &memory, 0), value = Vector(e.values.Get(store.operands[1]));
  auto* old = b.CreateAlignedLoad(value->getType(), pointer, AlignOf(store, 0), "blended");
  e.m.Annotate(old, memory);
  e.m.Annotate(b.CreateAlignedStore(b.CreateSelect(mask.lanes, value, old), pointer, AlignOf(store, 0)),
               memory);
}

}  // namespace ptx2cpu::lowering
