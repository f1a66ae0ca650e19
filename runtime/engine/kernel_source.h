// The PTX of a module: parsed as far as needed, and named by content for the cache.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lowering/translator/translator.h"
#include "ptx-parser/outline/outline.h"
#include "runtime/engine/cache/content_hash.h"
#include "runtime/engine/contained.h"
#include "runtime/engine/ptx_text.h"

namespace ptx2cpu::rt {

// A result that is made once, by the first caller; the others wait.
template <typename T>
class Once {
 public:
  template <typename Make>
  const Result<T>& Get(const Make& make) {
    std::unique_lock lock(mutex_);
    // A value that a thread of the parent process prepares will never exist in this forked child.
    prepared_.wait(lock, [this] { return value_ || preparer_ != getpid(); });
    if (!value_) value_.emplace(make());
    return *value_;
  }
  // Prepares the value before the first caller, on a thread that a forked child does not have: nothing is
  // locked meanwhile. Failures and exceptions of `make` are not kept. Returns whether there is a value.
  template <typename Make>
  bool Prepare(const Make& make) {
    {
      std::lock_guard lock(mutex_);
      if (value_ || preparer_ == getpid()) return value_ && value_->has_value();
      preparer_ = getpid();
    }
    const Preparing preparing{*this};
    Result<T> made = Caught(make);
    std::lock_guard lock(mutex_);
    if (made && !value_) value_.emplace(std::move(made));
    return value_ && value_->has_value();
  }

 private:
  // Its destructor lets the waiting threads continue.
  struct Preparing {
    Once& once;
    ~Preparing() {
      std::lock_guard lock(once.mutex_);
      once.preparer_ = 0;
      once.prepared_.notify_all();
    }
  };

  std::mutex mutex_;
  std::condition_variable prepared_;
  pid_t preparer_ = 0;  // the process of the thread that prepares; 0: none does
  std::optional<Result<T>> value_;
};

using Parsed = std::shared_ptr<const lowering::TranslatedModule>;

// Safe to use from several threads at once. Functions that parse load the translator.
class KernelSource {
 public:
  explicit KernelSource(std::vector<PtxText> texts);

  const std::vector<PtxText>& texts() const { return texts_; }
  // All of it.
  Result<Parsed> Whole();
  // The part that a kernel needs, or the whole text if that cannot be determined. Lines and columns are those
  // of the whole text.
  Result<Parsed> PartFor(std::string_view kernel);
  // The variables and the symbols that their first contents name; parsed again at each call.
  Result<Parsed> PartForVariables();
  // File, line, excerpt and source line of a line number of built code.
  FaultPlace Locate(uint32_t line);
  // Whether a kernel of it may require one block shape (.reqntid).
  bool MayRequireShape() const;
  // The digest of the text that PartFor would parse, and that of the whole text.
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
