#include "runtime/cuda/redirect/runtime_compiler.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "runtime/cuda/abi/nvrtc_types.h"
#include "runtime/cuda/redirect/compiler_options.h"

namespace ptx2cpu::redirect {

using namespace cuda;

namespace {

// The functions of one copy of NVRTC; each Python package brings its own.
struct Compiler {
  NvrtcCompileProgram* compile = nullptr;
  NvrtcGetSize* ptx_bytes = nullptr;
  NvrtcGetBytes* ptx = nullptr;
  NvrtcGetSize* cubin_bytes = nullptr;
  NvrtcGetBytes* cubin = nullptr;
};

constexpr size_t kMaxCompilers = 16;

Places<Compiler, kMaxCompilers>& Compilers() {
  static auto* const compilers = new Places<Compiler, kMaxCompilers>;
  return *compilers;
}

// Programs that were compiled for a device: what they return as machine code is PTX.
class MadePtx {
 public:
  void Set(nvrtcProgram program, bool made_ptx) {
    const std::lock_guard lock(mutex_);
    if (made_ptx) {
      programs_.insert(program);
    } else {
      programs_.erase(program);
    }
  }
  bool Has(nvrtcProgram program) {
    const std::lock_guard lock(mutex_);
    return programs_.contains(program);
  }
  static MadePtx& Get() {
    static auto* const made_ptx = new MadePtx;
    return *made_ptx;
  }

 private:
  std::mutex mutex_;
  std::set<nvrtcProgram> programs_;
};

bool Traced() {
  const char* trace = std::getenv("PTX2CPU_TRACE");
  return trace != nullptr && *trace != '\0' && *trace != '0';
}

template <size_t kPlace>
nvrtcResult Compile(nvrtcProgram program, int option_count, const char* const* options) {
  const Compiler& compiler = Compilers()[kPlace];
  const std::span<const char* const> given(
      options, options == nullptr || option_count < 0 ? 0 : static_cast<size_t>(option_count));
  const std::optional<OptionList> changed = AskingForPtx(given);
  MadePtx::Get().Set(program, changed.has_value());
  if (!changed) return compiler.compile(program, option_count, options);
  if (Traced())
    std::fprintf(stderr, "ptx2cpu: nvrtcCompileProgram(%p) makes PTX instead of machine code\n",
                 static_cast<void*>(program));
  return compiler.compile(program, option_count, changed->Pointers().data());
}

template <size_t kPlace>
nvrtcResult GetCubinBytes(nvrtcProgram program, size_t* bytes) {
  const Compiler& compiler = Compilers()[kPlace];
  return (MadePtx::Get().Has(program) ? compiler.ptx_bytes : compiler.cubin_bytes)(program, bytes);
}

template <size_t kPlace>
nvrtcResult GetCubin(nvrtcProgram program, char* bytes) {
  const Compiler& compiler = Compilers()[kPlace];
  return (MadePtx::Get().Has(program) ? compiler.ptx : compiler.cubin)(program, bytes);
}

struct Replacements {
  NvrtcCompileProgram* compile;
  NvrtcGetSize* cubin_bytes;
  NvrtcGetBytes* cubin;
};

Replacements ReplacementsAt(size_t place) {
  static constexpr auto kAll = []<size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    return std::array<Replacements, sizeof...(kPlaces)>{
        Replacements{&Compile<kPlaces>, &GetCubinBytes<kPlaces>, &GetCubin<kPlaces>}...};
  }(std::make_index_sequence<kMaxCompilers>());
  return kAll[place];
}

}  // namespace

std::vector<Rebinding> HookRuntimeCompiler(const link_map& object) {
  const Offering offering(object, "nvrtcCompileProgram");
  if (offering.empty()) return {};
  Compiler own;
  offering.Get("nvrtcCompileProgram", own.compile);
  offering.Get("nvrtcGetPTXSize", own.ptx_bytes);
  offering.Get("nvrtcGetPTX", own.ptx);
  offering.Get("nvrtcGetCUBINSize", own.cubin_bytes);
  offering.Get("nvrtcGetCUBIN", own.cubin);
  // Without the last two it is from before CUDA 11.1 and makes PTX only.
  if (own.ptx_bytes == nullptr || own.ptx == nullptr || own.cubin_bytes == nullptr || own.cubin == nullptr)
    return {};
  Compilers().Leave(object);
  const size_t place = Compilers().Take(object);
  if (place == kMaxCompilers) return {};
  Compilers()[place] = own;
  const Replacements ours = ReplacementsAt(place);
  std::vector<Rebinding> rebindings;
  offering.Replace("nvrtcCompileProgram", ours.compile, rebindings);
  offering.Replace("nvrtcGetCUBINSize", ours.cubin_bytes, rebindings);
  offering.Replace("nvrtcGetCUBIN", ours.cubin, rebindings);
  return rebindings;
}

}  // namespace ptx2cpu::redirect
