#include "lowering/llvm/module/lane_report.h"

#include <algorithm>
#include <utility>

#include "ir/function.h"

namespace ptx2cpu::lowering {

namespace {

std::string Render(std::string_view what, const LaneReport::Counts& counts) {
  const std::pair<uint32_t, std::string_view> parts[] = {
      {counts.consecutive, "consecutive"},
      {counts.tested, "consecutive after a test"},
      {counts.strided, "with a stride"},
      {counts.uniform, "uniform"},
      {counts.gathers, what == "loads" ? "gathers" : "scatters"},
      {counts.one_by_one, "one by one"},
  };
  std::string text;
  for (const auto& [count, name] : parts) {
    if (count == 0) continue;
    text += text.empty() ? "    " + std::string(what) + ": " : ", ";
    text += std::to_string(count) + " " + std::string(name);
  }
  return text.empty() ? "" : text + "\n";
}

std::string Place(const ir::Module& module, uint32_t line) {
  std::string_view text = module.Line(line);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return "PTX line " + std::to_string(line) + ": " + std::string(text) + "\n";
}

std::string Render(const LaneReport::Loop& loop, const ir::Module& module) {
  std::string text = "  threads at PTX lines " + std::to_string(loop.first_line) + " to " +
                     std::to_string(loop.last_line) + ": ";
  if (loop.width == 1) {
    text += "one by one: " + loop.why;
    return text + (loop.why_line == 0 ? "\n" : ", " + Place(module, loop.why_line));
  }
  text += "vectors of " + std::to_string(loop.width);
  if (loop.within_rows) text += " within rows of the data";
  if (loop.loops != 0) text += ", loops within: " + std::to_string(loop.loops);
  text += "\n" + Render("loads", loop.loads) + Render("stores", loop.stores);
  if (loop.others_one_by_one != 0)
    text += "    other operations: " + std::to_string(loop.others_one_by_one) + " one by one\n";
  for (const LaneReport::Slow& slow : loop.slow)
    text += (slow.is_gather ? "    own addresses at " : "    one by one at ") + Place(module, slow.ptx_line);
  return text;
}

}  // namespace

std::string Render(const LaneReport& report, const ir::Module& module) {
  std::string text;
  for (const LaneReport::Loop& loop : report.loops) text += Render(loop, module);
  return text.empty() ? "  no loops over threads: lanes run one by one and suspend\n" : text;
}

}  // namespace ptx2cpu::lowering
