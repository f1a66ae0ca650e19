// Hand-written modules, one per phase, as Print writes them (so that Print(Parse(x)) == x), and parsing them.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "ir/text/text.h"

namespace ptx2cpu::test {

inline ir::Module ParseOrFail(const std::string& text) {
  Result<ir::Module> module = ir::Parse(text, "test.ir");
  INFO(text);
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

inline constexpr const char* kSimtSample = R"(module "reduce.ptx" ptx 9.0 sm 90 static_shared 1040
source #0 ""
source #1 "reduce \"v2\".cu"
variable shared @tile align 16 size 1024 offset 0
variable shared @"odd name" align 4 size 16 offset 1024
variable shared @tile align 4 size 0 offset 1040 ; ptx 9
variable global @table visible align 8 size 64 =
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    "20" ; ptx 11
  relocation 8 variable @tile#2 addend -4
  relocation 16 size 1 shift 24 function @square
variable const @limits extern align 4 size 8
variable global @unified managed align 4 size 4
signature #0 (a: i32) -> (r: i32)

declare function @vprintf (format: i64, arguments: i64) -> (r: i32) phase simt ; ptx 3

kernel @reduce (in: i64 @0, out: i64 @8, shape: aggregate @16 size 12 align 4, n: i32 @28) phase simt max_threads 256 1 1 required_cluster 2 1 1 { ; ptx 20
^b0:
  %0 = param_base
  %1 = load i64 param %0 ; ptx 22 src 1:7
  %2 = special i32 tid.x
  %3 = special i32 clock {volatile}
  %4 = special i32 envreg #3
  %5 = const i32 0x100
  %6 = icmp i32 ult %2, %5
  cond_br %6, ^b1(%2, %1), ^b2 {uniform} ; src 1:8
^b1(%7: i32, %8: i64) "$L__BB0_2":
  %9 = zext i64 from i32 %7
  %10 = add i64 %8, %9 {sat}
  %11, %12 = load f32 global relaxed gpu align 8 %10
  %13 = ffma f32 rz %11, %12, %11 {ftz, sat}
  %14 = const f32 0x3fc00000
  %15 = symbol shared @tile
  %16 = symbol shared @"odd name"
  %17 = symbol shared @tile#2
  store f32 shared %15, %13, %14
  %18 = const i32 0x1f
  %19 = const i32 0xffffffff
  %20, %21 = shuffle i32 bfly %7, %18, %18, %19 ; ptx 42 src 1:17
  %22 = atomic i32 add global relaxed gpu %10, %20
  %23 = lop3 i32 #150 %20, %20, %7
  %24: i32 = call @square %23
  %25 = function_address @square
  %26: i32 = call_indirect #0 %25, %24
  barrier_block %18 {aligned}
  switch %26, ^b1(%26, %8), ^b2, ^b3
^b2 "done":
  ret
^b3:
  trap
}

function @square (x: i32) -> (r: i32) phase simt local_bytes 16 entry ^b1 {
  local @buffer size 16 align 8 offset 0
^b0(%0: i32):
  ret %0
^b1(%1: i32):
  %2 = symbol local @buffer
  store i32 local %2, %1
  %3 = mul i32 %1, %1
  br ^b0(%3)
}
)";

inline constexpr const char* kSplitSample = R"(module "split" ptx 8.0 sm 80

kernel @sum (out: i64 @0) phase split {
^b0 lane:
  %0 = special i32 laneid
  %1 = const i32 0x10
  %2 = const i32 0x1f
  br ^b1
^b1 warp:
  %3 = const i32 0xffffffff
  %4, %5 = shuffle i32 bfly %0, %1, %2, %3 ; ptx 12
  br ^b2
^b2 lane:
  %6 = add i32 %0, %4
  %7 = icmp i32 eq %6, %1
  br ^b3
^b3 block:
  %8 = agree %7 ; ptx 14
  cond_br %8, ^b4, ^b5
^b4 block "barrier":
  %9 = const i32 0x0
  barrier_block %9 {aligned} ; ptx 15
  br ^b5
^b5 lane:
  ret
}
)";

inline constexpr const char* kCollapsedSample = R"(module "collapsed" ptx 8.0 sm 80

kernel @sum (out: i64 @0) phase collapsed early_exit {
  slot #0 i32 lane
  slot #1 i1 warp
  slot #2 i64 block
^b0 block:
  %0 = param_base
  for_warps ^b1, ^b8
^b1 warp:
  for_lanes ^b2, ^b5
^b2 lane:
  %1 = special i32 tid.x
  %2 = const i32 0x40
  %3 = icmp i32 uge %1, %2
  cond_br %3, ^b3, ^b4
^b3 lane:
  exit_lane
^b4 lane:
  slot_store i32 #0 %1
  end_lane
^b5 warp:
  %4 = slot_load i32 #0
  %5 = const i32 0x1
  %6 = const i32 0x1f
  %7 = const i32 0xffffffff
  %8, %9 = shuffle i32 down %4, %5, %6, %7
  slot_store i32 #0 %8
  for_lanes ^b6, ^b7
^b6 lane:
  %10 = slot_load i32 #0
  %11 = load i64 param %0
  store i32 global %11, %10
  end_lane
^b7 warp:
  end_warp
^b8 block:
  ret
}
)";

inline constexpr const char* kFlatSample = R"(module "flat" ptx 8.0 sm 80

kernel @copy (out: i64 @0) phase collapsed flat {
  slot #0 i32 lane
^b0 block:
  for_lanes ^b1, ^b2
^b1 lane:
  %0 = special i32 tid.x
  slot_store i32 #0 %0
  end_lane
^b2 block:
  for_lanes ^b3, ^b4
^b3 lane:
  %1 = slot_load i32 #0
  %2 = param_base
  %3 = load i64 param %2
  store i32 global %3, %1
  end_lane
^b4 block:
  ret
}
)";

}  // namespace ptx2cpu::test
