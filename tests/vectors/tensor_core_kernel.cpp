#include "tests/vectors/tensor_core_kernel.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "lowering/compile.h"
#include "tools/harness/compiled_call.h"

namespace ptx2cpu::vectors_test {

std::string TextOf(const TensorKernel& kernel) {
  const bool pair = kernel.blocks == 2;
  const std::string group = pair ? "cta_group::2" : "cta_group::1";
  std::string text = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p_memory, .param .u64 p_shared, .param .u64 p_numbers, .param .u32 p_words, .param .u32 p_columns)CLUSTER
{
  .shared .align 1024 .b8 tile[65536];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 place;
  .reg .b32 %i, %v, %t, %a, %base, %row, %rank, %n, %w<8>;
  .reg .b64 %p, %q, %q<8>;
  .reg .b16 %both;
  .reg .pred %more, %first, %counts;
  mov.u32 %row, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  ld.param.u32 %n, [p_words];
  mul.lo.u32 %i, %rank, %n;
  ld.param.u64 %p, [p_shared];
  mad.wide.u32 %p, %i, 4, %p;
  mov.u32 %base, tile;
  mov.u32 %i, %row;
  setp.ge.u32 %more, %i, %n;
  @%more bra filled;
fill:
  mad.wide.u32 %q, %i, 4, %p;
  ld.global.b32 %v, [%q];
  shl.b32 %a, %i, 2;
  add.u32 %a, %a, %base;
  st.shared.b32 [%a], %v;
  add.u32 %i, %i, 128;
  setp.lt.u32 %more, %i, %n;
  @%more bra fill;
filled:
  setp.lt.u32 %first, %row, 32;
  @%first tcgen05.alloc.GROUP.sync.aligned.shared::cta.b32 [place], 512;
  setp.eq.u32 %first, %row, 0;
  @%first mbarrier.init.shared.b64 [done], 1;
  bar.sync 0;
  ld.shared.b32 %t, [place];
  ld.param.u32 %n, [p_columns];
  mad.lo.u32 %i, %rank, 128, %row;
  mul.lo.u32 %i, %i, %n;
  ld.param.u64 %p, [p_memory];
  mad.wide.u32 %p, %i, 4, %p;
  and.b32 %a, %row, 96;
  shl.b32 %a, %a, 16;
  add.u32 %a, %a, %t;
  mov.b64 %q, %p;
  mov.u32 %i, 0;
store:
  ld.global.b32 %v, [%q];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%a], {%v};
  add.u64 %q, %q, 4;
  add.u32 %a, %a, 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %n;
  @%more bra store;
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  MEET
  tcgen05.fence::after_thread_sync;
  or.b32 %i, %row, %rank;
  setp.ne.u32 %more, %i, 0;
  @%more bra issued;
  ld.param.u64 %q, [p_numbers];
  NUMBERS
  setp.ne.u64 %counts, %q7, 0;
  OPERATION
  mov.u32 %a, done;
  mov.b16 %both, 3;
  tcgen05.commit.GROUP.mbarrier::arrive::one.shared::clusterMULTICAST.b64 [%a]MASK;
issued:
wait:
  mbarrier.try_wait.parity.shared.b64 %more, [done], 0;
  @!%more bra wait;
  tcgen05.fence::after_thread_sync;
  and.b32 %a, %row, 96;
  shl.b32 %a, %a, 16;
  add.u32 %a, %a, %t;
  mov.u32 %i, 0;
load:
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v}, [%a];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%p], %v;
  add.u64 %p, %p, 4;
  add.u32 %a, %a, 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %n;
  @%more bra load;
  bar.sync 0;
  MEET
  setp.lt.u32 %first, %row, 32;
  @%first tcgen05.dealloc.GROUP.sync.aligned.b32 %t, 512;
  @%first tcgen05.relinquish_alloc_permit.GROUP.sync.aligned;
  ret;
}
)";
  std::string numbers;
  for (int n = 0; n < 8; ++n)
    numbers += fmt::format("ld.global.b64 %q{0}, [%q+{1}];\n  cvt.u32.u64 %w{0}, %q{0};\n  ", n, n * 8);
  const auto replace = [&](std::string_view word, const std::string& by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
      text.replace(at, word.size(), by);
  };
  replace("CLUSTER", pair ? " .reqnctapercluster 2, 1, 1" : "");
  replace("MEET", pair ? "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;" : "");
  replace("NUMBERS", numbers);
  replace("MULTICAST", pair ? ".multicast::cluster" : "");
  replace("MASK", pair ? ", %both" : "");
  replace("OPERATION", kernel.operation);
  replace("GROUP", group);
  return text;
}

namespace {

template <typename T>
rt::Argument Buffer(const std::vector<T>& values, rt::ArgumentRole role) {
  rt::Argument argument{.role = role, .type = rt::FindScalarType(sizeof(T) == 8 ? "u64" : "u32")};
  argument.data.resize(std::max<size_t>(values.size(), 1) * sizeof(T));
  if (!values.empty()) std::memcpy(argument.data.data(), values.data(), values.size() * sizeof(T));
  return argument;
}

rt::Argument Number(uint32_t value) {
  rt::Argument argument = Buffer<uint32_t>({value}, rt::ArgumentRole::kScalar);
  return argument;
}

harness::KernelCall CallOf(const TensorKernel& kernel) {
  std::vector<uint64_t> numbers = kernel.numbers;
  numbers.resize(8);
  return {.grid = {kernel.blocks, 1, 1},
          .block = {kTensorLanes, 1, 1},
          .arguments = {Buffer(kernel.memory, rt::ArgumentRole::kInOut),
                        Buffer(kernel.shared, rt::ArgumentRole::kIn), Buffer(numbers, rt::ArgumentRole::kIn),
                        Number(static_cast<uint32_t>(kernel.shared.size() / kernel.blocks)),
                        Number(kernel.columns)}};
}

std::vector<uint32_t> MemoryOf(const harness::KernelCall& call) {
  const std::vector<std::byte>& bytes = call.arguments[0].data;
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

void Require(const Status& status) {
  if (!status) FAIL(status.error().Render());
}

}  // namespace

TensorResult RunTensorKernel(const TensorKernel& kernel) {
  auto ptx = lowering::PtxModule::Parse(TextOf(kernel), "tensor_core.ptx");
  if (!ptx) FAIL(ptx.error().Render());
  lowering::BuildOptions simt;
  simt.pipeline.stop_after = "ir";
  auto source = ptx->Build("k", simt);
  if (!source) FAIL(source.error().Render());
  TensorResult result;
  harness::KernelCall call = CallOf(kernel);
  Require(harness::RunInterpreter(*source, call));
  result.interpreted = MemoryOf(call);

  auto module = ptx->Build("k");
  if (!module) FAIL(module.error().Render());
  auto compiled = harness::CompiledCall::Make(std::make_shared<const ir::Module>(std::move(*module)),
                                              {.optimisation = 1});
  if (!compiled) FAIL(compiled.error().Render());
  call = CallOf(kernel);
  Require(compiled->Run(call));
  result.compiled = MemoryOf(call);
  return result;
}

void CheckTensorKernel(const TensorKernel& kernel, const std::vector<uint32_t>& expected) {
  const TensorResult result = RunTensorKernel(kernel);
  const auto difference = [&](const std::vector<uint32_t>& actual) -> std::string {
    for (size_t n = 0; n < expected.size(); ++n) {
      if (actual[n] == expected[n]) continue;
      const size_t lane = n / kernel.columns;
      return fmt::format("block {}, lane {}, column {}: {:#010x}, expected {:#010x}", lane / kTensorLanes,
                         lane % kTensorLanes, n % kernel.columns, actual[n], expected[n]);
    }
    return "";
  };
  CHECK(difference(result.interpreted) == "");
  CHECK(difference(result.compiled) == "");
}

}  // namespace ptx2cpu::vectors_test
