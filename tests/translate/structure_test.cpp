// Control flow, SSA, guards, calls and parameters: results through the interpreter.
#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

using U32 = std::vector<uint32_t>;

TEST_CASE("a loop carries its variables") {
  // sum of 1 .. n and product, both live around the back edge
  std::string text = Kernel(R"(
    ld.global.u32 %r1, [%rd1];
    mov.u32 %r2, 0; mov.u32 %r3, 1; mov.u32 %r4, 1;
LOOP:
    setp.gt.u32 %p1, %r4, %r1;
    @%p1 bra DONE;
    add.u32 %r2, %r2, %r4;
    mul.lo.u32 %r3, %r3, %r4;
    add.u32 %r4, %r4, 1;
    bra LOOP;
DONE:
    st.global.v2.u32 [%rd1], {%r2, %r3};
  )");
  CHECK(Run<uint32_t>(text, {5, 0}) == U32{15, 120});
  CHECK(Run<uint32_t>(text, {0, 7}) == U32{0, 1});
}

TEST_CASE("a rotated loop whose body comes before any forward edge to it") {
  std::string text = Kernel(R"(
    ld.global.u32 %r1, [%rd1];
    mov.u32 %r2, 0;
    bra TEST;
BODY:
    add.u32 %r2, %r2, %r1;
    sub.u32 %r1, %r1, 1;
TEST:
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra BODY;
    st.global.u32 [%rd1], %r2;
  )");
  CHECK(Run<uint32_t>(text, {4}) == U32{10});
}

TEST_CASE("an irreducible loop") {
  std::string text = Kernel(R"(
    ld.global.u32 %r1, [%rd1];
    mov.u32 %r2, 0;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra SECOND;
FIRST:
    add.u32 %r2, %r2, 10;
    sub.u32 %r1, %r1, 1;
SECOND:
    add.u32 %r2, %r2, 1;
    setp.gt.s32 %p2, %r1, 0;
    @%p2 bra FIRST;
    st.global.u32 [%rd1], %r2;
  )");
  CHECK(Run<uint32_t>(text, {2}) == U32{23});
  CHECK(Run<uint32_t>(text, {3}) == U32{33});
}

TEST_CASE("unreachable code is dropped") {
  std::string text = Kernel(R"(
    mov.u32 %r1, 1;
    bra OUT;
DEAD:
    add.u32 %r1, %r1, %r2;
    bra DEAD;
OUT:
    st.global.u32 [%rd1], %r1;
  )");
  ir::Module module = TranslateText(text);
  for (const ir::Block& block : module.functions[0].blocks) CHECK(block.label != "DEAD");
  CHECK(Run<uint32_t>(text, {0}) == U32{1});
}

TEST_CASE("a guarded pure instruction is a select, a guarded store a branch") {
  std::string text = Kernel(R"(
    setp.eq.u32 %p1, %r0, 1;
    mov.u32 %r1, 7;
    @%p1 mov.u32 %r1, 8;
    @!%p1 add.u32 %r1, %r1, 100;
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd1, %rd2;
    @%p1 st.global.u32 [%rd3], %r1;
    @!%p1 st.global.u32 [%rd3], %r0;
    @%p1 ld.global.u32 %r1, [%rd1+8];
    st.global.u32 [%rd3+16], %r1;
  )");
  U32 result = Run<uint32_t>(text, {9, 9, 55, 9, 9, 9, 9, 9}, 2);
  CHECK(result == U32{0, 8, 55, 9, 107, 55, 9, 9});
  std::string printed = ir::Print(TranslateText(text));
  CHECK_THAT(printed, Catch::Contains("select"));
}

TEST_CASE("guarded ret, exit and branches leave in the middle of a block") {
  std::string text = Kernel(R"(
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r1, 1;
    setp.eq.u32 %p1, %r0, 1;
    @%p1 ret;
    setp.eq.u32 %p2, %r0, 2;
    @%p2 exit;
    st.global.u32 [%rd3], %r1;
  )");
  CHECK(Run<uint32_t>(text, {0, 0, 0, 0}, 4) == U32{1, 0, 0, 1});
}

TEST_CASE("brx.idx chooses by index") {
  std::string text = Kernel(R"(
    ts: .branchtargets A, B, A, C;
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd1, %rd2;
    brx.idx %r0, ts;
A:  mov.u32 %r1, 10; bra END;
B:  mov.u32 %r1, 20; bra END;
C:  mov.u32 %r1, 30;
END: st.global.u32 [%rd3], %r1;
  )");
  CHECK(Run<uint32_t>(text, {0, 0, 0, 0}, 4) == U32{10, 20, 10, 30});
}

TEST_CASE("a register read before it is written is undefined, not an error") {
  std::string text = Kernel("setp.eq.u32 %p1, %r0, 0;\n@%p1 mov.u32 %r1, 5;\nst.global.u32 [%rd1], %r1;");
  CHECK(Run<uint32_t>(text, {0}) == U32{5});
}

constexpr std::string_view kFunctions = R"(
.func (.param .b32 out) twice(.param .b32 in) {
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [in];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [out], %r2;
  ret;
}
.func (.param .b32 out) factorial(.param .b32 n) {
  .reg .pred %p; .reg .b32 %r<6>;
  ld.param.u32 %r1, [n];
  mov.u32 %r4, 1;
  setp.lt.u32 %p, %r1, 2;
  @%p bra OUT;
  sub.u32 %r2, %r1, 1;
  { .param .b32 a; .param .b32 r;
    st.param.b32 [a], %r2;
    call.uni (r), factorial, (a);
    ld.param.b32 %r3, [r]; }
  mul.lo.u32 %r4, %r3, %r1;
OUT:
  st.param.b32 [out], %r4;
  ret;
}
.func (.param .align 8 .b8 out[16]) swap(.param .align 8 .b8 in[16]) {
  .reg .b64 %rd<4>;
  ld.param.v2.b64 {%rd1, %rd2}, [in];
  st.param.b64 [out+0], %rd2;
  st.param.b64 [out+8], %rd1;
  ret;
}
.func (.reg .u32 out) old_style(.reg .u32 a, .reg .u32 b) {
  sub.u32 out, a, b;
  ret;
}
.func (.param .b32 out) through_memory(.param .b32 in) {
  .reg .b32 %r<3>; .reg .b16 %h<2>; .reg .b64 %rd<2>;
  mov.b64 %rd1, in;
  ld.param.u32 %r1, [%rd1];
  ld.param.u8 %h1, [in+1];
  cvt.u32.u16 %r2, %h1;
  add.u32 %r1, %r1, %r2;
  st.param.b32 [out], %r1;
  ret;
}
)";

TEST_CASE("calls pass scalars in SSA values and recurse") {
  std::string text = Kernel(R"(
    ld.global.u32 %r1, [%rd1];
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), twice, (a); ld.param.b32 %r2, [r]; }
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), factorial, (a); ld.param.b32 %r3, [r]; }
    st.global.v2.u32 [%rd1], {%r2, %r3};
  )",
                            kFunctions);
  ir::Module module = TranslateText(text);
  CHECK(module.functions.size() == 3);  // the kernel and what it calls
  CHECK(module.functions[0].locals.empty());
  CHECK(Run<uint32_t>(text, {5, 0}) == U32{10, 120});
}

TEST_CASE("aggregates travel by address, both ways") {
  std::string text = Kernel(R"(
    ld.global.v2.u64 {%rd2, %rd3}, [%rd1];
    { .param .align 8 .b8 a[16]; .param .align 8 .b8 r[16];
      st.param.v2.b64 [a], {%rd2, %rd3};
      call.uni (r), swap, (a);
      ld.param.b64 %rd4, [r+0];
      ld.param.b64 %rd5, [r+8]; }
    st.global.v2.u64 [%rd1], {%rd4, %rd5};
  )",
                            kFunctions);
  CHECK(Run<uint64_t>(text, {3, 4}) == std::vector<uint64_t>{4, 3});
}

TEST_CASE("register parameters and guarded calls") {
  std::string text = Kernel(R"(
    ld.global.u32 %r1, [%rd1];
    mov.u32 %r2, 1000;
    setp.gt.u32 %p1, %r1, 10;
    @%p1 call (%r2), old_style, (%r1, 3);
    st.global.u32 [%rd1], %r2;
  )",
                            kFunctions);
  CHECK(Run<uint32_t>(text, {20}) == U32{17});
  CHECK(Run<uint32_t>(text, {5}) == U32{1000});
}

TEST_CASE("a parameter whose address is taken lives in memory") {
  std::string text = Kernel(R"(
    { .param .b32 a; .param .b32 r; mov.u32 %r1, 0x0304; st.param.b32 [a], %r1;
      call.uni (r), through_memory, (a); ld.param.b32 %r2, [r]; }
    st.global.u32 [%rd1], %r2;
  )",
                            kFunctions);
  CHECK(Run<uint32_t>(text, {0}) == U32{0x0307});
}

TEST_CASE("indirect calls go through tables of functions in global memory") {
  std::string before = std::string(kFunctions) + ".global .align 8 .u64 table[2] = {twice, factorial};\n";
  std::string text = Kernel(R"(
    mul.wide.u32 %rd2, %r0, 8;
    mov.u64 %rd3, table;
    add.s64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    mov.u32 %r1, 4;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (r), %rd4, (a), proto;
      ld.param.b32 %r2, [r]; }
    mul.wide.u32 %rd5, %r0, 4;
    add.s64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r2;
  )",
                            before);
  ir::Module module = TranslateText(text);
  CHECK(module.functions.size() == 3);
  CHECK(module.variables[0].relocations.size() == 2);
  CHECK(Run<uint32_t>(text, {0, 0}, 2) == U32{8, 24});
}

TEST_CASE("kernel parameters have the layout of C and an address") {
  std::string text = Header(R"(
.visible .entry k(.param .u64 p, .param .u8 c, .param .align 8 .b8 s[12], .param .f64 d) {
  .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .f64 %fd<2>;
  mov.b64 %rd1, s;
  ld.param.u32 %r1, [%rd1+8];
  ld.param.u64 %rd2, [p];
  ld.param.f64 %fd1, [d];
  st.global.u32 [%rd2], %r1;
  st.global.f64 [%rd2+8], %fd1;
  ret;
})");
  ir::Module module = TranslateText(text);
  const ir::Function& kernel = module.functions[0];
  REQUIRE(kernel.params.size() == 4);
  CHECK(kernel.params[1].offset == 8);
  CHECK(kernel.params[2].offset == 16);
  CHECK(kernel.params[3].offset == 32);
  CHECK(kernel.param_bytes == 40);
  uint64_t buffer[2] = {};
  std::vector<std::byte> params(40);
  uint64_t* address = buffer;
  uint32_t third = 77;
  double d = 2.5;
  std::memcpy(params.data(), &address, 8);
  std::memcpy(params.data() + 24, &third, 4);
  std::memcpy(params.data() + 32, &d, 8);
  ir::ModuleStorage storage(module);
  REQUIRE(ir::Interpret(module, kernel, storage, params, {}).has_value());
  CHECK(static_cast<uint32_t>(buffer[0]) == 77);
  CHECK(std::memcmp(&buffer[1], &d, 8) == 0);
}

// Values of registers that nothing writes are made in the entry block while a guarded instruction is emitted
// there.
TEST_CASE("a guarded access of the entry block reads a register that nothing wrote") {
  std::string text = Kernel(R"(
    setp.gt.u32 %p1, %r0, 100;
    st.global.u32 [%rd1], 7;
    @%p1 st.global.u32 [%rd1+4], %r7;
    @%p1 ld.global.u32 %r3, [%rd9];
    @%p1 atom.global.add.u32 %r3, [%rd10], %r8;
    st.global.u32 [%rd1+8], 9;
  )");
  CHECK(Run<uint32_t>(text, {1, 2, 3}) == U32{7, 2, 9});
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
