// The library that `ptx2cpu exec` preloads. Before the program's constructors run, the functions of a CUDA runtime that
// was linked into it become jumps to ours, of the same version; so none of that runtime executes, its constructors and
// its check of the driver included. Programs without one are left as they are.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/redirect/patch.h"
#include "runtime/redirect/program_symbols.h"

namespace ptx2cpu::redirect {

namespace {

constexpr int kCannotRun = 126;  // as a shell says it of a program that cannot be executed
constexpr std::array<const char*, 3> kFaces = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

// Functions inside the runtime that programs do not call; the number behind differs from build to build.
bool IsInternal(std::string_view name) { return name.starts_with("libcudart_static_"); }
bool IsRuntimeName(std::string_view name) { return name.starts_with("cuda") || name.starts_with("__cuda"); }

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

[[noreturn]] void GiveUp(const std::string& file, const std::string& why, const char* what_to_do) {
  std::fprintf(stderr, "ptx2cpu: %s: %s\n  %s\n", file.c_str(), why.c_str(), what_to_do);
  _exit(kCannotRun);
}

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

// The version whose functions are those of the program's runtime.
Face ChooseFace(const std::vector<const FunctionSymbol*>& candidates, const std::string& file) {
  std::array<Face, kFaces.size()> faces;
  const std::string folder = OwnFolder();
  for (size_t i = 0; i < kFaces.size(); ++i) {
    faces[i].soname = kFaces[i];
    // Not RTLD_GLOBAL: glibc then counts objects into the list of constructors that it is about to walk.
    faces[i].handle = dlopen((folder + "/" + kFaces[i]).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (faces[i].handle == nullptr) GiveUp(file, dlerror(), "the installation of ptx2cpu is not complete");
  }
  for (const FunctionSymbol* symbol : candidates) {
    std::array<bool, kFaces.size()> has;
    for (size_t i = 0; i < kFaces.size(); ++i) has[i] = dlsym(faces[i].handle, symbol->name.c_str()) != nullptr;
    if (std::find(has.begin(), has.end(), true) == has.end()) continue;  // the program's own
    for (size_t i = 0; i < kFaces.size(); ++i) faces[i].missing += !has[i];
  }
  const Face& best = *std::min_element(faces.begin(), faces.end(), [](const Face& a, const Face& b) { return a.missing < b.missing; });
  for (const Face& face : faces) {
    if (face.handle != best.handle) dlclose(face.handle);
  }
  return best;
}

void Redirect(const LoadedObject& object) {
  std::vector<const FunctionSymbol*> candidates;
  std::vector<Patch> patches;
  for (const FunctionSymbol& symbol : object.functions) {
    if (IsRuntimeName(symbol.name)) candidates.push_back(&symbol);
  }
  const Face face = ChooseFace(candidates, object.file);
  for (const FunctionSymbol* symbol : candidates) {
    const void* target = dlsym(face.handle, symbol->name.c_str());
    if (target == nullptr) continue;
    if (symbol->room < kPatchBytes) GiveUp(object.file, "function " + symbol->name + " is too short to be redirected", "link the program with -cudart shared");
    patches.push_back({symbol->address, target});
  }
  const size_t redirected = patches.size();
  for (const FunctionSymbol& symbol : object.functions) {
    if (!IsInternal(symbol.name) || symbol.room < kPatchBytes) continue;
    const bool constructor = std::find(object.constructors.begin(), object.constructors.end(), symbol.address) != object.constructors.end();
    patches.push_back({symbol.address, constructor ? nullptr : reinterpret_cast<const void*>(&ReachedRuntime)});
  }
  std::sort(patches.begin(), patches.end(), [](const Patch& a, const Patch& b) { return a.entry < b.entry; });
  patches.erase(std::unique(patches.begin(), patches.end(), [](const Patch& a, const Patch& b) { return a.entry == b.entry; }), patches.end());
  if (!Apply(patches)) GiveUp(object.file, "the system does not allow its code to be changed", "link the program with -cudart shared");
  if (const char* trace = std::getenv("PTX2CPU_TRACE"); trace != nullptr && *trace != '\0' && *trace != '0') {
    std::fprintf(stderr, "ptx2cpu: %s: %zu functions of its CUDA runtime go to %s, %zu others are shut\n", object.file.c_str(), redirected, face.soname,
                 patches.size() - redirected);
  }
}

enum class Role : uint8_t { kProgram, kLibrary };

void Look(const std::string& file, uintptr_t base, Role role) {
  LoadedObject object;
  if (!ReadObject(file, base, object) || !object.has_fat_binary || !object.has_runtime_text || object.imports_runtime) return;
  const bool has_runtime = std::any_of(object.functions.begin(), object.functions.end(), [](const auto& symbol) { return symbol.name == "__cudaRegisterFatBinary"; });
  if (has_runtime) return Redirect(object);
  if (object.has_symbols) return;  // the words are there, the runtime is not
  if (role == Role::kProgram) {
    GiveUp(object.file, "it contains the static CUDA runtime, and its symbols are stripped, so that the runtime's functions cannot be found",
           "use an executable that is not stripped, or link again with 'nvcc -cudart shared'");
  }
  // A library may never be called; its own runtime finds no device here, and its calls return that.
  std::fprintf(stderr, "ptx2cpu: warning: %s contains a stripped CUDA runtime of its own: GPU work of this library will fail\n", object.file.c_str());
}

int LookAtObject(dl_phdr_info* info, size_t, void* files) {
  const bool program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
  std::string file = program ? "/proc/self/exe" : info->dlpi_name;
  if (program) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length > 0 && length < static_cast<ssize_t>(sizeof path)) file.assign(path, static_cast<size_t>(length));
  }
  static_cast<std::vector<std::pair<std::string, uintptr_t>>*>(files)->emplace_back(std::move(file), info->dlpi_addr);
  return 0;
}

// The loader passes main's arguments to constructors. This one runs even before the C library's own, which sets `environ`.
__attribute__((constructor)) void Start(int, char**, char** environment) {
  if (environ == nullptr) environ = environment;
  std::vector<std::pair<std::string, uintptr_t>> files;  // looked at outside: dlopen within the walk would lock itself out
  dl_iterate_phdr(LookAtObject, &files);
  // The program comes first in the loader's list.
  for (size_t i = 0; i < files.size(); ++i) Look(files[i].first, files[i].second, i == 0 ? Role::kProgram : Role::kLibrary);
}

}  // namespace

}  // namespace ptx2cpu::redirect
