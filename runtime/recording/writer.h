// Writes a recording: one process's folder. For one thread at a time.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/ptx_text.h"
#include "runtime/recording/block_store.h"
#include "runtime/recording/launch_record.h"

namespace ptx2cpu::rt::recording {

class Writer {
 public:
  // The first folder "process_N" of `folder` that does not exist yet. kFile: it cannot be made.
  static Result<Writer> Make(const std::filesystem::path& folder, const std::string& program);
  // The number of a module with these texts; written if it is new.
  Result<uint32_t> AddModule(std::span<const PtxText> texts, bool contract);
  // The numbers of the blocks of these bytes (block_store.h).
  Result<std::vector<uint32_t>> AddBytes(std::span<const std::byte> bytes, bool with_contents) {
    return blocks_.Add(bytes, with_contents);
  }
  // The launch is completely in the files when this returns.
  Status AddLaunch(const LaunchRecord& launch);

 private:
  Writer(std::filesystem::path folder, BlockWriter blocks)
      : folder_(std::move(folder)), blocks_(std::move(blocks)) {}
  Status Append(const std::string& lines);

  std::filesystem::path folder_;
  BlockWriter blocks_;
  File records_;
  std::map<Digest, uint32_t> modules_;
};

}  // namespace ptx2cpu::rt::recording
