// What each order and scope becomes: LLVM's operations, and the instructions of a machine that reorders
// freely.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "lowering/compile.h"
#include "lowering/llvm/output/object.h"

using namespace ptx2cpu;

namespace {

// A kernel with one instruction on the u32 at %a, value %v, result %r.
std::string Compile(const std::string& instruction, lowering::FileKind kind, const std::string& target,
                    int optimisation) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u32 pv)\n"
      "{ .reg .b32 %r, %v; .reg .b64 %a; ld.param.u64 %a, [pa]; ld.param.u32 %v, [pv];\n  " +
      instruction + "\n  st.global.u32 [%a+64], %r; ret; }\n";
  auto ptx = lowering::PtxModule::Parse(text, instruction);
  if (!ptx) FAIL(ptx.error().Render());
  auto module = ptx->Build("k");
  if (!module) FAIL(module.error().Render());
  const ir::Module* pointer = &*module;
  auto resolved = lowering::ResolveTarget(target);
  REQUIRE(resolved);
  auto file = lowering::CompileFile(std::span(&pointer, 1), kind,
                                    {.target = *resolved, .optimisation = optimisation, .debug_info = false});
  if (!file) FAIL(file.error().Render());
  return *file;
}

struct Case {
  const char* ptx;
  std::vector<const char*> llvm;     // in this order, on one line
  std::vector<const char*> aarch64;  // one on some line each; no other instruction that orders
};

// All words on one line of `text`, in order.
bool HasLine(const std::string& text, const std::vector<const char*>& words) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    size_t at = 0;
    bool all = true;
    for (const char* word : words) {
      at = line.find(word, at);
      if (at == std::string::npos) {
        all = false;
        break;
      }
      at += std::string(word).size();
    }
    if (all) return true;
    begin = end + 1;
  }
  return false;
}

const std::vector<Case> kCases = {
    {"ld.relaxed.gpu.global.u32 %r, [%a];", {"load atomic i32", " monotonic"}, {"\tldr\t"}},
    {"ld.volatile.global.u32 %r, [%a];", {"load atomic i32", " monotonic"}, {"\tldr\t"}},
    {"ld.acquire.gpu.global.u32 %r, [%a];", {"load atomic i32", " acquire"}, {"\tldar\t"}},
    {"ld.acquire.sys.global.u32 %r, [%a];", {"load atomic i32", " acquire"}, {"\tldar\t"}},
    {"ld.acquire.cta.global.u32 %r, [%a];", {"load atomic i32", " acquire"}, {}},
    {"st.relaxed.gpu.global.u32 [%a], %v;", {"store atomic i32", " monotonic"}, {"\tstr\t"}},
    {"st.volatile.global.u32 [%a], %v;", {"store atomic i32", " monotonic"}, {"\tstr\t"}},
    {"st.release.gpu.global.u32 [%a], %v;", {"store atomic i32", " release"}, {"\tstlr\t"}},
    {"st.release.sys.global.u32 [%a], %v;", {"store atomic i32", " release"}, {"\tstlr\t"}},
    {"fence.acq_rel.gpu;", {"fence acq_rel"}, {"\tdmb\tish"}},
    {"fence.acq_rel.sys;", {"fence acq_rel"}, {"\tdmb\tish"}},
    {"fence.acq_rel.cta;", {"fence syncscope(\"singlethread\") acq_rel"}, {}},
    {"fence.sc.gpu;", {"fence seq_cst"}, {"\tdmb\tish"}},
    {"fence.sc.sys;", {"fence seq_cst"}, {"\tdmb\tish"}},
    {"fence.sc.cta;", {"fence syncscope(\"singlethread\") seq_cst"}, {}},
    {"membar.gl;", {"fence seq_cst"}, {"\tdmb\tish"}},
    {"membar.sys;", {"fence seq_cst"}, {"\tdmb\tish"}},
    {"membar.cta;", {"fence syncscope(\"singlethread\")"}, {}},
    {"atom.global.add.u32 %r, [%a], %v;", {"atomicrmw add", " monotonic"}, {"\tldxr\t", "\tstxr\t"}},
    {"atom.relaxed.gpu.global.add.u32 %r, [%a], %v;",
     {"atomicrmw add", " monotonic"},
     {"\tldxr\t", "\tstxr\t"}},
    {"atom.acquire.gpu.global.add.u32 %r, [%a], %v;",
     {"atomicrmw add", " acquire"},
     {"\tldaxr\t", "\tstxr\t"}},
    {"atom.release.gpu.global.add.u32 %r, [%a], %v;",
     {"atomicrmw add", " release"},
     {"\tldxr\t", "\tstlxr\t"}},
    {"atom.acq_rel.sys.global.add.u32 %r, [%a], %v;",
     {"atomicrmw add", " acq_rel"},
     {"\tldaxr\t", "\tstlxr\t"}},
    {"atom.acq_rel.gpu.global.exch.b32 %r, [%a], %v;",
     {"atomicrmw xchg", " acq_rel"},
     {"\tldaxr\t", "\tstlxr\t"}},
    {"red.relaxed.gpu.global.max.s32 [%a], %v;", {"atomicrmw max", " monotonic"}, {"\tldxr\t", "\tstxr\t"}},
    {"red.release.gpu.global.or.b32 [%a], %v;", {"atomicrmw or", " release"}, {"\tldxr\t", "\tstlxr\t"}},
    {"atom.relaxed.gpu.global.cas.b32 %r, [%a], 0, %v;",
     {"cmpxchg", " monotonic monotonic"},
     {"\tldxr\t", "\tstxr\t"}},
    {"atom.acquire.gpu.global.cas.b32 %r, [%a], 0, %v;",
     {"cmpxchg", " acquire acquire"},
     {"\tldaxr\t", "\tstxr\t"}},
    {"atom.release.gpu.global.cas.b32 %r, [%a], 0, %v;",
     {"cmpxchg", " release monotonic"},
     {"\tldxr\t", "\tstlxr\t"}},
    {"atom.acq_rel.gpu.global.cas.b32 %r, [%a], 0, %v;",
     {"cmpxchg", " acq_rel acquire"},
     {"\tldaxr\t", "\tstlxr\t"}},
    // No LLVM operation: a loop around a compare-and-swap of the same order.
    {"atom.acq_rel.gpu.global.inc.u32 %r, [%a], %v;",
     {"cmpxchg", " acq_rel acquire"},
     {"\tldaxr\t", "\tstlxr\t"}},
};

}  // namespace

TEST_CASE("each order and scope as LLVM's") {
  for (const Case& c : kCases) {
    const std::string text = Compile(c.ptx, lowering::FileKind::kLlvm, "x86-64-v3", 0);
    INFO(c.ptx << "\n" << text);
    CHECK(HasLine(text, c.llvm));
  }
}

TEST_CASE("each order and scope on AArch64") {
  for (const Case& c : kCases) {
    if (c.aarch64.empty()) continue;
    const std::string text = Compile(c.ptx, lowering::FileKind::kAssembly, "aarch64-linux-gnu", 3);
    INFO(c.ptx << "\n" << text);
    for (const char* ordering : {"\tldar\t", "\tstlr\t", "\tldaxr\t", "\tstlxr\t", "\tdmb\t"}) {
      const bool wanted =
          std::ranges::any_of(c.aarch64, [&](const std::string& line) { return line.starts_with(ordering); });
      CHECK(HasLine(text, {ordering}) == wanted);
    }
    for (const char* line : c.aarch64) CHECK(HasLine(text, {line}));
  }
}

// Within a block, which one thread of the host runs, an order costs no instruction.
TEST_CASE("orders of block scope cost nothing on AArch64") {
  for (const char* ptx : {"fence.sc.cta;", "fence.acq_rel.cta;", "membar.cta;",
                          "atom.acq_rel.cta.global.add.u32 %r, [%a], %v;"}) {
    const std::string text = Compile(ptx, lowering::FileKind::kAssembly, "aarch64-linux-gnu", 3);
    INFO(ptx << "\n" << text);
    CHECK_FALSE(HasLine(text, {"dmb"}));
    CHECK_FALSE(HasLine(text, {"xr\t"}));
  }
}

// x86-64 keeps every order but that of a store before a load.
TEST_CASE("fences on x86-64") {
  for (const char* ptx : {"fence.sc.gpu;", "fence.sc.sys;", "membar.gl;", "membar.sys;"}) {
    INFO(ptx);
    CHECK(HasLine(Compile(ptx, lowering::FileKind::kAssembly, "x86-64-v3", 3), {"\tmfence"}));
  }
  for (const char* ptx : {"fence.acq_rel.gpu;", "fence.sc.cta;", "membar.cta;"}) {
    INFO(ptx);
    CHECK_FALSE(HasLine(Compile(ptx, lowering::FileKind::kAssembly, "x86-64-v3", 3), {"\tmfence"}));
  }
}
