// Kernels as code of this process: one kernel per Add, compiled on request. No LLVM type appears here.
//
// A Jit generates code for the machine and options that it was created with, and loads it. Calls from several
// threads are safe; kernels are compiled outside the loader's lock. Add is Declare, Compile and Load.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/position.h"
#include "ir/result.h"
#include "lowering/forms.h"
#include "lowering/llvm/module/emit_options.h"
#include "lowering/llvm/module/lane_report.h"
#include "lowering/llvm/module/target.h"
#include "lowering/load/kernel_loader.h"

namespace ptx2cpu::ir {
struct Function;
struct Module;
}  // namespace ptx2cpu::ir

namespace ptx2cpu::lowering {

struct EmitOptions;

struct JitOptions {
  // All rows of the table (runtime/entry/entry_point_list.h); code generation does not link the runtime.
  std::span<const ptx2cpu_entry_point> entry_points = {};
  Target target = {};    // empty triple: TargetWanted()
  int optimisation = 3;  // 0..3
  ThreadIds thread_ids = ThreadIds::kBoth;
  uint32_t lane_width = 0;  // as in EmitOptions; 0: LaneWidthWanted()
  AlignmentChecks alignment = AlignmentChecks::kNoted;
  bool debug_info = true;
  bool debug_variables = false;       // also names and places of local variables
  std::string omit = PassesToOmit();  // of OptionalPasses; other names have no effect
};

using CompiledKernel = LoadedKernel;

// Milliseconds of the thread's processor time, and what LLVM was given.
struct CompileTimes {
  double emit = 0, optimise = 0, generate = 0;
  uint64_t instructions = 0;
};

class Jit {
 public:
  // Passes over LLVM's code that may be left out: code is right without them, and slower.
  static std::vector<std::string_view> OptionalPasses();
  static Result<std::unique_ptr<Jit>> Create(JitOptions options);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  // Compiles a kernel; empty name: the module's only Collapsed kernel.
  Result<CompiledKernel> Add(const ir::Module& module, std::string_view kernel = {});

  struct CompileOptions {
    std::optional<int> optimisation = {};           // else JitOptions::optimisation
    std::optional<AlignmentChecks> alignment = {};  // else JitOptions::alignment
    static constexpr size_t kNever = ~size_t{0};
    // A kernel whose scalar code (threads one by one) has at least this many LLVM instructions is compiled as
    // such code first, at -O0; KernelImage::is_quick is set.
    size_t scalar_from = kNever;
    // Any other kernel of at least this many LLVM instructions is compiled at -O1 only, a large one with code
    // generation of -O0; KernelImage::is_quick is set if better code is worth its time.
    size_t quick_from = kNever;
    const std::atomic<bool>* stop = nullptr;  // once it is set, Compile fails soon
    CompileTimes* times = nullptr;            // receives what the steps took
    // Receives, for a kernel whose code is that of several, the images of the others (DescribeOthers).
    std::vector<KernelImage>* others = nullptr;
    std::set<std::string>* changed = nullptr;  // receives the names of OptionalPasses that changed something
  };
  // Machine code and what a loader must know; changes nothing here.
  Result<KernelImage> Compile(const ir::Module& module, std::string_view kernel,
                              const CompileOptions& options) const;
  Result<CompiledKernel> Load(KernelImage image) { return loader_.Load(std::move(image)); }
  Status Declare(const std::vector<VariableImage>& variables) { return loader_.Declare(variables); }
  std::byte* Variable(std::string_view name) const { return loader_.Variable(name); }
  using Contents = KernelLoader::Contents;
  Status Bind(std::string_view name, std::byte* address, Contents contents = Contents::kKeep) {
    return loader_.Bind(name, address, contents);
  }

  // PTX and source line of an address in generated code.
  std::optional<ir::Position> LineOf(uintptr_t pc) const;

  enum class Stage : uint8_t { kLlvm, kOptimized, kAssembly };
  // Text of a kernel at a stage, for people.
  Result<std::string> Explain(const ir::Module& module, std::string_view kernel, Stage stage) const;
  // Reports the kernel's loops over threads; for blocks (n, 1, 1) where that matters.
  Result<LaneReport> ReportLanes(const ir::Module& module, std::string_view kernel) const;

 private:
  explicit Jit(JitOptions options);
  Result<std::optional<KernelImage>> CompileScalar(const ir::Module& module, const ir::Function& kernel,
                                                   const CompileOptions& options) const;
  EmitOptions EmitOptionsFor(std::string_view kernel, std::optional<AlignmentChecks> alignment = {}) const;

  JitOptions options_;
  KernelLoader loader_;
};

// The line of an address in the code of a kernel; `text_offset` counts from the start of section .text.
std::optional<ir::Position> LineInObject(const KernelImage& image, uint64_t text_offset);
// The places in its code where the lines change, in ascending order.
std::vector<std::pair<uint64_t, ir::Position>> LinesInObject(const KernelImage& image);

}  // namespace ptx2cpu::lowering
