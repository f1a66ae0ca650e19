// From a kernel's source to its image: read from the cache, or compiled and stored there.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "runtime/engine/kernel_source.h"
#include "runtime/engine/module_options.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

struct CompileRequest {
  std::string kernel;
  std::optional<Dim3> block = {};  // code for blocks of this shape only, where that is better
  std::optional<lowering::AlignmentChecks> alignment = {};  // else that of the options
  bool quick_allowed = false;  // the quick tier may be used; then the same without it must be requested later
  bool many_blocks = false;   // the launch has so many that quick code which repeats things may run its first
  bool counts = false;        // code that counts how often its blocks are entered, made quickly
  bool ask_cache = true;      // else it is compiled, and kept
  bool show_progress = true;  // progress.h
  const std::atomic<bool>* stop = nullptr;  // ends soon after it is set, with some error
};

struct CompiledImage {
  std::optional<lowering::KernelImage> image;  // nothing: code for the request's block would be no better
  bool from_cache = false;
  bool is_quick = false;         // the quick tier answered
  bool for_many_blocks = false;  // with code for launches of many blocks only
  double milliseconds = 0;       // that it took; where a profile is wanted
};

// For this machine, or the one that PTX2CPU_TARGET names. Immutable after construction; safe to use from
// several threads at once.
class KernelCompiler {
 public:
  KernelCompiler(KernelSource& source, const ModuleOptions& options) : source_(source), options_(options) {}

  Result<CompiledImage> Compile(const CompileRequest& request);
  // The image of code for any shape without its object: sizes, parameters, flags.
  Result<lowering::KernelImage> Describe(const std::string& kernel);
  // Whether the cache has what Compile would answer, of the quick tier at least.
  bool IsKept(const CompileRequest& request);
  // Of the best tier.
  bool IsBestKept(const CompileRequest& request);

 private:
  lowering::CodeOptions CodeOptionsOf(const CompileRequest& request) const;
  // Code of the quick tier is kept apart, for processes that end before better code exists.
  struct Keys {
    Digest full, quick, many_blocks;
  };
  Keys KeysOf(const CompileRequest& request);
  Result<CompiledImage> Obtain(const CompileRequest& request);
  std::optional<CompiledImage> FromCache(const Digest& key) const;
  void Keep(const Digest& key, const lowering::KernelImage* image) const;

  KernelSource& source_;
  const ModuleOptions& options_;
};

}  // namespace ptx2cpu::rt
