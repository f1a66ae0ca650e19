// join-neighbouring-accesses: which accesses of a thread become one, and every reason to leave them.
#include "ir/verify/verify.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// A thread's record of `%bytes` is at %mine; %p1, %p2, %p3 are words after it, %other is memory elsewhere.
std::string Prologue(uint32_t bytes) {
  return R"(module "m" ptx 8.0 sm 80 static_shared 8192
variable shared @tile align 4 size 8192 offset 0
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %tid = special i32 tid.x
  %cta = special i32 ctaid.x
  %bytes = const i32 )" +
         std::to_string(bytes) + R"(
  %seven = const i32 0x7
  %first = shl i32 %cta, %seven
  %record = add i32 %first, %tid
  %offset = mul i32 %record, %bytes
  %offset64 = sext i64 from i32 %offset
  %mine = add i64 %data, %offset64
  %c4 = const i64 0x4
  %c12 = const i64 0xc
  %p1 = add i64 %mine, %c4
  %p2 = add i64 %mine, %c8
  %p3 = add i64 %p1, %c8
  %far = const i64 0x1c00
  %other = add i64 %data, %far
  %tile = symbol shared @tile
  %bar = const i32 0x0
)";
}

struct Case {
  const char* what;
  uint32_t bytes;  // from thread to thread
  std::string body;
  // Parts of the loads and of the stores that are left, in order of the program.
  std::vector<size_t> loads, stores;
};

const std::string kTwoLoads = "  %a = load i32 global %mine\n  %b = load i32 global %p1\n";
const std::string kTwoHalves =
    "  %c2 = const i64 0x2\n  %m2 = add i64 %mine, %c2\n  %a = load i16 global %mine\n"
    "  %b = load i16 global %m2\n  %w = pack i32 from i16 %a, %b\n";
const std::string kUse = "  %s = sub i32 %a, %b\n  store i32 global %mine, %s\n  ret\n}\n";

// Words of a row, added up.
std::string WordsOfRow(int words) {
  std::string text, sum = "%w0";
  for (int n = 0; n < words; ++n) {
    const std::string number = std::to_string(n), next = "%s" + number;
    text += "  %k" + number + " = const i64 " + std::to_string(4 * n) + "\n  %q" + number +
            " = add i64 %mine, %k" + number + "\n  %w" + number + " = load i32 global %q" + number + "\n";
    if (n == 0) continue;
    text += "  " + next + " = add i32 " + sum + ", %w" + number + "\n";
    sum = next;
  }
  return text + "  store i32 global %mine, " + sum + "\n  ret\n}\n";
}

// Addresses of shared memory as a 32-bit register and a number, each of which widens the register for itself.
std::string SharedWords(const std::string& distance) {
  return "  %t32 = trunc i32 from i64 %tile\n  %far32 = const i32 " + distance +
         "\n  %mine32 = mul i32 %tid, %far32\n  %x = add i32 %t32, %mine32\n  %x0 = zext i64 from i32 %x\n"
         "  %wide = sext i64 from i32 %x\n  %x4 = add i64 %wide, %c4\n  store i32 shared %x0, %tid\n"
         "  store i32 shared %x4, %record\n  barrier_block %bar {aligned}\n  %again = sext i64 from i32 %x\n"
         "  %y4 = add i64 %again, %c4\n  %b = load i32 shared %y4\n  %a = load i32 shared %x0\n" +
         kUse;
}

// A register that is below the window, and numbers that lead into it.
const std::string kBelowShared =
    "  %t32 = trunc i32 from i64 %tile\n  %eight = const i32 0x8\n  %mine32 = mul i32 %tid, %eight\n"
    "  %down = const i32 0xffffc000\n  %r = add i32 %mine32, %down\n  %x = add i32 %r, %t32\n"
    "  %up = const i64 0x4000\n  %up4 = const i64 0x4004\n  %w0 = sext i64 from i32 %x\n  %x0 = add i64 %w0, "
    "%up\n"
    "  %w1 = sext i64 from i32 %x\n  %x4 = add i64 %w1, %up4\n  store i32 shared %x0, %tid\n"
    "  store i32 shared %x4, %record\n  barrier_block %bar {aligned}\n  %w2 = sext i64 from i32 %x\n"
    "  %y4 = add i64 %w2, %up4\n  %b = load i32 shared %y4\n  %a = load i32 shared %x0\n" +
    kUse;

const std::vector<Case> kCases = {
    {"eight words", 32, WordsOfRow(8), {8}, {1}},
    {"seven of eight words", 32, WordsOfRow(7), {4, 3}, {1}},
    {"six words", 24, WordsOfRow(6), {4, 2}, {1}},
    {"registers of shared memory", 8, SharedWords("0x8"), {2}, {2, 1}},
    {"a register below shared memory", 8, kBelowShared, {2}, {2, 1}},
    {"far apart in shared memory", 8, SharedWords("0x18"), {1, 1}, {1, 1, 1}},
    {"two words", 8, kTwoLoads + kUse, {2}, {1}},
    {"in the other order", 8, "  %b = load i32 global %p1\n  %a = load i32 global %mine\n" + kUse, {2}, {1}},
    {"two words and two",
     16,
     "  %a, %b = load i32 global align 4 %mine\n  %c, %d = load i32 global align 4 %p2\n"
     "  %e = sub i32 %d, %a\n  store i32 global %p3, %e\n  store i32 global align 4 %mine, %c, %b\n"
     "  store i32 global %p2, %a\n  ret\n}\n",
     {4},
     {4}},
    {"past a store elsewhere in the record",
     8,
     "  %a = load i32 global %mine\n  store i32 global %mine, %tid\n  %b = load i32 global %p1\n"
     "  %s = sub i32 %a, %b\n  store i32 global %p1, %s\n  ret\n}\n",
     {2},
     {2}},
    {"past a store to other memory",
     8,
     "  %a = load i32 global %mine\n  store i32 shared %tile, %seven\n  %b = load i32 global %p1\n" + kUse,
     {2},
     {1, 1}},
    {"one load twice",
     8,
     kTwoLoads + "  %c = load i32 global %mine\n  %d = add i32 %c, %b\n" + kUse,
     {2, 1},
     {1}},
    {"records of three words",
     12,
     kTwoLoads + "  %c = load i32 global %p2\n  %d = add i32 %c, %b\n" + kUse,
     {3},
     {1}},
    {"two words of a record in a row of the data",
     4,
     "  %row = div_u i32 %tid, %n\n  %column = rem_u i32 %tid, %n\n  %place = add i32 %row, %column\n"
     "  %three = const i32 0x3\n  %bytes_on = shl i32 %place, %three\n  %on = zext i64 from i32 %bytes_on\n"
     "  %pair = add i64 %data, %on\n  %pair1 = add i64 %pair, %c4\n  %a = load i32 global %pair\n"
     "  %b = load i32 global %pair1\n  %s = sub i32 %a, %b\n  %to = add i64 %other, %offset64\n"
     "  store i32 global %to, %s\n  ret\n}\n",
     {2},
     {1}},
    // -- rows of each thread's own --
    {"two words of a long record", 40, kTwoLoads + kUse, {2}, {1}},
    {"five words of a long record",
     40,
     "  %p4 = add i64 %p3, %c4\n  %e = load i32 global %p4\n" + kTwoLoads +
         "  %c = load i32 global %p2\n  %d = load i32 global %p3\n  %f = add i32 %c, %d\n"
         "  %g = add i32 %e, %f\n  store i32 global %p1, %g\n" +
         kUse,
     {1, 4},
     {2}},
    {"as many bytes as the launch has blocks",
     1,
     "  %blocks = special i32 nctaid.x\n  %four = const i32 0x4\n  %many = mul i32 %blocks, %four\n"
     "  %apart = mul i32 %tid, %many\n  %apart64 = sext i64 from i32 %apart\n"
     "  %row = add i64 %data, %apart64\n  %row1 = add i64 %row, %c4\n  %a = load i32 global %row\n"
     "  %b = load i32 global %row1\n  %s = sub i32 %a, %b\n  store i32 global %other, %s\n  ret\n}\n",
     {2},
     {1}},
    {"where a loaded number decides",
     4,
     "  %w = load i32 global %mine\n  %k = mul i32 %w, %bytes\n  %k64 = zext i64 from i32 %k\n"
     "  %none = const i64 0x0\n  %zero = mul i64 %k64, %none\n  %row = add i64 %data, %zero\n"
     "  %row1 = add i64 %row, %c4\n  %a = load i32 global %row\n  %b = load i32 global %row1\n"
     "  %s = sub i32 %a, %b\n  store i32 global %other, %s\n  ret\n}\n",
     {1, 2},
     {1}},
    // -- parts of words --
    {"two halves that are packed", 34, kTwoHalves + "  store i32 global %other, %w\n  ret\n}\n", {1}, {1}},
    {"two words in halves, one of which is used elsewhere too",
     34,
     kTwoHalves + "  %m4 = add i64 %mine, %c4\n  %m6 = add i64 %m4, %c2\n  %y = load i16 global %m6\n"
                  "  %x = load i16 global %m4\n  %v = pack i32 from i16 %x, %y\n  %z = zext i32 from i16 %x\n"
                  "  %u = sub i32 %v, %w\n  %t = sub i32 %u, %z\n  store i32 global %other, %t\n  ret\n}\n",
     {2, 1},
     {1}},
    {"four bytes that are packed",
     11,
     "  %c1 = const i64 0x1\n  %m1 = add i64 %mine, %c1\n  %m2 = add i64 %m1, %c1\n"
     "  %m3 = add i64 %m2, %c1\n  %a = load i8 global %mine\n  %b = load i8 global %m1\n"
     "  %c = load i8 global %m2\n  %d = load i8 global %m3\n  %w = pack i32 from i8 %a, %b, %c, %d\n"
     "  store i32 global %other, %w\n  ret\n}\n",
     {1},
     {1}},
    {"halves in the other order",
     34,
     "  %c2 = const i64 0x2\n  %m2 = add i64 %mine, %c2\n  %a = load i16 global %m2\n"
     "  %b = load i16 global %mine\n  %w = pack i32 from i16 %a, %b\n  store i32 global %other, %w\n"
     "  ret\n}\n",
     {1, 1},
     {1}},
    {"a store between the halves may be to the word",
     34,
     "  %c2 = const i64 0x2\n  %m2 = add i64 %mine, %c2\n  %a = load i16 global %mine\n"
     "  store i32 global %other, %tid\n  %b = load i16 global %m2\n  %w = pack i32 from i16 %a, %b\n"
     "  store i32 global %other, %w\n  ret\n}\n",
     {1, 1},
     {1, 1}},
    // -- left --
    {"the next thread's word", 4, kTwoLoads + "  %s = sub i32 %a, %b\n  ret\n}\n", {1, 1}, {}},
    {"two of a record's three words", 12, kTwoLoads + kUse, {1, 1}, {1}},
    {"half of the record", 16, kTwoLoads + kUse, {1, 1}, {1}},
    {"a store may be to the same word",
     8,
     "  %a = load i32 global %mine\n  store i32 global %other, %tid\n  %b = load i32 global %p1\n" + kUse,
     {1, 1},
     {1, 1}},
    {"a load may be of the same word",
     8,
     "  store i32 global %mine, %tid\n  %a = load i32 global %other\n  store i32 global %p1, %a\n  ret\n}\n",
     {1},
     {1, 1}},
    {"volatile",
     8,
     "  %a = load i32 global volatile %mine\n  %b = load i32 global volatile %p1\n" + kUse,
     {1, 1},
     {1}},
    {"a fence between them",
     8,
     "  %a = load i32 global %mine\n  fence sc gpu\n  %b = load i32 global %p1\n" + kUse,
     {1, 1},
     {1}},
    {"in other types",
     8,
     "  %f = load f32 global %mine\n  %b = load i32 global %p1\n  %a = bitcast i32 from f32 %f\n" + kUse,
     {1, 1},
     {1}},
    {"stored between two stores of the word",
     8,
     "  store i32 global %mine, %tid\n  store i32 global %p1, %tid\n  store i32 global %mine, %n\n  ret\n}\n",
     {},
     {2, 1}},
};

std::vector<size_t> PartsOf(const ir::Function& f, ir::Opcode op) {
  std::vector<size_t> parts;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op != op || inst.attrs.space == ir::Space::kParam) continue;
      parts.push_back(op == ir::Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1);
    }
  }
  return parts;
}

}  // namespace

TEST_CASE("neighbouring accesses of a thread become one where the next thread's follow", "[passes]") {
  for (const Case& one : kCases) {
    INFO(one.what);
    ir::Module module = ParseModule(Prologue(one.bytes) + one.body);
    ir::Function& f = Kernel(module);
    const Outcome before = RunKernel(module, f, 33, 3);
    if (!before.status) FAIL(before.status.error().Render());
    REQUIRE(lowering::JoinNeighbouringAccesses(module, f, {}));
    const Status valid = ir::Verify(module, f);
    if (!valid) FAIL(valid.error().Render() << ir::Print(module));
    CHECK(PartsOf(f, ir::Opcode::kLoad) == one.loads);
    CHECK(PartsOf(f, ir::Opcode::kStore) == one.stores);
    const Outcome after = RunKernel(module, f, 33, 3);
    if (!after.status) FAIL(after.status.error().Render());
    CHECK(after.data == before.data);
  }
}
