// Special registers, clocks, values without memory, and the limits of launches.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

TEST_CASE("interpret memory: special registers have the thread's place") {
  struct Row {
    const char* name;
    uint32_t expected;
  };
  const Row rows[] = {{"tid.x", 2},
                      {"tid.y", 3},
                      {"tid.z", 1},
                      {"ntid.x", 5},
                      {"ntid.y", 4},
                      {"ntid.z", 2},
                      {"ctaid.x", 1},
                      {"ctaid.y", 2},
                      {"ctaid.z", 0},
                      {"nctaid.x", 2},
                      {"nctaid.y", 3},
                      {"nctaid.z", 1},
                      {"laneid", 5},
                      {"warpid", 1},
                      {"nwarpid", 2},
                      {"lanemask_eq", 1u << 5},
                      {"lanemask_lt", 0x1F},
                      {"lanemask_le", 0x3F},
                      {"lanemask_ge", 0xFFFFFFE0},
                      {"lanemask_gt", 0xFFFFFFC0},
                      {"smid", 0},
                      {"nsmid", 1},
                      {"dynamic_smem_size", 100},
                      {"total_smem_size", 128},
                      {"clusterid.y", 2},
                      {"nclusterid.x", 2},
                      {"cluster_ctarank", 0},
                      {"cluster_nctarank", 1},
                      {"cluster_nctaid.x", 1},
                      {"is_explicit_cluster", 0},
                      {"reserved_smem_offset_1", 0},
                      {"envreg", 0},
                      {"pm", 0}};
  for (const Row& row : rows) {
    // Only the thread whose linear id is 37 = 2 + 5 * (3 + 4 * 1) of block (1,2,0) stores.
    Program program(WithBuffer(std::string("  %v = special i32 ") + row.name + R"(
  %x = special i32 tid.x
  %y = special i32 tid.y
  %z = special i32 tid.z
  %bx = special i32 ctaid.x
  %by = special i32 ctaid.y
  %all = pack i128 from i32 %x, %y, %z, %by
  %want = const i32 2
  %three = const i32 3
  %one = const i32 1
  %wanted = pack i128 from i32 %want, %three, %one, %want
  %same = icmp i128 eq %all, %wanted
  %samex = icmp i32 eq %bx, %one
  %both = and i1 %same, %samex
  cond_br %both, ^store, ^end
^store:
  store i32 global %out, %v
  br ^end
^end:
  ret
)"));
    std::vector<uint32_t> out = {12345};
    program.options.grid = {2, 3, 1};
    program.options.block = {5, 4, 2};
    program.options.dynamic_shared_bytes = 100;
    program.AddBuffer(out);
    program.RunOrFail();
    INFO(row.name);
    CHECK(out[0] == row.expected);
  }
}

TEST_CASE("interpret memory: clocks go forward") {
  auto out = RunInts(WithBuffer(R"(  %a = special i64 clock64 {volatile}
  %b = special i64 clock64 {volatile}
  %t1 = special i64 globaltimer {volatile}
  %t2 = special i64 globaltimer {volatile}
  %later = icmp i64 ugt %b, %a
  %not_earlier = icmp i64 uge %t2, %t1
  %l = zext i32 from i1 %later
  %n = zext i32 from i1 %not_earlier
  store i32 global align 4 %out, %l, %n
  ret
)"),
                     1, {0, 0});
  CHECK(out == std::vector<uint32_t>{1, 1});
}

TEST_CASE("interpret memory: values without memory") {
  CHECK(Evaluate(Opcode::kSelect, Type::kI32, {{Type::kI1, 1}, {Type::kI32, 5}, {Type::kI32, 6}}) == 5);
  CHECK(Evaluate(Opcode::kSelect, Type::kF64, {{Type::kI1, 0}, {Type::kF64, 5}, {Type::kF64, 6}}) == 6);
  CHECK(EvaluateFrom(Opcode::kBitcast, Type::kI32, Type::kF32, {{Type::kF32, F32(1)}}) == F32(1));
  CHECK(EvaluateFrom(Opcode::kPack, Type::kI64, Type::kI16,
                     {{Type::kI16, 1}, {Type::kI16, 2}, {Type::kI16, 3}, {Type::kI16, 4}}) ==
        0x0004000300020001);
  auto parts = EvaluateAll(Opcode::kUnpack, Type::kF16, Type::kI32, {{Type::kI32, 0x12345678}}, {}, 2);
  CHECK(parts[0].low == 0x5678);
  CHECK(parts[1].low == 0x1234);
  CHECK(EvaluateAll(Opcode::kConst, Type::kI128, Type::kVoid, {}, {.bits = ~0ull})[0] == Bits2{~0ull, ~0ull});
  CHECK(EvaluateAll(Opcode::kUndef, Type::kI32, Type::kVoid, {}).size() == 1);
}

TEST_CASE("interpret memory: launches outside the limits are refused") {
  Program program("kernel @k (a: i64 @0) phase simt max_threads 64 1 1 {\n^a:\n  ret\n}\n");
  auto code = [&] {
    Status status = program.Run();
    return status ? ErrorCode::kInternal : status.error().code;
  };
  CHECK(code() == ErrorCode::kLaunch);  // the parameter is missing
  program.AddParam(uint64_t{0});
  program.RunOrFail();
  program.options.block = {65, 1, 1};
  CHECK(code() == ErrorCode::kLaunch);
  program.options.block = {1, 1, 65};
  CHECK(code() == ErrorCode::kLaunch);
  program.options.block = {1, 1, 1};
  program.options.grid = {1, 65536, 1};
  CHECK(code() == ErrorCode::kLaunch);
}

}  // namespace ptx2cpu::ir::interpret_test
