// What code of warps looks like where values go from one warp operation to the next, and lanes exit early.
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// LLVM IR of a kernel (in: u64, out: u64) of blocks of 256 threads (or of another shape) that have %v, their
// word of in, and store it at the end.
std::string CodeOf(const std::string& body, const std::string& shape = ".reqntid 256") {
  const std::string ptx = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
)" + shape + R"(
{
  .reg .pred %p<8>; .reg .b32 %i, %v, %o; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %at, %out, %at;
  ld.global.u32 %v, [%in];
)" + body + R"(
  st.global.u32 [%at], %v;
  ret;
}
)";
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(ptx, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return *text;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Sums over the warp by halves.
std::string Tree() {
  std::string steps;
  for (const char* distance : {"16", "8", "4", "2", "1"})
    steps += std::string("  shfl.sync.down.b32 %o, %v, ") + distance +
             ", 31, 0xffffffff;\n  add.u32 %v, %v, %o;\n";
  return steps;
}

}  // namespace

TEST_CASE("values between the operations of a warp's turn are in registers", "[forms]") {
  CHECK_FALSE(Has(CodeOf(Tree()), "%slots"));
}

TEST_CASE("values of a turn that a later turn reads have room for each warp", "[forms]") {
  const std::string later = Tree() + "  bar.sync 0;\n  shfl.sync.idx.b32 %v, %v, 0, 31, 0xffffffff;\n";
  CHECK(Has(CodeOf(later, ""), "%slots"));
  CHECK(Has(CodeOf(later, ".reqntid 250"), "%slots"));  // lanes are missing
  CHECK(Has(CodeOf("  setp.gt.u32 %p0, %v, 99;\n  @%p0 ret;\n" + later), "%slots"));
}

TEST_CASE("slots of a small block of known shape are the function's own variables", "[forms]") {
  const std::string later = Tree() + "  bar.sync 0;\n  shfl.sync.idx.b32 %v, %v, 0, 31, 0xffffffff;\n";
  for (const char* shape : {".reqntid 256", ".reqntid 64, 2, 2", ".reqntid 32"}) {
    INFO(shape);
    CHECK_FALSE(Has(CodeOf(later, shape), "%slots"));
  }
  // Five values of 1024 threads over a barrier.
  std::string many, sum;
  for (const char* name : {"%w1", "%w2", "%w3", "%w4", "%w5"}) {
    many += std::string("  .reg .b32 ") + name + ";\n  ld.global.u32 " + name + ", [%in+4096];\n  add.u32 " +
            name + ", " + name + ", %v;\n  shfl.sync.bfly.b32 " + name + ", " + name +
            ", 1, 31, 0xffffffff;\n";
    sum += std::string("  xor.b32 %v, %v, ") + name + ";\n  mul.lo.u32 %v, %v, %v;\n";
  }
  CHECK(Has(CodeOf(many + "  bar.sync 0;\n" + sum + Tree(), ".reqntid 1024"), "%slots"));
}

TEST_CASE("code that runs before each early exit needs no live masks", "[forms]") {
  const std::string exit = "  bar.sync 0;\n  setp.gt.u32 %p0, %v, 99;\n  @%p0 ret;\n";
  const std::string last = "  shfl.sync.bfly.b32 %v, %v, 1, 31, 0xffffffff;\n";
  const std::string early = CodeOf(Tree() + exit + last), late = CodeOf(exit + Tree() + last);
  // What lanes that have exited would give is 0. LLVM copies the code for some warps, so that lines are
  // counted.
  auto masks = [](const std::string& code) {
    std::istringstream lines(code);
    std::set<std::string> places;
    for (std::string line; std::getline(lines, line);) {
      if (Has(line, "select <32 x i1>") && Has(line, "!dbg")) places.insert(line.substr(line.find("!dbg")));
    }
    return places.size();
  };
  CHECK(masks(early) == 1);
  CHECK(masks(early) < masks(late));
}

TEST_CASE("what depends on nothing but the lane's number is known", "[forms]") {
  const std::string shared = "  .shared .align 4 .b8 parts[128];\n";
  auto code = [&](const std::string& body) { return CodeOf(shared + body); };
  const std::string lane = "  and.b32 %o, %i, 31;\n";
  // One lane's store, and the tree that leads there for one lane.
  const std::string first =
      code(Tree() + lane +
           "  setp.ne.u32 %p0, %o, 0;\n  @%p0 bra OVER;\n  shr.u32 %o, %i, 3;\n"
           "  and.b32 %o, %o, 0x1ffffffc;\n  st.shared.u32 [%o], %v;\nOVER:\n  mov.u32 %v, %i;\n");
  CHECK_FALSE(Has(first, "masked.scatter"));
  CHECK(Has(first, "i32 4, i32 5, i32 6, i32 7, i32 poison"));  // of the third step
  // Parts of one run of memory.
  const std::string some = code(
      "  st.shared.u32 [%o], %v;\n  bar.sync 0;\n  shl.b32 %o, %i, 2;\n"
      "  and.b32 %o, %o, 28;\n  ld.shared.u32 %v, [%o];\n");
  CHECK_FALSE(Has(some, "masked.gather"));
  CHECK(Has(some, "load <8 x i32>"));
}

TEST_CASE("threads sleep once, not one after the other", "[forms]") {
  for (const char* sleep : {"nanosleep.u32 350;", "setp.gt.u32 %p0, %v, 5;\n  @%p0 nanosleep.u32 %v;"}) {
    const std::string code = CodeOf("  " + std::string(sleep) + "\n  add.u32 %v, %v, 1;\n");
    CHECK(code.find("@ptx2cpu_nanosleep(") != std::string::npos);
    CHECK(code.find("@llvm.cttz") == std::string::npos);
    CHECK(code.find("add <64 x i32>") != std::string::npos);
  }
}
