// Programs choose the sums of their products of matrices, whatever PTX2CPU_MATRIX_SUMS is.
#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

// Sixteen ones are added to 2^24: what f32 holds of the exact sum, or what remains of each sum on the way.
constexpr std::string_view kProduct = R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %p, %at; .reg .b32 %one, %lane; .reg .f32 %c, %d<4>;
  ld.param.u64 %p, [p]; mov.u32 %lane, %tid.x; mul.wide.u32 %at, %lane, 4; add.s64 %p, %p, %at;
  mov.b32 %one, 0x3c003c00; mov.f32 %c, 0f4B800000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%one, %one, %one, %one},
    {%one, %one}, {%c, %c, %c, %c};
  st.global.f32 [%p], %d0;
  ret;
}
)";

TEST_CASE("a program's sums of matrix products are the recorded ones or chains") {
  for (const auto& [sums, bits] : {std::pair("recorded", 0x4b800008u), {"chained", 0x4b800000u}}) {
    INFO(sums);
    LoadOptions options;
    options.matrix_sums = sums;
    const std::vector<uint32_t> words =
        Words(Linked({std::string(kProduct)}, options), "k", 32, {.block = {32}});
    CHECK(words == std::vector<uint32_t>(32, bits));
  }
  LoadOptions options;
  options.matrix_sums = "fast";
  const auto program = Program::FromPtx(Ptx(kProduct), "k.ptx", options);
  REQUIRE_FALSE(program);
  CHECK_THAT(program.error().Render(), Catch::Contains("LoadOptions::matrix_sums is recorded, chained"));
}

}  // namespace
}  // namespace ptx2cpu::api_test
