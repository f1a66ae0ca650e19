// The PTX of a module: parsed as far as needed, and named by content for the cache.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lowering/translator/translator.h"
#include "ptx-parser/outline/outline.h"
#include "runtime/engine/cache/content_hash.h"
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
  // Ahead of the first caller; a failure is not kept.
  template <typename Make>
  void Prepare(const Make& make) {
    std::lock_guard lock(mutex_);
    if (value_) return;
    if (Result<T> made = make()) value_.emplace(std::move(made));
  }

 private:
  std::mutex mutex_;
  std::optional<Result<T>> value_;
};

using Parsed = std::shared_ptr<const lowering::TranslatedModule>;

// Safe to use from several threads at once. What parses loads the translator.
class KernelSource {
 public:
  explicit KernelSource(std::vector<PtxText> texts);

  const std::vector<PtxText>& texts() const { return texts_; }
  // All of it.
  Result<Parsed> Whole();
  // What a kernel needs, or all if that cannot be determined: lines and columns are those of the complete
  // text.
  Result<Parsed> PartFor(std::string_view kernel);
  // The variables and what their first contents name; parsed anew at each call.
  Result<Parsed> PartForVariables();
  // File, line, excerpt and source line of a line number of built code.
  FaultPlace Locate(uint32_t line);
  // Whether a kernel of it may require one block shape (.reqntid).
  bool MayRequireShape() const;
  // The content of what PartFor would parse, and that of all of it.
  Digest ContentOf(std::string_view kernel);
  Digest ContentOfVariables();  // of what PartForVariables would parse
  Digest Content() const;

 private:
  const ptx::Outline* TheOutline();
  // Items of the outline that the kernel needs; nothing where it may need any.
  std::optional<std::vector<uint32_t>> ItemsFor(std::string_view kernel);
  Digest ContentOf(const std::vector<uint32_t>& items);

  const std::vector<PtxText> texts_;
  std::once_flag outlined_;
  std::optional<ptx::Outline> outline_;  // of a single text: linked ones number their names over all texts
  Once<Parsed> whole_;
};

}  // namespace ptx2cpu::rt
