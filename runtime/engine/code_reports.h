// Loads code of a module and reports it to the instruments that the process requests: a profile
// (runtime/profile), which also gets counting code, and perf (perf_files.h). Without instruments, it only
// loads. Internal to this folder.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lowering/load/kernel_loader.h"
#include "runtime/engine/compiler.h"

namespace ptx2cpu::rt {

class CodeReports {
 public:
  CodeReports(KernelSource& source, KernelCompiler& compiler, lowering::KernelLoader& loader,
              const ModuleOptions& options)
      : source_(source), compiler_(compiler), loader_(loader), options_(options) {}
  ~CodeReports();
  CodeReports(const CodeReports&) = delete;
  CodeReports& operator=(const CodeReports&) = delete;

  // The image is moved from.
  Result<const ptx2cpu_kernel*> Load(const CompileRequest& request, CompiledImage& compiled);

 private:
  Result<const ptx2cpu_kernel*> LoadForProfile(const CompileRequest& request, CompiledImage& compiled);
  uint32_t ModuleNumber();
  // Null: there is none.
  const ptx2cpu_kernel* CountingFor(const CompileRequest& request);
  // Puts its counters into the profile. False: no room.
  bool BindCounters(const CompileRequest& request, const lowering::KernelImage& image);

  struct Counters {
    uint64_t* words = nullptr;
    size_t count = 0;
  };
  using Shape = std::tuple<std::string, uint32_t, uint32_t, uint32_t>;  // kernel and block

  KernelSource& source_;
  KernelCompiler& compiler_;
  lowering::KernelLoader& loader_;
  const ModuleOptions& options_;
  std::mutex mutex_;
  std::optional<uint32_t> module_;
  std::map<std::string, Counters> counters_;  // by kernel
  std::map<Shape, const ptx2cpu_kernel*> counting_;
  std::vector<const ptx2cpu_kernel*> codes_;
};

}  // namespace ptx2cpu::rt
