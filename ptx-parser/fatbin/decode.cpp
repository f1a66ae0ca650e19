// Decodes the payload of an image: never more bytes than its header states and the bounds on headers allow.
#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/format.h"
#include "ptx-parser/fatbin/guard.h"
#include "ptx-parser/fatbin/inflate.h"
#include "ptx-parser/fatbin/ptx_text.h"

namespace ptx2cpu::ptx {
namespace {

using fatbin::Bytes;

Error Damaged(const Image& image, std::string why) {
  return {.code = ErrorCode::kContainer,
          .message = fmt::format("the {} image for {} at 0x{:x} is damaged: {}", Name(image.kind),
                                 image.Target(), image.file_offset, why),
          .hint = "the file is truncated or corrupt: fetch or build it again"};
}

Result<std::string> DecodeLz4(const Image& image) {
  std::string out;
  int written = 0;
  out.resize_and_overwrite(image.size, [&](char* data, size_t size) {
    written = LZ4_decompress_safe(reinterpret_cast<const char*>(image.payload.data()), data,
                                  static_cast<int>(image.payload.size()), static_cast<int>(size));
    return static_cast<size_t>(std::max(written, 0));
  });
  if (written < 0) return Fail(Damaged(image, "its LZ4 data does not decode to the stated size"));
  return out;
}

Result<std::string> DecodeZstd(const Image& image) {
  // Checked before anything is allocated: a frame whose own header states another size need not be tried.
  const auto framed = ZSTD_getFrameContentSize(image.payload.data(), image.payload.size());
  if (framed == ZSTD_CONTENTSIZE_ERROR) return Fail(Damaged(image, "its zstd frame is invalid"));
  if (framed != ZSTD_CONTENTSIZE_UNKNOWN && framed > image.size) {
    return Fail(Damaged(
        image, fmt::format("its zstd frame holds {} bytes, its header states {}", framed, image.size)));
  }
  std::string out;
  size_t written = 0;
  out.resize_and_overwrite(image.size, [&](char* data, size_t size) {
    written = ZSTD_decompress(data, size, image.payload.data(), image.payload.size());
    return ZSTD_isError(written) ? 0 : written;
  });
  if (ZSTD_isError(written))
    return Fail(Damaged(image, fmt::format("zstd reports: {}", ZSTD_getErrorName(written))));
  return out;
}

Result<std::string> DecodeStream(const Image& image) {
  auto out = fatbin::Inflater().Decode(image.payload, image.size);
  if (!out)
    return Fail(Damaged(image, fmt::format("its {} stream does not decode", Name(image.compression))));
  return *std::move(out);
}

Result<std::string> DecodeBytes(const Image& image) {
  switch (image.compression) {
    case Image::Compression::kNone:
      return std::string(fatbin::Text(image.payload));
    case Image::Compression::kLz4:
      return DecodeLz4(image);
    case Image::Compression::kZstd:
      return DecodeZstd(image);
    case Image::Compression::kGzip:
    case Image::Compression::kZlib:
      return DecodeStream(image);
    case Image::Compression::kLegacy:
      break;
  }
  return Fail(
      Error{.code = ErrorCode::kUnsupported,
            .message = fmt::format("the {} image for {} at 0x{:x} uses the compression of old CUDA toolkits "
                                   "(flag 0x1000), which is not read",
                                   Name(image.kind), image.Target(), image.file_offset),
            .hint = "rebuild with a current nvcc, or with --no-compress"});
}

}  // namespace

Result<std::string> Image::Decode() const {
  return fatbin::Guarded("decoding an image", [&]() -> Result<std::string> {
    if (!damage.empty()) return Fail(Damaged(*this, damage));
    if ((flags & fatbin::kFlagObfuscated) != 0) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("the {} image for {} at 0x{:x} is obfuscated and stays as it is", Name(kind),
                              Target(), file_offset));
    }
    std::string bytes = TRY(DecodeBytes(*this));
    if (bytes.size() != size) {
      return Fail(
          Damaged(*this, fmt::format("it decodes to {} bytes, its header states {}", bytes.size(), size)));
    }
    if (kind != Kind::kPtx) return bytes;
    bytes.erase(bytes.find_last_not_of('\0') + 1);
    // An LZ4 block has no checksum: garbled data may well decode to the right size.
    if (compression != Compression::kNone && !fatbin::StartsAsPtx(bytes)) {
      return Fail(Damaged(*this, "its decoded content is not PTX"));
    }
    return bytes;
  });
}

Result<std::vector<std::string>> Image::Kernels() const {
  if (kind != Kind::kPtx) return std::vector<std::string>();
  const std::string text = TRY(Decode());
  return fatbin::Guarded("naming the kernels of an image",
                         [&]() -> Result<std::vector<std::string>> { return EntryNames(text); });
}

}  // namespace ptx2cpu::ptx
