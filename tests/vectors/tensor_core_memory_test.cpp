// Tensor memory of tcgen05: allocation, the shapes of loads and stores, copies and shifts, in the interpreter
// and as compiled code, against definitions written here.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "lowering/compile.h"
#include "tests/vectors/tensor_core_kernel.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

// What a kernel with one output buffer of words computes, in both engines.
std::pair<std::vector<uint32_t>, std::vector<uint32_t>> Outputs(const std::string& text, uint32_t blocks,
                                                                uint32_t threads, size_t words) {
  auto ptx = lowering::PtxModule::Parse(text, "tensor_memory.ptx");
  if (!ptx) FAIL(ptx.error().Render());
  lowering::BuildOptions simt;
  simt.pipeline.stop_after = "ir";
  auto source = ptx->Build("k", simt);
  if (!source) FAIL(source.error().Render());
  auto module = ptx->Build("k");
  if (!module) FAIL(module.error().Render());
  auto compiled = harness::CompiledCall::Make(std::make_shared<const ir::Module>(std::move(*module)),
                                              {.optimisation = 1});
  if (!compiled) FAIL(compiled.error().Render());
  std::vector<uint32_t> results[2];
  for (const bool interprets : {true, false}) {
    harness::KernelCall call{.grid = {blocks, 1, 1},
                             .block = {threads, 1, 1},
                             .arguments = {*rt::ParseSpec(fmt::format("out:u32:{}", words))}};
    const Status status = interprets ? harness::RunInterpreter(*source, call) : compiled->Run(call);
    if (!status) FAIL(status.error().Render());
    std::vector<uint32_t>& result = results[interprets ? 0 : 1];
    result.resize(words);
    std::memcpy(result.data(), call.arguments[0].data.data(), words * 4);
  }
  return {results[0], results[1]};
}

void CheckOutputs(const std::string& text, uint32_t blocks, uint32_t threads,
                  const std::vector<uint32_t>& expected) {
  const auto [interpreted, compiled] = Outputs(text, blocks, threads, expected.size());
  CHECK(interpreted == expected);
  CHECK(compiled == expected);
}

// Row and column of register r of lane t (Figures 183 to 187).
struct Cell {
  uint32_t row, column;
};
struct Shape {
  const char* word;
  uint32_t registers;  // of .x1
  Cell (*cell)(uint32_t t, uint32_t r, uint32_t half);
};
constexpr uint32_t kHalf = 20;  // immHalfSplitoff
constexpr Shape kShapes[] = {
    {"32x32b", 1, [](uint32_t t, uint32_t r, uint32_t) { return Cell{t, r}; }},
    {"16x32bx2", 1,
     [](uint32_t t, uint32_t r, uint32_t half) { return Cell{t % 16, r + (t < 16 ? 0 : half)}; }},
    {"16x64b", 1,
     [](uint32_t t, uint32_t r, uint32_t) { return Cell{t / 4 + t % 2 * 8, r * 2 + t % 4 / 2}; }},
    {"16x128b", 2,
     [](uint32_t t, uint32_t r, uint32_t) { return Cell{t / 4 + r % 2 * 8, r / 2 * 4 + t % 4}; }},
    {"16x256b", 4,
     [](uint32_t t, uint32_t r, uint32_t) {
       return Cell{t / 4 + r / 2 % 2 * 8, r / 4 * 8 + t % 4 * 2 + r % 2};
     }},
};

// Each cell has its row and column (and other bits above 16 of both halves). Registers are loaded in a shape,
// written out, and stored in the same shape 32 columns further.
std::string ShapeText(const Shape& shape, uint32_t number, bool packs, uint32_t first_row) {
  const uint32_t count = shape.registers * number;
  std::string registers, writes;
  for (uint32_t r = 0; r < count; ++r) {
    registers += fmt::format("{}%r{}", r == 0 ? "" : ", ", r);
    writes += fmt::format("st.global.b32 [%p+{}], %r{};\n  ", r * 4, r);
  }
  const bool split = std::strcmp(shape.word, "16x32bx2") == 0;
  const std::string half = split ? fmt::format(", {}", kHalf) : "";
  return fmt::format(R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p_out)
{{
  .shared .align 4 .b32 place;
  .reg .b32 %i, %v, %t, %a, %b, %row, %r<{0}>;
  .reg .b64 %p;
  .reg .pred %more, %first;
  mov.u32 %row, %tid.x;
  setp.lt.u32 %first, %row, 32;
  @%first tcgen05.alloc.cta_group::1.sync.aligned.b32 [place], 64;
  bar.sync 0;
  ld.shared.b32 %t, [place];
  and.b32 %a, %row, 96;
  shl.b32 %a, %a, 16;
  add.u32 %a, %a, %t;
  mov.u32 %i, 0;
more:
  mul.lo.u32 %v, %i, 0x10001;
  mad.lo.u32 %v, %row, 0x100, %v;
  add.u32 %b, %a, %i;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%b], {{%v}};
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, 64;
  @%more bra more;
  add.u32 %a, %a, {1};
  tcgen05.ld.sync.aligned.{2}.x{3}{4}.b32 {{{5}}}, [%a]{6};
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %p, [p_out];
  mad.wide.u32 %p, %row, {7}, %p;
  {8}
  tcgen05.st.sync.aligned.{2}.x{3}{9}.b32 [%a+32]{6}, {{{5}}};
  tcgen05.wait::st.sync.aligned;
  sub.u32 %a, %a, {1};
  ld.param.u64 %p, [p_out];
  mad.wide.u32 %p, %row, 256, %p;
  add.u64 %p, %p, {10};
  mov.u32 %i, 0;
dump:
  add.u32 %b, %a, %i;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%v}}, [%b];
  st.global.b32 [%p], %v;
  add.u64 %p, %p, 4;
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, 64;
  @%more bra dump;
  bar.sync 0;
  @%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 64;
  ret;
}}
)",
                     count, first_row << 16, shape.word, number, packs ? ".pack::16b" : "", registers, half,
                     count * 4, writes, packs ? ".unpack::16b" : "", 128 * count * 4);
}

std::vector<uint32_t> ShapeExpected(const Shape& shape, uint32_t number, bool packs, uint32_t first_row) {
  const uint32_t count = shape.registers * number;
  std::vector<uint32_t> registers, cells;
  for (uint32_t row = 0; row < 128; ++row) {
    for (uint32_t column = 0; column < 64; ++column) cells.push_back(column * 0x10001 + row * 0x100);
  }
  const std::vector<uint32_t> before = cells;
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t r = 0; r < count; ++r) {
      const uint32_t half =
          packs ? kHalf / 2 : kHalf;  // the distance of the halves is in columns as they are
      Cell cell = shape.cell(thread % 32, r, half);
      cell.row += thread / 32 * 32 + first_row;
      const uint32_t at = cell.row * 64 + cell.column * (packs ? 2 : 1);
      const uint32_t value = packs ? (before[at] & 0xffff) | before[at + 1] << 16 : before[at];
      registers.push_back(value);
      cells[at + 32] = packs ? value & 0xffff : value;
      if (packs) cells[at + 33] = value >> 16;
    }
  }
  registers.insert(registers.end(), cells.begin(), cells.end());
  return registers;
}

}  // namespace

TEST_CASE("tcgen05.ld and tcgen05.st: the registers of each shape") {
  for (const Shape& shape : kShapes) {
    for (const bool packs : {false, true}) {
      const uint32_t number = shape.registers == 4 ? (packs ? 1 : 2) : 4,
                     first_row = shape.word[0] == '1' ? 16 : 0;
      INFO(shape.word << (packs ? " packed" : ""));
      CheckOutputs(ShapeText(shape, number, packs, first_row), 1, 128,
                   ShapeExpected(shape, number, packs, first_row));
    }
  }
}

TEST_CASE("tcgen05.ld.red: minimum and maximum of a lane's columns") {
  const std::string text = R"(.version 9.0
.target sm_103a
.address_size 64
.visible .entry k(.param .u64 p_out)
{
  .shared .align 4 .b32 place;
  .reg .b32 %t, %row, %r<4>, %m, %n, %f;
  .reg .b64 %p;
  mov.u32 %row, %tid.x;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;
  ld.shared.b32 %t, [place];
  sub.u32 %r0, %row, 8;
  mov.b32 %r1, 0xc0400000;
  mul.lo.u32 %r2, %row, 3;
  mov.b32 %r3, 0x7fc00000;
  tcgen05.st.sync.aligned.32x32b.x4.b32 [%t], {%r0, %r1, %r2, %r3};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.red.sync.aligned.32x32b.x4.min.s32 {%r0, %r1, %r2, %r3}, %m, [%t];
  tcgen05.ld.red.sync.aligned.32x32b.x2.max.u32 {%r0, %r1}, %n, [%t];
  tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.abs.f32 {%r0, %r1}, %f, [%t], 2;
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %p, [p_out];
  mad.wide.u32 %p, %row, 12, %p;
  st.global.b32 [%p], %m;
  st.global.b32 [%p+4], %n;
  st.global.b32 [%p+8], %f;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;
  ret;
}
)";
  std::vector<uint32_t> expected;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    expected.push_back(0xc0400000);
    expected.push_back(lane < 8 ? lane - 8 : 0xc0400000);
    // Columns 0 and 1 of rows 0 to 15 (the first eight of which are NaN), then columns 2 and 3, of which one
    // is.
    expected.push_back(lane < 16 ? 0x40400000 : (lane - 16) * 3);
  }
  CheckOutputs(text, 1, 32, expected);
}

// Warps 0 and 1 take all columns; warp 2 gets those of warp 0 when that has returned them. No block finds
// what an earlier one has left.
TEST_CASE("tcgen05.alloc waits for columns") {
  const std::string text = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p_out)
{
  .shared .align 4 .b32 place[3];
  .reg .b32 %t, %a, %warp, %v, %i;
  .reg .b64 %p;
  .reg .pred %is;
  mov.u32 %i, %tid.x;
  shr.u32 %warp, %i, 5;
  mov.u32 %a, place;
  setp.eq.u32 %is, %warp, 0;
  @%is tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%a], 256;
  bar.sync 0;
  setp.eq.u32 %is, %warp, 1;
  @%is tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%a+4], 256;
  bar.sync 0;
  setp.ne.u32 %is, %warp, 2;
  @%is bra others;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%a+8], 128;
  bra done;
others:
  setp.ne.u32 %is, %warp, 0;
  @%is bra done;
  nanosleep.u32 1000;
  ld.shared.b32 %t, [%a];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 256;
done:
  bar.sync 0;
  setp.ne.u32 %is, %i, 0;
  @%is ret;
  ld.param.u64 %p, [p_out];
  mov.u32 %i, %ctaid.x;
  mad.wide.u32 %p, %i, 12, %p;
  ld.shared.b32 %v, [%a];
  st.global.b32 [%p], %v;
  ld.shared.b32 %v, [%a+4];
  st.global.b32 [%p+4], %v;
  ld.shared.b32 %v, [%a+8];
  st.global.b32 [%p+8], %v;
  ret;
}
)";
  CheckOutputs(text, 3, 96, {0, 256, 0, 0, 256, 0, 0, 256, 0});
}

// -- copies and shifts --

namespace {

TensorKernel Filled(uint32_t blocks, const std::string& operation, uint64_t descriptor) {
  TensorKernel kernel{.operation =
                          "cvt.u64.u32 %q, %base;\n  and.b64 %q, %q, 0x3ffff;\n  shr.u64 %q, %q, 4;\n  "
                          "add.u64 %q0, %q0, %q;\n  " +
                          operation,
                      .blocks = blocks,
                      .columns = 24,
                      .numbers = {descriptor}};
  std::mt19937 random(7);
  kernel.shared.resize(size_t{blocks} * 4096);
  kernel.memory.resize(size_t{blocks} * kTensorLanes * kernel.columns);
  for (uint32_t& word : kernel.shared) word = static_cast<uint32_t>(random());
  for (uint32_t& word : kernel.memory) word = static_cast<uint32_t>(random());
  return kernel;
}

constexpr uint32_t kLeading = 2048, kStride = 256;
constexpr uint64_t kDescriptor =
    uint64_t{kLeading >> 4} << 16 | uint64_t{kStride >> 4} << 32 | uint64_t{1} << 46;

// Word of 16-byte chunk `chunk` of a row, without a swizzle.
uint32_t SourceWord(const TensorKernel& kernel, uint32_t block, uint32_t row, uint32_t chunk, uint32_t word) {
  return kernel.shared[block * 4096 + (row / 8 * kStride + row % 8 * 16 + chunk * kLeading) / 4 + word];
}

struct CopyCase {
  const char* words;
  uint32_t rows, chunks;
  std::vector<uint32_t> (*lanes)(uint32_t row);
};

}  // namespace

TEST_CASE("tcgen05.cp: the lanes of each shape") {
  const CopyCase cases[] = {
      {"128x256b", 64, 2, [](uint32_t row) { return std::vector{row}; }},
      {"128x128b", 128, 1, [](uint32_t row) { return std::vector{row}; }},
      {"4x256b", 4, 2, [](uint32_t row) { return std::vector{row * 32 + 5}; }},
      {"64x128b.warpx2::02_13", 64, 1, [](uint32_t row) { return std::vector{row, row + 64}; }},
      {"64x128b.warpx2::01_23", 64, 1,
       [](uint32_t row) {
         const uint32_t lane = row < 32 ? row : row + 32;
         return std::vector{lane, lane + 32};
       }},
      {"32x128b.warpx4", 32, 1, [](uint32_t row) { return std::vector{row, row + 32, row + 64, row + 96}; }},
  };
  for (const CopyCase& c : cases) {
    INFO(c.words);
    const bool is_low = c.rows == 4;  // begins at another lane
    TensorKernel kernel = Filled(
        1, fmt::format("tcgen05.cp.cta_group::1.{} [%t+{}], %q0;", c.words, 3 + (is_low ? 5 << 16 : 0)),
        kDescriptor);
    TensorKernel expected = kernel;
    const uint32_t rows = std::strcmp(c.words, "128x256b") == 0 ? 128 : c.rows;
    for (uint32_t row = 0; row < rows; ++row) {
      for (const uint32_t lane : c.lanes(row)) {
        for (uint32_t word = 0; word < c.chunks * 4; ++word)
          expected.Cell(0, lane, 3 + word) = SourceWord(kernel, 0, row, word / 4, word % 4);
      }
    }
    CheckTensorKernel(kernel, expected.memory);
  }
}

TEST_CASE("tcgen05.cp: formats of 4 and 6 bits become bytes, in both blocks of a pair") {
  for (const uint32_t bits : {4, 6}) {
    INFO(bits << " bits");
    TensorKernel kernel = Filled(2,
                                 fmt::format("tcgen05.cp.cta_group::2.128x128b.b8x16.{} [%t], %q0;",
                                             bits == 4 ? "b4x16_p64" : "b6x16_p32"),
                                 kDescriptor);
    TensorKernel expected = kernel;
    for (uint32_t block = 0; block < 2; ++block) {
      for (uint32_t row = 0; row < 128; ++row) {
        for (uint32_t word = 0; word < 4; ++word) {
          uint32_t& cell = expected.Cell(block, row, word) = 0;
          for (uint32_t n = 0; n < 4; ++n) {
            uint32_t element = 0;
            for (uint32_t bit = 0; bit < bits; ++bit) {
              const uint32_t at = (word * 4 + n) * bits + bit;
              element |= (SourceWord(kernel, block, row, 0, at / 32) >> at % 32 & 1) << bit;
            }
            cell |= (bits == 4 ? element << 2 : element) << 8 * n;
          }
        }
      }
    }
    CheckTensorKernel(kernel, expected.memory);
  }
}

TEST_CASE("tcgen05.shift: rows of a warp's lanes move by one") {
  TensorKernel kernel = Filled(1, fmt::format("tcgen05.shift.cta_group::1.down [%t+{}];", (64 << 16) + 4), 0);
  TensorKernel expected = kernel;
  for (uint32_t lane = 64; lane < 95; ++lane) {
    for (uint32_t column = 4; column < 12; ++column)
      expected.Cell(0, lane, column) = kernel.Cell(0, lane + 1, column);
  }
  CheckTensorKernel(kernel, expected.memory);
}
