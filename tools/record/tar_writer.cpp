#include "tools/record/tar_writer.h"

#include <array>
#include <cstdio>
#include <cstring>

namespace ptx2cpu::rt {
namespace {

constexpr size_t kBlock = 512;
using Block = std::array<char, kBlock>;

// Field layout of the ustar header: offset and length of each text or octal field.
void PutText(Block& block, size_t at, std::string_view text) {
  std::memcpy(block.data() + at, text.data(), text.size());
}
void PutOctal(Block& block, size_t at, int digits, unsigned long long value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "%0*llo", digits, value);
  std::memcpy(block.data() + at, text.data(), static_cast<size_t>(digits));
}

}  // namespace

Result<TarWriter> TarWriter::Create(const std::filesystem::path& path) {
  std::ofstream out(path, std::ios::binary);
  if (!out) return Fail(ErrorCode::kFile, "cannot write '" + path.string() + "'");
  return TarWriter(std::move(out));
}

Status TarWriter::Add(std::string_view name, std::span<const std::byte> data) {
  if (name.size() > 99) return Fail(ErrorCode::kFile, "name too long for the archive: " + std::string(name));
  Block header{};
  PutText(header, 0, name);
  PutOctal(header, 100, 7, 0644);
  PutOctal(header, 108, 7, 0);
  PutOctal(header, 116, 7, 0);
  PutOctal(header, 124, 11, data.size());
  PutOctal(header, 136, 11, 0);
  PutText(header, 148, "        ");
  header[156] = '0';
  PutText(header, 257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  PutOctal(header, 148, 6, sum);
  header[154] = '\0';
  out_.write(header.data(), kBlock);
  out_.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  const Block zeros{};
  out_.write(zeros.data(), static_cast<std::streamsize>((kBlock - data.size() % kBlock) % kBlock));
  if (!out_) return Fail(ErrorCode::kFile, "cannot write the archive");
  return {};
}

Status TarWriter::Finish() {
  const Block zeros{};
  out_.write(zeros.data(), kBlock);
  out_.write(zeros.data(), kBlock);
  out_.close();
  if (!out_) return Fail(ErrorCode::kFile, "cannot write the archive");
  return {};
}

}  // namespace ptx2cpu::rt
