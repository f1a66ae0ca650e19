// read-before-stores: which trips read all that they need at once, and that memory is what it was, whether
// stores meet what is read or not.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// Eight words a thread, in trips of four; the sum is kept at %sum.
struct Walk {
  std::string sum =
      "  %c1600 = const i32 0x640\n  %w = add i32 %gid, %c1600\n  %w64 = zext i64 from i32 %w\n"
      "  %woff = shl i64 %w64, %two\n  %sum = add i64 %data, %woff\n";
  std::string second =
      "  store i32 global %sum, %s1\n  %b = load i32 global %p1\n  %u1 = load i32 global %sum\n";
  std::string row = "%five";          // log2 of the bytes from thread to thread
  std::string after = "%k, %zero";    // used after the loop
  std::string other = "%one, %zero";  // ... by threads that do not walk
};

ir::Module Kernel(const Walk& walk) {
  return BarrierModule(
      "  %c16 = const i64 0x10\n  %c12 = const i64 0xc\n  %five = const i32 0x5\n  %seven = const i32 0x7\n" +
      walk.sum + "  %roff = shl i64 %gid64, " + walk.row +
      "\n  %start = add i64 %data, %roff\n  %small = icmp i32 ult %gid, %seven\n"
      "  cond_br %small, ^after(" +
      walk.other +
      "), ^walk(%start, %zero)\n"
      "^walk(%p: i64, %i: i32):\n  %p1 = add i64 %p, %four64\n  %p2 = add i64 %p1, %four64\n"
      "  %p3 = add i64 %p, %c12\n  %a = load i32 global %p\n  %u0 = load i32 global %sum\n"
      "  %m0 = mul i32 %u0, %three\n  %s1 = add i32 %m0, %a\n" +
      walk.second +
      "  %m1 = mul i32 %u1, %three\n  %s2 = add i32 %m1, %b\n  store i32 global %sum, %s2\n"
      "  %c = load i32 global %p2\n  %d = load i32 global %p3\n  %e = sub i32 %c, %d\n"
      "  %s3 = add i32 %s2, %e\n  store i32 global %sum, %s3\n"
      "  %k = add i32 %i, %one\n  %q = add i64 %p, %c16\n  %again = icmp i32 ult %k, %two\n"
      "  cond_br %again, ^walk(%q, %k), ^after(" +
      walk.after +
      ")\n"
      "^after(%x: i32, %y: i32):\n  %c1800 = const i32 0x708\n  %o1 = add i32 %gid, %c1800\n"
      "  %o2 = zext i64 from i32 %o1\n  %o3 = shl i64 %o2, %two\n  %o4 = add i64 %data, %o3\n"
      "  %o5 = add i32 %x, %y\n  store i32 global %o4, %o5\n  ret\n");
}

uint32_t Count(const ir::Module& module, ir::Opcode op) {
  return CountInstructions(module.functions.back(), [&](const ir::Inst& inst) { return inst.op == op; });
}

// The bytes of the largest load, all parts included.
size_t LargestLoad(const ir::Module& module) {
  size_t largest = 0;
  for (const ir::Inst& inst : module.functions.back().insts) {
    if (inst.block.valid() && inst.op == ir::Opcode::kLoad) largest = std::max(largest, inst.results.size());
  }
  return largest;
}

bool Divides(const ir::Module& module) {
  const ir::Module after = AfterInShape(module, "read-before-stores");
  return Count(after, ir::Opcode::kCondBr) > Count(module, ir::Opcode::kCondBr);
}

void CheckSame(const ir::Module& module) {
  for (const char* pass : {"read-before-stores", "join-neighbouring-accesses", "merge-slots"}) {
    const ir::Module after = AfterInShape(module, pass);
    for (uint32_t threads : {1u, 5u, 32u, 40u, 96u}) {
      INFO(pass << ", " << threads << " threads");
      const Outcome before = RunKernel(module, module.functions.back(), threads, 3);
      REQUIRE(before.status);
      const Outcome same = RunKernel(after, after.functions.back(), threads, 3);
      if (!same.status) FAIL(same.status.error().Render());
      CHECK(same.data == before.data);
    }
  }
}

// Where each thread's sum is in its own row: at its first word, between two words, after its last one.
std::string InRow(const std::string& bytes) {
  return "  %soff = shl i64 %gid64, %five\n  %sbytes = const i64 " + bytes +
         "\n  %srow = add i64 %data, %soff\n  %sum = add i64 %srow, %sbytes\n";
}

}  // namespace

TEST_CASE("trips along a thread's own row read it at once", "[passes][before-stores]") {
  const ir::Module module = Kernel({});
  REQUIRE(Divides(module));
  const ir::Module joined = AfterInShape(module, "join-neighbouring-accesses");
  CHECK(LargestLoad(module) == 1);
  CHECK(LargestLoad(joined) == 4);
  // One store where nothing meets, three as before where something does, one after the loop.
  CHECK(Count(joined, ir::Opcode::kStore) == 5);
  CheckSame(module);
}

TEST_CASE("values of both arms are used after the trip", "[passes][before-stores]") {
  const ir::Module module = Kernel({.after = "%s3, %c", .other = "%one, %two"});
  REQUIRE(Divides(module));
  CheckSame(module);
}

TEST_CASE("stores that meet what is read keep their order", "[passes][before-stores]") {
  for (const char* bytes : {"0x0", "0x4", "0x8", "0xc", "0x10", "0x1c"}) {
    INFO(bytes);
    const ir::Module module = Kernel({.sum = InRow(bytes)});
    REQUIRE(Divides(module));
    CheckSame(module);
  }
}

TEST_CASE("trips are left as they are where it does not pay or cannot be", "[passes][before-stores]") {
  const Walk others[] = {
      {.row = "%two"},  // neighbours' elements are side by side
      // The thread's own store is read in part.
      {.second = "  store i32 global %sum, %s1\n  %b = load i32 global %p1\n  %h = load i16 global %sum\n"
                 "  %u1 = zext i32 from i16 %h\n"},
      {.second =
           "  store i32 global %sum, %s1\n  %b = load i32 global %p1 {volatile}\n  %u1 = load i32 global "
           "%sum\n"},
      {.after = "%u1, %zero"},  // read after the trip
      {.second =
           "  %b = load i32 global %p1\n  barrier_block %zero {aligned}\n  %u1 = load i32 global %sum\n"},
  };
  for (const Walk& walk : others) {
    INFO(walk.row << ", " << walk.second << ", " << walk.after);
    CHECK_FALSE(Divides(Kernel(walk)));
  }
}
