#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "analysis/view/dot.h"
#include "tools/ptx2cpu/stage_options.h"
#include "tools/ptx2cpu/temporary_folder.h"

namespace ptx2cpu::tool {

namespace {

// Graphviz draws; it is a separate program and may be missing.
Result<std::string> DrawSvg(const std::string& dot) {
  const TemporaryFolder folder = TRY(TemporaryFolder::Make("cfg"));
  const std::string in = folder.path() + "/cfg.dot", out = folder.path() + "/cfg.svg";
  Result<std::string> svg =
      Fail(Error{ErrorCode::kFile,
                 "Graphviz ('dot') did not draw the graph",
                 {},
                 "",
                 "install the package graphviz, or use --format dot and draw it elsewhere"});
  if (WriteFileAtomically(in, dot) &&
      std::system(fmt::format("dot -Tsvg '{}' -o '{}' 2>/dev/null", in, out).c_str()) == 0)
    svg = ReadWholeFile(out);
  return svg;
}

}  // namespace

Status RunCfg(const Arguments& arguments) {
  const KernelChoice choice = TRY(ChooseKernel(arguments));
  lowering::BuildOptions options = TRY(ReadBuildOptions(arguments, choice.source));
  options.pipeline.stop_after = arguments.Value("--at").value_or("insert-extra-barriers");
  const std::string format = arguments.Value("--format").value_or("text");
  if (format != "dot" && format != "svg" && format != "text")
    return Fail(ErrorCode::kUsage, fmt::format("--format takes dot, svg or text, not '{}'", format));
  const lowering::PtxModule ptx = TRY(choice.source.Open());
  const ir::Module module = TRY(ptx.Build(choice.kernel, options));
  analysis::CfgViewOptions view_options;
  view_options.dominator_tree = arguments.Has("--dominators");
  const analysis::CfgView view = analysis::MakeCfgView(module, module.functions[0], view_options);
  std::string text = format == "text" ? analysis::RenderText(view) : analysis::RenderDot(view);
  if (format == "svg") text = TRY(DrawSvg(text));
  if (const auto output = arguments.Value("--output")) return WriteFileAtomically(*output, text);
  fmt::print("{}", text);
  return {};
}

}  // namespace ptx2cpu::tool
