// From a kernel's source to its image: read from the cache, or compiled and stored there.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

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

// For this machine, or the one that PTX2CPU_TARGET names. Safe to use from several threads at once. Quick
// code may be made for several kernels at once: the images of the others wait until they are requested.
class KernelCompiler {
 public:
  // `kernels`: all of the module, in the order of the text. The three outlive this.
  KernelCompiler(KernelSource& source, const std::vector<std::string>& kernels, const ModuleOptions& options)
      : source_(source), kernels_(kernels), options_(options) {}

  Result<CompiledImage> Compile(const CompileRequest& request);
  // The image of code for any shape without its object: sizes, parameters, flags.
  Result<lowering::KernelImage> Describe(const std::string& kernel);
  // Whether Compile would return code without compiling, of the quick tier at least.
  bool IsKept(const CompileRequest& request);
  // Whether the cache has the code of the best tier.
  bool IsBestKept(const CompileRequest& request);

 private:
  lowering::CodeOptions CodeOptionsOf(const CompileRequest& request) const;
  // The cache keeps code of the quick tier under another key, for processes that end before better code
  // exists.
  struct Keys {
    Digest full, quick, many_blocks;
  };
  Keys KeysOf(const CompileRequest& request);
  Result<CompiledImage> Obtain(const CompileRequest& request);
  std::optional<CompiledImage> FromCache(const Digest& key) const;
  void Keep(const Digest& key, const lowering::KernelImage* image) const;

  // Code that is made together with another kernel's is quick code for any shape with the module's own
  // options. Checked code is never made so, since checks name the parameters of one kernel.
  bool MayBeReady(const CompileRequest& request) const {
    return options_.quick_tier && options_.checks == 0 && request.quick_allowed && !request.block &&
           !request.alignment && !request.counts;
  }
  std::optional<CompiledImage> TakeReady(const CompileRequest& request);
  // The kernels near this one that have no code yet.
  std::vector<std::string> Neighbours(const std::string& kernel);
  void AddReady(std::vector<lowering::KernelImage> images, const lowering::KernelImage& first);

  KernelSource& source_;
  const std::vector<std::string>& kernels_;
  const ModuleOptions& options_;
  struct Ready {
    lowering::KernelImage image;
    std::shared_ptr<const lowering::KernelImage> first;  // of those that were made together
  };
  std::mutex mutex_;
  std::map<std::string, Ready> ready_;  // by kernel
  std::set<std::string> made_;          // kernels whose code for any shape was made, ready or not
};

}  // namespace ptx2cpu::rt
