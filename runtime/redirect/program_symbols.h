// The functions of the program's own objects, read from their symbol tables on disk. ELF, 64 bit.
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
  uintptr_t base = 0;                     // what addresses in the file are relative to
  std::vector<FunctionSymbol> functions;  // empty: stripped
  std::vector<uint8_t*> constructors;     // .init_array and .fini_array as the file has them, in this process
  bool has_fat_binary = false;            // a section of device code
  bool has_symbols = false;               // a full symbol table: not stripped
  bool has_runtime_text = false;          // holds the static CUDA runtime's words, whether or not it has symbols
  bool imports_runtime = false;           // calls a shared CUDA runtime
};

// Of one object; an object without device code is looked at no further. False: cannot be read.
bool ReadObject(const std::string& file, uintptr_t base, LoadedObject& object);

}  // namespace ptx2cpu::redirect
