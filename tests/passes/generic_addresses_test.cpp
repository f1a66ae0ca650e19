// resolve-generic-addresses: what is computed from a window's address is an offset of it, and nothing else
// is.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

uint32_t Generic(const ir::Module& module) {
  return CountInstructions(module.functions.back(), [](const ir::Inst& inst) {
    const bool is_access = inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore ||
                           inst.op == ir::Opcode::kAtomic || inst.op == ir::Opcode::kAtomicCas;
    return inst.op == ir::Opcode::kFromGeneric || (is_access && inst.attrs.space == ir::Space::kGeneric);
  });
}

// How many generic accesses and conversions are left.
uint32_t Left(const std::string& body) {
  const ir::Module module = BarrierModule(body), after = AfterInShape(module, "simplify");
  CheckSameMemory(module, after);
  return Generic(after);
}

}  // namespace

TEST_CASE("addresses made from a window's are offsets of it", "[passes][generic]") {
  // Sums, differences and choices of such addresses, read and converted back.
  CHECK(Left(R"(  %g = to_generic shared %slot
  store i32 generic %g, %v
  %h = add i64 %four64, %g
  %back = sub i64 %h, %four64
  %odd = and i32 %tid, %one
  %is_odd = icmp i32 eq %odd, %one
  %either = select i64 %is_odd, %back, %g
  %w = load i32 generic %either
  %offset = from_generic shared %either
  %u = load i32 shared %offset
  %sum = add i32 %w, %u
  store i32 global %mine, %sum
  ret
)") == 0);
}

TEST_CASE("an address that a loop moves is an offset that the loop moves", "[passes][generic]") {
  CHECK(Left(R"(  %g = to_generic shared %slot
  store i32 generic %g, %v
  %step = const i64 0x400
  %span = const i64 0x1000
  %end = add i64 %g, %span
  br ^b1 (%g, %zero)
^b1 (%p: i64, %s: i32):
  store i32 generic %p, %s
  %w = load i32 generic %p
  %sum = add i32 %w, %one
  %q = add i64 %p, %step
  %more = icmp i64 ult %q, %end
  cond_br %more, ^b1 (%q, %sum), ^b2
^b2:
  store i32 global %mine, %sum
  ret
)") == 0);
}

TEST_CASE("addresses of several spaces and of unknown origin stay generic", "[passes][generic]") {
  CHECK(Left(R"(  %g = to_generic shared %slot
  store i32 shared %slot, %v
  %odd = and i32 %tid, %one
  %is_odd = icmp i32 eq %odd, %one
  %either = select i64 %is_odd, %mine, %g
  %w = load i32 generic %either
  store i32 global %mine, %w
  ret
)") == 1);
  // Alignment by a mask is no sum: 4 bytes of the window's beginning may be cut off.
  CHECK(Left(R"(  %g = to_generic shared %slot
  store i32 shared %slot, %v
  %mask = const i64 0xfffffffffffffffc
  %aligned = and i64 %g, %mask
  %w = load i32 generic %aligned
  store i32 global %mine, %w
  ret
)") == 1);
  // A distance between two addresses is no address.
  CHECK(Left(R"(  %g = to_generic shared %slot
  store i32 shared %slot, %v
  %none = sub i64 %g, %g
  %there = add i64 %mine, %none
  %w = load i32 generic %there
  store i32 global %mine, %w
  ret
)") == 1);
}
