// cuFunc*: attributes of functions, read and set.
#include "driver_api.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/code/module.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace ptx2cpu::driver {

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  Function* function;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  return function->Attribute(attrib, *pi);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  Function* function;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  return function->SetAttribute(attrib, value);
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  Function* function;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return CUDA_ERROR_INVALID_VALUE;
  function->settings().cache_config = config;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config) {
  Function* function;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  if (config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
    return CUDA_ERROR_INVALID_VALUE;
  function->settings().shared_config = config;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  Function* function;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  *hmod = HandleOf(&function->module());
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  Function* function;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  *name = function->name().c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Function* function;
  const rt::KernelDeclaration* declared;
  if (paramOffset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FunctionOf(func, function)) return error;
  if (const CUresult error = function->Declaration(declared)) return error;
  if (paramIndex >= declared->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  const rt::KernelDeclaration::Parameter& parameter = declared->parameters[paramIndex];
  *paramOffset = parameter.offset;
  if (paramSize != nullptr) *paramSize = parameter.size;
  return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  Function* found;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FunctionOf(function, found)) return error;
  *state = found->compiled() ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  Function* found;
  const rt::KernelCode* code;
  if (const CUresult error = FunctionOf(function, found)) return error;
  return found->Code(code);
}

}  // namespace ptx2cpu::driver
