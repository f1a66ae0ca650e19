// Contents of memory, cut into blocks: equal blocks have one number and are stored once, compressed with
// zstd.
//
// Two files of a folder: blocks.zst has the compressed blocks one after the other; each line of blocks.txt is
// "NUMBER HASH BYTES OFFSET STORED", or "NUMBER HASH BYTES -" for a block whose contents are not stored. A
// later line for the same number replaces the earlier one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/result.h"
#include "runtime/engine/cache/content_hash.h"

namespace ptx2cpu::rt::recording {

inline constexpr size_t kBlockBytes = size_t{64} << 10;  // of each block of an area but its last

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// For one thread at a time.
class BlockWriter {
 public:
  // kFile: the files cannot be made.
  static Result<BlockWriter> Make(const std::filesystem::path& folder);
  // The numbers of the blocks of these bytes, in order. `with_contents`: they are stored, not only named.
  Result<std::vector<uint32_t>> Add(std::span<const std::byte> bytes, bool with_contents);
  Status Flush();

 private:
  struct Known {
    uint32_t number = 0;
    bool stored = false;
  };
  Result<uint32_t> AddBlock(std::span<const std::byte> block, bool with_contents);

  std::filesystem::path folder_;
  File index_, contents_;
  std::map<Digest, Known> known_;
  uint64_t offset_ = 0;  // of the next block in blocks.zst
  std::vector<std::byte> packed_;
};

class BlockReader {
 public:
  static Result<BlockReader> Open(const std::filesystem::path& folder);
  // kContainer: `number` is not that of a block.
  Result<Digest> HashOf(uint32_t number) const;
  bool HasContents(uint32_t number) const;
  // The contents, checked. kNotFound: they are not stored. kContainer: the files are damaged.
  Result<std::vector<std::byte>> Contents(uint32_t number) const;

 private:
  struct Block {
    Digest hash = {};
    uint64_t bytes = 0, offset = 0, stored = 0;  // stored 0: the contents are not
  };
  std::vector<Block> blocks_;
  File contents_;
};

}  // namespace ptx2cpu::rt::recording
