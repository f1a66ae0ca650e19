// A block's sums: a tree in each warp, then one over the warps by some of them. The trees of all warps share
// vectors, and trips of warps that have nothing to do are not taken. Results are those of threads one by one,
// for all types, operations, sizes of blocks, warps that finish, and where lanes have exited, memory is
// volatile or sums are atomic.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

struct Operation {
  std::string name, type;
  uint32_t bytes;
};

struct Shape {
  std::string idle = "setp.ge.u32 %p, %t, 32;";  // which threads do not finish the sum
  std::string access;                            // of shared memory
  bool exits = false, atomic = false, two_sums = false, up = false;
};

std::string Tree(const Operation& operation, const std::string& value, bool up) {
  std::string text;
  for (const char* distance : {"16", "8", "4", "2", "1"}) {
    const std::string mode = up ? "up" : "down", clamp = up ? "0" : "31";
    if (operation.bytes == 8) {
      text += "  mov.b64 {%low, %high}, " + value + ";\n";
      for (const char* half : {"%low", "%high"})
        text += std::string("  shfl.sync.") + mode + ".b32 " + half + ", " + half + ", " + distance + ", " +
                clamp + ", -1;\n";
      text += "  mov.b64 %w, {%low, %high};\n";
    } else {
      text += "  shfl.sync." + mode + ".b32 %w, " + value + ", " + distance + ", " + clamp + ", -1;\n";
    }
    text += "  " + operation.name + "." + operation.type + " " + value + ", " + value + ", %w;\n";
  }
  return text;
}

std::string Kernel(const Operation& operation, uint32_t threads, const Shape& shape) {
  const std::string bytes = std::to_string(operation.bytes), bits = std::to_string(8 * operation.bytes),
                    warps = std::to_string((threads + 31) / 32), type = operation.type;
  const bool is_float = type[0] == 'f';
  const std::string registers = (is_float ? ".f" : ".b") + bits;
  std::string text =
      kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid " + std::to_string(threads) +
      "\n{\n  .reg .pred %p; .reg .b32 %t, %lane, %warp, %at, %low, %high, %parts; .reg .b64 %in, "
      "%out, %sum, %d;\n  .reg " +
      registers + " %v, %w, %u;\n  .shared .align 16 .b8 parts[512];\n" + R"(
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  mov.u32 %parts, parts;
  and.b32 %lane, %t, 31;
  shr.u32 %warp, %t, 5;
  mul.wide.u32 %d, %t, )" +
      bytes + ";\n  add.s64 %in, %in, %d;\n  mov.b64 %sum, %out;\n  add.s64 %out, %out, %d;\n  ld.global." +
      type + " %v, [%in];\n";
  if (shape.exits) text += "  rem.u32 %at, %t, 7;\n  setp.eq.u32 %p, %at, 3;\n  @%p exit;\n";
  if (shape.two_sums)
    text += "  " + operation.name + "." + type + " %u, %v, %v;\n" + Tree(operation, "%u", shape.up);
  text += Tree(operation, "%v", shape.up) + "  mad.lo.u32 %at, %warp, " + bytes +
          ", %parts;\n  setp.ne.u32 %p, %lane, " + (shape.up ? "31" : "0") + ";\n  @%p bra STORED;\n  st" +
          shape.access + ".shared." + type + " [%at], %v;\n";
  if (shape.two_sums) text += "  st" + shape.access + ".shared." + type + " [%at+256], %u;\n";
  text += "STORED:\n  bar.sync 0;\n  " + shape.idle + "\n  @%p bra DONE;\n  mad.lo.u32 %at, %lane, " + bytes +
          ", %parts;\n  setp.ge.u32 %p, %lane, " + warps + ";\n  mov.b" + bits + " %v, 0" +
          ";\n  @%p bra ADD;\n  ld" + shape.access + ".shared." + type + " %v, [%at];\n";
  if (shape.two_sums)
    text += "  ld" + shape.access + ".shared." + type + " %u, [%at+256];\n  " + operation.name + "." + type +
            " %v, %v, %u;\n";
  text += "ADD:\n" + Tree(operation, "%v", shape.up) + "  st.global." + type + " [%out], %v;\n";
  if (shape.atomic) text += "  setp.ne.u32 %p, %lane, 0;\n  @!%p red.global.add." + type + " [%sum], %v;\n";
  text += "DONE:\n  ret;\n}\n";
  if (is_float) {
    for (size_t at = 0; (at = text.find("mov.b" + bits + " %v", at)) != std::string::npos; ++at)
      text[at + 4] = 'f';
    const std::string zero = operation.bytes == 8 ? "0d0000000000000000" : "0f00000000";
    for (size_t at = 0; (at = text.find(" %v, 0;", at)) != std::string::npos; ++at)
      text.replace(at + 5, 1, zero);
  }
  return text;
}

std::vector<std::byte> Run(const std::string& text, const Operation& operation, uint32_t threads,
                           uint32_t lane_width) {
  lowering::JitOptions options;
  options.lane_width = lane_width;
  auto kernel = JitKernel::Create(BuildKernel(text, "k"), options);
  if (!kernel) FAIL(text << kernel.error().Render());
  harness::KernelCall call{{3, 1, 1}, {threads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t seed : {7u, 11u}) {
    auto words = rt::ParseSpec("inout:" + operation.type + ":[0]");
    REQUIRE(words);
    words->data.resize(size_t{operation.bytes} * threads);
    for (uint32_t i = 0; i < threads; ++i) {
      const double number = (i * seed + 1) % 29 / 8.0;
      const auto real = static_cast<float>(number);
      const uint32_t word = i * seed * 2654435761u;
      std::byte* at = words->data.data() + size_t{operation.bytes} * i;
      if (operation.bytes == 8) {
        std::memcpy(at, &number, 8);
      } else {
        std::memcpy(at, operation.type[0] == 'f' ? static_cast<const void*>(&real) : &word, 4);
      }
    }
    call.arguments.push_back(std::move(*words));
  }
  const Status status = (*kernel)->Run(call);
  if (!status) FAIL(text << status.error().Render());
  return call.arguments[1].data;
}

void Check(const Operation& operation, uint32_t threads, const Shape& shape) {
  const std::string text = Kernel(operation, threads, shape);
  INFO(text);
  CHECK(Run(text, operation, threads, 0) == Run(text, operation, threads, 1));
}

const Operation kOperations[] = {
    {"add", "f32", 4}, {"add.ftz", "f32", 4}, {"max", "f32", 4},    {"min.NaN", "f32", 4}, {"add", "u32", 4},
    {"max", "s32", 4}, {"xor", "b32", 4},     {"mul.lo", "u32", 4}, {"add", "f64", 8},     {"max", "f64", 8}};

}  // namespace

TEST_CASE("sums of blocks in vectors are those of threads one by one", "[long]") {
  for (const Operation& operation : kOperations) {
    for (const uint32_t threads : {64u, 96u, 128u, 256u, 480u, 512u, 1000u, 1024u})
      Check(operation, threads, {});
  }
}

TEST_CASE("sums of blocks are right whichever warps finish them", "[long]") {
  test::Sample sample(5);
  for (const char* idle : {"setp.ge.u32 %p, %t, 64;", "setp.gt.u32 %p, %t, 95;", "setp.ne.u32 %p, %warp, 0;",
                           "setp.ne.u32 %p, %warp, 2;", "setp.eq.u32 %p, %warp, 0;",
                           "setp.lt.u32 %p, %t, 96;", "setp.ge.s32 %p, %t, 33;", "setp.eq.u32 %p, %t, 5;"}) {
    for (const uint32_t threads : {128u, 256u}) {
      for (const bool atomic : {false, true}) {
        if (!sample.Skips())
          Check({"add", "u32", 4}, threads, {.idle = idle, .access = "", .atomic = atomic});
      }
    }
  }
}

TEST_CASE("sums of blocks are right in other orders and with exited lanes, volatile memory and atomics",
          "[long]") {
  for (const Operation& operation : {kOperations[0], kOperations[4], kOperations[8]}) {
    for (const uint32_t threads : {64u, 256u, 300u}) {
      Check(operation, threads, {.access = ".volatile"});
      Check(operation, threads, {.access = "", .exits = true});
      Check(operation, threads, {.access = "", .two_sums = true});
      Check(operation, threads, {.access = "", .two_sums = true, .up = true});
      if (operation.type == "u32")
        Check(operation, threads, {.access = ".volatile", .exits = true, .atomic = true});
    }
  }
}
