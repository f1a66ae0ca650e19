// Finds loops that the emitter makes wide vectors of (lowering/llvm/lanes/lane_width.h) if they stay inside
// the loop over threads: the values that they carry stay in registers, and a trip walks over hundreds of
// neighbouring elements.
#pragma once

#include "analysis/values/uniformity.h"
#include "lowering/passes/thread_loop.h"

namespace ptx2cpu::lowering {

// One block of few simple operations, whose threads access neighbouring elements. `carried`: how many values
// it hands on that are no inductions.
bool IsLight(const ir::Function& f, const ThreadLoop& loop, const analysis::UniformityResult& uniformity,
             size_t carried);

// Whether passes may put barriers where, by the graph, all threads of a block come. Not where warps or lanes
// suspend, nor where threads wait in a loop without a boundary: they do not come to what follows with the
// others.
bool MayPutBarriers(const ir::Function& f);

// Puts barriers around the loop, so that it is a region of its own, where other code would be wide with it or
// warps would run it one by one.
void GiveOwnRegion(ir::Function& f, const ThreadLoop& loop);

// A barrier before the block's end, alone in a block. All threads come there.
void PutBarrier(ir::Function& f, ir::BlockId block);

}  // namespace ptx2cpu::lowering
