#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ptx-parser/fatbin/places.h"

namespace ptx2cpu::ptx::fatbin {
namespace {

// The header of a member: name[16], date[12], uid[6], gid[6], mode[8], size[10], "`\n".
constexpr uint64_t kMemberHeader = 60;
constexpr uint64_t kAtSize = 48, kSizeDigits = 10, kAtEnd = 58, kNameBytes = 16;
constexpr size_t kMaxMembers = size_t{1} << 20;
constexpr size_t kMaxName = 255;
constexpr int kMaxNesting = 4;

std::optional<uint64_t> Decimal(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class ArchiveReader {
 public:
  explicit ArchiveReader(WarningList& warnings) : warnings_(warnings) {}

  void Read(Bytes archive, uint64_t base, const std::string& prefix, int depth) {
    std::string_view long_names;
    uint64_t at = kArchiveMagic.size();
    while (at < archive.size()) {
      if (members.size() >= kMaxMembers) {
        warnings_.Add(base + at,
                      fmt::format("more than {} archive members; the rest have no names", kMaxMembers));
        return;
      }
      const auto size = MemberSize(archive, at);
      if (!size) {
        warnings_.Add(base + at,
                      "damaged archive: no member header where one should start; what follows has no names");
        return;
      }
      const std::string_view field = Text(archive.subspan(at, kNameBytes));
      Bytes data = archive.subspan(at + kMemberHeader, std::min(*size, archive.size() - at - kMemberHeader));
      if (data.size() < *size) {
        warnings_.Add(base + at, fmt::format("damaged archive: a member states {} bytes, {} are left", *size,
                                             data.size()));
      }
      const uint64_t next = at + kMemberHeader + data.size() + data.size() % 2;
      if (field.starts_with("// ")) {
        long_names = Text(data);
      } else {
        AddMember(field, long_names, data, base + at + kMemberHeader, prefix, depth);
      }
      at = next;
    }
  }

  std::vector<Member> members;

 private:
  static std::optional<uint64_t> MemberSize(Bytes archive, uint64_t at) {
    if (!Fits(at, kMemberHeader, archive.size())) return std::nullopt;
    const std::string_view header = Text(archive.subspan(at, kMemberHeader));
    if (header.substr(kAtEnd) != "`\n") return std::nullopt;
    return Decimal(header.substr(kAtSize, kSizeDigits));
  }

  void AddMember(std::string_view field, std::string_view long_names, Bytes data, uint64_t begin,
                 const std::string& prefix, int depth) {
    std::string_view name = field;
    if (field.starts_with("#1/")) {  // BSD: the name precedes the data and counts as data
      const uint64_t length = std::min<uint64_t>(Decimal(field.substr(3)).value_or(0), data.size());
      name = Text(data.first(length));
      data = data.subspan(length);
      begin += length;
    } else if (const auto at = field.starts_with('/') ? Decimal(field.substr(1)) : std::nullopt) {
      name = *at < long_names.size() ? long_names.substr(*at, kMaxName) : field;
      name = name.substr(0, name.find('\n'));
    }
    name = name.substr(0, std::min(name.find('\0'), kMaxName));
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.size() > 1 && name.ends_with('/') && name != "/SYM64/") name.remove_suffix(1);
    if (name == "/" || name == "/SYM64/" || name.starts_with("__.SYMDEF")) return;  // symbol tables

    std::string full = prefix + std::string(name);
    if (Text(data).starts_with(kArchiveMagic) && depth < kMaxNesting) {
      Read(data, begin, full + "/", depth + 1);
    } else {
      members.push_back({std::move(full), begin, begin + data.size()});
    }
  }

  WarningList& warnings_;
};

}  // namespace

std::vector<Member> ReadArchive(Bytes archive, uint64_t base, WarningList& warnings) {
  ArchiveReader reader(warnings);
  reader.Read(archive, base, "", 0);
  return std::move(reader.members);
}

}  // namespace ptx2cpu::ptx::fatbin
