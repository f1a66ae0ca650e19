// The functions that a loaded library offers, as the loader finds them: in its dynamic symbol table, in memory. Changing
// a value there changes what dlsym and every later binding gives; the function itself stays as it is, to be called.
#pragma once

#include <link.h>

#include <string_view>
#include <vector>

namespace ptx2cpu::redirect {

struct OfferedFunction {
  std::string_view name;
  Elf64_Sym* symbol = nullptr;
};

// The functions that an object defines, when `marker` is one of them; else none, found by hashing alone.
std::vector<OfferedFunction> FunctionsOfferedBy(const link_map& object, std::string_view marker);

// The address in this process.
void* AddressOf(const link_map& object, const Elf64_Sym& symbol);

// Who asks the loader for the function gets `replacement` from now on. False: the system does not let us write there.
bool Offer(const link_map& object, Elf64_Sym& symbol, const void* replacement);

// The object has asked for functions of these names already: where it keeps `from`, it keeps `to` afterwards.
struct Rebinding {
  std::string_view name;
  const void* from = nullptr;
  const void* to = nullptr;
};
void Rebind(const link_map& object, const std::vector<Rebinding>& functions);

}  // namespace ptx2cpu::redirect
