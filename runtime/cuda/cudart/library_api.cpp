// Libraries loaded at run time, and the driver's functions by name.
#include <cstdint>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/driver/core/call.h"

namespace ptx2cpu::cudart {

namespace {

CUjit_option* Options(cudaJitOption* options) { return Twin<CUjit_option>(options); }

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jitOptions,
                                void** jitOptionsValues, unsigned int numJitOptions,
                                cudaLibraryOption* libraryOptions, void** libraryOptionValues,
                                unsigned int numLibraryOptions) {
  return InDriver(&driver::cuLibraryLoadData, library, code, Options(jitOptions), jitOptionsValues,
                  numJitOptions, Twin<CUlibraryOption>(libraryOptions), libraryOptionValues,
                  numLibraryOptions);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* fileName, cudaJitOption* jitOptions,
                                    void** jitOptionsValues, unsigned int numJitOptions,
                                    cudaLibraryOption* libraryOptions, void** libraryOptionValues,
                                    unsigned int numLibraryOptions) {
  return InDriver(&driver::cuLibraryLoadFromFile, library, fileName, Options(jitOptions), jitOptionsValues,
                  numJitOptions, Twin<CUlibraryOption>(libraryOptions), libraryOptionValues,
                  numLibraryOptions);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return InDriver(&driver::cuLibraryUnload, library); }

cudaError_t cudaLibraryGetKernel(cudaKernel_t* pKernel, cudaLibrary_t library, const char* name) {
  return InContext(&driver::cuLibraryGetKernel, pKernel, library, name);
}

cudaError_t cudaLibraryGetGlobal(void** dptr, size_t* bytes, cudaLibrary_t library, const char* name) {
  return InContext(&driver::cuLibraryGetGlobal, AddressOut(dptr), bytes, library, name);
}

cudaError_t cudaLibraryGetManaged(void** dptr, size_t* bytes, cudaLibrary_t library, const char* name) {
  return InContext(&driver::cuLibraryGetManaged, AddressOut(dptr), bytes, library, name);
}

cudaError_t cudaLibraryGetUnifiedFunction(void** fptr, cudaLibrary_t library, const char* symbol) {
  return InContext(&driver::cuLibraryGetUnifiedFunction, fptr, library, symbol);
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t lib) {
  return InDriver(&driver::cuLibraryGetKernelCount, count, lib);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int numKernels, cudaLibrary_t lib) {
  return InDriver(&driver::cuLibraryEnumerateKernels, kernels, numKernels, lib);
}

namespace {

// Without a wish of its own a program gets the default stream that it was compiled for.
unsigned long long StreamFlag(unsigned long long flags) {
  constexpr unsigned long long kPerThread = 2;
  return flags == 0 && api::PerThreadDefaultStream::Active() ? kPerThread : flags;
}

cudaError_t EntryPoint(const char* symbol, void** function, unsigned version, unsigned long long flags,
                       CUdriverProcAddressQueryResult& status) {
  if (symbol == nullptr || function == nullptr || flags > 2) return cudaErrorInvalidValue;
  *function = nullptr;
  status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (const cudaError_t error = BeginDriver()) return error;
  const CUresult result =
      driver::cuGetProcAddress_v2(symbol, function, static_cast<int>(version), StreamFlag(flags), &status);
  return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : FromDriver(result);
}

cudaError_t EntryPoint(const char* symbol, void** function, unsigned version, unsigned long long flags,
                       cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found;
  const cudaError_t error = EntryPoint(symbol, function, version, flags, found);
  if (error == cudaSuccess && status != nullptr)
    *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return error;
}

}  // namespace

// Until CUDA 11 there is no status, and a missing name is an error.
cudaError_t cudaGetDriverEntryPoint(const char* symbol, cudaEntryPoint11* funcPtr, unsigned long long flags) {
  if (funcPtr == nullptr) return cudaErrorInvalidValue;
  CUdriverProcAddressQueryResult status;
  const cudaError_t error = EntryPoint(symbol, &funcPtr->function, 11080, flags, status);
  if (error == cudaSuccess && funcPtr->function == nullptr) return cudaErrorSymbolNotFound;
  return error;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, cudaEntryPoint12* funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* driverStatus) {
  if (funcPtr == nullptr) return cudaErrorInvalidValue;
  return EntryPoint(symbol, &funcPtr->function, 12090, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* driverStatus) {
  return EntryPoint(symbol, funcPtr, CUDA_VERSION, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* driverStatus) {
  return EntryPoint(symbol, funcPtr, cudaVersion, flags, driverStatus);
}

}  // namespace ptx2cpu::cudart
