#include "lowering/load/loaded_object.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "lowering/load/relocation.h"

using namespace ptx2cpu;

namespace {

// An object with one function, `entry`, whose code is a call of `callee` and nothing else, as far as the
// loader is concerned. Sections: none, .text, .rela.text, .symtab, .strtab.
struct Sample {
  Elf64_Ehdr header = {};
  Elf64_Shdr sections[5] = {};
  char text[16] = {};
  Elf64_Rela relocation = {};
  Elf64_Sym symbols[3] = {};
  char strings[64] = "\0.text\0.strtab\0entry\0callee";

  Sample() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_type = ET_REL;
    header.e_machine = static_cast<uint16_t>(lowering::MachineOfProcess().value_or(0));
    header.e_shoff = offsetof(Sample, sections);
    header.e_shnum = 5;
    header.e_shstrndx = 4;
    sections[1] = {.sh_name = 1,
                   .sh_type = SHT_PROGBITS,
                   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                   .sh_addr = 0,
                   .sh_offset = offsetof(Sample, text),
                   .sh_size = sizeof text,
                   .sh_link = 0,
                   .sh_info = 0,
                   .sh_addralign = 16,
                   .sh_entsize = 0};
    sections[2] = {.sh_name = 0,
                   .sh_type = SHT_RELA,
                   .sh_flags = 0,
                   .sh_addr = 0,
                   .sh_offset = offsetof(Sample, relocation),
                   .sh_size = sizeof relocation,
                   .sh_link = 3,
                   .sh_info = 1,
                   .sh_addralign = 8,
                   .sh_entsize = sizeof relocation};
    sections[3] = {.sh_name = 0,
                   .sh_type = SHT_SYMTAB,
                   .sh_flags = 0,
                   .sh_addr = 0,
                   .sh_offset = offsetof(Sample, symbols),
                   .sh_size = sizeof symbols,
                   .sh_link = 4,
                   .sh_info = 0,
                   .sh_addralign = 8,
                   .sh_entsize = sizeof symbols[0]};
    sections[4] = {.sh_name = 7,
                   .sh_type = SHT_STRTAB,
                   .sh_flags = 0,
                   .sh_addr = 0,
                   .sh_offset = offsetof(Sample, strings),
                   .sh_size = sizeof strings,
                   .sh_link = 0,
                   .sh_info = 0,
                   .sh_addralign = 1,
                   .sh_entsize = 0};
    symbols[1] = {15, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 4, 8};
    symbols[2] = {21, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SHN_UNDEF, 0, 0};
    const uint32_t call = header.e_machine == EM_X86_64 ? R_X86_64_PLT32 : R_AARCH64_CALL26;
    relocation = {8, ELF64_R_INFO(uint64_t{2}, call), 0};
  }
  std::string Bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

const void* Nothing(std::string_view) { return nullptr; }
const char kCallee = 0;
const void* Callee(std::string_view name) { return name == "callee" ? &kCallee : nullptr; }

std::string ErrorOf(const std::string& object) {
  const auto loaded = lowering::LoadedObject::Load(object, Callee);
  return loaded ? "" : loaded.error().message;
}

}  // namespace

TEST_CASE("an object is loaded, and its symbols are found") {
  const auto loaded = lowering::LoadedObject::Load(Sample().Bytes(), Callee);
  REQUIRE(loaded);
  CHECK((*loaded)->text_size() == 16);
  CHECK((*loaded)->AddressOf("entry") == (*loaded)->text_begin() + 4);
  CHECK((*loaded)->AddressOf("callee") == 0);
  CHECK((*loaded)->AddressOf("other") == 0);
}

TEST_CASE("what nothing defines is an error that names it") {
  const auto loaded = lowering::LoadedObject::Load(Sample().Bytes(), Nothing);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message.find("'callee'") != std::string::npos);
}

TEST_CASE("damaged objects are errors") {
  CHECK_FALSE(ErrorOf("").empty());
  CHECK_FALSE(ErrorOf("neither ELF nor long").empty());
  const std::string whole = Sample().Bytes();
  for (size_t size = 0; size < whole.size() - sizeof Sample::strings; size += 8) {
    INFO(size << " bytes of it");
    CHECK_FALSE(ErrorOf(whole.substr(0, size)).empty());
  }
  Sample sample;
  sample.relocation.r_offset = 14;
  CHECK_FALSE(ErrorOf(sample.Bytes()).empty());
  sample = {};
  sample.relocation.r_info = ELF64_R_INFO(uint64_t{3}, 1);
  CHECK_FALSE(ErrorOf(sample.Bytes()).empty());
  sample = {};
  sample.relocation.r_info = ELF64_R_INFO(uint64_t{2}, 250);
  CHECK_FALSE(ErrorOf(sample.Bytes()).empty());
  sample = {};
  sample.header.e_machine = EM_RISCV;
  CHECK_FALSE(ErrorOf(sample.Bytes()).empty());
  sample = {};
  sample.sections[1].sh_size = uint64_t{1} << 40;
  CHECK_FALSE(ErrorOf(sample.Bytes()).empty());
}
