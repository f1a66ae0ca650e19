// cuLink*: relocatable PTX put together. The "cubin" that comes out is our own form of an image
// (runtime/engine/linked_image.h).
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "driver_api.h"
#include "runtime/cuda/driver/code/load.h"
#include "runtime/cuda/driver/code/saved_images.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/engine/linked_image.h"

namespace ptx2cpu::driver {

namespace {

class LinkState {
 public:
  using Handle = CUlinkState;
  static constexpr HandleKind kKind = HandleKind::kLinkState;

  JitOptions options;
  std::vector<rt::PtxText> texts;
  std::string image;  // after cuLinkComplete
};

CUresult StateOf(CUlinkState handle, LinkState*& state) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  state = From<LinkState>(handle);
  return state == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Takes over the texts of what was loaded. An input without PTX is ignored if it is a library of device
// code.
CUresult Add(LinkState& state, CUresult loaded, CUjitInputType type, Sources sources) {
  if (loaded == CUDA_ERROR_NO_BINARY_FOR_GPU && type == CU_JIT_INPUT_LIBRARY) return CUDA_SUCCESS;
  if (loaded != CUDA_SUCCESS) return loaded;
  for (rt::ModuleSource& source : sources) {
    for (rt::PtxText& text : source.texts) {
      if (!rt::IsDeviceRuntime(text.text)) state.texts.push_back(std::move(text));
    }
  }
  return CUDA_SUCCESS;
}

CUresult AddText(const char* call, LinkState& state, std::string text, std::string name) {
  text.resize(std::strlen(text.c_str()));
  if (text.find(".version") == std::string::npos) {
    state.options.WriteError("error: '" + name + "' is not PTX\n");
    return CUDA_ERROR_INVALID_PTX;
  }
  rt::ModuleSource source{{{std::move(text), std::move(name)}}, {}};
  SaveLoaded(call, Sources{source});
  if (!rt::IsDeviceRuntime(source.texts[0].text)) state.texts.push_back(std::move(source.texts[0]));
  return CUDA_SUCCESS;
}

CUresult CheckInput(LinkState& state, CUjitInputType type) {
  if (type < 0 || type >= CU_JIT_NUM_INPUT_TYPES) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_JIT_INPUT_NVVM) return CUDA_SUCCESS;
  Failed(Error{.code = ErrorCode::kNoPtx,
               .message = "an input of cuLink is LTO IR, which only NVIDIA's linker reads",
               .hint = "compile without -dlto, or link with nvJitLink under 'ptx2cpu exec'"},
         state.options);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option* options, void** optionValues,
                         CUlinkState* stateOut) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto state = std::make_unique<LinkState>();
  if (const CUresult error = JitOptions::Read(numOptions, options, optionValues, state->options))
    return error;
  *stateOut = Publish(std::move(state));
  return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option* options, void** optionValues,
                      CUlinkState* stateOut) {
  return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
                          unsigned int numOptions, CUjit_option* options, void** optionValues) {
  LinkState* found;
  if (const CUresult error = StateOf(state, found)) return error;
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = CheckInput(*found, type)) return error;
  JitOptions own;
  if (const CUresult error = JitOptions::Read(numOptions, options, optionValues, own)) return error;
  const std::string title = name == nullptr ? "input " + std::to_string(found->texts.size() + 1) : name;
  if (type == CU_JIT_INPUT_PTX)
    return AddText("cuLinkAddData", *found, std::string(static_cast<const char*>(data), size), title);
  Sources sources;
  const CUresult loaded = LoadImage("cuLinkAddData", data, found->options, sources);
  return Add(*found, loaded, type, std::move(sources));
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
                       unsigned int numOptions, CUjit_option* options, void** optionValues) {
  return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int numOptions,
                          CUjit_option* options, void** optionValues) {
  LinkState* found;
  if (const CUresult error = StateOf(state, found)) return error;
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = CheckInput(*found, type)) return error;
  JitOptions own;
  if (const CUresult error = JitOptions::Read(numOptions, options, optionValues, own)) return error;
  if (type == CU_JIT_INPUT_PTX) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return CUDA_ERROR_INVALID_VALUE;
    std::ostringstream text;
    text << in.rdbuf();
    return AddText("cuLinkAddFile", *found, text.str(), path);
  }
  Sources sources;
  const CUresult loaded = LoadFile("cuLinkAddFile", path, found->options, sources);
  return Add(*found, loaded, type, std::move(sources));
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned int numOptions,
                       CUjit_option* options, void** optionValues) {
  return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  LinkState* found;
  if (const CUresult error = StateOf(state, found)) return error;
  if (cubinOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  rt::ModuleOptions options;
  found->options.ApplyTo(options);
  const Status checked =
      found->texts.empty() ? Status() : rt::KernelModule::Make(found->texts, options)->Check();
  found->options.Finish();
  if (!checked) {
    Failed(checked.error(), found->options);
    return CUDA_ERROR_INVALID_SOURCE;
  }
  std::vector<rt::LinkedPart> parts;
  for (const rt::PtxText& text : found->texts) parts.push_back({text.name, text.text});
  found->image = rt::MakeLinkedImage(parts);
  *cubinOut = found->image.data();
  if (sizeOut != nullptr) *sizeOut = found->image.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  if (const CUresult error = CheckInitialised()) return error;
  return Withdraw<LinkState>(state) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
