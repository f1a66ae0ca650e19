// Just enough of ELF64, little-endian, to name the place of a container and to follow the pointers of
// .nvFatBinSegment. Field offsets are those of the System V ABI, chapters 4 and 5.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ptx-parser/fatbin/places.h"

namespace ptx2cpu::ptx::fatbin {
namespace {

constexpr uint64_t kElfHeader = 64, kSectionHeader = 64, kRela = 24, kSymbol = 24;
constexpr uint16_t kRelocatableFile = 1, kMachineCuda = 190;
constexpr uint32_t kTypeRela = 4, kTypeNoBits = 8;
constexpr uint64_t kFlagAlloc = 2;
constexpr uint32_t kRelativeX86 = 8, kRelativeArm = 1027, kRelativeRiscv = 3;
constexpr uint16_t kFirstReservedSection = 0xFF00, kExtendedIndex = 0xFFFF;
constexpr size_t kMaxName = 255;  // longer names in a lying string table would cost their length per section

struct RawSection {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
};

class ElfReader {
 public:
  ElfReader(Bytes elf, uint64_t base, WarningList& warnings) : elf_(elf), base_(base), warnings_(warnings) {}

  ElfView Read() {
    ElfView view;
    constexpr auto kClass64 = std::byte{2}, kLittle = std::byte{1};
    // 32-bit and big-endian files are scanned all the same; only their sections have no names here.
    if (elf_.size() < kElfHeader || elf_[4] != kClass64 || elf_[5] != kLittle) return view;
    is_relocatable_ = LoadAt<uint16_t>(elf_, 16) == kRelocatableFile;
    if (LoadAt<uint16_t>(elf_, 18) == kMachineCuda) {
      view.is_cubin = true;
      // Since ABI 8 (OS ABI 0x41) the SM number is in the second byte of the flags, before in the first.
      const auto flags = LoadAt<uint32_t>(elf_, 48);
      view.cubin_sm = elf_[7] == std::byte{0x41} ? (flags >> 8) & 0xFF : flags & 0xFF;
    }
    if (!ReadSectionTable()) return view;
    IndexAddresses();
    for (const RawSection& raw : raw_) {
      if (raw.type == kTypeNoBits || raw.size == 0 || !Fits(raw.offset, raw.size, elf_.size())) continue;
      view.sections.push_back({NameOf(raw), base_ + raw.offset, base_ + raw.offset + raw.size});
      if (view.sections.back().name == kWrapperSection) ReadWrappers(raw, view.wrappers);
    }
    std::ranges::sort(view.sections, {}, &Section::begin);
    return view;
  }

 private:
  std::optional<RawSection> HeaderAt(uint64_t table, uint64_t index) const {
    const uint64_t at = table + index * kSectionHeader;
    if (!Fits(at, kSectionHeader, elf_.size())) return std::nullopt;
    return RawSection{LoadAt<uint32_t>(elf_, at),      LoadAt<uint32_t>(elf_, at + 4),
                      LoadAt<uint64_t>(elf_, at + 8),  LoadAt<uint64_t>(elf_, at + 16),
                      LoadAt<uint64_t>(elf_, at + 24), LoadAt<uint64_t>(elf_, at + 32),
                      LoadAt<uint32_t>(elf_, at + 40), LoadAt<uint32_t>(elf_, at + 44)};
  }

  bool ReadSectionTable() {
    const auto table = LoadAt<uint64_t>(elf_, 40);
    if (table == 0) return false;  // stripped of section headers: legal
    const auto entry_size = LoadAt<uint16_t>(elf_, 58);
    const auto first = table <= elf_.size() ? HeaderAt(table, 0) : std::nullopt;
    if (entry_size != kSectionHeader || !first) {
      warnings_.Add(base_, "the ELF section table does not fit the file; containers have no section names");
      return false;
    }
    uint64_t count = LoadAt<uint16_t>(elf_, 60);
    uint64_t names = LoadAt<uint16_t>(elf_, 62);
    if (count == 0) count = first->size;  // too many for 16 bits: the first header has it
    if (names == kExtendedIndex) names = first->link;
    const uint64_t room = (elf_.size() - table) / kSectionHeader;
    if (count > room) {
      warnings_.Add(base_, fmt::format("the ELF file states {} sections but has room for {}", count, room));
      count = room;
    }
    raw_.reserve(count);
    for (uint64_t i = 0; i < count; ++i) raw_.push_back(*HeaderAt(table, i));
    if (names < count && Fits(raw_[names].offset, raw_[names].size, elf_.size())) {
      names_ = elf_.subspan(raw_[names].offset, raw_[names].size);
    }
    return true;
  }

  std::string NameOf(const RawSection& section) const {
    if (section.name >= names_.size()) return {};
    const std::string_view rest = Text(names_.subspan(section.name)).substr(0, kMaxName);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  void ReadWrappers(const RawSection& segment, std::vector<WrapperRecord>& out) {
    const auto pointers = Relocations(segment);
    for (uint64_t at = 0; Fits(at, kWrapperSize, segment.size); at += kWrapperSize) {
      // Overlapping segments of a lying table must not multiply the file.
      if (wrapper_bytes_ > elf_.size()) return;
      wrapper_bytes_ += kWrapperSize;
      const Bytes record = elf_.subspan(segment.offset + at, kWrapperSize);
      if (LoadAt<uint32_t>(record, 0) != kWrapperMagic) continue;
      WrapperRecord wrapper{base_ + segment.offset + at, LoadAt<uint32_t>(record, 4), std::nullopt};
      if (auto found = pointers.find(at + 8); found != pointers.end()) {
        wrapper.target = found->second;
      } else if (!is_relocatable_) {
        wrapper.target = OffsetOfAddress(LoadAt<uint64_t>(record, 8));
      }
      out.push_back(wrapper);
    }
  }

  // Place in the segment -> file offset the relocated pointer there leads to.
  std::unordered_map<uint64_t, std::optional<uint64_t>> Relocations(const RawSection& segment) {
    std::unordered_map<uint64_t, std::optional<uint64_t>> result;
    const uint64_t origin = is_relocatable_ ? 0 : segment.address;
    for (const RawSection& table : raw_) {
      const bool applies = is_relocatable_ ? table.info < raw_.size() && &raw_[table.info] == &segment
                                           : (table.flags & kFlagAlloc) != 0;
      if (table.type != kTypeRela || !applies || !Fits(table.offset, table.size, elf_.size())) continue;
      for (uint64_t at = table.offset; Fits(at, kRela, table.offset + table.size); at += kRela) {
        if (rela_bytes_ > elf_.size()) return result;  // overlapping tables, as above
        rela_bytes_ += kRela;
        const uint64_t place = LoadAt<uint64_t>(elf_, at) - origin;
        if (place < segment.size) result[place] = Target(table, at);
      }
    }
    return result;
  }

  std::optional<uint64_t> Target(const RawSection& table, uint64_t rela) const {
    const auto info = LoadAt<uint64_t>(elf_, rela + 8);
    const auto addend = LoadAt<uint64_t>(elf_, rela + 16);
    const auto type = static_cast<uint32_t>(info);
    const uint64_t symbol = info >> 32;
    const bool relative = type == kRelativeX86 || type == kRelativeArm || type == kRelativeRiscv;
    if (!is_relocatable_ && (relative || symbol == 0)) return OffsetOfAddress(addend);
    if (table.link >= raw_.size()) return std::nullopt;
    const RawSection& symbols = raw_[table.link];
    if (!Fits(symbols.offset, symbols.size, elf_.size()) || symbol >= symbols.size / kSymbol)
      return std::nullopt;
    const uint64_t at = symbols.offset + symbol * kSymbol;
    const auto section = LoadAt<uint16_t>(elf_, at + 6);
    const auto value = LoadAt<uint64_t>(elf_, at + 8);
    if (!is_relocatable_) return OffsetOfAddress(value + addend);
    if (section >= kFirstReservedSection || section >= raw_.size()) return std::nullopt;
    return base_ + raw_[section].offset + value + addend;
  }

  // Loaded sections by address, so that many wrappers in a file of many sections stay cheap.
  void IndexAddresses() {
    for (const RawSection& section : raw_) {
      if ((section.flags & kFlagAlloc) != 0 && section.type != kTypeNoBits) loaded_.push_back(&section);
    }
    std::ranges::sort(loaded_, {}, [](const RawSection* section) { return section->address; });
  }

  std::optional<uint64_t> OffsetOfAddress(uint64_t address) const {
    auto next = std::ranges::upper_bound(loaded_, address, {},
                                         [](const RawSection* section) { return section->address; });
    if (next == loaded_.begin()) return std::nullopt;
    const RawSection& section = **std::prev(next);
    if (address - section.address >= section.size) return std::nullopt;
    return base_ + section.offset + (address - section.address);
  }

  Bytes elf_;
  uint64_t base_;
  WarningList& warnings_;
  bool is_relocatable_ = false;
  std::vector<RawSection> raw_;
  std::vector<const RawSection*> loaded_;
  Bytes names_;
  uint64_t rela_bytes_ = 0, wrapper_bytes_ = 0;
};

}  // namespace

ElfView ReadElf(Bytes elf, uint64_t base, WarningList& warnings) {
  return ElfReader(elf, base, warnings).Read();
}

}  // namespace ptx2cpu::ptx::fatbin
