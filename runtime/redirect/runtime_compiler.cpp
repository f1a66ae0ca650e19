#include "runtime/redirect/runtime_compiler.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "runtime/abi/cuda/nvrtc_types.h"
#include "runtime/redirect/compiler_options.h"

namespace ptx2cpu::redirect {

using namespace cuda;

namespace {

// One NVRTC of the process: libraries of Python packages bring their own.
struct Compiler {
  const link_map* object = nullptr;  // null: this place is free
  NvrtcCompileProgram* compile = nullptr;
  NvrtcGetSize* ptx_bytes = nullptr;
  NvrtcGetBytes* ptx = nullptr;
  NvrtcGetSize* cubin_bytes = nullptr;
  NvrtcGetBytes* cubin = nullptr;

  std::mutex mutex;
  std::set<nvrtcProgram> made_ptx;  // compiled for a device: what they give as machine code is PTX
};

constexpr size_t kMostCompilers = 16;

Compiler& CompilerAt(size_t place) {
  static auto* const compilers = new std::array<Compiler, kMostCompilers>;
  return (*compilers)[place];
}

bool Traced() {
  const char* trace = std::getenv("PTX2CPU_TRACE");
  return trace != nullptr && *trace != '\0' && *trace != '0';
}

bool MadePtx(Compiler& compiler, nvrtcProgram program) {
  const std::lock_guard lock(compiler.mutex);
  return compiler.made_ptx.contains(program);
}

// A function gets no data of ours with its call, so that there is one for each compiler.
template <size_t kPlace>
nvrtcResult Compile(nvrtcProgram program, int option_count, const char* const* options) {
  Compiler& compiler = CompilerAt(kPlace);
  const std::span<const char* const> given(options, options == nullptr || option_count < 0 ? 0 : static_cast<size_t>(option_count));
  const std::optional<OptionList> changed = AskingForPtx(given);
  {
    const std::lock_guard lock(compiler.mutex);
    if (changed) {
      compiler.made_ptx.insert(program);
    } else {
      compiler.made_ptx.erase(program);
    }
  }
  if (!changed) return compiler.compile(program, option_count, options);
  if (Traced()) std::fprintf(stderr, "ptx2cpu: nvrtcCompileProgram(%p) makes PTX instead of machine code\n", static_cast<void*>(program));
  return compiler.compile(program, option_count, changed->Pointers().data());
}

template <size_t kPlace>
nvrtcResult GetCubinBytes(nvrtcProgram program, size_t* bytes) {
  Compiler& compiler = CompilerAt(kPlace);
  return (MadePtx(compiler, program) ? compiler.ptx_bytes : compiler.cubin_bytes)(program, bytes);
}

template <size_t kPlace>
nvrtcResult GetCubin(nvrtcProgram program, char* bytes) {
  Compiler& compiler = CompilerAt(kPlace);
  return (MadePtx(compiler, program) ? compiler.ptx : compiler.cubin)(program, bytes);
}

struct Replacements {
  NvrtcCompileProgram* compile;
  NvrtcGetSize* cubin_bytes;
  NvrtcGetBytes* cubin;
};

Replacements ReplacementsAt(size_t place) {
  static constexpr auto kAll = []<size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    return std::array<Replacements, sizeof...(kPlaces)>{Replacements{&Compile<kPlaces>, &GetCubinBytes<kPlaces>, &GetCubin<kPlaces>}...};
  }(std::make_index_sequence<kMostCompilers>());
  return kAll[place];
}

// A place for a compiler; one that has been unloaded leaves its place.
size_t TakePlace(const link_map& object) {
  for (size_t i = 0; i < kMostCompilers; ++i) {
    Compiler& compiler = CompilerAt(i);
    const link_map* map = _r_debug.r_map;
    while (map != nullptr && map != compiler.object) map = map->l_next;
    if (map != nullptr && map != &object) continue;
    compiler.object = &object;
    compiler.made_ptx.clear();
    return i;
  }
  return kMostCompilers;
}

}  // namespace

std::vector<Rebinding> HookRuntimeCompiler(const link_map& object) {
  const std::vector<OfferedFunction> offered = FunctionsOfferedBy(object, "nvrtcCompileProgram");
  if (offered.empty()) return {};
  const auto find = [&](std::string_view name) {
    const auto found = std::find_if(offered.begin(), offered.end(), [&](const auto& each) { return each.name == name; });
    return found == offered.end() ? nullptr : found->symbol;
  };
  Elf64_Sym* const compile = find("nvrtcCompileProgram");
  Elf64_Sym* const ptx_bytes = find("nvrtcGetPTXSize");
  Elf64_Sym* const ptx = find("nvrtcGetPTX");
  Elf64_Sym* const cubin_bytes = find("nvrtcGetCUBINSize");
  Elf64_Sym* const cubin = find("nvrtcGetCUBIN");
  // Without the last two it is from before CUDA 11.1 and makes PTX only.
  if (ptx_bytes == nullptr || ptx == nullptr || cubin_bytes == nullptr || cubin == nullptr) return {};
  const size_t place = TakePlace(object);
  if (place == kMostCompilers) return {};
  Compiler& compiler = CompilerAt(place);
  const auto own = [&]<typename Function>(Function*& function, const Elf64_Sym& symbol) { function = reinterpret_cast<Function*>(AddressOf(object, symbol)); };
  own(compiler.compile, *compile);
  own(compiler.ptx_bytes, *ptx_bytes);
  own(compiler.ptx, *ptx);
  own(compiler.cubin_bytes, *cubin_bytes);
  own(compiler.cubin, *cubin);

  const Replacements ours = ReplacementsAt(place);
  std::vector<Rebinding> rebindings;
  const auto replace = [&](Elf64_Sym& symbol, const void* replacement, std::string_view name) {
    const void* const before = AddressOf(object, symbol);
    if (Offer(object, symbol, replacement)) rebindings.push_back({name, before, replacement});
  };
  replace(*compile, reinterpret_cast<const void*>(ours.compile), "nvrtcCompileProgram");
  replace(*cubin_bytes, reinterpret_cast<const void*>(ours.cubin_bytes), "nvrtcGetCUBINSize");
  replace(*cubin, reinterpret_cast<const void*>(ours.cubin), "nvrtcGetCUBIN");
  return rebindings;
}

}  // namespace ptx2cpu::redirect
