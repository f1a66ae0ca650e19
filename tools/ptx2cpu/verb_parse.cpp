#include <fmt/format.h>

#include "lowering/compile.h"
#include "ptx-parser/parse/print.h"
#include "ptx-parser/translate/translate.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

Status RunParse(const Arguments& arguments) {
  const std::string file = TRY(arguments.OnlyFile());
  const std::vector<Source> sources = TRY(LoadSources(file, arguments.Value("--kernel"), arguments));
  Progress progress("parsing");
  size_t done = 0;
  for (const Source& source : sources) {
    progress.Step(done++, sources.size(), source.name);
    const lowering::PtxModule module = TRY(lowering::PtxModule::Parse(source.text, source.name));
    if (!arguments.Has("--check")) {
      fmt::print("{}", ptx::Print(module.ast()));
      continue;
    }
    TRY_STATUS(ptx::CheckInstructions(module.ast()));
    fmt::print("{}: {} functions, {} instructions, every one in the table\n", source.name, module.ast().functions.size(), module.ast().instructions.size());
  }
  return {};
}

}  // namespace ptx2cpu::tool
