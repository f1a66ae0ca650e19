// The PTX of a module: parsed as far as needed, and named by content for the cache.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lowering/compile.h"
#include "lowering/llvm/output/content_hash.h"
#include "ptx-parser/outline/outline.h"
#include "runtime/engine/ptx_text.h"

namespace ptx2cpu::rt {

// A result that is made once, by the first caller; the others wait.
template <typename T>
class Once {
 public:
  template <typename Make>
  const Result<T>& Get(const Make& make) {
    std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(make());
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<Result<T>> value_;
};

// Safe to use from several threads at once.
class KernelSource {
 public:
  explicit KernelSource(std::vector<PtxText> texts);

  const std::vector<PtxText>& texts() const { return texts_; }
  // All of it.
  Result<const lowering::PtxModule*> Whole();
  // What a kernel needs, or all if that cannot be determined: lines and columns are those of the complete
  // text.
  Result<lowering::PtxModule> PartFor(std::string_view kernel);
  // The variables and what their first contents name; parsed anew at each call.
  Result<ir::Module> Variables();
  // File, line, excerpt and source line of a line number of built code.
  FaultPlace Locate(uint32_t line);
  // Whether a kernel of it may require one block shape (.reqntid).
  bool MayRequireShape() const;
  // The content of what PartFor would parse.
  lowering::Digest ContentOf(std::string_view kernel);

 private:
  const ptx::Outline* TheOutline();
  // Items of the outline that the kernel needs; nothing where it may need any.
  std::optional<std::vector<uint32_t>> ItemsFor(std::string_view kernel);

  const std::vector<PtxText> texts_;
  std::once_flag outlined_;
  std::optional<ptx::Outline> outline_;  // of a single text: linked ones number their names over all texts
  Once<lowering::PtxModule> whole_;
};

}  // namespace ptx2cpu::rt
