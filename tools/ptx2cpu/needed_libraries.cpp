#include "tools/ptx2cpu/needed_libraries.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders[] = {"/lib",
                                    "/usr/lib",
                                    "/lib64",
                                    "/usr/lib64",
                                    "/lib/x86_64-linux-gnu",
                                    "/usr/lib/x86_64-linux-gnu",
                                    "/lib/aarch64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu",
                                    "/usr/local/lib",
                                    "/usr/local/cuda/lib64"};
// Libraries that talk to NVIDIA's driver.
constexpr std::string_view kOfNvidia[] = {"libcu", "libnv", "libnccl", "libnpp"};

class ElfFile {
 public:
  explicit ElfFile(std::string bytes) : bytes_(std::move(bytes)) {}

  bool IsElf() const {
    const auto header = At<Elf64_Ehdr>(0);
    return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
  }

  // The texts of the entries with this tag of the dynamic section.
  std::vector<std::string> Texts(int64_t tag) const {
    const auto header = *At<Elf64_Ehdr>(0);
    std::vector<std::string> texts;
    for (uint32_t n = 0; n < header.e_shnum; ++n) {
      const auto section = At<Elf64_Shdr>(header.e_shoff + uint64_t{n} * sizeof(Elf64_Shdr));
      if (!section || section->sh_type != SHT_DYNAMIC) continue;
      const auto strings = At<Elf64_Shdr>(header.e_shoff + uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
      if (!strings) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= section->sh_size; at += sizeof(Elf64_Dyn)) {
        const auto entry = At<Elf64_Dyn>(section->sh_offset + at);
        if (!entry || entry->d_tag == DT_NULL) break;
        if (entry->d_tag == tag) texts.push_back(Text(strings->sh_offset + entry->d_un.d_val));
      }
    }
    return texts;
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(value));
    return value;
  }
  std::string Text(uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    const size_t end = bytes_.find('\0', offset);
    return bytes_.substr(offset, end == std::string::npos ? 0 : end - offset);
  }

  std::string bytes_;
};

void AppendFolders(std::string_view list, const fs::path& origin, std::vector<fs::path>& folders) {
  while (!list.empty()) {
    const size_t colon = list.find(':');
    std::string folder(list.substr(0, colon));
    list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
    for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"}) {
      if (const size_t at = folder.find(word); at != std::string::npos)
        folder.replace(at, word.size(), origin.string());
    }
    if (!folder.empty()) folders.emplace_back(folder);
  }
}

bool IsOfNvidia(std::string_view name) {
  for (std::string_view prefix : kOfNvidia) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<NeededLibrary>> NeededLibraries(const std::string& file, const std::string& folder) {
  const ElfFile elf(TRY(ReadWholeFile(file)));
  std::vector<NeededLibrary> needed;
  if (!elf.IsElf()) return needed;
  std::error_code error;
  std::vector<fs::path> folders;
  const fs::path origin = fs::absolute(file, error).parent_path();
  for (const int64_t tag : {int64_t{DT_RPATH}, int64_t{DT_RUNPATH}}) {
    for (const std::string& list : elf.Texts(tag)) AppendFolders(list, origin, folders);
  }
  if (const char* list = std::getenv("LD_LIBRARY_PATH")) AppendFolders(list, origin, folders);
  folders.insert(folders.end(), std::begin(kFolders), std::end(kFolders));
  for (const std::string& name : elf.Texts(DT_NEEDED)) {
    LibraryState state = LibraryState::kMissing;
    for (const fs::path& place : folders) {
      if (fs::exists(place / name, error))
        state = IsOfNvidia(name) ? LibraryState::kForeign : LibraryState::kFound;
    }
    if (fs::exists(fs::path(folder) / name, error)) state = LibraryState::kOwn;
    needed.push_back({name, state});
  }
  return needed;
}

}  // namespace ptx2cpu::tool
