#include "ptx-parser/fatbin/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <expected>
#include <optional>

namespace ptx2cpu::ptx::fatbin {
namespace {

struct Defect {
  uint64_t offset = 0;
  std::string message;
};

// A file made of nested, almost right containers would make the walks quadratic; the honest libraries have no
// failing walk at all, so a budget over all failing walks costs sound files nothing.
constexpr size_t kFailedStepsBudget = size_t{1} << 22;

struct EntryExtent {
  uint64_t header = 0, payload = 0;
};

std::expected<EntryExtent, Defect> ReadExtent(Bytes bytes, uint64_t at, uint64_t end) {
  if (!Fits(at, kEntryHeader, end)) {
    return std::unexpected(
        Defect{at, fmt::format("{} bytes are left where an entry header needs {}", end - at, kEntryHeader)});
  }
  const auto version = LoadAt<uint16_t>(bytes, at + kAtEntryVersion);
  const EntryExtent extent{LoadAt<uint32_t>(bytes, at + kAtHeaderSize),
                           LoadAt<uint64_t>(bytes, at + kAtPayloadSize)};
  if (version != kEntryVersion) {
    return std::unexpected(
        Defect{at, fmt::format("entry version is 0x{:04x}, not 0x{:04x}", version, kEntryVersion)});
  }
  if (extent.header < kEntryHeader || !Fits(at, extent.header, end)) {
    return std::unexpected(Defect{at, fmt::format("entry header of {} bytes does not fit", extent.header)});
  }
  if (!Fits(at + extent.header, extent.payload, end)) {
    return std::unexpected(
        Defect{at, fmt::format("entry payload of {} bytes does not fit in the {} that are left",
                               extent.payload, end - at - extent.header)});
  }
  return extent;
}

// The text of [offset, offset + length) of an entry header, without trailing NULs.
std::optional<std::string> HeaderText(Bytes header, uint64_t offset, uint64_t length) {
  if (!Fits(offset, length, header.size())) return std::nullopt;
  std::string_view text = Text(header.subspan(offset, length));
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  return std::string(text);
}

void ReadHeaderTexts(Bytes header, Image& image) {
  if (const auto at = LoadAt<uint32_t>(header, kAtIdentifier); at != 0) {
    auto text = HeaderText(header, at, LoadAt<uint32_t>(header, kAtIdentifier + 4));
    // Only a name: an image without it is as good.
    image.identifier = text ? *text : std::string();
  }
  // A cubin's descriptor leads to a binary record that is not needed here.
  if (image.kind != Image::Kind::kPtx && image.kind != Image::Kind::kLtoIr) return;
  const auto at = LoadAt<uint32_t>(header, kAtOptions);
  if (at == 0) return;
  std::optional<std::string> text;
  if (Fits(at, 8, header.size())) {
    text = HeaderText(header, LoadAt<uint32_t>(header, at), LoadAt<uint32_t>(header, at + 4));
  }
  if (text) {
    image.options = *std::move(text);
  } else {
    // The options may change results, so the image must not run without them.
    image.damage = "its JIT options lie outside its header";
  }
}

void ReadSizes(Bytes header, Image& image) {
  const uint64_t formats = image.flags & (kFlagLegacy | kFlagLz4 | kFlagZstd);
  image.size = image.stored_size = image.payload.size();
  if (formats == 0) {
    if (image.size > kMaxImageSize)
      image.damage = fmt::format("its size of {} bytes is implausible", image.size);
    return;
  }
  image.compression = formats == kFlagZstd  ? Image::Compression::kZstd
                      : formats == kFlagLz4 ? Image::Compression::kLz4
                                            : Image::Compression::kLegacy;
  image.stored_size = LoadAt<uint32_t>(header, kAtCompressedSize);
  image.size = LoadAt<uint64_t>(header, kAtDecodedSize);
  if ((formats & (formats - 1)) != 0) {
    image.damage = fmt::format("its flags 0x{:x} name two compressions", image.flags);
  } else if (image.stored_size > image.payload.size() || image.stored_size == 0) {
    image.damage = fmt::format("its compressed size of {} bytes does not fit its payload of {}",
                               image.stored_size, image.payload.size());
  } else if (image.size > kMaxImageSize || image.size / kMaxExpansion > image.stored_size + 64) {
    image.damage = fmt::format("its decoded size of {} bytes is implausible for {} stored bytes", image.size,
                               image.stored_size);
  } else {
    image.payload = image.payload.first(image.stored_size);
  }
}

Image ReadImage(Bytes bytes, uint64_t at, EntryExtent extent) {
  const Bytes header = bytes.subspan(at, extent.header);
  Image image;
  image.file_offset = at;
  image.payload = bytes.subspan(at + extent.header, extent.payload);
  image.raw_kind = LoadAt<uint16_t>(header, kAtKind);
  image.kind = image.raw_kind == kKindPtx     ? Image::Kind::kPtx
               : image.raw_kind == kKindCubin ? Image::Kind::kCubin
               : image.raw_kind == kKindLtoIr ? Image::Kind::kLtoIr
                                              : Image::Kind::kUnknown;
  image.sm = LoadAt<uint32_t>(header, kAtSm);
  image.flags = LoadAt<uint64_t>(header, kAtFlags);
  image.arch_specific = (image.flags & kFlagArchSpecific) != 0;
  image.family_specific = (image.flags & kFlagFamilySpecific) != 0;
  if (image.kind == Image::Kind::kPtx) {
    image.ptx_major = LoadAt<uint16_t>(header, kAtMajor);
    image.ptx_minor = LoadAt<uint16_t>(header, kAtMinor);
  }
  ReadSizes(header, image);
  ReadHeaderTexts(header, image);
  return image;
}

struct Walk {
  uint64_t size = 0;  // with the header
  size_t entries = 0;
  std::optional<Defect> defect;
};

// Checks that the entries tile the container; nothing is built for one that is not right.
Walk WalkEntries(Bytes bytes, uint64_t at) {
  Walk walk;
  const auto stated = LoadAt<uint64_t>(bytes, at + 8);
  const uint64_t room = bytes.size() - at - kContainerHeader;
  // If a size does not fit, the existing bytes are still walked: the first bad entry is more informative than
  // the total.
  const uint64_t end = at + kContainerHeader + std::min(stated, room);
  uint64_t entry = at + kContainerHeader;
  while (entry < end && !walk.defect) {
    const auto extent = ReadExtent(bytes, entry, end);
    if (extent) {
      entry += extent->header + extent->payload;
      ++walk.entries;
    } else {
      walk.defect = extent.error();
    }
  }
  if (stated > room) {
    walk.defect =
        Defect{at, fmt::format("it states {} bytes of entries but the file ends after {}", stated, room)};
  }
  walk.size = end - at;
  return walk;
}

Container ReadContainer(Bytes bytes, uint64_t at, const Walk& walk) {
  Container container;
  container.offset = at;
  container.size = walk.size;
  container.version = LoadAt<uint16_t>(bytes, at + 4);
  container.images.reserve(walk.entries);
  for (uint64_t entry = at + kContainerHeader; entry < at + walk.size;) {
    const auto extent = ReadExtent(bytes, entry, at + walk.size);
    CHECK(extent.has_value(), "a walked container changed under the reader");
    container.images.push_back(ReadImage(bytes, entry, *extent));
    entry += extent->header + extent->payload;
  }
  return container;
}

// True where containers are expected, so that a header of unknown version is worth a word.
bool IsExpectedAt(uint64_t at, std::span<const Section> sections) {
  if (at == 0) return true;
  auto next =
      std::upper_bound(sections.begin(), sections.end(), at,
                       [](uint64_t offset, const Section& section) { return offset < section.begin; });
  return next != sections.begin() && at < std::prev(next)->end && (at - std::prev(next)->begin) % 8 == 0;
}

}  // namespace

uint64_t FindMagic(Bytes bytes, uint64_t from) {
  constexpr uint64_t kBlock = 4096;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint64_t size = bytes.size();
  constexpr uint8_t b0 = kContainerMagic & 0xFF, b1 = (kContainerMagic >> 8) & 0xFF,
                    b2 = (kContainerMagic >> 16) & 0xFF, b3 = kContainerMagic >> 24;
  auto is_magic = [&](uint64_t i) {
    return data[i] == b0 && data[i + 1] == b1 && data[i + 2] == b2 && data[i + 3] == b3;
  };
  uint64_t at = std::min(from, size);
  while (at < size && size - at >= 4) {
    const uint64_t positions = std::min(kBlock, size - at - 3);
    // Two bytes settle almost every block, and a loop without branches becomes vector code.
    uint8_t maybe = 0;
    for (uint64_t i = at; i < at + positions; ++i) {
      maybe |=
          static_cast<uint8_t>(static_cast<uint8_t>(data[i] == b0) & static_cast<uint8_t>(data[i + 1] == b1));
    }
    if (maybe != 0) {
      for (uint64_t i = at; i < at + positions; ++i) {
        if (is_magic(i)) return i;
      }
    }
    at += positions;
  }
  return size;
}

Scan ScanContainers(Bytes bytes, std::span<const Section> fatbin_sections, WarningList& warnings) {
  Scan result;
  size_t images = 0, failed_steps = 0;
  for (uint64_t at = FindMagic(bytes, 0); at < bytes.size(); at = FindMagic(bytes, at)) {
    const auto version = Load<uint16_t>(bytes, at + 4);
    const auto header_size = Load<uint16_t>(bytes, at + 6);
    const bool known = version == kContainerVersion && header_size == kContainerHeader;
    if (!known || !Fits(at, kContainerHeader, bytes.size())) {
      if (IsExpectedAt(at, fatbin_sections)) {
        warnings.Add(at, Fits(at, kContainerHeader, bytes.size())
                             ? fmt::format("container of unknown version {} with a header of {} bytes",
                                           *version, *header_size)
                             : std::string("the file ends within a container header"));
      }
      at += 4;
      continue;
    }
    const Walk walk = WalkEntries(bytes, at);
    if (walk.defect) {
      warnings.Add(at,
                   fmt::format("damaged container: at 0x{:x} {}", walk.defect->offset, walk.defect->message));
      result.damaged.push_back({at, at + walk.size});
      failed_steps += walk.entries;
      if (failed_steps > kFailedStepsBudget) {
        warnings.Add(at, "too many damaged containers; the rest of the file was not searched");
        break;
      }
      at += 4;
      continue;
    }
    if (walk.entries > kMaxImages - images) {
      warnings.Add(at, fmt::format("more than {} images; the rest of the file was not read", kMaxImages));
      break;
    }
    images += walk.entries;
    result.containers.push_back(ReadContainer(bytes, at, walk));
    at += walk.size;
  }
  return result;
}

}  // namespace ptx2cpu::ptx::fatbin
