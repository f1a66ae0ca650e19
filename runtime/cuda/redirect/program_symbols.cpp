#include "runtime/cuda/redirect/program_symbols.h"

#include <dlfcn.h>
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

// A sentence of the static runtime's error table, which a stripped program still contains.
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
  if (head == nullptr || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64)
    return sections;
  sections.headers = file.At<Elf64_Shdr>(head->e_shoff, head->e_shnum);
  if (sections.headers == nullptr || head->e_shstrndx >= head->e_shnum) return {};
  sections.count = head->e_shnum;
  const Elf64_Shdr& strings = sections.headers[head->e_shstrndx];
  if (const char* text = file.At<char>(strings.sh_offset, strings.sh_size))
    sections.names = {text, strings.sh_size};
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

void ReadFunctions(const MappedFile& file, const Sections& sections, const Elf64_Shdr& table, uintptr_t base,
                   std::vector<FunctionSymbol>& functions) {
  ForEachSymbol(file, sections, table, [&](const Elf64_Sym& symbol, std::string_view name) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
    functions.push_back({std::string(name), reinterpret_cast<uint8_t*>(base + symbol.st_value), 0});
  });
  std::sort(functions.begin(), functions.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  // Aliases share an address; the room is what lies before the next one that differs.
  uint8_t* next = nullptr;
  for (size_t i = functions.size(); i-- > 0;) {
    FunctionSymbol& symbol = functions[i];
    if (i + 1 < functions.size() && functions[i + 1].address != symbol.address)
      next = functions[i + 1].address;
    symbol.room = next == nullptr ? 16 : static_cast<uint64_t>(next - symbol.address);
  }
}

std::string_view StringsOf(const MappedFile& file, const Sections& sections, const Elf64_Shdr& table) {
  if (table.sh_link >= sections.count) return {};
  const Elf64_Shdr& strings = sections.headers[table.sh_link];
  const char* text = file.At<char>(strings.sh_offset, strings.sh_size);
  return text == nullptr ? std::string_view() : std::string_view(text, strings.sh_size);
}

void ReadDynamic(const MappedFile& file, const Sections& sections, const Elf64_Shdr& section,
                 LoadedObject& object) {
  const uint64_t count = section.sh_size / sizeof(Elf64_Dyn);
  const auto* entries = file.At<Elf64_Dyn>(section.sh_offset, count);
  const std::string_view strings = StringsOf(file, sections, section);
  if (entries == nullptr) return;
  for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
    if ((entries[i].d_tag != DT_SONAME && entries[i].d_tag != DT_NEEDED) ||
        entries[i].d_un.d_val >= strings.size())
      continue;
    const std::string_view rest = strings.substr(entries[i].d_un.d_val),
                           name = rest.substr(0, rest.find('\0'));
    if (entries[i].d_tag == DT_SONAME) {
      object.soname = name;
    } else {
      object.needed.emplace_back(name);
    }
  }
}

void ReadSegments(const MappedFile& file, LoadedObject& object) {
  const auto* head = file.At<Elf64_Ehdr>(0);
  const auto* segments = file.At<Elf64_Phdr>(head->e_phoff, head->e_phnum);
  if (segments == nullptr) return;
  for (int i = 0; i < head->e_phnum; ++i) {
    if (segments[i].p_type != PT_GNU_RELRO) continue;
    object.relro_begin = object.base + segments[i].p_vaddr,
    object.relro_end = object.relro_begin + segments[i].p_memsz;
  }
}

bool ConcernsCuda(const MappedFile& file, const Sections& sections, const LoadedObject& object) {
  if (object.has_fat_binary || IsCudaLibrary(object.soname)) return true;
  // Host code alone with a static runtime: only an object that is not stripped shows it.
  for (uint64_t i = 0; i < sections.count; ++i) {
    if (sections.headers[i].sh_type != SHT_SYMTAB) continue;
    if (StringsOf(file, sections, sections.headers[i]).find(kRegister) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

bool HasNamesake(const std::string& soname) {
  return soname.starts_with("lib") && soname.find(".so.") != std::string::npos &&
         soname.find('/') == std::string::npos && access((OwnFolder() + "/" + soname).c_str(), R_OK) == 0;
}

bool IsCudaLibrary(const std::string& soname) {
  // Wheels of Python append a hash to the name: libcudart-d0da41ae.so.11.0
  for (const std::string_view name : {"libcudart", "libcuda"}) {
    if (soname.starts_with(name) && soname.find(".so") != std::string::npos &&
        (soname[name.size()] == '.' || soname[name.size()] == '-'))
      return true;
  }
  return HasNamesake(soname);
}

bool ReadObject(const std::string& name, uintptr_t base, LoadedObject& object) {
  const MappedFile file(name);
  const Sections sections = ReadSections(file);
  if (sections.headers == nullptr) return false;
  object.file = name;
  object.base = base;
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr& section = sections.headers[i];
    if (section.sh_type == SHT_DYNAMIC) ReadDynamic(file, sections, section, object);
    object.has_fat_binary |= sections.NameOf(section) == ".nv_fatbin";
  }
  if (!ConcernsCuda(file, sections, object)) return true;
  ReadSegments(file, object);
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr& section = sections.headers[i];
    if (section.sh_type == SHT_SYMTAB) {
      object.has_symbols = true;
      ReadFunctions(file, sections, section, base, object.functions);
    }
    if (section.sh_type == SHT_DYNSYM) {
      if (IsCudaLibrary(object.soname)) ReadFunctions(file, sections, section, base, object.exported);
      ForEachSymbol(file, sections, section, [&](const Elf64_Sym& symbol, std::string_view symbol_name) {
        object.imports_runtime |= symbol.st_shndx == SHN_UNDEF && symbol_name == kRegister;
      });
    }
    if (section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY) {
      for (uint64_t k = 0; k < section.sh_size / sizeof(void*); ++k) {
        object.constructors.push_back(reinterpret_cast<uint8_t**>(base + section.sh_addr) + k);
      }
    }
    if (sections.NameOf(section) == ".rodata") {
      const char* text = file.At<char>(section.sh_offset, section.sh_size);
      object.has_runtime_text =
          text != nullptr &&
          std::string_view(text, section.sh_size).find(kRuntimeText) != std::string_view::npos;
    }
  }
  return true;
}

}  // namespace ptx2cpu::redirect
