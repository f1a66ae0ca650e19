// Where the loader reports objects to debuggers, it calls an empty function (`r_brk` of `_r_debug`, part of
// the interface of every ELF system): when all objects of a dlopen are mapped, and when some are gone. We
// make that function jump to ours. Objects are not relocated at that time and the loader is in the middle of
// its work, so no library of ours can be opened there: we only make the loader call us before the first
// constructor of the object, by way of its DT_INIT. There everything is in place, opening libraries is
// allowed, and no code of the object has run.
#include "runtime/cuda/redirect/watch.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/redirect/redirect_object.h"
#include "runtime/cuda/redirect/runtime_compiler.h"
#include "runtime/cuda/redirect/runtime_linker.h"

namespace ptx2cpu::redirect {

namespace {

struct Known {
  const link_map* map = nullptr;
  uintptr_t base = 0;
  std::shared_ptr<Slots> slots = std::make_shared<Slots>();  // filled when the object's constructors begin
};

// In the loader's order. Guarded by the loader's lock, which every caller holds.
std::vector<Known>& KnownObjects() {
  static auto* const known = new std::vector<Known>;
  return *known;
}

// An object whose constructors have not begun.
struct Waiting {
  LoadedObject object;
  Finding finding = Finding::kNothing;
  Elf64_Dyn* init = nullptr;
  Elf64_Addr own_init = 0;
  std::shared_ptr<Slots> slots;
};

uintptr_t PageOf(const void* address) {
  return reinterpret_cast<uintptr_t>(address) & ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
}

bool SetInit(Elf64_Dyn& entry, Elf64_Addr value) {
  const uintptr_t first = PageOf(&entry);
  const size_t bytes = PageOf(&entry + 1) + static_cast<size_t>(sysconf(_SC_PAGESIZE)) - first;
  if (mprotect(reinterpret_cast<void*>(first), bytes, PROT_READ | PROT_WRITE) != 0) return false;
  entry.d_un.d_ptr = value;
  return true;
}

// Instead of the object's own DT_INIT.
void BeforeConstructors(int count, char** words, char** environment, void* data) {
  auto* const waiting = static_cast<Waiting*>(data);
  SetInit(*waiting->init, waiting->own_init);
  const LoadedObject& object = waiting->object;
  const auto entry = reinterpret_cast<uintptr_t>(waiting->init);
  if (entry >= object.relro_begin && entry < object.relro_end) {  // as the loader leaves it
    const uintptr_t first = PageOf(waiting->init), end = PageOf(reinterpret_cast<void*>(object.relro_end));
    if (first < end) mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ);
  }
  *waiting->slots = Redirect(object, waiting->finding);
  const auto own = reinterpret_cast<void (*)(int, char**, char**)>(object.base + waiting->own_init);
  const bool ours_to_run =
      waiting->finding == Finding::kStaticRuntime;  // nothing of a foreign CUDA library runs
  delete waiting;
  if (ours_to_run) own(count, words, environment);
}

// False: the object has no DT_INIT, or the system refuses.
bool Postpone(LoadedObject object, Finding finding, const link_map& map, const Known& known) {
  Elf64_Dyn* init = map.l_ld;
  while (init->d_tag != DT_NULL && init->d_tag != DT_INIT) ++init;
  if (init->d_tag == DT_NULL) return false;
  auto waiting =
      std::make_unique<Waiting>(Waiting{std::move(object), finding, init, init->d_un.d_ptr, known.slots});
  void* const thunk = MakeThunk(&BeforeConstructors, waiting.get());
  if (thunk == nullptr || !SetInit(*init, reinterpret_cast<uintptr_t>(thunk) - map.l_addr)) return false;
  static_cast<void>(waiting.release());
  return true;
}

std::string FileOf(const link_map& map, bool program) {
  if (!program) return map.l_name == nullptr ? "" : map.l_name;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 && length < static_cast<ssize_t>(sizeof path)
             ? std::string(path, static_cast<size_t>(length))
             : "/proc/self/exe";
}

void WarnOfStripped(const std::string& file) {
  // A library may never be called; its own runtime finds no device here, and its calls return that.
  std::fprintf(stderr,
               "ptx2cpu: warning: %s contains a stripped CUDA runtime of its own: GPU work of this library "
               "will fail\n",
               file.c_str());
}

// Compilers and linkers that make device code while the program runs.
std::vector<Rebinding> HookTools(const link_map& map) {
  std::vector<Rebinding> rebindings = HookRuntimeCompiler(map);
  return rebindings.empty() ? HookRuntimeLinker(map) : rebindings;
}

void LookAtNew(const link_map& map, const Known& known) {
  HookTools(map);  // no function of it has been requested yet
  LoadedObject object;
  if (!ReadObject(FileOf(map, false), map.l_addr, object)) return;
  const Finding finding = Examine(object);
  if (finding == Finding::kNothing) return;
  const std::string file = object.file;
  if (finding == Finding::kStrippedRuntime) return WarnOfStripped(file);
  if (!Postpone(std::move(object), finding, map, known)) {
    GiveUp(file, "it contains a CUDA runtime, and it was opened in a way that does not let us replace that",
           "link it with -cudart shared");
  }
}

void OnLoaderChange() {
  if (_r_debug.r_state != r_debug::RT_CONSISTENT) return;
  const int saved = errno;
  std::vector<Known>& known = KnownObjects();
  std::vector<std::pair<const link_map*, size_t>> fresh;
  size_t at = 0;
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    // Objects join at the end, so that one which differs here means that those before it in `known` are gone.
    while (at < known.size() && (known[at].map != map || known[at].base != map->l_addr)) {
      if (known[at].slots->memory != nullptr) munmap(known[at].slots->memory, known[at].slots->bytes);
      known.erase(known.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (at == known.size()) {
      known.push_back({map, map->l_addr});
      fresh.emplace_back(map, at);
    }
    ++at;
  }
  for (; known.size() > at; known.pop_back()) {
    if (known.back().slots->memory != nullptr) munmap(known.back().slots->memory, known.back().slots->bytes);
  }
  for (const auto& [map, index] : fresh) LookAtNew(*map, known[index]);
  errno = saved;
}

// An empty function: a return, perhaps after a landing pad, and room up to the next one.
bool IsEmptyFunction(const uint8_t* code) {
#if defined(__x86_64__)
  constexpr uint8_t kPad[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (std::memcmp(code, kPad, sizeof kPad) == 0) return code[4] == 0xc3;
  return code[0] == 0xc3 && reinterpret_cast<uintptr_t>(code) % 16 == 0;
#else
  constexpr uint32_t kReturn = 0xd65f03c0, kPad = 0xd503245f;
  uint32_t words[2];
  std::memcpy(words, code, sizeof words);
  return words[0] == kReturn || (words[0] == kPad && words[1] == kReturn);
#endif
}

// The loader has bound these objects to each other.
void HookToolsOf(const std::vector<Known>& objects) {
  for (const Known& tool : objects) {
    const std::vector<Rebinding> rebindings = HookTools(*tool.map);
    if (rebindings.empty()) continue;
    for (const Known& caller : objects) Rebind(*caller.map, rebindings);
  }
}

}  // namespace

void LookAtProgram() {
  std::vector<Known>& known = KnownObjects();
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
    known.push_back({map, map->l_addr});
  HookToolsOf(known);
  // The program comes first in the loader's list. Faces that are opened meanwhile join at its end.
  for (size_t i = 0; i < known.size(); ++i) {
    LoadedObject object;
    if (!ReadObject(FileOf(*known[i].map, i == 0), known[i].base, object)) continue;
    const Finding finding = Examine(object);
    if (finding == Finding::kNothing) continue;
    if (finding != Finding::kStrippedRuntime) {
      *known[i].slots = Redirect(object, finding);
    } else if (i == 0) {
      GiveUp(object.file,
             "it contains the static CUDA runtime, and its symbols are stripped, so that the runtime's "
             "functions cannot be found",
             "use an executable that is not stripped, or link again with 'nvcc -cudart shared'");
    } else {
      WarnOfStripped(object.file);
    }
  }
}

void WatchLoader() {
  auto* const code = reinterpret_cast<uint8_t*>(_r_debug.r_brk);
  if (code != nullptr && IsEmptyFunction(code))
    Apply({{code, reinterpret_cast<const void*>(&OnLoaderChange)}}, Busy::kYes);
}

}  // namespace ptx2cpu::redirect
