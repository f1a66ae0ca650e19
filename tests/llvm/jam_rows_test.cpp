// Rows of threads that go through chains of operations together: results are those of threads one by one,
// with what comes before and after the chains (a guard on the row, a second store) and scratch that each row
// uses anew.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kColumns = 16;

struct Shape {
  uint32_t rows = 16, terms = 12;
  bool guards = false;   // only rows below `limit` store
  bool rereads = false;  // between two halves of the chain a row stores what it reads again afterwards
};

// A tile of rows x 16 words in shared memory: out[y][x] = sum of tile[y][k] * tile[k][x].
std::string Product(const Shape& shape) {
  const std::string bytes = std::to_string(4 * kColumns * shape.rows);
  std::string text =
      kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 plimit)\n.reqntid 16, " +
      std::to_string(shape.rows) +
      "\n{\n  .reg .pred %p; .reg .b32 %x, %y, %t, %at, %row, %limit; .reg .b64 %in, %out, %d;\n"
      "  .reg .f32 %s, %a, %b;\n  .shared .align 16 .b8 tile[" +
      bytes + R"(];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %limit, [plimit];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %t, %y, 16, %x;
  mul.wide.u32 %d, %t, 4;
  add.s64 %in, %in, %d;
  add.s64 %out, %out, %d;
  ld.global.f32 %a, [%in];
  mov.u32 %row, tile;
  shl.b32 %at, %t, 2;
  add.u32 %at, %row, %at;
  st.shared.f32 [%at], %a;
  bar.sync 0;
  shl.b32 %at, %x, 2;
  add.u32 %at, %row, %at;
  mad.lo.u32 %row, %y, 64, %row;
  ld.global.f32 %s, [%out];
)";
  for (uint32_t k = 0; k < shape.terms; ++k) {
    text += "  ld.shared.f32 %a, [%row+" + std::to_string(4 * k) + "];\n  ld.shared.f32 %b, [%at+" +
            std::to_string(4 * kColumns * (k % shape.rows)) + "];\n  fma.rn.f32 %s, %a, %b, %s;\n";
    if (shape.rereads && k == shape.terms / 2)
      text += "  st.global.f32 [%in], %s;\n  ld.global.f32 %b, [%in];\n  mul.f32 %s, %b, %s;\n";
  }
  if (shape.guards) text += "  setp.ge.u32 %p, %y, %limit;\n  @%p bra DONE;\n";
  return text + "  st.global.f32 [%out], %s;\nDONE:\n  ret;\n}\n";
}

std::vector<std::vector<std::byte>> Run(const Shape& shape, uint32_t lane_width) {
  lowering::JitOptions options;
  options.lane_width = lane_width;
  auto kernel = JitKernel::Create(BuildKernel(Product(shape), "k"), options);
  if (!kernel) FAIL(kernel.error().Render());
  harness::KernelCall call{{1, 1, 1}, {kColumns, shape.rows, 1}, 0, {}, {}, {}};
  for (const uint32_t seed : {3u, 5u}) {
    auto words = rt::ParseSpec("inout:f32:[0]");
    REQUIRE(words);
    words->data.resize(size_t{4} * kColumns * shape.rows);
    for (uint32_t i = 0; i < kColumns * shape.rows; ++i) {
      const float value = static_cast<float>((i * seed + 1) % 23) / 8;
      std::memcpy(words->data.data() + size_t{4} * i, &value, 4);
    }
    call.arguments.push_back(std::move(*words));
  }
  auto limit = rt::ParseSpec("u32:" + std::to_string(shape.rows - 3));
  REQUIRE(limit);
  call.arguments.push_back(std::move(*limit));
  RunOrFail(**kernel, call);
  return {call.arguments[0].data, call.arguments[1].data};
}

}  // namespace

TEST_CASE("rows that go through a chain together compute what threads one by one do", "[long]") {
  for (const uint32_t rows : {4u, 6u, 7u, 16u}) {
    for (const uint32_t terms : {8u, 12u, 16u}) {
      for (const bool guards : {false, true}) {
        for (const bool rereads : {false, true}) {
          const Shape shape{rows, terms, guards, rereads};
          INFO(rows << " rows, " << terms << " terms, " << guards << rereads);
          const auto expected = Run(shape, 1);
          CHECK(Run(shape, 0) == expected);
          CHECK(Run(shape, 16) == expected);
        }
      }
    }
  }
}

TEST_CASE("atomic sums after a chain lose no row") {
  constexpr uint32_t kRows = 8, kThreads = 32 * kRows;
  std::string text = kHead + R"(.visible .entry k(.param .u64 pin, .param .u64 pout)
.reqntid 32, 8
{
  .reg .pred %p; .reg .b32 %x, %y, %t, %at, %v; .reg .b64 %in, %out, %d; .reg .f32 %f;
  .shared .align 4 .b8 tile[8];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %t, %y, 32, %x;
  setp.lt.u32 %p, %t, 2;
  mul.wide.u32 %d, %t, 4;
  add.s64 %in, %in, %d;
  add.s64 %out, %out, %d;
  mov.u32 %at, tile;
  mad.lo.u32 %v, %t, 4, %at;
  @%p st.shared.u32 [%v], 0;
  bar.sync 0;
  ld.global.f32 %f, [%in];
)";
  for (int i = 0; i < 12; ++i) text += "  fma.rn.f32 %f, %f, 0f3F000000, %f;\n";
  text += R"(  cvt.rzi.u32.f32 %t, %f;
  and.b32 %y, %y, 1;
  mad.lo.u32 %y, %y, 4, %at;
  red.shared.add.u32 [%y], %t;
  bar.sync 0;
  @!%p bra DONE;
  ld.shared.u32 %t, [%v];
  st.global.u32 [%out], %t;
DONE:
  ret;
}
)";
  const auto run = [&](uint32_t lane_width) {
    lowering::JitOptions options;
    options.lane_width = lane_width;
    auto kernel = JitKernel::Create(BuildKernel(text, "k"), options);
    if (!kernel) FAIL(kernel.error().Render());
    harness::KernelCall call{{1, 1, 1}, {32, kRows, 1}, 0, {}, {}, {}};
    for (const char* spec : {"inout:f32:[0]", "inout:u32:[0]"}) {
      call.arguments.push_back(*rt::ParseSpec(spec));
      call.arguments.back().data.resize(size_t{4} * kThreads);
    }
    for (uint32_t i = 0; i < kThreads; ++i) {
      const auto value = static_cast<float>(i % 29);
      std::memcpy(call.arguments[0].data.data() + size_t{4} * i, &value, 4);
    }
    RunOrFail(**kernel, call);
    return call.arguments[1].data;
  };
  const auto expected = run(1);
  CHECK(run(0) == expected);
  CHECK(run(32) == expected);
}
