// Kernels as code of this process: one kernel per Add, compiled on request. No LLVM type appears here.
//
// A Jit owns the storage of module variables (one per name, shared by all kernels added) and all code; both
// live as long as it does. Calls from several threads are safe; kernels are compiled outside the lock.
// Add is Declare, Compile and Load; code that keeps images of kernels (kernel_image.h) calls these.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "ir/result.h"
#include "lowering/llvm/module/emit_options.h"
#include "lowering/llvm/module/lane_report.h"
#include "lowering/llvm/module/target.h"
#include "lowering/llvm/output/kernel_image.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

struct JitOptions {
  // All of the table (runtime/entry/entry_point_list.h); code generation does not link the runtime.
  std::span<const ptx2cpu_entry_point> entry_points = {};
  Target target = {};    // empty triple: TargetWanted()
  int optimisation = 3;  // 0..3
  ThreadIds thread_ids = ThreadIds::kBoth;
  uint32_t lane_width = 0;  // as in EmitOptions; 0: LaneWidthWanted()
  AlignmentChecks alignment = AlignmentChecks::kNoted;
  bool debug_info = true;
};

struct CompiledKernel {
  const ptx2cpu_kernel* kernel = nullptr;  // descriptor for launchers; lives as long as the Jit
  std::span<const std::byte> object;       // the object file it was loaded from
  uintptr_t code_begin = 0, code_end = 0;  // the kernel and its callees
};

class Jit {
 public:
  static Result<std::unique_ptr<Jit>> Create(JitOptions options);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  // Compiles a kernel; empty name: the module's only Collapsed kernel.
  Result<CompiledKernel> Add(const ir::Module& module, std::string_view kernel = {});

  struct CompileOptions {
    std::optional<int> optimisation = {};           // else JitOptions::optimisation
    std::optional<AlignmentChecks> alignment = {};  // else JitOptions::alignment
    static constexpr size_t kNeverQuick = ~size_t{0};
    // A kernel of at least so many LLVM instructions is compiled at -O1 only, a large one to code of -O0;
    // KernelImage::is_quick then, if better code is worth its time.
    size_t quick_from = kNeverQuick;
    const std::atomic<bool>* stop = nullptr;  // once it is set, Compile fails soon
  };
  // Machine code and what a loader must know; changes nothing here.
  Result<KernelImage> Compile(const ir::Module& module, std::string_view kernel,
                              const CompileOptions& options) const;
  Result<CompiledKernel> Load(KernelImage image);
  // Provides variables with storage and their first contents. One whose contents name functions or shared
  // addresses waits for the first kernel that reaches it.
  Status Declare(const std::vector<VariableImage>& variables);

  // Storage of a .global or .const variable; nullptr before it was declared or a kernel that reaches it
  // loaded.
  std::byte* Variable(std::string_view name) const;
  // Storage for a variable that the caller owns; before it is declared or a kernel that uses it is loaded.
  enum class Contents : uint8_t {
    kKeep,     // the caller's
    kInitial,  // those of the PTX are written there when the variable is declared
  };
  Status Bind(std::string_view name, std::byte* address, Contents contents = Contents::kKeep);

  const Target& target() const;
  uint32_t lane_width() const;

  // PTX and source line of an address in generated code.
  std::optional<ir::Position> LineOf(uintptr_t pc) const;

  enum class Stage : uint8_t { kLlvm, kOptimized, kAssembly };
  // Text of a kernel at a stage, for people.
  Result<std::string> Explain(const ir::Module& module, std::string_view kernel, Stage stage) const;
  // What becomes of the kernel's loops over threads; of blocks (n, 1, 1) where that matters.
  Result<LaneReport> ReportLanes(const ir::Module& module, std::string_view kernel) const;

 private:
  struct State;
  explicit Jit(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ptx2cpu::lowering
