#include "runtime/cuda/redirect/redirect_object.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2cpu::redirect {

namespace {

constexpr int kCannotRun = 126;  // as of a shell for a program that cannot be executed
constexpr std::array<const char*, 3> kFaces = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

// Functions inside the runtime that programs do not call; the number at the end differs from build to build.
bool IsInternal(std::string_view name) { return name.starts_with("libcudart_static_"); }
// Whether the name belongs to one of NVIDIA's C interfaces.
bool IsApiName(std::string_view name) {
  return name.starts_with("cu") || name.starts_with("__cu") || name.starts_with("nvml") ||
         name.starts_with("nccl");
}
bool IsRuntimeName(std::string_view name) { return name.starts_with("cuda") || name.starts_with("__cuda"); }

[[noreturn]] void ReachedRuntime() {
  std::fputs(
      "ptx2cpu: the program reached a function inside its own CUDA runtime that is not redirected\n"
      "  please report the program; linking it with -cudart shared avoids this\n",
      stderr);
  std::abort();
}

struct Face {
  const char* soname = nullptr;
  void* handle = nullptr;
  size_t missing = 0;  // functions of the program's runtime that another version has and this one has not
};

void* OpenFace(const char* soname, const std::string& for_file) {
  // Not RTLD_GLOBAL: glibc then counts objects into the list of constructors that it is about to walk.
  void* const handle = dlopen((OwnFolder() + "/" + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) GiveUp(for_file, dlerror(), "the installation of ptx2cpu is not complete");
  return handle;
}

// The version whose functions are those of the runtime in the object.
Face ChooseFace(const LoadedObject& object) {
  std::array<Face, kFaces.size()> faces;
  for (size_t i = 0; i < kFaces.size(); ++i) {
    faces[i].soname = kFaces[i];
    faces[i].handle = OpenFace(kFaces[i], object.file);
  }
  for (const FunctionSymbol& symbol : object.functions) {
    if (!IsRuntimeName(symbol.name)) continue;
    std::array<bool, kFaces.size()> has;
    for (size_t i = 0; i < kFaces.size(); ++i)
      has[i] = dlsym(faces[i].handle, symbol.name.c_str()) != nullptr;
    if (std::find(has.begin(), has.end(), true) == has.end()) continue;  // the program's own
    for (size_t i = 0; i < kFaces.size(); ++i) faces[i].missing += !has[i];
  }
  const Face& best = *std::min_element(faces.begin(), faces.end(),
                                       [](const Face& a, const Face& b) { return a.missing < b.missing; });
  for (const Face& face : faces) {
    if (face.handle != best.handle) dlclose(face.handle);
  }
  return best;
}

// `soname` outlives the face.
Face FaceOf(const std::string& soname, const std::string& file) {
  Face face;
  if (HasNamesake(soname)) {
    face.soname = soname.c_str();
    face.handle = OpenFace(face.soname, file);
    return face;
  }
  const std::string_view version = std::string_view(soname).substr(soname.find(".so"));
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcuda.so.1"}) {
    const std::string_view own(name), stem = own.substr(0, own.find('.'));
    if (version == own.substr(stem.size()) && soname.starts_with(stem) && soname[stem.size()] != 'r')
      face.soname = name;
  }
  if (face.soname == nullptr)
    GiveUp(file, "ptx2cpu has no CUDA library of its version (" + soname + ")",
           "use libraries of CUDA 11, 12 or 13");
  face.handle = OpenFace(face.soname, file);
  return face;
}

// Functions of a newer library than ours. The number means the same in both APIs: not supported.
int NotOurs() {
  std::fputs(
      "ptx2cpu: a function was called that the CUDA library which the program loaded has and we do not "
      "have\n",
      stderr);
  return 801;
}

void CollectStatic(const LoadedObject& object, const Face& face, std::vector<Patch>& patches) {
  for (const FunctionSymbol& symbol : object.functions) {
    if (!IsRuntimeName(symbol.name)) continue;
    const void* target = dlsym(face.handle, symbol.name.c_str());
    if (target == nullptr) continue;
    if (symbol.room < kPatchBytes)
      GiveUp(object.file, "function " + symbol.name + " is too short to be redirected",
             "link it with -cudart shared");
    patches.push_back({symbol.address, target});
  }
}

void ShutInner(const LoadedObject& object, std::vector<Patch>& patches) {
  for (const FunctionSymbol& symbol : object.functions) {
    if (!IsInternal(symbol.name) || symbol.room < kPatchBytes) continue;
    const bool constructor = std::any_of(object.constructors.begin(), object.constructors.end(),
                                         [&](uint8_t** place) { return *place == symbol.address; });
    patches.push_back(
        {symbol.address, constructor ? nullptr : reinterpret_cast<const void*>(&ReachedRuntime)});
  }
}

void CollectShared(const LoadedObject& object, const Face& face, std::vector<Patch>& patches) {
  for (const FunctionSymbol& symbol : object.exported) {
    const void* target = dlsym(face.handle, symbol.name.c_str());
    if (target == nullptr && !IsApiName(symbol.name)) continue;  // templates of C++ that others may use
    if (symbol.room < kPatchBytes)
      GiveUp(object.file, "function " + symbol.name + " is too short to be redirected",
             "let the program find our library first");
    patches.push_back({symbol.address, target == nullptr ? reinterpret_cast<const void*>(&NotOurs) : target});
  }
  for (uint8_t** place : object.constructors) {
    if (*place != nullptr && *place != reinterpret_cast<uint8_t*>(-1)) patches.push_back({*place, nullptr});
  }
}

}  // namespace

void GiveUp(const std::string& file, const std::string& why, const char* what_to_do) {
  std::fprintf(stderr, "ptx2cpu: %s: %s\n  %s\n", file.c_str(), why.c_str(), what_to_do);
  _exit(kCannotRun);
}

Finding Examine(const LoadedObject& object) {
  // All of ours are linked to one library.
  const bool ours =
      std::find(object.needed.begin(), object.needed.end(), "libptx2cpu_driver.so") != object.needed.end();
  if (ours) return Finding::kNothing;
  if (IsCudaLibrary(object.soname)) return Finding::kCudaLibrary;
  if (!object.has_runtime_text || object.imports_runtime) return Finding::kNothing;
  const bool named = std::any_of(object.functions.begin(), object.functions.end(),
                                 [](const auto& symbol) { return symbol.name == "__cudaRegisterFatBinary"; });
  if (named) return Finding::kStaticRuntime;
  return object.has_symbols
             ? Finding::kNothing
             : Finding::kStrippedRuntime;  // with symbols: the strings exist, the runtime does not
}

Slots Redirect(const LoadedObject& object, Finding finding) {
  std::vector<Patch> patches;
  const bool shared = finding == Finding::kCudaLibrary;
  const Face face = shared ? FaceOf(object.soname, object.file) : ChooseFace(object);
  if (shared) {
    CollectShared(object, face, patches);
  } else {
    CollectStatic(object, face, patches);
  }
  const size_t redirected = patches.size();
  if (!shared) ShutInner(object, patches);
  std::sort(patches.begin(), patches.end(), [](const Patch& a, const Patch& b) { return a.entry < b.entry; });
  patches.erase(std::unique(patches.begin(), patches.end(),
                            [](const Patch& a, const Patch& b) { return a.entry == b.entry; }),
                patches.end());
  const Slots slots = Apply(patches);
  if (slots.memory == nullptr)
    GiveUp(object.file, "the system does not allow its code to be changed",
           shared ? "let the program find our library first" : "link it with -cudart shared");
  if (const char* trace = std::getenv("PTX2CPU_TRACE"); trace != nullptr && *trace != '\0' && *trace != '0') {
    std::fprintf(
        stderr, "ptx2cpu: %s: %zu functions of its CUDA runtime redirect to %s, %zu others are disabled\n",
        object.file.c_str(), redirected, face.soname, patches.size() - std::min(redirected, patches.size()));
  }
  return slots;
}

}  // namespace ptx2cpu::redirect
