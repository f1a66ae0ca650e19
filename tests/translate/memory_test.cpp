// Memory spaces, vectors, registers as bags of bits, carry chains, initial values, errors.
#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

using U32 = std::vector<uint32_t>;
using U64 = std::vector<uint64_t>;

TEST_CASE("shared memory, barriers and a tree reduction") {
  std::string text = Kernel(R"(
    .shared .align 4 .b8 sum[256];
    mov.u32 %r1, sum;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    cvt.u64.u32 %rd2, %r2;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    st.shared.u32 [%r3], %r4;
    mov.u32 %r5, 32;
LOOP:
    bar.sync 0;
    setp.lt.u32 %p1, %r0, %r5;
    @!%p1 bra SKIP;
    shl.b32 %r6, %r5, 2;
    add.u32 %r7, %r3, %r6;
    ld.shared.u32 %r8, [%r7];
    ld.shared.u32 %r9, [%r3];
    add.u32 %r9, %r9, %r8;
    st.shared.u32 [%r3], %r9;
SKIP:
    shr.u32 %r5, %r5, 1;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 bra LOOP;
    setp.eq.u32 %p3, %r0, 0;
    @%p3 ld.shared.u32 %r10, [sum];
    @%p3 st.global.u32 [%rd1], %r10;
  )");
  U32 input(64);
  uint32_t expected = 0;
  for (uint32_t i = 0; i < 64; ++i) expected += input[i] = i * i;
  CHECK(Run<uint32_t>(text, input, 64)[0] == expected);
  CHECK(TranslateText(text).static_shared_bytes == 256);
}

TEST_CASE("shared variables a kernel cannot reach take no space; dynamic ones follow the static part") {
  std::string text = Header(R"(
.shared .align 4 .b8 unused[1000];
.shared .align 1 .b8 small[3];
.shared .align 8 .b8 other[8];
.extern .shared .align 4 .b8 dynamic[];
.visible .entry k() { .reg .b32 %r<4>;
  mov.u32 %r1, small; mov.u32 %r2, other; mov.u32 %r3, dynamic; st.shared.b32 [%r3], %r1; st.shared.b32 [%r2], %r1; ret; }
)");
  ir::Module module = TranslateText(text);
  CHECK(module.variables.size() == 4);
  CHECK(module.variables[1].shared_offset == 0);
  CHECK(module.variables[2].shared_offset == 8);
  CHECK(module.static_shared_bytes == 16);
  CHECK(module.variables[3].size == 0);
  CHECK(module.variables[3].shared_offset == 16);
}

TEST_CASE("local arrays with a variable index, through generic addresses too") {
  std::string text = Kernel(R"(
    .local .align 8 .b8 frame[32];
    mov.u64 %rd2, frame;
    cvta.local.u64 %rd3, %rd2;
    mov.u32 %r1, 11; mov.u32 %r2, 22;
    st.local.u32 [%rd2+4], %r1;
    st.u32 [%rd3+8], %r2;
    ld.global.u32 %r3, [%rd1];
    mul.wide.u32 %rd4, %r3, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.u32 %r4, [%rd5];
    ld.local.u32 %r5, [frame+8];
    isspacep.local %p1, %rd5;
    selp.u32 %r6, 1, 0, %p1;
    st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r3};
  )");
  CHECK(Run<uint32_t>(text, {1, 0, 0, 0}) == U32{11, 22, 1, 1});
  CHECK(TranslateText(text).functions[0].local_bytes == 32);
}

TEST_CASE("atomics on a thread's own variable, named without a space, take its generic address") {
  const std::string text = Kernel(R"(
    .local .align 8 .b8 frame[16];
    mov.u32 %r1, 40;
    st.local.u32 [frame+4], %r1;
    atom.add.u32 %r2, [frame+4], 2;
    red.or.b32 [frame+4], 1;
    atom.cas.b32 %r3, [frame+4], 43, 7;
    ld.local.u32 %r4, [frame+4];
    cp.async.mbarrier.arrive.noinc.b64 [frame+8];
    st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r1};
  )");
  CHECK(Run<uint32_t>(text, {0, 0, 0, 0}) == U32{40, 43, 7, 40});
}

TEST_CASE("mbarrier objects are in shared memory") {
  const std::string variables = ".global .align 8 .b64 g;\n";
  for (const char* instruction :
       {"mbarrier.init.b64 [g], 1;", "mbarrier.inval.b64 [l];", "mbarrier.arrive.b64 %rd2, [l];",
        "mbarrier.test_wait.b64 %p1, [g], %rd2;", "mbarrier.complete_tx.relaxed.cta.b64 [l], 1;"}) {
    INFO(instruction);
    const Error error =
        TranslateError(Kernel(".local .align 8 .b8 l[8];\n" + std::string(instruction), variables));
    CHECK(error.code == ErrorCode::kSyntax);
    CHECK(error.message.find("an mbarrier object is in shared memory") != std::string::npos);
  }
}

TEST_CASE("global and constant variables start with their initial values") {
  std::string text = Kernel(R"(
    ld.const.u32 %r1, [numbers+4];
    ld.global.u64 %rd2, [pointer];
    ld.u16 %h1, [%rd2];
    cvt.u32.u16 %r2, %h1;
    ld.global.f32 %f1, [matrix+12];
    mov.b32 %r3, %f1;
    ld.global.u8 %h2, [tail+3];
    cvt.u32.u16 %r4, %h2;
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
  )",
                            R"(
.const .align 4 .u32 numbers[3] = {1, 0xfffffffe};
.global .align 2 .u16 halves[4] = {5, 6, 7, 8};
.global .align 8 .u64 pointer = generic(halves)+4;
.global .align 4 .f32 matrix[2][2] = {{1.0}, {2.0, 0f40400000}};
.global .align 1 .b8 tail[8] = {1, 2, 3};
)");
  CHECK(Run<uint32_t>(text, {0, 0, 0, 0}) == U32{0xfffffffe, 7, 0x40400000, 0});
}

TEST_CASE("narrow loads extend by their type into wider registers") {
  std::string text = Kernel(R"(
    ld.global.s8 %r1, [%rd1];
    ld.global.u8 %r2, [%rd1];
    ld.global.s16 %rd2, [%rd1];
    cvt.u32.u64 %r3, %rd2;
    st.global.u8 [%rd1+12], %r1;
    st.global.v2.u32 [%rd1], {%r1, %r2};
    st.global.u32 [%rd1+8], %r3;
  )");
  CHECK(Run<uint32_t>(text, {0x8180, 0, 0, 0}) == U32{0xffffff80, 0x80, 0xffff8180, 0x80});
}

TEST_CASE("an untyped register may be a float here and an integer there") {
  std::string text = Kernel(R"(
    ld.global.b32 %r1, [%rd1];
    add.f32 %r2, %r1, 0f3F800000;
    xor.b32 %r3, %r2, 0x80000000;
    abs.f32 %r4, %r3;
    st.global.v2.b32 [%rd1], {%r3, %r4};
  )");
  CHECK(Run<uint32_t>(text, {0x40000000, 0}) == U32{0xc0400000, 0x40400000});
}

TEST_CASE("mov packs and unpacks") {
  std::string text = Kernel(R"(
    ld.global.b64 %rd2, [%rd1];
    mov.b64 {%r1, %r2}, %rd2;
    mov.b32 {%h1, %h2}, %r1;
    mov.b32 %r3, {%h2, %h1};
    mov.b64 %rd3, {%r2, %r3};
    mov.b64 {_, %r4}, %rd2;
    st.global.b64 [%rd1], %rd3;
    st.global.b32 [%rd1+8], %r4;
  )");
  U64 result = Run<uint64_t>(text, {0x1111222233334444, 0});
  CHECK(result[0] == 0x4444333311112222);
  CHECK(result[1] == 0x11112222);
}

TEST_CASE("the carry flag links extended-precision instructions") {
  // 128-bit addition and subtraction, then the carry itself
  std::string text = Kernel(R"(
    ld.global.v2.u64 {%rd2, %rd3}, [%rd1];
    ld.global.v2.u64 {%rd4, %rd5}, [%rd1+16];
    add.cc.u64 %rd6, %rd2, %rd4;
    addc.cc.u64 %rd7, %rd3, %rd5;
    addc.u32 %r1, 0, 0;
    sub.cc.u64 %rd8, %rd2, %rd4;
    subc.u64 %rd9, %rd3, %rd5;
    st.global.v2.u64 [%rd1], {%rd6, %rd7};
    st.global.v2.u64 [%rd1+16], {%rd8, %rd9};
    cvt.u64.u32 %rd10, %r1;
    st.global.u64 [%rd1+32], %rd10;
  )");
  U64 result = Run<uint64_t>(text, {5, ~0ull, ~0ull, 0, 0});
  CHECK(result == U64{4, 0, 6, ~0ull - 1, 1});
}

TEST_CASE("packed halves are done element by element") {
  std::string text = Kernel(R"(
    ld.global.b32 %r1, [%rd1];
    ld.global.b32 %r2, [%rd1+4];
    add.f16x2 %r3, %r1, %r2;
    fma.rn.bf16x2 %r4, %r1, %r2, %r2;
    setp.gt.f16x2 %p1|%p2, %r1, %r2;
    selp.u32 %r5, 1, 0, %p1;
    selp.u32 %r6, 1, 0, %p2;
    st.global.v2.b32 [%rd1], {%r3, %r5};
    st.global.b32 [%rd1+8], %r6;
  )");
  // {1, 2} + {3, -4} (low half first)
  CHECK(Run<uint32_t>(text, {0x40003c00, 0xc4004200, 0}) == U32{0xc0004400, 0, 1});
}

TEST_CASE("atomics return the old value; red does not need one") {
  std::string text = Kernel(R"(
    atom.global.add.u32 %r1, [%rd1], 2;
    red.global.max.u32 [%rd1+4], %r0;
    atom.global.cas.b32 %r2, [%rd1+8], 0, 9;
    mov.b32 %r4, 0x3c003c00;
    atom.add.noftz.f16x2 %r3, [%rd1+12], %r4;
  )");
  CHECK(Run<uint32_t>(text, {100, 0, 0, 0}, 3) == U32{106, 2, 9, 0x42004200});
}

TEST_CASE("warp shuffles and votes") {
  std::string text = Kernel(R"(
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r1, [%rd3];
    shfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1;
    setp.gt.u32 %p2, %r1, 2;
    vote.sync.ballot.b32 %r3, %p2, -1;
    @!%p1 mov.u32 %r2, 99;
    add.u32 %r4, %r2, %r3;
    st.global.u32 [%rd3], %r4;
  )");
  U32 input(32), expected(32);
  for (uint32_t i = 0; i < 32; ++i) input[i] = i;
  for (uint32_t i = 0; i < 32; ++i) expected[i] = (i ^ 1) + 0xfffffff8u;
  CHECK(Run<uint32_t>(text, input, 32) == expected);
}

// -- errors --

TEST_CASE("legal PTX without a translation is refused with its line") {
  Error error = TranslateError(Kernel("istypep.samplerref %p1, %rd1;"));
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.message == "istypep.samplerref is not translated");
  CHECK(error.at.line == 8);
}

TEST_CASE("all wrong instructions of a kernel are reported in one run") {
  Error error = TranslateError(Kernel("add.s33 %r1, %r2, %r3;\nmul.f32 %f1, %f2;\nnop;"));
  CHECK(error.code == ErrorCode::kSyntax);
  CHECK(error.at.line == 8);
  REQUIRE(error.more.size() == 2);
  CHECK(error.more[0].at.line == 9);
  CHECK(error.more[1].message == "unknown instruction `nop`");
}

TEST_CASE("a kernel that is not there names those that are") {
  Error error = TranslateError(Kernel(""), "other");
  CHECK(error.code == ErrorCode::kNotFound);
  CHECK(error.hint == "its kernels are: k");
}

TEST_CASE("calls that do not fit the callee are refused") {
  std::string before =
      ".func (.param .b32 o) f(.param .b32 a) { .reg .b32 %r1; mov.u32 %r1, 1; st.param.b32 [o], %r1; ret; "
      "}\n";
  Error error = TranslateError(Kernel("{ .param .b32 r; call (r), f; }", before));
  CHECK(error.code == ErrorCode::kSyntax);
  CHECK(error.message == "the callee has 1 results and 1 parameters, the call 1 and 0");
}

TEST_CASE("the module keeps the lines of its functions for messages") {
  std::string text =
      Kernel("bar.sync 0;", ".func other() { .reg .b32 %x;\nadd.u32 %x, 1, 2;\nret; }\n.func f() { ret; }\n");
  ir::Module module = TranslateText(text);
  REQUIRE(module.functions.size() == 1);
  uint32_t line = 0;
  for (const ir::Inst& inst : module.functions[0].insts) {
    if (inst.op == ir::Opcode::kBarrierBlock) line = inst.at.ptx_line;
  }
  CHECK(module.Line(line) == "bar.sync 0;");
  CHECK(module.Line(5).empty());
  module = TranslateText(
      Header(".visible\n.entry\nk\n(\n)\n{\n.reg .b32 %x;\nadd.u32 %x, 1, 2;\nbar.sync 0;\nret; }\n"));
  CHECK(module.Line(12) == "bar.sync 0;");
}

TEST_CASE("positions: the PTX line and the last .loc reach every instruction") {
  std::string text =
      Kernel(".loc 1 42 7\nadd.u32 %r1, %r0, 1;\nst.global.u32 [%rd1], %r1;", ".file 1 \"a.cu\"\n");
  ir::Module module = TranslateText(text);
  bool found = false;
  for (const ir::Inst& inst : module.functions[0].insts) {
    if (inst.op != ir::Opcode::kStore) continue;
    found = true;
    CHECK(inst.at.ptx_line == 11);
    CHECK(inst.at.source_file == 1);
    CHECK(inst.at.source_line == 42);
  }
  CHECK(found);
  CHECK(module.source_files[1] == "a.cu");
}

// The GPU adds in the width of the register; the other forms have no meaning, and dropping the constant
// would be wrong.
TEST_CASE("a constant added to a register is part of the value") {
  using U64 = std::vector<uint64_t>;
  CHECK(Run<uint64_t>(Kernel("mov.u64 %rd2, 41; st.global.u64 [%rd1], %rd2+1;"), {0}) == U64{42});
  CHECK(Run<uint64_t>(Kernel("mov.u32 %r2, -1; cvt.u64.u32 %rd2, %r2+2; st.global.u64 [%rd1], %rd2;"), {0}) ==
        U64{1});
  CHECK(TranslateError(Kernel("add.f32 %f1, %f2+1, %f2;")).message.find("integers only") !=
        std::string::npos);
  CHECK(TranslateError(Kernel("add.u32 %r1+1, %r2, %r2;")).message.find("`%r1`") != std::string::npos);
  const std::string table = ".global .u32 t[4] = {5, 6, 7, 8};\n";
  CHECK(Run<uint64_t>(
            Kernel("mov.u64 %rd2, t[2]; ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd1], %r1;", table),
            {0}) == U64{7});
}

TEST_CASE("sizes that overflow or fit no window are errors at the variable") {
  auto error = [](const std::string& before, const std::string& body) {
    return TranslateError(Kernel(body, before)).Render();
  };
  const std::string use = "mov.u64 %rd2, a; st.global.u64 [%rd1], %rd2;";
  for (const char* size : {"[4294967296]", "[1099511627776]", "[2147483648]", "[4294967296][4294967296]"}) {
    INFO(size);
    CHECK(error("", ".local .align 4 .b8 a" + std::string(size) + "; " + use).find("`a` is larger than") !=
          std::string::npos);
    CHECK(error(".shared .b8 a" + std::string(size) + ";\n", use).find("`a` is larger than") !=
          std::string::npos);
    CHECK(error(".func f(.param .b8 a" + std::string(size) + ") { ret; }\n", "").find("`a` is larger than") !=
          std::string::npos);
  }
  CHECK(error(".global .b64 a[2305843009213693952];\n", use).find("test.ptx:4:") != std::string::npos);
  CHECK(error("",
              ".local .b8 a[2000000000]; .local .b8 c[2000000000]; mov.u64 %rd3, c; st.global.u64 [%rd1], "
              "%rd3; " +
                  use)
            .find("bytes together") != std::string::npos);
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
