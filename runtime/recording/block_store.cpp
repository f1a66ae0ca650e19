#include "runtime/recording/block_store.h"

#include <zstd.h>

#include <algorithm>
#include <cinttypes>
#include <fstream>
#include <sstream>
#include <string_view>

#include "runtime/recording/hexadecimal.h"

namespace ptx2cpu::rt::recording {

namespace {

constexpr const char* kIndex = "blocks.txt";
constexpr const char* kContents = "blocks.zst";
constexpr int kLevel = 1;

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool ParseDigest(std::string_view text, Digest& digest) {
  if (text.size() != 2 * digest.size()) return false;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = HexDigit(text[2 * i]), low = HexDigit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    digest[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

Error Unwritable(const std::filesystem::path& folder) {
  return Error{ErrorCode::kFile, "cannot write the recording in '" + folder.string() + "'"};
}

Error Damaged(const std::string& what) {
  return Error{ErrorCode::kContainer, "the recording is damaged: " + what};
}

}  // namespace

Result<BlockWriter> BlockWriter::Make(const std::filesystem::path& folder) {
  BlockWriter writer;
  writer.folder_ = folder;
  writer.index_.reset(std::fopen((folder / kIndex).c_str(), "we"));
  writer.contents_.reset(std::fopen((folder / kContents).c_str(), "we"));
  if (writer.index_ == nullptr || writer.contents_ == nullptr) return Fail(Unwritable(folder));
  return writer;
}

Result<uint32_t> BlockWriter::AddBlock(std::span<const std::byte> block, bool with_contents) {
  const Digest digest = rt::HashOf(Text(block));
  const auto [found, is_new] = known_.try_emplace(digest, Known{static_cast<uint32_t>(known_.size()), false});
  Known& known = found->second;
  if (known.stored || (!with_contents && !is_new)) return known.number;
  bool written = false;
  if (with_contents) {
    packed_.resize(ZSTD_compressBound(block.size()));
    const size_t size = ZSTD_compress(packed_.data(), packed_.size(), block.data(), block.size(), kLevel);
    if (ZSTD_isError(size) != 0) return Fail(ErrorCode::kInternal, "zstd cannot compress a block");
    written = std::fwrite(packed_.data(), 1, size, contents_.get()) == size &&
              std::fprintf(index_.get(), "%" PRIu32 " %s %zu %" PRIu64 " %zu\n", known.number,
                           Hex(digest).c_str(), block.size(), offset_, size) > 0;
    offset_ += size;
    known.stored = true;
  } else {
    written = std::fprintf(index_.get(), "%" PRIu32 " %s %zu -\n", known.number, Hex(digest).c_str(),
                           block.size()) > 0;
  }
  if (!written) return Fail(Unwritable(folder_));
  return known.number;
}

Result<std::vector<uint32_t>> BlockWriter::Add(std::span<const std::byte> bytes, bool with_contents) {
  std::vector<uint32_t> numbers;
  for (size_t at = 0; at < bytes.size(); at += kBlockBytes)
    numbers.push_back(
        TRY(AddBlock(bytes.subspan(at, std::min(kBlockBytes, bytes.size() - at)), with_contents)));
  return numbers;
}

Status BlockWriter::Flush() {
  // Contents are written first, so that blocks which the record of a launch names are in both files.
  if (std::fflush(contents_.get()) != 0 || std::fflush(index_.get()) != 0) return Fail(Unwritable(folder_));
  return {};
}

Result<BlockReader> BlockReader::Open(const std::filesystem::path& folder) {
  BlockReader reader;
  std::ifstream index(folder / kIndex);
  reader.contents_.reset(std::fopen((folder / kContents).c_str(), "re"));
  if (!index || reader.contents_ == nullptr)
    return Fail(ErrorCode::kFile, "'" + folder.string() + "' has no " + kIndex + " and " + kContents);
  for (std::string line; std::getline(index, line);) {
    if (index.eof()) break;  // without an end: the process died while it wrote it
    std::istringstream words(line);
    uint32_t number = 0;
    std::string hash, offset;
    Block block;
    if (!(words >> number >> hash >> block.bytes >> offset) || !ParseDigest(hash, block.hash) ||
        block.bytes > kBlockBytes || number > reader.blocks_.size())
      return Fail(Damaged(std::string(kIndex) + " has the line '" + line + "'"));
    if (offset != "-") {
      block.offset = std::strtoull(offset.c_str(), nullptr, 10);
      if (!(words >> block.stored))
        return Fail(Damaged(std::string(kIndex) + " has the line '" + line + "'"));
    }
    if (number == reader.blocks_.size())
      reader.blocks_.push_back(block);
    else
      reader.blocks_[number] = block;
  }
  return reader;
}

Result<Digest> BlockReader::HashOf(uint32_t number) const {
  if (number >= blocks_.size()) return Fail(Damaged("there is no block " + std::to_string(number)));
  return blocks_[number].hash;
}

bool BlockReader::HasContents(uint32_t number) const {
  return number < blocks_.size() && blocks_[number].stored != 0;
}

Result<std::vector<std::byte>> BlockReader::Contents(uint32_t number) const {
  const Digest hash = TRY(HashOf(number));
  const Block& block = blocks_[number];
  if (block.stored == 0)
    return Fail(ErrorCode::kNotFound,
                "the contents of block " + std::to_string(number) + " are not recorded");
  std::vector<std::byte> packed(std::min<uint64_t>(block.stored, ZSTD_compressBound(kBlockBytes)));
  std::vector<std::byte> bytes(block.bytes);
  const bool read = fseeko(contents_.get(), static_cast<off_t>(block.offset), SEEK_SET) == 0 &&
                    std::fread(packed.data(), 1, packed.size(), contents_.get()) == packed.size();
  const size_t size =
      read ? ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) : size_t{0};
  if (!read || ZSTD_isError(size) != 0 || size != bytes.size() || rt::HashOf(Text(bytes)) != hash)
    return Fail(Damaged("block " + std::to_string(number) + " is not what was written"));
  return bytes;
}

}  // namespace ptx2cpu::rt::recording
