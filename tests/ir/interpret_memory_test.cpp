// Memory, atomics, address spaces, and the faults of bad addresses.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

TEST_CASE("interpret memory: vectors of elements load and store") {
  auto out = RunInts(WithBuffer(R"(  %a, %b, %c, %d = load i32 global %out
  store i32 global %out, %d, %c, %b, %a
  ret
)"),
                     1, {1, 2, 3, 4});
  CHECK(out == std::vector<uint32_t>{4, 3, 2, 1});
}

TEST_CASE("interpret memory: narrow and wide types take their bytes") {
  std::vector<uint64_t> buffer = {0xFFFFFFFFFFFFFFFF, 0, 0x0123456789ABCDEF, 0xFEDCBA9876543210};
  Program program(WithBuffer(R"(  %eight = const i64 8
  %sixteen = const i64 16
  %a2 = add i64 %out, %sixteen
  %wide = load i128 global %a2
  %byte = const i8 0x12
  store i8 global %out, %byte
  %a1 = add i64 %out, %eight
  %lo, %hi = unpack i64 from i128 %wide
  store i64 global %a1, %hi
  ret
)"));
  program.AddBuffer(buffer);
  program.RunOrFail();
  CHECK(buffer[0] == 0xFFFFFFFFFFFFFF12);
  CHECK(buffer[1] == 0xFEDCBA9876543210);
}

TEST_CASE("interpret memory: shared windows, dynamic and static, and generic addresses into them") {
  const char* text = R"(variable shared @s align 4 size 16 offset 0
variable shared @dynamic extern align 4 size 0 offset 16
)";
  Program program(WithBuffer(R"(  %s = symbol shared @s
  %d = symbol shared @dynamic
  %seven = const i32 7
  store i32 shared %s, %seven
  %g = to_generic shared %s
  %v = load i32 %g
  %nine = const i32 9
  %dg = to_generic shared %d
  store i32 %dg, %nine
  %w = load i32 shared %d
  %back = from_generic shared %dg
  %back32 = trunc i32 from i64 %back
  %is1 = is_space shared %g
  %is2 = is_space shared %out
  %is3 = is_space global %out
  %is1w = zext i32 from i1 %is1
  %is2w = zext i32 from i1 %is2
  %is3w = zext i32 from i1 %is3
  store i32 global align 4 %out, %v, %w, %back32, %is1w
  %offset = const i64 16
  %out2 = add i64 %out, %offset
  store i32 global %out2, %is2w, %is3w
  ret
)",
                             text));
  std::vector<uint32_t> out(6);
  program.options.dynamic_shared_bytes = 8;
  program.AddBuffer(out);
  program.RunOrFail();
  CHECK(out == std::vector<uint32_t>{7, 9, 16, 1, 0, 1});
}

TEST_CASE("interpret memory: local memory is the thread's own") {
  auto out = RunInts(WithBuffer(R"(  %t = special i32 tid.x
  %x = symbol local @x
  store i32 local %x, %t
  %g = to_generic local %x
  %v = load i32 %g
  %local = is_space local %g
  %global = is_space global %g
  %l = zext i32 from i1 %local
  %n = zext i32 from i1 %global
  %l2 = add i32 %l, %n
  %sum = add i32 %v, %l2
  %w = zext i64 from i32 %t
  %two = const i32 2
  %at = shl i64 %w, %two
  %address = add i64 %out, %at
  store i32 global %address, %sum
  ret
)",
                                {}, " local_bytes 12 {\n  local @x size 8 align 4 offset 4\n"),
                     3, {9, 9, 9});
  CHECK(out == std::vector<uint32_t>{1, 2, 3});
}

TEST_CASE("interpret memory: initialised, relocated and bound variables") {
  Program program(WithBuffer(R"(  %p = symbol global @pointer
  %a = load i64 global %p
  %v = load i32 global %a
  %c = symbol const @table
  %four = const i64 4
  %c1 = add i64 %c, %four
  %w = load i32 const %c1
  %b = symbol global @bound
  %x = load i32 global %b
  store i32 global align 4 %out, %v, %w
  %eight = const i64 8
  %out2 = add i64 %out, %eight
  store i32 global %out2, %x
  ret
)",
                             R"(variable const @table align 4 size 12 = "0100000002000000"
variable global @pointer align 8 size 8
  relocation 0 variable @table
variable global @bound align 4 size 4
)"));
  uint32_t mine = 77;
  program.storage.Bind(2, reinterpret_cast<std::byte*>(&mine));
  std::vector<uint32_t> out(3);
  program.AddBuffer(out);
  program.RunOrFail();
  CHECK(out == std::vector<uint32_t>{1, 2, 77});
}

TEST_CASE("interpret memory: copy_async fills with zeros") {
  auto out = RunInts(WithBuffer(R"(  %s = symbol shared @s
  %bytes = const i32 16
  %four = const i32 4
  copy_async %s, %out, %bytes, %four
  %a, %b, %c, %d = load i32 shared %s
  store i32 global %out, %d, %c, %b, %a
  ret
)",
                                "variable shared @s align 16 size 16 offset 0\n"),
                     1, {5, 6, 7, 8});
  CHECK(out == std::vector<uint32_t>{0, 0, 0, 5});
}

TEST_CASE("interpret memory: each byte of shared and local memory begins as the option asks") {
  const std::string body = R"(  %s = symbol shared @s
  %a, %b = load i32 shared %s
  %l = symbol local @own
  %c, %d = load i32 local %l
  store i32 global %out, %a, %b, %c, %d
  ret
)";
  for (const uint8_t fill : {0x00, 0xa5, 0x5a}) {
    Program program(WithBuffer(body, "variable shared @s align 8 size 8 offset 0\n",
                               " local_bytes 8 {\n  local @own align 8 size 8 offset 0\n"));
    program.options.fill = fill;
    std::vector<uint32_t> out(4, 1);
    program.AddBuffer(out);
    program.RunOrFail();
    CHECK(out == std::vector<uint32_t>(4, fill * 0x01010101u));
  }
}

TEST_CASE("interpret memory: faults name the place") {
  auto fault = [](const std::string& body, const std::string& before = {}) {
    Program program(WithBuffer(body, before));
    program.module.text = "first line\nthe PTX line\n";
    std::vector<uint32_t> out(2);
    program.options.block = {2, 1, 1};
    program.AddBuffer(out);
    return program.RunToError();
  };
  Error shared = fault("  %s = symbol shared @s\n  %v = load i64 shared align 4 %s ; ptx 2\n  ret\n",
                       "variable shared @s align 4 size 4 offset 0\n");
  CHECK(shared.code == ErrorCode::kFault);
  CHECK(Contains(
      shared.message,
      "kernel k, block (0,0,0), thread (0,0,0): read of 8 bytes at shared address 0x0: out of bounds"));
  CHECK(shared.at.line == 2);
  CHECK(shared.excerpt == "the PTX line");
  Error misaligned =
      fault("  %one = const i64 1\n  %a = add i64 %out, %one\n  %v = load i32 global %a ; ptx 2\n  ret\n");
  CHECK(Contains(misaligned.message, "misaligned read of 4 bytes"));
  Error beyond =
      fault("  %d = const i64 8\n  %a = add i64 %out, %d\n  %v = load i32 global %a ; ptx 2\n  ret\n");
  CHECK(Contains(beyond.message, "this address is in no memory of the launch"));
  Error null = fault("  %a = const i64 0\n  %x = const i32 1\n  store i32 %a, %x\n  ret\n");
  CHECK(Contains(null.message, "write of 4 bytes at generic address 0x0"));
  Error constant = fault("  %c = symbol const @c\n  %x = const i32 1\n  store i32 %c, %x\n  ret\n",
                         "variable const @c align 4 size 4\n");
  CHECK(Contains(constant.message, "read-only memory"));
  Error local = fault("  %a = const i64 0\n  %x = load i32 local %a\n  ret\n");
  CHECK(Contains(local.message, "local address 0x0: out of bounds"));
  Error trap = fault("  trap ; ptx 2\n");
  CHECK(Contains(trap.message, "trap"));
  CHECK(trap.at.line == 2);
}

TEST_CASE("interpret memory: an endless loop meets the instruction limit") {
  Program program("kernel @k () phase simt {\n^a:\n  br ^a ; ptx 3\n}\n");
  program.options.instruction_limit = 1000;
  Error error = program.RunToError();
  CHECK(Contains(error.message, "more than 1000 instructions"));
  CHECK(error.at.line == 3);
}

TEST_CASE("interpret memory: integer atomics give the old value and store the new") {
  struct Row {
    AtomicOp op;
    uint32_t old, operand, expected;
  };
  const Row rows[] = {{AtomicOp::kAdd, 0xFFFFFFFF, 2, 1},
                      {AtomicOp::kMinS, 1, 0xFFFFFFFF, 0xFFFFFFFF},
                      {AtomicOp::kMinU, 1, 0xFFFFFFFF, 1},
                      {AtomicOp::kMaxS, 1, 0xFFFFFFFF, 1},
                      {AtomicOp::kMaxU, 1, 0xFFFFFFFF, 0xFFFFFFFF},
                      {AtomicOp::kInc, 4, 5, 5},
                      {AtomicOp::kInc, 5, 5, 0},
                      {AtomicOp::kInc, 9, 5, 0},
                      {AtomicOp::kDec, 0, 5, 5},
                      {AtomicOp::kDec, 3, 5, 2},
                      {AtomicOp::kDec, 9, 5, 5},
                      {AtomicOp::kAnd, 0xF0, 0x3C, 0x30},
                      {AtomicOp::kOr, 0xF0, 0x0F, 0xFF},
                      {AtomicOp::kXor, 0xFF, 0x0F, 0xF0},
                      {AtomicOp::kExchange, 1, 2, 2}};
  for (const Row& row : rows) {
    auto out =
        RunInts(WithBuffer("  %x = const i32 " + std::to_string(row.operand) + "\n  %old = atomic i32 " +
                           std::string(Name(row.op)) + R"( global relaxed gpu %out, %x
  %four = const i64 4
  %next = add i64 %out, %four
  store i32 global %next, %old
  ret
)"),
                1, {row.old, 0});
    INFO(Name(row.op));
    CHECK(out == std::vector<uint32_t>{row.expected, row.old});
  }
}

TEST_CASE("interpret memory: float atomics, packed ones by halves, ftz when asked") {
  auto run = [](const std::string& type, const std::string& op, uint32_t old, uint32_t operand,
                const std::string& flags = {}) {
    return RunInts(WithBuffer("  %x = const " + type + " " + std::to_string(operand) + "\n  %old = atomic " +
                              type + " " + op + " global %out, %x " + flags + "\n  ret\n"),
                   1, {old})[0];
  };
  CHECK(run("f32", "fadd", F32(1.5f), F32(2)) == F32(3.5f));
  CHECK(run("f32", "fadd", 1, 1) == 2);
  CHECK(run("f32", "fadd", 1, 1, "{ftz}") == 0);
  CHECK(run("f32", "fmin", F32(1), F32(-2)) == F32(-2));
  CHECK(run("f32", "fmax", F32(1), 0x7FC00000) == F32(1));
  CHECK(run("i32", "add_f16x2", 0x3C003C00, 0x40003C00) == 0x42004000);
  CHECK(run("i32", "add_bf16x2", 0x3F803F80, 0x40003F80) == 0x40404000);
  CHECK(run("i32", "min_f16x2", 0x3C00C000, 0xBC007E00) == 0xBC00C000);
  CHECK(run("i32", "max_bf16x2", 0x3F80C000, 0xBF803F80) == 0x3F803F80);
  CHECK(run("f16", "fadd", 0xAAAA3C00, 0x3C00) == 0xAAAA4000);
}

TEST_CASE("interpret memory: compare and swap; all threads' atomics arrive") {
  auto out = RunInts(WithBuffer(R"(  %expect = const i32 5
  %new = const i32 6
  %old = atomic_cas i32 global %out, %expect, %new
  %old2 = atomic_cas i32 global %out, %expect, %new
  %four = const i64 4
  %next = add i64 %out, %four
  store i32 global align 4 %next, %old, %old2
  ret
)"),
                     1, {5, 0, 0});
  CHECK(out == std::vector<uint32_t>{6, 5, 6});
  out =
      RunInts(WithBuffer("  %one = const i32 1\n  %o = atomic i32 add global %out, %one {noresult}\n  ret\n"),
              1000, {0});
  CHECK(out[0] == 1000);
}

TEST_CASE("interpret memory: a lock between threads of a warp makes progress") {
  // while (cas(lock, 0, 1) != 0); counter = counter + 1; fence; exchange(lock, 0)
  auto out = RunInts(WithBuffer(R"(  %zero = const i32 0
  %one = const i32 1
  %four = const i64 4
  %counter = add i64 %out, %four
  br ^spin
^spin:
  %old = atomic_cas i32 global acquire gpu %out, %zero, %one
  %taken = icmp i32 ne %old, %zero
  cond_br %taken, ^spin, ^enter
^enter:
  %c = load i32 global volatile %counter
  nanosleep %one
  %n = add i32 %c, %one
  store i32 global %counter, %n
  fence sc gpu
  %o = atomic i32 exch global release gpu %out, %zero
  ret
)"),
                     64, {0, 0});
  CHECK(out == std::vector<uint32_t>{0, 64});
}

}  // namespace ptx2cpu::ir::interpret_test
