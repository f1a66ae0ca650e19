// Kernels as files: object, shared object, assembly, LLVM text, and the C header that declares them. No LLVM
// type appears here.
//
// An object exports, per kernel, the descriptor `const struct ptx2cpu_kernel ptx2cpu_kernel_<name>` and the
// block function `ptx2cpu_block_<name>` (resumable kernels: the step function `ptx2cpu_step_<name>`); module
// variables that are .visible have their own names, the others the name `ptx2cpu_variable_<name>` (the first
// PTX text of the object wins). It needs the entry points of libptx2cpu_rt.a, memcpy and memset; on machines
// without fused multiply-add also libm's fma.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/function.h"
#include "ir/result.h"
#include "lowering/llvm/module/emit_options.h"
#include "lowering/llvm/module/names.h"
#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

enum class FileKind : uint8_t { kObject, kSharedObject, kAssembly, kLlvm };
// By the name's ending: .o .so .s .ll
Result<FileKind> FileKindOf(std::string_view path);

struct ObjectOptions {
  Target target = {};    // empty triple: native
  int optimisation = 3;  // 0..3
  ThreadIds thread_ids = ThreadIds::kBoth;
  uint32_t lane_width = 0;  // as in EmitOptions
  AlignmentChecks alignment = AlignmentChecks::kNoted;
  bool debug_info = true;
};

// One module per kernel, each with its kernel in phase Collapsed. Modules of one name (one PTX text) share
// their variables. Returns the file's contents; a shared object is linked by ld.lld or cc, found on the PATH.
Result<std::string> CompileFile(std::span<const ir::Module* const> kernels, FileKind kind,
                                const ObjectOptions& options);

// C header for the same kernels: descriptors and a typed `<name>_launch` each.
Result<std::string> WriteHeader(std::span<const ir::Module* const> kernels, std::string_view guard_name);

}  // namespace ptx2cpu::lowering
