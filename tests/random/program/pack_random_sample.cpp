// pack_random_sample FOLDER: writes the checked-in sample, some files of kernels that have a class of
// features in common, with the results that the interpreter gives (two schedules must agree).
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "lowering/compile.h"
#include "tests/random/generator/write.h"
#include "tools/harness/kernel_call.h"
#include "tools/record/vectors.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_kernels;

namespace {

struct Part {
  const char* name;
  uint32_t count;
  const char* features;
  const char* wanted;  // the kernels have these in turn
};
constexpr Part kParts[] = {
    {"collectives", 40, "alu,shuffle,vote,match,redux,warp_sync,elect,branch,loop,switch",
     "shuffle,vote,match,redux,elect"},
    {"control_flow", 40, "alu,shuffle,vote,redux,branch,loop,switch,leave,irreducible,call,exit,atomic",
     "leave,irreducible,call,exit"},
    {"barriers", 40,
     "alu,shuffle,vote,branch,loop,exit,barrier,barrier_reduce,exchange,block_branch,block_call,warp_"
     "exchange,atomic",
     "barrier_reduce,exchange,block_call,block_branch,exit"},
    {"named_barriers", 40,
     "alu,shuffle,vote,branch,barrier,barrier_reduce,exchange,block_branch,warp_branch,warp_switch,warp_exit,"
     "named,arrive,exit",
     "arrive,warp_branch,warp_switch,warp_exit,barrier_reduce,named"},
    {"split", 40, "alu,shuffle,vote,match,redux,warp_sync,branch,loop,leave,call,split", "split"},
    {"split_barriers", 20, "alu,shuffle,vote,branch,loop,barrier,exchange,named,warp_branch,split_barrier",
     "split_barrier"},
    {"handshakes", 30, "alu,shuffle,redux,branch,barrier,exchange,warp_branch,named,atomic,chain,warp_ticket",
     "chain,warp_ticket"},
    {"everything_uniform", 30, "all,-split,-appointment,-split_barrier,-split_reduce,-lock,-lane_ticket",
     "all"},
    {"appointments", 10, "alu,shuffle,vote,redux,warp_sync,branch,appointment", "appointment"},
    {"locks", 20, "alu,shuffle,vote,branch,loop,barrier,exchange,lock,lane_ticket,atomic",
     "lock,lane_ticket"},
    {"everything", 20, "all,-split_reduce", "all"},
};

Result<std::vector<rt::Argument>> Interpret(const lowering::PtxModule& ptx, const rt::VectorRun& run,
                                            harness::Turns turns) {
  lowering::BuildOptions options;
  options.pipeline.stop_after = "ir";
  const ir::Module module = TRY(ptx.Build(run.kernel, options));
  harness::KernelCall call{{run.grid[0], 1, 1}, {run.block[0], 1, 1}, 0, TRY(rt::ParseArguments(run))};
  TRY_STATUS(harness::RunInterpreter(module, call, turns));
  return call.arguments;
}

// Adds the expected results below the run lines.
Result<std::string> WithResults(const std::string& text, const std::filesystem::path& path) {
  std::ofstream(path) << text;
  const rt::VectorFile file = TRY(rt::ReadVectorFile(path));
  const lowering::PtxModule ptx = TRY(lowering::PtxModule::Parse(text, path.filename()));
  std::string result;
  size_t at = 0;
  for (const rt::VectorRun& run : file.runs) {
    const auto one = TRY(Interpret(ptx, run, {})),
               other = TRY(Interpret(ptx, run, {.slice = 7, .backwards = true}));
    const size_t line_end = text.find('\n', text.find("// run: " + run.kernel + " ")) + 1;
    result += text.substr(at, line_end - at);
    at = line_end;
    for (size_t i = 0; i < one.size(); ++i) {
      if (!one[i].IsWritten()) continue;
      if (one[i].data != other[i].data)
        return Fail(ErrorCode::kInternal, run.kernel + " depends on the schedule");
      result += "// expect: " + std::to_string(i) + " " + rt::ToHex(one[i].data) + "\n";
    }
  }
  return result + text.substr(at);
}

std::string Choose(const Part& part, uint64_t& seed) {
  std::string text = "// random kernels: " + std::string(part.features) + "\n" + ModuleHead();
  const Features features = *ParseFeatures(part.features);
  std::vector<Features> wanted;
  for (Features rest = *ParseFeatures(part.wanted) & features; rest != 0; rest &= rest - 1)
    wanted.push_back(rest & (0 - rest));
  for (uint32_t i = 0; i < part.count; ++seed) {
    const Tree tree = Grow(seed, features);
    const KernelText kernel = Write(tree, std::string(part.name) + "_" + std::to_string(i));
    if ((kernel.needs & wanted[i % wanted.size()]) == 0 || CountNodes(tree) < 8) continue;
    text += kernel.text + kernel.RunLine(tree) + "\n";
    ++i;
  }
  return text;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return std::fprintf(stderr, "usage: pack_random_sample FOLDER\n"), 2;
  uint64_t seed = 1000000;
  for (const Part& part : kParts) {
    const auto path = std::filesystem::path(words[1]) / (std::string("random_") + part.name + ".ptx");
    const auto text = WithResults(Choose(part, seed), path);
    if (!text) return std::fprintf(stderr, "%s: %s\n", path.c_str(), text.error().Render().c_str()), 1;
    std::ofstream(path) << *text;
  }
}
