// cuModule*: code in one context.
#include <algorithm>
#include <climits>

#include "driver_api.h"
#include "runtime/cuda/driver/code/load.h"
#include "runtime/cuda/driver/code/module.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace ptx2cpu::driver {

namespace {

CUresult Finish(Context& context, const Sources& sources, bool is_text, JitOptions& options,
                CUmodule* result) {
  auto module = std::make_unique<Module>(context, sources);
  const CUresult checked = CheckLoaded(*module, is_text, options);
  if (checked == CUDA_SUCCESS && LoadsEagerly()) module->CompileAll();
  options.Finish();
  if (checked != CUDA_SUCCESS) return checked;
  if (options.verbose()) {
    for (const std::string& name : module->KernelNames())
      options.WriteInfo("info: kernel '" + name + "', compiled at its first launch\n");
  }
  context.Own(module.get(), [](void* object) { delete static_cast<Module*>(object); });
  *result = HandleOf(module.release());
  return CUDA_SUCCESS;
}

// A module that the program holds, and may work with now.
CUresult ModuleOf(CUmodule handle, Module*& module) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  module = From<Module>(handle);
  return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult LoadData(const char* call, CUmodule* module, const void* image, unsigned int numOptions,
                  CUjit_option* options, void** optionValues) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = JitOptions::Read(numOptions, options, optionValues, jit)) return error;
  Sources sources;
  if (const CUresult error = LoadImage(call, image, jit, sources)) return error;
  return Finish(*context, sources, IsPtxText(image), jit, module);
}

}  // namespace

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                            CUjit_option* options, void** optionValues) {
  return LoadData("cuModuleLoadDataEx", module, image, numOptions, options, optionValues);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadData("cuModuleLoadData", module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return LoadData("cuModuleLoadFatBinary", module, fatCubin, 0, nullptr, nullptr);
}

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (module == nullptr || fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  Sources sources;
  if (const CUresult error = LoadFile("cuModuleLoad", fname, jit, sources)) return error;
  return Finish(*context, sources, true, jit, module);
}

CUresult cuModuleUnload(CUmodule hmod) {
  if (const CUresult error = CheckInitialised()) return error;
  Module* const module = From<Module>(hmod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = module->context().error()) return error;  // the thread may be in none
  if (module->library() != nullptr) return CUDA_ERROR_NOT_PERMITTED;
  if (module->context().Disown(module)) delete module;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  Module* module;
  if (hfunc == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = ModuleOf(hmod, module)) return error;
  Function* function;
  if (const CUresult error = module->GetFunction(name, nullptr, function)) return error;
  *hfunc = HandleOf(function);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  Module* module;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = ModuleOf(mod, module)) return error;
  *count = static_cast<unsigned>(module->KernelNames().size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  Module* module;
  if (functions == nullptr || numFunctions == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = ModuleOf(mod, module)) return error;
  const std::vector<std::string> names = module->KernelNames();
  for (size_t i = 0; i < std::min<size_t>(names.size(), numFunctions); ++i) {
    Function* function;
    if (const CUresult error = module->GetFunction(names[i], nullptr, function)) return error;
    functions[i] = HandleOf(function);
  }
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  Module* module;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = ModuleOf(hmod, module)) return error;
  std::span<std::byte> storage;
  if (const CUresult error = module->GetVariable(name, storage)) return error;
  if (dptr != nullptr) *dptr = reinterpret_cast<CUdeviceptr>(storage.data());
  if (bytes != nullptr) *bytes = storage.size();
  return CUDA_SUCCESS;
}

// 32-bit addresses: what lies below 4 GiB, which nothing does.
CUresult cuModuleGetGlobal(CUdeviceptr_v1* dptr, unsigned int* bytes, CUmodule hmod, const char* name) {
  CUdeviceptr address = 0;
  size_t size = 0;
  if (const CUresult error = cuModuleGetGlobal_v2(&address, &size, hmod, name)) return error;
  if (dptr != nullptr && address > UINT_MAX) return CUDA_ERROR_NOT_SUPPORTED;
  if (dptr != nullptr) *dptr = static_cast<CUdeviceptr_v1>(address);
  if (bytes != nullptr) *bytes = static_cast<unsigned>(size);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (const CUresult error = CheckInitialised()) return error;
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = LoadsEagerly() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
