// Options of compilers that make machine code at run time, changed so that they make PTX.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptx2cpu::redirect {

// A list of options as C programs pass it.
class OptionList {
 public:
  explicit OptionList(std::span<const char* const> options);

  size_t size() const { return words_.size(); }
  const std::string& operator[](size_t i) const { return words_[i]; }
  void Set(size_t i, std::string word) { words_[i] = std::move(word); }
  void Add(std::string word) { words_.push_back(std::move(word)); }
  std::vector<const char*> Pointers() const;

 private:
  std::vector<std::string> words_;
};

// For NVRTC: the same options with compute_XY if they request machine code of sm_XY. Nothing: they request
// none.
std::optional<OptionList> AskingForPtx(std::span<const char* const> options);

// For nvJitLink.
struct LinkOptions {
  OptionList list;  // LTO IR becomes PTX
  bool lto = false;
};
// Nothing: they already request PTX.
std::optional<LinkOptions> LinkingToPtx(std::span<const char* const> options);

}  // namespace ptx2cpu::redirect
