#include "lowering/load/loaded_object.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lowering/load/debugger.h"
#include "lowering/load/relocation.h"

namespace ptx2cpu::lowering {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;  // distances within it fit into 32 bits
constexpr size_t kSlotBytes = 8;
constexpr uint64_t kNowhere = ~uint64_t{0};  // the place of a section that takes no memory

Error Damaged(const std::string& what) { return {ErrorCode::kInternal, "the object file " + what}; }

// Tables of an object, within its bytes.
class Elf {
 public:
  static Result<Elf> Read(std::string_view bytes) {
    Elf elf;
    elf.bytes_ = bytes;
    const auto* header = elf.At<Elf64_Ehdr>(0, 1);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL)
      return Fail(Damaged("is no relocatable ELF object"));
    elf.machine_ = header->e_machine;
    const auto* sections = elf.At<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    if (sections == nullptr || header->e_shstrndx >= header->e_shnum) return Fail(Damaged("has no sections"));
    elf.sections_ = {sections, header->e_shnum};
    elf.names_ = elf.sections_[header->e_shstrndx];
    for (const Elf64_Shdr& section : elf.sections_) {
      if (section.sh_type != SHT_SYMTAB || section.sh_link >= elf.sections_.size()) continue;
      const size_t count = section.sh_size / sizeof(Elf64_Sym);
      const auto* symbols = elf.At<Elf64_Sym>(section.sh_offset, count);
      if (symbols == nullptr) return Fail(Damaged("has no symbols"));
      elf.symbols_ = {symbols, count};
      elf.symbol_names_ = elf.sections_[section.sh_link];
    }
    return elf;
  }

  uint32_t machine() const { return machine_; }
  std::span<const Elf64_Shdr> sections() const { return sections_; }
  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  std::string_view NameOf(const Elf64_Shdr& section) const { return Text(names_, section.sh_name); }
  std::string_view NameOf(const Elf64_Sym& symbol) const { return Text(symbol_names_, symbol.st_name); }

  // `count` of them at an offset; null: not within the bytes, or misaligned.
  template <typename T>
  const T* At(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return nullptr;
    const char* at = bytes_.data() + offset;
    return reinterpret_cast<uintptr_t>(at) % alignof(T) == 0 ? reinterpret_cast<const T*>(at) : nullptr;
  }

 private:
  std::string_view Text(const Elf64_Shdr& table, uint64_t offset) const {
    if (At<char>(table.sh_offset, table.sh_size) == nullptr || offset >= table.sh_size) return {};
    const std::string_view texts = bytes_.substr(table.sh_offset, table.sh_size);
    return texts.substr(offset, texts.find('\0', offset) - offset);
  }

  std::string_view bytes_;
  uint32_t machine_ = 0;
  std::span<const Elf64_Shdr> sections_;
  std::span<const Elf64_Sym> symbols_;
  Elf64_Shdr names_ = {}, symbol_names_ = {};
};

enum Part { kCode, kConstants, kData, kParts };

// Code and constants are relocated once and then never written.
Part PartOf(const Elf& elf, const Elf64_Shdr& section) {
  if ((section.sh_flags & SHF_EXECINSTR) != 0) return kCode;
  if ((section.sh_flags & SHF_WRITE) == 0 || elf.NameOf(section).starts_with(".data.rel.ro"))
    return kConstants;
  return kData;
}

uint64_t Rounded(uint64_t value, uint64_t to) { return to <= 1 ? value : (value + to - 1) / to * to; }

}  // namespace

struct LoadedObject::State {
  ~State() {
    if (memory != nullptr) munmap(memory, bytes);
  }

  Result<std::vector<uint64_t>> Place(const Elf& elf);
  Status Fill(const Elf& elf, const std::vector<uint64_t>& places);
  Status RelocateAll(const Elf& elf, const std::vector<uint64_t>& places, const Resolve& resolve);
  Status Protect(const Elf& elf);

  std::byte* memory = nullptr;
  size_t bytes = 0;
  std::array<std::pair<size_t, size_t>, kParts> parts = {};  // offset, size; whole pages
  size_t stubs = 0, slots = 0;                               // offsets of the first ones
  std::map<std::string, uint64_t, std::less<>> defined;
  uint64_t text_begin = 0, text_size = 0;
  std::unique_ptr<DebuggerEntry> debugger;
};

// Offsets of the sections in one range of memory; ~0 for those that take none. Each symbol has room for a
// stub after the code and for a slot after the constants.
Result<std::vector<uint64_t>> LoadedObject::State::Place(const Elf& elf) {
  std::vector<uint64_t> places(elf.sections().size(), kNowhere);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t undefined = 0;
  for (const Elf64_Sym& symbol : elf.symbols()) undefined += symbol.st_shndx == SHN_UNDEF;
  size_t at = 0;
  for (int part = 0; part < kParts; ++part) {
    parts[static_cast<size_t>(part)].first = at;
    for (size_t i = 0; i < elf.sections().size(); ++i) {
      const Elf64_Shdr& section = elf.sections()[i];
      if ((section.sh_flags & SHF_ALLOC) == 0 || PartOf(elf, section) != part) continue;
      if ((section.sh_flags & SHF_TLS) != 0 || section.sh_addralign > page || section.sh_size > kMaxBytes)
        return Fail(Damaged("has a section that is not supported"));
      at = Rounded(at, section.sh_addralign);
      places[i] = at;
      at += section.sh_size;
    }
    at = Rounded(at, kStubBytes);
    if (part == kCode) stubs = std::exchange(at, at + undefined * kStubBytes);
    if (part == kConstants) slots = std::exchange(at, at + elf.symbols().size() * kSlotBytes);
    at = Rounded(at, page);
    parts[static_cast<size_t>(part)].second = at - parts[static_cast<size_t>(part)].first;
    if (at > kMaxBytes) return Fail(Damaged("is too large"));
  }
  bytes = at;
  return places;
}

Status LoadedObject::State::Fill(const Elf& elf, const std::vector<uint64_t>& places) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return Fail(ErrorCode::kLaunch, "no memory for " + std::to_string(bytes) + " bytes of code");
  memory = static_cast<std::byte*>(mapped);
  const auto base = reinterpret_cast<uint64_t>(memory);
  for (size_t i = 0; i < places.size(); ++i) {
    const Elf64_Shdr& section = elf.sections()[i];
    if (places[i] == kNowhere || section.sh_size == 0) continue;
    if (elf.NameOf(section) == ".text") {
      text_begin = base + places[i];
      text_size = section.sh_size;
    }
    if (section.sh_type == SHT_NOBITS) continue;
    const char* from = elf.At<char>(section.sh_offset, section.sh_size);
    if (from == nullptr) return Fail(Damaged("is truncated"));
    std::memcpy(memory + places[i], from, section.sh_size);
  }
  for (const Elf64_Sym& symbol : elf.symbols()) {
    if (symbol.st_shndx >= places.size() || symbol.st_shndx == SHN_UNDEF ||
        ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || places[symbol.st_shndx] == kNowhere)
      continue;
    defined.emplace(elf.NameOf(symbol), base + places[symbol.st_shndx] + symbol.st_value);
  }
  return {};
}

// Addresses of an object's symbols, of the slots that hold them and of stubs, each made when first needed.
class LoadedObject::Symbols {
 public:
  Symbols(const Elf& elf, State& state, const std::vector<uint64_t>& places, const Resolve& resolve)
      : elf_(elf), state_(state), places_(places), resolve_(resolve), found_(elf.symbols().size()) {}

  Result<uint64_t> Target(const Relocation& relocation, size_t number) {
    using To = Relocation::To;
    if (number >= found_.size()) return Fail(Damaged("has a relocation to no symbol"));
    if (relocation.to == To::kSlot) return Slot(number);
    const bool is_foreign = elf_.symbols()[number].st_shndx == SHN_UNDEF;
    return relocation.to == To::kCall && is_foreign ? Stub(number) : Value(number);
  }

 private:
  struct Found {
    uint64_t value = 0, slot = 0, stub = 0;
  };

  uint64_t Base() const { return reinterpret_cast<uint64_t>(state_.memory); }

  Result<uint64_t> Value(size_t number) {
    const Elf64_Sym& symbol = elf_.symbols()[number];
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < places_.size() &&
        places_[symbol.st_shndx] != kNowhere)
      return Base() + places_[symbol.st_shndx] + symbol.st_value;
    uint64_t& value = found_[number].value;
    if (value == 0) value = reinterpret_cast<uint64_t>(resolve_(elf_.NameOf(symbol)));
    if (value == 0)
      return Fail(Damaged("needs '" + std::string(elf_.NameOf(symbol)) + "', which nothing defines"));
    return value;
  }

  Result<uint64_t> Slot(size_t number) {
    uint64_t& slot = found_[number].slot;
    if (slot != 0) return slot;
    const uint64_t value = TRY(Value(number));
    const size_t offset = state_.slots + kSlotBytes * slots_used_++;
    std::memcpy(state_.memory + offset, &value, sizeof value);
    return slot = Base() + offset;
  }

  Result<uint64_t> Stub(size_t number) {
    uint64_t& stub = found_[number].stub;
    if (stub != 0) return stub;
    const uint64_t slot = TRY(Slot(number));
    const size_t offset = state_.stubs + kStubBytes * stubs_used_++;
    WriteStub(elf_.machine(), state_.memory + offset, Base() + offset, slot);
    return stub = Base() + offset;
  }

  const Elf& elf_;
  State& state_;
  const std::vector<uint64_t>& places_;
  const Resolve& resolve_;
  std::vector<Found> found_;
  size_t slots_used_ = 0, stubs_used_ = 0;
};

Status LoadedObject::State::RelocateAll(const Elf& elf, const std::vector<uint64_t>& places,
                                        const Resolve& resolve) {
  Symbols symbols(elf, *this, places, resolve);
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_RELA || section.sh_info >= places.size() ||
        places[section.sh_info] == kNowhere)
      continue;
    const uint64_t size = elf.sections()[section.sh_info].sh_size;
    const size_t rows = section.sh_size / sizeof(Elf64_Rela);
    const auto* table = elf.At<Elf64_Rela>(section.sh_offset, rows);
    if (table == nullptr) return Fail(Damaged("is truncated"));
    for (const Elf64_Rela& row : std::span(table, rows)) {
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(row.r_info));
      const Relocation* relocation = FindRelocation(elf.machine(), type);
      if (relocation == nullptr) return Fail(Damaged("has relocation " + std::to_string(type)));
      const uint64_t written = relocation->form == RelocationForm::kWord64 ? 8 : 4;
      if (row.r_offset > size || size - row.r_offset < written)
        return Fail(Damaged("has a relocation of nothing"));
      const uint64_t target = TRY(symbols.Target(*relocation, ELF64_R_SYM(row.r_info)));
      const uint64_t place = places[section.sh_info] + row.r_offset;
      if (!Relocate(*relocation, memory + place, reinterpret_cast<uint64_t>(memory) + place,
                    target + static_cast<uint64_t>(row.r_addend)))
        return Fail(Damaged("refers to something too far away"));
    }
  }
  return {};
}

Status LoadedObject::State::Protect(const Elf& elf) {
  constexpr int kAccess[kParts] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
  __builtin___clear_cache(reinterpret_cast<char*>(memory), reinterpret_cast<char*>(memory + bytes));
  for (size_t part = 0; part < kParts; ++part) {
    const auto [offset, size] = parts[part];
    if (size != 0 && mprotect(memory + offset, size, kAccess[part]) != 0)
      return Fail(ErrorCode::kLaunch, "the system does not let memory hold code");
  }
  return {};
}

LoadedObject::LoadedObject(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedObject::~LoadedObject() = default;

Result<std::unique_ptr<LoadedObject>> LoadedObject::Load(std::string_view object, const Resolve& resolve) {
  // The heap aligns the bytes of the string, so the tables are aligned as they are in the file.
  const Elf elf = TRY(Elf::Read(object));
  if (MachineOfProcess() != elf.machine())
    return Fail(Damaged("is not for this machine, or kernels cannot be loaded on it"));
  auto state = std::make_unique<State>();
  const std::vector<uint64_t> places = TRY(state->Place(elf));
  TRY_STATUS(state->Fill(elf, places));
  TRY_STATUS(state->RelocateAll(elf, places, resolve));
  TRY_STATUS(state->Protect(elf));
  if (DebuggerWanted()) {
    std::vector<uint64_t> addresses;
    for (const uint64_t place : places)
      addresses.push_back(place == kNowhere ? 0 : reinterpret_cast<uint64_t>(state->memory) + place);
    state->debugger = std::make_unique<DebuggerEntry>(WithAddresses(object, addresses));
  }
  return std::unique_ptr<LoadedObject>(new LoadedObject(std::move(state)));
}

uint64_t LoadedObject::AddressOf(std::string_view symbol) const {
  const auto found = state_->defined.find(symbol);
  return found == state_->defined.end() ? 0 : found->second;
}
uint64_t LoadedObject::text_begin() const { return state_->text_begin; }
uint64_t LoadedObject::text_size() const { return state_->text_size; }

}  // namespace ptx2cpu::lowering
