#include "ptx-parser/fatbin/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ptx-parser/fatbin/inflate.h"
#include "ptx-parser/fatbin/ptx_text.h"

namespace ptx2cpu::ptx::fatbin {
namespace {

// The limit of work on bytes that turn out not to be PTX, in bytes read and decoded. Programs without PTX
// need about a hundredth of it.
constexpr uint64_t kBudgetPerByte = 8, kBudget = uint64_t{16} << 20;
constexpr uint64_t kHeaderBytes = 4096;     // a text's .version and .target, with comments between them
constexpr uint64_t kStreamHead = 16 << 10;  // decoded bytes before which .version must come
constexpr size_t kFirstLook = 64;           // decoded bytes that show most streams to be no text
constexpr size_t kMaxPartName = 4096;
// With this line GCC begins each object for nvptx. Programs keep the objects that they link when they start.
constexpr std::string_view kObjectOfGcc = "// BEGIN PREAMBLE\n";

// A zlib stream begins with its window, the usual one, and one of four levels of compression.
constexpr char kGzip0 = '\x1f', kGzip1 = '\x8b', kZlib0 = '\x78';

// Bits, not branches: the loop over this becomes vector code.
constexpr unsigned MayBegin(char a, char b) {
  const auto both = [&](char first, char second) { return unsigned{a == first} & unsigned{b == second}; };
  return both('.', 'v') | both(kLinkedImageMagic[0], kLinkedImageMagic[1]) | both(kGzip0, kGzip1) |
         both(kZlib0, '\x01') | both(kZlib0, '\x5e') | both(kZlib0, '\x9c') | both(kZlib0, '\xda');
}

// The first place in [at, end) where something may begin; end where nothing does.
uint64_t NextPlace(std::string_view file, uint64_t at, uint64_t end) {
  constexpr uint64_t kBlock = 1024;
  const char* const data = file.data();
  while (end - at >= 2) {
    const uint64_t positions = std::min(kBlock, end - at - 1);
    unsigned maybe = 0;
    for (uint64_t i = at; i < at + positions; ++i) maybe |= MayBegin(data[i], data[i + 1]);
    for (uint64_t i = at; maybe != 0 && i < at + positions; ++i) {
      if (MayBegin(data[i], data[i + 1]) != 0) return i;
    }
    at += positions;
  }
  return end;
}

bool IsText(char c) { return static_cast<unsigned char>(c) >= 0x20 ? c != '\x7f' : c >= '\t' && c <= '\r'; }

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Where a text whose header is at `version` begins: comments on the lines before it are part of it.
uint64_t TextBegin(std::string_view file, uint64_t floor, uint64_t version) {
  uint64_t begin = version, at = version;
  while (at > floor && (file[at - 1] == ' ' || file[at - 1] == '\t')) --at;
  while (at > floor && file[at - 1] == '\n') {
    const uint64_t line_end = --at;
    while (at > floor && file[at - 1] != '\n' && IsText(file[at - 1])) --at;
    const std::string_view line = file.substr(at, line_end - at);
    const size_t first = line.find_first_not_of(" \t\r\f\v");
    if (first == std::string_view::npos) continue;
    if (!line.substr(first).starts_with("//")) break;
    begin = at;
  }
  return begin;
}

// Follows a module from its .version: where the module is complete at the latest.
class ModuleEnd {
 public:
  struct Found {
    std::optional<uint64_t> end;  // nothing where no statement is complete
    uint64_t read = 0;            // where the search for it ended
  };
  // The end of the text that begins at `at`, no later than `end`.
  static Found Find(std::string_view file, uint64_t at, uint64_t end) {
    ModuleEnd module;
    for (; at < end && IsText(file[at]); ++at) {
      if (!module.Take(file, at, end)) return {module.complete_, at};
    }
    // A NUL ends a text as its maker wrote it, with what may follow the last statement.
    if (at < end && file[at] == '\0' && module.depth_ == 0 && module.complete_) return {at, at};
    return {module.complete_, at};
  }

 private:
  // False: the character at `at` cannot be part of the module.
  bool Take(std::string_view file, uint64_t& at, uint64_t end) {
    const std::string_view rest = file.substr(at, std::min<uint64_t>(end - at, kWord));
    if (rest.starts_with("//") || rest.starts_with("/*")) {
      SkipComment(file, at, end, rest[1] == '/' ? "\n" : "*/");
      return true;
    }
    const char c = file[at];
    if (in_string_) {
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
      return !at_statement_;
    } else if (c == '{') {
      ++depth_;
    } else if (c == '}') {
      if (depth_ == 0) return false;
      if (--depth_ == 0) complete_ = at + 1;
    } else if (c == ';' && depth_ == 0) {
      complete_ = at + 1;
    } else if (depth_ == 0 && at_statement_ && !IsBlank(c)) {
      // Statements of a module are directives; a second .version is another module's. Old compilers write
      // @@DWARF.
      if ((c != '.' && c != '@') || rest.starts_with(".version")) return false;
    }
    if (!IsBlank(c)) at_statement_ = depth_ == 0 && (c == '}' || c == ';');
    return true;
  }

  // To the last character of the comment; a comment that something else than text ends is left there.
  static void SkipComment(std::string_view file, uint64_t& at, uint64_t end, std::string_view mark) {
    for (at += 2; at < end && IsText(file[at]); ++at) {
      if (file.substr(at, mark.size()) == mark) {
        at += mark.size() - 1;
        return;
      }
    }
    --at;
  }

  static constexpr uint64_t kWord = 9;
  uint64_t depth_ = 0;
  bool in_string_ = false, at_statement_ = false;
  std::optional<uint64_t> complete_;  // after the last complete statement
};

class Search {
 public:
  Search(Bytes file, size_t max_images, WarningList& warnings)
      : file_(file),
        text_(Text(file)),
        max_images_(max_images),
        warnings_(warnings),
        budget_(kBudget + kBudgetPerByte * file.size()) {}

  // Searches [begin, end).
  void In(uint64_t begin, uint64_t end) {
    floor_ = std::max(floor_, begin);  // a linked image may have containers in it, and continue after them
    for (uint64_t at = NextPlace(text_, std::min(floor_, end), end); at < end && !stopped_;
         at = NextPlace(text_, at, end)) {
      const uint64_t after = Try(at, end);
      if (after > at) floor_ = after;
      at = std::clamp(after, at + 1, end);  // a linked image may end beyond a container in it
    }
  }

  std::vector<Container> found;

 private:
  // Adds what begins at `at`; where it ends, or 0.
  uint64_t Try(uint64_t at, uint64_t end) {
    if (text_[at] == '.') return TryText(at, end);
    return text_[at] == kLinkedImageMagic[0] ? TryLinkedImage(at) : TryStream(at, end);
  }

  uint64_t TryText(uint64_t at, uint64_t end) {
    constexpr std::string_view kVersion = ".version";
    const std::string_view head = text_.substr(at, std::min(kHeaderBytes, end - at));
    if (!head.starts_with(kVersion) || head.size() == kVersion.size() || !IsBlank(head[kVersion.size()]))
      return 0;
    Image image;
    if (!Spend(at, kHeaderBytes) || !ReadHeader(head, image)) return 0;
    const ModuleEnd::Found module = ModuleEnd::Find(text_, at, end);
    // Bytes that were read as PTX without success are searched again.
    if (!Spend(at, module.read - module.end.value_or(at)) || !module.end) return 0;
    const uint64_t begin = TextBegin(text_, floor_, at);
    image.size = image.stored_size = *module.end - begin;
    image.relocatable = text_.substr(begin).starts_with(kObjectOfGcc);
    if (image.size > kMaxImageSize)
      image.damage = fmt::format("its size of {} bytes is implausible", image.size);
    Add(begin, std::move(image), {});
    return *module.end;
  }

  uint64_t TryStream(uint64_t at, uint64_t end) {
    const bool gzip = text_[at] == kGzip0;
    if (gzip && (end - at < 3 || text_[at + 2] != 8)) return 0;  // deflate, the only method there is
    if (!inflater_) inflater_.emplace();
    const Bytes stored = file_.subspan(at, end - at);
    uint64_t cost = 0;
    std::string head = inflater_->Head(stored, kFirstLook, cost);
    if (!Spend(at, cost + kFirstLook) || head.empty() || !std::ranges::all_of(head, IsText)) return 0;
    if (head.size() == kFirstLook) head = inflater_->Head(stored, kStreamHead, cost);
    Image image;
    if (!Spend(at, cost + head.size()) || !StartsAsPtx(head) || !ReadHeader(head, image)) return 0;
    const auto extent = inflater_->Measure(stored, kMaxImageSize, cost);
    if (!Spend(at, cost) || !extent) return 0;
    image.compression = gzip ? Image::Compression::kGzip : Image::Compression::kZlib;
    image.stored_size = extent->stored;
    image.size = extent->decoded;
    Add(at, std::move(image), {});
    return at + extent->stored;
  }

  // The magic, the number of parts; for each the two lengths, the name, the content
  // (runtime/engine/linked_image.h). The parts that are PTX; those that are files with containers of their
  // own have them found on their own.
  uint64_t TryLinkedImage(uint64_t at) {
    const Bytes image_bytes = file_.subspan(at);
    if (!Text(image_bytes).starts_with(kLinkedImageMagic)) return 0;
    uint64_t in = kLinkedImageMagic.size();
    const auto parts = Load<uint64_t>(image_bytes, in);
    if (!parts) return 0;
    in += sizeof *parts;
    for (uint64_t part = 0; part < *parts; ++part) {
      const auto name = Load<uint64_t>(image_bytes, in), content = Load<uint64_t>(image_bytes, in + 8);
      if (!name || !content || *name > kMaxPartName || !Fits(in + 16, *name, image_bytes.size()) ||
          !Fits(in + 16 + *name, *content, image_bytes.size())) {
        warnings_.Add(at, fmt::format("damaged linked image: part {} of {} does not fit", part + 1, *parts));
        break;
      }
      in += 16;
      AddPart(at + in, *name, *content);
      in += *name + *content;
    }
    return at + in;
  }

  void AddPart(uint64_t at, uint64_t name_size, uint64_t size) {
    const std::string_view text = text_.substr(at + name_size, size);
    Image image;
    if (text.find('\0') != std::string_view::npos || !StartsAsPtx(text) || !ReadHeader(text, image)) return;
    image.relocatable = true;
    image.size = image.stored_size = size;
    Add(at + name_size, std::move(image), std::string(text_.substr(at, name_size)));
  }

  // A header that names a version and a processor.
  static bool ReadHeader(std::string_view text, Image& image) {
    image.kind = Image::Kind::kPtx;
    image.raw_kind = kKindPtx;
    ReadPtxHeader(text, image);
    return image.ptx_major != 0 && image.sm != 0;
  }

  void Add(uint64_t offset, Image image, std::string member) {
    if (found.size() >= max_images_) {
      warnings_.Add(offset,
                    fmt::format("more than {} images; the rest of the file was not read", kMaxImages));
      stopped_ = true;
      return;
    }
    image.file_offset = offset;
    image.payload = file_.subspan(offset, image.stored_size);
    Container container{.offset = offset,
                        .size = image.stored_size,
                        .version = 0,
                        .member = std::move(member),
                        .section = {},
                        .images = {}};
    container.images.push_back(std::move(image));
    found.push_back(std::move(container));
  }

  bool Spend(uint64_t at, uint64_t cost) {
    budget_ -= std::min(budget_, cost);
    if (budget_ == 0 && !stopped_) {
      warnings_.Add(
          at, "too much that only looks like PTX; the rest of the file was searched for containers only");
      stopped_ = true;
    }
    return !stopped_;
  }

  Bytes file_;
  std::string_view text_;
  size_t max_images_;
  WarningList& warnings_;
  uint64_t budget_;
  uint64_t floor_ = 0;  // before it, everything belongs to what has been found
  bool stopped_ = false;
  std::optional<Inflater> inflater_;
};

}  // namespace

std::vector<Container> SearchOutsideContainers(Bytes file, std::span<const Range> taken, size_t max_images,
                                               WarningList& warnings) {
  Search search(file, max_images, warnings);
  uint64_t at = 0;
  for (const Range& range : taken) {
    if (range.begin > at) search.In(at, range.begin);
    at = std::max(at, range.end);
  }
  if (at < file.size()) search.In(at, file.size());
  return std::move(search.found);
}

}  // namespace ptx2cpu::ptx::fatbin
