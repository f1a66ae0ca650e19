// The program's side of the object with the compiler: loaded for the verbs that need it, so that the others
// start without LLVM.
#include <dlfcn.h>
#include <fmt/format.h>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

Status RunInObject(std::string_view verb, const Arguments& arguments) {
  const std::string file = TRY(DropInFolder()) + "/libptx2cpu_verbs.so";
  void* const object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function =
      object == nullptr ? nullptr : dlsym(object, (kVerbFunction + std::string(verb)).c_str());
  if (function == nullptr)
    return Fail(ErrorCode::kFile, fmt::format("cannot load the compiler: {}", dlerror()));
  Status status;
  reinterpret_cast<VerbFunction*>(function)(arguments, status);
  return status;
}

}  // namespace ptx2cpu::tool
