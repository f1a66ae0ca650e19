// Kernels of a few float operations, for analyses of what values can be.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "ir/text/text.h"

namespace ptx2cpu {

// A kernel with the loaded floats %x and %y, the numbers %zero and %full, the predicate %odd, more
// `definitions`, and `body`, of which it stores %r at the end.
inline ir::Module FloatKernel(const std::string& definitions, const std::string& body) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %tid = special i32 tid.x
  %zero = const i32 0x0
  %full = const i32 0xffffffff
  %odd = icmp i32 ne %tid, %zero
  %x = load f32 global %data
  %y = load f32 global %data
)" + definitions + body + "  store f32 global %data, %r\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

// The value that the kernel stores.
inline ir::ValueId Stored(const ir::Function& f) {
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kStore) return inst.operands[1];
  }
  FAIL("no store");
  return {};
}

// A loop that carries %m from `start`; `next` computes %m2 of it. Its last value is %r.
inline std::string FloatLoop(const std::string& start, const std::string& next) {
  return "  br ^loop(" + start + ", %zero)\n^loop(%m: f32, %n: i32):\n" + next +
         "  %step = const i32 0x1\n  %n2 = add i32 %n, %step\n  %more = icmp i32 ult %n2, %tid\n"
         "  cond_br %more, ^loop(%m2, %n2), ^after(%m2)\n^after(%r: f32):\n";
}

}  // namespace ptx2cpu
