// What bulk copies and clusters do not allow is an error in every engine, not a wrong result.
#include <catch2/catch.hpp>

#include "tests/vectors/vector_files.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;

namespace {

struct Fault {
  const char* name;
  uint32_t blocks;
  const char* body;  // %t: shared tile of 256 bytes, %m: mbarrier object, %p: 4096 bytes of memory, %r: rank
  const char* interpreted;  // parts of the messages
  const char* compiled;
};

constexpr Fault kFaults[] = {
    {"a size that is no multiple of 16", 2,
     "mov.u32 %x, 24; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%t], [%p], %x, "
     "[%m];",
     "24 bytes: not a multiple of 16", "misaligned"},
    {"a source that is not on 16 bytes", 2,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%t], [%p+8], 16, [%m];",
     "misaligned", "misaligned"},
    {"a destination that is not on 16 bytes", 2,
     "cp.async.bulk.global.shared::cta.bulk_group [%p+4], [%t], 16;", "misaligned", "misaligned"},
    {"a reduction of 8 bytes", 2,
     "mov.u32 %x, 8; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%p], [%t], %x;",
     "8 bytes: not a multiple of 16", "misaligned"},
    {"a block that the cluster does not have", 2,
     "mov.u16 %h, 5;"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%t], [%p], 16, "
     "[%m], %h;",
     "no block 2", "address"},
    {"an address in a block that the cluster does not have", 2,
     "mov.u32 %x, 7; mapa.shared::cluster.u32 %x, %t, %x; ld.shared::cluster.u32 %x, [%x]; st.global.u32 "
     "[%p], %x;",
     "this address is in no memory of the launch", "address"},
    {"a wait without an arrival", 2, "barrier.cluster.wait.aligned;", "without having arrived",
     "without having arrived"},
    {"two arrivals", 2,
     "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "a second time", "twice"},
    {"a block that never arrives", 2,
     "setp.eq.u32 %c, %r, 1; @%c bar.sync 1, 64; barrier.cluster.arrive.aligned; "
     "barrier.cluster.wait.aligned;",
     "deadlock", "deadlock"},
    {"a grid that is no multiple of the cluster", 3,
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", "cluster", "cluster"},
};

std::string Text(const Fault& fault) {
  return std::string(R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out) .reqnctapercluster 2, 1, 1
{
  .reg .b64 %p;
  .reg .b32 %t, %m, %r, %x;
  .reg .b16 %h;
  .reg .pred %c;
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 tile[256];
  mov.u32 %t, tile;
  mov.u32 %m, bar;
  mov.u32 %r, %cluster_ctarank;
  ld.param.u64 %p, [p_out];
  mbarrier.init.shared.b64 [%m], 1;
  )") + fault.body +
         "\n  ret;\n}\n";
}

harness::KernelCall CallOf(const Fault& fault) {
  std::vector<rt::Argument> arguments{*rt::ParseSpec("out:u32:1024")};
  return {{fault.blocks, 1, 1}, {32, 1, 1}, 0, std::move(arguments)};
}

void CheckMessage(const Status& status, const char* part) {
  REQUIRE_FALSE(status);
  INFO(status.error().Render());
  CHECK(status.error().Render().find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("faults of bulk copies and clusters") {
  for (const Fault& fault : kFaults) {
    INFO(fault.name);
    auto ptx = lowering::PtxModule::Parse(Text(fault), "fault.ptx");
    if (!ptx) FAIL(ptx.error().Render());
    lowering::BuildOptions simt;
    simt.pipeline.stop_after = "ir";
    auto source = ptx->Build("k", simt);
    if (!source) FAIL(source.error().Render());
    harness::KernelCall call = CallOf(fault);
    CheckMessage(harness::RunInterpreter(*source, call), fault.interpreted);

    auto module = ptx->Build("k");
    if (!module) FAIL(module.error().Render());
    auto compiled = harness::CompiledCall::Make(std::make_shared<const ir::Module>(std::move(*module)),
                                                {.optimisation = 1});
    if (!compiled) FAIL(compiled.error().Render());
    call = CallOf(fault);
    CheckMessage(compiled->Run(call), fault.compiled);
  }
}
