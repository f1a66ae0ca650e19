// Finds containers and their places in the bytes of a file. The scan trusts only the containers' own bytes;
// ELF and archive headers only name places.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/guard.h"
#include "ptx-parser/fatbin/places.h"
#include "ptx-parser/fatbin/printable.h"
#include "ptx-parser/fatbin/ptx_text.h"
#include "ptx-parser/fatbin/scan.h"
#include "ptx-parser/fatbin/search.h"

namespace ptx2cpu::ptx {
namespace {

using fatbin::Bytes;
using fatbin::WarningList;

// Names for places of the file, each list by begin.
struct Places {
  std::vector<fatbin::Member> members;
  std::vector<fatbin::Section> sections;
  std::vector<fatbin::WrapperRecord> wrappers;
  bool is_cubin = false;
  uint32_t cubin_sm = 0;
};

void AddElf(Bytes file, uint64_t begin, uint64_t end, Places& places, WarningList& warnings) {
  const Bytes elf = file.subspan(begin, end - begin);
  if (!fatbin::Text(elf).starts_with(fatbin::kElfMagic)) return;
  fatbin::ElfView view = fatbin::ReadElf(elf, begin, warnings);
  std::ranges::move(view.sections, std::back_inserter(places.sections));
  std::ranges::move(view.wrappers, std::back_inserter(places.wrappers));
  if (begin == 0) {
    places.is_cubin = view.is_cubin;
    places.cubin_sm = view.cubin_sm;
  }
}

Places MapPlaces(Bytes file, WarningList& warnings) {
  Places places;
  if (fatbin::Text(file).starts_with(fatbin::kArchiveMagic)) {
    places.members = fatbin::ReadArchive(file, 0, warnings);
    for (const auto& member : places.members) AddElf(file, member.begin, member.end, places, warnings);
  } else {
    AddElf(file, 0, file.size(), places, warnings);
  }
  return places;
}

// The last of `ranges` that begins at or before `at`, where it also covers `at`.
template <typename Range>
const Range* Covering(const std::vector<Range>& ranges, uint64_t at) {
  auto next = std::ranges::upper_bound(ranges, at, {}, &Range::begin);
  if (next == ranges.begin() || at >= std::prev(next)->end) return nullptr;
  return &*std::prev(next);
}

void NamePlaces(Extraction& extraction, const Places& places) {
  for (Container& container : extraction.containers) {
    if (const auto* member = Covering(places.members, container.offset)) {
      container.member = container.member.empty() ? member->name : member->name + "/" + container.member;
    }
    if (const auto* section = Covering(places.sections, container.offset)) container.section = section->name;
    const size_t index = &container - extraction.containers.data();
    for (Image& image : container.images) {
      image.container_index = index;
      image.relocatable |=
          container.section == fatbin::kRelocatableSection ||
          (image.kind == Image::Kind::kPtx && !image.options.empty() && image.Jit().compile_only);
    }
  }
}

void NoteDamagedImages(const Extraction& extraction, WarningList& warnings) {
  for (const Container& container : extraction.containers) {
    for (const Image& image : container.images) {
      if (image.damage.empty()) continue;
      warnings.Add(image.file_offset, fmt::format("damaged {} image for {}: {}", Name(image.kind),
                                                  image.Target(), image.damage));
    }
  }
}

void FollowWrappers(Extraction& extraction, const Places& places, WarningList& warnings) {
  std::unordered_map<uint64_t, size_t> by_offset;
  for (const Container& container : extraction.containers) {
    by_offset.emplace(container.offset, &container - extraction.containers.data());
  }
  for (const auto& record : places.wrappers) {
    Wrapper wrapper{record.offset, record.version, std::nullopt, {}};
    if (const auto* member = Covering(places.members, record.offset)) wrapper.member = member->name;
    if (record.target) {
      if (const auto found = by_offset.find(*record.target); found != by_offset.end()) {
        wrapper.container_index = found->second;
      } else {
        warnings.Add(record.offset,
                     fmt::format("the program registers a fat binary at 0x{:x}, where there is no sound one",
                                 *record.target));
      }
    }
    extraction.wrappers.push_back(std::move(wrapper));
  }
}

// Beside the containers: PTX that programs carry in other ways. Fat binaries' own sections have none.
void AddPtxOutside(Bytes bytes, std::vector<fatbin::Range> taken,
                   std::span<const fatbin::Section> fatbin_sections, Extraction& extraction,
                   WarningList& warnings) {
  size_t images = 0;
  for (const Container& container : extraction.containers) {
    taken.push_back({container.offset, container.offset + container.size});
    images += container.images.size();
  }
  for (const auto& section : fatbin_sections) taken.push_back({section.begin, section.end});
  std::ranges::sort(taken, {}, &fatbin::Range::begin);
  std::vector<Container> found = fatbin::SearchOutsideContainers(bytes, taken, kMaxImages - images, warnings);
  std::ranges::move(found, std::back_inserter(extraction.containers));
  std::ranges::sort(extraction.containers, {}, &Container::offset);
}

Extraction::FileKind KindOf(Bytes bytes, bool is_cubin) {
  using enum Extraction::FileKind;
  const std::string_view text = fatbin::Text(bytes);
  if (text.starts_with(fatbin::kElfMagic)) return is_cubin ? kCubin : kElf;
  if (text.starts_with(fatbin::kArchiveMagic)) return kArchive;
  if (text.starts_with(kLinkedImageMagic)) return kLinkedImage;
  return fatbin::Load<uint32_t>(bytes, 0) == fatbin::kContainerMagic ? kFatbin : kOther;
}

// The file as the only image of a container of version 0.
void AddWholeFile(Bytes bytes, Image image, Extraction& extraction) {
  image.size = image.stored_size = bytes.size();
  image.payload = bytes;
  Container container{
      .offset = 0, .size = bytes.size(), .version = 0, .member = {}, .section = {}, .images = {}};
  container.images.push_back(std::move(image));
  extraction.containers.push_back(std::move(container));
}

bool AddPtxText(Bytes bytes, Extraction& extraction) {
  std::string_view text = fatbin::Text(bytes);
  text = text.substr(0, text.find_last_not_of('\0') + 1);
  const bool starts = fatbin::StartsAsPtx(text);
  if (!starts && !(extraction.name.ends_with(".ptx") && fatbin::LooksLikeText(text))) return false;
  Image image;
  image.kind = Image::Kind::kPtx;
  image.raw_kind = fatbin::kKindPtx;
  fatbin::ReadPtxHeader(text, image);
  AddWholeFile(bytes, std::move(image), extraction);
  extraction.file_kind = Extraction::FileKind::kPtx;
  return true;
}

Error NothingFound(const Extraction& extraction, Bytes bytes) {
  Error error{.code = ErrorCode::kContainer, .message = {}, .at = {.file = extraction.name}};
  if (bytes.empty()) {
    error.message = "the file is empty";
  } else if (!extraction.warnings.empty()) {
    const Warning& first = extraction.warnings.front();
    error.message = fmt::format("no sound fat binary in a damaged file: at 0x{:x} {}", first.offset,
                                fatbin::Printable(first.message));
    const size_t more = extraction.warnings.size() - 1 + extraction.warnings_left_out;
    if (more != 0) error.message += fmt::format(" ({} more)", more);
    error.hint = "the file is truncated or corrupt: fetch or build it again";
  } else {
    error.code = ErrorCode::kNoPtx;
    error.message = "no CUDA code: neither a fat binary nor PTX text";
    error.hint =
        fatbin::Text(bytes).starts_with(fatbin::kThinArchiveMagic)
            ? "a thin archive only names its members: pass these files instead"
            : "expected an executable, shared object, .o, .a, .fatbin or .ptx that nvcc or clang made";
  }
  return error;
}

Result<Extraction> ExtractUnguarded(Bytes bytes, std::string name) {
  Extraction extraction;
  extraction.name = std::move(name);
  extraction.file_size = bytes.size();
  WarningList warnings(extraction);
  if (AddPtxText(bytes, extraction)) return extraction;

  const Places places = MapPlaces(bytes, warnings);
  extraction.file_kind = KindOf(bytes, places.is_cubin);
  if (places.is_cubin) {
    Image image;
    image.kind = Image::Kind::kCubin;
    image.raw_kind = fatbin::kKindCubin;
    image.sm = places.cubin_sm;
    AddWholeFile(bytes, std::move(image), extraction);
    return extraction;
  }
  std::vector<fatbin::Section> fatbin_sections;
  std::ranges::copy_if(
      places.sections, std::back_inserter(fatbin_sections), [](const fatbin::Section& section) {
        return section.name == fatbin::kFatbinSection || section.name == fatbin::kRelocatableSection;
      });
  fatbin::Scan scan = fatbin::ScanContainers(bytes, fatbin_sections, warnings);
  extraction.containers = std::move(scan.containers);
  AddPtxOutside(bytes, std::move(scan.damaged), fatbin_sections, extraction, warnings);
  NamePlaces(extraction, places);
  NoteDamagedImages(extraction, warnings);
  FollowWrappers(extraction, places, warnings);
  if (extraction.containers.empty()) return Fail(NothingFound(extraction, bytes));
  return extraction;
}

}  // namespace

Result<Extraction> Extract(std::span<const std::byte> bytes, std::string name) {
  return fatbin::Guarded("reading " + name, [&]() { return ExtractUnguarded(bytes, std::move(name)); });
}

Result<Extraction> ExtractOwned(std::string bytes, std::string name) {
  return fatbin::Guarded("reading " + name, [&]() -> Result<Extraction> {
    const auto owned = std::make_shared<const std::string>(std::move(bytes));
    Extraction extraction = TRY(ExtractUnguarded(std::as_bytes(std::span(*owned)), std::move(name)));
    extraction.storage = owned;
    return extraction;
  });
}

std::string Container::Where() const {
  if (member.empty()) return section.empty() ? "file" : section;
  return section.empty() ? member : member + ":" + section;
}

std::string Image::Target() const {
  if (sm == 0) return "sm_?";
  return fmt::format("sm_{}{}", sm, arch_specific ? "a" : family_specific ? "f" : "");
}

std::string Image::PtxVersion() const {
  return kind == Kind::kPtx ? fmt::format("{}.{}", ptx_major, ptx_minor) : std::string();
}

std::string_view Name(Image::Kind kind) {
  switch (kind) {
    case Image::Kind::kPtx:
      return "PTX";
    case Image::Kind::kCubin:
      return "cubin";
    case Image::Kind::kLtoIr:
      return "LTO IR";
    case Image::Kind::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view Name(Image::Compression compression) {
  switch (compression) {
    case Image::Compression::kNone:
      return "none";
    case Image::Compression::kLz4:
      return "lz4";
    case Image::Compression::kZstd:
      return "zstd";
    case Image::Compression::kLegacy:
      return "legacy";
    case Image::Compression::kGzip:
      return "gzip";
    case Image::Compression::kZlib:
      return "zlib";
  }
  return "unknown";
}

std::string_view Name(Extraction::FileKind kind) {
  switch (kind) {
    case Extraction::FileKind::kElf:
      return "ELF";
    case Extraction::FileKind::kArchive:
      return "archive";
    case Extraction::FileKind::kFatbin:
      return "fat binary";
    case Extraction::FileKind::kPtx:
      return "PTX text";
    case Extraction::FileKind::kCubin:
      return "cubin";
    case Extraction::FileKind::kLinkedImage:
      return "linked image";
    case Extraction::FileKind::kOther:
      return "other";
  }
  return "other";
}

}  // namespace ptx2cpu::ptx
