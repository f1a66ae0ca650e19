// cuLibrary* and cuKernel*: code for every context that uses it.
#include <algorithm>

#include "driver_api.h"
#include "runtime/cuda/driver/code/load.h"
#include "runtime/cuda/driver/code/module.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace ptx2cpu::driver {

namespace {

CUresult CheckLibraryOptions(const CUlibraryOption* names, unsigned count) {
  if (count > 0 && names == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto known = [](CUlibraryOption name) { return name >= 0 && name < CU_LIBRARY_NUM_OPTIONS; };
  return std::all_of(names, names + count, known) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Finish(Sources sources, bool is_text, JitOptions& options, CUlibrary* result) {
  auto library = std::make_unique<Library>(std::move(sources));
  const CUresult checked = CheckLoaded(*library, is_text, options);
  options.Finish();
  if (checked != CUDA_SUCCESS) return checked;
  *result = HandleOf(library.release());
  return CUDA_SUCCESS;
}

CUresult LibraryOf(CUlibrary handle, Library*& library) {
  if (const CUresult error = CheckInitialised()) return error;
  library = From<Library>(handle);
  return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult KernelOf(CUkernel handle, Kernel*& kernel) {
  if (const CUresult error = CheckInitialised()) return error;
  kernel = From<Kernel>(handle);
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Queries a kernel on a device: in the thread's context, else in the primary one, which needs not be active
// for that.
template <typename Ask>
CUresult OnDevice(CUkernel handle, CUdevice dev, const Ask& ask) {
  Kernel* kernel;
  Device* device;
  if (const CUresult error = KernelOf(handle, kernel)) return error;
  if (const CUresult error = FindDevice(dev, device)) return error;
  Context* context;
  const bool own = CurrentContext(context) == CUDA_SUCCESS && &context->device() == device;
  if (!own) {
    CUcontext primary;
    if (const CUresult error = cuDevicePrimaryCtxRetain(&primary, dev)) return error;
    context = &device->primary();
  }
  Function* function;
  CUresult result = kernel->In(*context, function);
  if (result == CUDA_SUCCESS) result = ask(*function);
  if (!own) cuDevicePrimaryCtxRelease_v2(dev);
  return result;
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions,
                           void** jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption* libraryOptions, void** libraryOptionValues,
                           unsigned int numLibraryOptions) {
  if (const CUresult error = CheckInitialised()) return error;
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = JitOptions::Read(numJitOptions, jitOptions, jitOptionsValues, jit)) return error;
  if (const CUresult error = CheckLibraryOptions(libraryOptions, numLibraryOptions)) return error;
  Sources sources;
  if (const CUresult error = LoadImage("cuLibraryLoadData", code, jit, sources)) return error;
  return Finish(std::move(sources), IsPtxText(code), jit, library);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                               void** jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption* libraryOptions, void** libraryOptionValues,
                               unsigned int numLibraryOptions) {
  if (const CUresult error = CheckInitialised()) return error;
  if (library == nullptr || fileName == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = JitOptions::Read(numJitOptions, jitOptions, jitOptionsValues, jit)) return error;
  if (const CUresult error = CheckLibraryOptions(libraryOptions, numLibraryOptions)) return error;
  Sources sources;
  if (const CUresult error = LoadFile("cuLibraryLoadFromFile", fileName, jit, sources)) return error;
  return Finish(std::move(sources), true, jit, library);
}

CUresult cuLibraryUnload(CUlibrary library) {
  Library* found;
  if (const CUresult error = LibraryOf(library, found)) return error;
  delete found;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  Library* found;
  if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = LibraryOf(library, found)) return error;
  Kernel* kernel;
  if (const CUresult error = found->GetKernel(name, kernel)) return error;
  *pKernel = HandleOf(kernel);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  Library* found;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = LibraryOf(lib, found)) return error;
  *count = static_cast<unsigned>(found->KernelNames().size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  Library* found;
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = LibraryOf(lib, found)) return error;
  const std::vector<std::string>& names = found->KernelNames();
  for (size_t i = 0; i < std::min<size_t>(names.size(), numKernels); ++i) {
    Kernel* kernel;
    if (const CUresult error = found->GetKernel(names[i], kernel)) return error;
    kernels[i] = HandleOf(kernel);
  }
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  Context* context;
  Library* found;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = LibraryOf(library, found)) return error;
  Module* module;
  if (const CUresult error = found->In(*context, module)) return error;
  *pMod = HandleOf(module);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  CUmodule module;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = cuLibraryGetModule(&module, library)) return error;
  return cuModuleGetGlobal_v2(dptr, bytes, module, name);
}

CUresult cuLibraryGetManaged(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  Library* found;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = LibraryOf(library, found)) return error;
  std::span<std::byte> storage;
  if (const CUresult error = found->GetManaged(name, storage)) return error;
  if (dptr != nullptr) *dptr = reinterpret_cast<CUdeviceptr>(storage.data());
  if (bytes != nullptr) *bytes = storage.size();
  return CUDA_SUCCESS;
}

// Functions that both device and host may call exist on no device that we simulate (UNIFIED_FUNCTION_POINTERS
// is 0).
CUresult cuLibraryGetUnifiedFunction(void** fptr, CUlibrary library, const char* symbol) {
  Library* found;
  if (fptr == nullptr || symbol == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = LibraryOf(library, found)) return error;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  Context* context;
  Kernel* found;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = KernelOf(kernel, found)) return error;
  Function* function;
  if (const CUresult error = found->In(*context, function)) return error;
  *pFunc = HandleOf(function);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  Kernel* found;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = KernelOf(kernel, found)) return error;
  *pLib = HandleOf(&found->library());
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Kernel* found;
  if (KernelOf(hfunc, found) == CUDA_ERROR_INVALID_HANDLE)
    return cuFuncGetName(name, reinterpret_cast<CUfunction>(hfunc));
  *name = found->name().c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Kernel* found;
  if (const CUresult error = KernelOf(kernel, found)) return error;
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), paramIndex, paramOffset, paramSize);
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return OnDevice(kernel, dev, [&](Function& function) { return function.Attribute(attrib, *pi); });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  return OnDevice(kernel, dev, [&](Function& function) { return function.SetAttribute(attrib, val); });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  Kernel* found;
  Device* device;
  if (const CUresult error = KernelOf(kernel, found)) return error;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return CUDA_ERROR_INVALID_VALUE;
  found->settings(*device)->cache_config = config;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
