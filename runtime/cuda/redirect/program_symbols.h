// Reads the functions, constructors, needed libraries and device code of an ELF object on disk. 64 bits only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::redirect {

struct FunctionSymbol {
  std::string name;
  uint8_t* address = nullptr;  // in this process
  uint64_t room = 0;           // bytes to the next function
};

struct LoadedObject {
  std::string file;
  uintptr_t base = 0;                        // what addresses in the file are relative to
  std::string soname;                        // empty: none
  std::vector<std::string> needed;           // sonames of the libraries it is linked to
  std::vector<FunctionSymbol> functions;     // of the full symbol table; empty: stripped
  std::vector<FunctionSymbol> exported;      // of the dynamic one; filled for CUDA libraries only
  std::vector<uint8_t**> constructors;       // where .init_array and .fini_array keep theirs, in this process
  uintptr_t relro_begin = 0, relro_end = 0;  // what becomes read-only when the object is relocated
  bool has_fat_binary = false;               // a section of device code
  bool has_symbols = false;                  // a full symbol table: not stripped
  bool has_runtime_text = false;  // holds the static CUDA runtime's words, whether or not it has symbols
  bool imports_runtime = false;   // calls a shared CUDA runtime
};

// Reads one object; an object without CUDA is not examined further. False: it cannot be read.
bool ReadObject(const std::string& file, uintptr_t base, LoadedObject& object);

// The folder of this library, where ours lie.
std::string OwnFolder();
// One of ours has this soname: libcublas.so.13.
bool HasNamesake(const std::string& soname);
// A soname of the CUDA runtime or the CUDA driver, or of a library of which we have one.
bool IsCudaLibrary(const std::string& soname);

}  // namespace ptx2cpu::redirect
