#include "runtime/cuda/redirect/dynamic_symbols.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

namespace ptx2cpu::redirect {

namespace {

// The tables that the dynamic section of an object points to.
struct Tables {
  Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* hash = nullptr;
  const Elf64_Rela* relocations = nullptr;
  size_t relocation_count = 0;
  const Elf64_Rela* calls = nullptr;  // of the procedure linkage table
  size_t call_count = 0;
};

Tables TablesOf(const link_map& object) {
  // The loader turns offsets into addresses in place, on some systems only.
  const auto at = [&](Elf64_Addr value) { return value >= object.l_addr ? value : value + object.l_addr; };
  Tables tables;
  for (const Elf64_Dyn* entry = object.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const Elf64_Addr value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<Elf64_Sym*>(at(value));
        break;
      case DT_STRTAB:
        tables.strings = reinterpret_cast<const char*>(at(value));
        break;
      case DT_GNU_HASH:
        tables.gnu_hash = reinterpret_cast<const uint32_t*>(at(value));
        break;
      case DT_HASH:
        tables.hash = reinterpret_cast<const uint32_t*>(at(value));
        break;
      case DT_RELA:
        tables.relocations = reinterpret_cast<const Elf64_Rela*>(at(value));
        break;
      case DT_RELASZ:
        tables.relocation_count = value / sizeof(Elf64_Rela);
        break;
      case DT_JMPREL:
        tables.calls = reinterpret_cast<const Elf64_Rela*>(at(value));
        break;
      case DT_PLTRELSZ:
        tables.call_count = value / sizeof(Elf64_Rela);
        break;
      default:
        break;
    }
  }
  return tables;
}

// The newer hash table of ELF objects: a Bloom filter, buckets, and after them the hashes of the symbols
// from `first` on; the lowest bit ends a bucket's chain.
struct GnuHash {
  uint32_t bucket_count, first, filter_words, filter_shift;
  const uint64_t* filter;
  const uint32_t* buckets;
  const uint32_t* hashes;

  explicit GnuHash(const uint32_t* table)
      : bucket_count(table[0]),
        first(table[1]),
        filter_words(table[2]),
        filter_shift(table[3]),
        filter(reinterpret_cast<const uint64_t*>(table + 4)),
        buckets(table + 4 + 2 * static_cast<size_t>(filter_words)),
        hashes(buckets + bucket_count) {}

  // A symbol with this hash; that its name is the one must still be seen.
  bool Holds(uint32_t hash) const {
    const uint64_t word = filter[hash / 64 % filter_words];
    if (((word >> hash % 64) & (word >> (hash >> filter_shift) % 64) & 1) == 0) return false;
    const uint32_t head = buckets[hash % bucket_count];
    if (head < first || head == 0) return false;
    for (const uint32_t* each = hashes + (head - first);; ++each) {
      if ((*each | 1) == (hash | 1)) return true;
      if ((*each & 1) != 0) return false;
    }
  }
  uint32_t SymbolCount() const {
    uint32_t last = 0;
    for (uint32_t i = 0; i < bucket_count; ++i) last = std::max(last, buckets[i]);
    if (last < first || last == 0) return first;
    while ((hashes[last - first] & 1) == 0) ++last;
    return last + 1;
  }
};

uint32_t GnuHashOf(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

uint32_t SymbolCount(const Tables& tables) {
  if (tables.hash != nullptr) return tables.hash[1];
  return tables.gnu_hash != nullptr ? GnuHash(tables.gnu_hash).SymbolCount() : 0;
}

// As the system has it mapped now; nothing: not mapped.
std::optional<int> ProtectionOf(const void* address) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return std::nullopt;
  std::optional<int> protection;
  char line[1024];
  for (bool at_begin = true; !protection && std::fgets(line, sizeof line, maps) != nullptr;) {
    unsigned long begin = 0, end = 0;
    char read = 0, write = 0, execute = 0;
    const bool parsed =
        at_begin && std::sscanf(line, "%lx-%lx %c%c%c", &begin, &end, &read, &write, &execute) == 5;
    at_begin = std::strchr(line, '\n') != nullptr;
    const auto place = reinterpret_cast<unsigned long>(address);
    if (!parsed || place < begin || place >= end) continue;
    protection =
        (read == 'r' ? PROT_READ : 0) | (write == 'w' ? PROT_WRITE : 0) | (execute == 'x' ? PROT_EXEC : 0);
  }
  std::fclose(maps);
  return protection;
}

// Writes a word that lies in one page, whatever the protection of the page.
bool WriteWord(void* place, uint64_t value) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place) & ~(page - 1));
  const std::optional<int> protection = ProtectionOf(place);
  if (!protection) return false;
  const bool closed = (*protection & PROT_WRITE) == 0;
  if (closed && mprotect(begin, page, *protection | PROT_WRITE) != 0) return false;
  std::memcpy(place, &value, sizeof value);
  if (closed) mprotect(begin, page, *protection);
  return true;
}

}  // namespace

Offering::Offering(const link_map& object, std::string_view marker) : object_(&object) {
  const Tables tables = TablesOf(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return;
  if (tables.gnu_hash != nullptr && !GnuHash(tables.gnu_hash).Holds(GnuHashOf(marker))) return;
  const uint32_t count = SymbolCount(tables);
  for (uint32_t i = 0; i < count; ++i) {
    Elf64_Sym& symbol = tables.symbols[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    functions_.push_back({tables.strings + symbol.st_name, &symbol});
  }
  if (!Has(marker)) functions_.clear();
}

std::vector<std::string_view> Offering::Names() const {
  std::vector<std::string_view> names;
  for (const Function& function : functions_) names.push_back(function.name);
  return names;
}

const Offering::Function* Offering::Find(std::string_view name) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const Function& each) { return each.name == name; });
  return found == functions_.end() ? nullptr : &*found;
}

void* Offering::AddressOf(std::string_view name) const {
  const Function* const found = Find(name);
  return found == nullptr ? nullptr : reinterpret_cast<void*>(object_->l_addr + found->symbol->st_value);
}

// The loader adds the value to the object's base without looking where that leads.
void Offering::Replace(std::string_view name, const void* replacement,
                       std::vector<Rebinding>& rebindings) const {
  const Function& function = *Find(name);
  const void* const before = AddressOf(name);
  if (!WriteWord(&function.symbol->st_value, reinterpret_cast<uintptr_t>(replacement) - object_->l_addr))
    return;
  rebindings.push_back({function.name, before, replacement});
}

void Rebind(const link_map& object, const std::vector<Rebinding>& functions) {
  const Tables tables = TablesOf(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return;
  const auto walk = [&](const Elf64_Rela* relocations, size_t count) {
    for (size_t i = 0; relocations != nullptr && i < count; ++i) {
      const uint64_t index = ELF64_R_SYM(relocations[i].r_info);
      if (index == 0) continue;
      const std::string_view name = tables.strings + tables.symbols[index].st_name;
      for (const Rebinding& each : functions) {
        void* const place = reinterpret_cast<void*>(object.l_addr + relocations[i].r_offset);
        // What is not bound yet will be when it is called.
        if (each.name == name && std::memcmp(place, &each.from, sizeof each.from) == 0)
          WriteWord(place, reinterpret_cast<uintptr_t>(each.to));
      }
    }
  };
  walk(tables.relocations, tables.relocation_count);
  walk(tables.calls, tables.call_count);
}

}  // namespace ptx2cpu::redirect
