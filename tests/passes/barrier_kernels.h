// Kernels for the passes about barriers: a body after one prologue, with the convention of
// kernel_run.h. Blocks are lines of threads unless a test states otherwise.
#pragma once

#include <string>

#include "tests/passes/kernel_run.h"

namespace ptx2cpu::test {

// %mine: the thread's word of data, %mate: its neighbour's; %slot, %next: the same in the shared array @tile.
inline const std::string kBarrierPrologue = R"(module "barriers" ptx 8.0 sm 80 static_shared 16384
variable shared @tile align 8 size 8192 offset 0
variable shared @other align 8 size 8192 offset 8192

function @callee () phase simt {
^b0:
  ret
}

kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %tid = special i32 tid.x
  %ntid = special i32 ntid.x
  %cta = special i32 ctaid.x
  %first = mul i32 %cta, %ntid
  %gid = add i32 %first, %tid
  %gid64 = zext i64 from i32 %gid
  %zero = const i32 0x0
  %one = const i32 0x1
  %two = const i32 0x2
  %three = const i32 0x3
  %full = const i32 0xffffffff
  %four64 = const i64 0x4
  %goff = shl i64 %gid64, %two
  %mine = add i64 %data, %goff
  %tile = symbol shared @tile
  %other = symbol shared @other
  %tid64 = zext i64 from i32 %tid
  %toff = shl i64 %tid64, %two
  %slot = add i64 %tile, %toff
  %t1 = add i32 %tid, %one
  %t2 = rem_u i32 %t1, %ntid
  %t3 = zext i64 from i32 %t2
  %noff = shl i64 %t3, %two
  %next = add i64 %tile, %noff
  %g1 = add i32 %first, %t2
  %g2 = zext i64 from i32 %g1
  %g3 = shl i64 %g2, %two
  %mate = add i64 %data, %g3
  %v = load i32 global %mine {nc}
)";

struct BarrierKernel {
  const char* name;
  std::string body;       // after the prologue, to the end of the kernel without its brace
  uint32_t barriers = 0;  // that are left, or whatever the test counts
};

ir::Module BarrierModule(const std::string& body);

template <typename Predicate>
uint32_t CountInstructions(const ir::Function& f, Predicate&& counts) {
  uint32_t count = 0;
  for (const ir::Block& block : f.blocks) {
    for (ir::InstId id : block.insts) count += counts(f.at_inst(id));
  }
  return count;
}

uint32_t CountBarriers(const ir::Module& module);

constexpr analysis::LaunchShape kLineOfThreads{0, 1, 1};

// After the pipeline up to `pass`; "" runs all of it.
ir::Module AfterInShape(const ir::Module& module, const std::string& pass,
                        std::optional<analysis::LaunchShape> shape = kLineOfThreads);

// Memory after `after` is that after `before`, for blocks of several sizes.
void CheckSameMemory(const ir::Module& before, const ir::Module& after);

}  // namespace ptx2cpu::test
