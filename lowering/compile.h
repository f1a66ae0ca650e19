// From PTX text to IR at any point of the pipeline: the one file that includes every room of the compiler.
//
//   PTX text -> Parse -> ast::Module -> Translate -> ir::Module (one kernel, Simt) -> pass, pass, ... ->
//   Collapsed
//
// Code generation continues from there: lowering/llvm/output/jit.h and object.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "lowering/forms.h"
#include "lowering/pipeline.h"
#include "ptx-parser/parse/ast.h"
#include "ptx-parser/translate/symbol_table.h"

namespace ptx2cpu::lowering {

struct StageTime {
  std::string stage;
  double milliseconds = 0;
};

struct BuildOptions {
  PipelineOptions pipeline;  // pipeline.stop_after also takes "ir": as translated, before the first pass
  bool contract = true;      // the image's JIT option --fmad
  MatrixSums matrix_sums = MatrixSumsWanted();
  bool keeps_registers = false;  // in local variables with their names, for debuggers
  // Kernels that may become one function with the one that is built, where they share most of what they call:
  // its `entries` names those that do (lowering/passes/join_kernels.cpp). Unknown names are no error.
  std::span<const std::string> together = {};
  bool* joined = nullptr;  // set before the passes, where there are others to become one function with
};

// A parsed PTX module, or several that were linked; kernels are built from it one at a time.
class PtxModule {
 public:
  struct Source {
    std::string text;
    std::string name;  // for messages
  };

  // One module on its own: the code that runs it may provide what it declares and does not define. Errors:
  // kSyntax, several at once.
  static Result<PtxModule> Parse(std::string text, std::string name);
  // A complete program of one or more modules, under a device linker's rules
  // (ptx-parser/translate/symbol_table.h). Errors: kSyntax, kLink (definitions that contradict each other). A
  // symbol that a kernel reaches and no module defines is an error of Build, so that other kernels can be
  // used.
  static Result<PtxModule> Link(std::vector<Source> sources);

  std::vector<std::string> Kernels() const;
  std::span<const std::shared_ptr<const ptx::ast::Module>> modules() const { return asts_; }
  // File, line in it and the line itself, from a line number of built code (ir::Position).
  struct Place {
    SourcePosition at;
    std::string excerpt;
  };
  Place PlaceOf(uint32_t ptx_line) const;
  // Its variables with their first contents, no functions.
  Result<ir::Module> Variables() const;
  // Checks every instruction of the module against the table, reachable or not.
  Status CheckInstructions() const;
  // Which tier the kernel needs under these options, and why.
  Result<TierChoice> ChooseTier(std::string_view kernel, const BuildOptions& options = {}) const;
  // For a kernel that resumes lanes: where the lanes of a warp that runs as vectors may diverge, or why it
  // cannot run as vectors.
  struct Partings {
    std::vector<ir::Position> branches;
    std::optional<TierReason> obstacle;
  };
  Result<Partings> FindPartings(std::string_view kernel, const BuildOptions& options = {}) const;
  // The kernel with all it calls, run through the pipeline; functions[0] is the kernel. `times` receives the
  // stages.
  Result<ir::Module> Build(std::string_view kernel, const BuildOptions& options = {},
                           std::vector<StageTime>* times = nullptr) const;
  // The same for blocks of one shape only. Nothing: the kernel needs a resumable tier even with a known
  // shape.
  Result<std::optional<ir::Module>> BuildForShape(std::string_view kernel, const BuildOptions& options,
                                                  analysis::LaunchShape shape,
                                                  std::vector<StageTime>* times = nullptr) const;

 private:
  std::vector<std::shared_ptr<const ptx::ast::Module>> asts_;
  std::shared_ptr<const ptx::SymbolTable> symbols_;
};

// Names of all stages of Build in order: "ir", then the passes.
std::vector<std::string> StageNames();

}  // namespace ptx2cpu::lowering
