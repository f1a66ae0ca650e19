// A folder for files between programs, which goes with what made it.
#pragma once

#include <string>

#include "ir/result.h"

namespace ptx2cpu::tool {

class TemporaryFolder {
 public:
  // An empty folder "ptx2cpu-NAME.." where temporary files belong.
  static Result<TemporaryFolder> Make(const std::string& name);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() { Remove(); }

  const std::string& path() const { return path_; }
  // Before a call that does not return.
  void Remove();

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty: removed
};

}  // namespace ptx2cpu::tool
