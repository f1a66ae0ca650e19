// Sums of warps that are stored side by side, for the first warp to add them up: results are those of threads
// one by one, for all types of elements, numbers of warps, and where a place is read or stored again between
// the stores.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

enum class Between { kNothing, kStoresTwice };

struct Element {
  const char *type, *registers;
  uint32_t bytes;
};

// The sum of the block, by shuffles and through shared memory.
std::string BlockSum(const Element& element, uint32_t threads, Between between) {
  const std::string type = element.type, bytes = std::to_string(element.bytes),
                    warps = std::to_string(threads / 32);
  std::string text = kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid " +
                     std::to_string(threads) +
                     "\n{\n  .reg .pred %p; .reg .b32 %t, %lane, %warp, %at, %low, %high; .reg .b64 %in, "
                     "%out, %d;\n  .reg " +
                     element.registers + " %v, %w, %first;\n  .shared .align 16 .b8 parts[256];\n" + R"(
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  shr.u32 %warp, %t, 5;
  mul.wide.u32 %d, %t, )" +
                     bytes + ";\n  add.s64 %in, %in, %d;\n  add.s64 %out, %out, %d;\n  ld.global." + type +
                     " %v, [%in];\n  mov.b" + std::to_string(8 * element.bytes) + " %first, %v;\n";
  auto tree = [&] {
    for (const char* distance : {"16", "8", "4", "2", "1"}) {
      if (element.bytes == 8) {
        text += std::string("  mov.b64 {%low, %high}, %v;\n  shfl.sync.down.b32 %low, %low, ") + distance +
                ", 31, -1;\n  shfl.sync.down.b32 %high, %high, " + distance +
                ", 31, -1;\n  mov.b64 %w, {%low, %high};\n";
      } else {
        text += std::string("  shfl.sync.down.b32 %w, %v, ") + distance + ", 31, -1;\n";
      }
      text += "  add." + type + " %v, %v, %w;\n";
    }
  };
  tree();
  text +=
      "  mov.u32 %low, parts;\n  mad.lo.u32 %at, %warp, " + bytes + ", %low;\n  setp.ne.u32 %p, %lane, 0;\n";
  text += "  @%p bra STORED;\n";
  if (between == Between::kStoresTwice) text += "  st.shared." + type + " [%at], %first;\n";
  text += "  st.shared." + type +
          " [%at], %v;\nSTORED:\n  bar.sync 0;\n  setp.ge.u32 %p, %t, 32;\n  @%p bra DONE;\n" +
          "  mad.lo.u32 %at, %lane, " + bytes + ", %low;\n  setp.ge.u32 %p, %lane, " + warps + ";\n  sub." +
          (element.bytes == 8 ? std::string("f64") : type) + " %v, %v, %v;\n  @%p bra ADD;\n  ld.shared." +
          type + " %v, [%at];\nADD:\n";
  tree();
  return text + "  st.global." + type + " [%out], %v;\nDONE:\n  ret;\n}\n";
}

std::vector<std::byte> Run(const Element& element, uint32_t threads, Between between, uint32_t lane_width) {
  lowering::JitOptions options;
  options.lane_width = lane_width;
  const SharedKernel kernel = CompileText(BlockSum(element, threads, between), options);
  harness::KernelCall call{{1, 1, 1}, {threads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t seed : {7u, 11u}) {
    auto words = rt::ParseSpec(std::string("inout:") + element.type + ":[0]");
    REQUIRE(words);
    words->data.resize(size_t{element.bytes} * threads);
    for (uint32_t i = 0; i < threads; ++i) {
      const double number = (i * seed + 1) % 29;
      const auto real = static_cast<float>(number);
      const auto word = static_cast<uint32_t>(number);
      std::byte* at = words->data.data() + size_t{element.bytes} * i;
      if (element.bytes == 8) {
        std::memcpy(at, &number, 8);
      } else {
        std::memcpy(at, element.type[0] == 'f' ? static_cast<const void*>(&real) : &word, 4);
      }
    }
    call.arguments.push_back(std::move(*words));
  }
  RunOrFail(*kernel, call);
  return call.arguments[1].data;
}

}  // namespace

TEST_CASE("sums of warps that are stored together are those of threads one by one", "[long]") {
  for (const Element& element : {Element{"f32", ".f32", 4}, {"u32", ".b32", 4}, {"f64", ".f64", 8}}) {
    for (const uint32_t threads : {64u, 128u, 160u, 256u, 512u, 1024u}) {
      for (const Between between : {Between::kNothing, Between::kStoresTwice}) {
        INFO(element.type << ", " << threads << " threads, " << static_cast<int>(between));
        CHECK(Run(element, threads, between, 0) == Run(element, threads, between, 1));
      }
    }
  }
}
