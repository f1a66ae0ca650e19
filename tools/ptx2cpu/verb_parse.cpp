#include <fmt/format.h>

#include "lowering/compile.h"
#include "ptx-parser/parse/print.h"
#include "ptx-parser/translate/translate.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

Status RunParse(const Arguments& arguments) {
  const std::vector<Source> sources = TRY(LoadSources(arguments.Value("--kernel"), arguments));
  Progress progress("parsing");
  size_t done = 0;
  for (const Source& source : sources) {
    progress.Step(done++, sources.size(), source.texts[0].name);
    const lowering::PtxModule program = TRY(source.Open());
    for (const auto& module : program.modules()) {
      if (!arguments.Has("--check")) {
        fmt::print("{}", ptx::Print(*module));
        continue;
      }
      TRY_STATUS(ptx::CheckInstructions(*module));
      fmt::print("{}: {} functions, {} instructions, every one in the table\n", module->file_name,
                 module->functions.size(), module->instructions.size());
    }
  }
  return {};
}

}  // namespace ptx2cpu::tool
