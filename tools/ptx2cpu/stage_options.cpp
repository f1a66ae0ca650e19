#include "tools/ptx2cpu/stage_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "lowering/llvm/module/emit_options.h"

namespace ptx2cpu::tool {

namespace {

Error BadValue(std::string_view option, std::string_view value, std::string_view wanted) {
  return Error{ErrorCode::kUsage, fmt::format("{} takes {}, not '{}'", option, wanted, value)};
}

Result<Dim3> ReadExtent(const Arguments& arguments, std::string_view option) {
  Dim3 extent;
  const std::string text = arguments.Value(option).value_or("1");
  uint32_t* parts[] = {&extent.x, &extent.y, &extent.z};
  const char* at = text.data();
  const char* end = at + text.size();
  for (size_t i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, *parts[i]);
    if (error != std::errc{} || next == at) return Fail(BadValue(option, text, "X[,Y,Z]"));
    if (next == end) return extent;
    if (*next != ',' && *next != 'x') return Fail(BadValue(option, text, "X[,Y,Z]"));
    at = next + 1;
  }
  return Fail(BadValue(option, text, "X[,Y,Z]"));
}

}  // namespace

Result<lowering::BuildOptions> ReadBuildOptions(const Arguments& arguments, const Source& source) {
  lowering::BuildOptions options;
  options.contract = source.options.fmad;
  if (const auto sums = arguments.Value("--matrix-sums")) {
    if (*sums != "recorded" && *sums != "chained")
      return Fail(BadValue("--matrix-sums", *sums, "recorded or chained"));
    options.matrix_sums =
        *sums == "chained" ? lowering::MatrixSums::kChained : lowering::MatrixSums::kRecorded;
  }
  lowering::PassOptions& passes = options.pipeline.passes;
  const std::string collapse = arguments.Value("--collapse").value_or("auto");
  const std::string exec = arguments.Value("--exec").value_or("auto");
  if (collapse == "flat" || exec == "flat")
    passes.collapse = lowering::CollapseForm::kFlat;
  else if (collapse == "hierarchical" || exec == "warp")
    passes.collapse = lowering::CollapseForm::kHierarchical;
  if (collapse != "auto" && collapse != "flat" && collapse != "hierarchical")
    return Fail(BadValue("--collapse", collapse, "auto, flat or hierarchical"));
  constexpr std::pair<std::string_view, lowering::Tier> kTiers[] = {{"auto", lowering::Tier::kAuto},
                                                                    {"flat", lowering::Tier::kFlat},
                                                                    {"warp", lowering::Tier::kWarp},
                                                                    {"resumable", lowering::Tier::kResumable},
                                                                    {"lanes", lowering::Tier::kLanes}};
  const auto* tier =
      std::ranges::find(kTiers, std::string_view(exec), &std::pair<std::string_view, lowering::Tier>::first);
  if (tier == std::end(kTiers)) return Fail(BadValue("--exec", exec, "auto, flat, warp, resumable or lanes"));
  passes.tier = tier->second;
  if ((exec == "flat" && collapse == "hierarchical") || (exec == "warp" && collapse == "flat")) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--exec={} and --collapse={} contradict each other", exec, collapse));
  }
  if (arguments.Has("--for-block")) {
    const Dim3 block = TRY(ReadExtent(arguments, "--for-block"));
    passes.launch = {block.x, block.y, block.z};
  }
  options.pipeline.stop_after = arguments.Value("--stop-after").value_or("");
  options.pipeline.dump_after = arguments.Values("--dump-after");
  options.pipeline.dump = [](std::string_view pass, std::string_view text) {
    fmt::print(stderr, "; after {}\n{}\n", pass, text);
  };
#ifdef NDEBUG
  options.pipeline.verify_each = arguments.Has("--verify-each");
#endif
  return options;
}

Result<uint32_t> ReadLaneWidth(const Arguments& arguments) {
  const char* wanted = std::getenv("PTX2CPU_WIDTH");
  const uint64_t otherwise = wanted == nullptr ? 0 : std::strtoul(wanted, nullptr, 10);
  const uint64_t width = TRY(arguments.Number("--width", otherwise, 64));
  if (lowering::IsLaneWidth(static_cast<uint32_t>(width))) return static_cast<uint32_t>(width);
  return Fail(BadValue("--width", std::to_string(width), "1, 4, 8, 16, 32 or 64"));
}

Result<harness::KernelCall> ReadKernelCall(const Arguments& arguments) {
  harness::KernelCall call;
  call.grid = TRY(ReadExtent(arguments, "--grid"));
  call.block = TRY(ReadExtent(arguments, "--block"));
  call.shared_bytes = static_cast<uint32_t>(TRY(arguments.Number("--shared", 0, UINT32_MAX)));
  for (const std::string& spec : arguments.Values("--arg"))
    call.arguments.push_back(TRY(rt::ParseSpec(spec)));
  return call;
}

Status PrintBuffers(const Arguments& arguments, const harness::KernelCall& call) {
  std::vector<bool> saved(call.arguments.size());
  for (const std::string& save : arguments.Values("--save")) {
    size_t index = 0;
    const size_t equals = save.find('=');
    const auto parsed = std::from_chars(save.data(), save.data() + std::min(equals, save.size()), index);
    if (equals == std::string::npos || parsed.ptr != save.data() + equals || index >= call.arguments.size() ||
        !call.arguments[index].IsWritten()) {
      return Fail(BadValue("--save", save, "INDEX=FILE, INDEX being an out or inout argument"));
    }
    const auto& data = call.arguments[index].data;
    TRY_STATUS(WriteFileAtomically(save.substr(equals + 1),
                                   {reinterpret_cast<const char*>(data.data()), data.size()}));
    saved[index] = true;
  }
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const rt::Argument& argument = call.arguments[i];
    if (argument.IsWritten() && !saved[i])
      fmt::print("{}\n", rt::FormatJsonLine(i, *argument.type, argument.data, arguments.Has("--bits")));
  }
  return {};
}

void PrintTimes(const std::vector<lowering::StageTime>& times) {
  double total = 0;
  for (const lowering::StageTime& time : times) {
    fmt::print(stderr, "{:>32} {:>10.3f} ms\n", time.stage, time.milliseconds);
    total += time.milliseconds;
  }
  fmt::print(stderr, "{:>32} {:>10.3f} ms\n", "total", total);
}

}  // namespace ptx2cpu::tool
