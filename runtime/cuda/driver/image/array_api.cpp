// cuArray* and cuMipmappedArray*.
#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/image/array.h"

namespace ptx2cpu::driver {

namespace {

// The object belongs to its context: it goes with it, at the latest.
template <typename T>
typename T::Handle PublishIn(Context& context, std::unique_ptr<T> object) {
  T* made = object.get();
  const auto handle = Publish(std::move(object));
  context.Own(made, [](void* owned) { Withdraw<T>(HandleOf(static_cast<const T*>(owned))).reset(); });
  return handle;
}

CUDA_ARRAY3D_DESCRIPTOR Deep(const CUDA_ARRAY_DESCRIPTOR& flat) {
  CUDA_ARRAY3D_DESCRIPTOR deep = {};
  deep.Width = flat.Width, deep.Height = flat.Height, deep.Format = flat.Format,
  deep.NumChannels = flat.NumChannels;
  return deep;
}

CUresult Create(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& description, Context& context) {
  if (const CUresult error = AllowedDuringCapture()) return error;
  std::unique_ptr<Array> made;
  const CUresult result = Array::Make(description, context.device().ordinal(), &context, &made);
  if (result == CUDA_SUCCESS) *handle = PublishIn(context, std::move(made));
  return result;
}

// A working context and a live array; INVALID_HANDLE.
CUresult Find(CUarray handle, Context*& context, Array*& array) {
  if (const CUresult error = WorkingContext(context)) return error;
  array = From<Array>(handle);
  return array == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Create(pHandle, *pAllocateArray, *context);
}

CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Create(pHandle, Deep(*pAllocateArray), *context);
}

CUresult cuArrayDestroy(CUarray hArray) {
  if (const CUresult error = CheckInitialised()) return error;
  Array* const array = From<Array>(hArray);  // a thread without a context may destroy it too
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (array->whole() != nullptr) return CUDA_SUCCESS;  // a level goes with its mipmapped array
  Context* const context = array->context();
  context->streams().Synchronize();
  auto gone = Withdraw<Array>(hArray);
  if (gone == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  context->Disown(gone.get());
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  Context* context = nullptr;
  Array* array = nullptr;
  if (const CUresult error = Find(hArray, context, array)) return error;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = array->description();
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  Context* context = nullptr;
  Array* array = nullptr;
  if (const CUresult error = Find(hArray, context, array)) return error;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->description();
  *pArrayDescriptor = {d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

// No array here is planar, sparse, or mapped later.
CUresult cuArrayGetPlane(CUarray* pPlaneArray, CUarray hArray, unsigned int planeIdx) {
  Context* context = nullptr;
  Array* array = nullptr;
  if (const CUresult error = Find(hArray, context, array)) return error;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements, CUarray array,
                                      CUdevice device) {
  Context* context = nullptr;
  Array* found = nullptr;
  if (const CUresult error = Find(array, context, found)) return error;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties, CUarray array) {
  Context* context = nullptr;
  Array* found = nullptr;
  if (const CUresult error = Find(array, context, found)) return error;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<MipmappedArray> made;
  const CUresult result = MipmappedArray::Make(*pMipmappedArrayDesc, numMipmapLevels,
                                               context->device().ordinal(), context, &made);
  if (result == CUDA_SUCCESS) *pHandle = PublishIn(*context, std::move(made));
  return result;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  if (const CUresult error = CheckInitialised()) return error;
  MipmappedArray* const array = From<MipmappedArray>(hMipmappedArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* const context = array->context();
  context->streams().Synchronize();
  auto gone = Withdraw<MipmappedArray>(hMipmappedArray);
  if (gone == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  context->Disown(gone.get());
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  const MipmappedArray* mipmap = From<MipmappedArray>(hMipmappedArray);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Array* array = mipmap->level(level);
  if (pLevelArray == nullptr || array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLevelArray = HandleOf(array);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice device) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  return From<MipmappedArray>(mipmap) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties,
                                             CUmipmappedArray mipmap) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  return From<MipmappedArray>(mipmap) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace ptx2cpu::driver
