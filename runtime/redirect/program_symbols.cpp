#include "runtime/redirect/program_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ptx2cpu::redirect {

namespace {

// A sentence of the static runtime's error table, which stays in a stripped program.
constexpr std::string_view kRuntimeText = "CUDA driver version is insufficient for CUDA runtime version";

constexpr std::string_view kRegister = "__cudaRegisterFatBinary";

class MappedFile {
 public:
  explicit MappedFile(const std::string& name) {
    const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info;
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
      void* data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (data != MAP_FAILED) bytes_ = {static_cast<const char*>(data), static_cast<size_t>(info.st_size)};
    }
    close(fd);
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }
  // `count` things of type T at an offset; null when they are not all in the file.
  template <typename T>
  const T* At(uint64_t offset, uint64_t count = 1) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes_.data() + offset);
  }

 private:
  std::string_view bytes_;
};

struct Sections {
  const Elf64_Shdr* headers = nullptr;
  uint64_t count = 0;
  std::string_view names;

  std::string_view NameOf(const Elf64_Shdr& header) const {
    if (header.sh_name >= names.size()) return {};
    const std::string_view rest = names.substr(header.sh_name);
    return rest.substr(0, rest.find('\0'));
  }
};

Sections ReadSections(const MappedFile& file) {
  Sections sections;
  const auto* head = file.At<Elf64_Ehdr>(0);
  if (head == nullptr || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64) return sections;
  sections.headers = file.At<Elf64_Shdr>(head->e_shoff, head->e_shnum);
  if (sections.headers == nullptr || head->e_shstrndx >= head->e_shnum) return {};
  sections.count = head->e_shnum;
  const Elf64_Shdr& strings = sections.headers[head->e_shstrndx];
  if (const char* text = file.At<char>(strings.sh_offset, strings.sh_size)) sections.names = {text, strings.sh_size};
  return sections;
}

// Calls visit(symbol, name) for the symbols of a table.
template <typename Visit>
void ForEachSymbol(const MappedFile& file, const Sections& sections, const Elf64_Shdr& table, Visit visit) {
  const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  const auto* symbols = file.At<Elf64_Sym>(table.sh_offset, count);
  if (symbols == nullptr || table.sh_link >= sections.count) return;
  const Elf64_Shdr& strings = sections.headers[table.sh_link];
  const char* text = file.At<char>(strings.sh_offset, strings.sh_size);
  if (text == nullptr) return;
  for (uint64_t i = 0; i < count; ++i) {
    if (symbols[i].st_name >= strings.sh_size) continue;
    const std::string_view rest(text + symbols[i].st_name, strings.sh_size - symbols[i].st_name);
    visit(symbols[i], rest.substr(0, rest.find('\0')));
  }
}

void ReadFunctions(const MappedFile& file, const Sections& sections, const Elf64_Shdr& table, LoadedObject& object) {
  ForEachSymbol(file, sections, table, [&](const Elf64_Sym& symbol, std::string_view name) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
    object.functions.push_back({std::string(name), reinterpret_cast<uint8_t*>(object.base + symbol.st_value), 0});
  });
  std::sort(object.functions.begin(), object.functions.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  // Aliases share an address; the room is what lies before the next one that differs.
  uint8_t* next = nullptr;
  for (size_t i = object.functions.size(); i-- > 0;) {
    FunctionSymbol& symbol = object.functions[i];
    if (i + 1 < object.functions.size() && object.functions[i + 1].address != symbol.address) next = object.functions[i + 1].address;
    symbol.room = next == nullptr ? 16 : static_cast<uint64_t>(next - symbol.address);
  }
}

// The arrays hold addresses that the loader has relocated by now: read them in memory.
void ReadConstructors(const Elf64_Shdr& section, LoadedObject& object) {
  for (uint64_t i = 0; i < section.sh_size / sizeof(void*); ++i) {
    object.constructors.push_back(reinterpret_cast<uint8_t**>(object.base + section.sh_addr)[i]);
  }
}

}  // namespace

bool ReadObject(const std::string& name, uintptr_t base, LoadedObject& object) {
  const MappedFile file(name);
  const Sections sections = ReadSections(file);
  if (sections.headers == nullptr) return false;
  object.file = name;
  object.base = base;
  for (uint64_t i = 0; i < sections.count; ++i) {
    object.has_fat_binary |= sections.NameOf(sections.headers[i]) == ".nv_fatbin";
  }
  if (!object.has_fat_binary) return true;
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr& section = sections.headers[i];
    if (section.sh_type == SHT_SYMTAB) {
      object.has_symbols = true;
      ReadFunctions(file, sections, section, object);
    }
    if (section.sh_type == SHT_DYNSYM) {
      ForEachSymbol(file, sections, section, [&](const Elf64_Sym& symbol, std::string_view name) {
        object.imports_runtime |= symbol.st_shndx == SHN_UNDEF && name == kRegister;
      });
    }
    if (section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY) ReadConstructors(section, object);
    if (sections.NameOf(section) == ".rodata") {
      const char* text = file.At<char>(section.sh_offset, section.sh_size);
      object.has_runtime_text = text != nullptr && std::string_view(text, section.sh_size).find(kRuntimeText) != std::string_view::npos;
    }
  }
  return true;
}

}  // namespace ptx2cpu::redirect
