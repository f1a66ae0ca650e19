// A recording as it was written.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/engine/ptx_text.h"
#include "runtime/recording/block_store.h"
#include "runtime/recording/launch_record.h"

namespace ptx2cpu::rt::recording {

class Reader {
 public:
  // The folder of a process, or one with the folders of several, of which the first is read (`process_0`).
  // Errors: kFile, kContainer.
  static Result<Reader> Open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const Records& records() const { return records_; }
  const BlockReader& blocks() const { return blocks_; }
  Result<std::vector<PtxText>> TextsOf(const ModuleRecord& module) const;

 private:
  Reader(std::filesystem::path folder, Records records, BlockReader blocks)
      : folder_(std::move(folder)), records_(std::move(records)), blocks_(std::move(blocks)) {}

  std::filesystem::path folder_;
  Records records_;
  BlockReader blocks_;
};

}  // namespace ptx2cpu::rt::recording
