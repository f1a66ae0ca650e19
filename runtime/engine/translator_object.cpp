#include "runtime/engine/translator_object.h"

#include <dlfcn.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "lowering/translator/identity.h"

namespace ptx2cpu::rt {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFile = "libptx2cpu_translator.so";

// The file that this function is in. The loader's own name for it may be relative to a directory that the
// program has left.
fs::path FileOfThisCode() {
  const auto here = reinterpret_cast<uintptr_t>(&FileOfThisCode);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const size_t path = line.find('/');
    if (here >= begin && here < end && path != std::string::npos) return line.substr(path);
  }
  return {};
}

Result<const lowering::Translator*> Load() {
  const fs::path folder = FileOfThisCode().parent_path();
  std::string why;
  for (const fs::path& path : {folder / kFile, folder / "../lib/ptx2cpu" / kFile, fs::path(kFile)}) {
    std::error_code error;
    if (path.has_parent_path() && !fs::exists(path, error)) continue;
    // Local: a program may have an LLVM of its own.
    void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (object == nullptr) {
      why += std::string(why.empty() ? "" : "; ") + dlerror();
      continue;
    }
    auto* const find = reinterpret_cast<lowering::FindTranslator*>(dlsym(object, lowering::kFindTranslator));
    const lowering::Translator* const found =
        find == nullptr ? nullptr : find(std::string(lowering::TranslatorIdentity()).c_str());
    if (found != nullptr) return found;
    why += (why.empty() ? "" : "; ") + path.lexically_normal().string() + " belongs to another build";
  }
  return Fail(Error{.code = ErrorCode::kFile,
                    .message = "the translator cannot be loaded: " + why,
                    .hint = "lib/ptx2cpu of the installation has it; build and install all of ptx2cpu"});
}

}  // namespace

Result<const lowering::Translator*> TheTranslator() {
  static const Result<const lowering::Translator*>* const kLoaded =
      new Result<const lowering::Translator*>(Load());  // never destroyed: kernels compile until the end
  return *kLoaded;
}

}  // namespace ptx2cpu::rt
