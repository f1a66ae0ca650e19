// The functions that the compiler's host code calls before main and at the end.
#include <cstdio>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/registration.h"
#include "runtime/cuda/driver/code/saved_images.h"

namespace ptx2cpu::cudart {

namespace {

Binary& BinaryOf(void** handle) { return *reinterpret_cast<Binary*>(handle); }

}  // namespace

void** __cudaRegisterFatBinary(void* fatCubin) {
  driver::SaveRegistered(fatCubin);
  return reinterpret_cast<void**>(&Registry::Get().Add(fatCubin));
}

// The program may read addresses of managed variables from main on.
void __cudaRegisterFatBinaryEnd(void** fatCubinHandle) {
  const cudaError_t error = Registry::Get().BindManaged(BinaryOf(fatCubinHandle));
  if (error == cudaSuccess || error == cudaErrorNoDevice) return;
  std::fprintf(stderr, "ptx2cpu: no storage for __managed__ variables: %s\n", cudaGetErrorName(error));
}

void __cudaUnregisterFatBinary(void** fatCubinHandle) { Registry::Get().Remove(BinaryOf(fatCubinHandle)); }

void __cudaRegisterFunction(void** fatCubinHandle, const char* hostFun, char*, const char* deviceName, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Registry::Get().AddFunction(BinaryOf(fatCubinHandle), hostFun, deviceName);
}

void __cudaRegisterVar(void** fatCubinHandle, char* hostVar, char*, const char* deviceName, int, size_t size,
                       int, int) {
  Registry::Get().AddVariable(hostVar, {&BinaryOf(fatCubinHandle), deviceName, size, false});
}

void __cudaRegisterHostVar(void** fatCubinHandle, const char* deviceName, char* hostVar, size_t size) {
  Registry::Get().AddVariable(hostVar, {&BinaryOf(fatCubinHandle), deviceName, size, false});
}

void __cudaRegisterManagedVar(void** fatCubinHandle, void** hostVarPtrAddress, char*, const char* deviceName,
                              int, size_t size, int, int) {
  Registry::Get().AddManaged(BinaryOf(fatCubinHandle), hostVarPtrAddress, deviceName, size);
}

void __cudaRegisterTexture(void** fatCubinHandle, const textureReference* hostVar, const void**,
                           const char* deviceName, int, int norm, int) {
  Registry::Get().AddTexture(hostVar, {&BinaryOf(fatCubinHandle), deviceName, norm != 0});
}

void __cudaRegisterSurface(void** fatCubinHandle, const surfaceReference* hostVar, const void**,
                           const char* deviceName, int, int) {
  Registry::Get().AddTexture(hostVar, {&BinaryOf(fatCubinHandle), deviceName, false});
}

// Programs call this before they first touch a managed variable, and keep the result as "done".
char __cudaInitModule(void** fatCubinHandle) {
  return Registry::Get().BindManaged(BinaryOf(fatCubinHandle)) == cudaSuccess ? 1 : 0;
}

char __cudaInitManagedRuntime() { return Registry::Get().BindAllManaged() == cudaSuccess ? 1 : 0; }

}  // namespace ptx2cpu::cudart
