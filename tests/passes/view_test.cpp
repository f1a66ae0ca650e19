// The view of a kernel's control flow shows what was split, and why.
#include "analysis/graph/loops.h"
#include "analysis/regions/regions.h"
#include "analysis/view/dot.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;
using analysis::CfgView;

namespace {

ir::Module Stage(const std::string& kernel, std::string_view pass) {
  ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/" + kernel + ".ir"));
  Result<ir::Module> result = After(module, pass);
  if (!result) FAIL(result.error().Render());
  return std::move(*result);
}

size_t Count(const CfgView& view, CfgView::Role role) {
  size_t count = 0;
  for (const CfgView::Node& node : view.nodes) count += node.role == role;
  return count;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the split form shows barriers, peeled branches and why a loop is split", "[view]") {
  ir::Module module = Stage("tree_reduce", "insert-extra-barriers");
  CfgView view =
      analysis::MakeCfgView(module, module.functions[0], {.body = analysis::CfgViewOptions::Body::kIr});
  CHECK(Count(view, CfgView::Role::kBarrier) == 2);
  CHECK(Count(view, CfgView::Role::kPeeledBranch) == 2);
  CHECK(Count(view, CfgView::Role::kJoin) >= 1);
  REQUIRE(view.notes.size() == 1);
  CHECK(Contains(view.notes[0], "bar.sync at line 22"));
  CHECK(Contains(view.notes[0], "decides whether line 22 is reached"));
  std::string dot = analysis::RenderDot(view);
  CHECK(Contains(dot, "block-level peeled branch"));
  CHECK(Contains(dot, "subgraph cluster_0"));
  CHECK(Contains(dot, "{varying branch}"));
  CHECK(Contains(analysis::RenderText(view), "block region 0 / warp region"));
}

TEST_CASE("the collapsed form shows loops over lanes inside loops over warps", "[view]") {
  ir::Module module = Stage("block_reduce_shuffle", "collapse");
  CfgView view = analysis::MakeCfgView(module, module.functions[0], {.dominator_tree = true});
  size_t lanes = 0, warps = 0;
  for (const CfgView::Cluster& cluster : view.clusters) {
    if (cluster.level == ir::Level::kBlock) {
      ++warps;
      CHECK(cluster.parent == ~0u);
    } else {
      ++lanes;
      REQUIRE(cluster.parent != ~0u);
      CHECK(view.clusters[cluster.parent].level == ir::Level::kBlock);
    }
  }
  CHECK(warps == 2);  // before and after the block barrier
  CHECK(lanes >= 6);
  CHECK(view.nodes[0].dominator == ~0u);
  CHECK(view.nodes[1].dominator == 0);
  CHECK(Contains(analysis::RenderDot(view), "constraint=false"));
}

TEST_CASE("edges carry the guard of the PTX branch", "[view]") {
  ir::Module module = ParseModule(R"(module "m" ptx 8.0 sm 80
kernel @k (p: i64 @0, n: i32 @8) phase simt {
^b0:
  %t = special i32 tid.x
  %z = const i32 0x0
  %p = icmp i32 eq %t, %z
  cond_br %p, ^a, ^b ; ptx 2
^a "$L_then":
  ret ; ptx 3
^b:
  ret ; ptx 4
}
)");
  for (bool negated : {false, true}) {
    module.text =
        std::string("setp.eq.u32 %p1, %r1, 0;\n@") + (negated ? "!" : "") + "%p1 bra $L_then;\nret;\nret;\n";
    CfgView view = analysis::MakeCfgView(module, module.functions[0]);
    REQUIRE(view.edges.size() == 2);
    CHECK(view.edges[0].label == (negated ? "!%p1" : "%p1"));
    CHECK(view.edges[1].label == (negated ? "%p1" : "!%p1"));
    CHECK(view.edges[0].divergent);
    REQUIRE(view.nodes[0].lines.size() >= 1);
    CHECK(Contains(view.nodes[0].lines.back(), "bra $L_then"));
  }
}

TEST_CASE("regions of the split form have one way out and share no block", "[regions]") {
  for (const char* kernel :
       {"short_circuit", "irreducible", "nested_levels", "early_exit_long_tail", "tail_collectives"}) {
    ir::Module module = Stage(kernel, "insert-extra-barriers");
    const ir::Function& f = module.functions[0];
    for (ir::Level level : {ir::Level::kBlock, ir::Level::kWarp}) {
      analysis::RegionMap map = analysis::FindRegions(f, level);
      INFO(kernel);
      CHECK(map.shared.empty());
      for (const analysis::Region& region : map.regions) {
        CHECK(region.leaves.size() <= 1);
        CHECK((region.next.empty() ? region.ends_threads : true));
      }
      for (ir::BlockId block : ir::ReversePostOrder(f)) {
        CHECK((map.region_of[block.index] == analysis::kNoRegion) == (f.at_block(block).level >= level));
      }
    }
  }
}

TEST_CASE("before boundaries are made, blocks where regions meet are shared", "[regions]") {
  ir::Module module = Stage("if_barrier", "split-at-barriers");
  ir::Function& f = module.functions[0];
  for (ir::Block& block : f.blocks) {
    for (ir::InstId id : block.insts) {
      if (ir::IsBarrier(f.at_inst(id).op)) block.level = ir::Level::kBlock;
    }
  }
  analysis::RegionMap map = analysis::FindRegions(f, ir::Level::kBlock);
  REQUIRE(map.shared.size() == 1);  // the join: with and without the barrier
  CHECK(f.at_block(map.shared[0]).params.size() == 1);
  CHECK(map.regions[0].next.size() == 1);
}
